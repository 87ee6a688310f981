//! How long the analysis takes over commands that are made to take long. `tests/it/worst.rs` holds the same commands to budgets.
//!
//! Prints the slowest ones: the time in the middle of some rounds, requests for memory, and the most that is held at one time.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark looks at the clock and tells"
)]

use std::hint::black_box;
use std::time::Instant;

use toolgate_arena::Counting;
use toolgate_effects::{Scene, analyse};

#[path = "../tests/it/support/mod.rs"]
mod support;

use support::LongDisk;
use support::commands::commands;

#[global_allocator]
static MEMORY: Counting = Counting::new();

const SHOWN: usize = 15;

fn main() {
    // Cargo gives this word where benchmarks are only tried.
    let rounds = if std::env::args().any(|argument| argument == "--test") { 1 } else { 5 };
    let mut rows = Vec::new();
    for (what, command) in commands() {
        let mut times = Vec::with_capacity(rounds);
        let mut most = (0, 0);
        for _ in 0..rounds {
            let disk = LongDisk::default();
            let scene = Scene {
                world: &disk,
                cwd: Some("/work"),
                root: Some("/work"),
                home: Some("/home/u"),
                tmp: None,
                unset: &|_| true,
            };
            let start = Instant::now();
            let (analysis, taken) = MEMORY.measure(|| analyse(black_box(&command), &scene));
            times.push(start.elapsed());
            black_box(analysis);
            most = (taken.calls, taken.peak);
        }
        times.sort_unstable();
        rows.push((times.get(rounds / 2).copied().unwrap_or_default(), most, what));
    }
    rows.sort_unstable_by(|one, other| other.cmp(one));
    println!("{} commands; the slowest:", rows.len());
    println!("{:>9}  {:>9}  {:>9}  ", "ms", "requests", "KiB held");
    for (time, (calls, held), what) in rows.iter().take(SHOWN) {
        println!("{:>9.2}  {calls:>9}  {:>9}  {what}", time.as_secs_f64() * 1000.0, held / 1024);
    }
}
