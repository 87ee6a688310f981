//! Whether anything of a contained command is alive.
//!
//! All commands share one file, and each place that a command counts for is one byte of it ([`Alive`]). The supervisor holds shared locks on
//! these bytes. The process that stays with background jobs has the same descriptor, so the locks end with the last of them. No
//! contained process has it: none could give it up.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::sys;

/// What is locked while anything of a command is alive. The file is made where it is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alive {
    /// The file, out of reach of every contained command.
    pub file: PathBuf,
    /// The bytes of it that stand for the command, below 2⁶³. None of them is ever written.
    pub marks: Vec<u64>,
    /// Those of other commands that may write where this one does.
    pub others: Vec<u64>,
}

impl Alive {
    /// Locks the bytes, until the last copy of what comes back is closed.
    pub(crate) fn lock(&self) -> io::Result<OwnedFd> {
        let open = || {
            let mut options = fs::OpenOptions::new();
            options.create(true).truncate(false).read(true).write(true).mode(0o600).open(&self.file)
        };
        let file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let directory = self.file.parent().unwrap_or(Path::new("/"));
                fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
                open()?
            }
            opened => opened?,
        };
        let file = file.into();
        for mark in &self.marks {
            sys::lock_byte(&file, *mark)?;
        }
        Ok(file)
    }

    /// Whether a command is alive that may write where this one does.
    pub(crate) fn has_others(&self) -> bool {
        is_alive(&self.file, &self.others)
    }
}

/// Whether a command is alive that was run by a plan with this file and one of these marks in [`Alive`]. A file that cannot be looked at
/// says yes.
pub fn is_alive(file: &Path, marks: &[u64]) -> bool {
    let file: OwnedFd = match fs::File::open(file) {
        Ok(file) => file.into(),
        Err(error) => return !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    };
    marks.iter().any(|mark| sys::is_byte_locked(&file, *mark).unwrap_or(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_seen_by_others_as_long_as_anybody_has_the_descriptor() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("new/alive");
        assert!(!is_alive(&file, &[1, 2]));
        let alive = |marks: &[u64]| Alive { file: file.clone(), marks: marks.to_vec(), others: Vec::new() };
        let held = alive(&[1, 1 << 61]).lock().unwrap();
        let second = alive(&[1]).lock().unwrap();
        assert!(
            is_alive(&file, &[0, 1])
                && is_alive(&file, &[1 << 61])
                && !is_alive(&file, &[0, 2, (1 << 61) + 1])
        );
        let copy = held.try_clone().unwrap();
        drop(held);
        assert!(is_alive(&file, &[1 << 61]));
        drop(copy);
        assert!(!is_alive(&file, &[1 << 61]) && is_alive(&file, &[1]));
        drop(second);
        assert!(!is_alive(&file, &[1]));
        // What cannot be asked says yes: here a directory where the file should be, locked by nobody, whose marks are out of range.
        assert!(is_alive(&file, &[u64::MAX]));
    }
}
