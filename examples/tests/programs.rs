//! Every program is run as its head says, and has to print what it promises.

#![cfg(test)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs a program in a directory that is also its home, with nothing of this process's environment but the path.
fn run(program: &str, directory: &Path, arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", directory.parent().unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A project, in a home with nothing else in it.
fn project() -> (tempfile::TempDir, std::path::PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().canonicalize().unwrap().join("project");
    std::fs::create_dir(&project).unwrap();
    (home, project)
}

#[test]
fn embed_runs_what_is_allowed_and_nothing_else() {
    let (home, project) = project();
    let other = home.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let secret = "printf 'ghp_'; printf 'a1B2%.0s' 1 2 3 4 5 6 7 8 9";
    let commands = ["echo hello > a; cat a", "rm -rf ../other", secret];
    let said = stdout(&run(env!("CARGO_BIN_EXE_embed"), &project, &commands, ""));
    assert!(said.starts_with("allow: echo hello > a; cat a\n  | hello\ndeny: rm -rf ../other\n"), "{said}");
    assert!(said.contains("[outside-scope]") && said.contains("| [GITHUB_TOKEN REDACTED]"), "{said}");
    assert!(project.join("a").is_file() && other.is_dir());
    let ledger = home.path().join(".local/state/toolgate/ledger.jsonl");
    // Two calls were asked about before and after, one only before.
    assert_eq!(std::fs::read_to_string(ledger).unwrap().lines().count(), 5);
}

#[test]
fn scrub_redacts_secrets_and_passes_the_rest_on() {
    let (_home, project) = project();
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let output = run(env!("CARGO_BIN_EXE_scrub"), &project, &[], &format!("one\n{token} two\nthree"));
    assert_eq!(stdout(&output), "one\n[GITHUB_TOKEN REDACTED] two\nthree");
    assert_eq!(output.stderr, b"secrets replaced: 1\n");
}

#[test]
fn effects_prints_the_part_of_the_command_and_the_chain_to_it() {
    let (_home, project) = project();
    std::fs::write(project.join("clean.sh"), "rm -rf \"$1\"\n").unwrap();
    let command = "echo x > log; sudo bash clean.sh dist";
    let said = stdout(&run(env!("CARGO_BIN_EXE_effects"), &project, &[command], ""));
    let place = project.display();
    assert!(said.contains(&format!("writes {place}/log\n  at 7..12: > log\n")), "{said}");
    let deletes = format!(
        "deletes {place}/dist and all below it\n  at 14..37: sudo bash clean.sh dist\n  via sudo > clean.sh:1\n"
    );
    assert!(said.contains(&deletes), "{said}");
    let said = stdout(&run(env!("CARGO_BIN_EXE_effects"), &project, &["ls; if"], ""));
    assert!(said.starts_with("syntax error at byte "), "{said}");
}

#[test]
fn declared_io_is_refused_undeclared_paths_and_gets_a_receipt() {
    let (_home, project) = project();
    let said = stdout(&run(env!("CARGO_BIN_EXE_declared-io"), &project, &[], ""));
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.iter().filter(|line| line.starts_with("read refused: ")).count(), 3, "{said}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("write refused: ")).count(), 1, "{said}");
    assert!(lines.contains(&"the receipt vouches for output/count.txt"), "{said}");
    assert!(said.contains("another key: the receipt was not signed by a trusted key"), "{said}");
}
