//! What judging one call costs in process: from the decoded call to the verdict, on the real disk.
//!
//! First 10,000 operations of each kind with mean and p99, then the same under divan.

#![expect(clippy::expect_used, clippy::print_stdout, reason = "a benchmark stops when anything is odd")]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use toolgate_effects::{Scene, analyse};
use toolgate_gate::disk::Disk;
use toolgate_gate::gather::Surroundings;
use toolgate_gate::line::consider;
use toolgate_gate::machine::ThisMachine;
use toolgate_gate::session::Session;
use toolgate_gate::settings::RulesInForce;
use toolgate_hosts::host;
use toolgate_model::{Decision, Host, Place, Places, Resolver};
use toolgate_policies::{Settings, stack};

/// A worktree on the disk, its places, and the default profile.
struct Yard {
    _scratch: tempfile::TempDir,
    top: PathBuf,
    places: Places,
    settings: Settings,
}

static YARD: LazyLock<Yard> = LazyLock::new(|| {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let home = scratch.path().canonicalize().expect("its real path");
    let top = home.join("worktrees/alpha");
    fs::create_dir_all(top.join("src")).expect("a worktree");
    fs::write(top.join("src/main.rs"), "fn main() {}\n").expect("a file");
    let places = Places {
        root: Some(Place::plain(&top)),
        project: Some(Place::plain(&top)),
        main: Some(Place::plain(home.join("main"))),
        git: Some(Place::plain(home.join("main/.git"))),
        siblings: vec![Place::plain(home.join("worktrees/beta"))],
        own: vec![
            Place::plain(home.join(".config/toolgate")),
            Place::plain(home.join(".local/state/toolgate")),
        ],
        home: Some(Place::plain(home)),
        ..Places::default()
    };
    let settings = stack(Some("worktree"), "worktree", &[]).expect("the profile");
    Yard { _scratch: scratch, top, places, settings }
});

fn event(tool: &str, path: &str) -> String {
    let top = YARD.top.display();
    format!(
        r#"{{"session_id":"bench","cwd":"{top}","hook_event_name":"PreToolUse","tool_name":"{tool}","tool_input":{{"file_path":"{path}","content":"x"}}}}"#
    )
}

/// Judges an event again and again; the disk is looked at anew each time.
fn check(event: String) -> impl Fn() -> Decision {
    let claude: &'static dyn Host = host("claude-code").expect("the host");
    let event: &'static [u8] = event.leak().as_bytes();
    let call = claude.decode(None, event).expect("an event");
    let session = Session { places: YARD.places.clone(), user: String::new(), registration_changed: false };
    let rules = RulesInForce { layers: vec![YARD.settings.clone()], digest: String::new() };
    let surroundings = Surroundings::new(&ThisMachine::new(None), &call, session, rules, |_| None);
    move || consider(&ThisMachine::new(None), &call, &surroundings).verdict.decision()
}

fn inside() -> String {
    YARD.top.join("src/main.rs").display().to_string()
}

fn allowed_write() -> impl Fn() -> Decision {
    check(event("Write", &inside()))
}

fn blocked_write() -> impl Fn() -> Decision {
    check(event("Write", "/etc/passwd"))
}

fn read() -> impl Fn() -> Decision {
    check(event("Read", &inside()))
}

fn resolution() -> impl Fn() -> Decision {
    let path = inside();
    move || match Resolver::new(&Disk::default(), None, None).resolve_text(&path) {
        Ok(_) => Decision::Allow,
        Err(_) => Decision::Deny,
    }
}

fn table(name: &str, expected: Decision, operation: impl Fn() -> Decision) {
    const TIMES: u32 = 10_000;
    let mut times: Vec<Duration> = (0..TIMES)
        .map(|_| {
            let started = Instant::now();
            let decision = divan::black_box(operation());
            let took = started.elapsed();
            assert_eq!(decision, expected, "{name}");
            took
        })
        .collect();
    let mean = times.iter().sum::<Duration>() / TIMES;
    times.sort();
    let p99 = times.get(9_900).copied().unwrap_or_default();
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    println!("{name:<22} {:>8.2} {:>8.2}", micros(mean), micros(p99));
}

include!("../../shell/benches/support/commands.rs");

/// Interprets each command again and again, as a hook in this worktree would.
fn shell() {
    const ROUNDS: usize = 200;
    let disk = Disk::default();
    let cwd = YARD.top.display().to_string();
    let scene = Scene {
        world: &disk,
        cwd: Some(&cwd),
        root: None,
        home: Some("/home/nobody"),
        tmp: Some("/tmp"),
        unset: &|_| true,
    };
    let mut times: Vec<Duration> = Vec::with_capacity(ROUNDS * COMMANDS.len());
    for _ in 0..ROUNDS {
        for command in COMMANDS {
            let started = Instant::now();
            divan::black_box(analyse(command, &scene));
            times.push(started.elapsed());
        }
    }
    let mean = times.iter().sum::<Duration>() / u32::try_from(times.len()).unwrap_or(1);
    times.sort();
    let at =
        |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default().as_secs_f64() * 1e6;
    println!(
        "{:<22} {:>8.2} {:>8.2}   p50 {:.2}",
        "shell analysis",
        mean.as_secs_f64() * 1e6,
        at(99),
        at(50)
    );
    let long = format!("echo {}", "a ".repeat(50_000));
    let deep = format!("{}:{}", "(".repeat(100_000), ")".repeat(100_000));
    let many = "[ a ] && x=1; ".repeat(7_000);
    for (name, command) in
        [("100 KB of words", &long), ("100,000 parentheses", &deep), ("100 KB of chains", &many)]
    {
        let started = Instant::now();
        divan::black_box(analyse(command, &scene));
        println!("{name:<22} {:>8.0}", started.elapsed().as_secs_f64() * 1e6);
    }
}

#[path = "../../effects/tests/it/support/commands.rs"]
#[expect(dead_code, reason = "what lies on the disk of a test is not needed here")]
mod worst_commands;

/// Interprets each command that is made to take long, once, and shows those that take longest.
fn worst() {
    const SHOWN: usize = 8;
    let disk = Disk::default();
    let cwd = YARD.top.display().to_string();
    let scene = Scene {
        world: &disk,
        cwd: Some(&cwd),
        root: None,
        home: Some("/home/nobody"),
        tmp: Some("/tmp"),
        unset: &|_| true,
    };
    let timed = worst_commands::commands().into_iter().map(|(name, command)| {
        let started = Instant::now();
        divan::black_box(analyse(&command, &scene));
        (started.elapsed(), name)
    });
    let mut times: Vec<_> = timed.collect();
    times.sort_by(|one, two| two.cmp(one));
    println!("commands that are made to take long, the longest of {}, in milliseconds:", times.len());
    for (took, name) in times.iter().take(SHOWN) {
        println!("{name:<32} {:>8.1}", took.as_secs_f64() * 1e3);
    }
}

#[divan::bench(name = "allowed write check")]
fn bench_allowed_write(bencher: divan::Bencher<'_, '_>) {
    bencher.bench_local(allowed_write());
}

#[divan::bench(name = "blocked write check")]
fn bench_blocked_write(bencher: divan::Bencher<'_, '_>) {
    bencher.bench_local(blocked_write());
}

#[divan::bench(name = "read check")]
fn bench_read(bencher: divan::Bencher<'_, '_>) {
    bencher.bench_local(read());
}

#[divan::bench(name = "path resolution")]
fn bench_resolution(bencher: divan::Bencher<'_, '_>) {
    bencher.bench_local(resolution());
}

fn main() {
    println!("{:<22} {:>8} {:>8}   microseconds over 10,000 operations", "", "mean", "p99");
    table("allowed write check", Decision::Allow, allowed_write());
    table("blocked write check", Decision::Deny, blocked_write());
    table("read check", Decision::Allow, read());
    table("path resolution", Decision::Allow, resolution());
    shell();
    worst();
    divan::main();
}
