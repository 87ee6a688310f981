//! Checks the whole ledger: its chain, the tree over it, the checkpoints, and the keys that signed them.
//!
//! Promise: each part is said apart, and the first bad entry is named. What cannot be checked is no good result. Reads every line
//! once and keeps none: the memory stays the same however long the ledger is.
//!
//! Not found by itself: that everything was put back from one copy, key included. Whoever noted a checkpoint elsewhere finds it
//! (`noted`); and that the log was written anew from its beginning with a key of its own, which the first key shows (`first_key`).

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::anchor::StampWord;
use super::apart::Seen;
use super::checkpoint::Checkpoint;
use super::epochs::{Epoch, epoch_at, named_key};
use super::files::read;
use super::log::{Log, LogError, Memory, directory, is_signed, load};
use super::merkle::{Frontier, leaf_hash};
use super::note::{NoteKey, Signed};
use super::problem::{Part, SealProblem};
use super::seal::alone_within;
use super::tiles::TileReader;
use super::walk::Walk;
use super::{anchor, key};
use crate::record::{ERASED, Link, NEXT_KEY, PRUNED, REST, own_record};
use crate::records::{Ending, StoredLine};
use crate::verify::{Check, first_kept, problem_of_a_file};
use crate::{Digest, LedgerError, Report};

/// So long it waits for a sealer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the one who checks knows from elsewhere.
#[derive(Debug, Default)]
pub struct Known {
    /// The first key of the log.
    pub first_key: Option<NoteKey>,
    /// A checkpoint that was noted.
    pub noted: Option<Checkpoint>,
    /// The keys of witnesses.
    pub witnesses: Vec<NoteKey>,
    /// What came of checking the time stamps, by the size of their checkpoints.
    pub stamps: BTreeMap<u64, StampWord>,
    /// What those know who seal apart on this machine.
    pub apart: Option<Seen>,
}

/// How sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All that was checked is as it should be.
    Good,
    /// Something is wrong.
    Bad,
    /// Something could not be checked.
    CannotTell,
}

/// What was found.
#[derive(Debug, Serialize)]
pub struct Audit {
    /// In one word.
    pub outcome: Outcome,
    /// The chain of the lines.
    #[serde(flatten)]
    pub chain: Report,
    /// The records that were dropped on purpose: up to this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped_through: Option<u64>,
    /// The records whose text was erased on purpose.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub erased: Vec<u64>,
    /// The seal; `None` where nothing was sealed yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seal: Option<Seal>,
    /// What another user of the machine has sealed; `None` where nobody does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apart: Option<Apart>,
    /// Everything that is wrong with the seal, the first bad entry first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<SealProblem>,
}

/// What is sealed, and by whom.
#[derive(Debug, Serialize)]
pub struct Seal {
    /// The name of the log.
    pub origin: String,
    /// The last record that is sealed.
    pub size: u64,
    /// When that one was recorded.
    pub time: String,
    /// The root of the tree.
    pub root: String,
    /// Who sealed: `own` is the user whose ledger it is.
    pub level: &'static str,
    /// How many records follow that are not sealed yet.
    pub unsealed: u64,
    /// How many checkpoints were checked.
    pub checkpoints: usize,
    /// How many keys have signed.
    pub keys: usize,
    /// The first key, as it is to be noted elsewhere.
    pub first_key: String,
    /// Whether that was known from elsewhere.
    pub pinned: bool,
    /// What others have signed or stamped.
    pub witnessed: Vec<Witnessed>,
}

/// What another user of the machine has sealed.
#[derive(Debug, Serialize)]
pub struct Apart {
    /// The last record that is sealed.
    pub size: u64,
    /// When that was done.
    pub time: String,
    /// How many records follow that are not sealed apart yet.
    pub unsealed: u64,
}

/// A signature or a stamp of somebody else.
#[derive(Debug, Serialize)]
pub struct Witnessed {
    /// Up to this record.
    pub size: u64,
    /// By whom.
    pub by: String,
    /// When, in seconds since 1970, where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<u64>,
    /// Whether it was checked: without a key nothing can be.
    pub checked: bool,
    /// The program that checked it, where that was not toolgate itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
}

/// Checks everything. An error is only what keeps it from reading the ledger at all.
pub fn audit(state_dir: &Path, known: &Known) -> Result<Audit, LedgerError> {
    audit_telling(state_dir, known, &mut |_| {})
}

/// The same, and tells the number of each record that it comes to.
pub fn audit_telling(
    state_dir: &Path,
    known: &Known,
    tell: &mut dyn FnMut(u64),
) -> Result<Audit, LedgerError> {
    let dir = directory(state_dir);
    // While nobody seals, so that they are all of one time. Whoever checks a copy that cannot be written has no need of it.
    let alone = if dir.is_dir() { alone_within(&dir, PATIENCE).ok().flatten() } else { None };
    let (log, damaged) = match Log::open(state_dir) {
        Ok(log) => (log.filter(|log| !log.checkpoints.is_empty()), None),
        Err(LogError::Ledger(error)) => return Err(error),
        Err(LogError::Damaged(path)) => (None, Some(SealProblem::Damaged { path })),
    };
    let mut of_files = Vec::new();
    if let Some(log) = &log {
        check_files(log, &mut of_files)?;
    }
    drop(alone);
    let empty = Log::empty(state_dir);
    let sealed_apart = known.apart.as_ref().and_then(|seen| seen.checkpoint.as_ref());
    // What is sealed apart is compared also where the person's own seal is gone.
    let of_tree = log.as_ref().or(sealed_apart.map(|_| &empty));
    let mut pass = Pass::new(state_dir, of_tree, known);
    let snapshot = crate::files::Snapshot::take(state_dir)?;
    let of_a_file = problem_of_a_file(state_dir, &snapshot)?;
    let segments = snapshot.older.len() as u64 + u64::from(snapshot.current.is_some());
    drop(snapshot);
    let mut walk = Walk::all(state_dir)?;
    while let Some(placed) = walk.next()? {
        tell(pass.seq);
        pass.line(&placed.line)?;
    }
    pass.end();
    let mut problems = std::mem::take(&mut pass.problems);
    problems.extend(damaged);
    problems.extend(of_files);
    let seal = log.as_ref().map(|log| pass.seal(log, known, &mut problems));
    if seal.is_none() && problems.is_empty() {
        problems.extend(problem_of_no_seal(&dir, pass.first_key.as_ref()));
    }
    if let Some(seen) = &known.apart {
        problems.extend(seen.damaged.clone().map(|path| SealProblem::ApartDamaged { path }));
        problems.extend(seen.refused.clone().map(|why| SealProblem::ApartRefused { why }));
    }
    let apart = sealed_apart.zip(known.apart.as_ref()).map(|(checkpoint, seen)| Apart {
        size: checkpoint.size,
        time: seen.time.clone(),
        unsealed: pass.seq.saturating_sub(1).saturating_sub(checkpoint.size),
    });
    if seal.is_none() && problems.is_empty() && (known.first_key.is_some() || known.noted.is_some()) {
        problems.push(SealProblem::NotSealed);
    }
    problems.sort_by_key(SealProblem::first_entry);
    let Pass { check, dropped_through, mut erased, .. } = pass;
    erased.sort_unstable();
    let mut chain = check.report;
    chain.segments = segments;
    chain.problem = of_a_file.into_iter().chain(chain.problem).next();
    let outcome =
        if chain.problem.is_some() || problems.iter().any(|problem| problem.part() != Part::CannotTell) {
            Outcome::Bad
        } else if problems.is_empty() {
            Outcome::Good
        } else {
            Outcome::CannotTell
        };
    Ok(Audit { outcome, chain, dropped_through, erased, seal, apart, problems })
}

/// One way through all lines.
struct Pass<'a> {
    check: Check,
    problems: Vec<SealProblem>,
    dropped_through: Option<u64>,
    dropped_said: bool,
    /// Records whose text is gone, and those of which a record says so.
    erased: Vec<u64>,
    erased_said: Vec<u64>,
    tree: Option<Tree<'a>>,
    /// The name of the log whose seal is checked.
    origin: Option<&'a str>,
    /// The first record that names a key, whatever the log's name is in it, and that key.
    first_key: Option<(u64, Option<NoteKey>)>,
    /// The number of the next line.
    seq: u64,
}

impl<'a> Pass<'a> {
    fn new(state_dir: &Path, log: Option<&'a Log>, known: &'a Known) -> Pass<'a> {
        let first = first_kept(state_dir);
        Pass {
            check: Check::from(first),
            problems: Vec::new(),
            dropped_through: (first > 1).then(|| first - 1),
            dropped_said: false,
            erased: Vec::new(),
            erased_said: Vec::new(),
            tree: log.map(|log| Tree::new(log, known)),
            origin: log.map(|log| log.origin.as_str()).filter(|origin| !origin.is_empty()),
            first_key: None,
            seq: first,
        }
    }

    fn line(&mut self, line: &StoredLine) -> Result<(), LedgerError> {
        self.check.line(line);
        if line.ending != Ending::Whole {
            return Ok(());
        }
        let mut leaf = Some(leaf_hash(&line.bytes));
        if let Some(own) = own_record(&line.bytes) {
            let number = |name: &str| {
                own.args.iter().find(|(arg, _)| arg == name).and_then(|(_, value)| value.parse().ok())
            };
            match own.event.as_str() {
                REST => {
                    self.erased.push(self.seq);
                    leaf = None;
                }
                ERASED => self.erased_said.extend(number("record")),
                PRUNED => self.dropped_said |= number("through") >= self.dropped_through,
                NEXT_KEY => self.key_record(named_key(&own)),
                _ => {}
            }
        }
        if let Some(tree) = &mut self.tree {
            // What was dropped is in the tiles.
            while tree.lines.size() + 1 < self.seq {
                tree.leaf(None, b"", &mut self.problems)?;
            }
            tree.leaf(leaf, &line.bytes, &mut self.problems)?;
        }
        self.seq += 1;
        Ok(())
    }

    /// A record that names a key. One of a log of another name was written by a sealer whose seal is gone.
    fn key_record(&mut self, key: Option<NoteKey>) {
        let is_foreign = |origin: &str| key.as_ref().is_some_and(|key| key.name() != origin);
        if self.first_key.is_none() && self.origin.is_some_and(is_foreign) {
            self.problems.push(SealProblem::SealedAnew { seq: self.seq });
        }
        self.first_key.get_or_insert((self.seq, key));
    }

    fn end(&mut self) {
        if let Some(through) = self.dropped_through.filter(|_| !self.dropped_said) {
            self.problems.push(SealProblem::DroppedUnsaid { through });
        }
        let unsaid = self.erased.iter().find(|seq| !self.erased_said.contains(seq));
        self.problems.extend(unsaid.map(|seq| SealProblem::ErasedUnsaid { seq: *seq }));
        if let Some(tree) = &mut self.tree {
            tree.end(&mut self.problems);
        }
    }

    /// Checks what was signed, now that the tree is known.
    fn seal(&self, log: &Log, known: &Known, problems: &mut Vec<SealProblem>) -> Seal {
        let last = log.checkpoints.last();
        let size = log.size();
        let mut witnessed = Vec::new();
        for checkpoint in &log.checkpoints {
            problems.extend(problem_of_signature(checkpoint, &log.epochs));
            witnessed.extend(anchor::of_checkpoint(log, checkpoint, known, problems));
        }
        for epoch in log.epochs.iter().skip(1) {
            if !log.checkpoints.iter().any(|checkpoint| checkpoint.size == epoch.seq) {
                problems.push(SealProblem::NoHandover { epoch: epoch.number, seq: epoch.seq });
            }
        }
        let first = log.epochs.first();
        match (first, &known.first_key) {
            (None, _) => problems.push(SealProblem::NoKey),
            (Some(first), Some(pinned)) if first.key != *pinned => {
                problems.push(SealProblem::AnotherFirstKey);
            }
            _ => {}
        }
        Seal {
            origin: log.origin.clone(),
            size,
            time: self.tree.as_ref().map(|tree| tree.time.clone()).unwrap_or_default(),
            root: last.map(|last| last.root.hex()).unwrap_or_default(),
            level: "own",
            unsealed: self.seq.saturating_sub(1).saturating_sub(size),
            checkpoints: log.checkpoints.len(),
            keys: log.epochs.len(),
            first_key: first.map(|first| first.key.to_string()).unwrap_or_default(),
            pinned: known.first_key.is_some(),
            witnessed,
        }
    }
}

/// Where there is no checkpoint: what shows that there was one. A first seal that was killed has named its key, and signed nothing yet.
fn problem_of_no_seal(dir: &Path, named: Option<&(u64, Option<NoteKey>)>) -> Option<SealProblem> {
    let seq = named.map(|(seq, _)| *seq);
    if is_signed(dir) {
        return Some(SealProblem::SealGone { seq });
    }
    let key = named?.1.as_ref();
    let is_present =
        key.is_some_and(|named| public_key(&dir.join("key"), named.name()).as_ref() == Some(named));
    Some(if is_present { SealProblem::Unfinished } else { SealProblem::SealGone { seq } })
}

/// The public half of the key in this file, as a key of this log; `None` where there is none that can be read.
fn public_key(path: &Path, origin: &str) -> Option<NoteKey> {
    let key = key::load(path).ok().flatten()?;
    Some(NoteKey::of_log(origin, key.verifying_key()))
}

/// What lies beside the checkpoints must be of the same time as they.
fn check_files(log: &Log, problems: &mut Vec<SealProblem>) -> Result<(), LedgerError> {
    let path = log.dir.join("checkpoint");
    let text = read(&path)?.unwrap_or_default();
    let signed = load(&log.dir.join("memory"))?.map(|Memory { size }| size);
    // A sealer that was killed has left the one before; the next one writes it again.
    let was_killed = signed.is_none_or(|signed| signed < log.size());
    match str::from_utf8(&text).ok().and_then(Checkpoint::parse) {
        Some(found) if log.checkpoints.last() == Some(&found) => {}
        Some(found) if was_killed && found.size < log.size() => {}
        None if was_killed && text.is_empty() => {}
        Some(found) => problems.push(SealProblem::OldCheckpoint { size: found.size, sealed: log.size() }),
        None => problems.push(SealProblem::Damaged { path }),
    }
    if let Some(signed) = signed.filter(|signed| *signed > log.size()) {
        problems.push(SealProblem::PutBack { size: log.size(), signed });
    }
    let public = |name: &str| public_key(&log.dir.join(name), &log.origin);
    let named = log.epochs.last().map(|epoch| &epoch.key);
    let is_next = public("key.next").as_ref() == named;
    match public("key") {
        Some(present) if Some(&present) != named && !is_next => problems.push(SealProblem::AnotherKey),
        // Whoever checks a copy of the log has no key, and needs none.
        None if !is_next && log.dir.join("key").exists() => {
            problems.push(SealProblem::Damaged { path: log.dir.join("key") });
        }
        _ => {}
    }
    // Other tools check the last checkpoint with it.
    let path = log.dir.join("checkpoint.pem");
    let wanted = epoch_at(&log.epochs, log.size()).map(|epoch| key::pem(&epoch.key));
    let pem = read(&path)?.filter(|_| !was_killed);
    if pem.is_some_and(|pem| wanted.is_none_or(|wanted| wanted.as_bytes() != pem)) {
        problems.push(SealProblem::Damaged { path });
    }
    Ok(())
}

/// Each checkpoint must be signed with the key of its own time, and with no later one.
fn problem_of_signature(checkpoint: &Checkpoint, epochs: &[Epoch]) -> Option<SealProblem> {
    let size = checkpoint.size;
    let epoch = epoch_at(epochs, size)?;
    match checkpoint.signed_by(&epoch.key) {
        Signed::Good(_) => None,
        Signed::Bad => Some(SealProblem::BadSignature { size }),
        Signed::Absent => {
            let by = epochs.iter().find(|other| matches!(checkpoint.signed_by(&other.key), Signed::Good(_)));
            Some(match by {
                Some(other) => {
                    SealProblem::KeyOfAnotherTime { size, epoch: epoch.number, signed: other.number }
                }
                None => SealProblem::BadSignature { size },
            })
        }
    }
}

/// The tree over the lines beside the one on disk.
struct Tree<'a> {
    log: &'a Log,
    /// What the roots must be, by size; the last one first.
    roots: Vec<(u64, Digest, bool)>,
    tiles: TileReader<'a>,
    lines: Frontier,
    /// From the first line on that differs from the tiles: the tree of the tiles.
    apart: Option<(u64, Frontier)>,
    /// The first tile that is not as it should be.
    tile: Option<SealProblem>,
    /// The last size at which all was right.
    good: u64,
    /// When the last sealed record was made.
    time: String,
    blamed: bool,
}

impl<'a> Tree<'a> {
    fn new(log: &'a Log, known: &Known) -> Tree<'a> {
        let apart = known.apart.as_ref().and_then(|seen| seen.checkpoint.as_ref());
        let mut roots: Vec<_> = log.checkpoints.iter().map(|point| (point.size, point.root, false)).collect();
        roots.extend(known.noted.iter().chain(apart).map(|noted| (noted.size, noted.root, true)));
        roots.sort_by_key(|(size, _, _)| std::cmp::Reverse(*size));
        Tree {
            log,
            roots,
            tiles: log.tiles.reader(log.size()),
            lines: Frontier::default(),
            apart: None,
            tile: None,
            good: 0,
            time: String::new(),
            blamed: false,
        }
    }

    /// One more leaf: that of a line, or, where its text is gone, the one in the tiles.
    fn leaf(
        &mut self,
        line: Option<Digest>,
        text: &[u8],
        problems: &mut Vec<SealProblem>,
    ) -> Result<(), LedgerError> {
        let index = self.lines.size();
        let is_sealed = index < self.log.size();
        let tile = if is_sealed { self.tiles.hash(0, index)? } else { None };
        let Some(leaf) = line.or(tile) else {
            if !std::mem::replace(&mut self.blamed, true) {
                problems.push(SealProblem::TileMissing { seq: index + 1 });
            }
            self.lines.push(Digest::of(b""), |_, _| {});
            return Ok(());
        };
        if is_sealed && self.apart.is_none() && tile != Some(leaf) {
            self.apart = Some((index + 1, self.lines.clone()));
        }
        if let Some((_, apart)) = &mut self.apart {
            apart.push(tile.unwrap_or(leaf), |_, _| {});
        }
        let mut above = Vec::new();
        self.lines.push(leaf, |height, root| {
            if height > 0 && height % 8 == 0 {
                above.push((height / 8, *root));
            }
        });
        let size = self.lines.size();
        for (level, root) in above {
            let at = (size >> (8 * level)) - 1;
            if size <= self.log.size() && self.apart.is_none() && self.tiles.hash(level, at)? != Some(root) {
                self.tile.get_or_insert(SealProblem::Tile { level, index: at });
            }
        }
        // Behind a record that differs, all differ or stand elsewhere: that is no word about the key.
        if self.apart.as_ref().is_none_or(|(first, _)| *first == size) {
            let named = self.log.epochs.iter().find(|epoch| epoch.seq == size);
            let is_another = match named {
                Some(epoch) => leaf_hash(&epoch.line) != leaf,
                None => is_sealed && Epoch::of(text, &self.log.origin).is_some(),
            };
            if is_another {
                problems.push(SealProblem::KeyRecord { seq: size });
            }
        }
        if size == self.log.size() {
            self.time = Link::of(text).map(|link| link.time.into_owned()).unwrap_or_default();
        }
        while let Some((_, root, is_noted)) = self.roots.pop_if(|(at, _, _)| *at <= size) {
            self.compare(size, root, is_noted, problems);
        }
        Ok(())
    }

    /// Compares with what was signed.
    fn compare(&mut self, size: u64, root: Digest, is_noted: bool, problems: &mut Vec<SealProblem>) {
        if self.lines.root() == root {
            self.good = size;
            return;
        }
        if std::mem::replace(&mut self.blamed, true) {
            return;
        }
        problems.push(match &self.apart {
            Some((seq, apart)) if apart.root() == root => SealProblem::Changed { seq: *seq },
            _ if is_noted => SealProblem::Forked { after: self.good, size },
            Some((seq, _)) => SealProblem::Root { after: self.good, size, seq: Some(*seq) },
            None => SealProblem::Root { after: self.good, size, seq: None },
        });
    }

    fn end(&mut self, problems: &mut Vec<SealProblem>) {
        let have = self.lines.size();
        if let Some((sealed, _, is_noted)) = self.roots.first().filter(|(size, _, _)| *size > have) {
            problems.push(SealProblem::Cut { have, sealed: *sealed, noted: *is_noted });
        }
        // The lines are as they were sealed, so it is the tile that is not.
        let of_leaf = self.apart.take().map(|(seq, _)| SealProblem::Tile { level: 0, index: seq - 1 });
        if !self.blamed && have >= self.log.size() {
            problems.extend(of_leaf.or(self.tile.take()));
        }
    }
}
