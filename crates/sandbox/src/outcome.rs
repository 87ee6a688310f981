//! What a caller learns about a contained command when it has ended, or why it was not run. The words are the same on every system.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::plan::Level;
use crate::signals;

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
    /// Whether all of its processes have ended, jobs in the background too.
    pub is_over: bool,
}

/// How a process has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "asked while a sandbox of Linux is set up"))]
impl Ended {
    /// Ends this process by the same signal, where it was one. Otherwise, and should that fail, the exit code as a shell gives it.
    pub fn end_alike(self) -> u8 {
        let code = match self {
            Ended::Code(code) => code,
            Ended::Signal(signal) => {
                // One core dump is enough.
                let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
                signals::die_by(signal);
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

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Ended> {
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
            Error::NoNamespaces(error) => {
                write!(f, "this kernel does not let the user make namespaces ({error})")
            }
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

/// Which limit has ended a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// It ran too long.
    WallTime,
    /// It wrote too much.
    Disk,
    /// It had too many processes. The kernel itself keeps this limit for all users but root.
    Processes,
    /// It made a name that must not appear, again and again.
    Names,
}

/// Something that a contained command tried. Whether it was refused is not known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attempt {
    /// To read, list or run what is at a path.
    Read(PathBuf),
    /// To write a file, which may have to be made for it.
    Write(PathBuf),
    /// To make something where nothing may be yet.
    Make(PathBuf),
    /// To rename, remove or cut what is there.
    Change(PathBuf),
    /// To change the mode or the owner of what is there.
    Attributes(PathBuf),
    /// To connect, or to send something.
    Connect(SocketAddr),
}

/// What a command has left in its repository, and what became of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    /// How many new objects are in the repository now, packs apart.
    pub objects: usize,
    /// How many new packs.
    pub packs: usize,
    /// Branches that have a new value, are new, or are gone.
    pub branches: Vec<Moved>,
    /// What was not taken over.
    pub refused: Vec<Refused>,
    /// How many more things were not taken over, past a bound.
    pub more_refused: usize,
}

/// A branch that a command has moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Its name, without `refs/heads/`.
    pub name: String,
    /// The id that it had; `None`: it is new.
    pub from: Option<String>,
    /// The id that it has; `None`: it was deleted.
    pub to: Option<String>,
}

/// Something that was not taken over, or was put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// What it is: a path in the repository.
    pub what: String,
    /// Why.
    pub why: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was not taken over: {}", self.what, self.why)
    }
}

/// A pin that was not as before when the command had ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disturbed {
    /// The path.
    pub path: PathBuf,
    /// What became of it.
    pub outcome: Repair,
}

/// What became of a pin that was disturbed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// It had changed or was gone, and is as before.
    PutBack,
    /// It was not there before. What had appeared is in quarantine.
    MovedAway,
    /// It was another file with the same content, or had got a second name. It is a file of its own again.
    Renewed,
    /// It is too large to be compared or cannot be read, so it may have changed.
    Unknown,
    /// A tree with more directories than are looked after.
    TooMany,
    /// It has changed and could not be put back.
    Failed(String),
}

impl fmt::Display for Disturbed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names are the command's: they may not draw on a terminal, nor begin a line.
        let path = self.path.to_string_lossy();
        let path: String = path.chars().filter(|character| !character.is_control()).collect();
        match &self.outcome {
            Repair::PutBack => write!(f, "{path} must not change; it was put back"),
            Repair::MovedAway => write!(f, "{path} may not be created; toolgate moved it away"),
            Repair::Renewed => write!(f, "{path} must not be replaced; it was written anew"),
            Repair::Unknown => {
                write!(f, "{path} must not change, and is too large or too closed to be compared")
            }
            Repair::TooMany => write!(
                f,
                "{path} has too many directories; toolgate does not watch agent settings in all of them"
            ),
            Repair::Failed(why) => write!(f, "{path} has changed and cannot be put back: {why}"),
        }
    }
}
