//! What the client really sends: every captured event is understood, and every tool in them is known.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Machine, write};
use serde_json::Value;

/// The captured events by name, as they would be sent on this machine.
fn events(machine: &Machine, project: &Path) -> Vec<(String, Value)> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../cases/hosts/claude-code");
    let mut files: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let events: Vec<_> = files
        .iter()
        .filter(|file| file.extension().is_some_and(|extension| extension == "json"))
        .map(|file| {
            let text = fs::read_to_string(file)
                .unwrap()
                .replace("/home/dev/project", project.to_str().unwrap())
                .replace("/home/dev", machine.home().to_str().unwrap());
            let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, serde_json::from_str(&text).unwrap())
        })
        .collect();
    assert!(events.len() >= 90, "only {} events", events.len());
    events
}

#[test]
fn every_event_is_understood_and_answered_in_a_form_that_the_client_takes() {
    let machine = Machine::new();
    let project = machine.repository("home/project");
    for (name, event) in events(&machine, &project) {
        // The end of a session is sealed meanwhile, which is a record of its own.
        let records = || {
            machine.records().into_iter().filter(|record| record["event"] != "ledger-key").collect::<Vec<_>>()
        };
        let before = records().len();
        let answer = machine.hook("claude-code").event(&event);
        assert_eq!((answer.code(), answer.stderr.as_str()), (Some(0), ""), "{name}: {answer:?}");
        let kind = event["hook_event_name"].as_str().unwrap();
        assert_eq!(name.split('.').next(), Some(kind), "the file is named after its event");
        assert!(!answer.stdout.contains("cannot judge"), "{name}: {}", answer.stdout);
        if let Some(json) = answer.json() {
            assert_eq!(json["hookSpecificOutput"]["hookEventName"], kind, "{name}: {json}");
        }
        let records = records();
        assert_eq!(records.len(), before + 1, "{name}");
        let record = &records[before];
        assert_eq!((&record["event"], &record["session"]), (&event["hook_event_name"], &event["session_id"]));
        if let Some(tool) = event.get("tool_name") {
            assert_eq!(&record["tool"], tool, "{name}");
        }
    }
}

#[test]
fn every_tool_of_the_client_is_known() {
    let machine = Machine::new();
    let project = machine.repository("home/project");
    let mut tools = 0;
    for (name, event) in events(&machine, &project) {
        if event["hook_event_name"] != "PreToolUse" {
            continue;
        }
        tools += 1;
        let said = machine.hook("claude-code").event(&event).said();
        let record = machine.last_record();
        let findings = record["findings"].as_array().cloned().unwrap_or_default();
        let unknown =
            |finding: &&Value| finding["message"].as_str().unwrap_or_default().contains("is not known here");
        assert_eq!(findings.iter().find(unknown), None, "{name}: {said:?}");
        // Where nobody is asked anyway, a command is sent through toolgate, so that its output is without secrets however it ends.
        let is_sent = event["permission_mode"] == "bypassPermissions" && event["tool_name"] == "Bash";
        assert_eq!(said.word(), if is_sent { "rewrite" } else { "nothing" }, "{name}: {said:?}");
    }
    assert!(tools >= 25, "only {tools} calls");
}

#[test]
fn only_a_settings_change_that_switches_hooks_off_is_blocked() {
    let machine = Machine::new();
    let project = machine.repository("home/project");
    let mut changes = 0;
    for (name, event) in events(&machine, &project) {
        if event["hook_event_name"] != "ConfigChange" {
            continue;
        }
        changes += 1;
        let file = PathBuf::from(event["file_path"].as_str().unwrap());
        for (text, code) in [("{\"model\": \"x\"}", 0), ("{\"disableAllHooks\": true}", 2)] {
            write(&file, text);
            let answer = machine.hook("claude-code").event(&event);
            assert_eq!(
                (answer.code(), answer.stdout.as_str()),
                (Some(code), ""),
                "{name} {text}: {answer:?}"
            );
            assert_eq!(answer.stderr.is_empty(), code == 0, "{name} {text}: {answer:?}");
        }
    }
    assert_eq!(changes, 2);
}
