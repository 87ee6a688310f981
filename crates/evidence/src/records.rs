//! How records are read, wherever they are kept.
//!
//! Promise: whoever reads (verification, totals, tallies, lists for people) goes through [`Records`]. The ledger's files
//! implement it, and another store can: one method, which gives lines as they were written.

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use toolgate_model::shorten;

use crate::draft::MAX_NAME;
use crate::{LedgerError, Record};

/// Records that can be read. They are read as they are asked for, and what is written meanwhile is not among them.
pub trait Records {
    /// The lines of this part, the oldest first, as they are kept: whether they are records is for the reader to say.
    fn lines(&self, part: Part) -> Result<StoredLines<'_>, LedgerError>;

    /// All records, the oldest first.
    fn all(&self) -> Result<RecordIter<'_>, LedgerError> {
        Ok(RecordIter { lines: self.lines(Part::All)?, session: None })
    }

    /// The records with these numbers, the oldest first.
    fn range(&self, numbers: RangeInclusive<u64>) -> Result<RecordIter<'_>, LedgerError> {
        Ok(RecordIter { lines: self.lines(Part::Numbers(numbers))?, session: None })
    }

    /// The last `count` records, the oldest of them first.
    fn last(&self, count: usize) -> Result<RecordIter<'_>, LedgerError> {
        Ok(RecordIter { lines: self.lines(Part::Last(count))?, session: None })
    }

    /// The calls of this session, the oldest first.
    fn of_session(&self, session: &str) -> Result<RecordIter<'_>, LedgerError> {
        let session = Some(shorten(session, MAX_NAME));
        Ok(RecordIter { lines: self.lines(Part::All)?, session })
    }
}

/// Which lines are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// All of them.
    All,
    /// Those of the records with these numbers. A line that is no record counts as the one that should be there. Goes by the
    /// order that a whole ledger has: what follows a higher number is not looked at.
    Numbers(RangeInclusive<u64>),
    /// So many at the end. No more is read than has to be.
    Last(usize),
}

/// One line, as it is kept: without its newline, a record or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLine {
    /// Its content. A line that is too long is given cut, and then is no record.
    pub bytes: Vec<u8>,
    /// The file that holds it.
    pub file: Arc<Path>,
    /// The number of the line in its file; 0 where those before it were not read.
    pub number: u64,
    /// How it ends.
    pub ending: Ending,
}

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// As it should.
    Whole,
    /// Without its newline, although nothing is written here any more.
    Cut,
    /// Without its newline, where records are appended: a crash has left it, and the next record repairs it.
    Torn,
}

/// The lines of a part.
pub struct StoredLines<'r>(Box<dyn Iterator<Item = Result<StoredLine, LedgerError>> + 'r>);

impl<'r> StoredLines<'r> {
    /// These lines.
    pub fn new(lines: impl Iterator<Item = Result<StoredLine, LedgerError>> + 'r) -> StoredLines<'r> {
        StoredLines(Box::new(lines))
    }
}

impl Iterator for StoredLines<'_> {
    type Item = Result<StoredLine, LedgerError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

/// Records, in their order. A line that is no record is an error, and the next one is read all the same; a file
/// that cannot be read ends it. What a crash left half written is skipped; [`crate::verify()`] reports it.
pub struct RecordIter<'r> {
    lines: StoredLines<'r>,
    /// Only calls of this one.
    session: Option<String>,
}

impl RecordIter<'_> {
    fn wants(&self, record: &Record) -> bool {
        self.session.as_ref().is_none_or(|session| record.session == *session && !record.is_own())
    }
}

impl Iterator for RecordIter<'_> {
    type Item = Result<Record, LedgerError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = match self.lines.next()? {
                Ok(line) => line,
                Err(error) => return Some(Err(error)),
            };
            if line.ending != Ending::Whole {
                continue;
            }
            match serde_json::from_slice(&line.bytes) {
                Ok(record) if self.wants(&record) => return Some(Ok(record)),
                Ok(_) => {}
                Err(_) => {
                    let path = line.file.to_path_buf();
                    return Some(Err(LedgerError::Malformed { path, line: line.number }));
                }
            }
        }
    }
}
