//! `mode = "observe"`: everything is judged and recorded, and nothing is stopped but what the floor stops.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::terminal::at_terminal;
use crate::support::{Machine, SECRET, Session, have, write};

struct Project {
    machine: Machine,
    top: PathBuf,
}

impl Project {
    fn new(settings: &str) -> Project {
        let machine = Machine::new();
        let main = machine.repository("main");
        let top = machine.worktree(&main, "top");
        write(&machine.user_settings(), settings);
        Project { machine, top }
    }

    fn session(&self) -> Session {
        self.machine.session("s", &self.top)
    }

    fn write(&self, path: &str) -> &'static str {
        self.session().write(self.machine.home().join(path))
    }
}

/// What the last record says was decided, and what would have been.
fn recorded(machine: &Machine) -> (Value, Value) {
    let record = machine.last_record();
    (record["decision"].clone(), record["would"].clone())
}

#[test]
fn nothing_is_stopped_and_the_record_says_what_would_have_been() {
    let project = Project::new("mode = \"observe\"\n");
    assert_eq!(project.write("elsewhere/a"), "nothing");
    assert_eq!(recorded(&project.machine), (json!("allow"), json!("deny")));
    let finding = project.machine.last_record()["findings"][0].clone();
    assert_eq!((&finding["policy"], &finding["decision"]), (&json!("outside-scope"), &json!("allow")));
    assert_eq!(finding["would"], json!("deny"), "{finding}");

    assert_eq!(project.session().call("NewTool", &json!({ "x": "y" })).word(), "nothing");
    assert_eq!(recorded(&project.machine), (json!("allow"), json!("ask")));
    // Nothing is changed about a command either.
    assert_eq!(project.session().shell("$(cat name)"), "nothing");
    assert_ne!(recorded(&project.machine).1, Value::Null);
    // What nothing is objected to is recorded as ever.
    assert_eq!(project.session().shell("ls"), "nothing");
    assert_eq!(recorded(&project.machine), (json!("allow"), Value::Null));

    let counts = project.machine.toolgate().args(["ledger", "counts"]).run("").stdout;
    assert!(counts.contains("would be deny (only observed)"), "{counts}");
    let tail = project.machine.toolgate().args(["ledger", "tail"]).run("").stdout;
    assert!(tail.contains("(only observed, would be deny)"), "{tail}");
}

#[test]
fn the_floor_holds_unless_it_is_left_out_by_name() {
    for (mode, said, verdict) in [
        ("observe", "deny", (json!("deny"), Value::Null)),
        ("observe-all", "nothing", (json!("allow"), json!("deny"))),
    ] {
        let project = Project::new(&format!("mode = \"{mode}\"\n"));
        for path in
            [".ssh/id_ed25519", ".config/toolgate/toolgate.toml", ".local/state/toolgate/ledger.jsonl"]
        {
            assert_eq!(project.write(path), said, "{mode}: {path}");
            assert_eq!(recorded(&project.machine), verdict, "{mode}: {path}");
        }
        assert_eq!(project.write("elsewhere/a"), "nothing", "{mode}");
    }
}

#[test]
fn output_is_redacted_all_the_same() {
    for mode in ["observe", "observe-all"] {
        let project = Project::new(&format!("mode = \"{mode}\"\n"));
        let event = json!({
            "session_id": "s", "hook_event_name": "PostToolUse", "cwd": project.top, "tool_name": "Read", "tool_use_id": "t",
            "tool_input": { "file_path": project.top.join("a") },
            "tool_response": { "type": "text", "file": { "filePath": "a", "content": SECRET, "numLines": 1, "startLine": 1, "totalLines": 1 } },
        });
        let answer = project.machine.hook("claude-code").event(&event);
        assert!(!answer.stdout.contains(SECRET) && answer.stdout.contains("REDACTED"), "{mode}: {answer:?}");
    }
}

#[test]
fn no_project_can_have_its_calls_only_observed() {
    let project = Project::new("");
    write(&project.top.join("toolgate.toml"), "mode = \"observe-all\"\n");
    assert_eq!(project.write("elsewhere/a"), "deny", "a project that nobody trusted");
    if have("setsid", &["--wait", "true"]) {
        let trusted = at_terminal(&project.machine.toolgate().arg("trust").cwd(&project.top), "yes\n");
        assert_eq!(trusted.code(), Some(0), "{trusted:?}");
        assert_eq!(project.write("elsewhere/a"), "deny", "a project that a person trusts");
    }
    let shown = project.machine.toolgate().args(["config", "show"]).cwd(&project.top).run("").stdout;
    assert!(shown.contains("a project's file cannot decide whether calls are stopped"), "{shown}");
    // Nor can it have them enforced where the person only observes: it would hide what the person wants to see.
    write(&project.machine.user_settings(), "mode = \"observe\"\n");
    write(&project.top.join("toolgate.toml"), "mode = \"enforce\"\n");
    assert_eq!(project.write("elsewhere/a"), "nothing");
}

#[test]
fn the_doctor_and_check_say_that_nothing_is_stopped() {
    let project = Project::new("mode = \"observe-all\"\n");
    let run = |args: &[&str]| project.machine.toolgate().args(args).cwd(&project.top).run("");
    let doctor = run(&["doctor", "--host", "claude-code"]).stdout;
    assert!(doctor.contains("NOTHING IS STOPPED, not even by the floor"), "{doctor}");
    let check = run(&["check", "cat ~/elsewhere/a"]).stdout;
    assert!(check.contains("(only observed, would be "), "{check}");
    write(&project.machine.user_settings(), "mode = \"observe\"\n");
    let doctor = run(&["doctor", "--host", "claude-code"]).stdout;
    assert!(doctor.contains("only the floor stops any"), "{doctor}");
    write(&project.machine.user_settings(), "mode = \"enforce\"\n");
    let doctor = run(&["doctor", "--host", "claude-code"]).stdout;
    assert!(!doctor.contains("OBSERVES"), "{doctor}");
}

#[test]
fn a_replay_shows_what_would_be_stopped() {
    let project = Project::new("mode = \"observe\"\n");
    project.write("elsewhere/a");
    let report = project.machine.toolgate().args(["replay", "--json"]).run("").stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["decisions"], json!({ "deny": 1 }), "{report}");
    assert_eq!(report["grades"], json!({ "same as then": 1 }), "{report}");
}
