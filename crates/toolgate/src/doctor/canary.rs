//! The proof by trying: the registered command line, run as the client runs it, and what it answers.
//!
//! Against whom: a repository that comes with a registration of its own making. Its line is run only where that
//! cannot run the repository's code.

use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Check, Source, Status, Subject, is_in_project};
use crate::register::Scope;
use crate::register::claude_code::reading::{CommandLine, GATE};

/// How long a program may take. Our own deadline is the same.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs a registered line as the client would, with a call that must be denied and one that must not be.
pub(super) fn canaries(source: &Source, line: &CommandLine, subject: &Subject<'_>, checks: &mut Vec<Check>) {
    if !is_safe_to_run(source, line, subject) {
        let text = format!("not run, since the {source} may have come with the repository: `{line}`");
        let check = Check::new("canary-deny", Status::Fail, text);
        checks.push(check.help("look at the line; `toolgate init` writes one that is known to be ours"));
        return;
    }
    let project = subject.places.project.as_deref().unwrap_or(&subject.dirs.home);
    let outside = format!("/toolgate-canary/{}", std::process::id());
    let write = json!({ "file_path": outside, "content": "canary\n" });
    let denied = ask(line, project, "Write", &write);
    checks.push(match &denied {
        Ok(Some(decision)) if decision == "deny" => {
            Check::new("canary-deny", Status::Ok, format!("a write to `{outside}` was denied"))
        }
        Ok(Some(decision)) => Check::new(
            "canary-deny",
            Status::Fail,
            format!("a write to `{outside}` got the answer `{decision}`"),
        ),
        Ok(None) => Check::new(
            "canary-deny",
            Status::Fail,
            format!("a write to `{outside}` would run: `{line}` said nothing about it"),
        ),
        Err(trouble) => Check::new("canary-deny", Status::Fail, format!("`{line}` {trouble}")),
    });
    if denied.is_err() {
        // It would not do better on the second call, only take as long.
        return;
    }
    let inside = project.join("README.md");
    let read = json!({ "file_path": inside });
    let inside = inside.display();
    checks.push(match ask(line, project, "Read", &read) {
        Ok(Some(decision)) if decision == "deny" => {
            let text = format!("a read of `{inside}` was denied: no work can be done like this");
            Check::new("canary-allow", Status::Fail, text).help("`toolgate check` says why")
        }
        Ok(_) => Check::new("canary-allow", Status::Ok, format!("a read of `{inside}` was not denied")),
        Err(trouble) => Check::new("canary-allow", Status::Fail, format!("`{line}` {trouble}")),
    });
}

/// Whether running a line runs nothing that a repository chose. One from the person's or the administrator's
/// file, or one that init wrote, is fine; so is one that starts a program outside the project without a shell.
fn is_safe_to_run(source: &Source, line: &CommandLine, subject: &Subject<'_>) -> bool {
    let outside = |command: &str| {
        let path = Path::new(command);
        // What does not exist cannot be run; the canary says so better.
        path.is_absolute() && fs::canonicalize(path).map_or(true, |real| !is_in_project(&real, subject))
    };
    match (source.scope, line) {
        (Scope::User | Scope::Managed, _) => true,
        (Scope::Project | Scope::Local, CommandLine::Exec { command, .. }) => {
            source.written_by_us || outside(command)
        }
        (Scope::Project | Scope::Local, CommandLine::Shell(_)) => source.written_by_us,
    }
}

/// The decision about one call; `None` where there was no opinion, so that the client would go on.
fn ask(line: &CommandLine, project: &Path, tool: &str, input: &Value) -> Result<Option<String>, Trouble> {
    let mut command = match line {
        CommandLine::Exec { command, args } => {
            let mut started = Command::new(command);
            started.args(args);
            started
        }
        CommandLine::Shell(text) => {
            let mut started = Command::new("/bin/sh");
            started.args(["-c", text]);
            started
        }
    };
    let session = "toolgate-doctor";
    command.current_dir(project).env("CLAUDE_PROJECT_DIR", project);
    command.env("CLAUDECODE", "1").env("CLAUDE_CODE_SESSION_ID", session);
    let event = json!({
        "transcript_path": "/dev/null",
        "cwd": project,
        "permission_mode": "default",
        "hook_event_name": GATE,
        "tool_name": tool,
        "tool_input": input,
        "tool_use_id": session,
    });
    let ran = run(&mut command, format!("{event}\n").as_bytes())?;
    match ran.code {
        Some(0) => decision(&ran.stdout),
        code => Err(Trouble::Ended(code)),
    }
}

/// What the client makes of a hook's output. Anything but one object for the right event counts as silence.
fn decision(stdout: &[u8]) -> Result<Option<String>, Trouble> {
    if stdout.trim_ascii().is_empty() {
        return Ok(None);
    }
    let Ok(Value::Object(answer)) = serde_json::from_slice(stdout) else {
        return Err(Trouble::NotOneObject);
    };
    let Some(specific) = answer.get("hookSpecificOutput") else {
        return Ok(None);
    };
    if specific.get("hookEventName").is_none_or(|name| name != GATE) {
        return Err(Trouble::WrongEvent);
    }
    Ok(specific.get("permissionDecision").and_then(Value::as_str).map(str::to_owned))
}

/// Why a program gave no usable answer.
pub(super) enum Trouble {
    NotStarted(io::Error),
    TimedOut,
    Ended(Option<i32>),
    NotOneObject,
    WrongEvent,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::NotStarted(error) => write!(f, "could not be started: {error}"),
            Trouble::TimedOut => write!(f, "did not answer within {} s", PATIENCE.as_secs()),
            Trouble::Ended(Some(code)) => write!(f, "ended with exit code {code}"),
            Trouble::Ended(None) => f.write_str("was ended by a signal"),
            Trouble::NotOneObject => f.write_str("printed something else than one JSON object"),
            Trouble::WrongEvent => write!(f, "answered without `\"hookEventName\": \"{GATE}\"`"),
        }
    }
}

pub(super) struct Ran {
    code: Option<i32>,
    pub(super) stdout: Vec<u8>,
}

/// Output beyond this is not read: no answer is that long.
const LONGEST_ANSWER: u64 = 1 << 20;

/// Runs a program to its end, or for as long as our patience lasts.
pub(super) fn run(command: &mut Command, stdin: &[u8]) -> Result<Ran, Trouble> {
    let end = Instant::now() + PATIENCE;
    // A group of its own, so that what a script started can be ended with it.
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().map_err(Trouble::NotStarted)?;
    let ran = finish(&mut child, stdin, end);
    if ran.is_err() {
        kill(&mut child);
    }
    ran
}

fn finish(child: &mut Child, stdin: &[u8], end: Instant) -> Result<Ran, Trouble> {
    if let Some(mut pipe) = child.stdin.take() {
        // One event fits into a pipe, so this does not wait; a program that does not read it has no answer.
        let _ = pipe.write_all(stdin);
    }
    let (sender, receiver) = mpsc::channel();
    let pipe = child.stdout.take();
    let reader = move || {
        let mut bytes = Vec::new();
        let read = pipe.map_or(Ok(0), |pipe| pipe.take(LONGEST_ANSWER).read_to_end(&mut bytes));
        // Nobody listens any more once we ran out of patience.
        let _ = sender.send(read.map(|_| bytes));
    };
    thread::Builder::new().spawn(reader).map_err(Trouble::NotStarted)?;
    let left = end.saturating_duration_since(Instant::now());
    let stdout = receiver.recv_timeout(left).map_err(|_| Trouble::TimedOut)?.map_err(Trouble::NotStarted)?;
    loop {
        match child.try_wait().map_err(Trouble::NotStarted)? {
            Some(status) => {
                let code = status.code();
                return Ok(Ran { code, stdout });
            }
            None if Instant::now() >= end => return Err(Trouble::TimedOut),
            None => thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// Ends a child of ours and what it started. It has not been waited for, so its id is still its own.
fn kill(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}
