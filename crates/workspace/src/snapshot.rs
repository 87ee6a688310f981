//! What one side of a workspace holds, and one digest of it all.
//!
//! Two formulas, over the declared files in the order of their paths' bytes; no times, owners or modes enter either.
//!
//! [`Formula::Framed`], the default: BLAKE3 over the line `toolgate-snapshot-1`, and for each path its length, its bytes,
//! and one byte: 0 where the file is missing; 1 where it is there, then its length and its BLAKE3. All lengths are eight
//! bytes, the lowest first. No two states give the same input.
//!
//! [`Formula::Compat`], the design's own: SHA-256 over `path:hash` and a newline for each file that is there, `hash` being
//! the SHA-256 of its content in hexadecimal. Missing files leave no trace in it, and a path could hold a colon: use it to
//! compare with tools that know no other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use rustix::fs::FileType;
use serde::{Deserialize, Serialize};
use toolgate_declaration::{CleanPath, Declared, Dots, Side};

use crate::beneath::Top;
use crate::digest::{Algorithm, Digest, Hasher, PIECE};
use crate::error::{Error, Leaves};
use crate::walk::walk;
use crate::workspace::Workspace;

/// How a snapshot's digest is made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Formula {
    /// BLAKE3, every part with its length.
    #[default]
    Framed,
    /// SHA-256 over lines.
    Compat,
}

impl Formula {
    fn algorithm(self) -> Algorithm {
        match self {
            Formula::Framed => Algorithm::Blake3,
            Formula::Compat => Algorithm::Sha256,
        }
    }
}

/// What became of a declared file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase", deny_unknown_fields)]
pub enum State {
    /// It is there.
    File {
        /// The digest of its content.
        digest: Digest,
        /// Its length.
        size: u64,
    },
    /// It was declared by name and is not there, which is not the same as an empty one.
    Missing,
}

/// The state of one side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    formula: Formula,
    digest: Digest,
    files: BTreeMap<String, State>,
}

/// A path at which two snapshots differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The path.
    pub path: String,
    /// What was there; nothing where it was neither there nor declared by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<State>,
    /// What is there now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<State>,
}

impl Snapshot {
    pub(crate) fn new(formula: Formula, files: BTreeMap<String, State>) -> Snapshot {
        Snapshot { formula, digest: combine(formula, &files), files }
    }

    /// How its digest is made.
    pub fn formula(&self) -> Formula {
        self.formula
    }

    /// The digest of it all.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The files by their paths.
    pub fn files(&self) -> &BTreeMap<String, State> {
        &self.files
    }

    /// Whether the digest is that of the files. One that was read from a file may say anything.
    pub fn is_consistent(&self) -> bool {
        let right = |state: &State| match state {
            State::File { digest, .. } => digest.algorithm() == self.formula.algorithm(),
            State::Missing => true,
        };
        self.files.values().all(right) && combine(self.formula, &self.files) == self.digest
    }

    /// Where the other one, which came later, differs.
    pub fn diff(&self, later: &Snapshot) -> Vec<Difference> {
        let paths: BTreeSet<&String> = self.files.keys().chain(later.files.keys()).collect();
        let differ = paths.into_iter().filter_map(|path| {
            let (before, after) = (self.files.get(path).copied(), later.files.get(path).copied());
            (before != after).then(|| Difference { path: path.clone(), before, after })
        });
        differ.collect()
    }
}

fn combine(formula: Formula, files: &BTreeMap<String, State>) -> Digest {
    let mut hasher = Hasher::new(formula.algorithm());
    if formula == Formula::Framed {
        hasher.update(b"toolgate-snapshot-1\n");
    }
    for (path, state) in files {
        match (formula, state) {
            (Formula::Framed, state) => {
                hasher.update(&(path.len() as u64).to_le_bytes());
                hasher.update(path.as_bytes());
                match state {
                    State::Missing => hasher.update(&[0]),
                    State::File { digest, size } => {
                        hasher.update(&[1]);
                        hasher.update(&size.to_le_bytes());
                        hasher.update(digest.bytes());
                    }
                }
            }
            (Formula::Compat, State::File { digest, .. }) => {
                hasher.update(format!("{path}:{}\n", digest.hex()).as_bytes());
            }
            (Formula::Compat, State::Missing) => {}
        }
    }
    hasher.finish()
}

/// Is told how far long work has come. Called from several threads.
pub trait Progress: Sync {
    /// So many of so many files are done.
    fn at(&self, done: usize, of: usize);
}

/// Tells nobody.
impl Progress for () {
    fn at(&self, _done: usize, _of: usize) {}
}

impl Workspace {
    /// The outputs as they are now, with the default formula. Each file is seen whole; for all of them to be of one
    /// moment nobody may write meanwhile.
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        self.snapshot_of(Side::Output, Formula::Framed, &())
    }

    /// One side as it is now.
    pub fn snapshot_of(
        &self,
        side: Side,
        formula: Formula,
        progress: &dyn Progress,
    ) -> Result<Snapshot, Error> {
        let files = survey(&self.top, &self.declared, side, Links::Refuse, progress, |file| {
            hash(file, formula.algorithm())
        })?;
        Ok(Snapshot::new(formula, files))
    }
}

/// The digest and length of what a file holds.
pub(crate) fn hash(mut file: File, algorithm: Algorithm) -> io::Result<(Digest, u64)> {
    let mut hasher = Hasher::new(algorithm);
    let mut piece = vec![0; PIECE];
    let mut size = 0;
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok((hasher.finish(), size)),
            Ok(length) => {
                hasher.update(piece.get(..length).unwrap_or_default());
                size += length as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// What becomes of a link, or another thing that is not a file, where a pattern finds one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// An error: the state of a workspace must not be told without it.
    Refuse,
    /// It is left where it is: a project has links, and a copy needs none.
    PassOver,
}

/// The declared files of one side below `top`, each with what `take` says about it. As many threads work on them as the
/// machine has processors.
pub(crate) fn survey(
    top: &Top,
    declared: &Declared,
    side: Side,
    links: Links,
    progress: &dyn Progress,
    take: impl Fn(File) -> io::Result<(Digest, u64)> + Sync,
) -> Result<BTreeMap<String, State>, Error> {
    let paths: Vec<CleanPath<'static>> = expand(top, declared, side, links)?.into_iter().collect();
    let (next, done, stop) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let look = |path: &CleanPath<'static>| -> Result<State, Error> {
        match top.open(path) {
            Ok((file, _)) => {
                let taken = take(file);
                let (digest, size) = taken.map_err(|error| Error::about(path.as_str(), error))?;
                Ok(State::File { digest, size })
            }
            Err(Error::Io { source, .. })
                if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
            {
                Ok(State::Missing)
            }
            Err(error) => Err(error),
        }
    };
    let work = || {
        let mut seen = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = paths.get(at) else { break };
            let state = look(path);
            stop.fetch_or(state.is_err(), Ordering::Relaxed);
            seen.push((path.as_str().to_owned(), state));
            progress.at(done.fetch_add(1, Ordering::Relaxed) + 1, paths.len());
        }
        seen
    };
    let most = thread::available_parallelism().map_or(1, NonZero::get).min(paths.len().div_ceil(16)).min(16);
    let seen: Vec<(String, Result<State, Error>)> = thread::scope(|scope| {
        // Where no more threads can be had, fewer do it.
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let helpers: Vec<_> = (1..most).filter_map(spawn).collect();
        let own = work();
        let others = helpers.into_iter().filter_map(|helper| helper.join().ok()).flatten();
        own.into_iter().chain(others).collect()
    });
    let mut files = BTreeMap::new();
    for (path, state) in seen {
        files.insert(path, state?);
    }
    // A thread that died has left files out; that must not look like a smaller workspace.
    if files.len() != paths.len() {
        return Err(Error::about("a snapshot", io::Error::other("a thread has died")));
    }
    // What a pattern found and what was gone when it was opened was never declared by name.
    files.retain(|path, state| *state != State::Missing || is_named(declared, side, path));
    Ok(files)
}

fn is_named(declared: &Declared, side: Side, path: &str) -> bool {
    declared.entries(side).iter().any(|entry| entry.exact() == Some(path))
}

/// All paths of one side: those declared by name, there or not, and those that a pattern finds.
fn expand(
    top: &Top,
    declared: &Declared,
    side: Side,
    links: Links,
) -> Result<BTreeSet<CleanPath<'static>>, Error> {
    let mut paths = BTreeSet::new();
    let mut tops: Vec<&str> = Vec::new();
    for entry in declared.entries(side) {
        match entry.exact() {
            Some(exact) => {
                let path = CleanPath::of(exact, Dots::Component);
                paths.extend(path.map(CleanPath::into_owned));
            }
            None => tops.push(entry.top()),
        }
    }
    // A directory below one that is walked anyway need not be walked again.
    tops.sort_unstable();
    tops.dedup();
    let is_below = |path: &str, above: &str| {
        above.is_empty() || path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
    };
    let mut walked: Vec<&str> = Vec::new();
    for from in tops {
        if walked.iter().any(|above| is_below(from, above)) {
            continue;
        }
        walk(top, from, |found| {
            if declared.is_kept(side, &found.path) {
                let path = found.path.to_string();
                match found.kind {
                    FileType::RegularFile => {}
                    _ if links == Links::PassOver => return Ok(()),
                    FileType::Symlink => return Err(Error::PathTraversal { path, why: Leaves::Link }),
                    _ => return Err(Error::NotAFile { path }),
                }
                paths.insert(found.path);
            }
            Ok(())
        })?;
        walked.push(from);
    }
    Ok(paths)
}
