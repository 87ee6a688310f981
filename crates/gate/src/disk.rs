//! The real disk, behind [`World`].
//!
//! Against whom: an agent can put a pipe or a device where a file is expected. Nothing here blocks on one,
//! and nothing reads more than it was asked to.

#![expect(clippy::disallowed_methods, reason = "this is what stands behind `World`")]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use rustix::buffer::spare_capacity;
use rustix::fs::{Access, AtFlags, CWD, OFlags, accessat};
use rustix::io::Errno;
use toolgate_model::{Entry, EntryKind, FileStamp, LookError, Node, NodeId, NodeKind, World};

use crate::noted::Notes;
use crate::system::{self, Straight};

/// So much of a file that says it is empty is asked for at first.
const MADE_UP: u64 = 1024;
/// So much more is asked for where a file turns out to be longer than it said.
const MORE: usize = 64 * 1024;

/// The machine's own file system, as seen while one call is judged.
///
/// A directory that was looked at once is not looked at again, and one that is not there is not looked for again: the places
/// that a call is compared with share most of their way.
#[derive(Default)]
pub struct Disk {
    directories: RefCell<Vec<(PathBuf, Node)>>,
    /// Directories that were reached without a link on the way.
    straight: RefCell<BTreeMap<OsString, Node>>,
    /// By their bytes: comparing paths part by part would cost more than a look.
    absent: RefCell<BTreeSet<OsString>>,
    /// When the time for an answer is over.
    deadline: Option<Instant>,
    notes: Notes,
}

impl Disk {
    /// The same disk, for somebody who has to answer by then.
    #[must_use]
    pub fn until(self, deadline: Instant) -> Disk {
        Disk { deadline: Some(deadline), ..self }
    }

    /// The same disk, with notes about large files in our state.
    #[must_use]
    pub fn noting_in(mut self, state: &Path) -> Disk {
        self.notes.state = Some(state.to_path_buf());
        self
    }

    /// Whether this path, or the one above it, was not there.
    fn is_absent(&self, path: &Path) -> bool {
        let absent = self.absent.borrow();
        let is_known = |path: &Path| absent.contains(path.as_os_str());
        is_known(path) || above(path).is_some_and(is_known)
    }

    /// Whether the directory that a path lies in was reached without a link on the way.
    fn is_straight_above(&self, path: &Path) -> bool {
        above(path).is_some_and(|above| self.straight.borrow().contains_key(above.as_os_str()))
    }

    fn note_absent(&self, path: &Path) {
        self.absent.borrow_mut().insert(path.as_os_str().to_owned());
    }
}

impl World for Disk {
    fn look(&self, path: &Path) -> Result<Node, LookError> {
        if let Some((_, node)) =
            self.directories.borrow().iter().find(|(seen, _)| seen.as_os_str() == path.as_os_str())
        {
            return Ok(node.clone());
        }
        if self.is_absent(path) {
            return Err(LookError::Absent);
        }
        let found = fs::symlink_metadata(path).map_err(|error| {
            let error = look_error(&error);
            if error == LookError::Absent {
                self.note_absent(path);
            }
            error
        })?;
        let kind = match kind(&found) {
            Some(kind) => kind,
            None => NodeKind::Link(fs::read_link(path).map_err(|error| look_error(&error))?),
        };
        let node = node(&found, kind);
        if node.kind == NodeKind::Directory {
            self.directories.borrow_mut().push((path.to_path_buf(), node.clone()));
        }
        Ok(node)
    }

    fn look_straight(&self, path: &Path) -> Option<Result<Node, LookError>> {
        if let Some(node) = self.straight.borrow().get(path.as_os_str()) {
            return Some(Ok(node.clone()));
        }
        if self.is_absent(path) {
            return Some(Err(LookError::Absent));
        }
        if self.is_straight_above(path) {
            // Only the last name may be a link, which need not be opened to be seen.
            return match fs::symlink_metadata(path) {
                Ok(found) => {
                    let node = node(&found, kind(&found)?);
                    if node.kind == NodeKind::Directory {
                        self.straight.borrow_mut().insert(path.as_os_str().to_owned(), node.clone());
                    }
                    Some(Ok(node))
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    self.note_absent(path);
                    Some(Err(LookError::Absent))
                }
                Err(_) => None,
            };
        }
        match system::open_straight(path) {
            Straight::Opened(file) => {
                let found = file.metadata().ok()?;
                // INVARIANT: nothing that was opened this way is a link.
                let node = node(&found, kind(&found)?);
                if node.kind == NodeKind::Directory {
                    self.straight.borrow_mut().insert(path.as_os_str().to_owned(), node.clone());
                }
                Some(Ok(node))
            }
            Straight::Absent => {
                self.note_absent(path);
                Some(Err(LookError::Absent))
            }
            Straight::Unknown => None,
        }
    }

    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        read_regular(path, limit)
    }

    fn stamp(&self, path: &Path) -> Result<FileStamp, LookError> {
        let found = fs::metadata(path).map_err(|error| look_error(&error))?;
        Ok(FileStamp {
            id: NodeId { device: found.dev(), inode: found.ino() },
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }

    fn noted(&self, path: &Path, about: &str) -> Option<Vec<u8>> {
        self.notes.find(self, path, about)
    }

    fn note(&self, path: &Path, about: &str, what: &[u8]) {
        self.notes.add(self, path, about, what, SystemTime::now());
    }

    fn born(&self, path: &Path) -> Option<(i64, i64)> {
        system::born(path)
    }

    fn is_writable(&self, path: &Path) -> bool {
        accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
    }

    /// The directory itself says what kind its entries are of, so that none of them has to be looked at. Whoever asks for few is
    /// not kept waiting for all.
    fn entries(&self, path: &Path, most: usize) -> io::Result<Option<Vec<Entry>>> {
        let mut all = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if all.len() == most {
                return Ok(None);
            }
            let kind = match entry.file_type()? {
                kind if kind.is_symlink() => EntryKind::Link,
                kind if kind.is_dir() => EntryKind::Directory,
                kind if kind.is_file() => EntryKind::File,
                _ => EntryKind::Special,
            };
            all.push(Entry { path: entry.path(), kind });
        }
        Ok(Some(all))
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() > deadline)
    }
}

/// What a path lies in, as text: taking it apart would cost more than a look.
fn above(path: &Path) -> Option<&Path> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let slash = bytes.iter().rposition(|byte| *byte == b'/').filter(|slash| *slash > 0)?;
    Some(Path::new(OsStr::from_bytes(bytes.get(..slash)?)))
}

/// The kind of what was found; `None` where it is a link, which has to be read.
fn kind(found: &Metadata) -> Option<NodeKind> {
    let kind = found.file_type();
    if kind.is_symlink() {
        None
    } else if kind.is_dir() {
        Some(NodeKind::Directory)
    } else if kind.is_file() {
        Some(NodeKind::File)
    } else {
        Some(NodeKind::Special)
    }
}

fn node(found: &Metadata, kind: NodeKind) -> Node {
    Node {
        kind,
        id: NodeId { device: found.dev(), inode: found.ino() },
        names: found.nlink(),
        changed: (found.ctime(), found.ctime_nsec()),
    }
}

/// The first `limit` bytes of a regular file.
pub fn read_regular(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let (file, size) = open_regular(path)?;
    // Room for all of it and one byte more: a read that brings all of it and not that byte has come to the end. What the kernel makes up as it
    // is read says that it is empty.
    let most = if size == 0 { MADE_UP } else { size.saturating_add(1) };
    let mut bytes = Vec::with_capacity(limit.min(usize::try_from(most).unwrap_or(limit)));
    while bytes.len() < limit {
        if bytes.len() == bytes.capacity() {
            bytes.reserve(MORE.min(limit - bytes.len()));
        }
        match rustix::io::read(&file, spare_capacity(&mut bytes)) {
            Ok(0) => break,
            Ok(_) if bytes.len() as u64 == size => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    bytes.truncate(limit);
    Ok(bytes)
}

/// Opens a regular file for reading, and nothing else; says how long it is.
pub fn open_regular(path: &Path) -> io::Result<(File, u64)> {
    // Not by the standard library: below it, a C library that doubts the kernel makes a second call for each file.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, rustix::fs::Mode::empty())?);
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
