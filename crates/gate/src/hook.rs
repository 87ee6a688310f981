//! `toolgate hook <host>`: one event on stdin, one answer on stdout, for every call of an agent. The process around
//! the [line](mod@crate::line).
//!
//! It fails closed. Whatever keeps it from a verdict (a panic, bad JSON, an endless event, a broken settings
//! file, a record that cannot be written, its own deadline) is answered with a denial that says what to do.
//! What it cannot answer itself (it is missing, it is killed, a file system hangs in the kernel), the
//! registration answers: it asks the host to block when the hook fails.

#![expect(clippy::disallowed_methods, reason = "this is the process")]

use std::ffi::OsString;
use std::io::Write;
use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt;
use std::panic;
use std::process::{Command, ExitCode, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat, stat};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use toolgate_hosts::{HOSTS, host};
use toolgate_model::{Answer, Host, Phase, Reply};

use crate::failure::{DEADLINE, Failure, MAX_CALL, MAX_EVENT};
use crate::line::{self, NeedsSetup};
use crate::machine::{Machine, Setup, ThisMachine};
use crate::options::HookOptions;
use crate::process::words;
use crate::registered::look_after_answer;
use crate::sealing::start_if_due;
use crate::withheld::{self, Shortener};

/// After the deadline we are late in earnest.
const GRACE: Duration = Duration::from_secs(1);
/// Enough to print an answer.
const WATCH_STACK: usize = 128 * 1024;
/// Somebody has the right to answer: the call's own thread, or the one that refuses when it is late.
static ANSWERED: AtomicBool = AtomicBool::new(false);
/// Somebody prints an answer: nobody else does, two answers would be none.
static PRINTED: AtomicBool = AtomicBool::new(false);
/// The process that a call was handed over to; 0 where there is none.
static HANDED_TO: AtomicI32 = AtomicI32::new(0);
/// It is the call's own thread.
static OURS: AtomicBool = AtomicBool::new(false);
/// The line wants codes of our own.
static OWN_CODES: AtomicBool = AtomicBool::new(false);
/// What is then added to the code. No shell and no signal ends a program with what comes of it: a line that gets another code
/// has not been answered by us, and denies.
const OWN_CODE: u8 = 80;
/// What is said where the answer cannot be printed.
const UNHEARD: &str = "toolgate denied this: nobody can read its answer\n";
/// Who asked, and in which phase, where the line says so.
static ASKED_BY: OnceLock<(&'static dyn Host, Option<Phase>)> = OnceLock::new();
/// What came on stdin. Whoever has the last word makes an answer of it: what a tool gave back is shown unless there is something else in its place.
static EVENT: OnceLock<&'static [u8]> = OnceLock::new();
/// How a longer event begins, until all of it is there.
static BEGINNING: OnceLock<&'static [u8]> = OnceLock::new();
/// The name that the line gives it.
static NAMED: OnceLock<String> = OnceLock::new();
/// What a hook may take of the system: the largest event, what it is made into, and its answer. No analysis comes near it.
pub const MAX_MEMORY: usize = 256 * 1024 * 1024;
/// Most events fit into this.
const FIRST_READ: usize = 4 * 1024;
/// So much comes at a time where more does, from a pipe that is full.
const NEXT_READ: usize = 64 * 1024;

/// What follows `toolgate hook`, where this process was started as one and is not asked for help.
pub fn arguments() -> Option<impl Iterator<Item = OsString>> {
    let mut args = words().skip(1);
    let is_hook = args.next().is_some_and(|command| command == "hook");
    let asks_for_help = || words().skip(2).take(2).any(|arg| arg == "--help" || arg == "-h");
    (is_hook && !asks_for_help()).then_some(args)
}

/// Runs the hook. `args` is what follows `toolgate hook`; `setup` is what only the whole program can do.
pub fn run(args: impl Iterator<Item = OsString>, setup: Option<&'static dyn Setup>) -> ExitCode {
    let started = Instant::now();
    let args: Vec<OsString> = args.collect();
    let wants_own = args.windows(2).any(|pair| pair == ["--codes", "own"]);
    OWN_CODES.store(wants_own, Ordering::Release);
    let mut args = args.into_iter();
    let name = args.next().unwrap_or_default();
    let Some(host) = name.to_str().and_then(host) else {
        // Exit 2 blocks in every host whose hooks are commands.
        let known = HOSTS.iter().map(|host| host.id()).collect::<Vec<_>>().join(", ");
        let message =
            format!("toolgate hook: unknown host `{}`; known hosts: {known}", name.to_string_lossy());
        return print(&Reply::blocking(&message));
    };
    // What only tells must not stop the user's own words, whatever else is wrong with the line.
    let mut named = args.as_slice().iter().skip_while(|word| *word != "--event").skip(1);
    let named = named.next().and_then(|event| event.to_str()).map(str::to_owned);
    let phase = named.as_deref().map(|event| host.phase(event));
    if let Some(named) = &named {
        let _ = NAMED.set(named.clone());
    }
    refuse_on_panic(host, phase);
    // A write past the largest size of a file is then an error, which is answered, and no death without a word.
    toolgate_sandbox::outlive_file_limit();
    let machine = ThisMachine::new(setup).claiming_answers_by(claim_answer).for_one_call();
    let (reply, answered) = match HookOptions::parse(&machine, args) {
        Ok(options) => {
            if host.runs_what_is_late() {
                answer_for_us_when_late(host, options.event.clone());
            }
            let machine = machine.noting_in(&options.dirs.state);
            let (reply, event) = answer_stdin(&machine, host, &options, started);
            (reply, Some((machine, options, event)))
        }
        Err(failure) => (refuse_without_options(host, named.as_deref(), phase, &failure, started), None),
    };
    let code = print(&reply);
    if let Some((machine, options, event)) = answered
        && start_if_due(&options.dirs, setup.is_some()).is_some()
    {
        look_after_answer(&machine, host, &options, event);
    }
    code
}

/// Takes the right to answer for the call's own thread, unless the other one has it.
fn claim_answer() -> bool {
    let ours = OURS.load(Ordering::Acquire) || !ANSWERED.swap(true, Ordering::AcqRel);
    OURS.store(ours, Ordering::Release);
    ours
}

/// The last answer of this process, whatever it was about to say.
fn last_words(host: &dyn Host, phase: Option<Phase>, failure: &Failure) -> Reply {
    let event = EVENT.get().or(BEGINNING.get()).copied().unwrap_or_default();
    line::last_words(host, NAMED.get().map(String::as_str), phase, event, failure)
}

/// With `panic = "abort"` there is no unwinding to catch: the hook speaks before the process ends. It says nothing of
/// the panic itself, which may quote the input.
pub fn refuse_on_panic(host: &'static dyn Host, phase: Option<Phase>) {
    let _ = ASKED_BY.set((host, phase));
    panic::set_hook(Box::new(move |_| {
        if PRINTED.swap(true, Ordering::AcqRel) {
            return;
        }
        let code = say(&last_words(host, phase, &Failure::Panic));
        #[expect(clippy::exit, reason = "the answer is out, and nothing may follow it")]
        std::process::exit(code.into());
    }));
}

/// The last words of a hook that has no memory left: a denial in the host's form, or exit 2, which blocks in every host whose
/// hooks are commands. For the allocator, which has set some memory aside for it. Says nothing once somebody has answered.
pub fn refuse_without_memory() {
    if PRINTED.swap(true, Ordering::AcqRel) {
        return;
    }
    let code = match ASKED_BY.get() {
        Some((host, phase)) => say(&last_words(*host, *phase, &Failure::Memory)),
        None => say(&Reply::blocking("toolgate hook: there is no memory left")),
    };
    #[expect(clippy::exit, reason = "the answer is out, and nothing may follow it")]
    std::process::exit(code.into());
}

/// Refuses should we hang, in a file system that does not answer for one: this host would run the call. An answer that is
/// being recorded has a moment longer; then the call is refused whatever the log says.
fn answer_for_us_when_late(host: &'static dyn Host, event: Option<String>) {
    // Without a thread to be had there is nothing to be done about it; the host's own time-out is long.
    let _ = thread::Builder::new().stack_size(WATCH_STACK).spawn(move || {
        thread::sleep(DEADLINE + GRACE);
        if ANSWERED.swap(true, Ordering::AcqRel) {
            thread::sleep(GRACE);
        }
        if PRINTED.swap(true, Ordering::AcqRel) {
            // The answer is on its way out.
            return;
        }
        // Whoever judges it for us must not record that it was allowed.
        if let Some(child) = Pid::from_raw(HANDED_TO.load(Ordering::Acquire)) {
            let _ = kill_process(child, Signal::KILL);
        }
        let phase = event.as_deref().map(|event| host.phase(event));
        let code = say(&last_words(host, phase, &Failure::Deadline));
        #[expect(clippy::exit, reason = "the answer is out, and nothing may follow it")]
        std::process::exit(code.into());
    });
}

/// Prints the one answer of this process.
fn print(reply: &Reply) -> ExitCode {
    let is_theirs = !OURS.load(Ordering::Acquire) && ANSWERED.swap(true, Ordering::AcqRel);
    if is_theirs || PRINTED.swap(true, Ordering::AcqRel) {
        // The other thread ends the process.
        thread::sleep(GRACE + GRACE);
        return ExitCode::from(code_for_line(2));
    }
    ExitCode::from(say(reply))
}

/// Prints an answer, and gives the exit code that goes with it.
fn say(reply: &Reply) -> u8 {
    let out = reply.stdout.is_empty()
        || (!is_stdout_closed() && write_all(rustix::stdio::stdout(), reply.stdout.as_bytes()));
    // Some hosts take a code without a word for a hook that failed, and go on.
    let said = if out || !reply.stderr.is_empty() { reply.stderr.as_str() } else { UNHEARD };
    let err = said.is_empty() || write_all(rustix::stdio::stderr(), said.as_bytes());
    // A host that has stopped listening gets an exit code that blocks.
    code_for_line(if out && err { reply.code } else { 2 })
}

/// The code that the line takes for this one.
fn code_for_line(code: u8) -> u8 {
    if OWN_CODES.load(Ordering::Acquire) { code.saturating_add(OWN_CODE) } else { code }
}

/// Straight to the descriptor: the standard library passes over the error of one that is not open for writing, wants a buffer
/// and a lock, and this also runs where there is no memory left.
fn write_all(to: BorrowedFd<'_>, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(0) => return false,
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let wait = Timespec { tv_sec: 1, tv_nsec: 0 };
                if !matches!(poll(&mut [PollFd::new(&to, PollFlags::OUT)], Some(&wait)), Ok(1..)) {
                    return false;
                }
            }
            Err(_) => return false,
        }
    }
    true
}

/// Whether nobody reads what we print. The standard library opens `/dev/null` in place of a descriptor that was closed, for
/// reading and writing, and passes over the error of one that is closed later.
fn is_stdout_closed() -> bool {
    let stdout = rustix::stdio::stdout();
    let Ok(mode) = fcntl_getfl(stdout) else { return true };
    // A pipe, as hosts give one. What can only be read is as good as closed.
    let access = mode & OFlags::RWMODE;
    if access != OFlags::RDWR {
        return access != OFlags::WRONLY;
    }
    let Ok(out) = fstat(stdout) else { return true };
    let is_null =
        || stat("/dev/null").is_ok_and(|null| null.st_rdev == out.st_rdev && null.st_mode == out.st_mode);
    FileType::from_raw_mode(out.st_mode) == FileType::CharacterDevice && is_null()
}

/// Refuses where the line itself cannot be used. Which form a refusal takes depends on the event, so that is read all the same
/// where the line does not name it; and what a tool gave back is looked through where it can be.
fn refuse_without_options(
    host: &dyn Host,
    named: Option<&str>,
    phase: Option<Phase>,
    failure: &Failure,
    started: Instant,
) -> Reply {
    if phase.is_some_and(|phase| phase != Phase::After) {
        return line::refusal(host, phase, failure);
    }
    let mut event = Vec::new();
    let read = read_event(host, phase, started + DEADLINE, &mut event);
    let event = keep(event);
    line::refuse_unrecorded(host, named, event, read.err().as_ref().unwrap_or(failure))
}

/// The event, for as long as the process lives.
fn keep(event: Vec<u8>) -> &'static [u8] {
    let event: &'static [u8] = event.leak();
    let _ = EVENT.set(event);
    event
}

/// The answer, and the event that it is for.
fn answer_stdin(
    machine: &dyn Machine,
    host: &dyn Host,
    options: &HookOptions,
    started: Instant,
) -> (Reply, &'static [u8]) {
    let deadline = started + DEADLINE;
    let phase = options.event.as_deref().map(|event| host.phase(event));
    let mut event = Vec::new();
    let read = read_event(host, phase, deadline, &mut event);
    let event = keep(event);
    if let Err(failure) = read {
        return (line::refuse_unread(machine, host, options, event, &failure, deadline), event);
    }
    if is_stdout_closed() {
        let call = line::decode(machine, host, options, event).ok();
        // What only tells stops nobody.
        if call.as_ref().is_none_or(|call| call.phase.stops()) {
            let reply = line::refuse(machine, host, options, call.as_ref(), &Failure::Output, deadline);
            return (reply, event);
        }
    }
    let reply = match line::answer(machine, host, options, event, started) {
        Ok(reply) => reply,
        Err(NeedsSetup) => hand_over(machine, event).unwrap_or_else(|failure| {
            let call = line::decode(machine, host, options, event).ok();
            match call {
                Some(call) => line::refuse(machine, host, options, Some(&call), &failure, deadline),
                None => line::refuse_unread(machine, host, options, event, &failure, deadline),
            }
        }),
    };
    (reply, event)
}

/// Lets the whole binary answer: it can read TOML and the hosts' settings files, and has the time, since that
/// happens once after a change.
fn hand_over(machine: &dyn Machine, event: &[u8]) -> Result<Reply, Failure> {
    let whole = machine.program().ok_or(Failure::NeedsSetup)?.with_file_name("toolgate-cli");
    // By our own name: the session is pinned for the line that started it.
    let mut child = Command::new(whole)
        .arg0(machine.started_as())
        .args(words().skip(1))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|_| Failure::NeedsSetup)?;
    HANDED_TO.store(child.id().cast_signed(), Ordering::Release);
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(event).map_err(Failure::Input)?;
    }
    let output = child.wait_with_output().map_err(Failure::Input)?;
    HANDED_TO.store(0, Ordering::Release);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).map_err(|_| Failure::NeedsSetup);
    let code = output.status.code().and_then(|code| u8::try_from(code).ok()).ok_or(Failure::NeedsSetup)?;
    let code = if OWN_CODES.load(Ordering::Acquire) { code.checked_sub(OWN_CODE) } else { Some(code) };
    let Some(code @ (0 | 2)) = code else { return Err(Failure::NeedsSetup) };
    // It has recorded what it answered.
    Ok(Reply { stdout: text(output.stdout)?, stderr: text(output.stderr)?, code, answer: Answer::Silence })
}

/// Reads the event, but not for ever and not without bound. Straight from the descriptor: the standard
/// library's buffered stdin would be one more buffer to make.
///
/// What comes before a call is read as far as it is judged. The rest is passed over: a host that cannot say all it has to say may
/// take that for a failure of the hook. Of what comes later, and is long, the long texts are cut.
///
/// In `event` there is what came of it also where it fails.
fn read_event(
    host: &dyn Host,
    phase: Option<Phase>,
    deadline: Instant,
    event: &mut Vec<u8>,
) -> Result<(), Failure> {
    let mut is_call = false;
    let mut long: Option<(Shortener, Vec<u8>)> = None;
    let mut behind = 0;
    let stdin = rustix::stdio::stdin();
    *event = Vec::with_capacity(FIRST_READ);
    loop {
        let left = deadline.checked_duration_since(Instant::now()).ok_or(Failure::Silence)?;
        let wait = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&wait)) {
            Ok(0) => return Err(Failure::Silence),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(Failure::Input(error.into())),
        }
        let part = long.as_mut().map_or(&mut *event, |(_, part)| part);
        match rustix::io::read(stdin, spare_capacity(part)) {
            Ok(0) if is_call => return Err(Failure::TooLarge(MAX_CALL)),
            Ok(0) if long.as_ref().is_some_and(|(shortener, _)| shortener.is_over()) => {
                return Err(Failure::TooLarge(withheld::LONGEST));
            }
            Ok(0) => return Ok(()),
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(Failure::Input(error.into())),
        }
        if is_call {
            event.clear();
            continue;
        }
        if let Some((shortener, part)) = &mut long {
            shortener.push(part, event);
            behind += part.len();
            part.clear();
            // What is no long text has no end either, if it is no event.
            if shortener.is_over() && behind > MAX_EVENT {
                return Err(Failure::TooLarge(withheld::LONGEST));
            }
            continue;
        }
        if event.len() > MAX_CALL && is_before_call(host, phase, event) {
            is_call = true;
            *event = Vec::with_capacity(NEXT_READ);
            continue;
        }
        if event.len() >= withheld::LONGEST {
            event.reserve_exact(withheld::MOST_BEHIND + NEXT_READ);
            long = Some((Shortener::behind(event), Vec::with_capacity(NEXT_READ)));
        } else if event.len() == event.capacity() {
            if BEGINNING.get().is_none() {
                let _ = BEGINNING.set(event.clone().leak());
            }
            // No further than what is read at once: the last doubling would be the largest of all.
            event.reserve_exact(event.len().max(NEXT_READ).min(withheld::LONGEST - event.len()));
        }
    }
}

/// Whether an event says in its beginning that it comes before a call: hosts put its name before what is long. Any other one that
/// can be stopped is refused when it has been read.
fn is_before_call(host: &dyn Host, phase: Option<Phase>, event: &[u8]) -> bool {
    if let Some(phase) = phase {
        return phase.stops();
    }
    let start = String::from_utf8_lossy(event.get(..FIRST_READ).unwrap_or(event));
    let phases = || start.split('"').map(|word| host.phase(word));
    let is_later = |phase: Phase| !phase.stops() && phase != Phase::Other;
    phases().any(Phase::stops) && !phases().any(is_later)
}
