//! A line of the ledger, named by number and digest: what somebody notes elsewhere, to show later that the ledger was not
//! written anew, nor cut at its end.

use std::fs::File;
use std::path::Path;

use crate::entry::Link;
use crate::files::{self, Lines, Snapshot};
use crate::{Digest, LedgerError};

/// One line of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The record's number.
    pub seq: u64,
    /// The digest of its line, without the newline. Through the chain it stands for all lines before it.
    pub digest: Digest,
}

/// The last line that is whole; `None` where nothing was recorded yet.
pub fn position(state_dir: &Path) -> Result<Option<Position>, LedgerError> {
    let Snapshot { older, current } = Snapshot::take(state_dir)?;
    if let Some(current) = current {
        let end = files::end_of(&current.file, current.length)
            .map_err(|error| LedgerError::about(&current.path, error))?;
        if let Some(last) = end.last {
            return Ok(Some(Position { seq: last.seq, digest: last.digest }));
        }
    }
    let Some(newest) = older.last() else { return Ok(None) };
    let end = File::open(&newest.path)
        .and_then(|file| files::end_of(&file, file.metadata()?.len()))
        .map_err(|error| LedgerError::about(&newest.path, error))?;
    Ok(end.last.map(|last| Position { seq: last.seq, digest: last.digest }))
}

/// The line that has this number; `None` where there is none.
pub fn line(state_dir: &Path, seq: u64) -> Result<Option<Position>, LedgerError> {
    let Snapshot { older, current } = Snapshot::take(state_dir)?;
    // A full file has the number of its first record in its name: one of them is enough.
    let begins_before = older.partition_point(|older| older.first_seq <= seq);
    if let Some(full) = begins_before.checked_sub(1).and_then(|at| older.get(at))
        && let Some(found) = find(Lines::of_older(full)?, seq)?
    {
        return Ok(Some(found));
    }
    current.map(Lines::of_current).map_or(Ok(None), |lines| find(lines, seq))
}

fn find(mut lines: Lines, seq: u64) -> Result<Option<Position>, LedgerError> {
    while let Some(line) = lines.next()? {
        if line.ended && Link::of(line.bytes).is_some_and(|link| link.seq == seq) {
            return Ok(Some(Position { seq, digest: Digest::of(line.bytes) }));
        }
    }
    Ok(None)
}
