//! When the ledger is to be sealed next: one file whose time of change says when that was begun last.
//!
//! Promise: a look costs one system call, and it is all that a call pays for sealing. Where the file is not there, sealing was
//! never begun here, and nothing is due.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// So long records may wait for a seal while calls come.
pub const EVERY: Duration = Duration::from_mins(1);

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Nothing.
    Nothing,
    /// A seal.
    Seal,
    /// A seal, and the next key: a session has ended.
    SealAndNextKey,
}

fn path(state_dir: &Path) -> PathBuf {
    state_dir.join("tlog/due")
}

/// What is due at this time.
pub fn look(state_dir: &Path, now: SystemTime) -> Due {
    let Ok(begun) = fs::metadata(path(state_dir)).and_then(|found| found.modified()) else {
        return Due::Nothing;
    };
    match now.duration_since(begun) {
        _ if begun == SystemTime::UNIX_EPOCH => Due::SealAndNextKey,
        Ok(age) if age < EVERY => Due::Nothing,
        // Also where the clock was set back.
        _ => Due::Seal,
    }
}

/// Says that sealing begins now: nobody else has to.
pub fn begin(state_dir: &Path, now: SystemTime) -> io::Result<()> {
    set(state_dir, now)
}

/// Says that a seal and the next key are due. Nothing happens where sealing was never begun.
pub fn hurry(state_dir: &Path) {
    let _ = set(state_dir, SystemTime::UNIX_EPOCH);
}

/// Says that a seal is due: a file is full.
pub fn want(state_dir: &Path) {
    let _ = set(state_dir, SystemTime::UNIX_EPOCH + EVERY);
}

fn set(state_dir: &Path, time: SystemTime) -> io::Result<()> {
    OpenOptions::new().write(true).open(path(state_dir)).and_then(|file| file.set_modified(time))
}

/// Lets sealing begin, with the first seal in a minute. Nothing happens where it has begun.
pub fn enable(state_dir: &Path) -> io::Result<()> {
    let path = path(state_dir);
    let make =
        || -> io::Result<File> { OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) };
    let made = match make() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let dir = path.parent().unwrap_or(state_dir);
            fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
            make()
        }
        made => made,
    };
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_is_due_a_minute_after_the_last_one_began() {
        let temp = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        hurry(temp.path());
        want(temp.path());
        assert!(begin(temp.path(), now).is_err());
        assert_eq!(look(temp.path(), now + EVERY * 9), Due::Nothing, "sealing was never begun");
        enable(temp.path()).unwrap();
        assert_eq!(look(temp.path(), now), Due::Nothing);
        assert_eq!(look(temp.path(), now + EVERY * 2), Due::Seal);
        begin(temp.path(), now + EVERY * 2).unwrap();
        assert_eq!(look(temp.path(), now + EVERY * 2), Due::Nothing);
        assert_eq!(look(temp.path(), now - EVERY), Due::Seal, "the clock was set back");
        want(temp.path());
        assert_eq!(look(temp.path(), now), Due::Seal);
        hurry(temp.path());
        enable(temp.path()).unwrap();
        assert_eq!(look(temp.path(), now), Due::SealAndNextKey, "enabling it again changes nothing");
    }
}
