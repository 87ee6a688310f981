//! Scripts that `npm run`, `deno task` and `composer run-script` start, from package.json, deno.json and
//! composer.json.
//!
//! Does not see: workspaces, `.npmrc` (`script-shell`), scripts of the dependencies that an install fetches.

use super::{Found, HOLE, Leaf, MAX_STEPS, Step, TOO_MUCH, json};

const NO_JSON: &str = "the file is no JSON";
const NO_TEXT: &str = "the script is not text";

/// `npm run NAME`: with the scripts that run before and after it.
pub(crate) fn script(text: &str, name: &str) -> Found {
    let Some(leaves) = json::leaves(text, "scripts") else { return Found::Opaque(NO_JSON) };
    if !leaves.iter().any(|leaf| leaf.keys.get(1).is_some_and(|key| key == name)) {
        return Found::Absent;
    }
    chosen(leaves, &[&format!("pre{name}"), name, &format!("post{name}")])
}

/// What `npm install` runs of the package's own scripts.
pub(crate) fn install_scripts(text: &str) -> Found {
    const ORDER: [&str; 9] = [
        "preinstall",
        "install",
        "postinstall",
        "prepublish",
        "preprepare",
        "prepare",
        "postprepare",
        "dependencies",
        "pnpm:devPreinstall",
    ];
    match json::leaves(text, "scripts") {
        Some(leaves) => chosen(leaves, &ORDER),
        None => Found::Opaque(NO_JSON),
    }
}

/// What `composer install`, `update` and `dump-autoload` run of the package's own scripts.
pub(crate) fn composer_install_scripts(text: &str) -> Found {
    let Some(leaves) = json::leaves(text, "scripts") else { return Found::Opaque(NO_JSON) };
    let mut steps = Vec::new();
    let mut seen = Vec::new();
    for leaf in &leaves {
        let [_, name, ..] = leaf.keys.as_slice() else { continue };
        if name.starts_with("pre-") || name.starts_with("post-") || name == "command" || name == "init" {
            composer(&leaves, name, &mut seen, &mut steps);
        }
    }
    settled(steps)
}

/// `composer run-script NAME`.
pub(crate) fn composer_script(text: &str, name: &str) -> Found {
    let Some(leaves) = json::leaves(text, "scripts") else { return Found::Opaque(NO_JSON) };
    let mut steps = Vec::new();
    composer(&leaves, name, &mut Vec::new(), &mut steps);
    settled(steps)
}

/// `deno task NAME`: with the tasks that it depends on.
pub(crate) fn deno_task(text: &str, name: &str) -> Found {
    let Some(leaves) = json::leaves(text, "tasks") else { return Found::Opaque(NO_JSON) };
    let mut steps = Vec::new();
    deno(&leaves, name, &mut Vec::new(), &mut steps);
    settled(steps)
}

fn settled(steps: Vec<Step>) -> Found {
    match steps.len() {
        0 => Found::Absent,
        1..=MAX_STEPS => Found::Steps(steps),
        _ => Found::Opaque(TOO_MUCH),
    }
}

fn chosen(leaves: Vec<Leaf>, order: &[&str]) -> Found {
    let place = |leaf: &Leaf| order.iter().position(|name| leaf.keys.get(1).is_some_and(|key| key == name));
    let mut found: Vec<_> = leaves.into_iter().filter_map(|leaf| Some((place(&leaf)?, leaf))).collect();
    if found.iter().any(|(_, leaf)| leaf.keys.len() != 2) {
        return Found::Opaque(NO_TEXT);
    }
    found.sort_by_key(|(place, _)| *place);
    settled(found.into_iter().map(|(_, leaf)| plain(&leaf)).collect())
}

fn plain(leaf: &Leaf) -> Step {
    Step { line: leaf.line, text: leaf.text.clone(), shell: None }
}

fn composer(leaves: &[Leaf], name: &str, seen: &mut Vec<String>, steps: &mut Vec<Step>) {
    if seen.iter().any(|known| known == name) || seen.len() > 64 {
        return;
    }
    seen.push(name.to_owned());
    for leaf in leaves.iter().filter(|leaf| leaf.is_at(&["scripts", name])) {
        let text = leaf.text.as_str();
        if let Some(rest) = text.strip_prefix('@') {
            let (word, _) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            match word {
                "php" | "composer" => {
                    steps.push(Step { line: leaf.line, text: rest.to_owned(), shell: None });
                }
                "putenv" => {}
                other => composer(leaves, other, seen, steps),
            }
        } else if text.contains("::") && !text.contains([' ', '/']) || is_class(text) {
            // A PHP method.
            steps.push(Step::unknown(leaf.line));
        } else {
            steps.push(plain(leaf));
        }
    }
}

/// `Vendor\Package\Class`
fn is_class(text: &str) -> bool {
    text.contains('\\') && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '\\' | '_'))
}

fn deno(leaves: &[Leaf], name: &str, seen: &mut Vec<String>, steps: &mut Vec<Step>) {
    if seen.iter().any(|known| known == name) || seen.len() > 64 {
        return;
    }
    seen.push(name.to_owned());
    for leaf in leaves.iter().filter(|leaf| leaf.is_at(&["tasks", name, "dependencies"])) {
        deno(leaves, &leaf.text, seen, steps);
    }
    let own = |leaf: &&Leaf| leaf.is_at(&["tasks", name]) || leaf.is_at(&["tasks", name, "command"]);
    // `deno task "build:*"` starts every task of that shape.
    match name.strip_suffix('*') {
        Some(start) => {
            let names =
                leaves.iter().filter_map(|leaf| leaf.keys.get(1)).filter(|key| key.starts_with(start));
            for key in names.filter(|key| !key.ends_with('*')) {
                deno(leaves, key, seen, steps);
            }
        }
        None => steps.extend(leaves.iter().filter(own).map(plain)),
    }
}

/// A script with a template in it, `{{…}}`, each of them as a hole.
pub(super) fn without_templates(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("{{").into_iter().chain(rest.find("{%")).min() {
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let end = if after.starts_with("{%") { "%}" } else { "}}" };
        out.push_str(before);
        out.push(HOLE);
        rest = after.split_once(end).map(|(_, rest)| rest).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipes::tests::{scrambled, shown};

    const PACKAGE: &str = r#"{
  "name": "x",
  "scripts": {
    "prebuild": "rm -rf dist",
    "build": "tsc -p . && echo \"ok\"",
    "postbuild": "cp -r dist \u0061",
    "test": "vitest",
    "postinstall": "node evil.js",
    "preinstall": "echo pre",
    "prepare": "husky",
    "odd": ["a"]
  },
  "other": {"scripts": {"no": "x"}}
}"#;

    #[test]
    fn scripts_of_package_json_are_read() {
        for (name, expected) in [
            ("build", vec!["4: rm -rf dist", "5: tsc -p . && echo \"ok\"", "6: cp -r dist a"]),
            ("test", vec!["7: vitest"]),
            ("odd", vec!["11: a"]),
            ("no", vec!["absent"]),
            ("stall", vec!["absent"]),
        ] {
            assert_eq!(shown(&script(PACKAGE, name)), expected, "{name}");
        }
        assert_eq!(shown(&install_scripts(PACKAGE)), ["9: echo pre", "8: node evil.js", "10: husky"]);
        assert_eq!(shown(&install_scripts("{}")), ["absent"]);
        let twice = r#"{"scripts":{"a":"one","a":"two"},"scripts":{"a":"three"}}"#;
        assert_eq!(shown(&script(twice, "a")), ["1: one", "1: two", "1: three"]);
        assert_eq!(shown(&script(r#"{"scripts":{"a":{"x":"y"}}}"#, "a")), ["opaque: the script is not text"]);
        for broken in ["", "{", "{\"a\":}x", "[1", "{} {}", "{\"a\" 1}"] {
            assert_eq!(shown(&script(broken, "a")), ["opaque: the file is no JSON"], "{broken}");
        }
    }

    #[test]
    fn tasks_of_deno_are_read() {
        let file = r#"{
  // jsonc
  "tasks": {
    "gen": "deno run -A gen.ts",
    "build": { "description": "d", "command": "deno compile", "dependencies": ["gen", "build"] },
    "all": { "dependencies": ["build", "gen"] },
    "x:*": "no", "x:a": "echo a", "x:b": "echo b", /* c */
  },
}"#;
        for (name, expected) in [
            ("gen", vec!["4: deno run -A gen.ts"]),
            ("all", vec!["4: deno run -A gen.ts", "5: deno compile"]),
            ("x:*", vec!["7: echo a", "7: echo b"]),
            ("none", vec!["absent"]),
        ] {
            assert_eq!(shown(&deno_task(file, name)), expected, "{name}");
        }
    }

    #[test]
    fn scripts_of_composer_are_read() {
        let file = r#"{"scripts": {
  "post-install-cmd": ["@clear", "Vendor\\Class::method"],
  "clear": "rm -rf cache/*",
  "test": ["@putenv X=1", "@php vendor/bin/phpunit", "@clear", "@test"],
  "post-update-cmd": "@clear"
}}"#;
        assert_eq!(shown(&composer_script(file, "test")), ["4: php vendor/bin/phpunit", "3: rm -rf cache/*"]);
        assert_eq!(shown(&composer_install_scripts(file)), ["3: rm -rf cache/*", "2: ?"]);
    }

    #[test]
    fn any_text_is_read_or_refused_without_a_panic() {
        let pieces = [
            "{",
            "}",
            "[",
            "]",
            "\"",
            "\\",
            "\\u00",
            ":",
            ",",
            "scripts",
            "\"scripts\":",
            "\"a\"",
            "1",
            "//",
            "/*",
            "\n",
            "é",
        ];
        scrambled(&pieces, 2000, |text| {
            drop((script(text, "a"), deno_task(text, "*"), composer_script(text, "a")));
        });
        assert_eq!(shown(&script(&"[".repeat(1_000_000), "a")), ["opaque: the file is no JSON"]);
    }
}
