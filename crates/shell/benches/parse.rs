//! What reading one command costs, over commands as agents write them.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark looks at the clock and tells"
)]

use std::hint::black_box;
use std::time::Instant;

use toolgate_shell::parse;

include!("support/commands.rs");

fn main() {
    let rounds = if std::env::args().any(|argument| argument == "--test") { 1 } else { 2_000 };
    let mut times: Vec<u128> = Vec::with_capacity(rounds * COMMANDS.len());
    for _ in 0..rounds {
        for command in COMMANDS {
            let start = Instant::now();
            let parsed = black_box(parse(black_box(command)));
            times.push(start.elapsed().as_nanos());
            assert!(parsed.error.is_none(), "{command}");
        }
    }
    times.sort_unstable();
    let at = |share: usize| times.get((times.len() - 1) * share / 100).copied().unwrap_or(0);
    let mean = times.iter().sum::<u128>() / times.len().max(1) as u128;
    let bytes = COMMANDS.iter().map(|command| command.len()).sum::<usize>() / COMMANDS.len();
    println!(
        "{} commands of {bytes} bytes: p50 {} ns, mean {mean} ns, p99 {} ns",
        COMMANDS.len(),
        at(50),
        at(99)
    );
}
