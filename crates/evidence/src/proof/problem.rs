//! What can be wrong with a seal, in words for whoever has to find out why.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

/// Which part of the proof a problem is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Part {
    /// The lines and the tree over them.
    Tree,
    /// The checkpoints.
    Signatures,
    /// The keys.
    Keys,
    /// Something could not be checked.
    CannotTell,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each is said in words below")]
pub enum SealProblem {
    Changed { seq: u64 },
    Root { after: u64, size: u64, seq: Option<u64> },
    Forked { after: u64, size: u64 },
    Cut { have: u64, sealed: u64, noted: bool },
    Tile { level: u32, index: u64 },
    TileMissing { seq: u64 },
    KeyRecord { seq: u64 },
    DroppedUnsaid { through: u64 },
    ErasedUnsaid { seq: u64 },
    BadSignature { size: u64 },
    KeyOfAnotherTime { size: u64, epoch: u64, signed: u64 },
    OldCheckpoint { size: u64, sealed: u64 },
    PutBack { size: u64, signed: u64 },
    BadCosignature { size: u64, by: String },
    NoHandover { epoch: u64, seq: u64 },
    AnotherFirstKey,
    AnotherKey,
    NoKey,
    BadStamp { size: u64, why: String },
    StampUnchecked { size: u64, why: String },
    ApartRefused { why: String },
    ApartDamaged { path: PathBuf },
    Damaged { path: PathBuf },
    SealGone { seq: Option<u64> },
    SealedAnew { seq: u64 },
    Unfinished,
    NotSealed,
}

impl SealProblem {
    /// What it is about.
    pub fn part(&self) -> Part {
        use SealProblem as P;
        match self {
            P::Changed { .. } | P::Root { .. } | P::Forked { .. } | P::Cut { .. } | P::Tile { .. } => {
                Part::Tree
            }
            P::DroppedUnsaid { .. } | P::ErasedUnsaid { .. } | P::ApartRefused { .. } => Part::Tree,
            P::BadSignature { .. }
            | P::OldCheckpoint { .. }
            | P::PutBack { .. }
            | P::BadStamp { .. }
            | P::BadCosignature { .. } => Part::Signatures,
            P::KeyOfAnotherTime { .. } | P::KeyRecord { .. } | P::NoHandover { .. } => Part::Keys,
            P::AnotherFirstKey | P::AnotherKey | P::NoKey => Part::Keys,
            P::Damaged { .. } | P::ApartDamaged { .. } | P::SealGone { .. } | P::SealedAnew { .. } => {
                Part::Signatures
            }
            P::TileMissing { .. } | P::StampUnchecked { .. } | P::NotSealed | P::Unfinished => {
                Part::CannotTell
            }
        }
    }

    /// The first record that it is about.
    pub fn first_entry(&self) -> u64 {
        use SealProblem as P;
        match self {
            P::Changed { seq } | P::ErasedUnsaid { seq } | P::KeyRecord { seq } | P::TileMissing { seq } => {
                *seq
            }
            P::NoHandover { seq, .. } | P::SealedAnew { seq } => *seq,
            P::SealGone { seq } => seq.unwrap_or(u64::MAX),
            P::Root { after, seq, .. } => seq.unwrap_or(after + 1),
            P::Forked { after, .. } => after + 1,
            P::Cut { have, .. } => have + 1,
            P::Tile { index, .. } => index + 1,
            P::DroppedUnsaid { .. } => 1,
            P::BadSignature { size } | P::KeyOfAnotherTime { size, .. } | P::OldCheckpoint { size, .. } => {
                *size
            }
            P::PutBack { size, .. } => size + 1,
            P::BadCosignature { size, .. } | P::BadStamp { size, .. } | P::StampUnchecked { size, .. } => {
                *size
            }
            P::AnotherFirstKey
            | P::AnotherKey
            | P::NoKey
            | P::Damaged { .. }
            | P::NotSealed
            | P::Unfinished => u64::MAX,
            P::ApartRefused { .. } | P::ApartDamaged { .. } => u64::MAX,
        }
    }
}

impl fmt::Display for SealProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use SealProblem as P;
        match self {
            P::Changed { seq } => write!(f, "record {seq} is not the one that was sealed: it was changed"),
            P::Root { after, size, seq: Some(seq) } => {
                write!(f, "records {} to {size} are not the ones that were sealed, from record {seq} on", after + 1)
            }
            P::Root { after, size, seq: None } => {
                write!(f, "records {} to {size} are not the ones that were sealed", after + 1)
            }
            P::Forked { after, size } => {
                write!(f, "this is not the log that was noted: the two differ from a record between {} and {size} on", after + 1)
            }
            P::Cut { have, sealed, noted: false } => {
                write!(f, "records {} to {sealed} are missing: they were sealed and have been cut off", have + 1)
            }
            P::Cut { have, sealed, noted: true } => {
                write!(f, "records {} to {sealed} are missing: they were there when the checkpoint was noted", have + 1)
            }
            P::Tile { level, index } => {
                write!(f, "hash {index} of level {level} in the tree's files was changed; the log itself is as it was sealed")
            }
            P::TileMissing { seq } => {
                write!(f, "the text of record {seq} is gone, and so is its hash in the tree's files")
            }
            P::KeyRecord { seq } => write!(f, "record {seq} names a different key from the one that was used"),
            P::DroppedUnsaid { through } => {
                write!(f, "records 1 to {through} are missing, and no record says that they were dropped")
            }
            P::ErasedUnsaid { seq } => write!(f, "the text of record {seq} is gone, and no record says that it was erased"),
            P::BadSignature { size } => write!(f, "the checkpoint of {size} records is not signed by the log's key"),
            P::KeyOfAnotherTime { size, epoch, signed } => {
                let when = if signed > epoch { "later" } else { "earlier" };
                write!(f, "the checkpoint of {size} records is signed with key {signed}, {when} than key {epoch}, which was in use")
            }
            P::OldCheckpoint { size, sealed } => {
                write!(f, "`checkpoint` covers {size} records, but {sealed} were sealed: an older one has replaced it")
            }
            P::PutBack { size, signed } => {
                write!(f, "{signed} records were sealed, and the checkpoints know {size}: they were put back from a copy")
            }
            P::BadCosignature { size, by } => {
                write!(f, "the signature of `{by}` under the checkpoint of {size} records is not valid")
            }
            P::NoHandover { epoch, seq } => {
                write!(f, "key {epoch} was never sealed by the key before it: the checkpoint of {seq} records is missing")
            }
            P::AnotherFirstKey => f.write_str("the log does not begin with the given key: it was rewritten"),
            P::AnotherKey => {
                f.write_str("the key in the state directory is not the one that the log names last: one of the two was put back from a copy")
            }
            P::NoKey => f.write_str("no record names the key of the log"),
            P::BadStamp { size, why } => {
                write!(f, "the time stamp of the checkpoint of {size} records is not valid: {why}")
            }
            P::StampUnchecked { size, why } => {
                write!(f, "the time stamp of the checkpoint of {size} records was not checked: {why}")
            }
            P::ApartRefused { why } => write!(f, "the seal apart refused this log: {why}"),
            P::ApartDamaged { path } => {
                write!(f, "`{}`, which belongs to the seal apart, is not as it was written, or others may write it", path.display())
            }
            P::Damaged { path } => write!(f, "`{}` is not as it was written", path.display()),
            P::SealGone { seq: Some(seq) } => {
                write!(f, "record {seq} names the key of a seal, and no checkpoint is left: what was sealed has been removed")
            }
            P::SealGone { seq: None } => {
                f.write_str("the log was sealed, and no checkpoint is left: what was sealed has been removed")
            }
            P::SealedAnew { seq } => {
                write!(f, "record {seq} names the key of another seal, which is gone: the log was sealed anew after it was removed")
            }
            P::Unfinished => f.write_str("the first seal was not ended: `toolgate ledger seal` goes on"),
            P::NotSealed => f.write_str("the log was never sealed: there is nothing to check against"),
        }
    }
}
