//! What the tests share.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use toolgate_evidence::{Digest, Draft, Ledger, Record, Records, Report, verify};
use toolgate_secrets::redact;

/// A call that names itself, so that it can be found again.
pub(crate) fn draft(name: &str) -> Draft {
    Draft::new(SystemTime::now(), "claude", redact("PreToolUse"))
        .session(redact("a-session"))
        .tool(redact("Read"))
        .arg(redact("file_path"), redact(name))
        .input(Digest::of(name.as_bytes()))
}

pub(crate) fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

/// A ledger with records `0` to `count - 1`.
pub(crate) fn filled(dir: &Path, count: usize) -> Ledger {
    let ledger = Ledger::at(dir);
    for name in 0..count {
        ledger.append(draft(&name.to_string()), soon()).unwrap();
    }
    ledger
}

pub(crate) fn all(dir: &Path) -> Vec<Record> {
    Ledger::at(dir).all().unwrap().collect::<Result<_, _>>().unwrap()
}

/// What each record named, in order.
pub(crate) fn names(dir: &Path) -> Vec<String> {
    all(dir)
        .iter()
        .map(|record| match &record.event {
            event if record.is_repair() => event.trim_start_matches("ledger-").to_owned(),
            _ => record.args[0].1.clone(),
        })
        .collect()
}

/// Nothing is wrong and the numbers have no gap.
pub(crate) fn assert_whole(dir: &Path, lines: u64) -> Report {
    let report = verify(dir).unwrap();
    assert_eq!(report.problem, None, "{:?}", report.problem);
    assert!(!report.torn);
    assert_eq!(report.lines, lines);
    report
}

pub(crate) fn current(dir: &Path) -> std::path::PathBuf {
    dir.join("ledger.jsonl")
}

pub(crate) fn bytes(dir: &Path) -> Vec<u8> {
    fs::read(current(dir)).unwrap()
}
