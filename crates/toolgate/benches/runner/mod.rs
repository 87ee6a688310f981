//! What the benchmarks of whole processes share: programs that are spawned in turns, and a place for them to be about.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One program that is spawned again and again.
pub(crate) struct Runner {
    pub(crate) name: String,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) stdin: PathBuf,
    pub(crate) home: PathBuf,
    /// Where it is started.
    pub(crate) directory: PathBuf,
    /// The directory of the session, below the home.
    pub(crate) project: String,
    /// It runs in one round of so many.
    pub(crate) every: usize,
    pub(crate) times: Vec<Duration>,
}

impl Runner {
    /// A program that is told nothing.
    pub(crate) fn plain(name: &str, program: &Path, home: &Path) -> Runner {
        Runner {
            name: name.into(),
            program: program.into(),
            args: Vec::new(),
            stdin: "/dev/null".into(),
            home: home.into(),
            directory: "/".into(),
            project: "alpha".into(),
            every: 1,
            times: Vec::new(),
        }
    }

    /// `/bin/true`, and the static one where there is one.
    pub(crate) fn idle(home: &Path) -> Vec<Runner> {
        let mut idle = vec![Runner::plain("/bin/true", Path::new("/bin/true"), home)];
        match std::env::var_os("STATIC_TRUE") {
            Some(program) => idle.push(Runner::plain("static musl true", Path::new(&program), home)),
            None => println!("no static true to compare with: install musl-gcc and run scripts/bench"),
        }
        idle
    }

    pub(crate) fn run(&self) -> Duration {
        let stdin = File::open(&self.stdin).expect("the event");
        let mut command = Command::new(&self.program);
        command.args(&self.args).stdin(stdin).stdout(Stdio::null()).stderr(Stdio::null());
        command.current_dir(&self.directory);
        command.env_clear().env("HOME", &self.home).env("CLAUDE_PROJECT_DIR", self.home.join(&self.project));
        let started = Instant::now();
        let status = command.status().expect("the program starts");
        let took = started.elapsed();
        assert!(status.success(), "{} failed", self.name);
        took
    }
}

/// Runs all of them in turns, so that a busy moment of the machine meets all alike, and sorts what each took.
pub(crate) fn run_in_turns(runners: &mut [Runner], rounds: usize) {
    for round in 0..rounds {
        for runner in runners.iter_mut().filter(|runner| round % runner.every == 0) {
            let took = runner.run();
            runner.times.push(took);
        }
    }
    for runner in runners {
        runner.times.sort();
    }
}

/// The binary to measure.
pub(crate) fn toolgate() -> PathBuf {
    std::env::var_os("TOOLGATE_BIN").map_or_else(|| env!("CARGO_BIN_EXE_toolgate").into(), PathBuf::from)
}

/// How many there are to a second.
#[allow(dead_code, reason = "each benchmark is a program of its own, and not all need it")]
pub(crate) fn ratio(count: usize, seconds: f64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / seconds.max(1e-9)
}

/// How often each is spawned.
pub(crate) fn rounds() -> usize {
    std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1000)
}

/// A main checkout and two linked worktrees, as git lays them out.
#[allow(dead_code, reason = "each benchmark is a program of its own, and not all need it")]
pub(crate) fn lay_out(home: &Path) {
    for agent in ["alpha", "beta"] {
        let own = home.join("main/.git/worktrees").join(agent);
        let tree = home.join(agent);
        fs::create_dir_all(&own).expect("the git directory");
        fs::create_dir_all(tree.join("src")).expect("the worktree");
        fs::write(own.join("commondir"), "../..\n").expect("commondir");
        fs::write(own.join("gitdir"), format!("{}\n", tree.join(".git").display())).expect("gitdir");
        fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).expect(".git");
        fs::write(tree.join("src/main.rs"), "fn main() {}\n").expect("a file");
    }
}
