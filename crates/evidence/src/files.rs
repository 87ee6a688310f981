//! The files that a ledger is made of: `ledger.jsonl`, which grows, and `ledger.<first number>.jsonl`, which
//! were full and do not change any more.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Take};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::record::Link;
use crate::records::{Ending, StoredLine};
use crate::{Digest, LedgerError, Position, lock};

/// The file that grows.
pub(crate) fn current_path(state_dir: &Path) -> PathBuf {
    state_dir.join("ledger.jsonl")
}

/// A full file's name, by the number of its first record.
pub(crate) fn older_path(state_dir: &Path, first_seq: u64) -> PathBuf {
    state_dir.join(format!("ledger.{first_seq:012}.jsonl"))
}

/// A file that was full.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Older {
    pub(crate) first_seq: u64,
    pub(crate) path: PathBuf,
}

/// All full files, the oldest first.
pub(crate) fn older(state_dir: &Path) -> Result<Vec<Older>, LedgerError> {
    let names = match fs::read_dir(state_dir) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(LedgerError::about(state_dir, error)),
    };
    let mut files = Vec::new();
    for name in names {
        let name = name.map_err(|error| LedgerError::about(state_dir, error))?;
        if let Some(first_seq) = name.file_name().to_str().and_then(first_seq_of) {
            files.push(Older { first_seq, path: name.path() });
        }
    }
    files.sort();
    Ok(files)
}

fn first_seq_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("ledger.")?.strip_suffix(".jsonl")?;
    let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    (digits.len() >= 12 && all_digits).then(|| digits.parse().ok()).flatten()
}

/// Where the good part of a file ends, and the record that it ends with.
#[derive(Clone, Copy)]
pub(crate) struct ChainEnd {
    /// The offset behind the newline of the last record; 0 where there is none.
    pub(crate) good: u64,
    pub(crate) last: Option<Position>,
}

/// Reads backwards from `length`, usually once: a record is some 500 bytes long.
pub(crate) fn end_of(file: &File, length: u64) -> io::Result<ChainEnd> {
    let mut window: u64 = 2048;
    loop {
        let start = length.saturating_sub(window);
        let mut bytes = vec![0; usize::try_from(length - start).map_err(io::Error::other)?];
        file.read_exact_at(&mut bytes, start)?;
        // What comes before the first newline may have begun before the window.
        let mut rest = match start {
            0 => bytes.as_slice(),
            _ => bytes
                .iter()
                .position(|&byte| byte == b'\n')
                .and_then(|newline| bytes.get(newline + 1..))
                .unwrap_or_default(),
        };
        let skipped = bytes.len() - rest.len();
        while let Some(newline) = rest.iter().rposition(|&byte| byte == b'\n') {
            let lines = rest.get(..newline).unwrap_or_default();
            let line_start = lines.iter().rposition(|&byte| byte == b'\n').map_or(0, |before| before + 1);
            let line = lines.get(line_start..).unwrap_or_default();
            if let Some(link) = Link::of(line) {
                return Ok(ChainEnd {
                    good: start + (skipped + newline + 1) as u64,
                    last: Some(Position { seq: link.seq, digest: Digest::of(line) }),
                });
            }
            rest = rest.get(..line_start).unwrap_or_default();
        }
        if start == 0 {
            return Ok(ChainEnd { good: 0, last: None });
        }
        window = window.saturating_mul(8);
    }
}

/// The ledger at one moment. Later records are not seen, and a rotation in the meantime does no harm.
pub(crate) struct Snapshot {
    pub(crate) older: Vec<Older>,
    pub(crate) current: Option<Current>,
}

/// The growing file and how long it was.
#[derive(Debug)]
pub(crate) struct Current {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    pub(crate) length: u64,
}

impl Snapshot {
    /// The lock is held for the look only: calls must not wait for a person who reads. A reader who does not
    /// get it looks all the same, and may see a half-written last line.
    pub(crate) fn take(state_dir: &Path) -> Result<Snapshot, LedgerError> {
        const PATIENCE: Duration = Duration::from_millis(200);
        let deadline = Instant::now() + PATIENCE;
        let path = current_path(state_dir);
        loop {
            let file = match File::open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let older = older(state_dir)?;
                    // Between the two steps of a rotation there is no growing file.
                    if older.is_empty() || Instant::now() >= deadline {
                        return Ok(Snapshot { older, current: None });
                    }
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                }
                Err(error) => return Err(LedgerError::about(&path, error)),
            };
            match lock::wait(&path, deadline, || file.try_lock_shared()) {
                Ok(()) | Err(LedgerError::Busy { .. }) => {}
                Err(error) => return Err(error),
            }
            // In this order: a file that is still there after the list was made is not in the list, even if
            // the lock was not to be had.
            let older = older(state_dir)?;
            if let Some(metadata) = lock::still_at(&path, &file)? {
                file.unlock().map_err(|error| LedgerError::about(&path, error))?;
                let length = metadata.len();
                return Ok(Snapshot { older, current: Some(Current { path, file, length }) });
            }
        }
    }
}

/// No record is longer; a file without newlines must not fill the memory.
const MAX_READ: u64 = 1024 * 1024;

/// The lines of one file, one at a time.
#[derive(Debug)]
pub(crate) struct RawLines {
    path: Arc<Path>,
    /// Whether records are still appended to the file.
    growing: bool,
    reader: BufReader<Take<File>>,
    buffer: Vec<u8>,
    /// The number of the line that was read last; `None` where those before were skipped.
    number: Option<u64>,
}

impl RawLines {
    pub(crate) fn of_older(older: &Older) -> Result<RawLines, LedgerError> {
        let file = File::open(&older.path).map_err(|error| LedgerError::about(&older.path, error))?;
        Ok(RawLines::new(&older.path, file, u64::MAX, false))
    }

    pub(crate) fn of_current(current: Current) -> RawLines {
        RawLines::new(&current.path, current.file, current.length, true)
    }

    fn new(path: &Path, file: File, length: u64, growing: bool) -> RawLines {
        RawLines {
            path: path.into(),
            growing,
            reader: BufReader::with_capacity(64 * 1024, file.take(length)),
            buffer: Vec::new(),
            number: Some(0),
        }
    }

    /// Begins at this offset.
    pub(crate) fn skip_to(&mut self, offset: u64) -> Result<(), LedgerError> {
        if offset == 0 {
            return Ok(());
        }
        self.number = None;
        let take = self.reader.get_mut();
        take.set_limit(take.limit().saturating_sub(offset));
        take.get_mut()
            .seek(SeekFrom::Start(offset))
            .map_err(|error| LedgerError::about(&self.path, error))?;
        Ok(())
    }

    /// A line that is too long is given cut, and then is no record.
    pub(crate) fn next(&mut self) -> Result<Option<StoredLine>, LedgerError> {
        self.buffer.clear();
        let read = (&mut self.reader)
            .take(MAX_READ)
            .read_until(b'\n', &mut self.buffer)
            .map_err(|error| LedgerError::about(&self.path, error))?;
        if read == 0 {
            return Ok(None);
        }
        self.number = self.number.map(|number| number + 1);
        let mut ended = self.buffer.last() == Some(&b'\n');
        if ended {
            self.buffer.pop();
        } else if read as u64 == MAX_READ {
            self.reader.skip_until(b'\n').map_err(|error| LedgerError::about(&self.path, error))?;
            ended = true;
        }
        let ending = match (ended, self.growing) {
            (true, _) => Ending::Whole,
            (false, true) => Ending::Torn,
            (false, false) => Ending::Cut,
        };
        let number = self.number.unwrap_or_default();
        Ok(Some(StoredLine { bytes: self.buffer.clone(), file: self.path.clone(), number, ending }))
    }
}

#[cfg(test)]
mod tests {
    use super::{first_seq_of, older_path};
    use std::path::Path;

    #[test]
    fn full_files_are_named_after_their_first_record() {
        let path = older_path(Path::new("/s"), 42);
        assert_eq!(path, Path::new("/s/ledger.000000000042.jsonl"));
        for (name, seq) in [
            ("ledger.000000000042.jsonl", Some(42)),
            ("ledger.1234567890123.jsonl", Some(1_234_567_890_123)),
            ("ledger.jsonl", None),
            ("ledger.42.jsonl", None),
            ("ledger.+00000000042.jsonl", None),
            ("ledger.000000000042.jsonl.bak", None),
            ("ledger.99999999999999999999999.jsonl", None),
        ] {
            assert_eq!(first_seq_of(name), seq, "{name}");
        }
    }
}
