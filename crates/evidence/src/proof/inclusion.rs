//! The proof that one line is in the ledger, as C2SP's tlog-proof defines it: index, path, checkpoint.

use base64ct::{Base64, Encoding};

use super::checkpoint::Checkpoint;
use super::merkle::{leaf_hash, root_of_path};
use super::note::{NoteKey, Signed};
use crate::Digest;

const HEADER: &str = "c2sp.org/tlog-proof@v1";
/// No proof is longer: a path, and a checkpoint with many signatures.
const MAX_PROOF: usize = 128 * 1024;

/// A proof for one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InclusionProof {
    /// The place of the line in the tree: its number less one.
    pub index: u64,
    /// The hashes beside the way to the root, the lowest first.
    pub path: Vec<Digest>,
    /// The tree.
    pub checkpoint: Checkpoint,
}

/// What a proof shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// The line is in the log of this key.
    InTheLog,
    /// The line is not the one that the proof is about, or the proof was changed.
    AnotherLine,
    /// The signature is not good.
    BadSignature,
    /// It is signed with another key.
    AnotherKey,
}

impl InclusionProof {
    /// Reads one; `None` where it is none.
    pub fn parse(text: &str) -> Option<InclusionProof> {
        if text.len() > MAX_PROOF {
            return None;
        }
        let (head, checkpoint) = text.split_once("\n\n")?;
        let mut lines = head.lines().peekable();
        if lines.next()? != HEADER {
            return None;
        }
        lines.next_if(|line| line.starts_with("extra "));
        let index = lines.next()?.strip_prefix("index ")?;
        let number: u64 = index.parse().ok()?;
        let hash = |line: &str| Some(Digest::from_bytes(Base64::decode_vec(line).ok()?.try_into().ok()?));
        let path = lines.map(hash).collect::<Option<_>>()?;
        let checkpoint = Checkpoint::parse(checkpoint)?;
        (number.to_string() == index).then_some(InclusionProof { index: number, path, checkpoint })
    }

    /// What it shows of a line, to somebody who knows the key.
    pub fn shows(&self, line: &[u8], key: &NoteKey) -> Shown {
        let root = root_of_path(self.index, self.checkpoint.size, leaf_hash(line), &self.path);
        match self.checkpoint.signed_by(key) {
            Signed::Absent => Shown::AnotherKey,
            Signed::Bad => Shown::BadSignature,
            // The name of the log is that of the key which speaks for it.
            Signed::Good(_) if self.checkpoint.origin != key.name() => Shown::AnotherKey,
            Signed::Good(_) if root == Some(self.checkpoint.root) => Shown::InTheLog,
            Signed::Good(_) => Shown::AnotherLine,
        }
    }
}

impl std::fmt::Display for InclusionProof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{HEADER}\nindex {}", self.index)?;
        for hash in &self.path {
            writeln!(f, "{}", Base64::encode_string(hash.bytes()))?;
        }
        write!(f, "\n{}", self.checkpoint.note())
    }
}
