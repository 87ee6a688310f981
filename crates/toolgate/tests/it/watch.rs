//! The page of agents and calls, on a terminal that no agent made.

use serde_json::json;

use crate::support::terminal::{IN_SESSION, conversation};
use crate::support::{Machine, Said};

const COMMAND: &str = "git reset --hard";

#[test]
fn a_person_watches_approves_and_rejects() {
    let machine = Machine::new();
    let top = machine.repository("main");
    let session = machine.session("s", &top);
    let reset = || session.call("Bash", &json!({ "command": COMMAND }));
    assert_eq!(session.read(top.join("README.md")), "nothing");
    assert!(matches!(reset(), Said::Deny(_)));
    let watch = |said: &[(&str, &str)]| {
        let hook = machine.toolgate().arg("watch").cwd(&top).env("TERM", "xterm").under(&IN_SESSION);
        conversation(hook.command(), said)
    };
    let (code, shown) = watch(&[
        ("1 call waits for you", "\r"),
        ("discards all", "a"),
        ("Type yes:", "yes\n"),
        ("Return goes back", "\n"),
        ("done", "q"),
    ]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("as it would be judged now"), "{shown}");
    assert!(shown.ends_with("\u{1b}[?1049l"), "the terminal is as it was: {shown}");
    assert!(!matches!(reset(), Said::Deny(_)), "approved, so it runs");
    assert!(matches!(reset(), Said::Deny(_)), "once");
    let (code, shown) = watch(&[
        ("1 call waits for you", "r"),
        ("reject, because:", "keep my work\r"),
        ("Return goes back", "\n"),
        ("done", "/verdict:allow\r"),
        ("showing", "q"),
    ]);
    assert_eq!(code, Some(0), "{shown}");
    let Said::Deny(reason) = reset() else { panic!("not denied") };
    assert!(reason.contains("keep my work"), "{reason}");
}

#[test]
fn a_call_comes_while_somebody_watches_and_nothing_in_it_is_obeyed() {
    let machine = Machine::new();
    let top = machine.repository("main");
    let session = machine.session("s", &top);
    assert_eq!(session.read(top.join("README.md")), "nothing");
    let hook = machine.toolgate().args(["watch", "verdict:deny"]).cwd(&top).under(&IN_SESSION);
    let comes = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(600));
        session.call("Bash", &json!({ "command": "rm -rf / # \u{1b}]0;owned\u{7}" }))
    });
    let (code, shown) = conversation(hook.command(), &[("no call is like that", ""), ("rm -rf /", "q")]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(matches!(comes.join().unwrap(), Said::Deny(_)));
    assert!(!shown.contains("\u{1b}]0;"), "{shown}");
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let machine = Machine::new();
    let answer = machine.toolgate().arg("watch").run("");
    assert_eq!(answer.code(), Some(1), "{answer:?}");
    assert!(answer.stderr.contains("this needs a terminal; `toolgate ledger tail --follow` needs none"));
}
