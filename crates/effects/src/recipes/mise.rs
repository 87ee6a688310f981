//! Tasks of `mise.toml`. `Taskfile.yml` is YAML with templates: a caller says that it is opaque.
//!
//! Does not see: tasks that are files of their own (`mise-tasks/x`), `task_config.includes`, `[hooks]`.

use super::package::without_templates;
use super::{Found, Leaf, MAX_STEPS, Step, TOO_MUCH, toml};

/// `mise run NAME`: the tasks that it depends on, itself, and those that come after it.
pub(crate) fn task(text: &str, name: &str) -> Found {
    let Some(leaves) = toml::leaves(text) else { return Found::Opaque("the file is no TOML") };
    let mut steps = Vec::new();
    visit(&leaves, name, &mut Vec::new(), &mut steps);
    match steps.len() {
        0 => Found::Absent,
        1..=MAX_STEPS => Found::Steps(steps),
        _ => Found::Opaque(TOO_MUCH),
    }
}

fn visit(leaves: &[Leaf], name: &str, seen: &mut Vec<String>, steps: &mut Vec<Step>) {
    if seen.iter().any(|known| known == name) || seen.len() > 64 {
        return;
    }
    seen.push(name.to_owned());
    let of = |key: &'static str| {
        leaves.iter().filter(move |leaf| {
            let [first, task, last @ ..] = leaf.keys.as_slice() else { return false };
            first == "tasks" && task == name && last.first().map_or("", String::as_str) == key
        })
    };
    let others = |key, seen: &mut Vec<String>, steps: &mut Vec<Step>| {
        for leaf in of(key) {
            // `depends = ["build --release"]`
            let name = leaf.text.split_whitespace().next().unwrap_or_default();
            visit(leaves, name, seen, steps);
        }
    };
    others("depends", seen, steps);
    others("wait_for", seen, steps);
    let shell = of("shell").next().map(|leaf| leaf.text.clone());
    for key in ["", "run", "file"] {
        for leaf in of(key) {
            // `run = [{ task = "x" }]`
            if leaf.keys.len() > 3 {
                visit(leaves, &leaf.text, seen, steps);
                continue;
            }
            let text = without_templates(&leaf.text);
            let (shell, text) = match text.strip_prefix("#!").map(|text| text.split_once('\n')) {
                Some(Some((shebang, body))) => (Some(shebang.trim().to_owned()), body.to_owned()),
                _ => (shell.clone(), text),
            };
            steps.push(Step { line: leaf.line, text, shell });
        }
    }
    others("depends_post", seen, steps);
    // `alias = "b"`
    if steps.is_empty() {
        let named = |leaf: &&Leaf| {
            matches!(leaf.keys.as_slice(), [first, _, last] if first == "tasks" && last == "alias")
                && leaf.text == name
        };
        if let Some(task) = leaves.iter().find(named).and_then(|leaf| leaf.keys.get(1)) {
            visit(leaves, task, seen, steps);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipes::tests::shown;

    #[test]
    fn tasks_of_mise_are_read() {
        let file = r#"
[env]
X = "1"
[tasks]
lint = "eslint ."
both = ["a", "b"]
[tasks.build]
alias = "b"
depends = ["lint", "gen x"]
depends_post = "both"
run = ["cargo build {{arg(name='p')}}", "rm -rf tmp"]
[tasks.gen]
run = """
#!/usr/bin/env python
print(1)
"""
[tasks."x:y"]
shell = "bash -c"
run = [{ task = "lint" }, "echo"]
"#;
        let build = vec![
            "5: eslint .",
            "13: [/usr/bin/env python] print(1)\n",
            "11: cargo build ?",
            "11: rm -rf tmp",
            "6: a",
            "6: b",
        ];
        for (name, expected) in [
            ("build", build.clone()),
            ("b", build),
            ("lint", vec!["5: eslint ."]),
            ("x:y", vec!["5: eslint .", "19: [bash -c] echo"]),
            ("none", vec!["absent"]),
        ] {
            assert_eq!(shown(&task(file, name)), expected, "{name}");
        }
        assert_eq!(shown(&task("[tasks", "x")), ["opaque: the file is no TOML"]);
    }
}
