//! Whether an agent that reads a denial can go on without its person: a hundred sessions of a scripted agent against the real hook.
//!
//! The agent is simple on purpose. It does what the message says and nothing else: it takes a path below the directory that is named, or the
//! first command in backticks, and leaves off what it is told to leave off. What it cannot get over, the message does not explain well enough.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Machine, Said, Session};

/// What an agent wants, as it would first try it. TOP, MAIN and HOME are places.
const TASKS: &[(&str, &str)] = &[
    ("Write", "MAIN/notes/plan.md"),
    ("Write", "HOME/scratch/result.json"),
    ("Write", "/etc/toolgate-test/app.conf"),
    ("Edit", "MAIN/README.md"),
    ("Read", "MAIN/README.md"),
    ("Write", "TOP/../main/src/lib.rs"),
    ("Bash", "echo done > MAIN/done.txt"),
    ("Bash", "echo done >> HOME/out.log"),
    ("Bash", "git reset --hard"),
    ("Write", "HOME/Desktop/todo.md"),
    ("Read", "HOME/src/other/main.rs"),
    ("Bash", "git clean -xdf"),
    ("Write", "/usr/local/bin/run.sh"),
    ("Write", "/var/log/app.log"),
    ("Edit", "MAIN/Cargo.toml"),
    ("Bash", "git checkout -f"),
    ("Bash", "git reset --hard HEAD~1"),
    ("Bash", "git push --force"),
    ("Write", "TOP/.git/hooks/pre-commit"),
    ("Bash", "cat HOME/.ssh/id_ed25519"),
];

/// How often an agent tries before it would turn to its person.
const TRIES: usize = 3;

struct Agent {
    session: Session,
    top: PathBuf,
}

impl Agent {
    /// Why the call was denied; `None` where it was not.
    fn denied(&self, tool: &str, subject: &str) -> Option<String> {
        let input = match tool {
            "Bash" => json!({ "command": subject }),
            "Edit" => json!({ "file_path": subject, "old_string": "hello", "new_string": "bye" }),
            "Write" => json!({ "file_path": subject, "content": "x" }),
            _ => json!({ "file_path": subject }),
        };
        match self.session.call(tool, &input) {
            Said::Deny(reason) => Some(reason),
            Said::Nothing | Said::Grant | Said::Rewrite(_) | Said::Ask(_) => None,
        }
    }

    /// Another form of the same call, as the message tells it.
    fn instead(&self, tool: &str, subject: &str, reason: &str) -> Option<String> {
        let help = reason.split_once("\nInstead: ").map_or("", |(_, help)| help);
        let top = self.top.display().to_string();
        if help.contains("use a path below") {
            let outside = |word: &&str| word.starts_with('/') && !Path::new(word).starts_with(&self.top);
            let last = subject.split_whitespace().rfind(outside).unwrap_or(subject);
            let name = Path::new(last).file_name()?.to_str()?;
            return Some(subject.replace(last, &format!("{top}/{name}")));
        }
        let command = help.split('`').nth(1).filter(|command| tool == "Bash" && command.contains(' '))?;
        let name = |text: &str, with: &str| {
            text.replace("PATH", with).replace("NAME", "topic-2").replace("START", "HEAD")
        };
        Some(name(command, "README.md"))
    }

    /// Tries until it passes.
    fn work(&self, tool: &str, subject: &str) -> bool {
        let mut subject = subject.to_owned();
        for _ in 0..TRIES {
            let Some(reason) = self.denied(tool, &subject) else { return true };
            let Some(next) = self.instead(tool, &subject, &reason) else { return false };
            subject = next;
        }
        false
    }
}

#[test]
fn a_hundred_sessions_get_over_their_denials_without_a_person() {
    let machine = Machine::new();
    let main = machine.repository("main");
    let top = machine.worktree(&main, "top");
    let place = |path: &Path| path.to_str().unwrap().to_owned();
    let fill = |text: &str| {
        let text = text.replace("MAIN", &place(&main)).replace("TOP", &place(&top));
        text.replace("HOME", &place(&machine.home()))
    };
    let mut stuck = Vec::new();
    for number in 0..100 {
        let (tool, subject) = TASKS[number % TASKS.len()];
        let agent = Agent { session: machine.session(&format!("s{number}"), &top), top: top.clone() };
        if !agent.work(tool, &fill(subject)) {
            stuck.push(subject);
        }
    }
    let counts = machine.toolgate().args(["ledger", "counts", "--json"]).run("");
    let counts: Value = serde_json::from_str(&counts.stdout).unwrap();
    let corrections = &counts["corrections"];
    let (denied, corrected) =
        (corrections["denied"].as_u64().unwrap(), corrections["corrected"].as_u64().unwrap());
    println!("{corrected} of {denied} denials were got over; stuck: {stuck:?}; {corrections}");
    assert!(denied >= 100, "every task is denied at first: {corrections}");
    assert!(corrected * 100 >= denied * 90, "{corrected} of {denied}: {corrections}, stuck: {stuck:?}");
    // What only the floor stops has no form that passes, and none is invented.
    assert!(
        stuck.iter().all(|subject| subject.contains(".ssh") || subject.contains(".git/hooks")),
        "{stuck:?}"
    );
    let shown = machine.toolgate().args(["ledger", "counts"]).run("").stdout;
    assert!(shown.contains("without a person: "), "{shown}");
}
