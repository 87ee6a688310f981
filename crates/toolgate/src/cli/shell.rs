//! `toolgate shell`: a host's shell, its output without secrets. See `launch.rs` of the gate for the line that leads here.
//!
//! This process is the one that the host has started and waits for. It ends with the shell, as the shell ended, once all
//! that was written by then is passed on. Background jobs may go on writing: their pipe goes to a process that stays as
//! long as they do.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, IsTerminal, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};

use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::fstat;
use rustix::io::{Errno, FdFlags, fcntl_setfd, ioctl_fionread};
use rustix::process::{Resource, Rlimit, Signal, getpid, kill_process, setrlimit};
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use toolgate_gate::disk::Disk;
use toolgate_gate::launch::Launch;
use toolgate_gate::redaction::{Marker, marks, rules};
use toolgate_secrets::Stream;

use super::scrub::{Patience, soon};
use crate::launcher::{Launched, Listener, MOST_PRINTED};

/// What a shell or its jobs send to their whole process group. They are the shell's to obey.
const FOR_THE_SHELL: [i32; 7] = [SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];
/// The most that is taken at once: what a pipe holds.
const PIECE: usize = 64 * 1024;

/// Run a shell's command as its hook decided: in a sandbox, its output without secrets
#[derive(Debug, Args)]
pub(super) struct Shell {
    /// The file that says what was decided
    #[arg(long, value_name = "FILE")]
    call: PathBuf,
    /// The shell's process, where it does not say what it runs
    #[arg(long, value_name = "PID")]
    process: Option<OsString>,
    /// Leave the output as it is: the process that reads it is told of the end by the first pipe, and says by the second what it has read
    #[arg(long, value_names = ["PIPE", "PIPE"], num_args = 2)]
    heard_by: Vec<PathBuf>,
    /// Pass stdin on: what the file said, for background jobs of a command that has ended
    #[arg(long, value_name = "JSON", value_parser = launch)]
    passing: Option<Launch>,
    /// The shell, the name that it was started by, its options, and its text
    #[arg(last = true, num_args = 4)]
    run: Vec<OsString>,
}

fn launch(json: &str) -> Result<Launch, serde_json::Error> {
    serde_json::from_str(json)
}

impl Shell {
    pub(super) fn run(self) -> Result<ExitCode, String> {
        let text = |error: io::Error| error.to_string();
        if let Some(launch) = &self.passing {
            let passed = || outlive_signals().and_then(|()| self.redacting(launch, pass_stdin_on));
            return passed().map(|()| ExitCode::SUCCESS).map_err(text);
        }
        let words: Vec<OsString> = match &self.process {
            Some(process) => vec!["--process".into(), process.clone()],
            None => [OsString::from("--")].into_iter().chain(self.run.iter().cloned()).collect(),
        };
        let launched = Launched::new(self.call.clone(), &words)?;
        let launch = launched.launch.clone();
        // Behind a pipe a program that talks to a terminal would talk otherwise. What it prints is looked through when it has ended.
        let is_terminal = io::stdout().is_terminal();
        if launch.contained.is_some() {
            match self.heard_by.as_slice() {
                [ended, heard] => {
                    let reader = Listener { ended: ended.clone(), heard: heard.clone() };
                    return Ok(launched.contain_for(reader));
                }
                _ if launch.redaction.is_none() || is_terminal => return Ok(launched.contain()),
                _ => {}
            }
        }
        let mut supervisor = None;
        let mut command = if launch.contained.is_some() {
            let mut command = Command::new(std::env::current_exe().map_err(text)?);
            command.args(["shell", "--call"]).arg(&self.call);
            supervisor = Some(Supervisor::told_by(&mut command).map_err(text)?);
            command.args(words);
            command
        } else {
            let shell = launched.run;
            let mut command = Command::new(&shell.program);
            command.arg0(&shell.name).args(shell.is_login.then_some("-l")).arg("-c").arg(&shell.text);
            command
        };
        if is_terminal {
            return Err(text(command.exec()));
        }
        let status = self.redacting(&launch, |stream| {
            let (status, left) = watch(command, supervisor, stream)?;
            for source in left {
                // Should that fail, the jobs hear of it when they write. It is not the shell's fault.
                let _ = source.leave_behind(&self.call, &launch);
            }
            Ok(status)
        });
        let status = status.map_err(text)?;
        Ok(end_like(status.code(), status.signal()))
    }

    /// Does something with streams that take out what a launch says.
    fn redacting<T>(
        &self,
        launch: &Launch,
        pass_on: impl for<'r> FnOnce(&dyn Fn() -> Stream<'r>) -> io::Result<T>,
    ) -> io::Result<T> {
        let disk = Disk::default();
        let wanted = launch.redaction.clone().unwrap_or_default();
        let state = self.call.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
        let (rules, marker) = (rules(&wanted), Marker::new(&disk, state, Some(&launch.caller.session)));
        let end = |secret: &[u8]| marker.end(secret);
        pass_on(&|| Stream::new(&rules, marks(&wanted, &end)))
    }
}

/// Runs the shell, and passes on what it writes until it ends. What is left are pipes that background jobs hold.
fn watch<'r>(
    mut command: Command,
    supervisor: Option<Supervisor>,
    stream: &dyn Fn() -> Stream<'r>,
) -> io::Result<(ExitStatus, Vec<Source<'r>>)> {
    let (pipe, writer) = io::pipe()?;
    let mut sources = vec![Source::new(pipe, stream(), Sink::Out)];
    if is_one()? {
        command.stderr(writer.try_clone()?);
    } else {
        let (pipe, writer) = io::pipe()?;
        command.stderr(writer);
        sources.push(Source::new(pipe, stream(), Sink::Err));
    }
    command.stdout(writer);
    outlive_signals()?;
    let child = command.spawn()?;
    // It holds our own ends of the pipes: with them open, nothing would end.
    drop(command);
    let mut asks = supervisor.map(Supervisor::started);
    let (ended, shell) = wait_aside(child)?;
    let mut end = EndOfOutput::default();
    while !sources.is_empty() {
        let ready = pass_on_ready(&mut sources, &ended, asks.as_ref(), &mut end)?;
        if ready.ended {
            break;
        }
        if let Some(asks) = asks.take_if(|_| ready.asked) {
            pass_on_written(&mut sources, &mut end)?;
            asks.answer(&end);
        }
        for Source { stream, sink, .. } in sources.extract_if(.., |source| !source.open) {
            let _ = sink.end(stream);
        }
    }
    // Where nobody listens to us any more, nobody will answer it.
    drop(asks);
    let status = shell.join().map_err(|_| io::Error::other("the shell is lost"))??;
    pass_on_written(&mut sources, &mut end)?;
    Ok((status, sources))
}

/// Passes on what is written by now. What background jobs write from now on is not waited for.
fn pass_on_written(sources: &mut [Source<'_>], end: &mut EndOfOutput) -> io::Result<()> {
    for source in sources {
        let mut written = usize::try_from(ioctl_fionread(&source.pipe)?).unwrap_or(usize::MAX);
        while written > 0 && source.open {
            written -= source.pass_on(written, end);
        }
    }
    Ok(())
}

/// The last that was printed, as it was printed: where failures stand.
#[derive(Default)]
struct EndOfOutput(Vec<u8>);

impl EndOfOutput {
    fn add(&mut self, piece: &[u8]) {
        self.0.extend_from_slice(piece);
        // Not at each piece: what is cut off is moved.
        if self.0.len() > 2 * MOST_PRINTED {
            self.0.drain(..self.0.len() - MOST_PRINTED);
        }
    }

    fn bytes(&self) -> &[u8] {
        self.0.get(self.0.len().saturating_sub(MOST_PRINTED)..).unwrap_or_default()
    }
}

/// The process that supervises a contained command, and cannot see what that prints: it asks when the command has ended.
struct Supervisor {
    ours: Asks,
    its_own: (PipeWriter, PipeReader),
}

impl Supervisor {
    /// Tells it on its command line by which pipes it asks.
    fn told_by(command: &mut Command) -> io::Result<Supervisor> {
        let ((ended, ended_writer), (heard_reader, heard)) = (io::pipe()?, io::pipe()?);
        command.arg("--heard-by");
        for given in [ended_writer.as_fd(), heard_reader.as_fd()] {
            fcntl_setfd(given, FdFlags::empty())?;
            command.arg(format!("/proc/self/fd/{}", given.as_raw_fd()));
        }
        Ok(Supervisor { ours: Asks { ended, heard }, its_own: (ended_writer, heard_reader) })
    }

    /// It has its own ends now.
    fn started(self) -> Asks {
        drop(self.its_own);
        self.ours
    }
}

/// Our ends of the pipes to a supervisor.
struct Asks {
    ended: PipeReader,
    heard: PipeWriter,
}

impl Asks {
    fn answer(mut self, end: &EndOfOutput) {
        // Best effort: without it, the model reads what the program itself said.
        let _ = self.heard.write_all(end.bytes());
    }
}

/// Whoever ends the process group ends those who write, and we end with them, but not before. A shell that we start has
/// these signals as we had them: a handler does not outlast a start, and what is ignored stays so.
fn outlive_signals() -> io::Result<()> {
    let noted = Arc::new(AtomicBool::new(false));
    let ignored = ignored_signals();
    for signal in FOR_THE_SHELL.into_iter().filter(|signal| (ignored >> (signal - 1)) & 1 == 0) {
        signal_hook::flag::register(signal, Arc::clone(&noted))?;
    }
    Ok(())
}

/// The signals that are ignored, a bit each, where the system tells.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// What has come besides output.
struct Ready {
    /// The shell has ended.
    ended: bool,
    /// The supervisor asks what was printed.
    asked: bool,
}

/// Waits until something has come or the shell has ended, and passes on what has come.
fn pass_on_ready(
    sources: &mut [Source<'_>],
    ended: &PipeReader,
    asks: Option<&Asks>,
    end: &mut EndOfOutput,
) -> io::Result<Ready> {
    let patience = sources.iter_mut().filter_map(Source::patience).min_by_key(|left| left.tv_nsec);
    let pipes = [ended].into_iter().chain(sources.iter().map(|source| &source.pipe));
    let pipes = pipes.chain(asks.map(|asks| &asks.ended));
    let mut polled: Vec<PollFd<'_>> = pipes.map(|pipe| PollFd::new(pipe, PollFlags::IN)).collect();
    match poll(&mut polled, patience.as_ref()) {
        Ok(0) => {
            drop(polled);
            for source in sources {
                source.pause();
            }
            return Ok(Ready { ended: false, asked: false });
        }
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(Ready { ended: false, asked: false }),
        Err(error) => return Err(error.into()),
    }
    let mut ready = polled.iter().map(|polled| !polled.revents().is_empty()).collect::<Vec<_>>().into_iter();
    let ended = ready.next() == Some(true);
    for source in sources {
        if ready.next() == Some(true) {
            source.pass_on(PIECE, end);
        }
    }
    Ok(Ready { ended, asked: ready.next() == Some(true) })
}

/// Whether both outputs lead to the same file. Then they share a pipe, and what is written stays in its order.
fn is_one() -> io::Result<bool> {
    let (out, err) = (fstat(io::stdout())?, fstat(io::stderr())?);
    Ok((out.st_dev, out.st_ino) == (err.st_dev, err.st_ino))
}

/// Waits for the shell in a thread; the pipe can be read from when it has ended.
fn wait_aside(mut child: Child) -> io::Result<(PipeReader, JoinHandle<io::Result<ExitStatus>>)> {
    let (ended, writer) = io::pipe()?;
    let waiter = thread::Builder::new().spawn(move || {
        let status = child.wait();
        drop(writer);
        status
    })?;
    Ok((ended, waiter))
}

/// What the shell writes, and where it goes.
struct Source<'r> {
    pipe: PipeReader,
    stream: Stream<'r>,
    sink: Sink,
    /// Somebody may still write to it, and somebody reads what is passed on.
    open: bool,
    /// Of what waits in a line that has not ended.
    patience: Patience,
    /// What waits may become a secret, and has to wait for more.
    held: bool,
}

impl<'r> Source<'r> {
    fn new(pipe: PipeReader, stream: Stream<'r>, sink: Sink) -> Source<'r> {
        Source { pipe, stream, sink, open: true, patience: Patience::default(), held: false }
    }
}

impl Source<'_> {
    /// How long it may be waited for more of it; `None` where nothing waits that could be passed on.
    fn patience(&mut self) -> Option<Timespec> {
        self.patience.left(self.stream.is_waiting() && !self.held)
    }

    /// Passes on what can be said of a line that has not ended, if it has waited for long enough.
    fn pause(&mut self) {
        if self.patience().is_some_and(|left| left.tv_nsec == 0) {
            let mut said = Vec::new();
            self.stream.pause(&mut said);
            self.held = true;
            self.open &= self.sink.say(&said).is_ok();
        }
    }

    /// Reads once, so many bytes at most, and passes on what can be said by now. How many were read.
    fn pass_on(&mut self, most: usize, end: &mut EndOfOutput) -> usize {
        let mut piece = vec![0; most.min(PIECE)];
        let read = match self.pipe.read(&mut piece) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return 0,
            read => read.unwrap_or(0),
        };
        piece.truncate(read);
        end.add(&piece);
        let mut said = Vec::new();
        self.stream.push(&piece, &mut said);
        self.held = false;
        self.patience.heard(!said.is_empty());
        // Nobody listens: then whoever writes has to hear of it.
        self.open = read > 0 && self.sink.say(&said).is_ok();
        read
    }

    /// Passes on what was held back, and leaves the pipe to another process if anybody can still write to it.
    fn leave_behind(self, call: &Path, launch: &Launch) -> io::Result<()> {
        let Source { pipe, stream, sink, open, .. } = self;
        let said = sink.end(stream);
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut polled = [PollFd::new(&pipe, PollFlags::IN)];
        let looked = poll(&mut polled, Some(&now));
        let [polled] = polled;
        if !open || said.is_err() || (looked.is_ok() && polled.revents() == PollFlags::HUP) {
            return Ok(());
        }
        Command::new(std::env::current_exe()?)
            .args(["shell", "--call"])
            .arg(call)
            .arg("--passing")
            .arg(serde_json::to_string(launch)?)
            .stdin(pipe)
            .stdout(sink.descriptor()?)
            .stderr(Stdio::null())
            .spawn()?;
        Ok(())
    }
}

/// One of our own outputs.
#[derive(Clone, Copy)]
enum Sink {
    Out,
    Err,
}

impl Sink {
    fn say(self, text: &[u8]) -> io::Result<()> {
        fn all(mut to: impl Write, text: &[u8]) -> io::Result<()> {
            to.write_all(text)?;
            to.flush()
        }
        match self {
            Sink::Out => all(io::stdout(), text),
            Sink::Err => all(io::stderr(), text),
        }
    }

    /// Says what was held back.
    fn end(self, stream: Stream<'_>) -> io::Result<()> {
        let mut said = Vec::new();
        stream.finish(&mut said);
        self.say(&said)
    }

    fn descriptor(self) -> io::Result<OwnedFd> {
        match self {
            Sink::Out => io::stdout().as_fd().try_clone_to_owned(),
            Sink::Err => io::stderr().as_fd().try_clone_to_owned(),
        }
    }
}

/// Passes stdin on until its end, for background jobs.
fn pass_stdin_on<'r>(stream: &dyn Fn() -> Stream<'r>) -> io::Result<()> {
    let mut stream = stream();
    let (mut stdin, mut piece) = (io::stdin(), vec![0; PIECE]);
    let (mut patience, mut held) = (Patience::default(), false);
    loop {
        if !soon(&stdin, patience.left(stream.is_waiting() && !held)) {
            let mut said = Vec::new();
            stream.pause(&mut said);
            held = true;
            Sink::Out.say(&said)?;
            continue;
        }
        let read = match stdin.read(&mut piece) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            return Sink::Out.end(stream);
        }
        let mut said = Vec::new();
        stream.push(piece.get(..read).unwrap_or_default(), &mut said);
        held = false;
        patience.heard(!said.is_empty());
        Sink::Out.say(&said)?;
    }
}

/// Ends as what was run has: by the same signal, if it was one.
pub(crate) fn end_like(code: Option<i32>, signal: Option<i32>) -> ExitCode {
    let code = match (code, signal) {
        (Some(code), _) => code,
        (None, Some(signal)) => {
            // One core dump is enough.
            let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
            if signal == SIGKILL {
                let _ = kill_process(getpid(), Signal::KILL);
            }
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            128 + signal
        }
        (None, None) => 1,
    };
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}
