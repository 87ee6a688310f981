//! Watches names that must not appear, while a command runs.
//!
//! A name that does not exist cannot be mounted on, so the kernel lets a command make it. But the kernel reports everything that is made in
//! a directory, and toolgate moves a pinned name away at once: within some microseconds, not only when the command has ended.
//! At level `full` the init process continues as long as anything of the command is alive.
//!
//! It uses the old way of watching directories (`F_NOTIFY`): a process that ends with an inotify instance waits some 16 ms for the kernel
//! to tidy up. The old way reports no name, so each pinned name is checked; there are few.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, fstat, statat};
use rustix::io::Errno;

use super::{Directories, MOST_OPEN, Pin, State, move_away, names};
use crate::path::{kind_at, reach_directory};
use crate::sys;

/// A command that makes such names more often than this is ended.
const MOST_APPEARANCES: usize = 64;

/// A name that is looked after.
struct Awaited {
    /// Where it is looked for: the index of a directory that no command can replace.
    from: usize,
    /// The way from there.
    way: Vec<OsString>,
    path: PathBuf,
}

/// A directory on the way to a name. Held, since whoever is closed is not told of.
struct OnTheWay {
    place: PathBuf,
    /// Which directory it is: a command may put another one in its place.
    identity: (u64, u64),
    handle: OwnedFd,
}

/// What looks after names that are not there.
pub(crate) struct Guard {
    directories: Vec<OwnedFd>,
    on_the_way: Vec<OnTheWay>,
    awaited: Vec<Awaited>,
    quarantine: OwnedFd,
    appearances: usize,
    moved: BTreeSet<PathBuf>,
    /// Whether this process takes `SIGIO`.
    is_armed: bool,
}

/// Whether a command may go on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    Left,
    Spent,
}

impl Guard {
    /// Looks after the pins that are not there. `None` where all of them are. `is_writable`: whether a command may make names in a directory.
    pub(super) fn of(
        pins: &[Pin],
        directories: &mut Directories,
        is_writable: impl Fn(&Path) -> bool,
        quarantine: impl FnOnce() -> io::Result<OwnedFd>,
    ) -> io::Result<Option<Guard>> {
        let mut places: Vec<(PathBuf, OwnedFd)> = Vec::new();
        let mut awaited = Vec::new();
        for pin in pins.iter().filter(|pin| pin.before == State::Nothing) {
            // The directory of a name in it is the directory.
            let mut above = pin.path.ancestors().skip(1);
            let Some(mut above) = above.find(|above| directories.above(&above.join("x")).is_ok()) else {
                continue;
            };
            // From the top of what can be written: a directory below it can be exchanged for another one.
            while let Some(higher) = above.parent().filter(|higher| is_writable(higher)) {
                above = higher;
            }
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
        let (on_the_way, moved) = (Vec::new(), BTreeSet::new());
        let (quarantine, appearances, is_armed) = (quarantine()?, 0, false);
        Ok(Some(Guard { directories, on_the_way, awaited, quarantine, appearances, moved, is_armed }))
    }

    /// Has the kernel tell this process, by `SIGIO`, of what is made. Who does not hear of it finds it when the command has ended.
    /// What has appeared by now is moved away.
    pub(crate) fn arm(&mut self) {
        self.is_armed = true;
        for directory in self.directories.iter().chain(self.on_the_way.iter().map(|held| &held.handle)) {
            let _ = sys::tell_of_new_names(directory);
        }
        // Also holds what is on the way by now.
        self.look();
    }

    /// The descriptors that it needs.
    pub(crate) fn held(&self) -> impl Iterator<Item = &OwnedFd> {
        let on_the_way = self.on_the_way.iter().map(|held| &held.handle);
        self.directories.iter().chain(on_the_way).chain([&self.quarantine])
    }

    /// Moves away what has appeared.
    pub(crate) fn look(&mut self) -> Patience {
        // Most names begin alike (`.agent/settings.json`, `.agent/skills`), and nothing is there of the first part.
        let mut missing = None;
        for at in 0..self.awaited.len() {
            let first = self.first_of(at);
            if first.is_some() && first == missing.and_then(|at| self.first_of(at)) {
                continue;
            }
            if first.is_some_and(|first| self.is_missing(first)) {
                missing = Some(at);
            } else if self.look_for(at).unwrap_or(false) {
                self.appearances += 1;
            }
        }
        if self.appearances > MOST_APPEARANCES { Patience::Spent } else { Patience::Left }
    }

    /// The first part of a name, and the directory that it would be in.
    fn first_of(&self, at: usize) -> Option<(usize, &OsStr)> {
        let awaited = self.awaited.get(at)?;
        Some((awaited.from, awaited.way.first()?))
    }

    fn is_missing(&self, (from, name): (usize, &OsStr)) -> bool {
        let look = |directory| statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
        self.directories.get(from).map(look).is_some_and(|found| found.err() == Some(Errno::NOENT))
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
            if self.is_armed {
                hold(&mut self.on_the_way, &place, here, name)?;
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

/// Has the kernel tell of what is made in a directory on the way, before that is looked into. What is held of one that was there before goes.
fn hold(on_the_way: &mut Vec<OnTheWay>, place: &Path, above: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let found = statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let is_held = |held: &OnTheWay| held.place == place && held.identity == (found.st_dev, found.st_ino);
    if on_the_way.iter().any(is_held) {
        return Ok(());
    }
    // A handle of its own: whoever closes a descriptor is told nothing by others of the same opening any more.
    let handle = reach_directory(above, Path::new(name))?;
    let found = fstat(&handle)?;
    let _ = sys::tell_of_new_names(&handle);
    let held = OnTheWay { place: place.to_owned(), identity: (found.st_dev, found.st_ino), handle };
    on_the_way.retain(|held| held.place != place);
    if on_the_way.len() < MOST_OPEN {
        on_the_way.push(held);
    }
    Ok(())
}
