//! What becomes of a registration while sessions run.

use std::fs;

use crate::support::{Machine, Said};

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
    assert!(told.stdout.contains("toolgate is no longer registered in"), "{told:?}");
    assert!(session.call("Read", &serde_json::json!({"file_path": top.join("README.md")})) == Said::Nothing);
    fs::write(&settings, written).unwrap();
    assert_eq!(speak().stdout, "", "registered again");
    fs::remove_file(&settings).unwrap();
    assert!(speak().stdout.contains("no longer registered"));
}

#[test]
fn an_agents_processes_take_no_registration_out() {
    let machine = Machine::new();
    let settings = machine.home().join(".claude/settings.json");
    let toolgate = |words: &[&str]| machine.toolgate().args(words);
    assert_eq!(toolgate(&["init", "--host", "claude-code", "--yes"]).run("").code(), Some(0));
    let refused = toolgate(&["uninstall", "--yes"]).env("CLAUDECODE", "1").run("");
    assert_eq!(refused.code(), Some(1), "{refused:?}");
    assert!(fs::read_to_string(&settings).unwrap().contains("toolgate"));
    assert_eq!(toolgate(&["uninstall", "--yes"]).run("").code(), Some(0));
    assert!(!fs::read_to_string(&settings).unwrap_or_default().contains("toolgate"));
}
