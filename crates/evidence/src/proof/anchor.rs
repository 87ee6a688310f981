//! What others say of a checkpoint: signatures of witnesses, and time stamps of RFC 3161.
//!
//! Promise: a witness's signature counts only under a key that the one who checks has named. A time stamp is kept as it came;
//! `openssl ts -verify` checks it, and we do not.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::audit::Witnessed;
use super::checkpoint::Checkpoint;
use super::files::write_private;
use super::log::{Log, LogError, directory};
use super::note::{NoteKey, Signed};
use super::problem::SealProblem;
use super::seal::alone;
use crate::LedgerError;

/// No stamp is longer.
const MAX_STAMP: usize = 1024 * 1024;

/// Whether a time stamp for the checkpoint of this size is kept.
pub(crate) fn is_stamped(anchors: &Path, size: u64) -> bool {
    fs::symlink_metadata(stamp(anchors, size)).is_ok()
}

fn stamp(anchors: &Path, size: u64) -> PathBuf {
    anchors.join(format!("{size}.tsr"))
}

/// What others say of a checkpoint.
pub(crate) fn of_checkpoint(
    log: &Log,
    checkpoint: &Checkpoint,
    keys: &[NoteKey],
    problems: &mut Vec<SealProblem>,
) -> Vec<Witnessed> {
    let size = checkpoint.size;
    let mut found = Vec::new();
    for key in keys {
        let by = key.name().to_owned();
        match checkpoint.signed_by(key) {
            Signed::Good(time) => found.push(Witnessed { size, by, time, checked: true }),
            Signed::Bad => problems.push(SealProblem::BadCosignature { size, by }),
            Signed::Absent => {}
        }
    }
    let unknown = checkpoint.cosignatures().saturating_sub(found.len());
    if unknown > 0 {
        let by = format!("{unknown} whose key was not given");
        found.push(Witnessed { size, by, time: None, checked: false });
    }
    if is_stamped(&log.dir.join("anchors"), size) {
        found.push(Witnessed { size, by: "a time stamp".to_owned(), time: None, checked: false });
    }
    found
}

/// Why something was not attached.
#[derive(Debug)]
pub enum AnchorError {
    /// A file cannot be used.
    Log(LogError),
    /// Nothing is sealed, or somebody is sealing.
    NotNow(&'static str),
    /// It is about no checkpoint that is kept.
    NotOurs,
}

impl From<LedgerError> for AnchorError {
    fn from(error: LedgerError) -> AnchorError {
        AnchorError::Log(LogError::Ledger(error))
    }
}

impl std::fmt::Display for AnchorError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AnchorError::Log(error) => error.fmt(f),
            AnchorError::NotNow(why) => f.write_str(why),
            AnchorError::NotOurs => f.write_str("this is about none of the checkpoints that are kept here"),
        }
    }
}

impl std::error::Error for AnchorError {}

/// Adds the signatures of a note, or of lines of one, to the checkpoint that they are about: the note's own, or the last one. Gives its size
/// and how many are new.
pub fn cosign(state_dir: &Path, text: &str) -> Result<(u64, usize), AnchorError> {
    let (mut log, _lock) = open(state_dir)?;
    let size = Checkpoint::parse(text).map_or(log.size(), |note| note.size);
    let checkpoint =
        log.checkpoints.iter_mut().find(|checkpoint| checkpoint.size == size).ok_or(AnchorError::NotOurs)?;
    let new = checkpoint.note_mut().join(text).ok_or(AnchorError::NotOurs)?;
    log.write_checkpoints()?;
    log.write_last()?;
    Ok((size, new))
}

/// Keeps a time stamp of the last checkpoint. Gives its size.
pub fn attach_stamp(state_dir: &Path, bytes: &[u8]) -> Result<u64, AnchorError> {
    let (log, _lock) = open(state_dir)?;
    let last = log.checkpoints.last().ok_or(AnchorError::NotOurs)?;
    // A stamp holds the SHA-256 of what it stamps.
    let digest = crate::Digest::of(last.note().text().as_bytes());
    if bytes.len() > MAX_STAMP || !bytes.windows(32).any(|part| part == digest.bytes()) {
        return Err(AnchorError::NotOurs);
    }
    write_private(&stamp(&log.dir.join("anchors"), last.size), bytes, true)?;
    Ok(last.size)
}

fn open(state_dir: &Path) -> Result<(Log, fs::File), AnchorError> {
    let dir = directory(state_dir);
    let log = Log::open(state_dir).map_err(AnchorError::Log)?;
    if log.as_ref().is_none_or(|log| log.checkpoints.is_empty()) {
        return Err(AnchorError::NotNow("nothing is sealed yet: run `toolgate ledger seal`"));
    }
    let lock = alone(&dir)?.ok_or(AnchorError::NotNow("somebody is sealing: try again"))?;
    // As it is now that nobody else changes it.
    let log = Log::open(state_dir).map_err(AnchorError::Log)?;
    let gone =
        || AnchorError::Log(LogError::Ledger(LedgerError::about(&dir, io::ErrorKind::NotFound.into())));
    Ok((log.ok_or_else(gone)?, lock))
}
