//! A line of the ledger, named by number and digest: what somebody notes elsewhere, to show later that the ledger was not
//! written anew, nor cut at its end.

use std::fs::File;
use std::path::Path;

use crate::files::{self, Snapshot};
use crate::record::Link;
use crate::records::{Ending, Part, Records};
use crate::{Digest, LedgerError};

/// A record's place in the chain: its number and the digest of its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The record's number.
    pub seq: u64,
    /// The digest of its line, without the newline. Through the chain it vouches for all lines before it.
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

/// The place of the record with this number; `None` where there is none.
pub fn position_of(records: &dyn Records, seq: u64) -> Result<Option<Position>, LedgerError> {
    for line in records.lines(Part::Numbers(seq..=seq))? {
        let line = line?;
        if line.ending == Ending::Whole && Link::of(&line.bytes).is_some_and(|link| link.seq == seq) {
            return Ok(Some(Position { seq, digest: Digest::of(&line.bytes) }));
        }
    }
    Ok(None)
}
