//! The lines of a ledger's files, one file after the other.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;

use crate::LedgerError;
use crate::files::{Current, Older, RawLines, Snapshot};
use crate::record::Link;
use crate::records::{Part, StoredLine, StoredLines};

impl Snapshot {
    /// The lines of this part.
    pub(crate) fn into_lines(self, part: Part) -> Result<StoredLines<'static>, LedgerError> {
        let Snapshot { mut older, current } = self;
        let mut offset = 0;
        let mut numbers = None;
        match part {
            Part::All => {}
            Part::Numbers(wanted) => {
                // A full file has the number of its first record in its name.
                let before = older.partition_point(|older| older.first_seq <= *wanted.start());
                older.drain(..before.saturating_sub(1));
                older.retain(|older| older.first_seq <= *wanted.end());
                numbers = Some(Numbers { wanted, next: 0 });
            }
            Part::Last(count) => {
                let oldest;
                (oldest, offset) = start_of_last(&older, current.as_ref(), count)?;
                older.drain(..oldest);
            }
        }
        Ok(StoredLines::new(FileLines { lines: None, older: older.into(), current, offset, numbers }))
    }
}

/// In which file the last `count` lines begin, and where in it.
fn start_of_last(
    older: &[Older],
    current: Option<&Current>,
    count: usize,
) -> Result<(usize, u64), LedgerError> {
    let mut missing = count;
    let mut offset = 0;
    if let Some(Current { path, file, length }) = current {
        (offset, missing) =
            start_in_file(file, *length, missing).map_err(|error| LedgerError::about(path, error))?;
    }
    let mut oldest = older.len();
    for Older { path, .. } in older.iter().rev() {
        if missing == 0 {
            break;
        }
        oldest -= 1;
        (offset, missing) = File::open(path)
            .and_then(|file| start_in_file(&file, file.metadata()?.len(), missing))
            .map_err(|error| LedgerError::about(path, error))?;
    }
    Ok((oldest, offset))
}

/// Where the last `count` lines of a file begin, and how many of them it does not have.
fn start_in_file(file: &File, length: u64, count: usize) -> io::Result<(u64, usize)> {
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

/// The lines that are still to be read.
struct FileLines {
    /// Of the file that is being read.
    lines: Option<RawLines>,
    older: VecDeque<Older>,
    current: Option<Current>,
    /// Where to begin in the first file.
    offset: u64,
    numbers: Option<Numbers>,
}

/// Which records are wanted, and which should come next.
struct Numbers {
    wanted: RangeInclusive<u64>,
    next: u64,
}

impl Iterator for FileLines {
    type Item = Result<StoredLine, LedgerError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = match self.step() {
                Ok(line) => line?,
                Err(error) => {
                    self.end();
                    return Some(Err(error));
                }
            };
            let Some(Numbers { wanted, next }) = &mut self.numbers else {
                return Some(Ok(line));
            };
            let number = Link::of(&line.bytes).map_or(*next, |link| link.seq);
            *next = number.saturating_add(1);
            if wanted.contains(&number) {
                return Some(Ok(line));
            }
            if number > *wanted.end() {
                self.end();
            }
        }
    }
}

impl FileLines {
    fn step(&mut self) -> Result<Option<StoredLine>, LedgerError> {
        loop {
            let lines = match &mut self.lines {
                Some(lines) => lines,
                None => match self.open_next()? {
                    Some(lines) => self.lines.insert(lines),
                    None => return Ok(None),
                },
            };
            match lines.next()? {
                Some(line) => return Ok(Some(line)),
                None => self.lines = None,
            }
        }
    }

    fn open_next(&mut self) -> Result<Option<RawLines>, LedgerError> {
        let mut lines = if let Some(older) = self.older.pop_front() {
            if let Some(numbers) = &mut self.numbers {
                numbers.next = older.first_seq;
            }
            RawLines::of_older(&older)?
        } else if let Some(current) = self.current.take() {
            RawLines::of_current(current)
        } else {
            return Ok(None);
        };
        lines.skip_to(std::mem::take(&mut self.offset))?;
        Ok(Some(lines))
    }

    fn end(&mut self) {
        self.lines = None;
        self.older.clear();
        self.current = None;
    }
}
