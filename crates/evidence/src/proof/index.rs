//! An index of the ledger, so that a search reads only what may hold the answer.
//!
//! Promise: it leads to every record that a scan would find, and it is no evidence: whoever verifies does not use it. Where it is
//! missing or damaged, the rest is scanned, and the next seal makes it again.
//!
//! For each 256 records it holds their place, their times, and a short digest of each session, agent, root, policy, rule and path in
//! them. A digest that two texts share costs a look at 256 records, no more.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use super::files::read;
use super::log::directory;
use super::walk::{Place, Walk, first_seq};
use crate::draft::rfc3339;
use crate::files::{Current, Older, Snapshot};
use crate::record::Link;
use crate::records::Ending;
use crate::{Digest, LedgerError, Record};

/// So many records are one block.
const BLOCK: u64 = 256;

/// What a record is searched by.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Of this session.
    pub session: Option<String>,
    /// Of this agent.
    pub agent: Option<String>,
    /// Of an agent that was confined to this directory.
    pub root: Option<String>,
    /// With a finding of this policy, or of this rule.
    pub policy: Option<String>,
    /// About this path: an argument or a finding names it.
    pub path: Option<String>,
    /// Not before this time, in RFC 3339 and UTC.
    pub since: Option<String>,
    /// Denied.
    pub denied: bool,
}

/// A time that people write, as records write it: `2026-11-18`, `2026-11-18T05:00:00Z`, or how long ago it is: `90m`, `3d`. `None` where
/// it is none of these.
pub fn time(text: &str, now: SystemTime) -> Option<String> {
    let at = humantime::parse_duration(text).ok().and_then(|ago| now.checked_sub(ago));
    let at = at.or_else(|| humantime::parse_rfc3339_weak(text).ok());
    let at = at.or_else(|| humantime::parse_rfc3339(&format!("{text}T00:00:00Z")).ok());
    at.map(rfc3339)
}

impl Query {
    /// Whether nothing is asked for: every record is wanted.
    pub fn is_empty(&self) -> bool {
        self.terms().is_empty() && self.since.is_none()
    }

    /// Whether a record is one that is searched for.
    pub fn wants(&self, record: &Record) -> bool {
        let is =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        let of_policy = |wanted: &String| {
            record.findings.iter().any(|finding| finding.policy == *wanted || finding.rule == *wanted)
        };
        let of_path = |wanted: &String| paths(record).any(|path| path == wanted);
        is(&self.session, &record.session)
            && is(&self.agent, &record.agent)
            && is(&self.root, &record.root)
            && self.policy.as_ref().is_none_or(of_policy)
            && self.path.as_ref().is_none_or(of_path)
            && self.since.as_ref().is_none_or(|since| record.time >= *since)
            && (!self.denied || record.is_denied())
    }

    /// What a block must hold, that such a record can be in it.
    fn terms(&self) -> Vec<u32> {
        let named = [
            ("session", &self.session),
            ("agent", &self.agent),
            ("root", &self.root),
            ("policy", &self.policy),
            ("path", &self.path),
        ];
        let terms = named.iter().filter_map(|(kind, text)| text.as_ref().map(|text| term(kind, text)));
        terms.chain(self.denied.then(|| term("denied", ""))).collect()
    }
}

/// The paths that a record names.
fn paths(record: &Record) -> impl Iterator<Item = &String> {
    let args = record.args.iter().map(|(_, value)| value).filter(|value| value.contains('/'));
    args.chain(record.findings.iter().map(|finding| &finding.path)).filter(|path| !path.is_empty())
}

fn term(kind: &str, text: &str) -> u32 {
    let digest = Digest::of(format!("{kind}\0{text}").as_bytes());
    u32::from_be_bytes(digest.bytes().first_chunk().copied().unwrap_or_default())
}

fn terms_of(record: &Record, into: &mut BTreeSet<u32>) {
    let named = [("session", &record.session), ("agent", &record.agent), ("root", &record.root)];
    into.extend(named.iter().map(|(kind, text)| term(kind, text)));
    for finding in &record.findings {
        into.extend([term("policy", &finding.policy), term("policy", &finding.rule)]);
    }
    into.extend(paths(record).map(|path| term("path", path)));
    if record.is_denied() {
        into.insert(term("denied", ""));
    }
}

/// What is known of 256 records.
#[derive(Debug, Serialize, Deserialize)]
struct Block {
    /// The first of them.
    seq: u64,
    place: Place,
    /// Behind the last of them.
    end: Place,
    /// The latest time. Clocks are set back, so it need not be that of the last one.
    until: String,
    terms: Vec<u32>,
}

fn file(state_dir: &Path) -> PathBuf {
    directory(state_dir).join("index")
}

/// The blocks that are whole and follow each other, and how many bytes they take.
fn load(state_dir: &Path) -> Result<(Vec<Block>, u64), LedgerError> {
    let bytes = read(&file(state_dir))?.unwrap_or_default();
    let mut blocks: Vec<Block> = Vec::new();
    let mut rest = bytes.as_slice();
    while let Some((head, tail)) = rest.split_first_chunk::<12>() {
        let (length, sum) = head.split_at(4);
        let length =
            usize::try_from(u32::from_le_bytes(length.try_into().unwrap_or_default())).unwrap_or(usize::MAX);
        let Some((block, tail)) = tail.split_at_checked(length) else { break };
        let wanted = blocks.last().map_or(1, |last| last.seq + BLOCK);
        let is_whole = Digest::of(block).short() == *sum;
        match postcard::from_bytes::<Block>(block) {
            Ok(block) if is_whole && (block.seq == wanted || blocks.is_empty()) => blocks.push(block),
            _ => break,
        }
        rest = tail;
    }
    Ok((blocks, (bytes.len() - rest.len()) as u64))
}

/// Takes in the blocks that are full by now, up to this record.
pub(crate) fn extend(state_dir: &Path, size: u64) -> Result<(), LedgerError> {
    let (blocks, length) = load(state_dir)?;
    let first = crate::verify::first_kept(state_dir);
    let mut seq = blocks.last().map_or(first, |last| last.seq + BLOCK);
    if seq + BLOCK > size + 1 {
        return Ok(());
    }
    let from = blocks.last().map(|last| Walk::from(state_dir, last.end)).transpose()?.flatten();
    let mut walk = match from {
        Some(walk) => walk,
        None => Walk::around(state_dir, seq)?,
    };
    let path = file(state_dir);
    let failed = |error| LedgerError::about(&path, error);
    let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
    let mut out = opened.map_err(failed)?;
    out.set_len(length).map_err(failed)?;
    std::io::Seek::seek(&mut out, std::io::SeekFrom::End(0)).map_err(failed)?;
    let mut terms = BTreeSet::new();
    let (mut begun, mut until, mut count) = (None, String::new(), 0);
    while let Some(placed) = walk.next()? {
        if placed.line.ending != Ending::Whole || seq > size {
            break;
        }
        let Some(link) = Link::of(&placed.line.bytes) else { continue };
        if link.seq < seq {
            continue;
        }
        if link.seq != seq + count {
            break;
        }
        if let Ok(record) = serde_json::from_slice::<Record>(&placed.line.bytes) {
            terms_of(&record, &mut terms);
        }
        if *until < *link.time {
            until = link.time.into_owned();
        }
        begun.get_or_insert(placed.place);
        count += 1;
        if count == BLOCK {
            let place = begun.take().unwrap_or(placed.place);
            let terms = std::mem::take(&mut terms).into_iter().collect();
            let block = Block { seq, place, end: placed.behind(), until: std::mem::take(&mut until), terms };
            let bytes =
                postcard::to_allocvec(&block).map_err(|error| failed(std::io::Error::other(error)))?;
            let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            let entry = [&length.to_le_bytes()[..], &Digest::of(&bytes).short(), &bytes].concat();
            out.write_all(&entry).map_err(failed)?;
            seq += BLOCK;
            count = 0;
        }
    }
    Ok(())
}

/// Forgets the index: places have changed.
pub(crate) fn forget(state_dir: &Path) -> Result<(), LedgerError> {
    match std::fs::remove_file(file(state_dir)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(LedgerError::about(&file(state_dir), error)),
        _ => Ok(()),
    }
}

/// How much of a ledger a search has looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Looked {
    /// Records that were read.
    pub read: u64,
    /// Records that were passed over, since the index says that they are others.
    pub passed: u64,
    /// Lines that are no records, as far as they were met; `verify` says more.
    pub unreadable: u64,
    /// Everything below this number is still to be looked at, where [`search_back`] was given no more time.
    pub next: Option<u64>,
}

/// Gives every record that is searched for, the oldest first, until `each` says no. A line that is no record is counted and passed over: one
/// of them must not hide the rest.
pub fn search(
    state_dir: &Path,
    query: &Query,
    mut each: impl FnMut(Record) -> bool,
) -> Result<Looked, LedgerError> {
    let (blocks, _) = load(state_dir)?;
    let wanted = query.terms();
    let mut looked = Looked::default();
    let mut next = blocks.first().map_or(0, |first| first.seq);
    for block in &blocks {
        next = block.seq + BLOCK;
        let has_all = wanted.iter().all(|term| block.terms.binary_search(term).is_ok());
        let is_late = query.since.as_ref().is_none_or(|since| block.until >= *since);
        if !has_all || !is_late {
            looked.passed += BLOCK;
            continue;
        }
        // A place that is gone is looked for: what the index says may cost time, and never an answer.
        let mut walk = match Walk::from(state_dir, block.place)? {
            Some(walk) => walk,
            None => Walk::around(state_dir, block.seq)?,
        };
        if !look(&mut walk, block.seq..next, query, &mut looked, &mut each)? {
            return Ok(looked);
        }
    }
    let rest = blocks.last().map(|last| Walk::from(state_dir, last.end)).transpose()?.flatten();
    let mut walk = match rest {
        Some(walk) => walk,
        None => Walk::around(state_dir, next)?,
    };
    look(&mut walk, next..u64::MAX, query, &mut looked, &mut each)?;
    Ok(looked)
}

/// Gives every record that is searched for and has a number below `before`, the newest first, until `each` says no or `patience` has run out:
/// then [`Looked::next`] says where to go on.
///
/// For people who page back from the end: a line that is no record is counted and passed over.
pub fn search_back(
    state_dir: &Path,
    query: &Query,
    before: u64,
    patience: Duration,
    each: impl FnMut(Record) -> bool,
) -> Result<Looked, LedgerError> {
    let (blocks, _) = load(state_dir)?;
    let wanted = query.terms();
    let looked = Looked::default();
    let mut back = Back { state_dir, query, end: before, looked, begun: Instant::now(), patience, each };
    let indexed = blocks.last().map_or(0, |last| last.seq + BLOCK);
    if before > indexed {
        for file in unindexed(state_dir, blocks.last())? {
            if file.first_seq >= back.end {
                continue;
            }
            for offset in file.marks()?.into_iter().rev() {
                if !back.look(Place { first_seq: file.first_seq, offset }, indexed)? {
                    return Ok(back.looked);
                }
            }
        }
        back.end = back.end.min(indexed);
    }
    for block in blocks.iter().rev().filter(|block| block.seq < before) {
        let has_all = wanted.iter().all(|term| block.terms.binary_search(term).is_ok());
        let is_late = query.since.as_ref().is_none_or(|since| block.until >= *since);
        if !has_all || !is_late {
            back.looked.passed += BLOCK;
        } else if !back.look(block.place, block.seq)? {
            break;
        }
        back.end = back.end.min(block.seq);
    }
    Ok(back.looked)
}

/// A search that has come so far.
struct Back<'b, F> {
    state_dir: &'b Path,
    query: &'b Query,
    /// Everything from this number on was looked at.
    end: u64,
    looked: Looked,
    begun: Instant,
    patience: Duration,
    each: F,
}

impl<F: FnMut(Record) -> bool> Back<'_, F> {
    /// Looks at the records from this place on that were not looked at yet, the newest first. Whether more are wanted.
    fn look(&mut self, place: Place, from: u64) -> Result<bool, LedgerError> {
        if self.looked.read > 0 && self.begun.elapsed() > self.patience {
            self.looked.next = Some(self.end);
            return Ok(false);
        }
        // A place that is gone is looked for: what the index says may cost time, and never an answer.
        let mut walk = match Walk::from(self.state_dir, place)? {
            Some(walk) => walk,
            None => Walk::around(self.state_dir, from)?,
        };
        let mut found = Vec::new();
        let mut first = None;
        while let Some(placed) = walk.next()? {
            if placed.line.ending != Ending::Whole {
                continue;
            }
            let Ok(record) = serde_json::from_slice::<Record>(&placed.line.bytes) else {
                self.looked.unreadable += 1;
                continue;
            };
            if record.seq >= self.end {
                break;
            }
            let is_last = record.seq.saturating_add(1) == self.end;
            if record.seq >= from {
                first.get_or_insert(record.seq);
                self.looked.read += 1;
                if self.query.wants(&record) {
                    found.push(record);
                }
            }
            if is_last {
                break;
            }
        }
        self.end = first.unwrap_or(self.end);
        Ok(found.into_iter().rev().all(&mut self.each))
    }
}

/// A file with records that the index does not have yet.
struct Unindexed {
    first_seq: u64,
    path: PathBuf,
    /// Where they begin.
    from: u64,
    length: u64,
}

/// All of them, the newest first.
fn unindexed(state_dir: &Path, last: Option<&Block>) -> Result<Vec<Unindexed>, LedgerError> {
    let Snapshot { older, current } = Snapshot::take(state_dir)?;
    let mut files = Vec::new();
    for Older { first_seq, path } in older {
        let length = std::fs::metadata(&path).map_err(|error| LedgerError::about(&path, error))?.len();
        files.push(Unindexed { first_seq, path, from: 0, length });
    }
    if let Some(Current { path, file, length }) = current {
        let first_seq = first_seq(&file).unwrap_or(0);
        files.push(Unindexed { first_seq, path, from: 0, length });
    }
    if let Some(last) = last {
        // A place that is gone costs time, as above.
        let is_there =
            |file: &Unindexed| file.first_seq == last.end.first_seq && last.end.offset <= file.length;
        if let Some(at) = files.iter().position(is_there) {
            files.drain(..at);
            if let Some(file) = files.first_mut() {
                file.from = last.end.offset;
            }
        }
    }
    files.reverse();
    Ok(files)
}

impl Unindexed {
    /// Where every 256th line begins. Nothing is read but for its line breaks.
    fn marks(&self) -> Result<Vec<u64>, LedgerError> {
        let failed = |error| LedgerError::about(&self.path, error);
        let file = File::open(&self.path).map_err(failed)?;
        let mut marks = vec![self.from];
        let (mut at, mut lines) = (self.from, 0);
        let mut bytes = vec![0; 256 * 1024];
        while at < self.length {
            let read = file.read_at(&mut bytes, at).map_err(failed)?;
            if read == 0 {
                break;
            }
            for (place, byte) in (at..).zip(bytes.get(..read).unwrap_or_default()) {
                if *byte == b'\n' {
                    lines += 1;
                    if lines % BLOCK == 0 && place + 1 < self.length {
                        marks.push(place + 1);
                    }
                }
            }
            at += read as u64;
        }
        Ok(marks)
    }
}

/// Looks at the records from the first of these numbers on, as many as these are. Whether more are wanted.
fn look(
    walk: &mut Walk,
    numbers: Range<u64>,
    query: &Query,
    looked: &mut Looked,
    each: &mut impl FnMut(Record) -> bool,
) -> Result<bool, LedgerError> {
    // Lines are counted, and their numbers are not followed: one that is far too high must not hide what stands behind it.
    let most = numbers.end.saturating_sub(numbers.start);
    let mut lines = 0;
    while lines < most
        && let Some(placed) = walk.next()?
    {
        if placed.line.ending != Ending::Whole {
            continue;
        }
        let Ok(record) = serde_json::from_slice::<Record>(&placed.line.bytes) else {
            looked.unreadable += 1;
            lines += u64::from(lines > 0);
            continue;
        };
        looked.read += 1;
        if record.seq < numbers.start && lines == 0 {
            continue;
        }
        lines += 1;
        if query.wants(&record) && !each(record) {
            return Ok(false);
        }
    }
    Ok(true)
}
