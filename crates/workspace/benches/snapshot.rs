//! A snapshot of 10,000 files beside `sha256sum` over the same files, as many at a time as there are processors.
//!
//! `cargo bench -p toolgate-workspace --bench snapshot`; `BENCH_DIR` names another place than the system's for temporary
//! files.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::fs;
use std::process::{Command, Stdio};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use toolgate_workspace::{Declaration, Formula, Pattern, Side, Workspaces};

const FILES: usize = 10_000;
const ROUNDS: usize = 7;

fn main() {
    let place = std::env::var_os("BENCH_DIR").map_or_else(std::env::temp_dir, Into::into);
    let top = tempfile::TempDir::new_in(place).unwrap();
    let base = Workspaces::open(&top.path().join("base")).unwrap();
    let outputs = vec![Pattern::parse("out/").unwrap()];
    let workspace = base.create("bench", Declaration { outputs, ..Declaration::default() }).unwrap();
    let out = workspace.path().join("out");
    for directory in 0..100 {
        fs::create_dir_all(out.join(format!("d{directory}"))).unwrap();
    }
    // From 1 to 32 KB, as source files are.
    let content: Vec<u8> = (0..32_768_u32).flat_map(u32::to_le_bytes).collect();
    for number in 0..FILES {
        let length = 1024 << (number % 6);
        let from = number % 1000;
        fs::write(
            out.join(format!("d{}/f{number}", number % 100)),
            content.get(from..from + length).unwrap(),
        )
        .unwrap();
    }
    let jobs = available_parallelism().unwrap().get().to_string();
    let sha256sum = || {
        let script =
            format!("find . -type f -print0 | xargs -0 -n 500 -P {jobs} sha256sum | sort -k2 | sha256sum");
        let status =
            Command::new("sh").args(["-c", &script]).current_dir(&out).stdout(Stdio::null()).status();
        assert!(status.unwrap().success());
    };
    let snapshot = |formula| {
        let snapshot = workspace.snapshot_of(Side::Output, formula, &()).unwrap();
        assert_eq!(snapshot.files().len(), FILES);
    };
    let ways: [(&str, &dyn Fn()); 3] = [
        ("sha256sum, parallel", &sha256sum),
        ("snapshot, SHA-256 (compat)", &|| snapshot(Formula::Compat)),
        ("snapshot, BLAKE3 (default)", &|| snapshot(Formula::Framed)),
    ];
    let mut least = [Duration::MAX; 3];
    for _ in 0..ROUNDS {
        for ((_, way), least) in ways.iter().zip(&mut least) {
            let begun = Instant::now();
            way();
            *least = (*least).min(begun.elapsed());
        }
    }
    let plain = least[0].as_secs_f64();
    println!("{FILES} files, {jobs} processors, the least of {ROUNDS} rounds");
    for ((name, _), least) in ways.iter().zip(least) {
        let seconds = least.as_secs_f64();
        println!("  {name:<28} {:>8.1} ms   {:.2} x the speed", seconds * 1e3, plain / seconds);
    }
}
