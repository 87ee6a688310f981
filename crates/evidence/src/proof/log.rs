//! What lies in `<state>/tlog`: checkpoints, the lines that name the keys, tiles, and what the sealer remembers.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::checkpoint::Checkpoint;
use super::epochs::{self, Epoch};
use super::files::{read, write_private};
use super::note::parse_many;
use super::tiles::Tiles;
use super::walk::Place;
use crate::{Digest, LedgerError};

/// The directory of the proof.
pub(crate) fn directory(state_dir: &Path) -> PathBuf {
    state_dir.join("tlog")
}

/// Whether a seal was ever ended here. None of these is there before.
pub(crate) fn is_signed(dir: &Path) -> bool {
    ["checkpoints", "checkpoint", "checkpoint.pem", "memory"].iter().any(|name| dir.join(name).exists())
}

/// The log, as it was sealed last.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) dir: PathBuf,
    pub(crate) origin: String,
    pub(crate) tiles: Tiles,
    /// The last checkpoint of each key, and those that others have signed too; the smallest first.
    pub(crate) checkpoints: Vec<Checkpoint>,
    pub(crate) epochs: Vec<Epoch>,
}

/// Why the log cannot be read.
#[derive(Debug)]
pub enum LogError {
    /// The ledger, or a file of the proof, cannot be read.
    Ledger(LedgerError),
    /// A file of the proof holds something else than what was written.
    Damaged(PathBuf),
}

impl From<LedgerError> for LogError {
    fn from(error: LedgerError) -> LogError {
        LogError::Ledger(error)
    }
}

impl std::fmt::Display for LogError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LogError::Ledger(error) => error.fmt(f),
            LogError::Damaged(path) => write!(f, "`{}` is not as it was written", path.display()),
        }
    }
}

impl std::error::Error for LogError {}

impl Log {
    /// Reads it; `None` where nothing was ever sealed here.
    pub(crate) fn open(state_dir: &Path) -> Result<Option<Log>, LogError> {
        let dir = directory(state_dir);
        let Some(origin) = read(&dir.join("origin"))? else { return Ok(None) };
        let damaged = |name: &str| LogError::Damaged(dir.join(name));
        let origin = String::from_utf8(origin).map_err(|_| damaged("origin"))?.trim().to_owned();
        let text = read(&dir.join("checkpoints"))?.unwrap_or_default();
        let notes = str::from_utf8(&text).ok().and_then(parse_many).ok_or_else(|| damaged("checkpoints"))?;
        let checkpoints: Vec<Checkpoint> = notes
            .into_iter()
            .map(Checkpoint::of)
            .collect::<Option<_>>()
            .ok_or_else(|| damaged("checkpoints"))?;
        let is_ours = |checkpoint: &Checkpoint| checkpoint.origin == origin;
        if !checkpoints.iter().all(is_ours) || !checkpoints.is_sorted_by(|one, next| one.size < next.size) {
            return Err(damaged("checkpoints"));
        }
        let keys = read(&dir.join("keys"))?.unwrap_or_default();
        let mut epochs = epochs::parse(&keys, &origin).map_err(|_| damaged("keys"))?;
        // What names a key is noted before a checkpoint covers it: a run that is killed in between has not begun its time.
        let size = checkpoints.last().map_or(0, |last| last.size);
        epochs.retain(|epoch| epoch.seq <= size);
        Ok(Some(Log { tiles: Tiles::at(&dir), dir, origin, checkpoints, epochs }))
    }

    /// One in which nothing is sealed.
    pub(crate) fn empty(state_dir: &Path) -> Log {
        let dir = directory(state_dir);
        let tiles = Tiles::at(&dir);
        Log { dir, origin: String::new(), tiles, checkpoints: Vec::new(), epochs: Vec::new() }
    }

    /// How many records are sealed.
    pub(crate) fn size(&self) -> u64 {
        self.checkpoints.last().map_or(0, |last| last.size)
    }

    pub(crate) fn write_checkpoints(&self) -> Result<(), LedgerError> {
        let all: String = self.checkpoints.iter().map(|checkpoint| checkpoint.note().to_string()).collect();
        write_private(&self.dir.join("checkpoints"), all.as_bytes(), true)
    }

    /// The last checkpoint, and the key to check it with, where other tools look for them.
    pub(crate) fn write_last(&self) -> Result<(), LedgerError> {
        let Some(last) = self.checkpoints.last() else { return Ok(()) };
        if let Some(epoch) = epochs::epoch_at(&self.epochs, last.size) {
            write_private(&self.dir.join("checkpoint.pem"), super::key::pem(&epoch.key).as_bytes(), false)?;
        }
        write_private(&self.dir.join("checkpoint"), last.note().to_string().as_bytes(), true)
    }

    pub(crate) fn write_keys(&self) -> Result<(), LedgerError> {
        let mut text = Vec::new();
        for epoch in &self.epochs {
            text.extend_from_slice(&epoch.line);
            text.push(b'\n');
        }
        write_private(&self.dir.join("keys"), &text, true)
    }
}

/// What the sealer has signed last: a log that is smaller was put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Memory {
    pub(crate) size: u64,
}

/// Where the sealer goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Next {
    /// The last record that was sealed.
    pub(crate) seq: u64,
    /// Its digest, as the next line names it.
    pub(crate) digest: Digest,
    /// Behind it.
    pub(crate) place: Place,
}

/// Reads a small file of ours; `None` where it is missing or cannot be read as one.
pub(crate) fn load<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Option<T>, LedgerError> {
    Ok(read(path)?.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

pub(crate) fn store(path: &Path, value: &impl Serialize) -> Result<(), LedgerError> {
    let bytes =
        serde_json::to_vec(value).map_err(|error| LedgerError::about(path, std::io::Error::other(error)))?;
    write_private(path, &bytes, false)
}
