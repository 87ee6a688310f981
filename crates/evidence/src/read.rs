//! Reads the ledger: all of it, or its end.
//!
//! What a crash left half written at the very end is passed over; [`crate::verify()`] tells of it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::files::{Current, Older, RawLines, Snapshot};
use crate::{LedgerError, Record};

/// All records, the oldest first.
pub fn entries(state_dir: &Path) -> Result<Entries, LedgerError> {
    let Snapshot { older, current } = Snapshot::take(state_dir)?;
    Ok(Entries { lines: None, older: older.into_iter(), current, offset: 0 })
}

/// The last `count` records, the oldest of them first. Reads no more of the files than it has to.
pub fn tail(state_dir: &Path, count: usize) -> Result<Entries, LedgerError> {
    let Snapshot { mut older, current } = Snapshot::take(state_dir)?;
    let mut missing = count;
    let mut offset = 0;
    if let Some(current) = &current {
        (offset, missing) = start_of_last(&current.file, current.length, missing)
            .map_err(|error| LedgerError::about(&current.path, error))?;
    }
    let mut oldest = older.len();
    while missing > 0 && oldest > 0 {
        oldest -= 1;
        let Some(Older { path, .. }) = older.get(oldest) else {
            break;
        };
        (offset, missing) = File::open(path)
            .and_then(|file| start_of_last(&file, file.metadata()?.len(), missing))
            .map_err(|error| LedgerError::about(path, error))?;
    }
    Ok(Entries { lines: None, older: older.split_off(oldest).into_iter(), current, offset })
}

/// Records of the ledger, in their order. A line that is no record is an error, and the next one is read all
/// the same; a file that cannot be read ends it.
#[derive(Debug)]
pub struct Entries {
    lines: Option<RawLines>,
    older: std::vec::IntoIter<Older>,
    current: Option<Current>,
    /// Where to begin in the first file.
    offset: u64,
}

impl Iterator for Entries {
    type Item = Result<Record, LedgerError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.step() {
            Ok(record) => record.map(Ok),
            Err(error) => {
                if !matches!(error, LedgerError::Malformed { .. }) {
                    self.lines = None;
                    self.older = Vec::new().into_iter();
                    self.current = None;
                }
                Some(Err(error))
            }
        }
    }
}

impl Entries {
    fn step(&mut self) -> Result<Option<Record>, LedgerError> {
        loop {
            let Some(lines) = &mut self.lines else {
                let mut lines = if let Some(older) = self.older.next() {
                    RawLines::of_older(&older)?
                } else if let Some(current) = self.current.take() {
                    RawLines::of_current(current)
                } else {
                    return Ok(None);
                };
                lines.skip_to(std::mem::take(&mut self.offset))?;
                self.lines = Some(lines);
                continue;
            };
            let Some(line) = lines.next()? else {
                self.lines = None;
                continue;
            };
            if line.ended {
                let record = serde_json::from_slice(line.bytes).ok();
                return record.map(Some).ok_or_else(|| LedgerError::Malformed {
                    path: lines.path.clone(),
                    line: lines.number(),
                });
            }
        }
    }
}

/// Where the last `count` lines of a file begin, and how many of them it does not have.
fn start_of_last(file: &File, length: u64, count: usize) -> io::Result<(u64, usize)> {
    const STEP: u64 = 64 * 1024;
    let mut bytes = Vec::new();
    // Newlines that end a line which is wanted; the one before them ends the line before.
    let mut found = 0;
    let mut end = length;
    while end > 0 {
        let start = end.saturating_sub(STEP);
        bytes.resize(usize::try_from(end - start).map_err(io::Error::other)?, 0);
        file.read_exact_at(&mut bytes, start)?;
        for (at, byte) in bytes.iter().enumerate().rev() {
            if *byte == b'\n' {
                if found == count {
                    return Ok((start + at as u64 + 1, 0));
                }
                found += 1;
            }
        }
        end = start;
    }
    Ok((0, count - found))
}
