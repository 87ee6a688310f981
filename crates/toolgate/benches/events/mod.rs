//! What the hook is asked in the benchmarks: calls as agents make them all day, and the large ones.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

/// So many files has the large repository.
const FILES: usize = 100_000;

/// Each row: its name, its event, and how many rounds it is measured once in.
pub(crate) fn all(home: &Path) -> Vec<(&'static str, Value, usize)> {
    let inside = home.join("alpha/src/main.rs").display().to_string();
    let outside = home.join("main/src/main.rs").display().to_string();
    let cyrillic = home.join("alpha/src/Документы/отчёт.md").display().to_string();
    fs::create_dir_all(home.join("alpha/src/Документы")).expect("a directory");
    fs::write(&cyrillic, "текст\n").expect("a file");
    let content = "fn main() {}\n".repeat(8);
    let before = |tool: &str, input: Value| event(home, "alpha", "PreToolUse", tool, &input);
    let bash = |command: &str| before("Bash", json!({ "command": command }));
    let after = |bytes: usize, secrets: bool| {
        let mut event = event(home, "alpha", "PostToolUse", "Bash", &json!({ "command": "cat build.log" }));
        event["tool_response"] =
            json!({ "stdout": output(bytes, secrets), "stderr": "", "interrupted": false, "isImage": false });
        event
    };
    let mut rows = vec![
        ("Read", before("Read", json!({ "file_path": inside })), 1),
        ("Read, a path in Cyrillic", before("Read", json!({ "file_path": cyrillic })), 1),
        ("Write", before("Write", json!({ "file_path": inside, "content": content })), 1),
        ("Write, denied", before("Write", json!({ "file_path": outside, "content": content })), 1),
        ("Bash: ls -la src", bash("ls -la src"), 1),
        ("Bash: cd, grep, head", bash("cd src && grep -rn \"fn main\" . | head -20"), 1),
        ("Bash: git && git", bash("git status && git log --oneline -5"), 1),
        ("Bash: paths in Cyrillic", bash("head -5 src/Документы/отчёт.md && wc -l src/Документы/*.md"), 1),
        ("Bash, denied", bash("cargo test 2>&1 | tee ../../out.log"), 1),
        ("Bash: a script of 8 lines", bash(SCRIPT), 1),
        ("Bash: a script of 60 lines", bash(&long_script()), 1),
        ("output of 50 KB", after(50_000, false), 1),
        ("output of 50 KB with secrets", after(50_000, true), 1),
        ("output of 1 MB", after(1_000_000, false), 10),
        ("output of 1 MB with secrets", after(1_000_000, true), 10),
        ("output of 10 MB", after(10_000_000, false), 50),
        ("output of 10 MB with secrets", after(10_000_000, true), 50),
    ];
    if large_repository(&home.join("large")) {
        let input = json!({ "command": "git diff" });
        rows.push(("git diff in 100,000 files", event(home, "large", "PreToolUse", "Bash", &input), 50));
        // An index that may still be changing is gone through each time.
        assert!(large_repository(&home.join("changing")), "git made one before");
        let index =
            fs::File::options().write(true).open(home.join("changing/.git/index")).expect("its index");
        index.set_modified(SystemTime::now() + Duration::from_hours(24)).expect("its time");
        let row = "git diff in 100,000 files, index changing";
        rows.push((row, event(home, "changing", "PreToolUse", "Bash", &input), 50));
    }
    rows
}

fn event(home: &Path, root: &str, name: &str, tool: &str, input: &Value) -> Value {
    json!({
        "session_id": format!("bench-{root}"), "transcript_path": home.join(".claude/projects/alpha/t.jsonl"),
        "cwd": home.join(root), "permission_mode": "default",
        "hook_event_name": name, "tool_name": tool, "tool_use_id": "toolu_1", "tool_input": input,
    })
}

const SCRIPT: &str = "set -e\nfor f in src/*.rs; do\n  grep -n main \"$f\" | head -3\ndone\ncat > notes.txt <<'EOF'\nplain text\nEOF\nwc -l notes.txt\n";

/// What an agent writes that does several things at once.
fn long_script() -> String {
    let mut script = "set -euo pipefail\nout=build; mkdir -p \"$out\"\n".to_owned();
    for part in 0..8 {
        let _ = write!(
            script,
            "echo 'step {part}'\nfor f in src/*.rs; do\n  grep -n 'fn part{part}' \"$f\" | head -3 >> \"$out/part{part}.txt\" || true\ndone\n\
             if [ -f \"$out/part{part}.txt\" ]; then\n  wc -l \"$out/part{part}.txt\" && sort -u \"$out/part{part}.txt\" > \"$out/sorted{part}.txt\"\nfi\n"
        );
    }
    script.push_str("ls -la \"$out\"\ngit status --short\n");
    script
}

/// Lines as a search or a compiler prints them; a secret in every tenth part, made of what nobody would take for one in here.
fn output(bytes: usize, secrets: bool) -> String {
    let mut text = String::with_capacity(bytes + 1024);
    let part = bytes / 10;
    let mut next = part / 2;
    let mut number = 0;
    while text.len() < bytes {
        number += 1;
        let _ = writeln!(
            text,
            "src/module_{number:04}/file.rs:{number}: let value = compute({number}, \"name\");"
        );
        if secrets && text.len() > next {
            next += part;
            let _ = writeln!(
                text,
                "GITHUB_TOKEN=ghp_{}\nDB_PASSWORD=q8Zr{}Tx9Lm2",
                "aB3dE5gH7jK9mN1pQ3".repeat(2),
                number
            );
        }
    }
    text
}

/// A repository with an index of many files. False where there is no git.
fn large_repository(root: &Path) -> bool {
    fs::create_dir_all(root).expect("a directory");
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(args).current_dir(root).stdout(Stdio::null()).stderr(Stdio::null());
        git
    };
    if !git(&["init", "-q"]).status().is_ok_and(|status| status.success()) {
        println!("no git, so there is no row for a large repository");
        return false;
    }
    let mut index = git(&["update-index", "--index-info"]).stdin(Stdio::piped()).spawn().expect("git");
    let mut lines = String::new();
    for file in 0..FILES {
        let _ = writeln!(
            lines,
            "100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\tpackages/part{:03}/src/module_{file:06}.ts",
            file % 500
        );
    }
    index.stdin.take().expect("its stdin").write_all(lines.as_bytes()).expect("written");
    index.wait().expect("git ends").success()
}
