//! The counts of one session, kept between processes.
//!
//! Promise: the counts are the fold over the session's records that were appended through a tally: none is missing
//! and none counts twice, however many processes append at once and wherever one of them is killed. What a query
//! and an append cost does not depend on how many records there are.
//!
//! How: `<state>/tallies/<session>` is locked while a call is judged. Before a record is written, its place and its
//! digest are marked there; after it was written, so are the counts with it. Who finds a mark without its counts
//! looks at that place of the ledger: the record got in, or it did not.
//!
//! Against whom: a crowd of hook processes, each of which may be killed at any point. As with the ledger, not
//! against a machine that loses power. A tally that cannot be read afterwards is counted anew from the ledger. Records
//! that were written past the tally are found by that alone.

mod pages;
mod session_counts;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use toolgate_model::shorten;
use toolgate_secrets::Redacted;

use self::pages::{Mark, Page, State};
pub use self::session_counts::{DENIED, Denials, SessionCounts};
use crate::draft::{Draft, MAX_NAME};
use crate::ledger::{ATTEMPTS, Go, Ledger, make_dir};
use crate::record::Record;
use crate::records::Records;
use crate::{Digest, LedgerError, lock};

/// The counts of a session, locked until they are dropped or a record is appended.
///
/// A session whose file is missing is a new one: the first call of a session must not read a long ledger.
#[derive(Debug)]
#[must_use]
pub struct Tally {
    ledger: Ledger,
    session: Redacted,
    path: PathBuf,
    file: File,
    generation: u64,
    counts: SessionCounts,
}

impl Tally {
    /// The tally of this session, as the ledger's records name it. Waits for others until the deadline.
    pub fn open(ledger: &Ledger, session: &Redacted, deadline: Instant) -> Result<Tally, LedgerError> {
        let mut tally = Tally::lock(ledger, session, deadline)?;
        let Page { generation, counts, mark } = match pages::read(&tally.file) {
            Ok(State::Known(page)) => page,
            Ok(State::Unreadable) => return tally.recount(),
            Err(error) => return Err(tally.failed(error)),
        };
        tally.generation = generation;
        tally.counts = counts;
        if let Some(record) = marked(ledger, mark)? {
            // Stored before anything else: the next mark takes the place of this one.
            tally.counts.add(&record);
            tally.generation = generation.saturating_add(1);
            tally.store()?;
        }
        Ok(tally)
    }

    /// The counts of this session, for somebody who looks on. Others are not kept from changing them.
    pub fn peek(ledger: &Ledger, session: &Redacted) -> Result<SessionCounts, LedgerError> {
        const PATIENCE: Duration = Duration::from_millis(200);
        let path = path_of(ledger.state_dir(), session);
        let failed = |error| LedgerError::about(&path, error);
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SessionCounts::default()),
            result => result.map_err(failed)?,
        };
        // Who does not get the lock looks all the same: one of the two pages is always whole.
        match lock::wait(&path, Instant::now() + PATIENCE, || file.try_lock_shared()) {
            Ok(()) | Err(LedgerError::Busy { .. }) => {}
            Err(error) => return Err(error),
        }
        match pages::read(&file).map_err(failed)? {
            State::Known(Page { mut counts, mark, .. }) => {
                if let Some(record) = marked(ledger, mark)? {
                    counts.add(&record);
                }
                Ok(counts)
            }
            State::Unreadable => count(ledger, session),
        }
    }

    /// The tally, counted anew from all of the ledger's records of the session. Takes its time.
    pub fn rebuild(ledger: &Ledger, session: &Redacted, deadline: Instant) -> Result<Tally, LedgerError> {
        Tally::lock(ledger, session, deadline)?.recount()
    }

    /// What has happened so far.
    pub fn counts(&self) -> &SessionCounts {
        &self.counts
    }

    /// What will have happened when this record is written.
    pub fn counts_after(&self, draft: &Draft) -> Result<SessionCounts, LedgerError> {
        let mut counts = self.counts.clone();
        counts.add(&self.record(draft.clone())?);
        Ok(counts)
    }

    /// Writes one record of this session to the ledger, counts it, and returns its number.
    pub fn append(self, draft: Draft, deadline: Instant) -> Result<u64, LedgerError> {
        self.write(draft, deadline, || false).map(|(record, _)| record.seq)
    }

    /// The same, unless the record turns out to be withdrawn at the last moment; see [`Ledger::append_unless`]. Then
    /// nothing is counted either.
    pub fn append_unless(
        self,
        draft: Draft,
        deadline: Instant,
        withdrawn: impl Fn() -> bool,
    ) -> Result<Option<u64>, LedgerError> {
        self.write(draft, deadline, withdrawn).map(|(_, seq)| seq)
    }

    /// The record, and its number if it was written.
    fn write(
        mut self,
        draft: Draft,
        deadline: Instant,
        withdrawn: impl Fn() -> bool,
    ) -> Result<(Record, Option<u64>), LedgerError> {
        let mut record = self.record(draft)?;
        let seq = self.ledger.append_record(&mut record, deadline, |offset, line| {
            let mark = Mark { offset, length: line.len(), digest: Digest::of(line) };
            pages::write_mark(&self.file, self.generation, mark).map_err(|error| self.failed(error))?;
            // Asked last: a mark without its record is nothing.
            Ok(Go::unless(withdrawn()))
        })?;
        if seq.is_some() {
            self.counts.add(&record);
            self.generation = self.generation.saturating_add(1);
            // The record is in the ledger, and the mark says so: should this fail, whoever comes next counts it.
            let _ = self.store();
        }
        Ok((record, seq))
    }

    fn lock(ledger: &Ledger, session: &Redacted, deadline: Instant) -> Result<Tally, LedgerError> {
        let path = path_of(ledger.state_dir(), session);
        for _ in 0..ATTEMPTS {
            let file = open(&path)?;
            lock::wait(&path, deadline, || file.try_lock())?;
            // INVARIANT: from here on, only we change the file, and it is the one that others will find: somebody
            // who tidies up may have removed the one that we have opened.
            if lock::still_at(&path, &file)?.is_some() {
                let (ledger, session) = (ledger.clone(), session.clone());
                let counts = SessionCounts::default();
                return Ok(Tally { ledger, session, path, file, generation: 0, counts });
            }
        }
        Err(LedgerError::Busy { path })
    }

    fn recount(mut self) -> Result<Tally, LedgerError> {
        self.counts = count(&self.ledger, &self.session)?;
        self.generation = pages::rewrite(&self.file, &self.counts).map_err(|error| self.failed(error))?;
        Ok(self)
    }

    /// The record as it will be written, whatever session the draft names.
    fn record(&self, draft: Draft) -> Result<Record, LedgerError> {
        self.ledger.fitted(draft.session(self.session.clone()))
    }

    fn store(&self) -> Result<(), LedgerError> {
        pages::write_page(&self.file, self.generation, &self.counts).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> LedgerError {
        LedgerError::about(&self.path, error)
    }
}

/// The record that was marked, if it was written.
fn marked(ledger: &Ledger, mark: Option<Mark>) -> Result<Option<Record>, LedgerError> {
    match mark {
        Some(Mark { offset, length, digest }) => ledger.find(offset, length, digest),
        None => Ok(None),
    }
}

/// Over all of the ledger's records of this session. A line that is none is passed over, as [`crate::verify()`]
/// tells of it.
fn count(ledger: &Ledger, session: &Redacted) -> Result<SessionCounts, LedgerError> {
    let mut counts = SessionCounts::default();
    for record in ledger.of_session(session.as_str())? {
        match record {
            Ok(record) => counts.add(&record),
            Err(LedgerError::Malformed { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(counts)
}

/// Tries the file first: after the first call ever, its directory is there.
fn open(path: &Path) -> Result<File, LedgerError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let opened = match (options.open(path), path.parent()) {
        (Err(error), Some(dir)) if error.kind() == io::ErrorKind::NotFound => {
            make_dir(dir)?;
            options.open(path)
        }
        (result, _) => result,
    };
    opened.map_err(|error| LedgerError::about(path, error))
}

/// A session's id is the host's; it names a file only after it has been made harmless. Capital letters are not: some
/// disks take them for small ones. A digest is longer than any plain name.
fn path_of(state_dir: &Path, session: &Redacted) -> PathBuf {
    let session = shorten(session.as_str(), MAX_NAME);
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let plain = (1..64).contains(&session.len()) && session.bytes().all(is_plain);
    let name = if plain { session } else { Digest::of(session.as_bytes()).hex() };
    state_dir.join("tallies").join(name)
}
