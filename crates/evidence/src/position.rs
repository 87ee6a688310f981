//! A line of the ledger, named by number and digest: what somebody notes elsewhere, to show later that the ledger was not
//! written anew, nor cut at its end.

use std::fs::File;
use std::path::Path;

use crate::files::{self, RawLines, Snapshot};
use crate::record::Link;
use crate::{Digest, LedgerError};

/// Where a record stands: its number and the digest of its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The record's number.
    pub seq: u64,
    /// The digest of its line, without the newline. Through the chain it stands for all lines before it.
    pub digest: Digest,
}

/// The last line that is whole; `None` where nothing was recorded yet.
pub fn last_position(state_dir: &Path) -> Result<Option<Position>, LedgerError> {
    let Snapshot { older, current } = Snapshot::take(state_dir)?;
    if let Some(current) = current {
        let end = files::end_of(&current.file, current.length)
            .map_err(|error| LedgerError::about(&current.path, error))?;
        if let Some(last) = end.last {
            return Ok(Some(last));
        }
    }
    let Some(newest) = older.last() else { return Ok(None) };
    let end = File::open(&newest.path)
        .and_then(|file| files::end_of(&file, file.metadata()?.len()))
        .map_err(|error| LedgerError::about(&newest.path, error))?;
    Ok(end.last)
}

/// The line that has this number; `None` where there is none.
pub fn position_of(state_dir: &Path, seq: u64) -> Result<Option<Position>, LedgerError> {
    let Snapshot { older, current } = Snapshot::take(state_dir)?;
    // A full file has the number of its first record in its name: one of them is enough.
    let begins_before = older.partition_point(|older| older.first_seq <= seq);
    if let Some(full) = begins_before.checked_sub(1).and_then(|at| older.get(at))
        && let Some(found) = find(RawLines::of_older(full)?, seq)?
    {
        return Ok(Some(found));
    }
    current.map(RawLines::of_current).map_or(Ok(None), |lines| find(lines, seq))
}

fn find(mut lines: RawLines, seq: u64) -> Result<Option<Position>, LedgerError> {
    while let Some(line) = lines.next()? {
        if line.ended && Link::of(line.bytes).is_some_and(|link| link.seq == seq) {
            return Ok(Some(Position { seq, digest: Digest::of(line.bytes) }));
        }
    }
    Ok(None)
}
