//! From a host's event to its answer and to the record: what is decided, what is said, and what is written down when the
//! time is up, when somebody else has answered, or when the settings cannot be used.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolgate_evidence::{Ledger, Tally};
use toolgate_gate::approval::{Subject, Verified};
use toolgate_gate::dirs::Dirs;
use toolgate_gate::failure::DEADLINE;
use toolgate_gate::line::{NeedsSetup, answer};
use toolgate_gate::machine::{Machine, Setup};
use toolgate_gate::options::{HookOptions, SessionOptions};
use toolgate_gate::settings::{SettingsError, SettingsSources};
use toolgate_hosts::host;
use toolgate_model::{ActivationState, Answer, ConfigChange, Reply};
use toolgate_policies::{self as policies, Settings};
use toolgate_secrets::redact;

use crate::test_machine::TestMachine;

/// A home with a project in it, in a temporary directory.
struct Desk {
    top: TempDir,
}

impl Desk {
    fn new() -> Desk {
        // Not below `/tmp`, where every agent may write.
        let desk = Desk { top: TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap() };
        fs::create_dir_all(desk.project().join("src")).unwrap();
        fs::write(desk.project().join("src/main.rs"), "fn main() {}\n").unwrap();
        desk
    }

    fn home(&self) -> PathBuf {
        self.top.path().canonicalize().unwrap().join("home")
    }

    fn project(&self) -> PathBuf {
        self.home().join("project")
    }

    fn user_settings(&self) -> PathBuf {
        self.home().join(".config/toolgate/toolgate.toml")
    }

    /// What the registered line says: nothing but the home, and for some hosts the event.
    fn options(&self, event: Option<&str>) -> HookOptions {
        let mut dirs = Dirs::of_home(&self.home());
        dirs.managed = self.home().join("managed");
        HookOptions {
            dirs,
            profile: None,
            session: SessionOptions::default(),
            activation: ActivationState::default(),
            event: event.map(str::to_owned),
        }
    }

    fn machine(&self) -> TestMachine {
        TestMachine { directory: Some(self.project()), ..TestMachine::default() }
    }

    /// Asks the line about one event.
    fn ask(&self, machine: &TestMachine, asked: &Asked) -> Result<Reply, NeedsSetup> {
        let event = asked.payload.to_string();
        answer(
            machine,
            host(asked.host).unwrap(),
            &self.options(asked.event),
            event.as_bytes(),
            machine.started,
        )
    }

    /// Asks about a write of Claude Code to a file of the project.
    fn write_inside(&self, machine: &TestMachine) -> Result<Reply, NeedsSetup> {
        self.ask(
            machine,
            &claude_code(
                &self.project(),
                "Write",
                &json!({"file_path": self.project().join("a"), "content": "x"}),
            ),
        )
    }

    fn records(&self) -> Vec<Value> {
        let text =
            fs::read_to_string(self.home().join(".local/state/toolgate/ledger.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The decisions on record, the oldest first.
    fn decisions(&self) -> Vec<String> {
        self.records().iter().map(|record| record["decision"].as_str().unwrap().to_owned()).collect()
    }
}

/// An event, as its host sends it.
struct Asked {
    host: &'static str,
    event: Option<&'static str>,
    payload: Value,
}

fn claude_code(cwd: &Path, tool: &str, input: &Value) -> Asked {
    let payload = json!({ "hook_event_name": "PreToolUse", "session_id": "s", "tool_use_id": "toolu_1", "cwd": cwd,
        "tool_name": tool, "tool_input": input });
    Asked { host: "claude-code", event: None, payload }
}

/// The same shell command in the words of several hosts.
fn shell(cwd: &Path, command: &str) -> Vec<Asked> {
    let input = json!({ "command": command });
    let mut all = vec![claude_code(cwd, "Bash", &input)];
    all.push(Asked { host: "codex", event: Some("PreToolUse"), ..claude_code(cwd, "Bash", &input) });
    all.push(Asked {
        host: "gemini",
        event: Some("BeforeTool"),
        payload: json!({ "hook_event_name": "BeforeTool", "session_id": "s", "cwd": cwd,
            "tool_name": "run_shell_command", "tool_input": input }),
    });
    all.push(Asked {
        host: "copilot",
        event: Some("preToolUse"),
        payload: json!({ "sessionId": "s", "cwd": cwd, "toolName": "bash", "toolArgs": input }),
    });
    all.push(Asked {
        host: "generic",
        event: Some("before"),
        payload: json!({ "session": "s", "cwd": cwd, "tool": "bash", "input": input }),
    });
    all
}

#[test]
fn hosts_get_the_answer_that_is_recorded() {
    let desk = Desk::new();
    let mut asked = 0;
    for (command, expected, decision) in
        [("cat src/main.rs", Answer::Silence, "allow"), ("echo x > /etc/passwd", Answer::Deny, "deny")]
    {
        for one in shell(&desk.project(), command) {
            let machine = desk.machine();
            let reply = desk.ask(&machine, &one).unwrap();
            assert_eq!(reply.answer, expected, "{} {command}: {reply:?}", one.host);
            let says_why = format!("{}{}", reply.stdout, reply.stderr).contains("outside-scope");
            assert_eq!(says_why, expected == Answer::Deny, "{} {command}: {reply:?}", one.host);
            assert_eq!(machine.claims.get(), 1, "the right to answer is taken once");
            asked += 1;
            let records = desk.records();
            assert_eq!(records.len(), asked, "one record for each call");
            let record = records.last().unwrap();
            assert_eq!(
                (&record["host"], &record["decision"]),
                (&json!(one.host), &json!(decision)),
                "{record}"
            );
            assert_eq!(record["answer"], expected.word(), "{record}");
        }
    }
    assert_eq!(asked, 10);
}

#[test]
fn the_record_names_the_given_machine_user_and_clock() {
    let desk = Desk::new();
    let machine = desk.machine();
    machine.looks_at_clock.borrow_mut().push_back(Duration::from_micros(321));
    assert_eq!(desk.write_inside(&machine).unwrap().answer, Answer::Silence);
    let records = desk.records();
    let record = &records[0];
    assert_eq!(record["time"], "2026-01-02T03:04:05.000Z", "{record}");
    assert_eq!(
        (&record["machine"], &record["user"]),
        (&json!("workbench"), &json!("4000000000")),
        "{record}"
    );
    assert_eq!(record["micros"], 321, "{record}");
    assert_eq!(record["root"], json!(desk.project()), "{record}");
}

#[test]
fn the_root_comes_from_the_given_environment() {
    let desk = Desk::new();
    let elsewhere = desk.home().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let mut machine = desk.machine();
    machine.variables.insert("CLAUDE_PROJECT_DIR", elsewhere.clone().into());
    let reply = desk.write_inside(&machine).unwrap();
    assert_eq!(reply.answer, Answer::Deny, "the session is elsewhere: {reply:?}");
    assert_eq!(desk.records()[0]["root"], json!(elsewhere));
}

#[test]
fn past_the_deadline_a_call_is_denied_and_recorded_as_denied() {
    let desk = Desk::new();
    let machine = desk.machine();
    machine.looks_at_clock.borrow_mut().push_back(DEADLINE + Duration::from_millis(1));
    let reply = desk.write_inside(&machine).unwrap();
    assert_eq!(reply.answer, Answer::Deny, "{reply:?}");
    assert!(reply.stdout.contains("took more than 5 s"), "{reply:?}");
    assert_eq!(machine.claims.get(), 0, "whoever is late does not even ask to answer");
    assert_eq!(desk.decisions(), ["deny"]);
    assert_eq!(desk.records()[0]["answer"], "deny");
}

#[test]
fn a_call_that_ends_at_the_deadline_is_still_allowed() {
    let desk = Desk::new();
    let machine = desk.machine();
    machine.looks_at_clock.borrow_mut().push_back(DEADLINE);
    assert_eq!(desk.write_inside(&machine).unwrap().answer, Answer::Silence);
    assert_eq!(desk.decisions(), ["allow"]);
}

#[test]
fn a_call_that_was_answered_elsewhere_is_denied_and_not_recorded_as_allowed() {
    let desk = Desk::new();
    let machine = TestMachine { may_answer: false, ..desk.machine() };
    let reply = desk.write_inside(&machine).unwrap();
    assert_eq!((reply.answer, machine.claims.get()), (Answer::Deny, 1), "{reply:?}");
    assert_eq!(desk.decisions(), ["deny"], "{:?}", desk.records());
}

#[test]
fn an_event_that_cannot_be_read_is_denied_and_recorded() {
    let desk = Desk::new();
    let machine = desk.machine();
    let reply =
        answer(&machine, host("claude-code").unwrap(), &desk.options(None), b"no JSON", machine.started)
            .unwrap();
    assert_eq!(reply.answer, Answer::Deny, "{reply:?}");
    let records = desk.records();
    assert_eq!((&records[0]["event"], &records[0]["decision"]), (&json!("unreadable"), &json!("deny")));
}

/// What only the whole program has, with an answer of its own.
struct Broken;

impl Setup for Broken {
    fn compile(
        &self,
        _: &dyn Machine,
        sources: &SettingsSources<'_>,
    ) -> Result<Vec<Settings>, SettingsError> {
        Err(SettingsError::new(
            sources.dirs.config.join("toolgate.toml"),
            Some(3),
            "unknown key `scop`".to_owned(),
        ))
    }
    fn config_change(&self, _: &dyn Machine, _: &Path, _: &str, _: &Path) -> ConfigChange {
        panic!("no host's settings were changed")
    }
    fn approval(&self, _: &dyn Machine, _: &Dirs, _: &Subject, _: &[u8]) -> Option<Verified> {
        panic!("nobody has approved anything")
    }
}

fn with_settings() -> Desk {
    let desk = Desk::new();
    fs::create_dir_all(desk.user_settings().parent().unwrap()).unwrap();
    fs::write(desk.user_settings(), "scop = []\n").unwrap();
    desk
}

#[test]
fn stale_settings_need_the_whole_program_and_leave_no_record() {
    let desk = with_settings();
    let machine = desk.machine();
    assert!(matches!(desk.write_inside(&machine), Err(NeedsSetup)));
    assert_eq!(machine.claims.get(), 0, "the whole program will answer");
    assert!(desk.records().is_empty(), "and record it");
}

#[test]
fn broken_settings_deny_and_name_their_line() {
    let desk = with_settings();
    let machine = TestMachine { setup: Some(&Broken), ..desk.machine() };
    let reply = desk.write_inside(&machine).unwrap();
    assert_eq!(reply.answer, Answer::Deny, "{reply:?}");
    assert!(reply.stdout.contains("toolgate.toml:3: unknown key `scop`"), "{reply:?}");
    assert_eq!(desk.decisions(), ["deny"]);
    assert_eq!(desk.records()[0]["findings"][0]["kind"], "failure");
}

/// What a tool gave back, as Claude Code says it.
fn after(cwd: &Path, output: &str) -> Asked {
    let input = json!({ "command": "cat notes" });
    let payload = json!({ "hook_event_name": "PostToolUse", "session_id": "s", "tool_use_id": "toolu_1", "cwd": cwd,
        "tool_name": "Bash", "tool_input": input, "tool_response": { "stdout": output, "stderr": "" } });
    Asked { host: "claude-code", event: None, payload }
}

/// Settings with a redaction pattern of the user's own.
struct OwnPattern;

impl Setup for OwnPattern {
    fn compile(&self, _: &dyn Machine, _: &SettingsSources<'_>) -> Result<Vec<Settings>, SettingsError> {
        let own = policies::OwnPattern { pattern: "EMP-[0-9]+".into(), replacement: "[EMPLOYEE]".into() };
        let redaction = policies::Redaction { pattern: vec![own], ..policies::Redaction::default() };
        let mut settings = Settings::default();
        settings.redaction = redaction;
        Ok(vec![settings])
    }
    fn config_change(&self, _: &dyn Machine, _: &Path, _: &str, _: &Path) -> ConfigChange {
        panic!("no host's settings were changed")
    }
    fn approval(&self, _: &dyn Machine, _: &Dirs, _: &Subject, _: &[u8]) -> Option<Verified> {
        panic!("nobody has approved anything")
    }
}

#[test]
fn the_users_own_patterns_hold_where_only_the_ledger_fails() {
    let desk = with_settings();
    let machine = TestMachine { setup: Some(&OwnPattern), ..desk.machine() };
    // A directory where the ledger should be.
    fs::create_dir_all(desk.home().join(".local/state/toolgate/ledger.jsonl")).unwrap();
    let reply = desk.ask(&machine, &after(&desk.project(), "EMP-12345\n")).unwrap();
    assert!(reply.stdout.contains("[EMPLOYEE]") && !reply.stdout.contains("EMP-1"), "{reply:?}");
}

#[test]
fn a_session_whose_directory_has_no_utf8_name_is_denied() {
    let desk = Desk::new();
    let project = desk.home().join(std::ffi::OsStr::from_bytes(b"pro\xffject"));
    fs::create_dir_all(&project).unwrap();
    let mut machine = desk.machine();
    machine.variables.insert("CLAUDE_PROJECT_DIR", project.into());
    let reply = desk.write_inside(&machine).unwrap();
    assert_eq!(reply.answer, Answer::Deny, "{reply:?}");
    assert!(reply.stdout.contains("not UTF-8"), "{reply:?}");
}

#[test]
fn a_refusal_waits_for_a_busy_ledger_and_counts_in_its_session() {
    let desk = Desk::new();
    let state = desk.home().join(".local/state/toolgate");
    fs::create_dir_all(&state).unwrap();
    let ledger = fs::OpenOptions::new().create(true).append(true).open(state.join("ledger.jsonl")).unwrap();
    ledger.lock().unwrap();
    let machine = TestMachine { setup: Some(&Broken), ..desk.machine() };
    let late = machine.started.checked_sub(DEADLINE).unwrap();
    let event = claude_code(&desk.project(), "Read", &json!({ "file_path": "a" })).payload.to_string();
    let claude = host("claude-code").unwrap();
    fs::create_dir_all(desk.user_settings().parent().unwrap()).unwrap();
    fs::write(desk.user_settings(), "scop = []\n").unwrap();
    let reply = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            ledger.unlock().unwrap();
        });
        answer(&machine, claude, &desk.options(None), event.as_bytes(), late).unwrap()
    });
    assert_eq!(reply.answer, Answer::Deny, "{reply:?}");
    assert_eq!(desk.decisions(), ["deny"], "it is recorded though the lock was held past the deadline");
    let counts = Tally::peek(&Ledger::at(&state), &redact("s")).unwrap();
    assert_eq!(counts.denied, 1, "{counts:?}");
}
