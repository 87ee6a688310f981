//! The deadline in every host: an event that does not end, and a ledger that stays locked, are answered with the denial that this
//! very client obeys, before it gives up waiting.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolgate_hosts::HOSTS;

use crate::support::{Answer, Machine};

/// Our own deadline is 5 s, and a second later another thread refuses.
const SOON: Duration = Duration::from_secs(8);

/// Whether a client of this host does not run a call that got this answer, by the one form that it obeys.
fn denies(host: &str, answer: &Answer) -> bool {
    let said: Value = serde_json::from_str(&answer.stdout).unwrap_or_default();
    let blocks = answer.code() == Some(2) && !answer.stderr.trim().is_empty();
    match host {
        "claude-code" => said["hookSpecificOutput"]["permissionDecision"] == "deny" || blocks,
        // They take nothing but the exit code for certain where the event is not known.
        "codex" | "qwen" => blocks,
        "copilot" => said["permissionDecision"] == "deny" && blocks,
        "cursor" => said["permission"] == "deny" && blocks,
        // Any code but 0 is shown as a hook that failed.
        "gemini" => said["decision"] == "deny",
        "mpm" => said["action"] == "block",
        "copilot-sdk" | "generic" | "opencode" | "pi" => said["decision"] == "deny",
        other => panic!("what does {other} obey?"),
    }
}

/// A harmless call in the words of this host, and what its registered line says of the event.
fn call(host: &str, home: &Path) -> (&'static [&'static str], Value) {
    let file = home.join("a.txt");
    let named = |event: &str, tool: &str| {
        json!({
            "hook_event_name": event, "session_id": "s", "conversation_id": "s", "cwd": home, "tool_name": tool,
            "tool_input": {"file_path": file, "content": "x"},
        })
    };
    match host {
        "gemini" => (&[], named("BeforeTool", "write_file")),
        "cursor" => (&[], named("preToolUse", "Write")),
        "copilot" => (&["--event", "preToolUse"], named("PreToolUse", "Write")),
        "generic" => {
            let input = json!({"command": "ls"});
            (&[], json!({"event": "before", "session": "s", "cwd": home, "tool": "bash", "input": input}))
        }
        "opencode" => {
            let input = json!({"tool": "read", "sessionID": "s", "callID": "c"});
            let output = json!({"args": {"filePath": file}});
            (&["--event", "tool.execute.before"], json!({"input": input, "output": output}))
        }
        "pi" => {
            let input = json!({"command": "ls"});
            let event = json!({"type": "tool_call", "toolCallId": "c", "toolName": "bash", "input": input});
            let ctx = json!({"cwd": home, "sessionId": "s", "trusted": true, "mode": "tui", "hasUI": true});
            (&[], json!({"event": event, "ctx": ctx}))
        }
        "copilot-sdk" => {
            let input = json!({
                "sessionId": "s", "toolName": "bash", "toolArgs": {"command": "ls"}, "workingDirectory": home,
            });
            (&["--event", "onPreToolUse"], json!({"input": input, "invocation": {"sessionId": "s"}}))
        }
        _ => (&[], named("PreToolUse", "Write")),
    }
}

/// Hosts at the same time: each of them waits as long as our deadline.
fn in_every_host(check: impl Fn(&'static str) + Sync) {
    thread::scope(|all| {
        for host in HOSTS {
            all.spawn(|| check(host.id()));
        }
    });
}

#[test]
fn an_event_that_does_not_end_is_denied_in_the_form_of_every_host() {
    in_every_host(|host| {
        let machine = Machine::new();
        let (named, event) = call(host, &machine.home());
        let event = event.to_string();
        for first in ["", event.split_at(20).0, event.as_str()] {
            let mut child = machine.hook(host).args(named).cwd(machine.home()).spawn();
            let started = Instant::now();
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(first.as_bytes()).unwrap();
            let answer = Answer::of(child, started);
            drop(stdin);
            assert!(denies(host, &answer), "{host}, {first}: {answer:?}");
            let told = format!("{}{}", answer.stdout, answer.stderr);
            assert!(told.contains("no whole hook event within 5 s"), "{host}: {told}");
            assert!(answer.took < SOON, "{host}: {:?}", answer.took);
        }
    });
}

#[test]
fn a_ledger_that_stays_locked_is_denied_in_the_form_of_every_host() {
    in_every_host(|host| {
        let machine = Machine::new();
        std::fs::create_dir_all(machine.state()).unwrap();
        let ledger = OpenOptions::new().create(true).append(true).open(machine.ledger()).unwrap();
        ledger.lock().unwrap();
        let (named, event) = call(host, &machine.home());
        let answer = machine.hook(host).args(named).cwd(machine.home()).event(&event);
        assert!(denies(host, &answer), "{host}: {answer:?}");
        let told = format!("{}{}", answer.stdout, answer.stderr);
        assert!(told.contains("locked by others"), "{host}: {told}");
        assert!(answer.took < SOON, "{host}: {:?}", answer.took);
        ledger.unlock().unwrap();
    });
}
