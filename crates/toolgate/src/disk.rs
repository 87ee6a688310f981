//! The real disk, behind [`World`].
//!
//! Against whom: an agent can put a pipe or a device where a file is expected. Nothing here blocks on one,
//! and nothing reads more than it was asked to.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use toolgate_model::{LookError, Node, NodeId, NodeKind, World};

/// The machine's own file system, as seen while one call is judged.
///
/// A directory that was looked at once is not looked at again: the places that a call is compared with share
/// most of their way.
#[derive(Default)]
pub struct Disk {
    directories: RefCell<Vec<(PathBuf, Node)>>,
}

impl World for Disk {
    fn look(&self, path: &Path) -> Result<Node, LookError> {
        if let Some((_, node)) =
            self.directories.borrow().iter().find(|(seen, _)| seen.as_os_str() == path.as_os_str())
        {
            return Ok(node.clone());
        }
        let found = fs::symlink_metadata(path).map_err(|error| look_error(&error))?;
        let kind = found.file_type();
        let kind = if kind.is_symlink() {
            NodeKind::Link(fs::read_link(path).map_err(|error| look_error(&error))?)
        } else if kind.is_dir() {
            NodeKind::Directory
        } else if kind.is_file() {
            NodeKind::File
        } else {
            NodeKind::Special
        };
        let node = Node {
            kind,
            id: NodeId { device: found.dev(), inode: found.ino() },
            names: found.nlink(),
            changed: (found.ctime(), found.ctime_nsec()),
        };
        if node.kind == NodeKind::Directory {
            self.directories.borrow_mut().push((path.to_path_buf(), node.clone()));
        }
        Ok(node)
    }

    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        read_regular(path, limit)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect()
    }
}

/// The first `limit` bytes of a regular file.
pub fn read_regular(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let (file, size) = open_regular(path)?;
    // Room for all of it and one byte more, so that one read brings it and the next one finds the end.
    let mut bytes = Vec::with_capacity(limit.min(usize::try_from(size).unwrap_or(limit)) + 1);
    file.take(limit as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a regular file for reading, and nothing else; says how long it is.
fn open_regular(path: &Path) -> io::Result<(File, u64)> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if found.is_file() {
        Ok((file, found.len()))
    } else {
        Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"))
    }
}

fn look_error(error: &io::Error) -> LookError {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT | Errno::NOTDIR) => LookError::Absent,
        Some(Errno::ACCESS | Errno::PERM) => LookError::Forbidden,
        Some(Errno::NAMETOOLONG) => LookError::TooLong,
        _ => LookError::Failed,
    }
}
