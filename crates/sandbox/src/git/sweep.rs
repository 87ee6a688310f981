//! A git directory that a command has written itself, made fit for git outside.
//!
//! Git outside writes through a link: one at `COMMIT_EDITMSG` would have the next commit overwrite the file that it names. And it acts by what files
//! say, which `believed.rs` judges. Against whom: a command that leaves both, and beside them something that stops whoever looks: a
//! directory that is closed, too deep or too full. So nothing ends the look. What cannot be looked at is moved away whole.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::FileType;

use super::believed::{self, Ground};
use super::{MOST_OWN, Taken};
use crate::path::{kind_at, kinds_in, reach_directory};
use crate::pins::move_away;

/// Deeper than git ever goes: references are the deepest, and their names have a bound.
const DEEPEST: usize = 64;

/// One look through a git directory.
pub(super) struct Sweep<'s> {
    pub(super) ground: &'s Ground<'s>,
    pub(super) quarantine: &'s OwnedFd,
    pub(super) taken: &'s mut Taken,
    /// What stands before a path where it is told.
    pub(super) shown: &'s Path,
    /// What of it is somebody else's to look at.
    pub(super) passes: &'s dyn Fn(&Path) -> bool,
}

/// How many entries can still be looked at.
struct Left(usize);

impl Sweep<'_> {
    /// Looks at everything in a git directory.
    pub(super) fn directory(mut self, top: &OwnedFd) {
        let here = Path::new("");
        match kinds_in(top, MOST_OWN) {
            Ok(kinds) => {
                let mut left = Left(MOST_OWN.saturating_sub(kinds.len()));
                for (name, kind) in kinds {
                    self.entry(top, (top, here), &name, kind, &mut left);
                }
            }
            Err(error) => {
                // Too many to look at all of them. What git itself knows is looked at.
                self.refuse(here, &error);
                for name in believed::known_names().map(OsStr::new) {
                    match kind_at(top, Path::new(name)) {
                        Ok(None) => {}
                        Ok(Some(kind)) => self.entry(top, (top, here), name, kind, &mut Left(MOST_OWN)),
                        Err(error) => self.refuse(Path::new(name), &error),
                    }
                }
            }
        }
    }

    /// The same for a part of a git directory, of which nothing is believed.
    pub(super) fn part(mut self, top: &OwnedFd, path: &Path) {
        let (above, name) = (path.parent().unwrap_or(Path::new("")), path.file_name().unwrap_or_default());
        let handle = reach_directory(top, if above == Path::new("") { Path::new(".") } else { above });
        match handle {
            Ok(handle) => match kind_at(&handle, Path::new(name)) {
                Ok(None) => {}
                Ok(Some(kind)) => self.entry(top, (&handle, above), name, kind, &mut Left(MOST_OWN)),
                Err(error) => self.refuse(path, &error),
            },
            Err(rustix::io::Errno::NOENT) => {}
            Err(error) => self.refuse(path, &error.into()),
        }
    }

    /// What is at a name stays, or is moved away.
    fn entry(
        &mut self,
        top: &OwnedFd,
        (above, here): (&OwnedFd, &Path),
        name: &OsStr,
        kind: FileType,
        left: &mut Left,
    ) {
        let path = here.join(name);
        if (self.passes)(&path) {
            return;
        }
        let looked = match kind {
            FileType::RegularFile => {
                believed::check_note(top, &path, self.ground, self.quarantine, self.taken)
            }
            FileType::Directory => self.below(top, above, &path, left),
            // The daemon that watches files for git listens there.
            FileType::Socket if name.as_encoded_bytes().starts_with(b"fsmonitor--daemon") => Ok(()),
            _ => Err(io::Error::other("git outside would write through it; it was moved away")),
        };
        let Err(error) = looked else { return };
        self.refuse(&path, &error);
        if let Err(error) = move_away(above, name, self.quarantine) {
            self.refuse(&path, &error);
        }
    }

    fn below(&mut self, top: &OwnedFd, above: &OwnedFd, path: &Path, left: &mut Left) -> io::Result<()> {
        if path.components().count() > DEEPEST {
            return Err(io::Error::other("it is too deep; it was moved away"));
        }
        let name = Path::new(path.file_name().unwrap_or_default());
        let handle = reach_directory(above, name)?;
        let kinds = kinds_in(&handle, left.0)?;
        left.0 = left.0.saturating_sub(kinds.len());
        for (name, kind) in kinds {
            self.entry(top, (&handle, path), &name, kind, left);
        }
        Ok(())
    }

    fn refuse(&mut self, path: &Path, why: &io::Error) {
        self.taken.refuse(&self.shown.join(path).to_string_lossy(), why);
    }
}
