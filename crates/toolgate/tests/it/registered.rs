//! What becomes of a registration while sessions run.

use std::fs;
use std::time::{Duration, SystemTime};

use crate::support::{Machine, Said, have};

const LOST: &str = "toolgate is no longer registered in";

#[test]
fn a_registration_that_has_gone_is_told_when_the_user_speaks_next() {
    let machine = Machine::new();
    let top = machine.repository("main");
    let settings = machine.home().join(".claude/settings.json");
    let init = machine.toolgate().args(["init", "--host", "claude-code", "--yes"]).cwd(&top).run("");
    assert_eq!(init.code(), Some(0), "{init:?}");
    let session = machine.session("s", &top);
    let speak = || session.event("UserPromptSubmit", &serde_json::json!({"prompt": "go on"}));
    assert_eq!(speak().stdout, "", "registered");
    let written = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, "{}\n").unwrap();
    let told = speak();
    assert!(told.stdout.contains(LOST), "{told:?}");
    assert!(session.call("Read", &serde_json::json!({"file_path": top.join("README.md")})) == Said::Nothing);
    fs::write(&settings, written).unwrap();
    assert_eq!(speak().stdout, "", "registered again");
    fs::remove_file(&settings).unwrap();
    assert!(speak().stdout.contains("no longer registered"));
}

/// Nobody speaks: the agent works on by itself.
#[test]
fn a_registration_that_has_gone_is_told_with_the_next_call() {
    let machine = Machine::new();
    let top = machine.repository("main");
    let settings = machine.home().join(".claude/settings.json");
    let init = machine.toolgate().args(["init", "--host", "claude-code", "--yes"]).cwd(&top).run("");
    assert_eq!(init.code(), Some(0), "{init:?}");
    let session = machine.session("s", &top);
    let input = serde_json::json!({"tool_name": "Read", "tool_input": {"file_path": top.join("README.md")}});
    let call = || session.event("PreToolUse", &input);
    // As if a minute had passed.
    let wait = || {
        let due = fs::OpenOptions::new().write(true).open(machine.state().join("tlog/due")).unwrap();
        due.set_modified(SystemTime::now() - Duration::from_secs(61)).unwrap();
    };
    assert_eq!(call().stdout, "", "registered");
    let written = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, "{}\n").unwrap();
    let told = call();
    assert!(told.stdout.contains(LOST) && told.stdout.contains("settings.json"), "{told:?}");
    assert!(!told.stdout.contains("deny"), "and the call runs: {told:?}");
    assert_eq!(call().stdout, "", "once for each look");
    wait();
    assert_eq!(call().stdout, "", "it is looked at after the answer");
    assert!(call().stdout.contains(LOST), "and told again, while it holds");
    let recorded = machine.records();
    let lost = recorded.iter().filter(|record| record["event"] == "security-warning: registration lost");
    assert_eq!(lost.count(), 2);
    // What comes after a call says it too.
    fs::write(&settings, "{ }\n").unwrap();
    let after = session.event(
        "PostToolUse",
        &serde_json::json!({
            "tool_name": "Read", "tool_input": {"file_path": top.join("README.md")}, "tool_response": "x",
        }),
    );
    assert!(after.stdout.contains(LOST), "{after:?}");
    fs::write(&settings, written).unwrap();
    assert_eq!(call().stdout, "", "registered again");
}

/// What judges is taken out, and what only tells stays.
#[test]
fn a_registration_of_which_a_part_has_gone_is_told_by_the_next_event_of_any_kind() {
    let machine = Machine::new();
    let top = machine.repository("main");
    let settings = machine.home().join(".claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, r#"{"permissions": {"allow": ["Bash(toolgate check:*)"]}}"#).unwrap();
    let init = machine.toolgate().args(["init", "--host", "claude-code", "--yes"]).cwd(&top).run("");
    assert_eq!(init.code(), Some(0), "{init:?}");
    let session = machine.session("s", &top);
    let input = serde_json::json!({"file_path": top.join("README.md")});
    let after = || {
        let output = serde_json::json!({"tool_name": "Read", "tool_input": input, "tool_response": "x"});
        session.event("PostToolUse", &output).stdout
    };
    assert!(session.call("Read", &input) == Said::Nothing);
    let written: serde_json::Value = serde_json::from_str(&fs::read_to_string(&settings).unwrap()).unwrap();
    let mut others = written.clone();
    others["permissions"] = serde_json::json!({});
    others["model"] = "x".into();
    fs::write(&settings, serde_json::to_string_pretty(&others).unwrap()).unwrap();
    assert_eq!(after(), "", "other settings may change");
    for event in ["PreToolUse", "PermissionRequest", "SessionEnd"] {
        let mut less = written.clone();
        less["hooks"].as_object_mut().unwrap().remove(event);
        fs::write(&settings, serde_json::to_string_pretty(&less).unwrap()).unwrap();
        assert!(after().contains(LOST), "{event}");
        assert_eq!(after(), "", "{event}");
    }
    fs::write(&settings, serde_json::to_string_pretty(&written).unwrap()).unwrap();
    assert_eq!(after(), "", "as it was");
}

/// The file lies elsewhere, with a person's other settings, and its place holds a link.
#[test]
fn a_registration_behind_a_link_is_missed_too() {
    let machine = Machine::new();
    let top = machine.repository("main");
    let (place, file) = (machine.home().join(".claude/settings.json"), machine.home().join("dotfiles.json"));
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(&file, "{}").unwrap();
    std::os::unix::fs::symlink(&file, &place).unwrap();
    let init = machine.toolgate().args(["init", "--host", "claude-code", "--yes"]).cwd(&top).run("");
    assert_eq!(init.code(), Some(0), "{init:?}");
    let session = machine.session("s", &top);
    let call = || {
        let input =
            serde_json::json!({"tool_name": "Read", "tool_input": {"file_path": top.join("README.md")}});
        session.event("PreToolUse", &input).stdout
    };
    assert_eq!(call(), "");
    fs::write(&file, "{}").unwrap();
    assert!(call().contains(LOST));
}

#[test]
fn a_note_about_a_registration_pauses_nothing_and_a_pause_stays() {
    let machine = Machine::new();
    let top = machine.repository("main");
    let init = machine.toolgate().args(["init", "--host", "claude-code", "--yes"]).cwd(&top).run("");
    assert_eq!(init.code(), Some(0), "{init:?}");
    let session = machine.session("s", &top);
    let git = || session.call("Bash", &serde_json::json!({"command": "git reset --hard"})).word();
    let look = || {
        let due = fs::OpenOptions::new().write(true).open(machine.state().join("tlog/due")).unwrap();
        due.set_modified(SystemTime::now() - Duration::from_secs(61)).unwrap();
        session.event("SessionEnd", &serde_json::json!({}));
    };
    assert_eq!(git(), "deny");
    fs::write(machine.home().join(".claude/settings.json"), "{}\n").unwrap();
    look();
    assert_eq!(git(), "deny");
    let note = fs::read_dir(machine.state().join("paused")).unwrap().count();
    assert_eq!(note, 0, "it was told");
    let dirs = toolgate_gate::dirs::Dirs::of_home(&machine.home());
    toolgate_gate::pause::begin(&dirs, &top, SystemTime::now(), Duration::from_mins(5)).unwrap();
    assert_ne!(git(), "deny");
    look();
    assert_ne!(git(), "deny", "the pause is still there");
}

/// Of an ordinary call, the registration costs nothing.
#[test]
fn an_ordinary_call_does_not_look_for_its_registration() {
    if !have("strace", &["-V"]) {
        return;
    }
    let machine = Machine::new();
    let top = machine.repository("main");
    let session = machine.session("s", &top);
    session.read("README.md");
    let trace = machine.path("trace");
    let hook = session.hook.clone().under(&["strace", "-f", "-o", trace.to_str().unwrap()]);
    crate::support::Session { hook, ..machine.session("s", &top) }.read("README.md");
    let text = fs::read_to_string(&trace).unwrap();
    assert_eq!(text.matches("registrations.json").count(), 0, "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("/paused/")).count(), 1, "{text}");
}

#[test]
fn an_agents_processes_take_no_registration_out() {
    let machine = Machine::new();
    let settings = machine.home().join(".claude/settings.json");
    let toolgate = |words: &[&str]| machine.toolgate().args(words);
    assert_eq!(toolgate(&["init", "--host", "claude-code", "--yes"]).run("").code(), Some(0));
    let refused = toolgate(&["uninstall", "--yes"]).env("CLAUDECODE", "1").run("");
    assert_eq!(refused.code(), Some(1), "{refused:?}");
    let written = fs::read_to_string(&settings).unwrap();
    assert!(written.contains("toolgate"));
    // Nor do they give it another profile, role or place.
    let other = ["init", "--host", "claude-code", "--profile", "pi-worktree", "--yes"];
    let refused = toolgate(&other).env("CLAUDECODE", "1").run("");
    assert_eq!(refused.code(), Some(1), "{refused:?}");
    assert!(refused.stderr.contains("only a person can do this"), "{refused:?}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), written);
    assert_eq!(
        toolgate(&["init", "--host", "claude-code", "--yes"]).env("CLAUDECODE", "1").run("").code(),
        Some(0),
        "as it is"
    );
    assert_eq!(toolgate(&other).run("").code(), Some(0));
    assert!(fs::read_to_string(&settings).unwrap().contains("pi-worktree"));
    assert_eq!(toolgate(&["uninstall", "--yes"]).run("").code(), Some(0));
    assert!(!fs::read_to_string(&settings).unwrap_or_default().contains("toolgate"));
    assert_eq!(
        toolgate(&["init", "--host", "claude-code", "--yes"]).env("CLAUDECODE", "1").run("").code(),
        Some(0),
        "a new one"
    );
}
