//! Commands that are made to take long. Budgets are of requests for memory and of bytes, never of time: they are the same on
//! every machine, and whatever takes long asks for memory, looks at the disk or pays.

use toolgate_arena::Counting;
use toolgate_effects::{Analysis, MAX_WORK, Scene, analyse};
use toolgate_model::{Effect, Gap, Unknown, World};

use crate::large::LargeDisk;
use crate::support::LongDisk;
use crate::support::commands::{commands, numbered};

#[global_allocator]
static MEMORY: Counting = Counting::new();

/// How often one analysis may ask for memory. A fast processor does that in some 50 ms.
const MAX_CALLS: usize = 1_250_000;
/// How many bytes it may copy.
const MAX_BYTES: usize = 256 * 1024 * 1024;
/// How many bytes it may hold at one time.
const MAX_HELD: usize = 48 * 1024 * 1024;
/// How often it may ask the disk.
const MAX_LOOKS: usize = 30_000;

fn scene(disk: &dyn World) -> Scene<'_> {
    Scene {
        world: disk,
        cwd: Some("/work"),
        root: Some("/work"),
        home: Some("/home/u"),
        tmp: None,
        unset: &|_| true,
    }
}

fn gave_up(analysis: &Analysis) -> bool {
    let bounds =
        |effect: &Effect<'_>| matches!(effect, Effect::Unknown(Unknown::Shell { gap: Gap::Bounds, .. }));
    analysis.effects.iter().any(bounds)
}

/// One test, since all threads share the counts.
#[test]
fn no_command_takes_more_than_its_budget() {
    // As much as the first thread of a program has, on which a hook does its work. Without optimization it takes most of it.
    let first = std::thread::Builder::new().stack_size(8 * 1024 * 1024);
    first.spawn(stays_within_its_budget).unwrap().join().unwrap();
}

fn stays_within_its_budget() {
    let mut over = Vec::new();
    for (what, command) in commands() {
        let disk = LongDisk::default();
        let (analysis, taken) = MEMORY.measure(|| analyse(&command, &scene(&disk)));
        let asked = disk.asked.get();
        let within = taken.calls <= MAX_CALLS
            && taken.bytes <= MAX_BYTES
            && taken.peak <= MAX_HELD
            && asked <= MAX_LOOKS;
        let told = analysis.work < MAX_WORK || gave_up(&analysis);
        if !within || !told {
            over.push(format!("{what}: {taken:?}, {asked} looks, {} of work, told: {told}", analysis.work));
        }
    }
    assert!(over.is_empty(), "{}", over.join("\n"));
    late();
    plain();
    large_directories();
}

/// A directory of 200,000 names is read no further than it is looked through, and nobody is kept from working in one.
fn large_directories() {
    const MAX_NAMES: usize = 60_000;
    for (command, may_give_up) in [
        ("cat *", false),
        ("rm file*9", false),
        ("for f in *; do cat \"$f\"; done", false),
        ("find . -name '*.rs' | xargs cat", false),
        ("grep -rn x .", false),
        ("cp -rL . /work/copy", false),
        ("tar cf x.tar *", false),
        ("python3 -c 'import json; print(json.dumps(1))'", false),
        ("find . -type f -exec sh -c 'wc -l {} | sort' \\;", false),
        ("cat */*/*/*", false),
        (&"cat *a* b*; ".repeat(500), true),
        (&numbered("cat d@/*; ", 500), true),
    ] {
        let disk = LargeDisk::default();
        let (analysis, taken) = MEMORY.measure(|| analyse(command, &scene(&disk)));
        let named = disk.named.get();
        assert!(taken.peak <= MAX_HELD / 4 && named <= MAX_NAMES, "{command}: {taken:?}, {named} names");
        assert!(may_give_up || !gave_up(&analysis), "{command}: {:?}", analysis.effects);
    }
}

/// When the time is over, the rest is not looked at, and that is said.
fn late() {
    for (what, command) in commands() {
        let disk = LongDisk { late_after: Some(0), ..LongDisk::default() };
        disk.asked.set(1);
        let analysis = analyse(&command, &scene(&disk));
        assert!(disk.asked.get() <= 1, "{what}: looked {} times", disk.asked.get() - 1);
        let is_short = analysis.work < MAX_WORK;
        assert!(is_short || gave_up(&analysis), "{what}: nobody was told");
    }
    let disk = LongDisk { late_after: Some(3), ..LongDisk::default() };
    let analysis = analyse(&numbered("rm d@/*a*; ", 100), &scene(&disk));
    assert!(disk.asked.get() < 10 && gave_up(&analysis), "{} looks", disk.asked.get());
}

/// What people write stays far away from all of that.
fn plain() {
    let script =
        "set -e\nfor f in src/*.rs; do\n  echo \"$f\" | sed 's/x/y/' > out/\"$f\"\ndone\n".repeat(20);
    for command in [
        "cargo build && cargo test --workspace",
        "for i in $(seq 1 100); do curl -s localhost:$i; done",
        "x=$(git log --oneline | head -50); echo \"$x\" | while read -r a b; do git show $a; done",
        script.as_str(),
    ] {
        let disk = LongDisk::default();
        let (analysis, taken) = MEMORY.measure(|| analyse(command, &scene(&disk)));
        assert!(!gave_up(&analysis) && analysis.work < MAX_WORK / 2, "{command}: {}", analysis.work);
        assert!(taken.peak < MAX_HELD / 8, "{command}: {taken:?}");
    }
}
