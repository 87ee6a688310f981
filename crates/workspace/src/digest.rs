//! Digests of files, and how files are read for them.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::Digest as _;

/// How a file is hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// BLAKE3, several times as fast.
    Blake3,
    /// SHA-256, which other tools have too.
    Sha256,
}

impl Algorithm {
    /// Its name, as it stands before a digest.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Blake3 => "blake3",
            Algorithm::Sha256 => "sha256",
        }
    }
}

/// A digest: `blake3:` or `sha256:`, and 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest {
    algorithm: Algorithm,
    bytes: [u8; 32],
}

impl Digest {
    /// The digest of these bytes.
    pub fn of(algorithm: Algorithm, bytes: &[u8]) -> Digest {
        let mut hasher = Hasher::new(algorithm);
        hasher.update(bytes);
        hasher.finish()
    }

    /// How it was made.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// Its 64 digits.
    pub fn hex(&self) -> String {
        let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or_default();
        self.bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm.name(), self.hex())
    }
}

/// A text that is no digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoDigest;

impl fmt::Display for NoDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("is not a digest; one is `blake3:` or `sha256:` and 64 hexadecimal digits")
    }
}

impl std::error::Error for NoDigest {}

impl FromStr for Digest {
    type Err = NoDigest;

    fn from_str(text: &str) -> Result<Digest, NoDigest> {
        let (name, hex) = text.split_once(':').ok_or(NoDigest)?;
        let algorithm = [Algorithm::Blake3, Algorithm::Sha256]
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
            .ok_or(NoDigest)?;
        // One spelling each, so that a digest is also a file's name.
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if hex.len() != 64 || !hex.bytes().all(is_digit) {
            return Err(NoDigest);
        }
        let mut bytes = [0; 32];
        for (byte, digits) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| NoDigest)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| NoDigest)?;
        }
        Ok(Digest { algorithm, bytes })
    }
}

impl TryFrom<String> for Digest {
    type Error = NoDigest;

    fn try_from(text: String) -> Result<Digest, NoDigest> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.to_string()
    }
}

/// A digest in the making.
pub(crate) enum Hasher {
    Blake3(Box<blake3::Hasher>),
    Sha256(sha2::Sha256),
}

impl Hasher {
    pub(crate) fn new(algorithm: Algorithm) -> Hasher {
        match algorithm {
            Algorithm::Blake3 => Hasher::Blake3(Box::default()),
            Algorithm::Sha256 => Hasher::Sha256(sha2::Sha256::new()),
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Hasher::Blake3(hasher) => drop(hasher.update(bytes)),
            Hasher::Sha256(hasher) => hasher.update(bytes),
        }
    }

    pub(crate) fn finish(&self) -> Digest {
        match self {
            Hasher::Blake3(hasher) => {
                Digest { algorithm: Algorithm::Blake3, bytes: *hasher.finalize().as_bytes() }
            }
            Hasher::Sha256(hasher) => {
                Digest { algorithm: Algorithm::Sha256, bytes: hasher.clone().finalize().into() }
            }
        }
    }
}

/// Pieces of this size are read: large enough for the hash to work on many blocks at once.
pub(crate) const PIECE: usize = 128 * 1024;

/// Gives what is read on, and keeps its digest.
pub(crate) struct Hashing<'r> {
    source: &'r mut dyn Read,
    hasher: Hasher,
}

impl<'r> Hashing<'r> {
    pub(crate) fn new(source: &'r mut dyn Read, algorithm: Algorithm) -> Hashing<'r> {
        Hashing { source, hasher: Hasher::new(algorithm) }
    }

    pub(crate) fn digest(&self) -> Digest {
        self.hasher.finish()
    }
}

impl Read for Hashing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.source.read(buffer)?;
        self.hasher.update(buffer.get(..length).unwrap_or_default());
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_has_exactly_one_spelling() {
        let digest = Digest::of(Algorithm::Sha256, b"");
        let text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digest.to_string(), text);
        assert_eq!(text.parse(), Ok(digest));
        assert_eq!(Digest::of(Algorithm::Blake3, b"").hex().get(..8), Some("af1349b9"));
        for text in
            [text.to_uppercase(), text.replace("sha256", "md5"), format!("{text}0"), text.replace(':', "")]
        {
            assert_eq!(text.parse::<Digest>(), Err(NoDigest), "{text}");
        }
    }
}
