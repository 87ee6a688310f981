//! What one hook process costs, beside what any process costs, in one run.
//!
//! Spawns are interleaved, so that a busy moment of the machine meets all programs alike; the minimum says what
//! the work costs, the median what a user gets on this machine now. Run it through `scripts/bench`, which
//! builds the fast binary and the static `true` first. With `TOOLGATE_OLD` another binary is measured in the same turns,
//! and with `ROWS` only the rows whose names hold that text.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark stops when anything is odd"
)]

mod events;
mod runner;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use runner::{Runner, lay_out, run_in_turns};

fn main() {
    let rounds = runner::rounds();
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let scratch = scratch.path().canonicalize().expect("its real path");
    let new = runner::toolgate();
    let old = std::env::var_os("TOOLGATE_OLD").map(PathBuf::from);
    let idle = scratch.join("idle");
    lay_out(&idle);
    let wanted = std::env::var("ROWS").unwrap_or_default();
    let mut runners = hooks(&scratch.join("new"), &new, "");
    runners.retain(|runner| runner.name.contains(&wanted));
    for runner in &runners {
        runner.run();
    }
    if let Some(directory) = std::env::var_os("CALLS_TO") {
        return calls(runners, Path::new(&directory));
    }
    let memory = getrusage(UsageWho::RUSAGE_CHILDREN).expect("resource usage").max_rss();
    if let Some(old) = &old {
        let mut before = hooks(&scratch.join("old"), old, ", before");
        before.retain(|runner| runner.name.contains(&wanted));
        for runner in &before {
            runner.run();
        }
        runners = runners.into_iter().zip(before).flat_map(|(new, old)| [old, new]).collect();
    }
    runners.splice(0..0, Runner::idle(&idle));
    run_in_turns(&mut runners, rounds);
    report(&runners, rounds);
    let size = fs::metadata(&new).expect("the binary").len();
    println!("peak memory of a hook {memory} KB, binary {} KB", size / 1024);
}

/// Writes down which functions each row calls, for `scripts/hot-functions`.
fn calls(runners: Vec<Runner>, directory: &Path) {
    for (number, runner) in runners.into_iter().enumerate().filter(|(_, runner)| runner.every == 1) {
        let out = format!("--callgrind-out-file={}/{number:02}", directory.display());
        let mut args = vec!["--tool=callgrind".into(), "--demangle=no".into(), "-q".into(), out];
        args.push(runner.program.display().to_string());
        args.extend(runner.args.iter().cloned());
        Runner { program: "/usr/bin/valgrind".into(), args, ..runner }.run();
    }
}

/// Every row, with a home of its own.
fn hooks(home: &Path, toolgate: &Path, suffix: &str) -> Vec<Runner> {
    lay_out(home);
    let events = events::all(home);
    let hook = |(name, event, every): (&str, serde_json::Value, usize)| {
        let stdin = home.join(format!("{name}.json").replace('/', "-"));
        fs::write(&stdin, event.to_string()).expect("an event");
        Runner {
            name: format!("{name}{suffix}"),
            args: vec!["hook".into(), "claude-code".into()],
            stdin,
            every,
            project: match name {
                name if name.contains("changing") => "changing".into(),
                name if name.contains("100,000") => "large".into(),
                _ => "alpha".into(),
            },
            ..Runner::plain("", toolgate, home)
        }
    };
    events.into_iter().map(hook).collect()
}

fn report(runners: &[Runner], rounds: usize) {
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let at = |runner: &Runner, part: usize| micros(runner.times[(runner.times.len() - 1) * part / 100]);
    let base = at(&runners[0], 0);
    let base_median = at(&runners[0], 50);
    let fixed = runners.iter().find(|runner| runner.name.starts_with("static")).map(|runner| at(runner, 0));
    println!("{rounds} interleaved spawns each, large outputs fewer; microseconds");
    println!(
        "{:<40} {:>8} {:>8} {:>8} {:>8}  {:>11} {:>8} {:>8}",
        "", "min", "p10", "median", "p90", "x /bin/true", "(median)", "x static"
    );
    for runner in runners {
        let min = at(runner, 0);
        let ratio = fixed.map_or_else(|| "-".into(), |fixed| format!("{:.2}", min / fixed));
        println!(
            "{:<40} {:>8.0} {:>8.0} {:>8.0} {:>8.0}  {:>11.2} {:>8.2} {:>8}",
            runner.name,
            min,
            at(runner, 10),
            at(runner, 50),
            at(runner, 90),
            min / base,
            at(runner, 50) / base_median,
            ratio
        );
    }
}
