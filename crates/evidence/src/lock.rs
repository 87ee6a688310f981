//! The lock of a file that several processes write, and that one of them may rename or remove meanwhile.
//!
//! Against whom: a process that hangs while it holds the lock. Whoever waits gives up at a deadline.

use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::LedgerError;

/// Takes the lock, trying until the deadline. An unlucky process must not wait for ever for one that hangs.
pub fn wait(
    path: &Path,
    deadline: Instant,
    mut try_lock: impl FnMut() -> Result<(), TryLockError>,
) -> Result<(), LedgerError> {
    // Others hold it for some 20 µs. Sleeping longer and longer keeps a crowd from burning the processor.
    let mut pause = Duration::from_micros(20);
    loop {
        match try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(LedgerError::about(path, error)),
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(LedgerError::Busy { path: path.to_path_buf() });
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(1));
    }
}

/// The open file's state, if it is still the one at this path. Another process may have renamed
/// it while we waited for the lock.
pub fn still_at(path: &Path, file: &File) -> Result<Option<Metadata>, LedgerError> {
    let opened = file.metadata().map_err(|error| LedgerError::about(path, error))?;
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LedgerError::about(path, error)),
    };
    if !there.is_file() {
        return Err(LedgerError::NotAFile { path: path.to_path_buf() });
    }
    let same = (opened.dev(), opened.ino()) == (there.dev(), there.ino());
    Ok(same.then_some(opened))
}
