//! Checks that the ledger is whole: every line a record, every number in its place, every link right.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::files::{self, RawLines, Snapshot};
use crate::record::Link;
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
    let Snapshot { older, current } = Snapshot::take(state_dir)?;
    let mut check = Check::default();
    let full_files = older.len();
    for older in older {
        check.file(RawLines::of_older(&older)?, Role::Full(older.first_seq))?;
    }
    match current {
        Some(current) => check.file(RawLines::of_current(current), Role::Growing)?,
        None if full_files > 0 => {
            check.fault(&files::current_path(state_dir), 0, Fault::NewestFileMissing);
        }
        None => {}
    }
    Ok(check.report)
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
                    "has number {found} where {wanted} should follow: lines were removed, inserted or moved"
                )
            }
            Fault::Link => f.write_str("does not follow from the line before: one of the two was changed"),
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

/// What a file is in the ledger.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It was full; its name says the number of its first record.
    Full(u64),
    /// The one that is written to.
    Growing,
}

/// The check while it goes on.
struct Check {
    report: Report,
    /// What the next line must hold; unknown after a line that is no record.
    next: Option<Next>,
}

struct Next {
    seq: u64,
    prev: Digest,
}

impl Default for Check {
    fn default() -> Check {
        Check { report: Report::default(), next: Some(Next { seq: 1, prev: Digest::NOTHING }) }
    }
}

impl Check {
    fn file(&mut self, mut lines: RawLines, role: Role) -> Result<(), LedgerError> {
        self.report.segments += 1;
        let path = lines.path.clone();
        let mut number = 0;
        while let Some(line) = lines.next()? {
            if !line.ended && role == Role::Growing {
                self.report.torn = true;
                break;
            }
            number += 1;
            self.report.lines += 1;
            if !line.ended {
                self.fault(&path, number, Fault::Unended);
            }
            let link = Link::of(line.bytes);
            if number == 1
                && let (Role::Full(named), Some(link)) = (role, &link)
                && link.seq != named
            {
                self.fault(&path, 0, Fault::Name);
            }
            self.line(&path, number, line.bytes, link);
        }
        if number == 0 && role != Role::Growing {
            self.fault(&path, 0, Fault::NotARecord);
        }
        Ok(())
    }

    fn line(&mut self, path: &Path, number: u64, bytes: &[u8], link: Option<Link<'_>>) {
        let Some(link) = link else {
            self.fault(path, number, Fault::NotARecord);
            self.next = None;
            return;
        };
        if let Some(next) = &self.next {
            let fault = if link.seq != next.seq {
                Some(Fault::Number { wanted: next.seq, found: link.seq })
            } else if link.prev != next.prev.hex() {
                Some(Fault::Link)
            } else {
                None
            };
            if let Some(fault) = fault {
                self.fault(path, number, fault);
            }
        }
        self.next = Some(Next { seq: link.seq.saturating_add(1), prev: Digest::of(bytes) });
        self.report.last_time = Some(link.time.clone().into_owned());
        if self.report.first_time.is_none() {
            self.report.first_time = Some(link.time.into_owned());
        }
    }

    /// The first one counts: what follows may be its consequence.
    fn fault(&mut self, file: &Path, line: u64, what: Fault) {
        self.report.problem.get_or_insert_with(|| Problem { file: file.to_path_buf(), line, what });
    }
}
