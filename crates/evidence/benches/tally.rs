//! What a query and an append cost after 10, 10,000 and 1,000,000 calls of the session, in one run:
//! `cargo bench -p toolgate-evidence --bench tally`
//!
//! They are measured in turns, so that what else the machine does meets all of them. A process of its own is measured
//! beside one that does nothing.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark says what it has measured, and stops when anything is odd"
)]

use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use toolgate_evidence::{Activity, Digest, Draft, Ledger, Tally, verify};
use toolgate_model::{Decision, FindingKind};
use toolgate_secrets::{Redacted, redact};

/// After 10,000 calls all that is counted has reached its limits; from there on only the ledger grows.
const LENGTHS: [u64; 3] = [10, 10_000, 1_000_000];
const RUNS: usize = 500;
const PROCESSES: usize = 200;
/// A file of the ledger is full at this size.
const FULL_AT: u64 = 64 * 1024 * 1024;

fn main() {
    if let Some(dir) = std::env::args().skip_while(|arg| arg != "once").nth(1) {
        if dir != "nothing" {
            query_and_append(Path::new(&dir));
        }
        return;
    }
    let dirs = LENGTHS.map(|length| {
        let dir = tempfile::tempdir().expect("a directory");
        let took = shown(timed(|| fill(dir.path(), length)));
        let counted = shown(timed(|| {
            drop(Tally::rebuild(&Ledger::at(dir.path()), &session(), soon()).expect("a tally"));
        }));
        let report = verify(dir.path()).expect("a ledger");
        assert!(report.problem.is_none() && report.lines == length, "{report:?}");
        println!(
            "{length:>9} records, {} files: written in {took}, counted anew in {counted}",
            report.segments
        );
        dir
    });
    println!("\n{:42} {:>10} {:>10}", "", "minimum", "median");
    compare("query and append", RUNS, &dirs, query_and_append);
    compare("query alone", RUNS, &dirs, query);
    compare("append without a tally", RUNS, &dirs, append_alone);
    compare("process that queries and appends", PROCESSES, &dirs, |dir| process(dir.as_os_str()));
    let mut times: Vec<_> = (0..PROCESSES).map(|_| timed(|| process("nothing".as_ref()))).collect();
    report("process that does nothing", &mut times);
}

fn compare(name: &str, runs: usize, dirs: &[tempfile::TempDir; 3], work: impl Fn(&Path)) {
    let mut times = LENGTHS.map(|_| Vec::with_capacity(runs));
    for _ in 0..runs {
        for (dir, times) in dirs.iter().zip(&mut times) {
            times.push(timed(|| work(dir.path())));
        }
    }
    for (length, times) in LENGTHS.iter().zip(&mut times) {
        report(&format!("{name}, {length}"), times);
    }
}

fn report(name: &str, times: &mut [Duration]) {
    times.sort();
    let at = |index: usize| shown(times.get(index).copied().unwrap_or_default());
    println!("{name:42} {:>10} {:>10}", at(0), at(times.len() / 2));
}

fn shown(time: Duration) -> String {
    if time < Duration::from_millis(10) {
        format!("{:.1} us", time.as_secs_f64() * 1e6)
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn soon() -> Instant {
    Instant::now() + Duration::from_mins(1)
}

fn session() -> Redacted {
    redact("0b54ad4e-7a0c-4f6c-9e1e-2f5d3c1b7a90")
}

fn call(number: u64, time: SystemTime) -> Draft {
    let agent =
        ["ripley", "dallas", "kane"].into_iter().cycle().nth((number % 3) as usize).unwrap_or_default();
    let path = format!("/home/user/project/src/part{}/file{number}.rs", number % 700);
    let draft = Draft::new(time, "claude", redact("PreToolUse"))
        .session(session())
        .agent(redact(agent))
        .tool(redact("Write"))
        .root(redact("/home/user/project"))
        .arg(redact("file_path"), redact(&path))
        .input(Digest::of(path.as_bytes()))
        .took(Duration::from_micros(300))
        .counting(Activity::Call)
        .counting(Activity::Write)
        .counting(Activity::In(redact(&format!("/home/user/project/src/part{}", number % 700))));
    match number % 10 {
        0 => draft.counting(Activity::Question),
        1 => draft.decision(Decision::Deny).finding(
            "outside-workspace",
            FindingKind::Outside,
            Decision::Deny,
            redact(&path),
            redact("writes outside of the project"),
        ),
        _ => draft,
    }
}

fn query_and_append(dir: &Path) {
    let (agent, time) = (redact("ripley"), SystemTime::now());
    let tally = Tally::open(&Ledger::at(dir), &session(), soon()).expect("a tally");
    let counts = tally.counts();
    black_box((counts.asked, counts.denials(&agent, "outside-workspace")));
    black_box(counts.recently(&agent, "write", time));
    black_box(counts.knows(&agent, &redact("/home/user/project/src/part3")));
    tally.append(call(3, time), soon()).expect("a record");
}

fn query(dir: &Path) {
    black_box(Tally::open(&Ledger::at(dir), &session(), soon()).expect("a tally").counts().asked);
}

/// Of another session, so that the tally's counts stay those of its records.
fn append_alone(dir: &Path) {
    Ledger::at(dir).append(call(3, SystemTime::now()).session(redact("other")), soon()).expect("a record");
}

fn process(dir: &std::ffi::OsStr) {
    let own = std::env::current_exe().expect("a name");
    let status = Command::new(own).arg("once").arg(dir).status().expect("a process");
    assert!(status.success());
}

/// A ledger as so many calls would have left it, some three in a second, all before now.
fn fill(dir: &Path, length: u64) {
    let start = SystemTime::now() - Duration::from_millis(300 * length);
    let mut prev = Digest::of(b"").hex().replace(|_| true, "0");
    let mut seq = 1;
    while seq <= length {
        let first = seq;
        let path = dir.join("ledger.jsonl");
        let mut file = BufWriter::with_capacity(1 << 20, File::create(&path).expect("a file"));
        let mut written = 0;
        while seq <= length && written < FULL_AT {
            let mut record = call(seq, start + Duration::from_millis(300 * seq)).into_record();
            (record.seq, record.prev) = (seq, prev);
            let mut line = serde_json::to_vec(&record).expect("a line");
            prev = Digest::of(&line).hex();
            line.push(b'\n');
            file.write_all(&line).expect("room");
            written += line.len() as u64;
            seq += 1;
        }
        file.flush().expect("room");
        if seq <= length {
            std::fs::rename(&path, dir.join(format!("ledger.{first:012}.jsonl"))).expect("a name");
        }
    }
}
