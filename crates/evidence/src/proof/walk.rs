//! The lines of the ledger with their places, from a place on: so that nothing is read twice.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files::{Current, Older, RawLines, Snapshot};
use crate::record::{Link, MAX_LINE};
use crate::records::StoredLine;
use crate::{Digest, LedgerError};

/// Where a line begins: in the file that begins with this record, at this offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) first_seq: u64,
    pub(crate) offset: u64,
}

/// A line with its place.
#[derive(Debug)]
pub(crate) struct PlacedLine {
    pub(crate) line: StoredLine,
    pub(crate) place: Place,
}

impl PlacedLine {
    /// Where the next line begins, if it is in the same file.
    pub(crate) fn behind(&self) -> Place {
        Place { offset: self.place.offset + self.line.bytes.len() as u64 + 1, ..self.place }
    }

    /// The line's digest, as the next line names it.
    pub(crate) fn digest(&self) -> Digest {
        Digest::of(&self.line.bytes)
    }
}

/// Lines that are still to be read.
#[derive(Debug)]
pub(crate) struct Walk {
    older: VecDeque<Older>,
    current: Option<Current>,
    open: Option<(RawLines, Place)>,
    /// Where to begin in the first file.
    offset: u64,
}

impl Walk {
    /// All lines.
    pub(crate) fn all(state_dir: &Path) -> Result<Walk, LedgerError> {
        let Snapshot { older, current } = Snapshot::take(state_dir)?;
        Ok(Walk { older: older.into(), current, open: None, offset: 0 })
    }

    /// The lines from the file on that has the record of this number.
    pub(crate) fn around(state_dir: &Path, seq: u64) -> Result<Walk, LedgerError> {
        let mut walk = Walk::all(state_dir)?;
        while walk.older.len() > 1 && walk.older.get(1).is_some_and(|next| next.first_seq <= seq) {
            walk.older.pop_front();
        }
        // The only full file that is left may end before it too.
        if let [_] = walk.older.make_contiguous()
            && walk
                .current
                .as_ref()
                .is_some_and(|current| first_seq(&current.file).is_ok_and(|first| first <= seq))
        {
            walk.older.clear();
        }
        Ok(walk)
    }

    /// The lines from this place on; `None` where there is no such place.
    pub(crate) fn from(state_dir: &Path, place: Place) -> Result<Option<Walk>, LedgerError> {
        let mut walk = Walk::all(state_dir)?;
        walk.older.retain(|older| older.first_seq >= place.first_seq);
        let (length, found) = match (walk.older.front(), &walk.current) {
            (Some(older), _) => {
                let length =
                    std::fs::metadata(&older.path).map_err(|error| LedgerError::about(&older.path, error))?;
                (length.len(), older.first_seq)
            }
            (None, Some(current)) => (current.length, first_seq(&current.file).unwrap_or(0)),
            (None, None) => return Ok(None),
        };
        walk.offset = place.offset;
        Ok((found == place.first_seq && place.offset <= length).then_some(walk))
    }

    pub(crate) fn next(&mut self) -> Result<Option<PlacedLine>, LedgerError> {
        loop {
            let Some((lines, place)) = &mut self.open else {
                if !self.open_next()? {
                    return Ok(None);
                }
                continue;
            };
            let Some(line) = lines.next()? else {
                self.open = None;
                continue;
            };
            let placed = PlacedLine { line, place: *place };
            *place = placed.behind();
            return Ok(Some(placed));
        }
    }

    fn open_next(&mut self) -> Result<bool, LedgerError> {
        let offset = std::mem::take(&mut self.offset);
        let (mut lines, first_seq) = if let Some(older) = self.older.pop_front() {
            (RawLines::of_older(&older)?, older.first_seq)
        } else if let Some(current) = self.current.take() {
            let first = first_seq(&current.file).unwrap_or(0);
            (RawLines::of_current(current), first)
        } else {
            return Ok(false);
        };
        lines.skip_to(offset)?;
        self.open = Some((lines, Place { first_seq, offset }));
        Ok(true)
    }
}

/// The number of a file's first record.
pub(crate) fn first_seq(file: &File) -> io::Result<u64> {
    let mut bytes = vec![0; MAX_LINE];
    let read = file.read_at(&mut bytes, 0)?;
    let line = bytes.get(..read).unwrap_or_default().split(|byte| *byte == b'\n').next();
    let link = line.and_then(Link::of).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    Ok(link.seq)
}
