//! Declared reads and writes beside the plain ones, in one run: minimum and median of interleaved rounds.
//!
//! `cargo bench -p toolgate-workspace --bench declared_io`; `BENCH_DIR` names another place than the system's for
//! temporary files.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout, reason = "a benchmark")]

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use toolgate_workspace::{Declaration, Durability, Pattern, Workspaces};

const ROUNDS: usize = 200;
const EACH: u32 = 50;

/// The ways to be compared are tried in turns, so that a busy moment hits all of them.
fn compare(title: &str, ways: &mut [(&str, &mut dyn FnMut())]) {
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); ways.len()];
    for _ in 0..ROUNDS {
        for ((_, way), times) in ways.iter_mut().zip(&mut times) {
            let begun = Instant::now();
            for _ in 0..EACH {
                way();
            }
            times.push(begun.elapsed() / EACH);
        }
    }
    println!("{title}");
    let mut plain = None;
    for ((name, _), times) in ways.iter().zip(&mut times) {
        times.sort();
        let (least, median) = (times[0], times[times.len() / 2]);
        let (of_least, of_median) = *plain.get_or_insert((least, median));
        println!(
            "  {name:<32} {:>9.2} µs least {:>9.2} µs median   {:.2} x {:.2} x",
            least.as_secs_f64() * 1e6,
            median.as_secs_f64() * 1e6,
            least.as_secs_f64() / of_least.as_secs_f64(),
            median.as_secs_f64() / of_median.as_secs_f64(),
        );
    }
}

fn plain_write(directory: &Path, content: &[u8], sync: bool) {
    let (temp, name) = (directory.join("result.tmp"), directory.join("result"));
    let mut file = File::create_new(&temp).unwrap();
    file.write_all(content).unwrap();
    if sync {
        file.sync_all().unwrap();
    }
    drop(file);
    fs::rename(&temp, &name).unwrap();
    if sync {
        File::open(directory).unwrap().sync_all().unwrap();
    }
}

fn main() {
    let place = std::env::var_os("BENCH_DIR").map_or_else(std::env::temp_dir, Into::into);
    let top = tempfile::TempDir::new_in(place).unwrap();
    let base = Workspaces::open(&top.path().join("base")).unwrap();
    let patterns = |list: &[&str]| list.iter().map(|text| Pattern::parse(text).unwrap()).collect();
    let declaration = Declaration {
        inputs: patterns(&["input/data.txt"]),
        outputs: patterns(&["output/result", "output/other"]),
        ..Declaration::default()
    };
    let workspace = base.create("bench", declaration).unwrap();
    let content = vec![b'x'; 4096];
    let plain = top.path().join("plain");
    for directory in [workspace.path().join("input"), workspace.path().join("output"), plain.clone()] {
        fs::create_dir(directory).unwrap();
    }
    let input = workspace.path().join("input/data.txt");
    fs::write(&input, &content).unwrap();

    compare(
        "read 4 KB",
        &mut [
            ("std::fs::read", &mut || drop(black_box(fs::read(&input).unwrap()))),
            ("declared", &mut || drop(black_box(workspace.read("input/data.txt").unwrap()))),
        ],
    );
    compare(
        "write 4 KB over an old file",
        &mut [
            ("temporary file and rename", &mut || plain_write(&plain, &content, false)),
            ("declared", &mut || workspace.write("output/result", &content).unwrap()),
        ],
    );
    let durable = workspace.output("output/result").unwrap();
    compare(
        "write 4 KB, waiting for the disk",
        &mut [
            ("temporary file and rename", &mut || plain_write(&plain, &content, true)),
            ("declared", &mut || durable.write(&content, Durability::Machine).unwrap()),
        ],
    );
    compare(
        "check alone",
        &mut [
            ("allowed", &mut || drop(black_box(workspace.input(black_box("input/data.txt")).unwrap()))),
            ("undeclared", &mut || {
                drop(black_box(workspace.input(black_box("other/data.txt")).unwrap_err()));
            }),
            ("traversal", &mut || {
                drop(black_box(workspace.input(black_box("../../etc/passwd")).unwrap_err()));
            }),
        ],
    );
}
