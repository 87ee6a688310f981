//! Watches names that must not appear, while a command runs.
//!
//! A name that does not exist cannot be mounted on, so the kernel lets a command make it. But the kernel reports everything that is made in
//! a directory, and toolgate moves a pinned name away at once: within some microseconds, not only when the command has ended.
//! At level `full` the init process continues as long as anything of the command is alive.
//!
//! It uses the old way of watching directories (`F_NOTIFY`): a process that ends with an inotify instance waits some 16 ms for the kernel
//! to tidy up. The old way reports no name, so each pinned name is checked; there are few.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{AtFlags, CWD, FileType, fstat, fstatfs, statat};
use rustix::io::Errno;

use super::{Directories, MOST_OPEN, Pin, State, move_away, names};
use crate::path::{Stamp, kind_at, reach_directory};
use crate::sys;

/// A command that makes such names more often than this is ended.
const MOST_APPEARANCES: usize = 64;

/// A name that is looked after.
struct Awaited {
    /// Where it is looked for: the index of a directory that no command can replace.
    from: usize,
    /// Whether the first part of the way was missing there, and the directory still says so while it is as it was.
    is_quiet: bool,
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

/// Which pins are missing, since directories that no command can replace have no entry for the first part of the way to them.
///
/// The kernel stamps a directory with each entry that is made in it, and no program can set that stamp. So one look at the directory says of all of
/// them that they are still missing.
#[derive(Default)]
pub(super) struct Quiet {
    directories: Vec<(PathBuf, Stamp)>,
    /// By the number of the pin.
    pins: BTreeMap<usize, usize>,
}

impl Quiet {
    /// The pins that are missing still, by their numbers.
    pub(super) fn missing(&self) -> BTreeSet<usize> {
        let is_as_before = |(path, stamp): &(PathBuf, Stamp)| Stamp::at(CWD, path) == Some(*stamp);
        let as_before: Vec<bool> = self.directories.iter().map(is_as_before).collect();
        let missing = self.pins.iter().filter(|(_, at)| as_before.get(**at) == Some(&true));
        missing.map(|(pin, _)| *pin).collect()
    }
}

/// What looks after names that are not there.
pub(crate) struct Guard {
    directories: Vec<OwnedFd>,
    /// What each of them was before the pins were looked at, where it was not changed a moment ago.
    stamps: Vec<Option<Stamp>>,
    on_the_way: Vec<OnTheWay>,
    awaited: Vec<Awaited>,
    quarantine: OwnedFd,
    appearances: usize,
    moved: BTreeSet<PathBuf>,
    /// Whether this process takes `SIGIO`.
    is_armed: bool,
}

/// Whether this kernel stamps what is in a directory, with its own clock: another machine's may be slow, or coarse.
fn is_local(directory: &OwnedFd) -> bool {
    /// ext4, btrfs, XFS, F2FS, tmpfs.
    const STAMPED_HERE: [u64; 5] = [0xef53, 0x9123_683e, 0x5846_5342, 0xf2f5_2010, 0x0102_1994];
    fstatfs(directory)
        .is_ok_and(|found| u64::try_from(found.f_type).is_ok_and(|kind| STAMPED_HERE.contains(&kind)))
}

/// Whether a command may go on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    Left,
    Spent,
}

impl Guard {
    /// Looks after the pins that are not there. `None` where all of them are. `is_writable`: whether a command may make names in a directory.
    /// `begun`: when somebody began to look at the pins.
    pub(super) fn of(
        pins: &[Pin],
        directories: &mut Directories,
        begun: SystemTime,
        is_writable: impl Fn(&Path) -> bool,
        quarantine: impl FnOnce() -> io::Result<OwnedFd>,
    ) -> io::Result<(Option<Guard>, Quiet)> {
        let mut places: Vec<(PathBuf, OwnedFd, Option<Stamp>)> = Vec::new();
        let mut awaited = Vec::new();
        let mut quiet = BTreeMap::new();
        for (number, pin) in pins.iter().enumerate().filter(|(_, pin)| pin.before == State::Nothing) {
            // The directory of a name in it is the directory.
            let mut above = pin.path.ancestors().skip(1);
            let Some(mut above) = above.find(|above| directories.above(&above.join("x")).is_ok()) else {
                continue;
            };
            // From the top of what can be written: a directory below it can be exchanged for another one.
            let nearest = above;
            while let Some(higher) = above.parent().filter(|higher| is_writable(higher)) {
                above = higher;
            }
            let Ok(handle) = directories.above(&above.join("x")) else { continue };
            let known = places.iter().position(|(place, ..)| place == above);
            let from = match known {
                Some(known) => known,
                None if places.len() < MOST_OPEN => {
                    // Opened for itself: whoever closes a descriptor is told nothing by others of the same opening any more.
                    let Ok(handle) = reach_directory(handle, Path::new(".")) else { continue };
                    let stamp = is_local(&handle).then(|| Stamp::at(&handle, Path::new("."))).flatten();
                    places.push((above.to_owned(), handle, stamp.and_then(|stamp| stamp.settled_by(begun))));
                    places.len() - 1
                }
                None => continue,
            };
            let way = names(pin.path.strip_prefix(above).unwrap_or(&pin.path)).collect();
            let is_quiet = nearest == above && places.get(from).is_some_and(|(.., stamp)| stamp.is_some());
            if is_quiet {
                quiet.insert(number, from);
            }
            awaited.push(Awaited { from, is_quiet, way, path: pin.path.clone() });
        }
        if awaited.is_empty() {
            return Ok((None, Quiet::default()));
        }
        let stamped = places.iter().map(|(path, _, stamp)| (path.clone(), stamp.unwrap_or_default()));
        let quiet = Quiet { directories: stamped.collect(), pins: quiet };
        let stamps = places.iter().map(|(.., stamp)| *stamp).collect();
        let directories = places.into_iter().map(|(_, handle, _)| handle).collect();
        let (on_the_way, moved) = (Vec::new(), BTreeSet::new());
        let (quarantine, appearances, is_armed) = (quarantine()?, 0, false);
        let guard =
            Guard { directories, stamps, on_the_way, awaited, quarantine, appearances, moved, is_armed };
        Ok((Some(guard), quiet))
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
        let stamped = self.directories.iter().zip(&self.stamps);
        let as_before: Vec<bool> = stamped
            .map(|(directory, stamp)| stamp.is_some() && Stamp::at(directory, Path::new(".")) == *stamp)
            .collect();
        for at in 0..self.awaited.len() {
            let is_missing =
                |awaited: &Awaited| awaited.is_quiet && as_before.get(awaited.from) == Some(&true);
            if self.awaited.get(at).is_some_and(is_missing) {
                continue;
            }
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
        let Some(Awaited { from, way, path, .. }) = self.awaited.get(at) else { return Ok(false) };
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
