//! Takes a directory away with all that lies in it, and nothing else.
//!
//! Against whom: whoever puts a link into the directory, or exchanges a part of it for one, while it is being emptied.
//! Every name is taken away from a handle of its own directory, and a link is taken away as a link. Directories are moved
//! up to the first one before they are emptied, so that no depth of them needs more than two handles.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{self, AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

use crate::atomic::random_name;
use crate::beneath::DIRECTORY;
use crate::system::{open_beneath, open_up};

/// Somebody may put things into a directory that is being emptied. So often it is emptied again.
const ATTEMPTS: usize = 1000;

/// Removes the directory `name` of `parent`; nothing to do where there is none, or where another one is at it.
pub(crate) fn remove(parent: impl AsFd, name: &str) -> io::Result<()> {
    let parent = parent.as_fd();
    let top = match open(parent, name) {
        Err(Errno::NOENT) => return Ok(()),
        top => File::from(top?),
    };
    match top.try_lock() {
        Ok(()) => {}
        Err(std::fs::TryLockError::WouldBlock) => return Ok(()),
        Err(std::fs::TryLockError::Error(error)) => return Err(error),
    }
    for _ in 0..ATTEMPTS {
        while let Some(below) = first_directory(top.as_fd())? {
            empty_into(top.as_fd(), &below)?;
        }
        match fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY) => {}
            Err(Errno::NOENT) => break,
            removed => return Ok(removed?),
        }
    }
    match fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(()),
        _ => Err(Errno::NOTEMPTY.into()),
    }
}

/// Takes away all files of a directory, up to the first directory in it, whose name is returned.
fn first_directory(directory: BorrowedFd<'_>) -> io::Result<Option<CString>> {
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        if !is_self(entry.file_name()) && !take_away(directory, entry.file_name())? {
            return Ok(Some(entry.file_name().to_owned()));
        }
    }
    Ok(None)
}

/// Empties a directory of `top` and takes it away; the directories in it become directories of `top`.
fn empty_into(top: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    let directory = match open(top, name) {
        // Exchanged for another thing since, which is found when `top` is listed again.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        directory => directory?,
    };
    for entry in Dir::read_from(&directory)? {
        let entry = entry?;
        let inner = entry.file_name();
        if is_self(inner) || take_away(directory.as_fd(), inner)? {
            continue;
        }
        // One that is read-only could not be moved.
        match open(directory.as_fd(), inner) {
            Ok(_) => {}
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
            Err(errno) => return Err(errno.into()),
        }
        match fs::renameat(&directory, inner, top, random_name()?) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    match fs::unlinkat(top, name, AtFlags::REMOVEDIR) {
        // Not empty: somebody has put something there. Another thing: it was exchanged.
        Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::NOTDIR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn is_self(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

/// Takes a name away, unless it is a directory's.
fn take_away(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<bool> {
    match fs::unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::ISDIR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Opens a directory and makes it one that can be changed. One that another file system is mounted on is not ours to
/// change.
fn open(parent: BorrowedFd<'_>, name: impl rustix::path::Arg + Copy) -> rustix::io::Result<OwnedFd> {
    let open = |flags| {
        // Where somebody moves directories about, the kernel asks to be called again, or finds this one elsewhere.
        let mut attempts = 0..ATTEMPTS;
        loop {
            match open_beneath(parent, name, flags | OFlags::NOFOLLOW) {
                Err(Errno::AGAIN | Errno::XDEV) if attempts.next().is_some() => {}
                opened => return opened,
            }
        }
    };
    let directory = match open(DIRECTORY) {
        // One that nobody may read cannot be changed through a handle for reading.
        Err(Errno::ACCESS) => {
            open_up(open)?;
            open(DIRECTORY)?
        }
        directory => directory?,
    };
    fs::fchmod(&directory, Mode::RWXU)?;
    Ok(directory)
}
