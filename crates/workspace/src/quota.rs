//! How much a workspace holds, counted across threads and processes.
//!
//! The count is kept in a small file beside the workspace. It is marked before a file gets its name and unmarked
//! afterwards, under a lock: whoever finds the mark and has the lock knows that the one before was killed between the
//! two, and counts anew.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use toolgate_declaration::Quota;

use crate::error::{Error, Limit};

/// What is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) bytes: u64,
    pub(crate) files: u64,
}

/// The count of a workspace that has a quota.
#[derive(Debug)]
pub(crate) struct Meter {
    quota: Quota,
    /// Threads share the handle, and with it the lock of the file; the mutex keeps them apart.
    file: Mutex<File>,
}

/// Others hold the lock for as long as a rename takes, or a count of all files. One who was stopped in the middle must not
/// hold us for ever.
const PATIENCE: Duration = Duration::from_secs(10);

const CLEAN: u8 = 1;
const MARKED: u8 = 2;
const LENGTH: usize = 17;

impl Meter {
    /// `file` is open for reading and writing.
    pub(crate) fn new(quota: Quota, file: File) -> Meter {
        Meter { quota, file: Mutex::new(file) }
    }

    /// Counts what is there, whatever was noted: other tools may have written too.
    pub(crate) fn recount(&self, count: impl FnOnce() -> Result<Usage, Error>) -> Result<(), Error> {
        self.locked(|file| note(file, CLEAN, count()?).map_err(failed))
    }

    /// Has a file of `new` bytes published in place of `old`, if the quota allows both. `old` is looked up under the lock.
    pub(crate) fn replace(
        &self,
        path: &str,
        new: u64,
        old: impl FnOnce() -> Result<Option<u64>, Error>,
        recount: impl FnOnce() -> Result<Usage, Error>,
        publish: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.fits(path, Usage { bytes: new, files: 1 })?;
        self.locked(|file| {
            let old = old()?;
            let with_new = |before: Usage| Usage {
                bytes: before.bytes.saturating_sub(old.unwrap_or(0)).saturating_add(new),
                files: before.files.saturating_add(u64::from(old.is_none())),
            };
            let (before, after) = self.counted(path, file, with_new, recount)?;
            note(file, MARKED, before).map_err(failed)?;
            let published = publish();
            // Where that fails, the mark stays, and the next one counts anew.
            let _ = note(file, CLEAN, if published.is_ok() { after } else { before });
            published
        })
    }

    /// Whether a new file of at least so many bytes would have its place.
    pub(crate) fn room(
        &self,
        path: &str,
        bytes: u64,
        recount: impl FnOnce() -> Result<Usage, Error>,
    ) -> Result<(), Error> {
        let with_new = |before: Usage| Usage {
            bytes: before.bytes.saturating_add(bytes),
            files: before.files.saturating_add(1),
        };
        self.locked(|file| self.counted(path, file, with_new, recount).map(drop))
    }

    /// What is there, and what there would be, which fits.
    fn counted(
        &self,
        path: &str,
        file: &File,
        with_new: impl Fn(Usage) -> Usage,
        recount: impl FnOnce() -> Result<Usage, Error>,
    ) -> Result<(Usage, Usage), Error> {
        let before = match noted(file).map_err(failed)? {
            Some(before) if self.fits(path, with_new(before)).is_ok() => before,
            // Nobody is refused for what others have taken away since it was counted.
            _ => recount()?,
        };
        let after = with_new(before);
        self.fits(path, after)?;
        Ok((before, after))
    }

    fn fits(&self, path: &str, usage: Usage) -> Result<(), Error> {
        let over = |most: Option<u64>, used: u64| most.filter(|most| used > *most);
        let limit = over(self.quota.bytes, usage.bytes)
            .map(Limit::Bytes)
            .or_else(|| over(self.quota.files, usage.files).map(Limit::Files));
        match limit {
            Some(limit) => Err(Error::QuotaExceeded { path: path.to_owned(), limit }),
            None => Ok(()),
        }
    }

    fn locked<T>(&self, work: impl FnOnce(&File) -> Result<T, Error>) -> Result<T, Error> {
        // A thread that panicked has left a mark, or nothing.
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        lock(&file, PATIENCE).map_err(failed)?;
        let done = work(&file);
        file.unlock().map_err(failed)?;
        done
    }
}

/// Takes the lock of a file, trying until patience ends.
pub(crate) fn lock(file: &File, patience: Duration) -> io::Result<()> {
    let deadline = Instant::now() + patience;
    let mut pause = Duration::from_micros(20);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(std::fs::TryLockError::WouldBlock) if Instant::now() < deadline => {}
            Err(std::fs::TryLockError::WouldBlock) => return Err(io::ErrorKind::TimedOut.into()),
            Err(std::fs::TryLockError::Error(error)) => return Err(error),
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(1));
    }
}

fn failed(error: io::Error) -> Error {
    Error::Io { path: "the count of the quota".to_owned(), source: error }
}

/// What was noted; `None` where somebody did not come to the end, or nothing was.
fn noted(file: &File) -> io::Result<Option<Usage>> {
    let mut bytes = [0_u8; LENGTH];
    match file.read_exact_at(&mut bytes, 0) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let number = |from: usize| bytes.get(from..from + 8)?.try_into().ok().map(u64::from_le_bytes);
    let usage = || Some(Usage { bytes: number(1)?, files: number(9)? });
    Ok(usage().filter(|_| bytes.first() == Some(&CLEAN)))
}

fn note(file: &File, mark: u8, usage: Usage) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(LENGTH);
    bytes.push(mark);
    bytes.extend(usage.bytes.to_le_bytes());
    bytes.extend(usage.files.to_le_bytes());
    file.write_all_at(&bytes, 0)
}
