//! A worktree and what lies around it, as it was before a command and as it is after it: for tests that go a way out for real.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use serde::de::DeserializeOwned;
use serde_json::json;

use super::{Answer, Hook, Machine, Said, write};

/// The private word.
pub(crate) const CANARY: &str = "CANARY5f1c";
const WORKERS: usize = 3;

/// A file of `cases`.
pub(crate) fn cases<T: DeserializeOwned>(name: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join("cases").join(name);
    toml::from_str(&fs::read_to_string(path).unwrap()).unwrap_or_else(|error| panic!("{error}"))
}

/// Where the Rust lives that runs this test. A scratch home has none.
pub(crate) fn toolchain() -> String {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().expect("Rust is installed");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Tries all of these, a few at a time, and fails with what is wrong with any.
pub(crate) fn try_each<T: Sync>(all: &[T], wrong: impl Fn(&T) -> Option<String> + Sync) {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    failed.lock().unwrap().extend(wrong(one));
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// The paths at which two looks differ.
pub(crate) fn changed(before: &BTreeMap<PathBuf, Entry>, after: &BTreeMap<PathBuf, Entry>) -> Vec<String> {
    let paths = before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path));
    let mut changed: Vec<String> = paths.map(|path| path.display().to_string()).collect();
    changed.sort();
    changed.dedup();
    changed
}

/// A machine with a worktree, and things around it.
pub(crate) struct Place {
    pub(crate) machine: Machine,
    main: PathBuf,
    pub(crate) alpha: PathBuf,
}

/// What stands at a path: kind and mode, the time of a file, what it holds.
pub(crate) type Entry = (u32, i64, Vec<u8>);

impl Place {
    /// With these settings of the user.
    pub(crate) fn new(settings: &str) -> Place {
        let machine = Machine::new();
        let main = machine.repository("home/src/main");
        let alpha = machine.worktree(&main, "home/worktrees/alpha");
        machine.worktree(&main, "home/worktrees/beta");
        machine.file("home/notes/private.txt", CANARY);
        machine.file("home/.ssh/id_ed25519", CANARY);
        machine.file("home/.bashrc", "# before\n");
        write(&machine.user_settings(), settings);
        Place { machine, main, alpha }
    }

    fn program(&self, words: &[&str]) -> Hook {
        let variables = [
            ("LC_ALL", "C.UTF-8"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_AUTHOR_NAME", "A"),
            ("GIT_AUTHOR_EMAIL", "a@example.com"),
            ("GIT_COMMITTER_NAME", "A"),
            ("GIT_COMMITTER_EMAIL", "a@example.com"),
        ];
        let hook = self.machine.toolgate().cwd(&self.alpha).instead(words);
        variables.into_iter().fold(hook, |hook, (name, value)| hook.env(name, value))
    }

    pub(crate) fn has(&self, needs: &[String]) -> bool {
        needs.iter().all(|need| {
            let words: Vec<&str> = need.split(' ').collect();
            self.program(&words).command().output().is_ok_and(|output| output.status.success())
        })
    }

    /// The best level that this machine has.
    pub(crate) fn level(&self) -> &'static str {
        let full = self.machine.toolgate().args(["exec", "--level", "full", "--", "true"]).cwd(&self.alpha);
        if full.run("").status.success() { "full" } else { "landlock" }
    }

    /// What the hook of Claude Code says to a command.
    pub(crate) fn asked(&self, command: &str) -> Said {
        self.machine.session("s-1", &self.alpha).call("Bash", &json!({ "command": command }))
    }

    /// Runs a text as the host would, and gives back what it prints.
    pub(crate) fn run(&self, text: &str) -> String {
        let mut child = self.program(&["bash", "-c", text]).spawn();
        drop(child.stdin.take());
        let Answer { stdout, stderr, .. } = Answer::of(child, Instant::now());
        stdout + &stderr
    }

    pub(crate) fn levels(&self) -> Vec<String> {
        let records = self.machine.records();
        let contained = records.iter().filter_map(|record| record["contained"]["level"].as_str());
        contained.map(str::to_owned).collect()
    }

    /// Everything that a command must not change.
    pub(crate) fn outside(&self) -> BTreeMap<PathBuf, Entry> {
        let mut found = BTreeMap::new();
        self.look(&self.machine.path(""), &mut found);
        found
    }

    fn look(&self, directory: &Path, found: &mut BTreeMap<PathBuf, Entry>) {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let info = entry.metadata().unwrap();
            let is_directory = info.is_dir();
            if self.is_own(&path, is_directory) {
                continue;
            }
            let holds = if info.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if info.is_file() {
                fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            let time = if info.is_file() { info.mtime() } else { 0 };
            found.insert(path.clone(), (info.permissions().mode(), time, holds));
            if is_directory {
                self.look(&path, found);
            }
        }
    }

    /// What is the agent's own: its worktree, its side of the repository, and what the gate keeps about it.
    fn is_own(&self, path: &Path, is_directory: bool) -> bool {
        const PINNED: [&str; 3] = ["commondir", "gitdir", "config.worktree"];
        let git = self.main.join(".git");
        let side = git.join("worktrees/alpha");
        let is_pinned = PINNED.iter().any(|name| path == side.join(name));
        let branch = "refs/heads/home-worktrees-alpha";
        let state = self.machine.state();
        let kept = ["alive", "contained", "calls", "ledger.jsonl"].map(|name| state.join(name));
        (path == self.alpha && is_directory)
            || (path.starts_with(&side) && path != side && !is_pinned)
            || path.starts_with(git.join("objects"))
            || [git.join(branch), git.join("logs").join(branch)].iter().any(|own| path.starts_with(own))
            || kept.iter().any(|kept| path.starts_with(kept))
    }

    /// Files of the worktree that hold the private word.
    pub(crate) fn brought_in(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut left = vec![self.alpha.clone()];
        while let Some(directory) = left.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().map(Result::unwrap) {
                let (path, kind) = (entry.path(), entry.file_type().unwrap());
                if kind.is_dir() {
                    left.push(path);
                } else if kind.is_file()
                    && fs::read(&path).unwrap().windows(CANARY.len()).any(|part| part == CANARY.as_bytes())
                {
                    found.push(format!("brought in: {}", path.display()));
                }
            }
        }
        found
    }
}
