//! Commands at a terminal that no agent made.

use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use toolgate_rehearsal::terminal::{IN_SESSION, Terminal};

use super::{Answer, HANGS, Hook};

/// A conversation is over by then, also on a machine that is busy: a wrong password alone costs two seconds.
const PATIENCE: Duration = Duration::from_mins(3);

/// Runs a command as the first of a session at a person's terminal. Each text is typed once what comes before it has been shown. Gives the
/// exit code, and all that was shown.
pub(crate) fn conversation(command: Command, said: &[(&str, &str)]) -> (Option<i32>, String) {
    toolgate_rehearsal::terminal::conversation(command, said, PATIENCE).unwrap()
}

/// Runs a command at a person's terminal, where this is typed. What it shows is in `stdout`.
pub(crate) fn at_terminal(hook: &Hook, typed: &str) -> Answer {
    let started = Instant::now();
    let terminal = Terminal::new().unwrap();
    let hook = hook.clone().under(&IN_SESSION);
    let child = hook
        .command()
        .stdin(terminal.side().unwrap())
        .stdout(terminal.side().unwrap())
        .stderr(terminal.side().unwrap())
        .spawn()
        .unwrap();
    let shown = terminal.typing(typed).unwrap();
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
