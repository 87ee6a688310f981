//! A terminal that no agent made: this program holds its other side, and types as a person does.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Starts a program as the first one of a session, with the terminal on its stdin as that of the session.
pub const IN_SESSION: [&str; 3] = ["setsid", "--ctty", "--wait"];

/// How often a conversation is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// A pseudo-terminal.
#[derive(Debug)]
pub struct Terminal {
    master: File,
    slave: File,
}

impl Terminal {
    /// A new one.
    pub fn new() -> io::Result<Terminal> {
        // No other child of this process may have it: whoever holds it could type.
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?.into_string().map_err(io::Error::other)?;
        let flags = OFlags::NOCTTY.bits().cast_signed();
        let slave = OpenOptions::new().read(true).write(true).custom_flags(flags).open(name)?;
        Ok(Terminal { master: File::from(master), slave })
    }

    /// The side that a program reads from and writes to.
    pub fn side(&self) -> io::Result<Stdio> {
        self.slave.try_clone().map(Stdio::from)
    }

    /// Types, and collects what is shown until no program has the terminal any more.
    pub fn typing(self, typed: &str) -> io::Result<JoinHandle<String>> {
        let Terminal { mut master, slave } = self;
        drop(slave);
        master.write_all(typed.as_bytes())?;
        Ok(thread::spawn(move || {
            let mut shown = Vec::new();
            read_to_end(master, |part| shown.extend_from_slice(part));
            as_lines(&shown)
        }))
    }
}

/// Runs a command at a terminal of its own. Each text is typed once what comes before it has been shown. Gives the exit code, and all that
/// was shown; an error where it has not ended in time.
pub fn conversation(
    mut command: Command,
    said: &[(&str, &str)],
    patience: Duration,
) -> io::Result<(Option<i32>, String)> {
    let started = Instant::now();
    let terminal = Terminal::new()?;
    let mut child =
        command.stdin(terminal.side()?).stdout(terminal.side()?).stderr(terminal.side()?).spawn()?;
    let Terminal { mut master, slave } = terminal;
    // Whoever holds the other side keeps the conversation from ending.
    drop((command, slave));
    let shown = Arc::new(Mutex::new(Vec::new()));
    let (reading, seen) = (master.try_clone()?, Arc::clone(&shown));
    let reader = thread::spawn(move || read_to_end(reading, |part| lock(&seen).extend_from_slice(part)));
    let text = || as_lines(&lock(&shown));
    let mut said = said.iter();
    let mut next = said.next();
    let mut from = 0;
    let status = loop {
        if let Some((awaited, typed)) = next
            && let Some(at) = text().get(from..).and_then(|rest| rest.find(awaited))
        {
            from += at + awaited.len();
            // Whoever has ended hears nothing.
            let _ = master.write_all(typed.as_bytes());
            next = said.next();
        } else if let Some(status) = child.try_wait()? {
            break status;
        } else if started.elapsed() > patience {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::other(format!("no {next:?} and no end in {patience:?}: {:?}", text())));
        } else {
            thread::sleep(LOOK);
        }
    };
    reader.join().map_err(|_| io::Error::other("nobody could read the terminal"))?;
    Ok((status.code(), text()))
}

/// Reads until the end, which on a terminal comes as an error.
fn read_to_end(mut from: File, mut hear: impl FnMut(&[u8])) {
    let mut part = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut part) {
        hear(part.get(..count).unwrap_or_default());
    }
}

fn as_lines(shown: &[u8]) -> String {
    String::from_utf8_lossy(shown).replace("\r\n", "\n")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn each_text_is_typed_when_it_is_asked_for() {
        let script =
            "stty -echo; printf 'name? '; read name; printf 'sure, %s? ' $name; read sure; exit $sure";
        let said = [("name? ", "ash\n"), ("sure, ash? ", "7\n")];
        let (code, shown) = conversation(shell(script), &said, Duration::from_secs(30)).unwrap();
        assert_eq!((code, shown.ends_with("sure, ash? ")), (Some(7), true), "{shown}");
    }

    #[test]
    fn what_does_not_end_is_ended() {
        let waited = conversation(shell("sleep 60"), &[("never", "")], Duration::from_millis(200));
        assert!(waited.is_err());
    }
}
