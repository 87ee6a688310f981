//! Takes a directory away with all that lies in it, and nothing else.
//!
//! Against whom: whoever puts a link into the directory, or exchanges a part of it for one, while it is being emptied.
//! Every name is taken away from a handle of its own directory, and a link is taken away as a link. Directories are moved
//! up before they are emptied, so that no depth of them needs more than two handles.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{self, AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

use crate::atomic::random_name;
use crate::beneath::DIRECTORY;

/// Removes the directory `name` of `parent`; nothing to do where there is none.
pub(crate) fn remove(parent: impl AsFd, name: &str) -> io::Result<()> {
    let parent = parent.as_fd();
    let mut waiting = vec![name.to_owned()];
    while let Some(emptied) = waiting.pop() {
        let directory = match open(parent, &emptied) {
            Err(Errno::NOENT) if emptied == name => return Ok(()),
            directory => directory?,
        };
        let moved = empty(&directory, parent)?;
        // The first one goes last: as long as it is there, somebody who was killed can be finished by another.
        if emptied != name {
            fs::unlinkat(parent, &emptied, AtFlags::REMOVEDIR)?;
        }
        waiting.extend(moved);
    }
    fs::unlinkat(parent, name, AtFlags::REMOVEDIR)?;
    Ok(())
}

/// Takes away all files in a directory, and moves the directories in it to `parent`; their names there are returned.
fn empty(directory: &OwnedFd, parent: BorrowedFd<'_>) -> io::Result<Vec<String>> {
    let mut moved = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        match fs::unlinkat(directory, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::ISDIR) => {
                // One that is read-only could not be moved.
                drop(open(directory.as_fd(), name)?);
                let random = random_name()?;
                fs::renameat(directory, name, parent, &random)?;
                moved.push(random);
            }
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(moved)
}

/// Opens a directory and makes it one that can be changed.
fn open(parent: BorrowedFd<'_>, name: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    let directory = fs::openat(parent, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
    fs::fchmod(&directory, Mode::RWXU)?;
    Ok(directory)
}
