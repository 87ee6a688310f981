//! What is no longer kept: old files as a whole, and the text of one record. The tree keeps their hashes, so that what remains can be
//! verified and proved as before.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use toolgate_secrets::redact;

use super::files::write_private;
use super::index;
use super::log::{Log, LogError, directory};
use super::merkle::leaf_hash;
use super::seal::{SealError, alone, seal};
use super::walk::Walk;
use crate::draft::rfc3339;
use crate::ledger::Go;
use crate::record::{ERASED, Link, PRUNED, REST, Record, own_record};
use crate::verify::DROPPED;
use crate::word::Word;
use crate::{Ledger, LedgerError, files, lock};

/// So long it waits for those who write.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why nothing was dropped or erased.
#[derive(Debug)]
pub enum RetentionError {
    /// It could not be sealed, and what is not sealed is not dropped.
    Seal(SealError),
    /// A file cannot be used.
    Log(LogError),
    /// Somebody is sealing.
    Busy,
    /// There is no such record.
    NoRecord,
    /// The record speaks of the ledger itself, and verification needs it.
    Needed,
    /// It was erased before.
    Erased,
    /// Its line is too short for what has to stay.
    TooShort,
}

impl From<SealError> for RetentionError {
    fn from(error: SealError) -> RetentionError {
        RetentionError::Seal(error)
    }
}

impl From<LogError> for RetentionError {
    fn from(error: LogError) -> RetentionError {
        RetentionError::Log(error)
    }
}

impl From<LedgerError> for RetentionError {
    fn from(error: LedgerError) -> RetentionError {
        RetentionError::Log(LogError::Ledger(error))
    }
}

impl std::fmt::Display for RetentionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RetentionError::Seal(error) => error.fmt(f),
            RetentionError::Log(error) => error.fmt(f),
            RetentionError::Busy => f.write_str("another process is sealing: try again"),
            RetentionError::NoRecord => f.write_str("there is no such record"),
            RetentionError::Needed => {
                f.write_str("this record is about the log itself, and verification needs it")
            }
            RetentionError::Erased => f.write_str("its text was erased before"),
            RetentionError::TooShort => f.write_str("its line is too short for what must remain of it"),
        }
    }
}

impl std::error::Error for RetentionError {}

/// What was dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropped {
    /// So many files.
    pub files: usize,
    /// All records up to this one.
    pub through: u64,
}

/// Drops the full files whose records are all older than this time. The growing one stays. Everything is sealed before, and a record
/// says what was dropped, and by whom.
///
/// `who`: who wants it and how that is known, as the record is to say it.
pub fn prune(
    state_dir: &Path,
    before: &str,
    who: &[(&str, &str)],
    now: SystemTime,
) -> Result<Dropped, RetentionError> {
    seal(state_dir, now, false)?;
    let mut dropped = Dropped::default();
    let all = files::older(state_dir)?;
    let mut old = Vec::new();
    for older in &all {
        let file = File::open(&older.path).map_err(|error| LedgerError::about(&older.path, error))?;
        let length = file.metadata().map_err(|error| LedgerError::about(&older.path, error))?.len();
        let last = files::end_of(&file, length).map_err(|error| LedgerError::about(&older.path, error))?.last;
        let Some(last) = last else { break };
        if !is_older(state_dir, older.first_seq, last.seq, before)? {
            break;
        }
        dropped = Dropped { files: dropped.files + 1, through: last.seq };
        old.push(&older.path);
    }
    if old.is_empty() {
        return Ok(dropped);
    }
    let _lock = alone(&directory(state_dir))?.ok_or(RetentionError::Busy)?;
    let log = Log::open(state_dir)?;
    if log.is_none_or(|log| log.size() < dropped.through) {
        return Err(RetentionError::Busy);
    }
    // INVARIANT: the record comes first. Whoever is killed in between has dropped less than it says.
    own(state_dir, PRUNED, ("through", dropped.through), who, now)?;
    write_private(&state_dir.join(DROPPED), dropped.through.to_string().as_bytes(), true)?;
    for path in old {
        fs::remove_file(path).map_err(|error| LedgerError::about(path, error))?;
    }
    index::forget(state_dir)?;
    Ok(dropped)
}

/// Whether all of these records are older.
fn is_older(state_dir: &Path, first: u64, last: u64, before: &str) -> Result<bool, LedgerError> {
    let mut walk = Walk::around(state_dir, first)?;
    while let Some(placed) = walk.next()? {
        let Some(link) = Link::of(&placed.line.bytes) else { continue };
        if link.seq > last {
            break;
        }
        if *link.time >= *before {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What stays of a record whose text is erased.
#[derive(Serialize)]
struct Rest<'r> {
    seq: u64,
    time: &'r str,
    event: &'r str,
    decision: &'r Word<toolgate_model::Decision>,
    prev: &'r str,
}

/// Erases the text of one record, in its place: number, time, decision and link stay, and its hash in the tree. A record says so, and
/// by whom. Best effort where a disk keeps old copies of what is overwritten.
///
/// `who`: who wants it and how that is known, as the record is to say it.
pub fn erase(
    state_dir: &Path,
    seq: u64,
    who: &[(&str, &str)],
    now: SystemTime,
) -> Result<(), RetentionError> {
    seal(state_dir, now, false)?;
    let lock = alone(&directory(state_dir))?.ok_or(RetentionError::Busy)?;
    let log = Log::open(state_dir)?.filter(|log| seq <= log.size()).ok_or(RetentionError::NoRecord)?;
    let mut walk = Walk::around(state_dir, seq)?;
    let placed = loop {
        let Some(placed) = walk.next()? else { return Err(RetentionError::NoRecord) };
        if Link::of(&placed.line.bytes).is_some_and(|link| link.seq == seq) {
            break placed;
        }
    };
    let line = &placed.line.bytes;
    match own_record(line) {
        Some(own) if own.event == REST => return Err(RetentionError::Erased),
        Some(_) => return Err(RetentionError::Needed),
        None => {}
    }
    // What is erased must be what was sealed: its hash is all that stays.
    let kept = log.tiles.reader(log.size()).hash(0, seq.saturating_sub(1))?;
    if kept != Some(leaf_hash(line)) {
        return Err(RetentionError::Seal(SealError::NotExtended { seq }));
    }
    let record: Record = serde_json::from_slice(line).map_err(|_| RetentionError::NoRecord)?;
    let rest = Rest { seq, time: &record.time, event: REST, decision: &record.decision, prev: &record.prev };
    let mut rest = serde_json::to_vec(&rest).map_err(|_| RetentionError::NoRecord)?;
    if rest.len() > line.len() {
        return Err(RetentionError::TooShort);
    }
    rest.resize(line.len(), b' ');
    own(state_dir, ERASED, ("record", seq), who, now)?;
    overwrite(&placed.line.file, placed.place.offset, line, &rest)?;
    drop(lock);
    seal(state_dir, now, false)?;
    Ok(())
}

/// Writes over a line that is still there, while nobody appends or renames.
fn overwrite(path: &Path, offset: u64, line: &[u8], rest: &[u8]) -> Result<(), RetentionError> {
    let failed = |error| LedgerError::about(path, error);
    let file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
    lock::wait(path, Instant::now() + PATIENCE, || file.try_lock())?;
    let mut there = vec![0; line.len()];
    file.read_exact_at(&mut there, offset).map_err(failed)?;
    // The file was full in the meantime, and another one has its name.
    if there != line {
        return Err(RetentionError::Busy);
    }
    file.write_all_at(rest, offset).and_then(|()| file.sync_data()).map_err(failed)?;
    Ok(())
}

/// Writes a record of the ledger about itself.
fn own(
    state_dir: &Path,
    event: &str,
    (name, number): (&str, u64),
    who: &[(&str, &str)],
    now: SystemTime,
) -> Result<(), LedgerError> {
    let who = who.iter().map(|(name, value)| ((*name).to_owned(), redact(value).into_string()));
    let args = std::iter::once((name.to_owned(), number.to_string())).chain(who).collect();
    let mut record = Record { args, ..Record::blank(rfc3339(now), event.to_owned()) };
    Ledger::at(state_dir).append_record(&mut record, Instant::now() + PATIENCE, |_, _| Ok(Go::On)).map(|_| ())
}
