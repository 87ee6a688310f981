//! How many events one `toolgate serve` answers in a second, and whether it grows meanwhile.
//!
//! Events are handed over one after the other, each when the one before is answered, as a host does it. What counts is the time of the
//! processor, the server's own: a machine with other work on it does not change that. Run it through `scripts/bench`; with `TOOLGATE_OLD` another
//! binary is measured too.

#![expect(clippy::expect_used, clippy::print_stdout, reason = "a benchmark stops when anything is odd")]

#[allow(dead_code, reason = "what other benchmarks need")]
mod runner;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use runner::lay_out;
use serde_json::json;

/// How many events are answered before memory is looked at for the first time.
const WARM: usize = 2000;

fn main() {
    let rounds = runner::rounds().max(100) * 20;
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let scratch = scratch.path().canonicalize().expect("its real path");
    let old = std::env::var_os("TOOLGATE_OLD").map(PathBuf::from);
    println!("{rounds} events each to `toolgate serve generic`, one after the other");
    println!(
        "{:<40} {:>14} {:>14} {:>12} {:>12}",
        "", "a second, wall", "a second, CPU", "KB at first", "KB at last"
    );
    for (name, binary) in old.iter().map(|old| ("before", old)).chain([("now", &runner::toolgate())]) {
        // The small binary has no `serve`: the whole one lies beside it.
        let whole = binary.with_file_name("toolgate-cli");
        let whole = if whole.exists() { whole } else { binary.clone() };
        serve(name, &whole, &scratch.join(name), rounds);
    }
}

fn serve(name: &str, program: &Path, home: &Path, rounds: usize) {
    lay_out(home);
    let root = home.join("alpha");
    let event = |number: usize, tool: &str, input: serde_json::Value| {
        let payload = json!({ "session": "bench", "cwd": root, "tool": tool, "input": input });
        json!({ "id": number, "event": "before", "payload": payload }).to_string()
    };
    let file = root.join("src/main.rs");
    let kinds: [(&str, &str, serde_json::Value); 3] = [
        ("read", "Read", json!({ "file_path": file })),
        ("write", "Write", json!({ "file_path": file, "content": "fn main() {}\n" })),
        ("shell", "Bash", json!({ "command": "cd src && grep -rn \"fn main\" . | head -20" })),
    ];
    let mut server = Command::new(program)
        .args(["serve", "generic"])
        .env_clear()
        .env("HOME", home)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = server.stdin.take().expect("its stdin");
    let mut output = BufReader::new(server.stdout.take().expect("its stdout"));
    let mut answer = String::new();
    let mut ask = |line: &str| {
        writeln!(input, "{line}").expect("it reads");
        answer.clear();
        output.read_line(&mut answer).expect("it answers");
        assert!(answer.contains(r#""decision":"allow""#), "{answer}");
    };
    for number in 0..WARM {
        let (_, tool, input) = kinds.get(number % kinds.len()).expect("a kind");
        ask(&event(number, tool, input.clone()));
    }
    let first = resident(&server);
    for (kind, tool, input) in kinds {
        let line = event(1, tool, input);
        let (started, busy) = (Instant::now(), processor_time(&server));
        for _ in 0..rounds {
            ask(&line);
        }
        let (wall, busy) = (started.elapsed().as_secs_f64(), processor_time(&server) - busy);
        let a_second = |seconds: f64| runner::ratio(rounds, seconds);
        println!(
            "{:<40} {:>14.0} {:>14.0} {:>12} {:>12}",
            format!("{name}: {kind}"),
            a_second(wall),
            a_second(busy),
            first,
            resident(&server)
        );
    }
    drop(input);
    assert!(server.wait().expect("it ends").success());
}

/// Its memory, in KB.
fn resident(server: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).expect("its status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// How long a processor has worked for it, in seconds.
fn processor_time(server: &Child) -> f64 {
    let times = fs::read_to_string(format!("/proc/{}/schedstat", server.id())).expect("its times");
    let nanos: f64 = times.split(' ').next().expect("a number").parse().expect("a number");
    nanos / 1e9
}
