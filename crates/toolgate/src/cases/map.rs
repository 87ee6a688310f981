//! A world that is a map: what a case names, and nothing else, exists.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use toolgate_gate::machine::{Machine, Setup};
use toolgate_model::{Entry, EntryKind, LookError, Node, NodeId, NodeKind, Resolver, World};
use toolgate_policies::Containable;

/// Files, directories and links by their absolute, clean paths.
#[derive(Debug, Default)]
pub(super) struct Map {
    nodes: BTreeMap<PathBuf, MapNode>,
}

#[derive(Debug)]
struct MapNode {
    kind: NodeKind,
    inode: u64,
    /// What a file holds; empty for anything else.
    holds: Vec<u8>,
}

impl Map {
    /// A directory, and all above it.
    pub(super) fn dir(&mut self, path: impl AsRef<Path>) {
        self.add(path.as_ref(), NodeKind::Directory, b"");
    }

    /// A file that holds this.
    pub(super) fn file(&mut self, path: impl AsRef<Path>, holds: impl AsRef<[u8]>) {
        self.add(path.as_ref(), NodeKind::File, holds.as_ref());
    }

    /// A link that leads there.
    pub(super) fn link(&mut self, path: impl AsRef<Path>, target: impl Into<PathBuf>) {
        self.add(path.as_ref(), NodeKind::Link(target.into()), b"");
    }

    /// A device.
    pub(super) fn special(&mut self, path: impl AsRef<Path>) {
        self.add(path.as_ref(), NodeKind::Special, b"");
    }

    /// What stands at the end of all links, as the real disk opens a file.
    fn followed(&self, path: &Path) -> io::Result<(PathBuf, &MapNode)> {
        let place = Resolver::new(self, None, None).walk(path.to_path_buf());
        let real = place.map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?.physical;
        let entry = self.nodes.get(&real).ok_or(io::ErrorKind::NotFound)?;
        Ok((real, entry))
    }

    fn add(&mut self, path: &Path, kind: NodeKind, holds: &[u8]) {
        for above in path.ancestors().skip(1) {
            if !self.nodes.contains_key(above) {
                self.put(above, NodeKind::Directory, b"");
            }
        }
        self.put(path, kind, holds);
    }

    fn put(&mut self, path: &Path, kind: NodeKind, holds: &[u8]) {
        let inode = self.nodes.len() as u64;
        self.nodes.insert(path.to_path_buf(), MapNode { kind, inode, holds: holds.to_vec() });
    }
}

impl World for Map {
    fn look(&self, path: &Path) -> Result<Node, LookError> {
        let MapNode { kind, inode, .. } = self.nodes.get(path).ok_or(LookError::Absent)?;
        let id = NodeId { device: 0, inode: *inode };
        Ok(Node { kind: kind.clone(), id, names: 1, changed: (0, 0) })
    }

    /// All that is there was there before.
    fn born(&self, path: &Path) -> Option<(i64, i64)> {
        self.nodes.contains_key(path).then_some((0, 0))
    }

    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        match self.followed(path)? {
            (_, MapNode { kind: NodeKind::File, holds, .. }) => {
                Ok(holds.iter().take(limit).copied().collect())
            }
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    fn entries(&self, path: &Path, most: usize) -> io::Result<Option<Vec<Entry>>> {
        let (real, entry) = self.followed(path)?;
        if entry.kind != NodeKind::Directory {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let below = self.nodes.range(real.clone()..).take_while(|(name, _)| name.starts_with(&real));
        let inside = below.filter(|(name, _)| name.parent() == Some(real.as_path()));
        let entry = |(name, node): (&PathBuf, &MapNode)| {
            Some(Entry { path: path.join(name.file_name()?), kind: EntryKind::from(&node.kind) })
        };
        let entries: Vec<Entry> = inside.filter_map(entry).collect();
        Ok((entries.len() <= most).then_some(entries))
    }
}

/// A machine on which there is such a world, these variables and nothing else; its clock stands still.
pub(super) struct MapMachine(pub(super) Map, pub(super) BTreeMap<String, String>);

impl Machine for MapMachine {
    fn world(&self) -> &dyn World {
        &self.0
    }
    fn variable(&self, name: &str) -> Option<OsString> {
        self.1.get(name).map(OsString::from)
    }
    fn variables(&self) -> Vec<(OsString, OsString)> {
        self.1.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }
    fn directory(&self) -> Option<PathBuf> {
        None
    }
    fn program(&self) -> Option<PathBuf> {
        None
    }
    fn started_as(&self) -> OsString {
        OsString::new()
    }
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
    fn instant(&self) -> Instant {
        Instant::now()
    }
    fn user_id(&self) -> u32 {
        0
    }
    fn name(&self) -> String {
        String::new()
    }
    fn containable(&self, _: &Path) -> Containable {
        Containable::NotConsidered
    }
    fn is_alive(&self, _: &Path, _: &[u64]) -> bool {
        false
    }
    fn setup(&self) -> Option<&dyn Setup> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_read_and_listed_like_a_disk() {
        let mut map = Map::default();
        map.file("/a/b/c", "hello");
        map.file("/a/b.txt", "");
        map.link("/a/l", "b/c");
        let kind = |path: &str| map.look(Path::new(path)).map(|node| node.kind);
        assert_eq!(kind("/a/b"), Ok(NodeKind::Directory));
        assert_eq!(kind("/a/l"), Ok(NodeKind::Link("b/c".into())));
        assert_eq!(kind("/a/x"), Err(LookError::Absent));
        assert_eq!(map.read(Path::new("/a/b/c"), 4).unwrap(), b"hell");
        assert_eq!(map.read(Path::new("/a/l"), 9).unwrap(), b"hello");
        assert!(map.read(Path::new("/a/b"), 9).is_err());
        let names = |path: &str| map.names(Path::new(path), usize::MAX).unwrap().unwrap();
        assert_eq!(names("/"), [Path::new("/a")]);
        assert_eq!(names("/a"), ["/a/b", "/a/b.txt", "/a/l"].map(PathBuf::from));
        assert_eq!(names("/a/b"), [Path::new("/a/b/c")]);
    }
}
