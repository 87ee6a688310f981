//! How fast a text is searched, on one thread: `cargo bench -p toolgate-secrets --bench scan -- DIR`
//!
//! The text is all files below DIR; without one, this crate's sources over and over. The whole is searched a few times
//! (out of memory), and each MiB of it a few times (out of the cache); the shortest time counts.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    reason = "a benchmark reads files and the clock, says what it has measured, and stops when anything is odd"
)]

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use toolgate_secrets::{Emails, Marks, Rules, find, scrub};

const PIECE: usize = 1 << 20;
const REPEATS: usize = 7;
/// Without a directory, so much.
const LEAST: usize = 32 << 20;

fn main() {
    let directory = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let text = match directory {
        Some(directory) => all_below(Path::new(&directory)),
        None => {
            let own = all_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
            own.iter().copied().cycle().take(LEAST).collect()
        }
    };
    let quiet = Rules { emails: Emails::None, keep_examples: true, ..Rules::default() };
    println!("{:.1} MB, GB/s on one thread\n", text.len() as f64 / 1e6);
    println!("{:44} {:>9} {:>9} {:>9}", "", "the whole", "by MiB", "findings");
    let row = |name: &str, rules: &Rules| {
        report(name, &text, &|text| find(text, rules).len());
    };
    row("find, best known makers only", &Rules { core_only: true, ..quiet.clone() });
    row("find, without entropy, without emails", &Rules { entropy: false, ..quiet.clone() });
    row("find, with entropy, without emails", &quiet);
    row("find, with entropy, with emails", &Rules::default());
    report("scrub, as a tool's output is", &text, &|text| {
        scrub(text, &Rules::default(), Marks::Plain).map_or(0, |scrubbed| scrubbed.count)
    });
}

fn report(name: &str, text: &[u8], work: &dyn Fn(&[u8]) -> usize) {
    let whole = shortest(text, work);
    let pieces = text.chunks(PIECE).map(|piece| shortest(piece, work)).sum();
    let speed = |took: Duration| text.len() as f64 / took.as_secs_f64() / 1e9;
    println!("{name:44} {:9.2} {:9.2} {:9}", speed(whole), speed(pieces), work(text));
}

fn shortest(text: &[u8], work: &dyn Fn(&[u8]) -> usize) -> Duration {
    let once = || {
        let start = Instant::now();
        black_box(work(black_box(text)));
        start.elapsed()
    };
    (0..REPEATS).map(|_| once()).min().expect("at least once")
}

/// All files below a directory, one after the other, in the order of their names.
fn all_below(directory: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("a directory that can be read");
            let mut inside: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
            inside.sort();
            waiting.extend(inside.into_iter().rev());
        } else {
            text.extend(fs::read(&path).expect("a file that can be read"));
        }
    }
    text
}
