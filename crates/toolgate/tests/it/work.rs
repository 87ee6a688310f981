//! What people do all day goes on in the sandbox: every work of `cases/work.toml` is done without it, then at each level, with the same
//! exit code and the same output. What differs on purpose is listed there, with the reason.
//!
//! `TOOLGATE_WORK=npm` does those whose name holds the word.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::support::outside::toolchain;
use crate::support::{Answer, Hook, Machine, skipped, write};

/// Builds on a busy machine take a while.
const LONGEST: Duration = Duration::from_mins(3);
/// Most of the time is spent waiting.
const WORKERS: usize = 3;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Works {
    work: Vec<Work>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Work {
    name: String,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    settings: String,
    #[serde(default)]
    network: Option<String>,
    #[serde(default)]
    files: BTreeMap<PathBuf, String>,
    #[serde(default)]
    before: String,
    #[serde(default)]
    typed: String,
    /// It is done in a plain clone, and not in a linked worktree.
    #[serde(default)]
    clone: bool,
    calls: Vec<String>,
    prints: String,
    #[serde(default)]
    code: i32,
    inside: Option<Otherwise>,
    landlock: Option<Otherwise>,
    full: Option<Otherwise>,
}

/// What is expected at a level, where it is not what happens without the sandbox.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Otherwise {
    prints: String,
    #[serde(default)]
    code: i32,
    /// A part of what stands on stderr.
    #[serde(default)]
    says: String,
    because: String,
}

/// How a work is done.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Bare,
    Landlock,
    Full,
}

#[test]
fn work_that_must_not_break() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join("cases/work.toml");
    let works: Works =
        toml::from_str(&fs::read_to_string(path).unwrap()).unwrap_or_else(|error| panic!("{error}"));
    let wanted = std::env::var("TOOLGATE_WORK").unwrap_or_default();
    let works: Vec<Work> = works.work.into_iter().filter(|work| work.name.contains(&wanted)).collect();
    assert!(!works.is_empty(), "no work is called `{wanted}`");
    let toolchain = toolchain();
    let ways = ways();
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(work) = works.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if !work.can_be_done() {
                        continue;
                    }
                    let started = Instant::now();
                    let wrong: Vec<String> =
                        ways.iter().filter_map(|way| work.wrong(*way, &toolchain)).collect();
                    println!("{:5.1} s  {}", started.elapsed().as_secs_f32(), work.name);
                    failed
                        .lock()
                        .unwrap()
                        .extend(wrong.iter().map(|wrong| format!("{}: {wrong}", work.name)));
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// Without the sandbox, and the levels that this machine has.
fn ways() -> Vec<Way> {
    let machine = Machine::in_tmp();
    let main = machine.repository("main");
    let worktree = machine.worktree(&main, "alpha");
    let is_there = |way: &Way| {
        let Some(level) = way.level() else { return true };
        let exec = machine.toolgate().args(["exec", "--level", level, "--", "true"]).cwd(&worktree);
        let answer = exec.run("");
        if !answer.status.success() {
            skipped(&format!("no level {level} on this machine: {}", answer.stderr));
        }
        answer.status.success()
    };
    [Way::Bare, Way::Landlock, Way::Full].into_iter().filter(is_there).collect()
}

impl Way {
    fn level(self) -> Option<&'static str> {
        match self {
            Way::Bare => None,
            Way::Landlock => Some("landlock"),
            Way::Full => Some("full"),
        }
    }
}

impl Work {
    /// Whether what it needs is there, in the environment that it will have.
    fn can_be_done(&self) -> bool {
        let machine = Machine::in_tmp();
        let lacks = self.needs.iter().find(|need| {
            let words: Vec<&str> = need.split(' ').collect();
            let probe = machine.toolgate().instead(&words).command().output();
            !probe.is_ok_and(|output| output.status.success())
        });
        if let Some(lacks) = lacks {
            skipped(&format!("{}: `{lacks}` does not work on this machine", self.name));
        }
        lacks.is_none()
    }

    fn otherwise(&self, way: Way) -> Option<&Otherwise> {
        let own = match way {
            Way::Bare => return None,
            Way::Landlock => &self.landlock,
            Way::Full => &self.full,
        };
        own.as_ref().or(self.inside.as_ref())
    }

    /// What went wrong, if it was done this way.
    fn wrong(&self, way: Way, toolchain: &str) -> Option<String> {
        let (code, prints, says) = match self.otherwise(way) {
            None => (self.code, &self.prints, ""),
            Some(otherwise) => {
                assert!(!otherwise.because.is_empty(), "{}: a difference without a reason", self.name);
                let is_other = (otherwise.code, &otherwise.prints) != (self.code, &self.prints);
                assert!(is_other, "{}: nothing differs at {way:?}", self.name);
                (otherwise.code, &otherwise.prints, otherwise.says.as_str())
            }
        };
        let machine = Machine::in_tmp();
        let filled = |text: &str| {
            let top = machine.path("");
            let top = top.to_str().unwrap().trim_end_matches('/');
            text.replace("{top}", top).replace("{toolchain}", toolchain)
        };
        let main = machine.repository("main");
        let worktree =
            if self.clone { machine.repository("clone") } else { machine.worktree(&main, "alpha") };
        for (path, text) in &self.files {
            write(&worktree.join(path), text);
        }
        if !self.settings.is_empty() {
            write(&machine.user_settings(), filled(&self.settings));
        }
        let before = surroundings(machine.toolgate()).cwd(machine.path(""));
        let before = before.instead(&["bash", "-c", &filled(&self.before)]).run("");
        assert!(before.status.success(), "{}: {}", self.name, before.stderr);
        let (mut last, mut printed, mut said) = (None, String::new(), String::new());
        for call in &self.calls {
            let answer = self.call(way, &machine, &worktree, &filled(call));
            last = answer.code();
            printed += &answer.stdout;
            said += &answer.stderr;
        }
        let is_as_expected = last == Some(code) && printed == *prints && said.contains(says);
        // What the sandbox itself has to say is no part of ordinary work, but where it is what is expected.
        let is_expected = |line: &str| !says.is_empty() && line.contains(says);
        let is_quiet = !said.lines().any(|line| line.contains("toolgate:") && !is_expected(line));
        (!is_as_expected || !is_quiet).then(|| {
            format!("{way:?}: expected {code} {prints:?} {says:?}\n  there was {last:?} {printed:?}\n{said}")
        })
    }

    fn call(&self, way: Way, machine: &Machine, worktree: &Path, script: &str) -> Answer {
        let hook = surroundings(machine.toolgate()).cwd(worktree);
        let mut words: Vec<&str> = Vec::new();
        if let Some(level) = way.level() {
            words.extend([env!("CARGO_BIN_EXE_toolgate"), "exec", "--level", level]);
            words.extend(self.network.iter().flat_map(|network| ["--network", network]));
            words.push("--");
        }
        words.extend(["bash", "-c"]);
        if self.typed.is_empty() {
            words.push(script);
            let mut child = hook.instead(&words).spawn();
            drop(child.stdin.take());
            return Answer::within(LONGEST, child, Instant::now());
        }
        // Only the terminal is looked at: what is said to a person on stderr is not the command's.
        let line = format!("exec {} \"$SCRIPT\" 2> /dev/null", words.join(" "));
        let mut child = hook.env("SCRIPT", script).instead(&["script", "-qefc", &line, "/dev/null"]).spawn();
        let started = Instant::now();
        let mut first = Vec::new();
        let mut byte = [0];
        while !first.ends_with(b"\n") && child.stdout.as_mut().unwrap().read(&mut byte).unwrap() > 0 {
            first.extend(byte);
        }
        let mut input = child.stdin.take().unwrap();
        input.write_all(self.typed.as_bytes()).unwrap();
        let mut answer = Answer::within(LONGEST, child, started);
        answer.stdout = (String::from_utf8(first).unwrap() + &answer.stdout).replace('\r', "");
        answer
    }
}

/// What git and others ask for, and nothing of this machine.
fn surroundings(hook: Hook) -> Hook {
    let variables = [
        ("LC_ALL", "C.UTF-8"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "A"),
        ("GIT_AUTHOR_EMAIL", "a@example.com"),
        ("GIT_COMMITTER_NAME", "A"),
        ("GIT_COMMITTER_EMAIL", "a@example.com"),
    ];
    variables.into_iter().fold(hook, |hook, (name, value)| hook.env(name, value))
}
