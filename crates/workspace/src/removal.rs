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
use crate::beneath::{BENEATH, DIRECTORY};

/// Somebody may put things into a directory that is being emptied. So often it is emptied again.
const ATTEMPTS: usize = 1000;

/// Removes the directory `name` of `parent`; nothing to do where there is none.
pub(crate) fn remove(parent: impl AsFd, name: &str) -> io::Result<()> {
    let parent = parent.as_fd();
    let top = match open(parent, name) {
        Err(Errno::NOENT) => return Ok(()),
        top => top?,
    };
    let mut attempts = 0..ATTEMPTS;
    loop {
        let mut waiting = empty(&top, parent)?;
        while let Some(below) = waiting.pop() {
            let directory = match open(parent, &below) {
                // Another one takes away the same.
                Err(Errno::NOENT) => continue,
                // What was moved up is no directory: it was exchanged for a link just before.
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    fs::unlinkat(parent, &below, AtFlags::empty())?;
                    continue;
                }
                directory => directory?,
            };
            let moved = empty(&directory, parent)?;
            match fs::unlinkat(parent, &below, AtFlags::REMOVEDIR) {
                Err(Errno::NOTEMPTY) if attempts.next().is_some() => waiting.push(below),
                Err(Errno::NOENT) => {}
                removed => removed?,
            }
            waiting.extend(moved);
        }
        // The first one goes last: as long as it is there, somebody who was killed can be finished by another.
        match fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY) if attempts.next().is_some() => {}
            Err(Errno::NOENT) => return Ok(()),
            removed => return Ok(removed?),
        }
    }
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
                let random = random_name()?;
                // One that is read-only could not be moved.
                let opened = open(directory.as_fd(), name);
                match opened.and_then(|_| fs::renameat(directory, name, parent, &random)) {
                    Ok(()) => moved.push(random),
                    // Exchanged for another thing since, which is found when the directory turns out not to be empty.
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                    Err(errno) => return Err(errno.into()),
                }
            }
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(moved)
}

/// Opens a directory and makes it one that can be changed. One that another file system is mounted on is not ours to
/// change.
fn open(parent: BorrowedFd<'_>, name: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    let directory = fs::openat2(parent, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty(), BENEATH)?;
    fs::fchmod(&directory, Mode::RWXU)?;
    Ok(directory)
}
