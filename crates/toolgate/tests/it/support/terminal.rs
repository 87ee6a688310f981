//! A terminal that no agent made: this test binary holds its other side, and types.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::{Answer, HANGS, Hook};

/// Starts a program as the first one of a session, with the terminal on its stdin as that of the session.
pub(crate) const IN_SESSION: [&str; 3] = ["setsid", "--ctty", "--wait"];

/// A conversation is over by then, also on a machine that is busy: a wrong password alone costs two seconds.
const PATIENCE: Duration = Duration::from_mins(3);

/// A pseudo-terminal.
pub(crate) struct Terminal {
    master: File,
    slave: File,
}

impl Terminal {
    pub(crate) fn new() -> Terminal {
        // No other child of this process may have it: whoever holds it could type.
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let flags = OFlags::NOCTTY.bits().cast_signed();
        let slave = OpenOptions::new().read(true).write(true).custom_flags(flags).open(name).unwrap();
        Terminal { master: File::from(master), slave }
    }

    /// The side that a program reads from and writes to.
    pub(crate) fn side(&self) -> Stdio {
        Stdio::from(self.slave.try_clone().unwrap())
    }

    /// Types, and collects what is shown until no program has the terminal any more.
    pub(crate) fn typing(self, typed: &str) -> JoinHandle<String> {
        let Terminal { mut master, slave } = self;
        drop(slave);
        master.write_all(typed.as_bytes()).unwrap();
        thread::spawn(move || {
            let mut shown = Vec::new();
            let mut part = [0; 4096];
            // An error is how the end comes.
            while let Ok(count @ 1..) = master.read(&mut part) {
                shown.extend_from_slice(&part[..count]);
            }
            String::from_utf8_lossy(&shown).replace("\r\n", "\n")
        })
    }
}

/// Runs a command as the first of a session at a person's terminal. Each text is typed once what comes before it has been shown. Gives the
/// exit code, and all that was shown.
pub(crate) fn conversation(mut command: Command, said: &[(&str, &str)]) -> (Option<i32>, String) {
    let started = Instant::now();
    let Terminal { mut master, slave } = Terminal::new();
    let side = || Stdio::from(slave.try_clone().unwrap());
    let mut child = command.stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
    drop((command, slave));
    let shown = Arc::new(Mutex::new(Vec::new()));
    let (mut reading, seen) = (master.try_clone().unwrap(), Arc::clone(&shown));
    let reader = thread::spawn(move || {
        let mut part = [0; 4096];
        // An error is how the end comes.
        while let Ok(count @ 1..) = reading.read(&mut part) {
            seen.lock().unwrap().extend_from_slice(&part[..count]);
        }
    });
    let text = || String::from_utf8_lossy(&shown.lock().unwrap()).replace("\r\n", "\n");
    let mut from = 0;
    for (awaited, typed) in said {
        loop {
            if let Some(at) = text().get(from..).and_then(|rest| rest.find(awaited)) {
                from += at + awaited.len();
                break;
            }
            if child.try_wait().unwrap().is_some() {
                break;
            }
            assert!(started.elapsed() < PATIENCE, "no {awaited:?} in {:?}", text());
            thread::sleep(Duration::from_millis(5));
        }
        // Whoever has ended hears nothing.
        let _ = master.write_all(typed.as_bytes());
    }
    let status = ended(child, started, PATIENCE);
    reader.join().unwrap();
    (status.code(), text())
}

/// Runs a command at a person's terminal, where this is typed. What it shows is in `stdout`.
pub(crate) fn at_terminal(hook: &Hook, typed: &str) -> Answer {
    let started = Instant::now();
    let terminal = Terminal::new();
    let hook = hook.clone().under(&IN_SESSION);
    let child = hook
        .command()
        .stdin(terminal.side())
        .stdout(terminal.side())
        .stderr(terminal.side())
        .spawn()
        .unwrap();
    let shown = terminal.typing(typed);
    let status = ended(child, started, HANGS);
    Answer { status, stdout: shown.join().unwrap(), stderr: String::new(), took: started.elapsed() }
}

fn ended(mut child: Child, started: Instant, limit: Duration) -> std::process::ExitStatus {
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if started.elapsed() > limit {
            let _ = child.kill();
            panic!("no answer after {limit:?}");
        }
        thread::sleep(Duration::from_millis(2));
    }
}
