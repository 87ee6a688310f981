//! Checks that the ledger is whole: every line a record, every number in its place, every link right.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::files::{self, RawLines, Snapshot};
use crate::record::{Link, REST, own_record};
use crate::records::{Ending, Part, Records, StoredLine, StoredLines};
use crate::{Digest, LedgerError};

/// Reads all files of the ledger, in their order, and says whether anything was changed.
///
/// Finds a line that was edited, removed, inserted or moved, and a file that is missing.
///
/// Does not find, since nothing follows from which it could be seen: that lines were cut off at the very end,
/// and that the very last line was edited into another record. Nor can it find that somebody who may write
/// here has written all of it anew. That takes a word from outside, such as the number and digest of a line
/// that were noted elsewhere.
pub fn verify(state_dir: &Path) -> Result<Report, LedgerError> {
    let snapshot = Snapshot::take(state_dir)?;
    let full: Vec<PathBuf> = snapshot.older.iter().map(|older| older.path.clone()).collect();
    let segments = full.len() as u64 + u64::from(snapshot.current.is_some());
    let of_a_file = problem_of_a_file(state_dir, &snapshot)?;
    let mut check = Check::from(first_kept(state_dir));
    for line in snapshot.into_lines(Part::All)? {
        check.line(&line?);
    }
    let mut report = check.report;
    report.segments = segments;
    // The first one counts: what follows may be its consequence. A whole file comes before its lines.
    let place = |problem: &Problem| {
        let file = full.iter().position(|path| *path == problem.file).unwrap_or(full.len());
        (file, problem.line)
    };
    report.problem = of_a_file.into_iter().chain(report.problem).min_by_key(place);
    Ok(report)
}

/// Checks the chain of any records: that their numbers have no gap and their links are right. Where they are kept in
/// files, [`verify()`] looks at the files too.
pub fn verify_chain(records: &dyn Records) -> Result<Report, LedgerError> {
    check(records.lines(Part::All)?)
}

/// The number of the first record that was not dropped on purpose.
pub(crate) fn first_kept(state_dir: &Path) -> u64 {
    let through = std::fs::read_to_string(state_dir.join(DROPPED)).ok();
    through.and_then(|text| text.trim().parse::<u64>().ok()).map_or(1, |through| through.saturating_add(1))
}

/// The file that says up to which record the oldest were dropped. A record says so too, and that is what counts.
pub(crate) const DROPPED: &str = "ledger.dropped";

/// The first problem that is about a whole file: its name, that it is empty, or that it is missing.
pub(crate) fn problem_of_a_file(
    state_dir: &Path,
    snapshot: &Snapshot,
) -> Result<Option<Problem>, LedgerError> {
    let problem = |file: &Path, what| Some(Problem { file: file.to_path_buf(), line: 0, what });
    for older in &snapshot.older {
        let mut lines = RawLines::of_older(older)?;
        let Some(first) = lines.next()? else {
            return Ok(problem(&older.path, Fault::NotARecord));
        };
        if Link::of(&first.bytes).is_some_and(|link| link.seq != older.first_seq) {
            return Ok(problem(&older.path, Fault::Name));
        }
    }
    let newest_is_missing = snapshot.current.is_none() && !snapshot.older.is_empty();
    Ok(newest_is_missing
        .then(|| problem(&files::current_path(state_dir), Fault::NewestFileMissing))
        .flatten())
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// How many lines there are.
    pub lines: u64,
    /// In how many files.
    pub segments: u64,
    /// When the first record was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_time: Option<String>,
    /// When the last one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_time: Option<String>,
    /// The first thing that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// A crash left a half-written line at the end. The next record will repair it.
    pub torn: bool,
}

/// Something that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// In this file.
    pub file: PathBuf,
    /// In this line; 0 where it is about the whole file.
    pub line: u64,
    /// What it is.
    pub what: Fault,
}

/// What can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The line is no record.
    NotARecord,
    /// The number is not the next one.
    Number {
        /// The next one.
        wanted: u64,
        /// The one in the record.
        found: u64,
    },
    /// The link does not lead to the line before.
    Link,
    /// The file's name names another first record than it has.
    Name,
    /// The last line of a full file has no newline.
    Unended,
    /// There are full files, but none that grows.
    NewestFileMissing,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NotARecord => f.write_str("is no record"),
            Fault::Number { wanted, found } => {
                write!(
                    f,
                    "has number {found}, but {wanted} should follow: lines were removed, inserted or moved"
                )
            }
            Fault::Link => f.write_str("does not follow from the line before it: one of the two was changed"),
            Fault::Name => f.write_str("has another name than its first record says"),
            Fault::Unended => f.write_str("was cut off"),
            Fault::NewestFileMissing => f.write_str("is missing"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {} of ", self.line)?;
        }
        write!(f, "`{}` {}", self.file.display(), self.what)
    }
}

/// The check while it goes on.
pub(crate) struct Check {
    pub(crate) report: Report,
    /// What the next line must hold; unknown after a line that is no record.
    next: Option<Next>,
}

struct Next {
    seq: u64,
    /// Unknown behind what was dropped or erased. The tree knows it all the same.
    prev: Option<Digest>,
}

fn check(lines: StoredLines<'_>) -> Result<Report, LedgerError> {
    let mut check = Check::from(1);
    let mut file = None;
    for line in lines {
        let line = line?;
        if file.as_ref() != Some(&line.file) {
            check.report.segments += 1;
            file = Some(line.file.clone());
        }
        check.line(&line);
    }
    Ok(check.report)
}

impl Check {
    /// Begins with the record of this number.
    pub(crate) fn from(seq: u64) -> Check {
        let prev = (seq <= 1).then_some(Digest::NOTHING);
        Check { report: Report::default(), next: Some(Next { seq: seq.max(1), prev }) }
    }

    pub(crate) fn line(&mut self, line: &StoredLine) {
        match line.ending {
            Ending::Whole => {}
            Ending::Cut => self.fault(line, Fault::Unended),
            Ending::Torn => {
                self.report.torn = true;
                return;
            }
        }
        self.report.lines += 1;
        let Some(link) = Link::of(&line.bytes) else {
            self.fault(line, Fault::NotARecord);
            self.next = None;
            return;
        };
        if let Some(next) = &self.next {
            let fault = if link.seq != next.seq {
                Some(Fault::Number { wanted: next.seq, found: link.seq })
            } else if next.prev.is_some_and(|prev| link.prev != prev.hex()) {
                Some(Fault::Link)
            } else {
                None
            };
            if let Some(fault) = fault {
                self.fault(line, fault);
            }
        }
        let is_rest = own_record(&line.bytes).is_some_and(|own| own.event == REST);
        let prev = (!is_rest).then(|| Digest::of(&line.bytes));
        self.next = Some(Next { seq: link.seq.saturating_add(1), prev });
        self.report.last_time = Some(link.time.clone().into_owned());
        if self.report.first_time.is_none() {
            self.report.first_time = Some(link.time.into_owned());
        }
    }

    fn fault(&mut self, line: &StoredLine, what: Fault) {
        let problem = || Problem { file: line.file.to_path_buf(), line: line.number, what };
        self.report.problem.get_or_insert_with(problem);
    }
}
