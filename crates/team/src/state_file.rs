//! Small files that are kept beside the ledger: read whole and within bounds, written by one process at a time.
//!
//! Against whom: an agent that puts a pipe, a link or a gigabyte where such a file should be. A pipe would hold the
//! hook up, a link would have us write into a file of its choice.

use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::OFlags;
use rustix::io::Errno;

use toolgate_evidence::{LedgerError, lock};

/// Why a file could not be used.
#[derive(Debug)]
pub enum FileError {
    /// Others held its lock until the deadline.
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// There is a link, a directory or a device where it should be.
    NotAFile {
        /// Where.
        path: PathBuf,
    },
    /// It is larger than such a file may be.
    TooLarge {
        /// The file.
        path: PathBuf,
        /// What it may have.
        bytes: usize,
    },
    /// A line has no meaning that we know.
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line's number.
        line: usize,
    },
    /// The system does not let us.
    Failed {
        /// What could not be used.
        path: PathBuf,
        /// Its answer.
        source: io::Error,
    },
}

impl FileError {
    /// The system's answer about this path.
    pub(crate) fn about(path: &Path, source: io::Error) -> FileError {
        let path = path.to_path_buf();
        let is_link = source.raw_os_error() == Some(Errno::LOOP.raw_os_error());
        if is_link || source.kind() == io::ErrorKind::IsADirectory {
            return FileError::NotAFile { path };
        }
        FileError::Failed { path, source }
    }
}

/// What the lock, which the ledger shares, has to say.
impl From<LedgerError> for FileError {
    fn from(error: LedgerError) -> FileError {
        match error {
            LedgerError::Busy { path } => FileError::Busy { path },
            LedgerError::NotAFile { path } => FileError::NotAFile { path },
            LedgerError::Full { path } => {
                FileError::Failed { path, source: io::ErrorKind::StorageFull.into() }
            }
            LedgerError::Refused { path } => {
                FileError::Failed { path, source: io::ErrorKind::PermissionDenied.into() }
            }
            LedgerError::NoRecord { path } | LedgerError::Malformed { path, .. } => {
                FileError::Failed { path, source: io::ErrorKind::InvalidData.into() }
            }
            LedgerError::Failed { path, source } => FileError::Failed { path, source },
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileError::Busy { path } => {
                write!(f, "`{}` was locked by others for too long; try again", path.display())
            }
            FileError::NotAFile { path } => write!(f, "`{}` is not a regular file", path.display()),
            FileError::TooLarge { path, bytes } => {
                write!(f, "`{}` would have more than {bytes} bytes", path.display())
            }
            FileError::Malformed { path, line } => {
                write!(f, "line {line} of `{}` cannot be read; fix it or remove it", path.display())
            }
            FileError::Failed { path, source } => {
                write!(f, "cannot use `{}`: {}", path.display(), source.kind())
            }
        }
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            FileError::Failed { source, .. } => Some(source),
            FileError::Busy { .. }
            | FileError::NotAFile { .. }
            | FileError::TooLarge { .. }
            | FileError::Malformed { .. } => None,
        }
    }
}

/// All of a regular file; `None` where there is none.
pub(crate) fn read_whole(path: &Path, limit: usize) -> Result<Option<Vec<u8>>, FileError> {
    match OpenOptions::new().read(true).custom_flags(flags(OFlags::empty())).open(path) {
        Ok(file) => read_open(path, &file, limit).map(Some),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(FileError::about(path, error)),
    }
}

/// All of an open file, from its current position on.
pub(crate) fn read_open(path: &Path, file: &File, limit: usize) -> Result<Vec<u8>, FileError> {
    let found = file.metadata().map_err(|error| FileError::about(path, error))?;
    if !found.is_file() {
        return Err(FileError::NotAFile { path: path.to_path_buf() });
    }
    let too_large = || FileError::TooLarge { path: path.to_path_buf(), bytes: limit };
    let length = usize::try_from(found.len()).ok().filter(|length| *length <= limit).ok_or_else(too_large)?;
    // One byte more, so that one read brings it all and the next one finds the end.
    let mut bytes = Vec::with_capacity(length + 1);
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(|error| FileError::about(path, error))?;
    if bytes.len() > limit { Err(too_large()) } else { Ok(bytes) }
}

/// Whose file is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Our own: nobody else reads it, and its directory is made with it.
    Ours,
    /// The team's: all may read it. Without the team's directory there is no team.
    Teams,
}

impl Whose {
    fn mode(self) -> u32 {
        match self {
            Whose::Ours => 0o600,
            Whose::Teams => 0o644,
        }
    }
}

/// How often a file may be found replaced before we give up.
pub(crate) const ATTEMPTS: usize = 32;

/// Opens a file for reading and appending, makes it where there is none, and holds its lock as long as it is open.
pub(crate) fn open_locked(path: &Path, whose: Whose, deadline: Instant) -> Result<File, FileError> {
    let mut options = OpenOptions::new();
    // A link is not followed: what we write goes into this file and no other.
    options.read(true).append(true).create(true).mode(whose.mode()).custom_flags(flags(OFlags::NOFOLLOW));
    for _ in 0..ATTEMPTS {
        let file = match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && whose == Whose::Ours => {
                make_dir(parent(path))?;
                options.open(path)
            }
            opened => opened,
        };
        let file = file.map_err(|error| FileError::about(path, error))?;
        lock::wait(path, deadline, || file.try_lock())?;
        if lock::still_at(path, &file)?.is_some() {
            return Ok(file);
        }
    }
    Err(FileError::Busy { path: path.to_path_buf() })
}

/// The directory that holds a file.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// Has a new name survive a loss of power.
pub(crate) fn sync_parent(path: &Path) -> Result<(), FileError> {
    let dir = parent(path);
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(|error| FileError::about(dir, error))
}

/// For us alone.
fn make_dir(dir: &Path) -> Result<(), FileError> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| FileError::about(dir, error))
}

/// A pipe without a writer must not hold us up.
fn flags(more: OFlags) -> i32 {
    (OFlags::NONBLOCK | OFlags::NOCTTY | more).bits().cast_signed()
}
