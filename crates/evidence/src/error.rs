//! Why the ledger could not be used, in words for the person who has to fix it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// `EMFILE` and `ENFILE`, of the process and of the machine.
const NO_DESCRIPTORS: i32 = 24;
const NO_FILES: i32 = 23;

/// Why the ledger could not be written or read.
#[derive(Debug)]
pub enum LedgerError {
    /// Others held the lock until the deadline.
    Busy {
        /// The ledger, or a tally.
        path: PathBuf,
    },
    /// The disk, the quota or the largest size of a file is used up.
    Full {
        /// What could not be written.
        path: PathBuf,
    },
    /// The system does not let us: permissions, or a file system that is read-only.
    Refused {
        /// What could not be used.
        path: PathBuf,
    },
    /// There is a link, a directory or a device where the ledger should be.
    NotAFile {
        /// Where.
        path: PathBuf,
    },
    /// An older file of the ledger holds no record, so that the chain cannot be continued from it.
    NoRecord {
        /// The older file.
        path: PathBuf,
    },
    /// A line is no record that this version can read.
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line's number in it; 0 where it was not counted.
        line: u64,
    },
    /// The system answered something else.
    Failed {
        /// What could not be used.
        path: PathBuf,
        /// Its answer.
        source: io::Error,
    },
}

impl LedgerError {
    /// The system's answer about this path.
    pub(crate) fn about(path: &Path, source: io::Error) -> LedgerError {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                LedgerError::Full { path }
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                LedgerError::Refused { path }
            }
            _ => LedgerError::Failed { path, source },
        }
    }
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LedgerError::Busy { path } => {
                write!(f, "`{}` was locked by others for too long", path.display())
            }
            LedgerError::Full { path } => write!(f, "no room is left to write `{}`", path.display()),
            LedgerError::Refused { path } => {
                write!(f, "the system does not let toolgate use `{}`", path.display())
            }
            LedgerError::NotAFile { path } => write!(f, "`{}` is not a regular file", path.display()),
            LedgerError::NoRecord { path } => write!(f, "`{}` holds no record", path.display()),
            LedgerError::Malformed { path, line } => {
                write!(f, "line {line} of `{}` is not a record", path.display())
            }
            LedgerError::Failed { path, source } => {
                write!(f, "cannot use `{}`: ", path.display())?;
                // The standard library has no kind for these.
                match source.raw_os_error() {
                    Some(NO_DESCRIPTORS | NO_FILES) => f.write_str("too many open files"),
                    _ => write!(f, "{}", source.kind()),
                }
            }
        }
    }
}

impl std::error::Error for LedgerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LedgerError::Failed { source, .. } => Some(source),
            _ => None,
        }
    }
}
