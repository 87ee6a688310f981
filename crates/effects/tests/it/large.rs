//! A disk with a directory of very many names.

use std::cell::Cell;
use std::io;
use std::path::Path;

use toolgate_model::{Entry, EntryKind, LookError, Node, NodeId, NodeKind, World};

/// A disk on which every directory holds 200,000 files, and which counts the names that it tells.
#[derive(Default)]
pub(crate) struct LargeDisk {
    /// Names so far.
    pub(crate) named: Cell<usize>,
}

impl World for LargeDisk {
    fn look(&self, path: &Path) -> Result<Node, LookError> {
        let is_file = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("file-"));
        let kind = if is_file { NodeKind::File } else { NodeKind::Directory };
        if !path.starts_with("/work") || path.ends_with(".git") || path.ends_with("HEAD") {
            return Err(LookError::Absent);
        }
        Ok(Node { kind, id: NodeId { device: 1, inode: 1 }, names: 1, changed: (0, 0) })
    }

    fn read(&self, _: &Path, _: usize) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn entries(&self, path: &Path, most: usize) -> io::Result<Option<Vec<Entry>>> {
        const ALL: usize = 200_000;
        // As a kernel would tell them, one by one.
        self.named.set(self.named.get() + most.min(ALL));
        let entry = |n| Entry { path: path.join(format!("file-{n}")), kind: EntryKind::File };
        Ok((most >= ALL).then(|| (0..ALL).map(entry).collect()))
    }
}
