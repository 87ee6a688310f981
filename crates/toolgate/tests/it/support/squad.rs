//! A team in a real repository: Ripley and Kane write, Dallas reviews, each in a worktree of its own; who works in the main
//! checkout and was never registered hands out the work.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::terminal::at_terminal;
use crate::support::{Answer, Machine, Session, git, write};

/// Who is on the team.
pub(crate) const ROSTER: &str = "# Team\n\n## Members\n\n| Name | Role |\n|---|---|\n| Ripley | Backend Dev |\n\
     | Kane | Frontend Dev |\n| Dallas | Reviewer |\n";

pub(crate) struct Squad {
    pub(crate) machine: Machine,
    pub(crate) main: PathBuf,
}

impl Squad {
    /// With a roster, and everybody registered in a worktree.
    pub(crate) fn new() -> Squad {
        let squad = Squad::with_files(&[(".squad/team.md", ROSTER)]);
        for (name, role) in [("ripley", "backend-dev"), ("kane", "frontend-dev"), ("dallas", "reviewer")] {
            let place = squad.machine.worktree(&squad.main, name);
            let added = squad.toolgate(&place, &["agent", "add", name, "--role", role]);
            assert_eq!(added.code(), Some(0), "{added:?}");
        }
        squad
    }

    /// A repository with these files in it, and nobody registered.
    pub(crate) fn with_files(files: &[(&str, &str)]) -> Squad {
        let machine = Machine::new();
        let main = machine.repository("main");
        for (path, text) in files.iter().chain(&[("src/auth.ts", "one\ntwo\n"), ("src/menu.ts", "menu\n")]) {
            write(&main.join(path), text);
        }
        git(&main, ["add", "-A"]);
        git(&main, ["commit", "-q", "-m", "work"]);
        Squad { machine, main }
    }

    /// An agent's worktree.
    pub(crate) fn place(&self, agent: &str) -> PathBuf {
        self.machine.path(agent)
    }

    /// A session of an agent.
    pub(crate) fn session(&self, id: &str, agent: &str) -> Session {
        self.at(id, &self.place(agent))
    }

    /// A session of nobody in particular: of the coordinator.
    pub(crate) fn coordinator(&self, id: &str) -> Session {
        self.at(id, &self.main)
    }

    pub(crate) fn at(&self, id: &str, place: &Path) -> Session {
        self.machine.session(id, place).with(|hook| hook.args(["--profile", "squad"]))
    }

    /// `toolgate` without a terminal.
    pub(crate) fn toolgate(&self, place: &Path, args: &[&str]) -> Answer {
        self.machine.toolgate().args(args).cwd(place).run("yes\n")
    }

    /// `toolgate` on a terminal where this is typed.
    pub(crate) fn on_terminal(&self, place: &Path, args: &str, typed: &str) -> Answer {
        let command = format!("exec '{}' {args}", env!("CARGO_BIN_EXE_toolgate"));
        at_terminal(&self.machine.toolgate().cwd(place).instead(&["sh", "-c", &command]), typed)
    }

    /// What an agent's shell does, with `toolgate` on its path.
    pub(crate) fn bash(&self, place: &Path, command: &str) -> Answer {
        let binary = Path::new(env!("CARGO_BIN_EXE_toolgate")).parent().unwrap();
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", binary.display());
        self.machine.toolgate().env("PATH", path).cwd(place).instead(&["bash", "-c", command]).run("")
    }

    /// Locks an agent out, as a person does.
    pub(crate) fn lock_out(&self, agent: &str, artifact: &str) {
        let answer = self.toolgate(&self.main, &["lockout", "add", artifact, "--agent", agent]);
        assert_eq!(answer.code(), Some(0), "{answer:?}");
    }
}

/// The record of grave denials of the team in this place, a value for each line.
pub(crate) fn audited(place: &Path) -> Vec<Value> {
    let text = fs::read_to_string(place.join(".squad/security-audit.log")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A PreToolUse event, with what the user is told besides.
pub(crate) fn call(session: &Session, tool: &str, input: &Value) -> (Answer, Option<String>) {
    let answer = session.event("PreToolUse", &json!({"tool_name": tool, "tool_input": input}));
    let notice = notice(&answer);
    (answer, notice)
}

/// What the user is told, and the model is not.
pub(crate) fn notice(answer: &Answer) -> Option<String> {
    answer.json().and_then(|answer| answer["systemMessage"].as_str().map(str::to_owned))
}

/// The user says something.
pub(crate) fn prompt(session: &Session, text: &str) {
    let answer = session.event("UserPromptSubmit", &json!({"prompt": text}));
    assert_eq!(answer.code(), Some(0), "{answer:?}");
}

/// One question to the user.
pub(crate) fn question() -> Value {
    json!({"questions": [{"question": "Which database?", "header": "Database", "multiSelect": false, "options": []}]})
}
