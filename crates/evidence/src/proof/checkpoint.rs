//! Checkpoints, as C2SP's tlog-checkpoint defines them: a note whose text names a log, its size and its root.

use base64ct::{Base64, Encoding};
use ed25519_dalek::SigningKey;

use super::note::{Note, NoteKey, Signed};
use crate::Digest;

/// A log at one size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The name of the log.
    pub origin: String,
    /// How many records it has.
    pub size: u64,
    /// The root of the tree over them.
    pub root: Digest,
    note: Note,
}

impl Checkpoint {
    /// Signs one.
    pub(crate) fn sign(origin: &str, size: u64, root: Digest, key: &SigningKey) -> Checkpoint {
        let text = format!("{origin}\n{size}\n{}\n", Base64::encode_string(root.bytes()));
        Checkpoint { origin: origin.to_owned(), size, root, note: Note::sign(text, origin, key) }
    }

    /// Reads one, whoever signed it; `None` where it is none.
    pub fn parse(text: &str) -> Option<Checkpoint> {
        Checkpoint::of(Note::parse(text)?)
    }

    pub(crate) fn of(note: Note) -> Option<Checkpoint> {
        let mut lines = note.text().lines();
        let (origin, size, root) = (lines.next()?.to_owned(), lines.next()?, lines.next()?);
        let number: u64 = size.parse().ok()?;
        let root = Digest::from_bytes(Base64::decode_vec(root).ok()?.try_into().ok()?);
        let is_well_formed =
            !origin.is_empty() && number.to_string() == size && lines.all(|line| !line.is_empty());
        is_well_formed.then_some(Checkpoint { origin, size: number, root, note })
    }

    /// Whether it is signed with this key.
    pub fn signed_by(&self, key: &NoteKey) -> Signed {
        self.note.signed_by(key)
    }

    /// How many signatures it has besides that of the log.
    pub fn cosignatures(&self) -> usize {
        self.note.signatures().saturating_sub(1)
    }

    /// Its note.
    pub fn note(&self) -> &Note {
        &self.note
    }

    pub(crate) fn note_mut(&mut self) -> &mut Note {
        &mut self.note
    }
}
