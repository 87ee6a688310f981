//! One record with the proof that it is in the log.

use std::path::Path;

use super::epochs::{Epoch, epoch_at};
use super::inclusion::InclusionProof;
use super::log::{Log, LogError};
use super::note::NoteKey;
use crate::record::Link;
use crate::records::{Ending, Part, Records};
use crate::{Ledger, LedgerError};

/// A record, its proof, and the key to check it with.
#[derive(Debug)]
pub struct Proved {
    /// The line, without its newline.
    pub line: Vec<u8>,
    /// The proof.
    pub proof: InclusionProof,
    /// The key that signed its checkpoint.
    pub key: NoteKey,
}

/// Why there is no proof.
#[derive(Debug)]
pub enum ProveError {
    /// A file cannot be read.
    Log(LogError),
    /// The record is not there.
    NoRecord,
    /// It is not sealed yet.
    NotSealed,
    /// The tree's files do not have what is needed.
    NoTiles,
}

impl From<LedgerError> for ProveError {
    fn from(error: LedgerError) -> ProveError {
        ProveError::Log(LogError::Ledger(error))
    }
}

impl std::fmt::Display for ProveError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ProveError::Log(error) => error.fmt(f),
            ProveError::NoRecord => f.write_str("there is no such record"),
            ProveError::NotSealed => f.write_str("it is not sealed yet: run `toolgate ledger seal`"),
            ProveError::NoTiles => {
                f.write_str("the tree's files do not lead to it: run `toolgate ledger verify`")
            }
        }
    }
}

impl std::error::Error for ProveError {}

/// Proves that a record is in the log, by the last checkpoint.
pub fn prove(state_dir: &Path, seq: u64) -> Result<Proved, ProveError> {
    let log = Log::open(state_dir).map_err(ProveError::Log)?.ok_or(ProveError::NotSealed)?;
    let mut line = None;
    for found in Ledger::at(state_dir).lines(Part::Numbers(seq..=seq))? {
        let found = found?;
        if found.ending == Ending::Whole && Link::of(&found.bytes).is_some_and(|link| link.seq == seq) {
            line = Some(found.bytes);
        }
    }
    let line = line.ok_or(ProveError::NoRecord)?;
    let checkpoint = log.checkpoints.last().filter(|last| seq <= last.size).ok_or(ProveError::NotSealed)?;
    let path = log.tiles.reader(checkpoint.size).path(seq.saturating_sub(1))?.ok_or(ProveError::NoTiles)?;
    let epoch = epoch_at(&log.epochs, checkpoint.size).ok_or(ProveError::NoTiles)?;
    let proof = InclusionProof { index: seq.saturating_sub(1), path, checkpoint: checkpoint.clone() };
    Ok(Proved { line, proof, key: epoch.key.clone() })
}

/// The keys of the log, the first one first.
pub fn keys(state_dir: &Path) -> Result<Vec<Epoch>, LogError> {
    Ok(Log::open(state_dir)?.map(|log| log.epochs).unwrap_or_default())
}

/// The name of the log; empty where it was never sealed.
pub fn origin(state_dir: &Path) -> String {
    let text = super::files::read(&super::log::directory(state_dir).join("origin")).ok().flatten();
    text.and_then(|text| String::from_utf8(text).ok()).map(|text| text.trim().to_owned()).unwrap_or_default()
}
