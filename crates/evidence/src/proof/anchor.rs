//! What others say of a checkpoint: signatures of witnesses, and time stamps of RFC 3161.
//!
//! Promise: a witness's signature counts only under a key that the one who checks has named, and a time stamp only under a certificate
//! that they have named. We write the request and keep the response as it came; `openssl ts -verify` checks it, since a verifier of CMS
//! and of chains of certificates is more than we would want to answer for. Nobody is contacted: requests and responses are files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::audit::{Known, Witnessed};
use super::checkpoint::Checkpoint;
use super::files::{random, write_private};
use super::log::{Log, LogError, directory};
use super::note::Signed;
use super::problem::SealProblem;
use super::seal::alone;
use crate::LedgerError;

/// No stamp is longer.
const MAX_STAMP: usize = 1024 * 1024;

/// Whether a time stamp for the checkpoint of this size is kept, or was asked for: then the checkpoint stays.
pub(crate) fn is_stamped(anchors: &Path, size: u64) -> bool {
    [stamp(anchors, size), request(anchors, size)].iter().any(|path| fs::symlink_metadata(path).is_ok())
}

/// Whether a time stamp for the checkpoint of this size is kept.
pub(crate) fn has_stamp(anchors: &Path, size: u64) -> bool {
    fs::symlink_metadata(stamp(anchors, size)).is_ok()
}

fn request(anchors: &Path, size: u64) -> PathBuf {
    anchors.join(format!("{size}.tsq"))
}

fn stamp(anchors: &Path, size: u64) -> PathBuf {
    anchors.join(format!("{size}.tsr"))
}

/// What others say of a checkpoint.
pub(crate) fn of_checkpoint(
    log: &Log,
    checkpoint: &Checkpoint,
    known: &Known,
    problems: &mut Vec<SealProblem>,
) -> Vec<Witnessed> {
    let size = checkpoint.size;
    let mut found = Vec::new();
    for key in &known.witnesses {
        let by = key.name().to_owned();
        match checkpoint.signed_by(key) {
            Signed::Good(time) => found.push(Witnessed { size, by, time, checked: true, with: None }),
            Signed::Bad => problems.push(SealProblem::BadCosignature { size, by }),
            Signed::Absent => {}
        }
    }
    let unknown = checkpoint.cosignatures().saturating_sub(found.len());
    if unknown > 0 {
        let by = format!("{unknown} whose key was not given");
        found.push(Witnessed { size, by, time: None, checked: false, with: None });
    }
    if has_stamp(&log.dir.join("anchors"), size) {
        let by = "a time stamp".to_owned();
        match known.stamps.get(&size) {
            Some(StampWord::Good { time, with }) => {
                let by = format!("{by} of {time}");
                found.push(Witnessed { size, by, time: None, checked: true, with: Some((*with).to_owned()) });
            }
            Some(StampWord::Bad(why)) => problems.push(SealProblem::BadStamp { size, why: why.clone() }),
            Some(StampWord::CannotTell(why)) => {
                problems.push(SealProblem::StampUnchecked { size, why: why.clone() });
            }
            None => found.push(Witnessed { size, by, time: None, checked: false, with: None }),
        }
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
            AnchorError::NotOurs => f.write_str("this belongs to none of the checkpoints that are kept here"),
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

/// A time stamp that is kept, and what it must be of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// The size of the checkpoint.
    pub size: u64,
    /// The response of the time-stamp server.
    pub response: PathBuf,
    /// What was stamped: the text of the checkpoint.
    pub text: String,
}

impl Stamp {
    /// The SHA-256 that the stamp must hold.
    pub fn digest(&self) -> crate::Digest {
        crate::Digest::of(self.text.as_bytes())
    }
}

/// What came of checking a time stamp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StampWord {
    /// It is of this checkpoint, by somebody who was named.
    Good {
        /// When it was made, as it says.
        time: String,
        /// The program that checked it.
        with: &'static str,
    },
    /// It is not.
    Bad(String),
    /// It could not be checked.
    CannotTell(String),
}

/// All time stamps that are kept.
pub fn stamps(state_dir: &Path) -> Result<Vec<Stamp>, LogError> {
    let Some(log) = Log::open(state_dir)? else { return Ok(Vec::new()) };
    let of = |checkpoint: &Checkpoint| Stamp {
        size: checkpoint.size,
        response: stamp(&log.dir.join("anchors"), checkpoint.size),
        text: checkpoint.note().text().to_owned(),
    };
    let all = log.checkpoints.iter().map(of);
    Ok(all.filter(|stamp| fs::symlink_metadata(&stamp.response).is_ok()).collect())
}

/// A request for a time stamp of the last checkpoint, as RFC 3161 has it; and the checkpoint's size. The checkpoint stays from now on.
pub fn request_stamp(state_dir: &Path) -> Result<(u64, Vec<u8>), AnchorError> {
    /// Of SHA-256.
    const ALGORITHM: [u8; 15] =
        [0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00];
    let (log, _lock) = open(state_dir)?;
    let last = log.checkpoints.last().ok_or(AnchorError::NotOurs)?;
    let path = request(&log.dir.join("anchors"), last.size);
    let digest = crate::Digest::of(last.note().text().as_bytes());
    let imprint = der(0x30, &[&ALGORITHM[..], &der(0x04, digest.bytes())].concat());
    let version = der(0x02, &[1]);
    // A positive number of eight bytes.
    let mut nonce: [u8; 8] = random(&path)?;
    if let Some(first) = nonce.first_mut() {
        *first = *first & 0x3f | 0x40;
    }
    let with_certificate = der(0x01, &[0xff]);
    let parts = [version, imprint, der(0x02, &nonce), with_certificate].concat();
    let bytes = der(0x30, &parts);
    write_private(&path, &bytes, true)?;
    Ok((last.size, bytes))
}

/// A value of DER. None of ours is longer than 127 bytes.
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap_or(u8::MAX);
    [&[tag, length], content].concat()
}

/// Keeps a time stamp of a checkpoint that is here. Gives its size.
pub fn attach_stamp(state_dir: &Path, bytes: &[u8]) -> Result<u64, AnchorError> {
    let (log, _lock) = open(state_dir)?;
    // A stamp holds the SHA-256 of what it stamps.
    let is_of = |checkpoint: &&Checkpoint| {
        let digest = crate::Digest::of(checkpoint.note().text().as_bytes());
        bytes.windows(32).any(|part| part == digest.bytes())
    };
    let stamped = log.checkpoints.iter().rev().find(is_of).ok_or(AnchorError::NotOurs)?;
    if bytes.len() > MAX_STAMP {
        return Err(AnchorError::NotOurs);
    }
    write_private(&stamp(&log.dir.join("anchors"), stamped.size), bytes, true)?;
    Ok(stamped.size)
}

fn open(state_dir: &Path) -> Result<(Log, fs::File), AnchorError> {
    let dir = directory(state_dir);
    let log = Log::open(state_dir).map_err(AnchorError::Log)?;
    if log.as_ref().is_none_or(|log| log.checkpoints.is_empty()) {
        return Err(AnchorError::NotNow("nothing is sealed yet: run `toolgate ledger seal`"));
    }
    let lock = alone(&dir)?.ok_or(AnchorError::NotNow("another process is sealing: try again"))?;
    // As it is now that nobody else changes it.
    let log = Log::open(state_dir).map_err(AnchorError::Log)?;
    let gone =
        || AnchorError::Log(LogError::Ledger(LedgerError::about(&dir, io::ErrorKind::NotFound.into())));
    Ok((log.ok_or_else(gone)?, lock))
}
