//! Why no verdict could be reached, and what to do about it. Every one of these is a denial.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rustix::io::Errno;
use toolgate_evidence::LedgerError;
use toolgate_model::DecodeError;

use crate::settings::SettingsError;

/// From start to answer. The registration gives the host's time-out more than that.
pub const DEADLINE: Duration = Duration::from_secs(5);
/// From start to when nobody waits for the ledger any longer. Well before the deadline: who is denied for it should read that, and not that
/// it took too long.
pub const PATIENCE_WITH_LEDGER: Duration = Duration::from_secs(4);
/// A larger event is denied. Hosts send whole files in one event, but not files of this size.
pub const MAX_EVENT: usize = 32 * 1024 * 1024;
/// A larger event before a call is denied, so that whatever it holds is looked through in time: no model writes so much at once.
pub const MAX_CALL: usize = 4 * 1024 * 1024;

/// Why no verdict could be reached.
#[derive(Debug)]
pub enum Failure {
    /// The registered command line is wrong.
    Options(String),
    /// Neither `--home` nor `HOME`.
    NoHome,
    /// The event did not come.
    Silence,
    /// The event is larger than this.
    TooLarge(usize),
    /// stdin failed.
    Input(io::Error),
    /// stdout is closed: nobody would hear an answer.
    Output,
    /// The registered root is not a directory.
    Root(PathBuf),
    /// The directory in which the host starts its hooks is gone.
    Start(PathBuf),
    /// There is no memory left.
    Memory,
    /// A line for `toolgate serve` is no request.
    Request,
    /// The event cannot be read.
    Decode(DecodeError),
    /// The settings cannot be used.
    Settings(SettingsError),
    /// The session cannot be pinned.
    Pin(PathBuf, io::Error),
    /// The registry of agents cannot be read.
    Registry(String),
    /// A command cannot be sent into its sandbox.
    Launch(io::Error),
    /// The record cannot be written.
    Ledger(LedgerError),
    /// A part of toolgate failed in a way that nobody foresaw. What it says may quote the input.
    Panic,
    /// Took too long.
    Deadline,
    /// Only the whole program can do it, and this is the small one.
    NeedsSetup,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Options(what) => write!(f, "{what}; run `toolgate init` again"),
            Failure::NoHome => f.write_str("HOME is not set; register it with `toolgate init`"),
            Failure::Silence => {
                write!(f, "no whole hook event within {} s; is the host waiting?", DEADLINE.as_secs())
            }
            Failure::TooLarge(most) => {
                write!(f, "the hook event is larger than {} MiB; split the call", most / 1024 / 1024)
            }
            Failure::Input(error) => write!(f, "stdin cannot be read ({}); try again", error.kind()),
            Failure::Output => f.write_str(
                "its standard output is closed, so nobody can read an answer; have a person fix how the host starts its hooks",
            ),
            Failure::Root(root) => write!(
                f,
                "the registered root `{}` is not a directory; have a person make it, or run `toolgate init` again",
                root.display()
            ),
            Failure::Start(start) => write!(
                f,
                "the session's directory `{}` is gone, and the host starts its hooks there, so a later call might not be judged; have a \
                 person make it again, or start the session in another directory",
                start.display()
            ),
            Failure::Memory => f.write_str(
                "there is no memory left to judge it; split the call, or have a person raise the limit (`ulimit -v`)",
            ),
            Failure::Panic => f.write_str("toolgate failed internally; report the call that caused this"),
            Failure::Request => f.write_str(
                "the request is not `{\"id\", \"event\", \"payload\"}`; have a person fix the program that asks",
            ),
            Failure::Decode(error) => {
                write!(f, "{error}; try the call in another form, or have a person run `toolgate doctor`")
            }
            Failure::Settings(error) => write!(f, "{error}; have a person fix the settings"),
            Failure::Pin(path, error) if error.kind() == io::ErrorKind::InvalidFilename => write!(
                f,
                "the session cannot be noted in `{}`: the name of its directory, or of one beside it, is not UTF-8; have a person \
                 rename it",
                path.display()
            ),
            Failure::Pin(path, error) => write!(
                f,
                "the session cannot be noted in `{}` ({}); {}",
                path.display(),
                error.kind(),
                remedy(error)
            ),
            Failure::Registry(what) => write!(f, "{what}; have a person fix the registry of agents"),
            Failure::Launch(error) => write!(
                f,
                "the command cannot be sent into its sandbox, by way of toolgate's state directory ({error}); {}",
                remedy(error)
            ),
            Failure::Ledger(error) => write!(f, "{error}; {}", ledger_remedy(error)),
            Failure::Deadline => write!(f, "it took more than {} s; try again", DEADLINE.as_secs()),
            Failure::NeedsSetup => {
                f.write_str("`toolgate-cli` cannot be started; install it beside `toolgate`")
            }
        }
    }
}

impl Failure {
    /// What stands in the place of an output that could not be gone through because of this.
    pub fn of_output(&self) -> String {
        let why = match self {
            Failure::Memory => "there is no memory left to go through it".to_owned(),
            Failure::Deadline => {
                format!("going through it took more than {} s", DEADLINE.as_secs())
            }
            Failure::TooLarge(most) => {
                format!(
                    "it is larger than {} MiB, in more parts than can be gone through",
                    most / 1024 / 1024
                )
            }
            Failure::Silence => format!("it did not come within {} s", DEADLINE.as_secs()),
            Failure::Panic => "toolgate failed internally; report the call that caused this".to_owned(),
            Failure::Decode(error) => error.to_string(),
            failure => failure.to_string(),
        };
        format!("[toolgate withheld this output: {why}; send it to a file, and read that in parts]")
    }
}

impl std::error::Error for Failure {}

/// What a person can do about the system's answer.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "have a person make room",
        io::ErrorKind::FileTooLarge => "have a person raise the largest size of a file (`ulimit -f`)",
        io::ErrorKind::PermissionDenied => "have a person fix its permissions",
        io::ErrorKind::ReadOnlyFilesystem => "have a person make its file system writable",
        io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory | io::ErrorKind::NotFound => {
            "have a person restore what was there"
        }
        _ if is_out_of_descriptors(error) => "have a person let the host open more files (`ulimit -n`)",
        _ => "have a person find out what is wrong with it",
    }
}

/// The same for the ledger.
fn ledger_remedy(error: &LedgerError) -> &'static str {
    match error {
        LedgerError::Busy { .. } => {
            "try again; if that does not help, have a person end the process that holds its lock"
        }
        LedgerError::Full { .. } => {
            "have a person make room, or raise the largest size of a file (`ulimit -f`)"
        }
        LedgerError::Refused { .. } => "have a person fix its permissions",
        LedgerError::NotAFile { .. } | LedgerError::NoRecord { .. } | LedgerError::Malformed { .. } => {
            "have a person move it away"
        }
        LedgerError::Failed { source, .. } => remedy(source),
    }
}

/// `EMFILE` and `ENFILE`, for which the standard library has no kind.
fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error().map(Errno::from_raw_os_error), Some(Errno::MFILE | Errno::NFILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_is_wrong_and_not_what_is_not() {
        let told = |error: Errno| Failure::Pin("/s".into(), error.into()).to_string();
        for (error, remedy) in [
            (Errno::NOSPC, "make room"),
            (Errno::DQUOT, "make room"),
            (Errno::FBIG, "ulimit -f"),
            (Errno::ACCESS, "permissions"),
            (Errno::ROFS, "writable"),
            (Errno::MFILE, "ulimit -n"),
            (Errno::NFILE, "ulimit -n"),
            (Errno::NOTDIR, "restore"),
        ] {
            let told = told(error);
            assert!(told.contains(remedy), "{error}: {told}");
            assert_eq!(told.contains("room"), remedy == "make room", "{error}: {told}");
        }
        let busy = Failure::Ledger(LedgerError::Busy { path: "/s/ledger.jsonl".into() }).to_string();
        assert!(busy.contains("holds its lock") && !busy.contains("room"), "{busy}");
    }
}
