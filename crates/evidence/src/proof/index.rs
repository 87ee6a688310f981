//! An index of the ledger, so that a search reads only what may hold the answer.
//!
//! Promise: it leads to every record that a scan would find, and it is no evidence: whoever verifies does not use it. Where it is
//! missing or damaged, the rest is scanned, and the next seal makes it again.
//!
//! For each 256 records it holds their place, their times, and a short digest of each session, agent, root, policy, rule and path in
//! them. A digest that two texts share costs a look at 256 records, no more.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::files::read;
use super::log::directory;
use super::walk::{Place, Walk};
use crate::draft::rfc3339;
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
}

/// Gives every record that is searched for, the oldest first, until `each` says no.
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

/// Looks at the records with these numbers. Whether more are wanted.
fn look(
    walk: &mut Walk,
    numbers: Range<u64>,
    query: &Query,
    looked: &mut Looked,
    each: &mut impl FnMut(Record) -> bool,
) -> Result<bool, LedgerError> {
    let mut seq = numbers.start;
    while seq < numbers.end
        && let Some(placed) = walk.next()?
    {
        if placed.line.ending != Ending::Whole {
            continue;
        }
        let Ok(record) = serde_json::from_slice::<Record>(&placed.line.bytes) else {
            return Err(LedgerError::Malformed {
                path: placed.line.file.to_path_buf(),
                line: placed.line.number,
            });
        };
        looked.read += 1;
        seq = record.seq.saturating_add(1);
        if numbers.contains(&record.seq) && query.wants(&record) && !each(record) {
            return Ok(false);
        }
    }
    Ok(true)
}
