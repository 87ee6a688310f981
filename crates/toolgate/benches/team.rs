//! What one hook process costs with the whole profile `squad`, beside what any process costs, in one run: with a record of 10
//! calls, and with one of 1,000,000.
//!
//! Run it through `scripts/bench-team`, which builds the fast binary and the static `true` first.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark stops when anything is odd"
)]

mod runner;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use runner::{Runner, lay_out, run_in_turns};
use serde_json::{Value, json};
use toolgate_evidence::{Activity, Digest, Draft, Ledger, Tally};
use toolgate_model::{Decision, FindingKind};
use toolgate_secrets::redact;
use toolgate_team::{LockoutFiles, Lockouts, NewLockout};

const SESSION: &str = "0b54ad4e-7a0c-4f6c-9e1e-2f5d3c1b7a90";
/// A file of the ledger is full at this size.
const FULL_AT: u64 = 64 * 1024 * 1024;
/// A changed settings file is compiled anew for this long.
const SETTLED: Duration = Duration::from_millis(2_300);

fn main() {
    let (rounds, toolgate) = (runner::rounds(), runner::toolgate());
    let long: u64 = std::env::var("PAST").ok().and_then(|past| past.parse().ok()).unwrap_or(1_000_000);
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let scratch = scratch.path().canonicalize().expect("its real path");
    let homes = [10, long].map(|past| {
        let home = scratch.join(past.to_string());
        lay_out(&home);
        team(&home, &toolgate);
        fill(&home.join(".local/state/toolgate"), past);
        (past, home)
    });
    thread::sleep(SETTLED);
    let mut runners = Runner::idle(&homes[0].1);
    for (past, home) in &homes {
        runners.extend(hooks(*past, home, &toolgate));
    }
    for runner in &runners {
        runner.run();
    }
    run_in_turns(&mut runners, rounds);
    report(&runners, rounds);
    for (past, home) in &homes {
        let report = toolgate_evidence::verify(&home.join(".local/state/toolgate")).expect("a ledger");
        assert!(report.problem.is_none(), "{report:?}");
        println!("with {past} past calls: {} records now", report.lines);
    }
}

/// The calls of an agent of the team.
fn hooks(past: u64, home: &Path, toolgate: &Path) -> Vec<Runner> {
    let write = |path: &str| json!({"file_path": home.join("alpha").join(path), "content": "fn main() {}\n".repeat(8)});
    let question = json!({"questions": [{"question": "Which?", "header": "Which", "multiSelect": false, "options": []}]});
    let calls = [
        ("an allowed Write", "Write", write("src/main.rs")),
        ("a denied Write", "Write", write("src/part7/file.rs")),
        ("an allowed Bash", "Bash", json!({"command": "cd src && grep -rn \"fn main\" . | head -20"})),
        ("a question", "AskUserQuestion", question),
    ];
    let calls = calls.into_iter().map(|(name, tool, input)| Runner {
        name: format!("{name}, {past} past calls"),
        args: ["hook", "claude-code", "--profile", "squad"].map(str::to_owned).into(),
        stdin: event(home, name, tool, &input),
        ..Runner::plain("", toolgate, home)
    });
    calls.collect()
}

fn event(home: &Path, name: &str, tool: &str, input: &Value) -> PathBuf {
    let file = home.join(format!("{name}.json"));
    let event = json!({
        "session_id": SESSION, "transcript_path": home.join("t/t.jsonl"), "cwd": home.join("alpha"),
        "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": tool, "tool_use_id": "toolu_1",
        "tool_input": input,
    });
    fs::write(&file, event.to_string()).expect("an event");
    file
}

/// Five agents, rules of their own, twenty lockouts.
fn team(home: &Path, toolgate: &Path) {
    let top = home.join("alpha");
    let squad = top.join(".squad");
    fs::create_dir_all(squad.join("config")).expect("the team's directory");
    let names = ["ripley", "kane", "dallas", "lambert", "parker"];
    let rows = names.map(|name| format!("| {name} | Dev |")).join("\n");
    let roster = format!("# Team\n\n## Members\n\n| Name | Role |\n|---|---|\n{rows}\n");
    fs::write(squad.join("team.md"), roster).expect("a roster");
    let rules = json!({"shellBlocklist": {"customPatterns": [{"pattern": "terraform\\s+destroy", "reason": "ask first"}]}});
    fs::write(squad.join("config/policies.json"), rules.to_string()).expect("rules");
    for (place, name) in [("alpha", "ripley"), ("beta", "kane")] {
        let mut command = Command::new(toolgate);
        command.args(["agent", "add", name, "--role", "dev"]).current_dir(home.join(place));
        let status = command.env_clear().env("HOME", home).stdout(std::process::Stdio::null()).status();
        assert!(status.expect("toolgate starts").success());
    }
    let files = LockoutFiles { own: home.join("none"), team: vec![squad.join("lockout.json")] };
    for number in 0..20 {
        let artifact = format!("src/part{number}/file.rs");
        let agent = if number == 7 { "ripley" } else { "kane" };
        let new = NewLockout { artifact: &artifact, agent, by: "dallas", reason: "no tests" };
        Lockouts::add(&files, &new, SystemTime::now(), soon()).expect("a lockout");
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_mins(1)
}

fn call(number: u64, time: SystemTime) -> Draft {
    let path = format!("/home/user/project/src/part{}/file{number}.rs", number % 700);
    let draft = Draft::new(time, "claude-code", redact("PreToolUse"))
        .session(redact(SESSION))
        .agent(redact("ripley"))
        .tool(redact("Write"))
        .root(redact("/home/user/project"))
        .arg(redact("file_path"), redact(&path))
        .input(Digest::of(path.as_bytes()));
    match number % 10 {
        0 => draft.counting(Activity::Question),
        1 => draft.decision(Decision::Deny).finding(
            "reviewer-lockout",
            FindingKind::LockedOut,
            Decision::Deny,
            redact(&path),
            redact("locked out"),
        ),
        _ => draft,
    }
}

/// A ledger as so many calls of the session would have left it, some three in a second, all before now.
fn fill(state: &Path, length: u64) {
    // Registering an agent is recorded too, and would be in the way.
    let _ = fs::remove_file(state.join("ledger.jsonl"));
    let start = SystemTime::now() - Duration::from_millis(300 * length);
    let mut prev = Digest::of(b"").hex().replace(|_| true, "0");
    let mut seq = 1;
    while seq <= length {
        let first = seq;
        let path = state.join("ledger.jsonl");
        let mut file = BufWriter::with_capacity(1 << 20, File::create(&path).expect("a file"));
        let mut written = 0;
        while seq <= length && written < FULL_AT {
            let mut entry = call(seq, start + Duration::from_millis(300 * seq)).into_record();
            (entry.seq, entry.prev) = (seq, prev);
            let mut line = serde_json::to_vec(&entry).expect("a line");
            prev = Digest::of(&line).hex();
            line.push(b'\n');
            file.write_all(&line).expect("room");
            written += line.len() as u64;
            seq += 1;
        }
        file.flush().expect("room");
        if seq <= length {
            fs::rename(&path, state.join(format!("ledger.{first:012}.jsonl"))).expect("a name");
        }
    }
    drop(Tally::rebuild(&Ledger::at(state), &redact(SESSION), soon()).expect("a tally"));
}

fn report(runners: &[Runner], rounds: usize) {
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let at = |runner: &Runner, part: usize| micros(runner.times[(runner.times.len() - 1) * part / 100]);
    let base = at(&runners[0], 0);
    println!("{rounds} interleaved spawns each, microseconds");
    println!("{:<42} {:>8} {:>8} {:>8} {:>8}  {:>11}", "", "min", "p50", "p95", "p99", "x /bin/true");
    for runner in runners {
        let [min, p50, p95, p99] = [0, 50, 95, 99].map(|part| at(runner, part));
        let ratio = min / base;
        println!("{:<42} {min:>8.0} {p50:>8.0} {p95:>8.0} {p99:>8.0}  {ratio:>11.2}", runner.name);
    }
}
