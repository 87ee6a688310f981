//! The proof by trying: the registered command line, run as the host runs it, and what it answers.
//!
//! Against whom: a repository that comes with a registration of its own making. Its line is run only where that
//! cannot run the repository's code.

use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Map, Value};

use super::{Check, Status, Subject};
use crate::register::handler::CommandLine;

/// How long a program may take. Our own deadline is the same.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a canary would write.
pub(super) const TEXT: &str = "canary\n";

/// What to do about an answer that is not the right one.
const WHY: &str = "`toolgate check` says why";
/// What to do about a line that does not answer.
const REPAIR: &str = "run it by hand to see why; install toolgate again, then run `toolgate init` again";

/// A call that a line is asked about. The events that hosts make of it name no session: a session's root is pinned,
/// and the next diagnosis may stand elsewhere.
pub(super) enum Probe {
    /// A write to the administrator's settings for us, which every profile must deny: it is the floor.
    Write(PathBuf),
    /// A read inside of the project, which must not be.
    Read(PathBuf),
}

impl Probe {
    fn file(&self) -> &Path {
        match self {
            Probe::Write(file) | Probe::Read(file) => file,
        }
    }

    pub(super) fn write() -> Probe {
        Probe::Write(PathBuf::from("/etc/toolgate/toolgate.toml"))
    }

    pub(super) fn read(project: &Path) -> Probe {
        Probe::Read(project.join("README.md"))
    }
}

/// A line that is about to be run, and where it came from.
pub(super) struct Asked<'a> {
    pub(super) line: &'a CommandLine,
    pub(super) host: &'a str,
    /// The file that it stands in, for people.
    pub(super) source: &'a str,
    /// It stands in the person's or the administrator's file, or init wrote it.
    pub(super) trusted: bool,
}

/// Runs a registered line as the host would, with a call that must be denied and one that must not be. `ask` gives
/// the decision; `None` where there was no opinion, so that the host would go on.
pub(super) fn canaries(
    asked: &Asked<'_>,
    subject: &Subject<'_>,
    checks: &mut Vec<Check>,
    mut ask: impl FnMut(&Path, &Probe) -> Result<Option<String>, Trouble>,
) {
    let line = asked.line;
    if !is_safe_to_run(asked) {
        let text = format!("not run, since the {} may have come with the repository: `{line}`", asked.source);
        let check = Check::new("canary-deny", Status::Fail, text);
        checks.push(check.help("check the line; `toolgate init` writes one that toolgate recognizes"));
        return;
    }
    let project = subject.places.project.as_deref().unwrap_or(&subject.dirs.home);
    let (write, read) = (Probe::write(), Probe::read(project));
    let _marked = Marked::begin(&subject.dirs.state, [&write, &read]);
    let denied = ask(project, &write);
    checks.push(match &denied {
        Ok(Some(decision)) if decision == "deny" => {
            Check::new("canary-deny", Status::Ok, format!("a write to `{write}` was denied"))
        }
        Ok(Some(decision)) => {
            let text = format!("a write to `{write}` got the answer `{decision}`");
            Check::new("canary-deny", Status::Fail, text).help(WHY)
        }
        Ok(None) => {
            let text = format!("a write to `{write}` would run: `{line}` said nothing about it");
            Check::new("canary-deny", Status::Fail, text).help(WHY)
        }
        Err(trouble) => Check::new("canary-deny", Status::Fail, format!("`{line}` {trouble}")).help(REPAIR),
    });
    if denied.is_err() {
        // It would not do better on the second call, only take as long.
        return;
    }
    checks.push(match ask(project, &read) {
        Ok(Some(decision)) if decision == "deny" => {
            let text = format!("a read of `{read}` was denied, so agents cannot work");
            Check::new("canary-allow", Status::Fail, text).help(WHY)
        }
        Ok(_) => Check::new("canary-allow", Status::Ok, format!("a read of `{read}` was not denied")),
        Err(trouble) => Check::new("canary-allow", Status::Fail, format!("`{line}` {trouble}")).help(REPAIR),
    });
}

/// While it lives, calls without a session that name these files are recorded as canaries. Where the note of that cannot be written, the record
/// counts them as calls; the diagnosis is the same.
struct Marked<'s> {
    state: &'s Path,
}

impl Marked<'_> {
    fn begin<'s>(state: &'s Path, probes: [&Probe; 2]) -> Marked<'s> {
        let files = probes.map(Probe::file);
        let _ = toolgate_gate::canary::begin(state, SystemTime::now(), &files);
        Marked { state }
    }
}

impl Drop for Marked<'_> {
    fn drop(&mut self) {
        let _ = toolgate_gate::canary::end(self.state);
    }
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Probe::Write(file) | Probe::Read(file) => write!(f, "{}", file.display()),
        }
    }
}

/// Whether running a line runs nothing that a repository chose: it comes from somebody who may choose, or it starts
/// one of our own programs and does nothing else.
///
/// Not any program outside of the project: a directory below a worktree may call itself a project, and what lies beside it is the agent's.
fn is_safe_to_run(asked: &Asked<'_>) -> bool {
    asked.trusted
        || asked.line.start(asked.host).is_some_and(|start| is_own_program(Path::new(&start.program)))
}

/// Whether this is the program that is running, or the other one that was installed with it.
fn is_own_program(program: &Path) -> bool {
    let own = std::env::current_exe().and_then(fs::canonicalize);
    let (Ok(own), Ok(named)) = (own, fs::canonicalize(program)) else { return false };
    let beside = ["toolgate", "toolgate-cli"].map(|name| own.with_file_name(name));
    program.is_absolute()
        && (named == own
            || beside.iter().any(|beside| fs::canonicalize(beside).is_ok_and(|beside| beside == named)))
}

/// A line, ready to be started as a host starts it.
pub(super) fn command(line: &CommandLine) -> Command {
    match line {
        CommandLine::Exec(start) => {
            let mut started = Command::new(&start.program);
            started.args(&start.args);
            started
        }
        CommandLine::Shell(text) => {
            let mut started = Command::new("/bin/sh");
            started.args(["-c", text]);
            started
        }
    }
}

/// The one JSON object of an output; `None` where it is empty.
pub(super) fn one_object(stdout: &[u8]) -> Result<Option<Map<String, Value>>, Trouble> {
    if stdout.trim_ascii().is_empty() {
        return Ok(None);
    }
    match serde_json::from_slice(stdout) {
        Ok(Value::Object(answer)) => Ok(Some(answer)),
        _ => Err(Trouble::NotOneObject),
    }
}

/// Why a program gave no usable answer.
pub(super) enum Trouble {
    NotStarted(io::Error),
    TimedOut,
    Ended(Option<i32>),
    /// The shell denied, since it could not start us.
    ShellAnswered,
    NotOneObject,
    WrongEvent(&'static str),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::NotStarted(error) => write!(f, "could not be started: {error}"),
            Trouble::TimedOut => write!(f, "did not answer within {} s", PATIENCE.as_secs()),
            Trouble::Ended(Some(code)) => write!(f, "ended with exit code {code}"),
            Trouble::Ended(None) => f.write_str("was ended by a signal"),
            Trouble::ShellAnswered => f.write_str("could not run, so every call is denied"),
            Trouble::NotOneObject => f.write_str("printed something other than one JSON object"),
            Trouble::WrongEvent(event) => write!(f, "answered without `\"hookEventName\": \"{event}\"`"),
        }
    }
}

pub(super) struct Ran {
    pub(super) code: Option<i32>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

/// Output beyond this is not read: no answer is that long.
const LONGEST_ANSWER: u64 = 1 << 20;

/// Runs a program to its end, or for as long as our patience lasts.
pub(super) fn run(command: &mut Command, stdin: &[u8]) -> Result<Ran, Trouble> {
    let end = Instant::now() + PATIENCE;
    // A group of its own, so that what a script started can be ended with it.
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(Trouble::NotStarted)?;
    let ran = finish(&mut child, stdin, end);
    if ran.is_err() {
        kill(&mut child);
    }
    ran
}

fn finish(child: &mut Child, stdin: &[u8], end: Instant) -> Result<Ran, Trouble> {
    let stdout = collect(child.stdout.take())?;
    let stderr = collect(child.stderr.take())?;
    if let Some(mut pipe) = child.stdin.take() {
        // One event fits into a pipe, so this does not wait; a program that does not read it has no answer.
        let _ = pipe.write_all(stdin);
    }
    let wait = |pipe: &mpsc::Receiver<io::Result<Vec<u8>>>| {
        let left = end.saturating_duration_since(Instant::now());
        pipe.recv_timeout(left).map_err(|_| Trouble::TimedOut)?.map_err(Trouble::NotStarted)
    };
    let (stdout, stderr) = (wait(&stdout)?, wait(&stderr)?);
    loop {
        match child.try_wait().map_err(Trouble::NotStarted)? {
            Some(status) => return Ok(Ran { code: status.code(), stdout, stderr }),
            None if Instant::now() >= end => return Err(Trouble::TimedOut),
            None => thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// Reads a pipe to its end, beside us.
fn collect(pipe: Option<impl Read + Send + 'static>) -> Result<mpsc::Receiver<io::Result<Vec<u8>>>, Trouble> {
    let (sender, receiver) = mpsc::channel();
    let reader = move || {
        let mut bytes = Vec::new();
        let read = pipe.map_or(Ok(0), |pipe| pipe.take(LONGEST_ANSWER).read_to_end(&mut bytes));
        // Nobody listens any more once we ran out of patience.
        let _ = sender.send(read.map(|_| bytes));
    };
    thread::Builder::new().spawn(reader).map_err(Trouble::NotStarted)?;
    Ok(receiver)
}

/// Ends a child of ours and what it started. It has not been waited for, so its id is still its own.
fn kill(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}
