//! Appends to the ledger.
//!
//! Promise: when [`Ledger::append`] returns a number, the record is in the file, whole and chained, whoever else
//! wrote at the same time. When it returns an error, the records in the file are as they were.
//!
//! Against whom: many hook processes at once, each of which may be killed at any point, on a disk that may be
//! full. Not against a machine that loses power: there is no fsync before the answer, since a call must not
//! wait for the disk. What such a crash leaves is repaired like any other torn end.
//!
//! Cost of a call: open, lock, two looks at the file's state, one read of its end, one write, close.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::draft::Draft;
use crate::files::{self, ChainEnd, Snapshot};
use crate::record::{Link, MAX_LINE, REPAIR, Record};
use crate::records::{Part, Records, StoredLines};
use crate::{Digest, LedgerError, lock};

/// A ledger in a state directory. Holds nothing open: a hook process appends once.
#[derive(Debug, Clone)]
pub struct Ledger {
    state_dir: PathBuf,
    path: PathBuf,
    full_at: u64,
}

/// A file is full at this size.
const FULL_AT: u64 = 64 * 1024 * 1024;

/// So long a lock that others hold may be a writer's.
const PATIENCE_WITH_READERS: Duration = Duration::from_millis(50);

/// How often the file may be found renamed before we give up. Once is normal, after a rotation.
pub(crate) const ATTEMPTS: usize = 32;

impl Ledger {
    /// The ledger of this state directory, which need not exist yet.
    pub fn at(state_dir: &Path) -> Ledger {
        Ledger { state_dir: state_dir.to_path_buf(), path: files::current_path(state_dir), full_at: FULL_AT }
    }

    /// The same ledger, beginning a new file at another size than 64 MiB.
    #[must_use]
    pub fn full_at(self, bytes: u64) -> Ledger {
        Ledger { full_at: bytes, ..self }
    }

    /// Writes one record and returns its number. Waits for others until the deadline.
    pub fn append(&self, draft: Draft, deadline: Instant) -> Result<u64, LedgerError> {
        let mut record = self.fitted(draft)?;
        self.append_record(&mut record, deadline, |_, _| Ok(Go::On)).map(|_| record.seq)
    }

    /// Like [`Ledger::append`], but asks at the last moment, under the lock, whether the record is still true.
    ///
    /// Where `withdrawn` says that it is not, nothing is written and there is no number. So of two threads that may answer
    /// one call (the one that judges it and the one that refuses when the time is up) only the one that answers has
    /// its record in the ledger.
    pub fn append_unless(
        &self,
        draft: Draft,
        deadline: Instant,
        withdrawn: impl Fn() -> bool,
    ) -> Result<Option<u64>, LedgerError> {
        let mut record = self.fitted(draft)?;
        self.append_record(&mut record, deadline, |_, _| Ok(Go::unless(withdrawn())))
    }

    /// The record as it will be written.
    pub(crate) fn fitted(&self, draft: Draft) -> Result<Record, LedgerError> {
        draft.fitted().map_err(|error| self.failed(io::Error::other(error)))
    }

    /// Writes a record that fits, and returns its number. `announce` is called before, with the line and its offset in
    /// the file. Nothing is written where it fails or says stop.
    pub(crate) fn append_record(
        &self,
        record: &mut Record,
        deadline: Instant,
        announce: impl Fn(u64, &[u8]) -> Result<Go, LedgerError>,
    ) -> Result<Option<u64>, LedgerError> {
        for _ in 0..ATTEMPTS {
            let file = self.open()?;
            let _beside = self.lock(&file, deadline)?;
            // INVARIANT: from here on the file is locked, so nobody else changes or renames it.
            let Some(metadata) = lock::still_at(&self.path, &file)? else {
                continue;
            };
            let length = metadata.len();
            let end = files::end_of(&file, length).map_err(|error| self.failed(error))?;
            if length >= self.full_at && end.good == length && self.rotate(&file, end)? {
                continue;
            }
            return self.write(&file, length, end, record, announce);
        }
        Err(LedgerError::Busy { path: self.path.clone() })
    }

    /// Locks the file against other writers.
    ///
    /// Against whom: somebody who only reads may hold a lock on it too, and for as long as they like. Then no writer can have it
    /// for itself, and writers agree by the lock of another file, which no reader has a reason to open. What is returned has
    /// to be kept as long as the file is used.
    fn lock(&self, file: &File, deadline: Instant) -> Result<Option<File>, LedgerError> {
        // Writers hold it for some 20 µs.
        let soon = deadline.min(Instant::now() + PATIENCE_WITH_READERS);
        match lock::wait(&self.path, soon, || file.try_lock()) {
            Err(LedgerError::Busy { .. }) => {}
            locked => return locked.map(|()| None),
        }
        // INVARIANT: whoever shares the lock keeps out those who want it for themselves, and the other one keeps out those who
        // share it.
        lock::wait(&self.path, deadline, || file.try_lock_shared())?;
        let path = self.state_dir.join("ledger.lock");
        let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let beside = opened.map_err(|error| LedgerError::about(&path, error))?;
        lock::wait(&path, deadline, || beside.try_lock())?;
        Ok(Some(beside))
    }

    /// The record whose whole line has this digest and is at this offset of one of the files; the growing one
    /// first, since a file that is full in the meantime is one of the others then. A record that this version cannot
    /// read is none, as it is for everybody who counts.
    pub(crate) fn find(
        &self,
        offset: u64,
        length: usize,
        digest: Digest,
    ) -> Result<Option<Record>, LedgerError> {
        let mut line = vec![0; length.min(MAX_LINE)];
        let mut is_in = |path: &Path| {
            let read = File::open(path).and_then(|file| file.read_exact_at(&mut line, offset));
            match read {
                Ok(()) => Ok(Digest::of(&line) == digest),
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::UnexpectedEof) => {
                    Ok(false)
                }
                Err(error) => Err(LedgerError::about(path, error)),
            }
        };
        let mut found = is_in(&self.path)?;
        if !found {
            for older in files::older(&self.state_dir)?.iter().rev() {
                found = found || is_in(&older.path)?;
            }
        }
        Ok(found.then(|| serde_json::from_slice(&line).ok()).flatten())
    }

    /// The directory that all of it lies in.
    pub(crate) fn state_dir(&self) -> &Path {
        &self.state_dir
    }

    fn failed(&self, error: io::Error) -> LedgerError {
        LedgerError::about(&self.path, error)
    }

    /// Tries the file first: after the first call ever, its directory is there.
    fn open(&self) -> Result<File, LedgerError> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        match options.open(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                make_dir(&self.state_dir)?;
                options.open(&self.path).map_err(|error| self.failed(error))
            }
            result => result.map_err(|error| self.failed(error)),
        }
    }

    fn write(
        &self,
        file: &File,
        length: u64,
        end: ChainEnd,
        record: &mut Record,
        announce: impl Fn(u64, &[u8]) -> Result<Go, LedgerError>,
    ) -> Result<Option<u64>, LedgerError> {
        let (seq, digest) = match end.last {
            Some(last) => (last.seq, last.digest),
            None => self.last_of_older()?,
        };
        let mut chain = Chain { seq, digest, lines: Vec::with_capacity(1024) };
        let failed = |error: serde_json::Error| self.failed(io::Error::other(error));
        if end.good < length {
            let torn = Torn { from: end.good, to: length, seq: seq.saturating_add(1) };
            let mut repair = self.put_aside(file, &torn, &record.time)?;
            chain.push(&mut repair).map_err(failed)?;
        }
        let before = chain.lines.len();
        chain.push(record).map_err(failed)?;
        match announce(end.good + before as u64, chain.lines.get(before..).unwrap_or_default())? {
            Go::On => {}
            Go::Stop => return Ok(None),
        }
        if end.good < length {
            file.set_len(end.good).map_err(|error| self.failed(error))?;
        }
        if let Err(error) = (&mut &*file).write_all(&chain.lines) {
            // A part may have been written before the disk was full. Should taking it away fail as well, it
            // is a torn end like any other.
            let _ = file.set_len(end.good);
            return Err(self.failed(error));
        }
        Ok(Some(record.seq))
    }

    /// Saves what follows the last record, and returns the record that says so.
    fn put_aside(&self, file: &File, torn: &Torn, time: &str) -> Result<Record, LedgerError> {
        let mut bytes = vec![0; usize::try_from(torn.to - torn.from).unwrap_or_default()];
        file.read_exact_at(&mut bytes, torn.from).map_err(|error| self.failed(error))?;
        let digest = Digest::of(&bytes);
        let name = format!("{}-{}", torn.seq, digest.hex().get(..8).unwrap_or_default());
        let dir = self.state_dir.join("torn");
        make_dir(&dir)?;
        let path = dir.join(&name);
        let saved = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut copy| copy.write_all(&bytes));
        if let Err(error) = saved {
            let _ = fs::remove_file(&path);
            return Err(LedgerError::about(&path, error));
        }
        Ok(Record {
            args: vec![
                ("bytes".to_owned(), bytes.len().to_string()),
                ("digest".to_owned(), digest.to_string()),
                ("file".to_owned(), format!("torn/{name}")),
            ],
            ..Record::blank(time.to_owned(), REPAIR.to_owned())
        })
    }

    /// Gives a full file its final name. False where that name is taken: then somebody has moved files about,
    /// and writing on is better than losing a file. [`crate::verify()`] will show it.
    fn rotate(&self, file: &File, end: ChainEnd) -> Result<bool, LedgerError> {
        let mut start = vec![0; MAX_LINE];
        let read = file.read_at(&mut start, 0).map_err(|error| self.failed(error))?;
        let first =
            start.get(..read).and_then(|start| start.split(|&byte| byte == b'\n').next()).unwrap_or_default();
        // Any number between the file's first and last keeps the order of the files.
        let Some(first_seq) = Link::of(first).map(|link| link.seq).or(end.last.map(|last| last.seq)) else {
            return Ok(false);
        };
        let older = files::older_path(&self.state_dir, first_seq);
        match fs::symlink_metadata(&older) {
            Ok(_) => Ok(false),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::rename(&self.path, &older).map_err(|error| self.failed(error))?;
                crate::due::want(&self.state_dir);
                Ok(true)
            }
            Err(error) => Err(LedgerError::about(&older, error)),
        }
    }

    /// Where an empty file's chain goes on. Lists the directory, but only for the first record of a file.
    fn last_of_older(&self) -> Result<(u64, Digest), LedgerError> {
        let Some(newest) = files::older(&self.state_dir)?.pop() else {
            return Ok((0, Digest::NOTHING));
        };
        let end = File::open(&newest.path)
            .and_then(|file| files::end_of(&file, file.metadata()?.len()))
            .map_err(|error| LedgerError::about(&newest.path, error))?;
        let last = end.last.ok_or(LedgerError::NoRecord { path: newest.path })?;
        Ok((last.seq, last.digest))
    }
}

/// Whether a record is to be written after all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Go {
    On,
    Stop,
}

impl Go {
    pub(crate) fn unless(stop: bool) -> Go {
        if stop { Go::Stop } else { Go::On }
    }
}

impl Records for Ledger {
    fn lines(&self, part: Part) -> Result<StoredLines<'_>, LedgerError> {
        Snapshot::take(&self.state_dir)?.into_lines(part)
    }
}

/// What is to be written behind a record: a call, before it perhaps a repair.
struct Chain {
    seq: u64,
    digest: Digest,
    lines: Vec<u8>,
}

impl Chain {
    fn push(&mut self, record: &mut Record) -> serde_json::Result<()> {
        // A record never holds a raw newline, and at most one comes before this one.
        if let Some(line) = self.lines.strip_suffix(b"\n") {
            self.digest = Digest::of(line);
        }
        self.seq = self.seq.saturating_add(1);
        record.seq = self.seq;
        record.prev = self.digest.hex();
        record.append_to(&mut self.lines)
    }
}

/// What a crash left behind the last record.
struct Torn {
    from: u64,
    to: u64,
    /// The number of the record that will tell of it.
    seq: u64,
}

/// For us alone: the ledger tells what people do.
pub(crate) fn make_dir(dir: &Path) -> Result<(), LedgerError> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| LedgerError::about(dir, error))
}
