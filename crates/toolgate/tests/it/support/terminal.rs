//! A terminal that no agent made: this test binary holds its other side, and types.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::{Answer, HANGS, Hook};

/// Starts a program as the first one of a session, with the terminal on its stdin as that of the session.
pub(crate) const IN_SESSION: [&str; 3] = ["setsid", "--ctty", "--wait"];

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
    let status = ended(child, started);
    Answer { status, stdout: shown.join().unwrap(), stderr: String::new(), took: started.elapsed() }
}

fn ended(mut child: Child, started: Instant) -> std::process::ExitStatus {
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if started.elapsed() > HANGS {
            let _ = child.kill();
            panic!("no answer after {HANGS:?}");
        }
        thread::sleep(std::time::Duration::from_millis(2));
    }
}
