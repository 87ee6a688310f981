//! The fields of a record, read from the file that the built hook wrote: what was not proved, by which rule, what the host
//! was answered, and who ran it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Answer, Machine, SECRET, Said, Session, write};

/// A worktree of a repository, and a session in it.
struct Desk {
    machine: Machine,
    work: PathBuf,
}

impl Desk {
    fn new() -> Desk {
        let machine = Machine::new();
        let main = machine.repository("main");
        let work = machine.worktree(&main, "work");
        Desk { machine, work }
    }

    fn session(&self) -> Session {
        self.machine.session("s", &self.work)
    }

    /// Runs a command through the hook, and gives what was said and what was recorded.
    fn shell(&self, command: &str) -> (Said, Value) {
        let said = self.session().call("Bash", &json!({ "command": command }));
        (said, self.machine.last_record())
    }
}

/// What the record calls an answer.
fn answer_word(said: &Said) -> &'static str {
    match said {
        Said::Nothing => "silence",
        said => said.word(),
    }
}

#[test]
fn a_contained_make_is_recorded_as_not_proved_and_an_allowed_ls_is_not() {
    let desk = Desk::new();
    write(&desk.work.join("Makefile"), "all:\n\techo hello\n");
    let (said, ls) = desk.shell("ls");
    assert_eq!(said, Said::Nothing);
    assert_eq!((&ls["decision"], ls.get("unproved")), (&json!("allow"), None), "{ls}");
    let (said, make) = desk.shell("make -C . all");
    assert_eq!(said.word(), "rewrite");
    assert_eq!(make["decision"], "contain", "{make}");
    let unproved = make["unproved"].as_array().expect("what was not proved");
    for one in unproved {
        let word = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        assert!(!word("reason").is_empty() && word("text").contains("make"), "{make}");
    }
    assert!(!unproved.is_empty(), "{make}");
}

#[test]
fn a_denial_by_a_pack_is_recorded_with_the_rule_that_the_agent_sees() {
    let desk = Desk::new();
    let (said, record) = desk.shell("git push --force origin main");
    let Said::Deny(reason) = said else { panic!("{said:?}") };
    let finding = &record["findings"][0];
    assert_eq!(
        (&finding["policy"], &finding["rule"]),
        (&json!("destructive"), &json!("git-push-force")),
        "{record}"
    );
    assert!(reason.contains("git-push-force"), "{reason}");
    // A policy that is one rule has no other name.
    let said = desk.session().write("/etc/passwd");
    let finding = &desk.machine.last_record()["findings"][0];
    assert_eq!(
        (said, &finding["policy"], finding.get("rule")),
        ("deny", &json!("outside-scope"), None),
        "{finding}"
    );
}

#[test]
fn events_before_and_after_a_call_share_its_id() {
    let desk = Desk::new();
    let session = desk.session();
    let event = |name: &str, id: &str, command: &str| {
        let mut more =
            json!({ "tool_name": "Bash", "tool_use_id": id, "tool_input": { "command": command } });
        if name == "PostToolUse" {
            more["tool_response"] =
                json!({ "stdout": "", "stderr": "", "interrupted": false, "isImage": false });
        }
        assert_eq!(session.event(name, &more).code(), Some(0));
        let record = desk.machine.last_record();
        assert_eq!(record["event"], name, "{record}");
        record["call"].as_str().expect("an id").to_owned()
    };
    let before = event("PreToolUse", "toolu_1", "ls");
    assert_eq!(event("PostToolUse", "toolu_1", "ls"), before);
    assert_ne!(event("PreToolUse", "toolu_2", "ls -l"), before);
}

#[test]
fn the_digest_of_the_rules_changes_with_the_settings_and_with_nothing_else() {
    let desk = Desk::new();
    let rules = || {
        let (_, record) = desk.shell("ls");
        let rules = record["rules"].as_str().unwrap_or_else(|| panic!("no digest: {record}")).to_owned();
        assert!(rules.starts_with("sha256:") && rules.len() == 7 + 64, "{rules}");
        rules
    };
    let shipped = rules();
    assert_eq!(rules(), shipped, "nothing was changed");
    write(&desk.work.join("README.md"), "another text\n");
    assert_eq!(rules(), shipped, "a file of the project is no setting");
    write(&desk.machine.user_settings(), "[policy.destructive]\nallow = [\"git-push-force\"]\n");
    let own = rules();
    assert_ne!(own, shipped, "the user's settings count");
    assert_eq!(rules(), own);
    write(
        &desk.work.join("toolgate.toml"),
        "[[rule]]\nmessage = \"not this one\"\npaths = [\"{worktree}/migrations\"]\n",
    );
    let with_project = rules();
    assert_ne!(with_project, own, "so do the project's");
    std::fs::remove_file(desk.work.join("toolgate.toml")).unwrap();
    assert_eq!(rules(), own);
}

/// What a tool printed, after the call.
fn after(session: &Session, output: &str) -> Answer {
    let more = json!({
        "tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": { "command": "env" },
        "tool_response": { "stdout": output, "stderr": "", "interrupted": false, "isImage": false },
    });
    session.event("PostToolUse", &more)
}

#[test]
fn redacted_texts_are_counted_and_not_shown() {
    let desk = Desk::new();
    let answer = after(&desk.session(), &format!("A={SECRET}\nfine\nB={SECRET}\n"));
    assert!(!answer.stdout.contains(SECRET), "{answer:?}");
    let record = desk.machine.last_record();
    assert_eq!((&record["redacted"], &record["answer"]), (&json!(2), &json!("redact")), "{record}");
    assert!(!record.to_string().contains(SECRET));
    let answer = after(&desk.session(), "fine\n");
    assert_eq!(answer.stdout, "");
    let record = desk.machine.last_record();
    assert_eq!((record.get("redacted"), &record["answer"]), (None, &json!("silence")), "{record}");
}

#[test]
fn the_recorded_answer_is_the_one_on_stdout() {
    let desk = Desk::new();
    let mut seen = Vec::new();
    for command in ["ls", "rm -rf /", "$(cat name)"] {
        let (said, record) = desk.shell(command);
        assert_eq!(record["answer"], answer_word(&said), "{command}: {record}");
        seen.push(answer_word(&said));
    }
    let bound = desk
        .session()
        .with(|hook| hook.args(["--profile", "pi-worktree"]).env("WORKTREE_SANDBOX_PATH", &desk.work));
    let said = bound.call("Write", &json!({ "file_path": "a.txt", "content": "x" }));
    assert_eq!(desk.machine.last_record()["answer"], answer_word(&said), "{said:?}");
    seen.push(answer_word(&said));
    assert_eq!(seen, ["silence", "deny", "rewrite", "rewrite"]);
    // What could not be judged at all was answered too.
    assert!(desk.machine.hook("claude-code").run("no JSON").is_refusal());
    assert_eq!(desk.machine.last_record()["answer"], "deny");
}

#[test]
fn every_record_says_its_version_who_ran_it_and_how_long_it_took() {
    let desk = Desk::new();
    desk.shell("ls");
    desk.session().write("/etc/passwd");
    after(&desk.session(), "fine\n");
    desk.machine.hook("claude-code").run("no JSON");
    let records = desk.machine.records();
    assert_eq!(records.len(), 4);
    for record in &records {
        let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
        assert_eq!(record["v"], 2, "{record}");
        assert!(!text("user").is_empty(), "{record}");
        assert_eq!(text("machine"), host_name(), "{record}");
        assert_eq!(text("toolgate"), env!("CARGO_PKG_VERSION"), "{record}");
        assert_eq!(record.get("canary"), None, "{record}");
    }
    for record in &records[..3] {
        let micros = record["micros"].as_u64().expect("a time");
        assert!((1..5_000_000).contains(&micros), "{record}");
    }
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[test]
fn the_doctors_canaries_are_marked_and_are_not_counted_as_calls() {
    let desk = Desk::new();
    let run = |args: &[&str]| desk.machine.toolgate().args(args).cwd(&desk.work).run("");
    let counts = || -> Value {
        let answer = run(&["ledger", "counts", "--json"]);
        serde_json::from_str(&answer.stdout).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
    };
    let init = run(&["init", "--host", "claude-code", "--scope", "user", "--yes"]);
    assert_eq!(init.code(), Some(0), "{init:?}");
    desk.shell("ls");
    let doctor = run(&["doctor", "--host", "claude-code"]);
    assert_eq!(doctor.code(), Some(0), "{doctor:?}");
    let canaries: Vec<Value> =
        desk.machine.records().into_iter().filter(|record| record["canary"] == true).collect();
    let decisions: Vec<_> = canaries.iter().map(|record| record["decision"].as_str().unwrap()).collect();
    assert_eq!(decisions, ["deny", "allow"], "{canaries:?}");
    let counted = counts();
    assert_eq!((&counted["calls"], &counted["decisions"]["deny"]), (&json!(1), &json!(0)), "{counted}");
    assert_eq!(counted["canaries"], 2, "{counted}");
    // The mark ends with the diagnosis: a call without a session is again a call.
    let event = json!({ "hook_event_name": "PreToolUse", "cwd": desk.work, "tool_name": "Read", "tool_input": { "file_path": "/etc/shadow" } });
    desk.machine.hook("claude-code").event(&event);
    assert_eq!(desk.machine.last_record().get("canary"), None);
    assert_eq!(counts()["decisions"]["deny"], 1);
    assert!(!is_marked(&desk.machine.state()));
}

fn is_marked(state: &Path) -> bool {
    state.join("canary").exists()
}

#[test]
fn a_call_that_runs_out_of_time_leaves_no_line_that_says_allow() {
    let desk = Desk::new();
    desk.shell("ls");
    let ledger = std::fs::OpenOptions::new().append(true).open(desk.machine.ledger()).unwrap();
    ledger.lock().unwrap();
    let said = desk.session().call("Bash", &json!({ "command": "ls -l" }));
    assert_eq!(said.word(), "deny", "{said:?}");
    ledger.unlock().unwrap();
    desk.shell("ls -a");
    let commands: Vec<_> =
        desk.machine.records().iter().map(|record| record["args"]["command"].clone()).collect();
    assert_eq!(commands, ["ls", "ls -a"], "what was denied is not recorded as allowed");
}
