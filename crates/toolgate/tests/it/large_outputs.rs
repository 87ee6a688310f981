//! Outputs that are too large to be gone through, and what is shown in their place: a client shows a tool's own output where it gets no other one
//! in the form that it takes.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use crate::hosts::{GIVEN, shown, token};
use crate::support::{Answer, Hook, Machine, event};

const MB: usize = 1_000_000;

/// The answer to this event, and the most memory that the hook had in use, in MB.
fn measured(hook: &Hook, event: &[u8]) -> (Answer, usize) {
    let (mut child, started) = (hook.spawn(), Instant::now());
    let (status, mut stdin) = (format!("/proc/{}/status", child.id()), child.stdin.take().unwrap());
    let event = event.to_vec();
    thread::spawn(move || stdin.write_all(&event));
    let watch = thread::spawn(move || {
        let mut peak = 0;
        while let Ok(status) = fs::read_to_string(&status) {
            let Some(now) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")) else { break };
            peak = peak.max(now.trim().trim_end_matches(" kB").parse::<usize>().unwrap() / 1024);
            thread::sleep(std::time::Duration::from_millis(1));
        }
        peak
    });
    let answer = Answer::of(child, started);
    (answer, watch.join().unwrap())
}

fn bash(machine: &Machine, stdout: &str) -> Vec<u8> {
    let output = json!({"stdout": stdout, "stderr": "", "interrupted": false, "isImage": false});
    let after = json!({"tool_name": "Bash", "tool_input": {"command": "cat x"}, "tool_response": output});
    event("PostToolUse", "s", &machine.home(), &after).to_string().into_bytes()
}

/// Lines with a secret and an address on each.
fn secrets(size: usize) -> String {
    let mut text = String::new();
    while text.len() < size {
        let number = text.len();
        let _ = writeln!(text, "DB_PASSWORD=Pl4nt-{number:08}-zQ9 jane{number}@corp-{number}.com");
    }
    text
}

#[test]
fn an_output_that_is_too_large_is_replaced_in_every_host() {
    let machine = Machine::new();
    let long = format!("first line\n{} {}", "word ".repeat(2_000_000), token());
    for given in GIVEN {
        let payload = (given.tell)(&(given.output)(&long), &machine.home()).to_string();
        let hook = machine.hook(given.host).args(["--event", given.event]);
        let answer = hook.run(&payload);
        assert_eq!(answer.code(), Some(0), "{}: {}", given.host, answer.stderr);
        let said: Value = serde_json::from_str(&answer.stdout).unwrap();
        let shown = shown(given.host, &said).unwrap_or_else(|| panic!("{}", given.host));
        // On a busy machine it may be too late, and then all of it is withheld.
        let is_late = shown.contains("[toolgate withheld this output: going through it took more than");
        let is_cut = shown.contains("toolgate withheld the rest") && shown.contains("first line");
        assert!(is_late || is_cut, "{}: {shown:.400}", given.host);
        assert!(!shown.contains(&token()), "{}", given.host);
    }
}

#[test]
fn of_an_output_of_any_size_nothing_is_shown_that_was_not_gone_through() {
    let machine = Machine::new();
    let numbers = "1234567,".repeat(5 * MB / 4);
    let list = format!("\"stdout\":\"Pl4nt-1\",\"list\":[{numbers}1],\"last\":\"Pl4nt-2\"");
    let list = String::from_utf8(bash(&machine, "")).unwrap().replace("\"stdout\":\"\"", &list).into_bytes();
    for (what, event, told, most) in [
        ("addresses", bash(&machine, &"a@b.co ".repeat(1_400_000)), "marks up to 50000", 64),
        ("30 MB of secrets", bash(&machine, &secrets(30 * MB)), "marks up to 50000", 64),
        ("33 MiB", bash(&machine, &secrets(34 * MB)), "marks up to 50000", 64),
        ("120 MB of words", bash(&machine, &"more words\n".repeat(11 * MB)), "withheld the rest", 64),
        ("line ends", bash(&machine, &"\n".repeat(10 * MB)), "withheld the rest", 64),
        ("quotes", bash(&machine, &"\"".repeat(10 * MB)), "withheld the rest", 64),
        ("codes of addresses", bash(&machine, &"%41 ".repeat(2 * MB)), "", 64),
        ("numbers", list, "in more parts than", 64),
    ] {
        let (answer, peak) = measured(&machine.small_hook("claude-code"), &event);
        let start: String = answer.stdout.chars().take(500).collect();
        assert_eq!(answer.code(), Some(0), "{what}: {start}{}", answer.stderr);
        assert!(!answer.stdout.contains("Pl4nt") && !answer.stdout.contains("a@b.co"), "{what}: {start}");
        assert!(peak < most, "{what}: {peak} MB");
        if !told.is_empty() {
            let shown = shown("claude-code", &answer.json().unwrap());
            assert!(shown.is_some_and(|shown| shown.contains(told)), "{what}: {start}");
        }
    }
}

/// With little memory, the output is withheld in its shape.
#[test]
fn an_output_is_withheld_when_there_is_no_memory_left() {
    let machine = Machine::new();
    let event = bash(&machine, &secrets(6 * MB));
    let mut withheld = 0;
    // From too little to answer at all up to more than enough; how much a start takes depends on how the binary was built.
    for megabytes in (16..144).step_by(4) {
        let limited = format!("ulimit -v {}; exec \"$@\"", megabytes * 1024);
        let answer = machine.small_hook("claude-code").under(&["sh", "-c", &limited, "sh"]).run(&event);
        assert!(!answer.stdout.contains("Pl4nt"), "{megabytes}");
        if answer.stdout.contains("no memory left") {
            let shown = shown("claude-code", &answer.json().unwrap());
            assert!(
                shown.is_some_and(|shown| shown.contains("withheld this output")),
                "{megabytes}: {}",
                answer.stdout
            );
            withheld += 1;
        }
    }
    assert!(withheld > 0, "no limit was small enough");
}
