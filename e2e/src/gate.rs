//! The gate as a person has it: a binary in a directory of programs, and `toolgate init`. Then what can befall it.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use toolgate_rehearsal::run::{Ran, run};
use toolgate_rehearsal::stage::Stage;
use toolgate_rehearsal::terminal::{IN_SESSION, conversation};

use crate::managed;

/// Longest time for a command that a person types.
const SOON: Duration = Duration::from_secs(30);

/// Whose settings the gate is registered in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The person's.
    User,
    /// The administrator's.
    Managed,
}

/// A toolgate on a stage.
#[derive(Debug)]
pub(crate) struct Gate<'a> {
    stage: &'a Stage,
    binary: PathBuf,
}

impl<'a> Gate<'a> {
    /// Puts the binary, and the one beside it where it is built as two, onto the stage.
    pub(crate) fn put(stage: &'a Stage, toolgate: &Path) -> io::Result<Gate<'a>> {
        let gate = Gate { stage, binary: stage.bin().join("toolgate") };
        copy(toolgate, &gate.binary)?;
        let beside = toolgate.with_file_name("toolgate-cli");
        if beside.is_file() {
            copy(&beside, &stage.bin().join("toolgate-cli"))?;
        }
        Ok(gate)
    }

    /// Registers it, in the person's settings or in the administrator's.
    pub(crate) fn init(&self, host: &str, scope: Scope, profile: Option<&str>) -> Result<(), String> {
        let mut command = self.command(scope);
        command.args(["init", "--host", host, "--yes"]);
        command.args(profile.iter().flat_map(|profile| ["--profile", profile]));
        if scope == Scope::Managed {
            command.arg("--managed");
        }
        self.carry_out("init", &mut command)
    }

    /// What somebody types who runs a team.
    pub(crate) fn tell(&self, words: &[&str]) -> Result<(), String> {
        self.carry_out(&words.join(" "), self.command(Scope::User).args(words))
    }

    /// The same where how it ends is the answer.
    pub(crate) fn ask(&self, words: &[&str]) -> Result<Ran, String> {
        run(self.command(Scope::User).args(words), &self.stage.tmp(), SOON, || false)
            .map_err(|error| format!("toolgate {}: {error}", words.join(" ")))
    }

    /// What a person does at a terminal of their own about the first call that waits. What was shown; an error where it is not approved.
    pub(crate) fn approve_first(&self) -> Result<String, String> {
        let pending = self.ask(&["pending"])?.output;
        let code = pending.split_whitespace().next().ok_or("nothing waits")?;
        let mut command = self.stage.command(IN_SESSION[0]);
        command.args(&IN_SESSION[1..]).arg(&self.binary).args(["approve", code]);
        match conversation(command, &[("Type yes:", "yes\n")], SOON) {
            Ok((Some(0), shown)) => Ok(shown),
            Ok((_, shown)) => Err(shown),
            Err(error) => Err(error.to_string()),
        }
    }

    fn carry_out(&self, what: &str, command: &mut Command) -> Result<(), String> {
        let ran = run(command, &self.stage.tmp(), SOON, || false)
            .map_err(|error| format!("toolgate {what}: {error}"))?;
        if ran.code == Some(0) { Ok(()) } else { Err(format!("toolgate {what}: {}", ran.output.trim())) }
    }

    fn command(&self, scope: Scope) -> Command {
        match scope {
            Scope::User => self.stage.command(&self.binary),
            Scope::Managed => managed::command(self.stage, &self.binary),
        }
    }

    /// Deletes it.
    pub(crate) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.binary)
    }

    /// Leaves so much of it, as an installation does that is cut short.
    pub(crate) fn cut(&self, length: usize) -> io::Result<()> {
        let whole = fs::read(&self.binary)?;
        self.put_instead(whole.get(..length).unwrap_or(&whole), 0o755)
    }

    /// Leaves its length and nothing else, as a machine does that lost its power.
    pub(crate) fn fill_with_zeros(&self) -> io::Result<()> {
        self.put_instead(&vec![0; 100_000], 0o755)
    }

    /// Forbids everybody to run it.
    pub(crate) fn forbid(&self) -> io::Result<()> {
        let whole = fs::read(&self.binary)?;
        self.put_instead(&whole, 0o644)
    }

    /// Puts a program in its place that crashes.
    pub(crate) fn crash(&self) -> io::Result<()> {
        self.replace("kill -SEGV $$\n")
    }

    /// Puts a program in its place that never answers when it is asked about `file`, and leaves a note that it was
    /// asked. To anything else it says nothing at once: a client that also waits at the start of a session would use
    /// up our patience there, and what it does about the call would not be seen.
    pub(crate) fn hang(&self, file: &str) -> io::Result<()> {
        let note = self.note();
        self.replace(&format!(
            "[ \"$1\" = serve ] || case $(cat) in *'{file}'*) ;; *) exit 0 ;; esac\n: > '{}'\nexec sleep 100\n",
            note.display(),
        ))
    }

    /// How long ago the program that hangs was asked.
    pub(crate) fn asked(&self) -> Option<Duration> {
        fs::metadata(self.note()).and_then(|note| note.modified()).ok()?.elapsed().ok()
    }

    fn note(&self) -> PathBuf {
        self.stage.dir().join("asked")
    }

    fn replace(&self, script: &str) -> io::Result<()> {
        self.put_instead(format!("#!/bin/sh\n{script}").as_bytes(), 0o755)
    }

    fn put_instead(&self, bytes: &[u8], mode: u32) -> io::Result<()> {
        // A new file: what is there may be one with the original.
        self.remove()?;
        fs::write(&self.binary, bytes)?;
        fs::set_permissions(&self.binary, fs::Permissions::from_mode(mode))
    }
}

/// A second name for the file where the disk can do that; it is large.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(|_| ()))
}
