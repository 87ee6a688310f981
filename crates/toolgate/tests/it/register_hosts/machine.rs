//! A machine in a temporary directory: a home, a project, an `/etc`, and toolgate.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Host, its directory of settings in the home, and the scopes that it has besides the person's.
pub(crate) const HOSTS: &[(&str, &str, &[&str])] = &[
    ("claude-code", ".claude", &["project", "local", "managed"]),
    ("copilot", ".copilot", &["project", "managed"]),
    ("codex", ".codex", &["project", "managed"]),
    ("gemini", ".gemini", &["project", "managed"]),
    ("opencode", ".config/opencode", &["project"]),
    ("pi", ".pi/agent", &["project"]),
    ("qwen", ".qwen", &["project", "managed"]),
    ("cursor", ".cursor", &["project", "managed"]),
];

pub(crate) struct Machine {
    dir: TempDir,
    binary: PathBuf,
    vars: Vec<(&'static str, OsString)>,
}

impl Machine {
    pub(crate) fn new() -> Machine {
        Machine::with_binary("bin/toolgate")
    }

    /// With toolgate at this place.
    pub(crate) fn with_binary(place: &str) -> Machine {
        let dir = tempfile::tempdir().unwrap();
        let mut machine = Machine { dir, binary: PathBuf::new(), vars: Vec::new() };
        machine.binary = machine.path(place);
        for dir in ["", "home", "project", "etc", "clients"] {
            fs::create_dir_all(machine.path(dir)).unwrap();
            // Whatever the umask.
            fs::set_permissions(machine.path(dir), fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::create_dir_all(machine.binary.parent().unwrap()).unwrap();
        let built = Path::new(env!("CARGO_BIN_EXE_toolgate"));
        // Copied by another program: a child that another test starts meanwhile would inherit a file of ours that is open for writing, and
        // nobody could run it then.
        if fs::hard_link(built, &machine.binary).is_err() {
            assert!(Command::new("cp").args([built, machine.binary()]).status().unwrap().success());
        }
        let git = Command::new("git").args(["init", "-q"]).arg(machine.path("project")).status();
        assert!(git.unwrap().success());
        machine.write("project/README.md", "hello\n");
        machine
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn text_of(&self, path: &str) -> String {
        self.path(path).to_str().unwrap().to_owned()
    }

    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }

    /// Sets a variable of toolgate's environment.
    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.vars.push((name, value.into()));
    }

    pub(crate) fn clear(&mut self) {
        self.vars.clear();
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.read(path)).unwrap()
    }

    /// toolgate in the project, ready to be started.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(args).arg("--etc").arg(self.path("etc"));
        command.current_dir(self.path("project")).stdin(Stdio::null());
        command.env_clear().env("HOME", self.path("home")).env("PATH", self.path("clients"));
        command.envs(self.vars.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs toolgate in the project.
    pub(crate) fn toolgate(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs toolgate, which must succeed, and gives what it said.
    pub(crate) fn must(&self, args: &[&str]) -> String {
        let output = self.toolgate(args);
        let said = said(&output);
        assert!(output.status.success(), "toolgate {args:?}: {said}");
        said
    }

    /// Runs toolgate, which must fail with exit code 1, and gives what it said.
    pub(crate) fn must_not(&self, args: &[&str]) -> String {
        let output = self.toolgate(args);
        assert_eq!(output.status.code(), Some(1), "toolgate {args:?}: {}", said(&output));
        said(&output)
    }

    /// Every path of the machine but toolgate's own, with a file's bytes.
    pub(crate) fn tree(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut all = BTreeMap::new();
        for top in ["home", "project", "etc"] {
            collect(&self.path(top), &mut all);
        }
        let own = [self.path("home/.local"), self.path("project/.git")];
        all.retain(|path, _| !own.iter().any(|own| path.starts_with(own)));
        all
    }
}

/// A script in the place of a program. Written by another process: a descriptor that is open for writing here
/// could be inherited by a child of another test, and the script then not be started.
pub(crate) fn script(path: &Path, body: &str) {
    let _ = fs::remove_file(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut shell = Command::new("/bin/sh")
        .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    write!(shell.stdin.take().unwrap(), "#!/bin/sh\n{body}\n").unwrap();
    assert!(shell.wait().unwrap().success());
}

pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn collect(dir: &Path, all: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.insert(path.clone(), None);
            collect(&path, all);
        } else {
            all.insert(path.clone(), Some(fs::read(&path).unwrap()));
        }
    }
}
