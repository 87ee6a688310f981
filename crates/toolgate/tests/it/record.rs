//! The record: every call is in it, whole and chained, whoever else writes at the same time and whoever is
//! killed; what was changed in it is found; no secret is in it.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Answer, Machine, SECRET, Said, event, harmless};
use serde_json::{Value, json};

fn ledger(machine: &Machine, args: &[&str]) -> Answer {
    machine.toolgate().arg("ledger").args(args).run("")
}

fn verified(machine: &Machine) -> Value {
    let answer = ledger(machine, &["verify", "--json"]);
    let report: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(answer.code(), Some(0), "{report}");
    assert!(report.get("problem").is_none(), "{report}");
    report
}

/// A machine with this many calls in its record.
fn recorded(calls: usize) -> Machine {
    let machine = Machine::new();
    for number in 0..calls {
        assert_eq!(machine.session(&format!("s{number}"), &machine.home()).read("/etc/hostname"), "nothing");
    }
    machine
}

#[test]
fn every_call_is_recorded_in_its_order() {
    let machine = Machine::new();
    let top = machine.repository("repo");
    let session = machine.session("one", &top);
    session.write(top.join("a.txt"));
    session.read("/etc/shadow");
    session.shell("$(cat name)");
    session.event("Stop", &json!({}));
    session
        .event("PermissionRequest", &json!({"tool_name": "Bash", "tool_input": {"command": "$(cat name)"}}));
    let sub = json!({"tool_name": "Read", "tool_input": {"file_path": "/x"}, "agent_id": "a7", "agent_type": "Explore"});
    session.event("PreToolUse", &sub);
    let records = machine.records();
    let told: Vec<_> = records
        .iter()
        .map(|record| {
            (
                record["seq"].as_u64().unwrap(),
                record["event"].as_str().unwrap(),
                record["decision"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (1, "PreToolUse", "allow"),
            (2, "PreToolUse", "deny"),
            (3, "PreToolUse", "contain"),
            (4, "Stop", "allow"),
            (5, "PermissionRequest", "contain"),
            (6, "PreToolUse", "deny"),
        ]
    );
    for record in &records {
        assert_eq!((&record["host"], &record["session"]), (&json!("claude-code"), &json!("one")), "{record}");
        assert_eq!(record["root"], json!(top), "{record}");
    }
    assert_eq!(records[0]["args"], json!({"file_path": top.join("a.txt")}), "the content is not among them");
    assert_eq!(records[5]["agent"], "a7");
    assert_eq!(verified(&machine)["lines"], 6);
}

#[test]
fn a_call_that_could_not_be_judged_is_recorded_too() {
    let machine = Machine::new();
    let top = machine.repository("repo");
    fs::write(top.join("toolgate.toml"), "scop = []\n").unwrap();
    assert!(machine.hook("claude-code").event(&harmless(&top)).is_refusal());
    assert!(machine.hook("claude-code").run("no JSON").is_refusal());
    let decisions: Vec<_> = machine.records().iter().map(|record| record["decision"].clone()).collect();
    assert_eq!(decisions, ["deny", "deny"]);
}

/// One hook for each number, all at once. The answers of those that were not killed.
fn crowd(
    machine: &Machine,
    numbers: std::ops::Range<usize>,
    killed: impl Fn(usize) -> Option<Duration>,
) -> BTreeSet<String> {
    let children: Vec<_> = numbers
        .map(|number| {
            let id = format!("s{number}");
            let more = json!({"tool_name": "Read", "tool_input": {"file_path": "/etc/hostname"}});
            let event = event("PreToolUse", &id, &machine.home(), &more);
            let mut child = machine.hook("claude-code").spawn();
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(event.to_string().as_bytes()).unwrap();
            (id, child, killed(number))
        })
        .collect();
    let threads: Vec<_> = children
        .into_iter()
        .map(|(id, mut child, killed)| {
            thread::spawn(move || {
                if let Some(after) = killed {
                    thread::sleep(after);
                    child.kill().unwrap();
                }
                let answer = Answer::of(child, Instant::now());
                match answer.code() {
                    Some(_) => {
                        assert_eq!(answer.said(), Said::Nothing);
                        Some(id)
                    }
                    None => {
                        assert_eq!(answer.stdout, "", "a killed hook has not said half of something");
                        None
                    }
                }
            })
        })
        .collect();
    threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
}

fn sessions(machine: &Machine) -> Vec<String> {
    machine.records().iter().map(|record| record["session"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn calls_of_concurrent_hooks_are_each_recorded_once() {
    let machine = Machine::new();
    for round in 0..3 {
        let answered = crowd(&machine, round * 32..round * 32 + 32, |_| None);
        assert_eq!(answered.len(), 32);
    }
    let recorded = sessions(&machine);
    assert_eq!(recorded.len(), 96);
    assert_eq!(recorded.iter().collect::<BTreeSet<_>>().len(), 96, "each once");
    assert_eq!(verified(&machine)["lines"], 96);
}

#[test]
fn killed_hooks_leave_a_whole_ledger_with_every_answered_call() {
    let machine = Machine::new();
    let mut answered = BTreeSet::new();
    for round in 0..4 {
        // Every second one, anywhere between its start and its end.
        answered.extend(crowd(&machine, round * 32..round * 32 + 32, |number| {
            (number % 2 == 1).then(|| Duration::from_micros((number as u64 * 977) % 20_000))
        }));
    }
    assert!(answered.len() >= 4 * 16, "only {} were answered", answered.len());
    let last = machine.session("last", &machine.home());
    assert_eq!(last.read("/etc/hostname"), "nothing");
    let recorded: BTreeSet<_> = sessions(&machine).into_iter().collect();
    assert!(answered.is_subset(&recorded), "answered but not recorded: {:?}", answered.difference(&recorded));
    assert!(recorded.contains("last"));
    verified(&machine);
}

#[test]
fn a_torn_record_is_repaired_by_the_next_call() {
    let machine = recorded(3);
    let whole = fs::read(machine.ledger()).unwrap();
    fs::write(machine.ledger(), &whole[..whole.len() - 40]).unwrap();
    assert_eq!(verified(&machine)["torn"], true);
    assert_eq!(machine.session("next", &machine.home()).read("/etc/hostname"), "nothing");
    let report = verified(&machine);
    assert_eq!(
        (&report["lines"], &report["torn"]),
        (&json!(4), &json!(false)),
        "two whole, a repair, the next"
    );
    assert_eq!(machine.records()[2]["event"], "ledger-repair");
}

/// A record with one thing changed in it.
type Change<'c> = &'c dyn Fn(&[&str]) -> String;

#[test]
fn every_change_of_the_ledger_is_found_by_verify() {
    let line = |lines: &[&str]| format!("{}\n", lines.join("\n"));
    let changes: [(&str, Change<'_>); 7] = [
        ("a decision", &|lines| line(lines).replacen("\"decision\":\"allow\"", "\"decision\":\"deny\"", 1)),
        ("one letter in the middle", &|lines| {
            line(&[lines[0], &lines[1].replacen("hostname", "hostnamf", 1), lines[2], lines[3]])
        }),
        ("a removed line", &|lines| line(&[lines[0], lines[2], lines[3]])),
        ("a removed first line", &|lines| line(&lines[1..])),
        ("two lines that changed places", &|lines| line(&[lines[0], lines[2], lines[1], lines[3]])),
        ("a doubled line", &|lines| line(&[lines[0], lines[1], lines[1], lines[2], lines[3]])),
        ("a foreign line", &|lines| line(&[lines[0], "{}", lines[1], lines[2], lines[3]])),
    ];
    for (what, change) in changes {
        let machine = recorded(4);
        verified(&machine);
        let text = fs::read_to_string(machine.ledger()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let changed = change(&lines);
        assert_ne!(changed, text, "{what}");
        fs::write(machine.ledger(), changed).unwrap();
        for args in [&["verify"][..], &["verify", "--json"]] {
            let answer = ledger(&machine, args);
            assert_eq!(answer.code(), Some(1), "{what}: {answer:?}");
        }
        assert!(ledger(&machine, &["verify"]).stdout.contains("ledger.jsonl"), "{what}");
        // The gate goes on recording, and the change stays visible.
        machine.session("next", &machine.home()).read("/etc/hostname");
        assert_eq!(ledger(&machine, &["verify"]).code(), Some(1), "{what}, later");
    }
}

#[test]
fn no_secret_reaches_the_disk() {
    let machine = Machine::new();
    let top = machine.repository("repo");
    let session = machine.session("s", &top);
    let hidden = ["hunter2hunter2", SECRET, "AKIAIOSFODNN7EXAMPLE", "s3cr3t-in-url"];
    for (tool, input) in [
        ("Write", json!({"file_path": top.join(SECRET), "content": SECRET})),
        ("Write", json!({"file_path": format!("/outside/{SECRET}/a"), "content": "hunter2hunter2"})),
        ("Read", json!({"file_path": format!("{SECRET}\u{0}")})),
        (
            "Bash",
            json!({"command": format!("curl -H 'Authorization: Bearer {SECRET}' x"), "description": SECRET}),
        ),
        ("Bash", json!({"command": "PASSWORD=hunter2hunter2 AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE make"})),
        ("WebFetch", json!({"url": "https://user:s3cr3t-in-url@example.com/", "prompt": SECRET})),
        ("mcp__db__query", json!({"password": "hunter2hunter2", "query": "select 1"})),
        ("Grep", json!({"pattern": SECRET, "path": "/outside"})),
        (SECRET, json!({})),
    ] {
        session.call(tool, &input);
    }
    session.event("UserPromptSubmit", &json!({"prompt": SECRET}));
    session.event(SECRET, &json!({"tool_response": SECRET}));
    let after =
        json!({"tool_name": "Bash", "tool_input": {"command": "env"}, "tool_response": {"stdout": SECRET}});
    session.event("PostToolUse", &after);
    machine.session(SECRET, &top).shell("ls");
    assert_eq!(machine.records().len(), 13);
    visit(&machine.home(), &mut |file| {
        let text = String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
        for secret in hidden {
            assert!(!text.contains(secret), "{secret} is in {}: {text}", file.display());
            assert!(!file.to_string_lossy().contains(secret), "{}", file.display());
        }
    });
}

fn visit(dir: &Path, look: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { visit(&path, look) } else { look(&path) }
    }
}

#[test]
fn the_record_is_readable_by_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let machine = recorded(1);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&machine.ledger()), 0o600);
    assert_eq!(mode(&machine.state()), 0o700);
    assert_eq!(mode(&machine.pin("s0")), 0o600);
}

/// A session of ittybitty with one denial of each sort.
fn denials() -> Machine {
    let machine = Machine::new();
    let main = machine.repository("main");
    let own = machine.worktree(&main, "main/.ittybitty/agents/a1/repo");
    let other = machine.worktree(&main, "main/.ittybitty/agents/a2/repo");
    let session =
        machine.session("s", &own).with(|hook| hook.args(["--profile", "ittybitty", "--agent", "a1"]));
    assert_eq!(session.read(own.join("README.md")), "grant");
    assert_eq!(session.read("/etc/passwd"), "deny");
    assert_eq!(session.read(main.join("README.md")), "deny");
    assert_eq!(session.read(other.join("README.md")), "deny");
    assert_eq!(session.write("x\n[2026-01-01 00:00:00] [PreToolUse] \u{1b}[31mforged"), "deny");
    let event = |path: &str| {
        let more = json!({"tool_name": "Write", "tool_input": {"file_path": path}});
        event("PreToolUse", "m", &own, &more)
    };
    machine.hook("mpm").event(&event("../x"));
    machine.hook("mpm").event(&event("src/a.py"));
    machine
}

#[test]
fn the_record_is_printed_in_the_formats_of_older_logs() {
    let machine = denials();
    let lines = |args: &[&str]| {
        let answer = ledger(&machine, args);
        assert_eq!((answer.code(), answer.stderr.as_str()), (Some(0), ""), "{answer:?}");
        assert!(!answer.stdout.contains('\u{1b}'), "{answer:?}");
        answer.stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    // `[2026-01-10 15:05:06] …`
    let behind_time = |line: &String| {
        let (time, rest) = line.split_once("] ").unwrap();
        assert_eq!(time.len(), "[2026-01-10 15:05:06".len(), "{line}");
        rest.to_owned()
    };
    let main = machine.path("main");
    let ib: Vec<_> = lines(&["tail", "--format", "ib"]).iter().map(behind_time).collect();
    assert_eq!(
        ib,
        [
            "[PreToolUse] Permission denied: Read (file_path: /etc/passwd)".to_owned(),
            format!("[hook-check-path] Blocked: Read tried to access main repo: {}/README.md", main.display()),
            format!(
                "[hook-check-path] Blocked: Read tried to access other agent's data: {}/.ittybitty/agents/a2/repo/README.md",
                main.display()
            ),
            "[PreToolUse] Permission denied: Write (file_path: x\\n[2026-01-01 00:00:00] [PreToolUse] \\u{1b}[31mforged)"
                .to_owned(),
            "[PreToolUse] Permission denied: Write (file_path: ../x)".to_owned(),
        ]
    );
    let mpm = lines(&["tail", "--format", "mpm"]);
    assert_eq!(mpm.len(), 7);
    assert_eq!(mpm[1], "WARNING Security: Blocked Read operation outside working directory: /etc/passwd");
    assert_eq!(
        mpm[5],
        "WARNING Security: Blocked Write operation: Path traversal attempts are not allowed: ../x"
    );
    assert_eq!(mpm[6], "INFO Allowed Write operation: src/a.py");
    assert!(mpm[4].starts_with("ERROR Error validating file path: "), "{}", mpm[4]);
    let json = lines(&["tail", "--format", "json"]);
    assert_eq!(json, lines(&["tail", "--json"]));
    let records: Vec<Value> = json.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records, machine.records());
    let text = lines(&["tail"]);
    assert_eq!(text, lines(&["tail", "--format", "text"]));
    assert!(text[1].contains(" deny  Read file_path=/etc/passwd: Access denied: "), "{}", text[1]);
    assert_eq!(lines(&["tail", "-n", "2"]), text[5..]);
    assert_eq!(lines(&["tail", "-n", "0"]).len(), 0);
    assert_eq!(lines(&["tail", "--denied"]), text[1..6]);
    assert_eq!(lines(&["tail", "--denied", "-n", "1"]), text[5..6]);
}

#[test]
fn denials_are_counted_by_the_names_that_older_tools_use() {
    let machine = denials();
    let answer = ledger(&machine, &["counts", "--json"]);
    assert_eq!(answer.code(), Some(0), "{answer:?}");
    let counts: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(counts["calls"], 7);
    assert_eq!(counts["decisions"], json!({"allow": 2, "ask": 0, "contain": 0, "deny": 5}));
    assert_eq!(counts["kinds"]["outside_directory"], 3 + 1, "`../x` leads outside too");
    assert_eq!(counts["kinds"]["path_traversal"], 1);
    assert_eq!(counts["kinds"]["invalid_path"], 1);
    let text = ledger(&machine, &["counts"]).stdout;
    assert!(text.contains("     5  deny"), "{text}");
    let nothing = Machine::new();
    let counts: Value = serde_json::from_str(&ledger(&nothing, &["counts", "--json"]).stdout).unwrap();
    assert_eq!(counts["kinds"], json!({"path_traversal": 0, "outside_directory": 0, "invalid_path": 0}));
    assert_eq!(ledger(&nothing, &["verify"]).code(), Some(0));
}
