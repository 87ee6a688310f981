//! The directory in which a host starts its hooks, kept in reach of a host while a command and its background jobs live.
//!
//! Against whom: a contained program that moves, removes or closes that directory, or one above it. Most hosts run a call whose hook cannot be
//! started, so a later call would not be judged at all. A program may do so while other calls come: hosts run several at once, and let a long
//! command go on.
//!
//! The kernel tells of each change (`F_NOTIFY`, as in `pins/guard.rs`), and the directory is put back at once: within some microseconds. A program
//! that goes on is ended. What stands there as a directory stays, whoever made it: a hook can be started in it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, ResolveFlags, Stat, chmod, fstat, mkdirat, openat,
    openat2, renameat_with, statat,
};
use rustix::io::{Errno, Result};
use rustix::process::geteuid;

use crate::names::parts;
use crate::path::reach_directory;
use crate::pins::Patience;
use crate::sys;

/// A command that takes the directory away more often than this is ended.
const MOST_REPAIRS: usize = 64;
/// What is in the way is moved aside under the first free name of so many.
const MOST_ASIDE: usize = 1000;
/// A directory's owner may enter it.
const ENTER: u32 = 0o100;
/// A directory's owner may change it.
const CHANGE: u32 = 0o300;

/// Leaves the directory there that a host starts its hooks in, with its owner's way in, whatever a command has done to it. Best effort: where it
/// cannot be done, the host could not work there either.
///
/// No link is followed: a command may have put one there, and would have us make and open directories elsewhere.
pub fn keep_reachable(start: &Path) {
    if let Some(mut way) = Way::to(start) {
        way.look();
    }
}

/// The directories from the top of the file system to that of the host's hooks.
pub(crate) struct Way {
    top: OwnedFd,
    names: Vec<OsString>,
    /// As far as they are known.
    steps: Vec<Step>,
    repairs: usize,
    is_watched: bool,
}

struct Step {
    handle: OwnedFd,
    identity: (u64, u64),
}

impl Way {
    fn to(start: &Path) -> Option<Way> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let top = openat(CWD, "/", flags, Mode::empty()).ok().filter(|_| start.is_absolute())?;
        let names = parts(start).map(OsStr::to_owned).collect();
        Some(Way { top, names, steps: Vec::new(), repairs: 0, is_watched: false })
    }

    /// Has the kernel tell this process, by `SIGIO`, of what happens to them. What is gone by now is put back.
    pub(crate) fn watch(start: &Path) -> Option<Way> {
        let mut way = Way::to(start)?;
        way.is_watched = true;
        way.look();
        Some(way)
    }

    /// The descriptors that it needs.
    pub(crate) fn held(&self) -> impl Iterator<Item = &OwnedFd> {
        self.steps.iter().map(|step| &step.handle).chain([&self.top])
    }

    /// Puts back what is gone, moved or closed.
    pub(crate) fn look(&mut self) -> Patience {
        let mut known = std::mem::take(&mut self.steps).into_iter();
        for name in &self.names {
            let above = self.steps.last().map_or(&self.top, |step| &step.handle);
            let Ok((step, is_repaired)) = stand(above, name, known.next(), self.is_watched) else { break };
            self.repairs += usize::from(is_repaired);
            self.steps.push(step);
        }
        if self.repairs > MOST_REPAIRS { Patience::Spent } else { Patience::Left }
    }
}

/// Has a directory of this name stand there, open to its owner. Also says whether something had to be done for that.
fn stand(above: &OwnedFd, name: &OsStr, known: Option<Step>, is_watched: bool) -> Result<(Step, bool)> {
    let found = look_at(above, name)?;
    let known = match (known, &found) {
        (Some(known), Some(found)) if known.identity == identity(found) => {
            let is_opened = let_owner_enter(&known.handle)?;
            return Ok((known, is_opened));
        }
        (known, _) => known,
    };
    let is_there = found.as_ref().is_some_and(is_directory);
    if !is_there {
        let is_back = known.is_some_and(|known| put_back(above, name, &known, found.is_some()).is_ok());
        if !is_back {
            if found.is_some() {
                changing(above, || move_aside(above, name))?;
            }
            match changing(above, || mkdirat(above, name, Mode::from_raw_mode(0o777))) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
    }
    let (handle, is_opened) = open(above, name, is_watched)?;
    let identity = identity(&fstat(&handle)?);
    Ok((Step { handle, identity }, !is_there || is_opened))
}

fn look_at(above: &OwnedFd, name: &OsStr) -> Result<Option<Stat>> {
    match statat(above, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a directory on the way, and has the kernel tell of it where the command could change it: it is ours.
fn open(above: &OwnedFd, name: &OsStr, is_watched: bool) -> Result<(OwnedFd, bool)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = openat(above, name, flags, Mode::empty())?;
    let found = fstat(&place)?;
    let is_opened = let_owner_enter(&place)?;
    if !is_watched || found.st_uid != geteuid().as_raw() {
        return Ok((place, is_opened));
    }
    // A handle of its own, and one for reading: the kernel tells nothing of others. It stays where it is moved to.
    let Ok(handle) = reach_directory(&place, Path::new(".")) else { return Ok((place, is_opened)) };
    if found.st_mode & 0o700 != 0o700 {
        set_mode(&handle, found.st_mode | ENTER)?;
    }
    let _ = sys::tell_of_lost_names(&handle);
    Ok((handle, is_opened))
}

/// Whether it was closed. What belongs to somebody else stays as it is.
fn let_owner_enter(directory: &OwnedFd) -> Result<bool> {
    let found = fstat(directory)?;
    if found.st_mode & ENTER == ENTER || found.st_uid != geteuid().as_raw() {
        return Ok(false);
    }
    set_mode(directory, found.st_mode | ENTER)?;
    Ok(true)
}

fn set_mode(directory: &OwnedFd, mode: u32) -> Result<()> {
    // A handle for a place alone cannot be given to `fchmod`.
    chmod(by_handle(directory), Mode::from_raw_mode(mode & 0o7777))
}

fn by_handle(directory: &OwnedFd) -> PathBuf {
    format!("/proc/self/fd/{}", directory.as_raw_fd()).into()
}

/// Does something in a directory, also in one that its owner may not change just now.
fn changing<T>(directory: &OwnedFd, mut change: impl FnMut() -> Result<T>) -> Result<T> {
    match change() {
        Err(Errno::ACCESS) => {
            let mode = fstat(directory)?.st_mode;
            set_mode(directory, mode | CHANGE)?;
            let done = change();
            set_mode(directory, mode)?;
            done
        }
        done => done,
    }
}

/// Moves a directory back from wherever it is now. What has its name meanwhile takes its place there.
fn put_back(above: &OwnedFd, name: &OsStr, known: &Step, is_taken: bool) -> Result<()> {
    let place = fs::read_link(by_handle(&known.handle)).map_err(|_| Errno::NOENT)?;
    let (Some(from), Some(last)) = (place.parent(), place.file_name()) else { return Err(Errno::NOENT) };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let from = openat2(CWD, from, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    let is_it = look_at(&from, last)?.is_some_and(|found| identity(&found) == known.identity);
    if !is_it {
        return Err(Errno::NOENT);
    }
    let how = if is_taken { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
    changing(above, || changing(&from, || renameat_with(&from, last, above, name, how)))
}

/// Gives what stands in the way of a directory another name.
fn move_aside(above: &OwnedFd, name: &OsStr) -> Result<()> {
    for number in 1..MOST_ASIDE {
        let mut aside = name.to_owned();
        aside.push(format!(".{number}"));
        match renameat_with(above, name, above, &aside, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Err(Errno::EXIST)
}

fn is_directory(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Directory
}

fn identity(found: &Stat) -> (u64, u64) {
    (found.st_dev, found.st_ino)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn close(place: &Path, mode: u32) {
        fs::set_permissions(place, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn mode(place: &Path) -> u32 {
        fs::metadata(place).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_directory_that_was_moved_closed_or_exchanged_is_there_again() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let start = top.join("a/src");
        fs::create_dir_all(&start).unwrap();
        fs::rename(top.join("a"), top.join("b")).unwrap();
        keep_reachable(&start);
        assert!(start.is_dir());
        for closed in [start.as_path(), start.parent().unwrap()] {
            close(closed, 0o600);
            keep_reachable(&start);
            assert_eq!(mode(closed), 0o700, "{}", closed.display());
        }
        // A file in its place: no hook can be started in it.
        fs::remove_dir(&start).unwrap();
        fs::write(&start, "x").unwrap();
        close(&top.join("a"), 0o500);
        keep_reachable(&start);
        assert!(start.is_dir());
        assert_eq!(mode(&top.join("a")), 0o500, "what had to be opened is as before");
        assert_eq!(fs::read_to_string(top.join("a/src.1")).unwrap(), "x", "nothing is lost");
    }

    #[test]
    fn what_is_held_comes_back_with_what_is_in_it() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let start = top.join("a/src");
        fs::create_dir_all(&start).unwrap();
        fs::write(start.join("file"), "x").unwrap();
        let mut way = Way::to(&start).unwrap();
        way.look();
        let is_back = || fs::read_to_string(start.join("file")).is_ok_and(|text| text == "x");
        fs::rename(&start, top.join("a/lib")).unwrap();
        way.look();
        assert!(is_back() && !top.join("a/lib").exists());
        fs::rename(top.join("a"), top.join("c")).unwrap();
        symlink("c", top.join("a")).unwrap();
        way.look();
        assert!(is_back() && fs::symlink_metadata(top.join("a")).unwrap().is_dir());
        close(&top.join("a"), 0);
        way.look();
        assert!(is_back());
        // A directory is one to start hooks in, whichever.
        fs::rename(&start, top.join("a/old")).unwrap();
        fs::create_dir(&start).unwrap();
        way.look();
        assert!(start.is_dir() && top.join("a/old/file").exists());
        // What was deleted is made anew.
        fs::remove_dir_all(top.join("a")).unwrap();
        way.look();
        assert!(start.is_dir());
    }

    #[test]
    fn nothing_is_made_or_opened_behind_a_link() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let (elsewhere, closed) = (top.join("elsewhere"), top.join("elsewhere/closed"));
        fs::create_dir_all(&closed).unwrap();
        close(&closed, 0o600);
        symlink(&elsewhere, top.join("a")).unwrap();
        keep_reachable(&top.join("a/made"));
        keep_reachable(&top.join("a/closed"));
        assert!(!elsewhere.join("made").exists());
        assert_eq!(mode(&closed), 0o600);
    }

    #[test]
    fn whoever_takes_it_away_again_and_again_is_ended() {
        let top = tempfile::tempdir().unwrap();
        let start = top.path().canonicalize().unwrap().join("src");
        let mut way = Way::to(&start).unwrap();
        for _ in 0..MOST_REPAIRS {
            assert_eq!(way.look(), Patience::Left);
            fs::remove_dir(&start).unwrap();
        }
        assert_eq!(way.look(), Patience::Spent);
    }
}
