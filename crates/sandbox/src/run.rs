//! Running a command by a plan: the process that stays, and the ones that it makes.
//!
//! ```text
//! level landlock:  supervisor ── keeper ── command
//! level full:      supervisor ── init (pid 1 of its own processes) ── command
//! ```
//!
//! The supervisor is outside. It passes signals on, keeps the time, and looks after what has to be checked when the command
//! has ended. It ends as the command did. Background jobs may stay, still contained; keeper or init stays with them.

mod launch;
mod watched;

use std::cell::RefCell;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::os::fd::AsFd;

use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::alive::Alive;
use crate::compiled::CompiledPlan;
use crate::git::{self, Taken};
use crate::keeper::DONE;
use crate::kernel::Kernel;
use crate::limits::Limit;
use crate::observe::Observer;
use crate::path::make_own;
use crate::pins::{self, Disturbed, Guard, Pins, Tree};
use crate::plan::{Grant, Level, Plan, Rights};
use crate::sys;
use crate::view::Caches;

use launch::{Kept, supervise};
pub(crate) use watched::ended;

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
    let mut tree = Tree::look(&mut plan)?;
    if level == Level::Full {
        let there = plan.kept.iter().filter(|path| pins::is_plain(path));
        plan.grants.extend(there.map(|path| Grant::new(path, Rights::Read)));
    }
    if let Some(grant) = plan.grants.iter().find(|grant| !grant.path.is_absolute()) {
        return Err(Error::Plan(format!("{} is not an absolute path", grant.path.display())));
    }
    let plan = &CompiledPlan::of(plan);
    let caches = prepare(plan, level)?;
    let left_before = tree.as_mut().map(|tree| tree.begin(plan)).unwrap_or_default();
    let alive = plan.alive.as_ref().map(Alive::lock).transpose()?;
    let mut pins = Pins::look(plan, level)?;
    let (guard, orders) = (RefCell::new(pins.guard.take()), RefCell::new(None));
    let repository = plan.repository.as_ref();
    let repository = repository.map(|repository| git::Run::start(plan, repository, level)).transpose()?;
    let kept = Kept {
        repository: repository.as_ref(),
        alive: alive.as_ref(),
        guard: &guard,
        caches: &caches,
        pins: &pins,
        orders: &orders,
    };
    let (ended, left) = supervise(plan, level, kernel, command, &kept, observer);
    // Also where the command could not be started: what earlier ones have left is taken over anyway.
    let moved = guard.take().map(Guard::moved).unwrap_or_default();
    let mut disturbed = pins.check(plan, moved);
    if let Some(mut orders) = orders.take() {
        let _ = orders.write_all(&[DONE]);
    }
    disturbed.retain(|disturbed| !git::is_ordinary(plan, disturbed));
    disturbed.extend(left_before);
    disturbed.extend(tree.map(|tree| tree.finish(plan, left.is_over)).unwrap_or_default());
    let taken = repository.map(|repository| repository.finish(left.is_over)).unwrap_or_default();
    Ok(Outcome { repository: taken, pins: disturbed, ..ended? })
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
