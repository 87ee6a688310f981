//! What is counted of a session is exact: for a crowd of hooks at once, and where some of them are killed.

use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::squad::{Squad, question};
use crate::support::{Answer, Machine, Session, event, write};
use serde_json::{Value, json};
use toolgate_evidence::{Ledger, Records, SessionCounts, Tally};
use toolgate_secrets::redact;

/// As many as a host may start at once, and more.
const CROWD: usize = 32;

/// The same call by a crowd of hooks at once; what each said, and nothing for one that was killed.
fn crowd(
    session: &Session,
    tool: &str,
    input: &Value,
    killed: impl Fn(usize) -> Option<Duration>,
) -> Vec<Option<String>> {
    let more = json!({"tool_name": tool, "tool_input": input});
    let event = event("PreToolUse", &session.id, &session.cwd, &more).to_string();
    let mut children: Vec<_> = (0..CROWD).map(|_| session.hook.spawn()).collect();
    // All of them wait for their event, and get it at once.
    for child in &mut children {
        child.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
    }
    let threads = children.into_iter().enumerate().map(|(number, mut child)| {
        let killed = killed(number);
        thread::spawn(move || {
            if let Some(after) = killed {
                thread::sleep(after);
                child.kill().unwrap();
            }
            let answer = Answer::of(child, Instant::now());
            answer.code().map(|_| answer.said().word().to_owned())
        })
    });
    let threads: Vec<_> = threads.collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

fn said(answers: &[Option<String>], word: &str) -> usize {
    answers.iter().flatten().filter(|said| *said == word).count()
}

/// How many of the session's records have this decision.
fn recorded(machine: &Machine, session: &str, decision: &str) -> usize {
    let records = machine.records();
    records.iter().filter(|record| record["session"] == session && record["decision"] == decision).count()
}

/// The counts as the next hook finds them, which must be those of the ledger's own records, in a ledger that is whole.
fn counted(machine: &Machine, session: &str) -> SessionCounts {
    let ledger = Ledger::at(&machine.state());
    let kept = Tally::peek(&ledger, &redact(session)).unwrap();
    let all: Vec<_> = Ledger::at(&machine.state()).all().unwrap().map(Result::unwrap).collect();
    let own: Vec<_> = all.iter().filter(|entry| entry.session == session && !entry.is_repair()).collect();
    assert_eq!(kept, SessionCounts::of(own.iter().copied()), "the tally is what the ledger says");
    let report = toolgate_evidence::verify(&machine.state()).unwrap();
    assert!(report.problem.is_none(), "{report:?}");
    kept
}

#[test]
fn concurrent_hooks_ask_no_more_questions_than_the_limit() {
    let squad = Squad::new();
    let session = squad.coordinator("c1");
    for round in 0..2 {
        let answers = crowd(&session, "AskUserQuestion", &question(), |_| None);
        let allowed = if round == 0 { 5 } else { 0 };
        assert_eq!(
            (said(&answers, "nothing"), said(&answers, "deny")),
            (allowed, CROWD - allowed),
            "{answers:?}"
        );
        let counts = counted(&squad.machine, "c1");
        assert_eq!((counts.asked, counts.denied as usize), (5, CROWD * (round + 1) - 5));
    }
    assert_eq!(recorded(&squad.machine, "c1", "allow"), 5);
    assert_eq!(crowd(&squad.coordinator("c2"), "AskUserQuestion", &question(), |_| None).len(), CROWD);
    assert_eq!(counted(&squad.machine, "c2").asked, 5, "another session has its own");
}

#[test]
fn killed_hooks_neither_lose_nor_add_counted_questions() {
    let squad = Squad::new();
    for round in 0..6 {
        let id = format!("c{round}");
        let session = squad.coordinator(&id);
        // One half is killed, each somewhere between its first and its last moment.
        let spread = Duration::from_micros(700 * (round + 1));
        let killed = |number: usize| {
            let part = u32::try_from(number * 7 % CROWD).unwrap();
            number.is_multiple_of(2).then(|| spread * part)
        };
        let answers = crowd(&session, "AskUserQuestion", &question(), killed);
        let counts = counted(&squad.machine, &id);
        let asked = counts.asked as usize;
        assert!(said(&answers, "nothing") <= asked && asked <= 5, "{answers:?}, {asked} asked");
        assert_eq!(asked, recorded(&squad.machine, &id, "allow"));
        assert!(said(&answers, "deny") <= recorded(&squad.machine, &id, "deny"), "{answers:?}");
        // Whoever comes after goes on from there, to the very last question.
        for number in asked..7 {
            let expected = if number < 5 { "nothing" } else { "deny" };
            assert_eq!(
                session.call("AskUserQuestion", &question()).word(),
                expected,
                "round {round}, {number}"
            );
        }
        assert_eq!(counted(&squad.machine, &id).asked, 5);
    }
}

#[test]
fn concurrent_hooks_keep_to_the_limit_per_minute() {
    let squad = Squad::new();
    write(
        &squad.machine.user_settings(),
        "[[limit]]\nkind = \"write\"\nper-minute = 6\n[[limit]]\nkind = \"run\"\nper-minute = 4\nagents = [\"kane\"]\n",
    );
    let place = squad.place("ripley");
    let session = squad.session("r1", "ripley");
    let input = json!({"file_path": place.join("src/auth.ts"), "content": "x"});
    let answers =
        crowd(&session, "Write", &input, |number| number.is_multiple_of(4).then(|| Duration::from_millis(3)));
    assert!(said(&answers, "nothing") <= 6, "{answers:?}");
    assert_eq!(recorded(&squad.machine, "r1", "allow"), 6, "{answers:?}");
    counted(&squad.machine, "r1");
    assert_eq!(session.write(place.join("src/menu.ts")), "deny");
    assert_eq!(session.shell("echo x > src/menu.ts"), "deny", "the shell writes too");
    assert_eq!(session.read(place.join("src/menu.ts")), "nothing", "another kind");
    for _ in 0..6 {
        assert_eq!(session.shell("ls"), "nothing", "a limit for another agent");
    }
    let other = squad.session("k1", "kane");
    let answers = crowd(&other, "Bash", &json!({"command": "ls"}), |_| None);
    assert_eq!((said(&answers, "nothing"), said(&answers, "deny")), (4, CROWD - 4), "{answers:?}");
    // Sub-agents of one session are counted each by itself.
    let coordinator = squad.coordinator("c1");
    for (kind, expected) in [("kane", "nothing"), ("ripley", "nothing")] {
        for number in 0..5 {
            let more = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "agent_id": "a", "agent_type": kind});
            let word = coordinator.event("PreToolUse", &more).said().word();
            let over = kind == "kane" && number >= 4;
            assert_eq!(word, if over { "deny" } else { expected }, "{kind} {number}");
        }
    }
}
