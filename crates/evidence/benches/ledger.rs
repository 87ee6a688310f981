//! How long it takes to seal, to verify and to search a ledger, and how much memory. `scripts/bench-ledger` runs it.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark says what it has measured, and stops when anything is odd"
)]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use toolgate_evidence::proof::index::{Query, search};
use toolgate_evidence::proof::{Known, audit, prove, seal};
use toolgate_evidence::{Digest, Draft, Ledger};
use toolgate_model::{Answer, Decision};
use toolgate_secrets::redact;

const DEFAULT: u64 = 1_000_000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    match args.as_slice() {
        [what, dir] => step(what, Path::new(dir)),
        _ => all(std::env::var("RECORDS").ok().and_then(|count| count.parse().ok()).unwrap_or(DEFAULT)),
    }
}

/// Makes a ledger, and runs each step in a process of its own, so that each has its own memory.
fn all(count: u64) {
    let dir = tempfile::tempdir().expect("a scratch directory");
    let started = Instant::now();
    let ledger = Ledger::at(dir.path());
    for number in 0..count {
        ledger.append(draft(number), Instant::now() + Duration::from_secs(10)).expect("a record");
    }
    println!("{count} records written in {:.1} s", started.elapsed().as_secs_f64());
    for what in ["seal", "verify", "seal-again", "prove", "search", "scan"] {
        let own = std::env::current_exe().expect("our own path");
        let status = Command::new(own).args([what]).arg(dir.path()).status().expect("a step");
        assert!(status.success(), "{what}");
    }
}

fn draft(number: u64) -> Draft {
    Draft::new(SystemTime::now(), "claude-code", redact("PreToolUse"))
        .session(redact(&format!("session-{}", number / 1000)))
        .agent(redact("ripley"))
        .tool(redact("Bash"))
        .root(redact("/home/dev/worktrees/alpha"))
        .arg(redact("command"), redact("cargo test --workspace --quiet"))
        .decision(Decision::Allow)
        .answer(Answer::Silence)
        .input(Digest::of(&number.to_le_bytes()))
        .rules("sha256:7ec3fc0e846662b9cbc8b69056e5fc79ce1658c39689c08cbf604a31794fdccf")
        .user(redact("dev"))
        .machine(redact("desk"))
        .toolgate("0.1.0")
}

fn step(what: &str, dir: &Path) {
    let started = Instant::now();
    let said = match what {
        "seal" | "seal-again" => format!("{:?}", seal(dir, SystemTime::now(), false).expect("a seal")),
        "verify" => format!("{:?}", audit(dir, &Known::default()).expect("an audit").outcome),
        "prove" => format!("{} hashes", prove(dir, 777).expect("a proof").proof.path.len()),
        "search" | "scan" => {
            if what == "scan" {
                std::fs::remove_file(dir.join("tlog/index")).expect("an index");
            }
            let query = Query { session: Some("session-7".to_owned()), ..Query::default() };
            let mut found = 0;
            let looked = search(dir, &query, |_| {
                found += 1;
                true
            });
            format!("{found} found, {} read", looked.expect("a search").read)
        }
        _ => String::new(),
    };
    let took = started.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("?").trim();
    println!("{what:<10} {took:>8.3} s  {peak:>10}  {said}");
}
