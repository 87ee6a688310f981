//! One workspace, many threads: readers see whole contents, and whoever looks at the metrics finds them in order.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crate::support::whole::{content, number};
use crate::support::{base, declaration};
use toolgate_workspace::{Declaration, Durability, Error, Metrics, Quota, Side, SideMetrics, Workspace};

const PATHS: [&str; 3] = ["a", "shared/b", "shared/deep/c"];
const ROUNDS: u64 = 300;

/// What was asked of the workspace by all threads together, as they saw it.
#[derive(Default)]
struct Asked {
    count: AtomicU64,
    failed: AtomicU64,
    denied: AtomicU64,
}

impl Asked {
    fn note<T>(&self, answer: Result<T, Error>) -> Option<T> {
        self.count.fetch_add(1, Ordering::Relaxed);
        match answer {
            Ok(done) => Some(done),
            Err(error) => {
                self.failed.fetch_add(1, Ordering::Relaxed);
                self.denied.fetch_add(u64::from(error.is_denial()), Ordering::Relaxed);
                None
            }
        }
    }

    fn assert_counted(&self, counted: SideMetrics) {
        let all = [&self.count, &self.failed, &self.denied].map(|number| number.load(Ordering::Relaxed));
        assert_eq!([counted.count, counted.failed, counted.denied], all);
    }
}

/// Reads all paths in turn, some that are not there and some that are refused.
fn reads(workspace: &Workspace, asked: &Asked) {
    for round in 0..ROUNDS {
        for path in PATHS {
            let read = match round % 3 {
                0 => workspace.read(path),
                1 => workspace.input(path).and_then(|input| input.read()),
                _ => workspace.input(path).and_then(|input| {
                    let mut found = Vec::new();
                    input.read_into(&mut found).map(|_| found)
                }),
            };
            number(&asked.note(read).unwrap());
        }
        assert!(asked.note(workspace.read("missing")).is_none());
        assert!(asked.note(workspace.read("../a")).is_none());
        assert!(asked.note(workspace.read("undeclared")).is_none());
    }
}

fn writes(workspace: &Workspace, asked: &Asked, seed: u64) {
    for round in 0..ROUNDS {
        for path in PATHS {
            let content = content(seed * ROUNDS + round);
            let written = if round % 4 == 0 {
                let output = workspace.output(path);
                output.and_then(|output| output.write_from(&mut &content[..], Durability::Process)).map(drop)
            } else {
                workspace.write(path, &content)
            };
            asked.note(written).unwrap();
        }
        assert!(asked.note(workspace.write("/a", b"x")).is_none());
        assert!(asked.note(workspace.write("undeclared", b"x")).is_none());
    }
}

/// Looks at the metrics until all is done: never out of order, and no number ever smaller than before.
fn watches(workspace: &Workspace, done: &AtomicBool) {
    let mut before = Metrics::default();
    while !done.load(Ordering::Relaxed) {
        let now = workspace.metrics();
        for (before, now) in [(before.read, now.read), (before.write, now.write)] {
            assert!(now.denied <= now.failed && now.failed <= now.count, "{now:?}");
            assert_eq!(now.count, now.succeeded() + now.failed);
            let numbers = |side: SideMetrics| [side.count, side.failed, side.denied, side.succeeded()];
            assert!(numbers(before).iter().zip(numbers(now)).all(|(before, now)| *before <= now), "{now:?}");
        }
        before = now;
    }
}

/// Takes snapshots until all is done: each is one that could have been.
fn takes_snapshots(workspace: &Workspace, done: &AtomicBool) {
    while !done.load(Ordering::Relaxed) {
        let snapshot = workspace.snapshot().unwrap();
        assert!(snapshot.is_consistent());
        assert!(snapshot.files().keys().map(String::as_str).eq(PATHS), "{snapshot:?}");
    }
}

fn shared_by_all(quota: Quota) {
    let (_top, base) = base();
    let declared = Declaration { quota, ..declaration(&["a", "shared/", "missing"], &["a", "shared/**"]) };
    let workspace = base.create("one", declared.clone()).unwrap();
    let (read, written) = (Asked::default(), Asked::default());
    for path in PATHS {
        written.note(workspace.write(path, &content(0))).unwrap();
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (workspace, base, done, read, written) = (&workspace, &base, &done, &read, &written);
        scope.spawn(|| watches(workspace, done));
        scope.spawn(|| takes_snapshots(workspace, done));
        let mut workers = Vec::new();
        for seed in 1..=2 {
            workers.push(scope.spawn(move || reads(workspace, read)));
            workers.push(scope.spawn(move || writes(workspace, written, seed)));
        }
        // Another value for the same workspace: the same files, a count of its own.
        workers.push(scope.spawn(move || {
            let (found, own) = (base.find("one").unwrap(), Asked::default());
            writes(&found, &own, 3);
            own.assert_counted(found.metrics().write);
            assert_eq!(found.metrics().read, SideMetrics::default());
        }));
        let ended: Vec<_> = workers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
    read.assert_counted(workspace.metrics().read);
    written.assert_counted(workspace.metrics().write);
    assert_eq!(workspace.declaration(), &declared);
    assert_eq!((workspace.declared(Side::Input), workspace.declared(Side::Output)), (3, 2));
    workspace.cleanup().unwrap();
}

#[test]
fn readers_see_whole_contents_and_metrics_add_up() {
    shared_by_all(Quota::default());
}

#[test]
fn readers_see_whole_contents_and_metrics_add_up_with_a_quota() {
    shared_by_all(Quota { bytes: Some(1 << 20), files: Some(3) });
}

/// Workspaces come and go at once, under names that others want too.
#[test]
fn concurrent_creations_never_share_a_name() {
    let (_top, base) = base();
    let (made, taken) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..60 {
                    let (agent, output) = [("one", "x/"), ("two", "y/")][round % 2];
                    match base.create(agent, declaration(&[], &[output])) {
                        Ok(workspace) => {
                            made.fetch_add(1, Ordering::Relaxed);
                            // Nobody else has it, or it would not be there any more.
                            workspace.write(&format!("{output}z"), b"mine").unwrap();
                            assert!(base.agents().unwrap().contains(workspace.agent()));
                            workspace.cleanup().unwrap();
                        }
                        Err(Error::AgentInUse { .. }) => drop(taken.fetch_add(1, Ordering::Relaxed)),
                        Err(error) => panic!("{error:?}"),
                    }
                }
            });
        }
    });
    assert_eq!(made.load(Ordering::Relaxed) + taken.load(Ordering::Relaxed), 240);
    assert!(made.load(Ordering::Relaxed) > 0, "nobody got a name");
    assert!(base.agents().unwrap().is_empty());
}

#[test]
fn concurrent_cleanups_leave_nothing_behind() {
    let (_top, base) = base();
    thread::scope(|scope| {
        for agent in 0..6 {
            let base = &base;
            scope.spawn(move || {
                for _ in 0..150 {
                    let output = format!("out-{agent}/");
                    let declared = declaration(&[], &[&output]);
                    let workspace = base.create(&format!("agent-{agent}"), declared).unwrap();
                    workspace.write(&format!("{output}a/b/c"), b"x").unwrap();
                    workspace.cleanup().unwrap();
                }
            });
        }
    });
    assert!(base.agents().unwrap().is_empty());
    let left: Vec<_> = std::fs::read_dir(base.path().join(".toolgate")).unwrap().collect();
    assert_eq!(left.len(), 1, "the lock: {left:?}");
}
