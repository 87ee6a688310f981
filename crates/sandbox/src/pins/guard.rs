//! Names that must not appear, looked after while a command runs.
//!
//! A name that does not exist cannot be mounted on, so the kernel lets a command make it. The kernel tells of everything that is made in
//! a directory, though, and what has a pinned name is moved away at once: within some microseconds, and not when the command has ended.
//! At level `full` the init process goes on with that as long as anything of the command is alive.
//!
//! The old way of watching directories is taken (`F_NOTIFY`): who ends with an inotify instance waits for the kernel to tidy up, some 16 ms
//! each time. It tells no name, so each name is looked at; there are few.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::{Directories, MOST_OPEN, Pin, State, move_away, names};
use crate::path::{kind_at, reach_directory};
use crate::sys;

/// A command that makes such names more often than this is ended.
const MOST_APPEARANCES: usize = 64;

/// A name that is looked after.
struct Awaited {
    /// Where it is looked for: the index of a directory that was there.
    from: usize,
    /// The way from there.
    way: Vec<OsString>,
    path: PathBuf,
}

/// What looks after names that are not there.
pub(crate) struct Guard {
    directories: Vec<OwnedFd>,
    /// Directories that were made since, on the way to a name. Held, since whoever is closed is not told of.
    made: Vec<(PathBuf, OwnedFd)>,
    awaited: Vec<Awaited>,
    quarantine: OwnedFd,
    appearances: usize,
    moved: BTreeSet<PathBuf>,
}

/// Whether a command may go on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    Left,
    Spent,
}

impl Guard {
    /// Looks after the pins that are not there. `None` where all of them are.
    pub(super) fn of(
        pins: &[Pin],
        directories: &mut Directories,
        quarantine: impl FnOnce() -> io::Result<OwnedFd>,
    ) -> io::Result<Option<Guard>> {
        let mut places: Vec<(PathBuf, OwnedFd)> = Vec::new();
        let mut awaited = Vec::new();
        for pin in pins.iter().filter(|pin| pin.before == State::Nothing) {
            // The directory of a name in it is the directory.
            let mut above = pin.path.ancestors().skip(1);
            let Some(above) = above.find(|above| directories.above(&above.join("x")).is_ok()) else {
                continue;
            };
            let Ok(handle) = directories.above(&above.join("x")) else { continue };
            let known = places.iter().position(|(place, _)| place == above);
            let from = match known {
                Some(known) => known,
                None if places.len() < MOST_OPEN => {
                    // Opened for itself: whoever closes a descriptor is told nothing by others of the same opening any more.
                    let Ok(handle) = reach_directory(handle, Path::new(".")) else { continue };
                    places.push((above.to_owned(), handle));
                    places.len() - 1
                }
                None => continue,
            };
            let way = names(pin.path.strip_prefix(above).unwrap_or(&pin.path)).collect();
            awaited.push(Awaited { from, way, path: pin.path.clone() });
        }
        if awaited.is_empty() {
            return Ok(None);
        }
        let directories = places.into_iter().map(|(_, handle)| handle).collect();
        let (made, moved) = (Vec::new(), BTreeSet::new());
        Ok(Some(Guard { directories, made, awaited, quarantine: quarantine()?, appearances: 0, moved }))
    }

    /// Has the kernel tell this process, by `SIGIO`, of what is made. Who does not hear of it finds it when the command has ended.
    pub(crate) fn arm(&mut self) {
        for directory in self.directories.iter().chain(self.made.iter().map(|(_, made)| made)) {
            let _ = sys::tell_of_new_names(directory);
        }
    }

    /// The descriptors that it needs.
    pub(crate) fn held(&self) -> impl Iterator<Item = &OwnedFd> {
        let made = self.made.iter().map(|(_, made)| made);
        self.directories.iter().chain(made).chain([&self.quarantine])
    }

    /// Moves away what has appeared.
    pub(crate) fn look(&mut self) -> Patience {
        for at in 0..self.awaited.len() {
            if self.look_for(at).unwrap_or(false) {
                self.appearances += 1;
            }
        }
        if self.appearances > MOST_APPEARANCES { Patience::Spent } else { Patience::Left }
    }

    /// Whether there was something to be moved away.
    fn look_for(&mut self, at: usize) -> io::Result<bool> {
        let Some(Awaited { from, way, path }) = self.awaited.get(at) else { return Ok(false) };
        let Some((last, above)) = way.split_last() else { return Ok(false) };
        let Some(top) = self.directories.get(*from) else { return Ok(false) };
        let mut place = path.ancestors().nth(way.len()).unwrap_or(path).to_owned();
        let mut below: Option<OwnedFd> = None;
        for name in above {
            let here = below.as_ref().unwrap_or(top);
            place.push(name);
            match kind_at(here, Path::new(name))? {
                Some(FileType::Directory) => {}
                Some(FileType::Symlink) => {
                    // It leads elsewhere, where a file of that name may wait.
                    move_away(here, name, &self.quarantine)?;
                    self.moved.insert(path.clone());
                    return Ok(true);
                }
                _ => return Ok(false),
            }
            if !self.made.iter().any(|(known, _)| *known == place) && self.made.len() < MOST_OPEN {
                let held = reach_directory(here, Path::new(name))?;
                // Before it is looked into: what is made from here on is told of.
                let _ = sys::tell_of_new_names(&held);
                self.made.push((place.clone(), held));
            }
            below = Some(reach_directory(here, Path::new(name))?);
        }
        let here = below.as_ref().unwrap_or(top);
        if kind_at(here, Path::new(last))?.is_none() {
            return Ok(false);
        }
        move_away(here, last, &self.quarantine)?;
        self.moved.insert(path.clone());
        Ok(true)
    }

    /// What was moved away.
    pub(crate) fn moved(self) -> BTreeSet<PathBuf> {
        self.moved
    }
}
