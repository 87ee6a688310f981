//! Running a command by a plan: the process that stays, and the ones that it makes.
//!
//! ```text
//! level landlock:  supervisor ── keeper ── command
//! level full:      supervisor ── init (pid 1 of its own processes) ── command
//! ```
//!
//! The supervisor is outside. It passes signals on, keeps the time, and looks after what has to be checked when the command
//! has ended. It ends as the command did. Background jobs may stay, still contained; keeper or init stays with them.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, chdir, getegid, geteuid, kill_process,
    set_parent_process_death_signal, setrlimit, waitpid,
};
use rustix::thread::set_no_new_privs;

use crate::alive::Alive;
use crate::compiled::CompiledPlan;
use crate::filter;
use crate::git::{self, Taken};
use crate::keeper::{NOT_ALONE, stay};
use crate::kernel::Kernel;
use crate::limits::{self, Limit, Meter};
use crate::observe::{self, Observer};
use crate::path::{is_below, make_own};
use crate::pins::{self, Disturbed, Guard, Patience, Pins};
use crate::plan::{Grant, Level, Network, Plan, Rights};
use crate::privileges::{drop_capabilities, map_ids};
use crate::processes::end_children;
use crate::rules::Rules;
use crate::sys::{self, Fork, Signals};
use crate::view::{self, Caches, Entered};

/// How a contained command has ended.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code, or the signal that ended it.
    pub status: Ended,
    /// The level that was enforced.
    pub level: Level,
    /// The limit by which it was ended by us.
    pub ended_by: Option<Limit>,
    /// What it has left in its repository, and what became of it.
    pub repository: Taken,
    /// Pins that were not as before.
    pub pins: Vec<Disturbed>,
}

/// How a process has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Ended {
    /// Ends this process by the same signal, where it was one. Otherwise, and should that fail, the exit code as a shell gives it.
    pub fn end_alike(self) -> u8 {
        let code = match self {
            Ended::Code(code) => code,
            Ended::Signal(signal) => {
                // One core dump is enough.
                let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
                sys::die_by(signal);
                128 + signal
            }
        };
        u8::try_from(code).unwrap_or(u8::MAX)
    }

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let (mark, number) = match self {
            Ended::Code(code) => (b'c', code),
            Ended::Signal(signal) => (b's', signal),
        };
        [&[mark], &number.to_ne_bytes()[..]].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Ended> {
        let number = i32::from_ne_bytes(bytes.get(1..5)?.try_into().ok()?);
        match bytes.first()? {
            b'c' => Some(Ended::Code(number)),
            _ => Some(Ended::Signal(number)),
        }
    }
}

/// Why a command was not run. Nothing of it has run then.
#[derive(Debug)]
pub enum Error {
    /// The kernel has no Landlock, or it is switched off.
    NoLandlock,
    /// The kernel gives this user no namespaces.
    NoNamespaces(io::Error),
    /// The plan cannot be enforced.
    Plan(String),
    /// A step of the set-up failed.
    Setup(String),
    /// The command could not be started: what the system says, with its number.
    Start(io::Error),
    /// Something of our own failed.
    Own(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoLandlock => f.write_str(
                "this kernel has no Landlock (Linux 5.13 or later, with `landlock` in its list of LSMs)",
            ),
            Error::NoNamespaces(error) => write!(f, "this kernel gives the user no namespaces ({error})"),
            Error::Plan(why) => f.write_str(why),
            Error::Setup(step) => write!(f, "the sandbox could not be set up: {step}"),
            Error::Start(error) => write!(f, "the command cannot be started: {error}"),
            Error::Own(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Own(error)
    }
}

impl From<Errno> for Error {
    fn from(error: Errno) -> Error {
        Error::Own(error.into())
    }
}

/// The variable that tells a contained command so, with the level. It proves nothing: anybody can set it.
pub const CONTAINED: &str = "TOOLGATE_CONTAINED";

/// What a person or a host may send to the command through us.
const PASSED_ON: [i32; 9] = [
    libc::SIGALRM,
    libc::SIGCONT,
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGWINCH,
];

/// Runs a command by a plan and waits for its end. This process must be the only thread of its program.
pub fn run(plan: &Plan, level: Level, kernel: &Kernel, command: &[OsString]) -> Result<Outcome, Error> {
    run_with(plan, level, *kernel, command, None)
}

/// The same, and tells of what the command tries. It is slower, and no less contained.
pub fn run_observed(
    plan: &Plan,
    level: Level,
    kernel: &Kernel,
    command: &[OsString],
    observer: &mut Observer<'_>,
) -> Result<Outcome, Error> {
    run_with(plan, level, *kernel, command, Some(observer))
}

fn run_with(
    plan: &Plan,
    level: Level,
    kernel: Kernel,
    command: &[OsString],
    observer: Option<&mut Observer<'_>>,
) -> Result<Outcome, Error> {
    if kernel.landlock == 0 {
        return Err(Error::NoLandlock);
    }
    refuse_directories()?;
    let mut plan = plan.clone();
    git::complete(&mut plan, level)?;
    if level == Level::Full {
        let there = plan.kept.iter().filter(|path| pins::is_plain(path));
        plan.grants.extend(there.map(|path| Grant::new(path, Rights::Read)));
    }
    if let Some(grant) = plan.grants.iter().find(|grant| !grant.path.is_absolute()) {
        return Err(Error::Plan(format!("{} is not an absolute path", grant.path.display())));
    }
    let plan = &CompiledPlan::of(plan);
    let caches = prepare(plan, level)?;
    let alive = plan.alive.as_ref().map(Alive::lock).transpose()?;
    let mut pins = Pins::look(plan, level)?;
    let guard = RefCell::new(pins.guard.take());
    let repository = plan.repository.as_ref();
    let repository = repository.map(|repository| git::Run::start(plan, repository, level)).transpose()?;
    let kept =
        Kept { repository: repository.as_ref(), alive: alive.as_ref(), guard: &guard, caches: &caches };
    let (ended, is_over) = supervise(plan, level, kernel, command, &kept, observer);
    // Also where the command could not be started: what earlier ones have left is taken over anyway.
    let moved = guard.take().map(Guard::moved).unwrap_or_default();
    let mut disturbed = pins.check(plan, moved);
    disturbed.retain(|disturbed| !git::is_ordinary(plan, disturbed));
    let taken = repository.map(|repository| repository.finish(is_over)).unwrap_or_default();
    Ok(Outcome { repository: taken, pins: disturbed, ..ended? })
}

/// What is looked after while a command runs, and by keeper or init once the supervisor has left.
struct Kept<'k> {
    repository: Option<&'k git::Run<'k>>,
    /// Locks that stay while anything of the command is alive.
    alive: Option<&'k OwnedFd>,
    /// What looks after names that must not appear.
    guard: &'k RefCell<Option<Guard>>,
    /// What lies over caches at level `full`.
    caches: &'k Caches,
}

/// Runs the command and waits for its end. Also says whether every process of it is gone.
fn supervise(
    plan: &CompiledPlan,
    level: Level,
    kernel: Kernel,
    command: &[OsString],
    kept: &Kept<'_>,
    mut observer: Option<&mut Observer<'_>>,
) -> (Result<Outcome, Error>, bool) {
    let mut is_over = true;
    let ended = (|| {
        let link = observer.as_deref_mut().map(Observer::start).transpose()?;
        let (mut watched, signals) = launch(plan, level, kernel, command, kept, link)?;
        let deadline = plan.limits.wall_time.map(|limit| Instant::now() + limit);
        let ended = watched.until_end(&signals, deadline, observer.as_deref_mut());
        // The keeper ends the command itself once we are gone, and stays with what is left.
        if ended.is_err() && watched.status.is_none() && level == Level::Full {
            let _ = kill_process(watched.child, Signal::KILL);
        }
        is_over = watched.is_over();
        kept.guard.replace(watched.guard.take());
        if let Some(observer) = observer {
            observer.leave();
        }
        ended
    })();
    (ended, is_over)
}

fn launch(
    plan: &CompiledPlan,
    level: Level,
    kernel: Kernel,
    command: &[OsString],
    kept: &Kept<'_>,
    link: Option<OwnedFd>,
) -> Result<(Watched, Signals), Error> {
    let sockets = if level == Level::Full { view::sockets(plan) } else { Vec::new() };
    let held: Vec<i32> = PASSED_ON.into_iter().chain([libc::SIGCHLD, libc::SIGIO]).collect();
    let signals = Signals::hold(&held)?;
    if let Some(guard) = kept.guard.borrow_mut().as_mut() {
        guard.arm();
    }
    let (told, tell) = pipe_with(PipeFlags::CLOEXEC)?;
    let (ordered, orders) = pipe_with(PipeFlags::CLOEXEC)?;
    let ids = (geteuid().as_raw(), getegid().as_raw());
    let (sockets, signals_of_command) = (&sockets, &signals);
    let launch = Launch {
        plan,
        level,
        kernel,
        command,
        signals: signals_of_command,
        ids,
        kept,
        sockets,
        link: link.as_ref(),
    };
    let child = match sys::fork(launch.namespaces()).map_err(|error| launch.cannot_fork(error))? {
        Fork::Child => {
            drop((told, orders));
            launch.in_child(&tell, &ordered)
        }
        Fork::Parent(child) => child,
    };
    drop((tell, ordered, link));
    let (told, orders) = (Some(told.into()), orders.into());
    let (guard, meter) = (kept.guard.take(), Meter::of(plan));
    let (text, status, ended_by) = (Vec::new(), None, None);
    let watched = Watched { child, level, told, text, orders, status, ended_by, guard, meter };
    Ok((watched, signals))
}

/// A directory as a stream leads out: what is below it can be looked at and changed by names relative to it, though not opened.
fn refuse_directories() -> Result<(), Error> {
    let (input, output, error) = (io::stdin(), io::stdout(), io::stderr());
    for stream in [input.as_fd(), output.as_fd(), error.as_fd()] {
        if fstat(stream).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory) {
            return Err(Error::Plan("an input or output of the command is a directory".to_owned()));
        }
    }
    Ok(())
}

/// Makes what the plan has of its own. Done outside, where our directories can be written.
fn prepare(plan: &CompiledPlan, level: Level) -> Result<Caches, Error> {
    if plan.rights_at(&plan.private) == Rights::Write {
        let told = format!("{} is ours, and may not lie in a writable place", plan.private.display());
        return Err(Error::Plan(told));
    }
    if let (Level::Landlock, Some((closed, writable))) = (level, plan.closed_in_writable()) {
        return Err(Error::Plan(format!(
            "level landlock cannot keep {} from being written, since {} may be; that needs level full",
            closed.display(),
            writable.display()
        )));
    }
    for made in &plan.made {
        // Follows no link at its end. What stands there already has rights by the plan.
        let _ = fs::create_dir(made);
    }
    let own_caches = plan.own_caches().filter(|_| level == Level::Landlock);
    for own in [plan.temporary()].into_iter().chain(own_caches) {
        if !fs::symlink_metadata(&own).is_ok_and(|found| found.is_dir()) {
            make_own(&own)?;
        }
    }
    Ok(if level == Level::Full { Caches::prepare(plan)? } else { Caches::default() })
}

struct Launch<'l> {
    plan: &'l CompiledPlan,
    level: Level,
    kernel: Kernel,
    command: &'l [OsString],
    signals: &'l Signals,
    /// The user and the group. In a new namespace they cannot be asked for.
    ids: (u32, u32),
    kept: &'l Kept<'l>,
    /// Sockets of others in places that may be read.
    sockets: &'l [PathBuf],
    /// Where the command's process hands over what tells of its calls, if somebody looks on.
    link: Option<&'l OwnedFd>,
}

/// Says which step failed, in the child.
struct Failed(String);

fn step<T, E: fmt::Display>(result: Result<T, E>, step: &str) -> Result<T, Failed> {
    result.map_err(|error| Failed(format!("{step}: {error}")))
}

impl Launch<'_> {
    fn namespaces(&self) -> u64 {
        let network = match self.plan.network {
            Network::None => libc::CLONE_NEWNET,
            Network::All => 0,
        };
        let all = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | network;
        if self.level == Level::Full { u64::from(all.cast_unsigned()) } else { 0 }
    }

    fn cannot_fork(&self, error: io::Error) -> Error {
        match self.level {
            Level::Full => Error::NoNamespaces(error),
            Level::Landlock => Error::Own(error),
        }
    }

    /// Never comes back: becomes the command, or ends.
    fn in_child(&self, tell: &OwnedFd, orders: &OwnedFd) -> ! {
        let gone = match self.level {
            Level::Landlock => self.keeper(tell, orders),
            Level::Full => self.init(tell, orders),
        };
        tell_and_end(&gone, tell)
    }

    /// Pid 1 of a view of its own.
    fn init(&self, tell: &OwnedFd, orders: &OwnedFd) -> Gone {
        let made = (|| -> Result<Pid, Gone> {
            step(set_parent_process_death_signal(Some(Signal::KILL)), "tying to the supervisor")?;
            step(map_ids(self.ids), "naming the user")?;
            if self.plan.network == Network::None {
                step(sys::start_loopback(), "starting the loopback")?;
            }
            let run = self.kept.repository.map(|repository| repository.directory.as_path());
            let entered = view::enter(self.plan, run, self.sockets, self.kept.caches).map_err(|failed| {
                if failed.is_kernels {
                    return Gone::NoNamespaces(failed.error);
                }
                Gone::Setup(Failed(format!("{}: {}", failed.step, failed.error)))
            })?;
            step(chdir(&self.plan.directory), "entering the directory")?;
            // Before the command's process is made, which then has none either.
            step(drop_capabilities(), "dropping capabilities")?;
            Ok(step(self.fork_command(Some(&entered), tell), "starting the command's process")?)
        })();
        match made {
            Err(gone) => gone,
            Ok(command) => {
                stay(command, self.signals, orders, tell, &self.held(), self.kept.guard.take());
                sys::exit_at_once(0)
            }
        }
    }

    /// Where there are no namespaces: whatever loses its parent becomes this process's child, so it knows what is left.
    fn keeper(&self, tell: &OwnedFd, orders: &OwnedFd) -> Gone {
        let made = (|| {
            let own = Some(rustix::process::getpid());
            step(rustix::process::set_child_subreaper(own), "keeping background jobs")?;
            let command = step(self.fork_command(None, tell), "starting the command's process")?;
            // Hosts end the process group of a call. A job that has left the group stays, so this process must.
            step(rustix::process::setsid(), "leaving the group")?;
            step(drop_capabilities(), "dropping capabilities")?;
            Ok(command)
        })();
        match made {
            Err(failed) => Gone::Setup(failed),
            Ok(command) => {
                stay(command, self.signals, orders, tell, &self.held(), self.kept.guard.take());
                sys::exit_at_once(0)
            }
        }
    }

    /// What stays open as long as anything of the command is alive.
    fn held(&self) -> Vec<&OwnedFd> {
        self.kept.repository.map(|repository| &repository.lock).into_iter().chain(self.kept.alive).collect()
    }

    fn fork_command(&self, view: Option<&Entered>, tell: &OwnedFd) -> io::Result<Pid> {
        if self.link.is_none() {
            return sys::fork_to_become(&mut || tell_and_end(&self.command_process(view), tell));
        }
        // Who is looked at waits for the supervisor at its next call. Init must not wait with it, or nobody could end them.
        match sys::fork(0)? {
            Fork::Child => tell_and_end(&self.command_process(view), tell),
            Fork::Parent(command) => Ok(command),
        }
    }

    /// Becomes the command, with nothing but what the plan gives.
    fn command_process(&self, view: Option<&Entered>) -> Gone {
        let made = (|| {
            let root = step(open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()), "opening the root")?;
            step(limits::set(&self.plan.limits), "setting limits")?;
            step(set_no_new_privs(true), "giving up new privileges")?;
            // At level `full` init has done this.
            if self.level == Level::Landlock {
                step(set_parent_process_death_signal(Some(Signal::KILL)), "tying to the supervisor")?;
                step(chdir(&self.plan.directory), "entering the directory")?;
                step(drop_capabilities(), "dropping capabilities")?;
            }
            step(sys::keep_streams_only(), "closing descriptors")?;
            let rules = step(Rules::new(self.kernel), "making rules")?;
            let rules = match view {
                None => self.rules_of_landlock(rules, root.as_fd()),
                Some(view) => self.rules_of_view(rules, root.as_fd(), view),
            };
            step(step(rules, "granting places")?.restrict_self(), "restricting")?;
            if self.kernel.landlock < 3 {
                step(sys::install(&filter::WITHOUT_TRUNCATE), "filtering system calls")?;
            }
            step(sys::install(self.filter()), "filtering system calls")?;
            // Last, since whoever has it waits at its next call until the supervisor answers.
            self.link.map_or(Ok(()), |link| step(observe::hand_over(link), "handing over the listener"))
        })();
        if let Err(failed) = made {
            return Gone::Setup(failed);
        }
        self.signals.release();
        Gone::Start(sys::become_program(self.command, &self.environment(view)))
    }

    fn filter(&self) -> &'static filter::Program {
        match (self.level, self.plan.network) {
            (Level::Full, Network::All) if !self.kernel.scopes => &filter::FULL_WITHOUT_UNIX,
            (Level::Full, Network::None) if !self.kernel.scopes => &filter::FULL_WITHOUT_SCOPES,
            (Level::Full, _) => &filter::FULL,
            (Level::Landlock, Network::All) => &filter::LANDLOCK_ALL,
            (Level::Landlock, Network::None) => &filter::LANDLOCK_NONE,
        }
    }

    fn rules_of_landlock(&self, rules: Rules, root: std::os::fd::BorrowedFd<'_>) -> io::Result<Rules> {
        let (plan, writes) = (self.plan, rules.writes());
        let mut rules = rules.of_plan(root, plan)?;
        for own in [plan.temporary()].into_iter().chain(plan.own_caches()) {
            let place = crate::path::find(root, &own, plan)?.ok_or(io::ErrorKind::NotFound)?;
            rules = rules.allow(&place.handle, true, writes)?;
        }
        if let Some(repository) = self.kept.repository {
            let reads = rules.reads();
            let readable = repository.readable_parts().into_iter().map(|path| (path, reads));
            let writable = repository.writable_parts().into_iter().map(|path| (path, writes));
            for (path, rights) in readable.chain(writable) {
                if let Some(place) = crate::path::find(root, &path, plan)? {
                    rules = rules.allow(&place.handle, place.is_directory, rights)?;
                }
            }
        }
        rules.devices(root, plan)
    }

    /// The view holds nothing but what is granted. Landlock keeps what lies in it as it was mounted.
    fn rules_of_view(
        &self,
        mut rules: Rules,
        root: std::os::fd::BorrowedFd<'_>,
        view: &Entered,
    ) -> io::Result<Rules> {
        let plan = self.plan;
        let (reads, writes) = (rules.reads(), rules.writes());
        rules = rules.allow(&root.try_clone_to_owned()?, true, reads)?;
        let own = ["/tmp", "/var/tmp", "/dev/shm", view::NEW_CACHES].map(PathBuf::from);
        let granted = plan.grants.iter().filter(|grant| grant.rights == Rights::Write);
        let written = granted.map(|grant| &grant.path).chain(&plan.caches).chain(&own);
        // Where it lies in another place that is written, that is enough.
        let temporary = Some(&view.temporary).filter(|named| own.iter().all(|own| !named.starts_with(own)));
        let written = written.chain(temporary);
        let repository = plan.repository.iter().map(|repository| &repository.common);
        // Earlier commands may have made links in a new cache, which are not for us to follow.
        let is_in_new_cache = |path: &Path| view.new_caches.iter().any(|cache| is_below(path, cache));
        for path in written.chain(repository).filter(|path| !is_in_new_cache(path)) {
            if let Some(place) = crate::path::find(root, path, plan)? {
                rules = rules.allow(&place.handle, place.is_directory, writes)?;
            }
        }
        let terminals = fs::File::open("/dev/pts")?.into();
        rules = rules.terminals(&terminals)?;
        rules.devices(root, plan)
    }

    fn environment(&self, view: Option<&Entered>) -> Vec<(OsString, OsString)> {
        let temporary = view.map_or_else(|| self.plan.temporary(), |view| view.temporary.clone());
        let mut set: Vec<(OsString, OsString)> =
            vec![("TMPDIR".into(), temporary.into()), (CONTAINED.into(), self.level.word().into())];
        if let (Level::Landlock, Some(repository)) = (self.level, self.kept.repository) {
            let path =
                self.plan.environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
            let mut path_with_ours = repository.launcher().map(OsString::from).unwrap_or_default();
            path_with_ours.push(if path_with_ours.is_empty() { "" } else { ":" });
            path_with_ours.push(path.unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()));
            set.push(("PATH".into(), path_with_ours));
        }
        if let (Level::Landlock, Some(own)) = (self.level, self.plan.own_caches()) {
            let is_writable = |name: &OsString| {
                let mut named = self.plan.environment.iter().filter(|(other, _)| other == name);
                named.any(|(_, path)| self.plan.rights_at(Path::new(path)) == Rights::Write)
            };
            let closed = self.plan.cache_variables.iter().filter(|name| !is_writable(name));
            set.extend(closed.map(|name| (name.clone(), own.join(name).into())));
        }
        let kept = self.plan.environment.iter().filter(|(name, _)| set.iter().all(|(own, _)| own != name));
        kept.cloned().chain(set.clone()).collect()
    }
}

/// Why a child did not become the command.
enum Gone {
    Setup(Failed),
    /// The kernel has made namespaces, and does not let them be used.
    NoNamespaces(io::Error),
    Start(io::Error),
}

impl From<Failed> for Gone {
    fn from(failed: Failed) -> Gone {
        Gone::Setup(failed)
    }
}

/// Ends a child that did not become the command. It must not return into the program that it is a copy of, nor do what that does
/// at its end.
fn tell_and_end(gone: &Gone, tell: &OwnedFd) -> ! {
    let (mark, text) = match gone {
        Gone::Setup(Failed(text)) => (b'!', text.clone()),
        Gone::NoNamespaces(error) => (b'-', error.raw_os_error().unwrap_or(libc::EPERM).to_string()),
        Gone::Start(error) => (b'?', error.raw_os_error().unwrap_or(libc::EIO).to_string()),
    };
    let _ = rustix::io::write(tell, &[&[mark], text.as_bytes(), b"\n"].concat());
    sys::exit_at_once(125)
}

/// The process that was made, as the supervisor sees it.
struct Watched {
    child: Pid,
    level: Level,
    /// What the child says: nothing once it is the command, why it is not, or how the command ended.
    told: Option<fs::File>,
    text: Vec<u8>,
    /// Where init takes signals for the command.
    orders: fs::File,
    status: Option<WaitStatus>,
    ended_by: Option<Limit>,
    guard: Option<Guard>,
    meter: Option<Meter>,
}

impl Watched {
    fn until_end(
        &mut self,
        signals: &Signals,
        deadline: Option<Instant>,
        mut observer: Option<&mut Observer<'_>>,
    ) -> Result<Outcome, Error> {
        let mut looked = Instant::now();
        loop {
            if let Some(status) = self.ended()? {
                let (repository, pins) = (Taken::default(), Vec::new());
                let ended_by = self.ended_by;
                return Ok(Outcome { status, level: self.level, ended_by, repository, pins });
            }
            let left = deadline.filter(|_| self.ended_by.is_none());
            let left = left.map(|at| at.saturating_duration_since(Instant::now()));
            let next_look = self.meter.as_ref().filter(|_| self.ended_by.is_none()).map(|_| limits::INTERVAL);
            let left = left.into_iter().chain(next_look).min();
            let left = left.map(|left| Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(left.subsec_nanos()),
            });
            let mut polled = vec![PollFd::new(signals.descriptor(), PollFlags::IN)];
            polled.extend(self.told.iter().map(|told| PollFd::new(told, PollFlags::IN)));
            let listener = observer.as_deref().and_then(Observer::descriptor);
            let at = polled.len();
            polled.extend(listener.map(|listener| PollFd::from_borrowed_fd(listener, PollFlags::IN)));
            match poll(&mut polled, left.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let has_told =
                self.told.is_some() && polled.get(1).is_some_and(|told| !told.revents().is_empty());
            let ready = polled.get(at).map(PollFd::revents);
            drop(polled);
            // A command that is looked at is never quiet for long, so the time may be up without a pause.
            if deadline.is_some_and(|at| Instant::now() >= at) {
                self.end_by(Limit::WallTime);
            }
            if looked.elapsed() >= limits::INTERVAL {
                looked = Instant::now();
                if self.meter.as_mut().is_some_and(Meter::is_over) {
                    self.end_by(Limit::Disk);
                }
            }
            if let (Some(observer), Some(ready)) = (observer.as_deref_mut(), ready) {
                observer.serve(ready);
            }
            if has_told {
                self.listen();
            }
            while let Some(signal) = signals.next() {
                self.heed(&signal);
            }
        }
    }

    /// Ends the command, once.
    fn end_by(&mut self, limit: Limit) {
        if self.ended_by.is_none() {
            self.ended_by = Some(limit);
            self.end_all();
        }
    }

    /// Ends the command and all that it has started. At level `full` its processes end with init.
    fn end_all(&self) {
        match self.level {
            Level::Full => {
                let _ = kill_process(self.child, Signal::KILL);
            }
            Level::Landlock => end_children(self.child),
        }
    }

    /// Whether every process of the command is gone.
    fn is_over(&mut self) -> bool {
        let has_told = self.told.is_none() && matches!(self.text.first(), Some(b'c' | b's'));
        let is_left_behind = has_told && self.text.get(5) == Some(&NOT_ALONE);
        let is_ending = self.told.is_none() || self.level == Level::Full;
        // The next command uses the layers of caches again, so the mounts of this one are to be gone. Where there are none, a keeper that has told
        // has nothing left to do.
        let patience = match self.level {
            Level::Landlock if has_told => WaitOptions::NOHANG,
            Level::Landlock | Level::Full => WaitOptions::empty(),
        };
        if is_ending && !is_left_behind && self.status.is_none() {
            self.status = waitpid(Some(self.child), patience).ok().flatten().map(|(_, status)| status);
        }
        !is_left_behind
    }

    fn listen(&mut self) {
        let mut piece = [0; 4096];
        match self.told.as_mut().map(|told| told.read(&mut piece)) {
            Some(Ok(read)) if read > 0 => self.text.extend(piece.get(..read).unwrap_or_default()),
            _ => self.told = None,
        }
        // How the command ended is all that is ever said then.
        if matches!(self.text.first(), Some(b'c' | b's')) && self.text.get(5).is_some() {
            self.told = None;
        }
    }

    fn heed(&mut self, signal: &sys::Signal) {
        if signal.number == libc::SIGCHLD {
            if let Ok(Some((_, status))) = waitpid(Some(self.child), WaitOptions::NOHANG) {
                self.status = Some(status);
            }
        } else if signal.number == libc::SIGIO {
            if self.guard.as_mut().is_some_and(|guard| guard.look() == Patience::Spent) {
                self.end_by(Limit::Names);
            }
        } else if signal.from_process {
            // Sent to us, and meant for the command. What a terminal sends goes to its whole group anyway.
            let _ = self.orders.write_all(signal.number.to_ne_bytes().get(..1).unwrap_or_default());
        }
    }

    /// How the command has ended, if it has.
    fn ended(&self) -> Result<Option<Ended>, Error> {
        if self.told.is_some() {
            return Ok(None);
        }
        // A line. What init says behind it, how the process ended that said it, is no news.
        let line = || self.text.get(1..).unwrap_or_default().split(|byte| *byte == b'\n').next();
        let text = || String::from_utf8_lossy(line().unwrap_or_default()).into_owned();
        let error = || io::Error::from_raw_os_error(text().parse().unwrap_or(libc::EIO));
        match (self.text.first(), self.level) {
            (Some(b'!'), _) => Err(Error::Setup(text())),
            (Some(b'-'), _) => Err(Error::NoNamespaces(error())),
            (Some(b'?'), _) => Err(Error::Start(error())),
            (Some(_), _) => Ok(Ended::from_bytes(&self.text)),
            (None, _) if self.ended_by.is_some() => Ok(Some(Ended::Signal(libc::SIGKILL))),
            (None, Level::Landlock) => Err(Error::Setup("its keeper was ended".to_owned())),
            (None, Level::Full) => Err(Error::Setup("its init process was ended".to_owned())),
        }
    }
}

pub(crate) fn ended(status: WaitStatus) -> Ended {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ended::Code(code),
        (None, Some(signal)) => Ended::Signal(signal),
        (None, None) => Ended::Code(1),
    }
}
