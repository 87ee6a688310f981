//! A disk that is made to be looked at for long, and commands that are made to take long.

pub(crate) mod commands;

use std::cell::Cell;
use std::io;
use std::path::Path;

use toolgate_model::{Entry, EntryKind, LookError, Node, NodeId, NodeKind, World};

/// A disk on which every directory holds a thousand names and every file a long text, and which counts the questions.
#[derive(Default)]
pub(crate) struct LongDisk {
    /// Questions so far.
    pub(crate) asked: Cell<usize>,
    /// From this question on it is too late.
    pub(crate) late_after: Option<usize>,
}

impl LongDisk {
    fn ask(&self) {
        self.asked.set(self.asked.get() + 1);
    }
}

impl World for LongDisk {
    fn look(&self, path: &Path) -> Result<Node, LookError> {
        self.ask();
        let kind = match path.extension() {
            Some(_) => NodeKind::File,
            None => NodeKind::Directory,
        };
        Ok(Node { kind, id: NodeId { device: 1, inode: 1 }, names: 1, changed: (0, 0) })
    }

    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        self.ask();
        let text = match path.file_name().and_then(|name| name.to_str()) {
            Some("Makefile") => commands::makefile(),
            Some("justfile") => commands::justfile(),
            Some("package.json") => commands::package(),
            Some("again.sh") => "sh ./again.sh; . ./again.sh\n".repeat(500),
            Some("long.sh") => "x=$x$x\nrm $x\n".repeat(4000),
            _ => "a b $(rm x) \n".repeat(4000),
        };
        let mut bytes = text.into_bytes();
        bytes.truncate(limit);
        Ok(bytes)
    }

    fn entries(&self, path: &Path, most: usize) -> io::Result<Option<Vec<Entry>>> {
        self.ask();
        let name = |n: usize| path.join(format!("file{n}{}", "a".repeat(n % 50)));
        let entries = || (0..1000).map(|n| Entry { path: name(n), kind: EntryKind::Directory });
        Ok((most >= 1000).then(|| entries().collect()))
    }

    fn is_late(&self) -> bool {
        self.late_after.is_some_and(|after| self.asked.get() > after)
    }
}
