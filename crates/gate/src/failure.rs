//! Why no verdict could be reached, and what to do about it. Every one of these is a denial.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use toolgate_evidence::LedgerError;
use toolgate_model::DecodeError;

use crate::settings::SettingsError;

/// From start to answer. The registration gives the host's time-out more than that.
pub const DEADLINE: Duration = Duration::from_secs(5);
/// A larger event is denied. Hosts send whole files in one event, but not files of this size.
pub const MAX_EVENT: usize = 32 * 1024 * 1024;

/// Why no verdict could be reached.
#[derive(Debug)]
pub enum Failure {
    /// The registered command line is wrong.
    Options(String),
    /// Neither `--home` nor `HOME`.
    NoHome,
    /// The event did not come.
    Silence,
    /// The event is too large.
    TooLarge,
    /// stdin failed.
    Input(io::Error),
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
            Failure::TooLarge => {
                write!(f, "the hook event is larger than {} MiB; split the call", MAX_EVENT / 1024 / 1024)
            }
            Failure::Input(error) => write!(f, "stdin cannot be read ({}); try again", error.kind()),
            Failure::Request => f.write_str(
                "the request is not `{\"id\", \"event\", \"payload\"}`; a person has to fix the program that asks",
            ),
            Failure::Decode(error) => {
                write!(f, "{error}; try the call in another form, or have a person run `toolgate doctor`")
            }
            Failure::Settings(error) => write!(f, "{error}; a person has to fix the settings"),
            Failure::Pin(path, error) if error.kind() == io::ErrorKind::InvalidFilename => write!(
                f,
                "the session cannot be noted in `{}`: the name of its directory, or of one beside it, is not UTF-8; a person has to \
                 rename it",
                path.display()
            ),
            Failure::Pin(path, error) => write!(
                f,
                "the session cannot be noted in `{}` ({}); a person has to make room or fix its permissions",
                path.display(),
                error.kind()
            ),
            Failure::Registry(what) => write!(f, "{what}; a person has to fix the registry of agents"),
            Failure::Launch(error) => write!(
                f,
                "the command cannot be sent into its sandbox ({error}); a person has to make room in toolgate's state directory or fix \
                 its permissions"
            ),
            Failure::Ledger(error) => write!(f, "{error}; a person has to make room or fix its permissions"),
            Failure::Deadline => write!(f, "it took more than {} s; try again", DEADLINE.as_secs()),
            Failure::NeedsSetup => {
                f.write_str("`toolgate-cli` cannot be started; install it beside `toolgate`")
            }
        }
    }
}

impl std::error::Error for Failure {}
