//! The one window on the machine.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What the line may ask of the disk. The real one is in the binary; the one of the cases is a map.
pub trait World {
    /// What stands at this path. A link at its end is told, not followed; links on the way are the
    /// caller's to have resolved.
    fn look(&self, path: &Path) -> Result<Node, LookError>;
    /// What stands at this path, if one look can tell that no part of the path is a link. `None` says nothing:
    /// the path has to be walked.
    fn look_straight(&self, path: &Path) -> Option<Result<Node, LookError>> {
        let _ = path;
        None
    }
    /// When what stands at this path was made, in seconds and nanoseconds; `None` where the file system does not say.
    fn born(&self, path: &Path) -> Option<(i64, i64)> {
        let _ = path;
        None
    }
    /// Whether the person could write what stands at this path.
    fn is_writable(&self, path: &Path) -> bool {
        let _ = path;
        true
    }
    /// What tells one state of the file at this path from the next, links followed. A world whose files never change need
    /// not say.
    fn stamp(&self, path: &Path) -> Result<FileStamp, LookError> {
        let _ = path;
        Err(LookError::Absent)
    }
    /// The first `limit` bytes of a regular file. Never blocks on a pipe or a device.
    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>>;
    /// What an earlier call has [noted](World::note) about this file, unless the file has changed since.
    fn noted(&self, path: &Path, about: &str) -> Option<Vec<u8>> {
        let _ = (path, about);
        None
    }
    /// Notes for later calls what follows from the content of this file alone. For somebody who has asked for what was noted, got nothing, and
    /// has read the file since.
    fn note(&self, path: &Path, about: &str, what: &[u8]) {
        let _ = (path, about, what);
    }
    /// What is in a directory, by name and kind; `None` where there is more than `most`.
    fn entries(&self, path: &Path, most: usize) -> io::Result<Option<Vec<Entry>>>;
    /// The names in a directory; `None` where there are more than `most`.
    fn names(&self, path: &Path, most: usize) -> io::Result<Option<Vec<PathBuf>>> {
        let entries = self.entries(path, most)?;
        Ok(entries.map(|entries| entries.into_iter().map(|entry| entry.path).collect()))
    }
    /// Whether the time for an answer is over, so that whoever looks should give up. No pure crate has a clock; whoever
    /// stands behind the world may.
    fn is_late(&self) -> bool {
        false
    }
}

/// A machine with nothing on it.
#[derive(Debug, Clone, Copy)]
pub struct EmptyWorld;

impl World for EmptyWorld {
    fn look(&self, _: &Path) -> Result<Node, LookError> {
        Err(LookError::Absent)
    }
    fn read(&self, _: &Path, _: usize) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }
    fn entries(&self, _: &Path, _: usize) -> io::Result<Option<Vec<Entry>>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Something in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name, behind that of the directory.
    pub path: PathBuf,
    /// What it is.
    pub kind: EntryKind,
}

/// What a directory says of something in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A device, pipe or socket.
    Special,
}

impl From<&NodeKind> for EntryKind {
    fn from(kind: &NodeKind) -> EntryKind {
        match kind {
            NodeKind::File => EntryKind::File,
            NodeKind::Directory => EntryKind::Directory,
            NodeKind::Link(_) => EntryKind::Link,
            NodeKind::Special => EntryKind::Special,
        }
    }
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its kind.
    pub kind: NodeKind,
    /// Which file it is, whatever it is called.
    pub id: NodeId,
    /// How many names the file has.
    pub names: u64,
    /// When it last changed in any way, in seconds and nanoseconds; nobody can set that by hand.
    pub changed: (i64, i64),
}

/// What a file was at some moment. The change time cannot be set by hand, so somebody who edits a file and puts its date
/// back is seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// Which file it is.
    pub id: NodeId,
    /// How long it is.
    pub size: u64,
    /// When its content changed, in seconds and nanoseconds.
    pub modified: (i64, i64),
    /// When it last changed in any way.
    pub changed: (i64, i64),
}

/// A file's identity, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeId {
    /// The device that it lies on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

/// The kinds of files that matter here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link and where it points, as written in it.
    Link(PathBuf),
    /// A device, pipe or socket.
    Special,
}

/// Why nothing could be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookError {
    /// Nothing is there.
    Absent,
    /// We may not look.
    Forbidden,
    /// The name is longer than the system takes.
    TooLong,
    /// The system answered something else.
    Failed,
}
