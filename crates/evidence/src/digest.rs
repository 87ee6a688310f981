//! SHA-256, as a type of its own, so that no other text can stand where a digest is asked for.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of some bytes.
///
/// Shows whether two inputs were the same, not what they were. Who can guess a short input can check the
/// guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest([u8; 32]);

impl Digest {
    /// What the first line of a ledger names as the line before it.
    pub(crate) const NOTHING: Digest = Digest([0; 32]);

    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// These 32 bytes, which are a digest already.
    #[cfg(feature = "proof")]
    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Digest {
        Digest(bytes)
    }

    /// Its 32 bytes.
    #[cfg(feature = "proof")]
    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Its first eight bytes: enough to tell some hundred things apart, whoever chose their names.
    pub(crate) fn short(self) -> [u8; 8] {
        self.0.first_chunk().copied().unwrap_or_default()
    }

    /// 64 hexadecimal digits.
    pub fn hex(&self) -> String {
        let digit = |value: u8| char::from(if value < 10 { b'0' + value } else { b'a' + value - 10 });
        let mut hex = String::with_capacity(64);
        for byte in self.0 {
            hex.push(digit(byte >> 4));
            hex.push(digit(byte & 0xf));
        }
        hex
    }
}

/// `sha256:` and the digits, as records name it.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

#[cfg(test)]
mod tests {
    use super::Digest;

    #[test]
    fn the_digest_of_nothing_is_the_well_known_one() {
        assert_eq!(
            Digest::of(b"").to_string(),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
