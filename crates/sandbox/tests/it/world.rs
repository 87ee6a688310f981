//! A repository with two linked worktrees in a scratch directory, and contained commands in them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A scratch directory: `r` is the main worktree, `w` and `v` are linked ones.
pub(crate) struct World {
    _scratch: tempfile::TempDir,
    pub(crate) top: PathBuf,
    pub(crate) level: &'static str,
    /// What is checked out in `w`.
    pub(crate) branch: &'static str,
    /// Where programs are looked for, inside and outside.
    programs: &'static str,
}

/// Where programs are looked for: what was installed beside the system's own comes first.
const PROGRAMS: &str = "/usr/local/bin:/usr/bin:/bin";
/// The system's own come first.
const OWN_PROGRAMS: &str = "/usr/bin:/bin:/usr/local/bin";

/// Runs a test at level `full` with each git of this machine: the one that is found first, and the system's own. Older ones write other files.
pub(crate) fn with_each_git(branch: &'static str, test: impl Fn(&World)) {
    if !levels().contains(&"full") {
        return;
    }
    let mut known = Vec::new();
    for programs in [PROGRAMS, OWN_PROGRAMS] {
        let world = World { programs, ..World::new("full", branch, "") };
        let version = world.outside("", "git --version");
        if known.contains(&version) {
            eprintln!("skipped with PATH={programs}: the same {version}");
            continue;
        }
        eprintln!("with {version}");
        known.push(version);
        test(&world);
    }
}

/// What a contained command has left.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) output: String,
    pub(crate) report: String,
}

impl Done {
    pub(crate) fn ok(self) -> Done {
        assert_eq!(self.code, 0, "{}\n{}", self.output, self.report);
        self
    }
}

/// Runs a test at both levels, with a branch of its own directory and with one at the top.
pub(crate) fn everywhere(test: impl Fn(&World)) {
    for level in levels() {
        for branch in ["agent/one/work", "topic"] {
            test(&World::new(level, branch, ""));
        }
    }
}

/// Runs a test at both levels.
pub(crate) fn at_each_level(test: impl Fn(&World)) {
    for level in levels() {
        test(&World::new(level, "topic", ""));
    }
}

/// The levels that this machine has. In CI all of them must be there.
pub(crate) fn levels() -> Vec<&'static str> {
    let has_level = |level: &&str| {
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().canonicalize().unwrap();
        fs::create_dir(top.join("w")).unwrap();
        let mut command = Command::new(contain());
        let output = command.arg(level).args([top.join("w"), top.join("p")]).arg("true").output().unwrap();
        let is_there = output.status.success();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(is_there || std::env::var_os("CI").is_none(), "no level {level} on this machine: {said}");
        if !is_there {
            eprintln!("skipped at level {level}: {said}");
        }
        is_there
    };
    ["full", "landlock"].into_iter().filter(has_level).collect()
}

/// The example program, built beside this test.
pub(crate) fn contain() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().and_then(Path::parent).unwrap().join("examples/contain");
    assert!(path.exists(), "build it first: cargo build -p toolgate-sandbox --example contain");
    path
}

/// Copies a program that is about to be started. `cp` does it: were the copy open for writing in this process, a test beside it that starts a
/// child at that moment would hand it on, and the kernel starts nothing that somebody may still write ("Text file busy").
pub(crate) fn copy_program(from: &Path, to: &Path) {
    let copied = Command::new("cp").args([from, to]).status().unwrap();
    assert!(copied.success(), "cp {} {}", from.display(), to.display());
}

impl World {
    /// `format`: options of `git init`.
    pub(crate) fn new(level: &'static str, branch: &'static str, format: &str) -> World {
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().canonicalize().unwrap();
        let world = World { _scratch: scratch, top, level, branch, programs: PROGRAMS };
        world.outside("", &format!("git init -q -b main {format} r"));
        world.outside(
            "r",
            "echo one > file && git add file && git commit -qm one && git branch side \
             && git tag old && git config remote.origin.url /nowhere",
        );
        world.outside(
            "r",
            &format!("git worktree add -q -b {branch} ../w && git worktree add -q -b other/v ../v"),
        );
        world
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.top.join(below)
    }

    pub(crate) fn common(&self) -> PathBuf {
        self.path("r/.git")
    }

    pub(crate) fn own(&self) -> PathBuf {
        self.common().join("worktrees/w")
    }

    /// Where the command stores its objects, as it sees it.
    pub(crate) fn objects(&self) -> PathBuf {
        if self.level == "full" { self.common().join("objects") } else { self.path("private-w/git/objects") }
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs([("PATH", self.programs), ("LC_ALL", "C"), ("GIT_CONFIG_NOSYSTEM", "1")])
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_EDITOR", "true"), ("HOME", "/nowhere")])
            .envs([("GIT_AUTHOR_NAME", "A"), ("GIT_AUTHOR_EMAIL", "a@example.com")])
            .envs([("GIT_COMMITTER_NAME", "A"), ("GIT_COMMITTER_EMAIL", "a@example.com")])
            .env("COMMON", self.common())
            .env("OWN", self.own())
            .env("OBJECTS", self.objects())
            .env("TOP", &self.top)
            .stdin(Stdio::null());
        command
    }

    /// Runs a script outside, where all of it must work.
    pub(crate) fn outside(&self, directory: &str, script: &str) -> String {
        let output = self.try_outside(directory, script);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{} {}: {script}: {said}", self.level, self.branch);
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn try_outside(&self, directory: &str, script: &str) -> Output {
        let mut command = self.command(Path::new("/bin/sh"));
        command.args(["-ec", script]).current_dir(self.path(directory)).output().unwrap()
    }

    /// Runs a script contained in the worktree `w`.
    pub(crate) fn contained(&self, script: &str) -> Done {
        self.contained_in("w", script)
    }

    pub(crate) fn contained_in(&self, worktree: &str, script: &str) -> Done {
        let report = self.path(&format!("report-{worktree}"));
        let _ = fs::remove_file(&report);
        let output = self.start(worktree, script, &report).wait_with_output().unwrap();
        done(&output, &report)
    }

    pub(crate) fn start(&self, worktree: &str, script: &str, report: &Path) -> Child {
        self.start_with(worktree, script, report, &[])
    }

    /// Runs a script contained in `w`, where these paths below it must not change.
    pub(crate) fn with_pins(&self, pins: &[&str], script: &str) -> Done {
        let options: Vec<_> = pins.iter().map(|pin| ("--pin", self.path("w").join(pin).into())).collect();
        self.with_options(&options, script)
    }

    /// Runs a script contained in `w`, with these options of the example.
    pub(crate) fn with_options(&self, options: &[(&str, OsString)], script: &str) -> Done {
        let report = self.path("report-w");
        let _ = fs::remove_file(&report);
        let output = self.start_with("w", script, &report, options).wait_with_output().unwrap();
        done(&output, &report)
    }

    /// What runs a script contained in `w`.
    pub(crate) fn contained_command(&self, script: &str) -> Command {
        self.contained_command_with(&[], script)
    }

    /// The same, with these options of the example.
    pub(crate) fn contained_command_with(&self, options: &[(&str, OsString)], script: &str) -> Command {
        let mut command = self.command(&contain());
        for (option, value) in options {
            command.arg(option).arg(value);
        }
        command.arg(self.level).args([self.path("w"), self.path("private-w")]).args(["sh", "-c", script]);
        command
    }

    /// Runs a script contained in `w`, with this variable.
    pub(crate) fn with_variable(&self, name: &str, value: &Path, script: &str) -> Done {
        let mut command = self.command(&contain());
        command.env(name, value).arg(self.level).args([self.path("w"), self.path("private-w")]);
        done(&command.args(["sh", "-c", script]).output().unwrap(), Path::new("/nowhere"))
    }

    /// Runs a script contained in `w`, under these limits.
    pub(crate) fn with_limits(&self, limits: &[&str], script: &str) -> Done {
        let report = self.path("report-w");
        let _ = fs::remove_file(&report);
        let mut command = self.command(&contain());
        command.args(limits).arg("--report").arg(&report).arg(self.level);
        command.args([self.path("w"), self.path("private-w")]).args(["sh", "-c", script]);
        done(&command.output().unwrap(), &report)
    }

    pub(crate) fn start_with(
        &self,
        worktree: &str,
        script: &str,
        report: &Path,
        options: &[(&str, OsString)],
    ) -> Child {
        let mut command = self.command(&contain());
        for (option, value) in options {
            command.arg(option).arg(value);
        }
        // `r` is a plain clone: its `.git` is the repository.
        let own = match worktree {
            "r" => self.common(),
            linked => self.common().join("worktrees").join(linked),
        };
        command
            .arg("--repository")
            .args([self.common(), own])
            .arg("--report")
            .arg(report)
            .arg(self.level)
            .args([self.path(worktree), self.path(&format!("private-{worktree}"))])
            .args(["sh", "-c", script])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Every reference and its value.
    pub(crate) fn refs(&self) -> BTreeMap<String, String> {
        let text = self.outside("r", "git for-each-ref --format='%(refname) %(objectname)'");
        text.lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .collect()
    }

    /// The subjects of the commits of a revision, the newest first.
    pub(crate) fn log(&self, revision: &str) -> Vec<String> {
        let text = self.outside("r", &format!("git log --format=%s {revision}"));
        text.lines().map(str::to_owned).collect()
    }

    /// Git finds nothing wrong.
    pub(crate) fn is_sound(&self) {
        let output = self.try_outside("r", "git fsck --full --strict --no-dangling");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(output.status.success() && said.is_empty(), "{} {}: {said}", self.level, self.branch);
    }

    /// All files of the repository that a command has no business with, and their content.
    pub(crate) fn shared(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        for part in ["config", "hooks", "info", "HEAD", "packed-refs", "refs/tags", "worktrees/v", "index"] {
            collect(&self.common().join(part), &mut files);
        }
        files
    }

    pub(crate) fn write(&self, below: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(below), content).unwrap();
    }

    pub(crate) fn script(&self, below: &str, content: &str) {
        self.write(below, content);
        fs::set_permissions(self.path(below), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

pub(crate) fn done(output: &Output, report: &Path) -> Done {
    let said = [output.stdout.clone(), output.stderr.clone()].concat();
    Done {
        code: output.status.code().unwrap_or(-1),
        output: String::from_utf8_lossy(&said).into_owned(),
        report: fs::read_to_string(report).unwrap_or_default(),
    }
}

pub(crate) fn collect(path: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            for entry in fs::read_dir(path).unwrap() {
                collect(&entry.unwrap().path(), files);
            }
        }
        Ok(metadata) if metadata.is_file() => drop(files.insert(path.to_owned(), fs::read(path).unwrap())),
        _ => {}
    }
}
