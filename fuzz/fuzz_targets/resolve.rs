//! Any path in any small world of links: resolved or refused, and what comes out is absolute, free of `..`,
//! and the same when it is resolved again.
//!
//! The input is lines: the path to resolve, the working directory, then one line for each thing that exists,
//! `path` for a directory, `path -> target` for a link, `path =` for a file.

#![no_main]

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use libfuzzer_sys::fuzz_target;
use toolgate_model::{Entry, LookError, Node, NodeId, NodeKind, PathArg, Resolved, Resolver, World, clean};

struct Small(BTreeMap<PathBuf, NodeKind>);

impl Small {
    fn add(&mut self, path: &Path, kind: NodeKind) {
        let path = clean(path);
        for above in path.ancestors().skip(1) {
            self.0.entry(above.to_path_buf()).or_insert(NodeKind::Directory);
        }
        self.0.insert(path, kind);
    }
}

impl World for Small {
    fn look(&self, path: &Path) -> Result<Node, LookError> {
        // As a kernel would: no path leads through a file or a link that was not followed.
        assert!(is_walked(path), "asked for {}", path.display());
        let kind = self.0.get(path).cloned().ok_or(LookError::Absent)?;
        Ok(Node { kind, id: NodeId { device: 1, inode: 1 }, names: 1, changed: (0, 0) })
    }
    fn read(&self, _: &Path, _: usize) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }
    fn entries(&self, _: &Path, _: usize) -> io::Result<Option<Vec<Entry>>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Absolute and without `..`.
fn is_walked(path: &Path) -> bool {
    path.is_absolute()
        && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

fn check(resolver: &Resolver<'_>, place: &Resolved) {
    for path in place.paths() {
        assert!(is_walked(path), "{place:?}");
    }
    let again = resolver.walk(place.physical.clone()).expect("a resolved path can be resolved");
    assert_eq!(again.physical, place.physical);
    assert_eq!(again.node, place.node);
    assert!(!matches!(place.node, Some(Node { kind: NodeKind::Link(_), .. })), "{place:?}");
}

fuzz_target!(|text: &str| {
    let mut lines = text.split('\n');
    let (path, cwd) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let mut world = Small(BTreeMap::new());
    for line in lines.take(32) {
        if let Some((link, target)) = line.split_once(" -> ") {
            world.add(Path::new(link), NodeKind::Link(PathBuf::from(target)));
        } else if let Some(file) = line.strip_suffix(" =") {
            world.add(Path::new(file), NodeKind::File);
        } else {
            world.add(Path::new(line), NodeKind::Directory);
        }
    }
    // The root is a directory in every world.
    world.0.insert(PathBuf::from("/"), NodeKind::Directory);
    let resolver = Resolver::new(&world, Some(cwd), Some(Path::new("/home/u")));
    for arg in [PathArg::Text(path.into()), PathArg::Pattern(path.into()), PathArg::Cwd] {
        if let Ok(place) = resolver.resolve(&arg) {
            check(&resolver, &place);
        }
    }
});
