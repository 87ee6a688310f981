//! Signed notes, as C2SP's signed-note defines them: a text, a blank line, and lines with signatures.
//!
//! Promise: a signature counts only under a key that the caller names, with its name and its kind. Signatures of others are
//! ignored, as the specification asks, so that witnesses can add theirs.

use std::fmt;

use base64ct::{Base64, Encoding};
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use sha2::{Digest as _, Sha256};

/// What begins a line with a signature.
const DASH: &str = "\u{2014} ";
/// A note that is longer is not read: there is room for some hundred signatures.
const MAX_NOTE: usize = 64 * 1024;

/// What a key signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// The text: the key of a log.
    Ed25519,
    /// That the text was seen at a time: the key of a witness.
    Cosignature,
}

impl KeyKind {
    fn byte(self) -> u8 {
        match self {
            KeyKind::Ed25519 => 0x01,
            KeyKind::Cosignature => 0x04,
        }
    }
}

/// A public key with its name. Its text (`name+id+key`) is what other tools call a verifier key, or vkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteKey {
    name: String,
    kind: KeyKind,
    key: VerifyingKey,
}

impl NoteKey {
    /// The key of a log.
    pub(crate) fn of_log(name: &str, key: VerifyingKey) -> NoteKey {
        NoteKey { name: name.to_owned(), kind: KeyKind::Ed25519, key }
    }

    /// Reads `name+id+key`; `None` where it is none, or where the id is not that of the key.
    pub fn parse(text: &str) -> Option<NoteKey> {
        let (name, rest) = text.split_once('+')?;
        let (id, key) = rest.split_once('+')?;
        let bytes = Base64::decode_vec(key).ok()?;
        let (kind, key) = bytes.split_first()?;
        let kind = match kind {
            0x01 => KeyKind::Ed25519,
            0x04 => KeyKind::Cosignature,
            _ => return None,
        };
        let key = VerifyingKey::from_bytes(key.try_into().ok()?).ok()?;
        let found = NoteKey { name: name.to_owned(), kind, key };
        (is_name(name) && id == hex(found.id())).then_some(found)
    }

    /// Whose it is: for a log, its origin.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it signs.
    pub fn kind(&self) -> KeyKind {
        self.kind
    }

    /// The key itself.
    pub(crate) fn key(&self) -> &VerifyingKey {
        &self.key
    }

    fn id(&self) -> [u8; 4] {
        let named = Sha256::new().chain_update(&self.name).chain_update([b'\n', self.kind.byte()]);
        let sum: [u8; 32] = named.chain_update(self.key.as_bytes()).finalize().into();
        sum.first_chunk().copied().unwrap_or_default()
    }
}

/// As other tools read it.
impl fmt::Display for NoteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = vec![self.kind.byte()];
        bytes.extend_from_slice(self.key.as_bytes());
        write!(f, "{}+{}+{}", self.name, hex(self.id()), Base64::encode_string(&bytes))
    }
}

fn hex(id: [u8; 4]) -> String {
    format!("{:08x}", u32::from_be_bytes(id))
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|sign: char| sign.is_whitespace() || sign == '+' || sign.is_control())
}

/// A text with signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    text: String,
    signatures: Vec<Signature>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Signature {
    name: String,
    id: [u8; 4],
    bytes: Vec<u8>,
}

/// What a note says about a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    /// It has a good signature; a witness says when, in seconds since 1970.
    Good(Option<u64>),
    /// It has one that is not good.
    Bad,
    /// It has none.
    Absent,
}

impl Note {
    /// Signs a text, which ends in a newline.
    pub(crate) fn sign(text: String, name: &str, key: &SigningKey) -> Note {
        let id = NoteKey::of_log(name, key.verifying_key()).id();
        let bytes = key.sign(text.as_bytes()).to_bytes().to_vec();
        Note { text, signatures: vec![Signature { name: name.to_owned(), id, bytes }] }
    }

    /// Reads a note; `None` where it is none.
    pub fn parse(note: &str) -> Option<Note> {
        let is_control = |sign: char| sign < ' ' && sign != '\n';
        if note.len() > MAX_NOTE || note.contains(is_control) || !note.ends_with('\n') {
            return None;
        }
        let end = note.rfind("\n\n")?;
        let text = note.get(..=end)?.to_owned();
        let lines = note.get(end + 2..)?;
        let signatures = Signature::parse_lines(lines)?;
        (!signatures.is_empty()).then_some(Note { text, signatures })
    }

    /// What is signed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many signatures it has.
    pub fn signatures(&self) -> usize {
        self.signatures.len()
    }

    /// Whether it is signed with this key.
    pub fn signed_by(&self, key: &NoteKey) -> Signed {
        let id = key.id();
        let mut found = Signed::Absent;
        for signature in self.signatures.iter().filter(|one| one.name == key.name && one.id == id) {
            found = signature.verify(&self.text, key).unwrap_or(Signed::Bad);
            if found == Signed::Bad {
                break;
            }
        }
        found
    }

    /// Takes over signatures that another note, or lines of such, have for the same text. How many are new; `None` where the
    /// text is another one, or where there are no signatures.
    pub(crate) fn join(&mut self, other: &str) -> Option<usize> {
        let theirs = match Note::parse(other) {
            Some(note) if note.text == self.text => note.signatures,
            Some(_) => return None,
            None => Signature::parse_lines(other)?,
        };
        let before = self.signatures.len();
        for signature in theirs {
            if !self.signatures.contains(&signature) {
                self.signatures.push(signature);
            }
        }
        (self.to_string().len() <= MAX_NOTE).then_some(self.signatures.len() - before)
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        for Signature { name, id, bytes } in &self.signatures {
            let all = [&id[..], bytes].concat();
            writeln!(f, "{DASH}{name} {}", Base64::encode_string(&all))?;
        }
        Ok(())
    }
}

impl Signature {
    fn parse_lines(lines: &str) -> Option<Vec<Signature>> {
        let signatures: Vec<_> = lines.lines().map(Signature::parse).collect::<Option<_>>()?;
        (!signatures.is_empty()).then_some(signatures)
    }

    fn parse(line: &str) -> Option<Signature> {
        let (name, signature) = line.strip_prefix(DASH)?.split_once(' ')?;
        let bytes = Base64::decode_vec(signature).ok()?;
        let (id, bytes) = bytes.split_first_chunk()?;
        is_name(name).then(|| Signature { name: name.to_owned(), id: *id, bytes: bytes.to_vec() })
    }

    /// `None` where it is not good.
    fn verify(&self, text: &str, key: &NoteKey) -> Option<Signed> {
        let (time, signature, message) = match key.kind {
            KeyKind::Ed25519 => (None, self.bytes.as_slice(), text.to_owned()),
            KeyKind::Cosignature => {
                let (time, signature) = self.bytes.split_first_chunk()?;
                let time = u64::from_be_bytes(*time);
                (Some(time), signature, format!("cosignature/v1\ntime {time}\n{text}"))
            }
        };
        let signature = ed25519_dalek::Signature::from_slice(signature).ok()?;
        // Strict: a signature has one form.
        key.key.verify_strict(message.as_bytes(), &signature).ok().map(|()| Signed::Good(time))
    }
}

/// Reads notes one after the other, each of which has one blank line: where its signatures begin.
pub(crate) fn parse_many(notes: &str) -> Option<Vec<Note>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut end = 0;
    let mut in_signatures = false;
    for line in notes.split_inclusive('\n') {
        let is_signature = line.starts_with(DASH);
        if in_signatures && !is_signature {
            found.push(Note::parse(notes.get(start..end)?)?);
            start = end;
        }
        in_signatures = is_signature;
        end += line.len();
    }
    if start < end {
        found.push(Note::parse(notes.get(start..end)?)?);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the documentation of Go's package `note`, from which the format comes.
    const KEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    const NOTE: &str = "If you think cryptography is the answer to your problem,\n\
        then you don't know what your problem is.\n\n\
        — PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

    #[test]
    fn a_note_of_another_implementation_is_read_and_checked() {
        let key = NoteKey::parse(KEY).unwrap();
        assert_eq!(key.to_string(), KEY);
        let note = Note::parse(NOTE).unwrap();
        assert_eq!(note.to_string(), NOTE);
        assert_eq!(note.signed_by(&key), Signed::Good(None));
        let changed = Note::parse(&NOTE.replace("answer", "Answer")).unwrap();
        assert_eq!(changed.signed_by(&key), Signed::Bad);
        let other = NoteKey { name: "Another".to_owned(), ..key };
        assert_eq!(note.signed_by(&other), Signed::Absent);
        assert_eq!(parse_many(&NOTE.repeat(3)).unwrap().len(), 3);
    }

    #[test]
    fn what_is_no_note_and_no_key_is_refused() {
        for other in
            ["", "a\n", "a\n\n", "a\n\nb\n", &NOTE.replace('\u{2014}', "-"), NOTE.trim_end(), "a\u{7}\n\n"]
        {
            assert_eq!(Note::parse(other), None, "{other:?}");
        }
        for other in
            ["", "a+b", &KEY.replace("c74f20a3", "c74f20a4"), &KEY.replace("+AR", "+BR"), "a b+c74f20a3+AA=="]
        {
            assert_eq!(NoteKey::parse(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_witness_adds_its_signature_and_its_time() {
        let text = "toolgate/x\n1\nAAAA\n".to_owned();
        let own = SigningKey::from_bytes(&[1; 32]);
        let mut note = Note::sign(text.clone(), "toolgate/x", &own);
        let witness = SigningKey::from_bytes(&[2; 32]);
        let key = NoteKey {
            name: "w.example".to_owned(),
            kind: KeyKind::Cosignature,
            key: witness.verifying_key(),
        };
        let signed = witness.sign(format!("cosignature/v1\ntime 1679315147\n{text}").as_bytes());
        let bytes = [&key.id()[..], &1_679_315_147_u64.to_be_bytes(), &signed.to_bytes()].concat();
        let line = format!("{DASH}w.example {}\n", Base64::encode_string(&bytes));
        assert_eq!(note.join(&line), Some(1));
        assert_eq!(note.join(&line), Some(0), "once");
        assert_eq!(note.join("x"), None);
        let note = Note::parse(&note.to_string()).unwrap();
        assert_eq!(note.signed_by(&key), Signed::Good(Some(1_679_315_147)));
        assert_eq!(note.signed_by(&NoteKey::of_log("toolgate/x", own.verifying_key())), Signed::Good(None));
        assert_eq!(NoteKey::parse(&key.to_string()), Some(key));
    }
}
