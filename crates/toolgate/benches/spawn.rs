//! What one hook process costs, beside what any process costs, in one run.
//!
//! Spawns are interleaved, so that a busy moment of the machine meets all programs alike; the minimum says what
//! the work costs, the median what a user gets on this machine now. Run it through `scripts/bench`, which
//! builds the fast binary and the static `true` first.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark stops when anything is odd"
)]

mod runner;

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use runner::{Runner, lay_out, run_in_turns};

fn main() {
    let (rounds, toolgate) = (runner::rounds(), runner::toolgate());
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let home = scratch.path().canonicalize().expect("its real path");
    lay_out(&home);
    let event = |name: &str, tool: &str, path: &str| {
        let file = home.join(format!("{name}.json"));
        let content = "fn main() {}\\\\n".repeat(8);
        let text = format!(
            r#"{{"session_id":"bench","transcript_path":"{0}/t/t.jsonl","cwd":"{0}/alpha","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"{tool}","tool_input":{{"file_path":"{path}","content":"{content}"}},"tool_use_id":"toolu_1"}}"#,
            home.display()
        );
        File::create(&file).expect("an event").write_all(text.as_bytes()).expect("written");
        file
    };
    let inside = home.join("alpha/src/main.rs").display().to_string();
    let outside = home.join("main/src/main.rs").display().to_string();
    let hook = |name: &str, stdin: PathBuf| Runner {
        name: format!("toolgate hook: {name}"),
        args: vec!["hook".into(), "claude-code".into()],
        stdin,
        ..Runner::plain("", &toolgate, &home)
    };
    let shell = |name: &str, command: &str| {
        let file = home.join(format!("{name}.json"));
        let event = serde_json::json!({
            "session_id": "bench", "transcript_path": format!("{}/t/t.jsonl", home.display()),
            "cwd": format!("{}/alpha", home.display()), "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "toolu_1",
            "tool_input": { "command": command },
        });
        fs::write(&file, event.to_string()).expect("an event");
        file
    };
    let script = "set -e\nfor f in src/*.rs; do\n  grep -n main \"$f\" | head -3\ndone\ncat > notes.txt <<'EOF'\nplain text\nEOF\nwc -l notes.txt\n";
    let mut runners = vec![
        hook("a Bash call", shell("bash", "cd src && grep -rn \"fn main\" . | head -20")),
        hook("a Bash script of 8 lines", shell("script", script)),
        hook("a denied Bash call", shell("bash-denied", "cargo test 2>&1 | tee ../../out.log")),
        hook("an allowed Read", event("read", "Read", &inside)),
        hook("an allowed Write", event("write", "Write", &inside)),
        hook("a denied Write", event("denied", "Write", &outside)),
    ];
    for runner in &runners {
        runner.run();
    }
    let memory = getrusage(UsageWho::RUSAGE_CHILDREN).expect("resource usage").max_rss();
    runners.splice(0..0, Runner::idle(&home));
    run_in_turns(&mut runners, rounds);
    report(&runners, rounds);
    let size = fs::metadata(&toolgate).expect("the binary").len();
    println!("peak memory of a hook {memory} KB, binary {} KB", size / 1024);
}

fn report(runners: &[Runner], rounds: usize) {
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let at = |runner: &Runner, part: usize| micros(runner.times[(runner.times.len() - 1) * part / 100]);
    let base = at(&runners[0], 0);
    let fixed = runners.iter().find(|runner| runner.name.starts_with("static")).map(|runner| at(runner, 0));
    println!("{rounds} interleaved spawns each, microseconds");
    println!(
        "{:<34} {:>8} {:>8} {:>8} {:>8}  {:>11} {:>8}",
        "", "min", "p10", "median", "p90", "x /bin/true", "x static"
    );
    for runner in runners {
        let min = at(runner, 0);
        let ratio = fixed.map_or_else(|| "-".into(), |fixed| format!("{:.2}", min / fixed));
        println!(
            "{:<34} {:>8.0} {:>8.0} {:>8.0} {:>8.0}  {:>11.2} {:>8}",
            runner.name,
            min,
            at(runner, 10),
            at(runner, 50),
            at(runner, 90),
            min / base,
            ratio
        );
    }
}
