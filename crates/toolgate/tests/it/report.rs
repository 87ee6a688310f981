//! The page about what agents did: what stands on it, in each form, and what never does.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Answer, Machine};

/// What an agent may call a file.
const NASTY: &str = "<script>alert(1)</script>|`x`[a](javascript:1)";

/// Two sessions: one reads, is denied and goes on; one sees a secret.
fn machine() -> Machine {
    let machine = Machine::new();
    let top = machine.repository("main");
    let first = machine.session("s1", &top);
    assert_eq!(first.read(top.join("README.md")), "nothing");
    assert_eq!(first.write(machine.home().join(NASTY)), "deny");
    assert_eq!(first.write(top.join("notes.md")), "nothing");
    let second = machine.session("s2", &top);
    let seen = json!({
        "tool_name": "Read", "tool_input": { "file_path": top.join("notes.md") },
        "tool_response": { "type": "text", "file": { "filePath": top.join("notes.md"), "content": "AKIAIOSFODNN7EXAMPLQ" } },
    });
    assert_eq!(second.read(top.join("notes.md")), "nothing");
    second.event("PostToolUse", &seen);
    machine
}

fn report(machine: &Machine, args: &[&str]) -> Answer {
    let answer = machine.toolgate().arg("report").args(args).run("");
    assert_eq!(answer.code(), Some(0), "{answer:?}");
    answer
}

fn facts(machine: &Machine, args: &[&str]) -> Value {
    report(machine, &[&["--format", "json"], args].concat()).json().unwrap()
}

#[test]
fn a_report_counts_what_was_done_and_lists_it() {
    let machine = machine();
    let said = facts(&machine, &[]);
    assert_eq!((&said["version"], &said["calls"]), (&json!(1), &json!(4)));
    assert_eq!(said["decisions"], json!({ "allow": 3, "deny": 1 }));
    assert_eq!((&said["denied"]["total"], &said["cleaned"]["total"]), (&json!(1), &json!(1)));
    assert_eq!(said["denied"]["rows"][0]["by"], "outside-scope");
    assert_eq!(said["rules"][0]["policy"], "outside-scope");
    assert!(said["silent"].as_array().unwrap().contains(&json!("secret-file")));
    assert_eq!(said["agents"][0]["sessions"], 2);
    assert_eq!(said["proof"]["standing"], "good");
    let text = report(&machine, &[]).stdout;
    for part in
        ["1 agent made 4 calls in 1 place.", "1 was denied before it ran.", "The log verifies", "\nDenied\n"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_report_is_about_what_was_chosen() {
    let machine = machine();
    assert_eq!(facts(&machine, &["--session", "s2"])["calls"], 1);
    assert_eq!(facts(&machine, &["--agent", "nobody"])["calls"], 0);
    let day = machine.records()[0]["time"].as_str().unwrap().get(..10).unwrap().to_owned();
    assert_eq!(facts(&machine, &["--day", &day])["calls"], 4);
    assert_eq!(facts(&machine, &["--day", "2001-01-01"])["calls"], 0);
    assert_eq!(facts(&machine, &["--until", "2001-01-01"])["calls"], 0);
    assert_eq!(facts(&machine, &["--since", "1h"])["calls"], 4);
    let wrong = machine.toolgate().args(["report", "--since", "yesterday"]).run("");
    assert_eq!(wrong.code(), Some(1));
    assert!(wrong.stderr.contains("is not a time"), "{wrong:?}");
}

#[test]
fn nothing_that_an_agent_wrote_is_markup() {
    let machine = machine();
    let html = report(&machine, &["--format", "html"]).stdout;
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{html}");
    let markdown = report(&machine, &["--format", "markdown"]).stdout;
    let text = report(&machine, &[]).stdout;
    for (form, page) in [("html", &html), ("markdown", &markdown), ("text", &text)] {
        assert!(!page.contains('\u{1b}'), "{form}");
        assert!(!page.contains("AKIAIOSFODNN7EXAMPLQ"), "{form}");
    }
    assert!(!html.contains("<script") && !html.contains("javascript:1\""), "{html}");
    // The command is code with more backticks around it than are in it; the message is text without markup.
    let row = markdown.lines().find(|line| line.contains("<script>alert")).unwrap();
    assert!(row.contains("| `` /") && row.contains("&lt;script>alert"), "{row}");
}

#[test]
fn the_html_file_needs_nothing_else() {
    let machine = machine();
    let file = machine.path("page.html");
    report(&machine, &["--format", "html", "-o", file.to_str().unwrap()]);
    let html = fs::read_to_string(&file).unwrap();
    for part in ["src=", "url(", "@import", "href=\"http", "<link", "<iframe"] {
        assert!(!html.contains(part), "{part}");
    }
    // Every number leads to a section that is there.
    for link in html.split("href=\"#").skip(1) {
        let id = link.split('"').next().unwrap();
        assert!(html.contains(&format!("id=\"{id}\"")), "{id}");
    }
    let again = machine.toolgate().args(["report", "--format", "html", "-o", file.to_str().unwrap()]).run("");
    assert_eq!(again.code(), Some(1), "a file that is there is not overwritten");
}

#[test]
fn a_report_of_a_log_that_was_changed_says_so_first() {
    let machine = machine();
    assert_eq!(machine.toolgate().args(["ledger", "seal"]).run("").code(), Some(0));
    let log = fs::read_to_string(machine.ledger()).unwrap();
    fs::write(machine.ledger(), log.replacen("notes.md", "other.md", 1)).unwrap();
    assert_eq!(facts(&machine, &[])["proof"]["standing"], "bad");
    let text = report(&machine, &[]).stdout;
    assert!(text.contains("The log does not verify: do not rely on this page"), "{text}");
}
