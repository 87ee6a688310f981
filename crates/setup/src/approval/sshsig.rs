//! Signatures that `ssh-keygen -Y sign` makes: read and verified here, with nothing taken on trust from the file.
//!
//! Against whom: somebody who has a security key sign without being touched, or who presents a signature for another purpose. The
//! flag of presence is part of what the key signs, and is checked here; so is the namespace. Ed25519 keys only, in software
//! (`ssh-ed25519`) or in a security key (`sk-ssh-ed25519@openssh.com`).

use base64ct::{Base64, Encoding};
use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest, Sha256, Sha512};

/// What signatures are made for: `ssh-keygen -Y sign -n toolgate`.
pub const NAMESPACE: &str = "toolgate";

const PLAIN: &str = "ssh-ed25519";
const TOUCHED: &str = "sk-ssh-ed25519@openssh.com";
const MAGIC: &[u8] = b"SSHSIG";
/// Somebody was there and touched the key.
const PRESENT: u8 = 1;
/// Longer ones are none of a kind that is known.
const LONGEST: usize = 64 * 1024;

/// A public key as OpenSSH writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshKey {
    blob: Vec<u8>,
    key: [u8; 32],
    /// What a security key signs for; `None` for a key in software.
    application: Option<Vec<u8>>,
}

impl SshKey {
    /// Reads the two words of a public key: its kind, and the rest in base64.
    pub fn parse(kind: &str, base64: &str) -> Option<SshKey> {
        if base64.len() > LONGEST {
            return None;
        }
        let key = SshKey::of_blob(&Base64::decode_vec(base64).ok()?)?;
        (key.kind() == kind).then_some(key)
    }

    fn of_blob(blob: &[u8]) -> Option<SshKey> {
        let mut rest = Reader(blob);
        let kind = rest.string()?;
        let key: [u8; 32] = rest.string()?.try_into().ok()?;
        let application = match std::str::from_utf8(kind).ok()? {
            PLAIN => None,
            TOUCHED => Some(rest.string()?.to_vec()),
            _ => return None,
        };
        // A weak key verifies what nobody has signed.
        let is_usable = VerifyingKey::from_bytes(&key).is_ok_and(|key| !key.is_weak());
        (rest.0.is_empty() && is_usable).then(|| SshKey { blob: blob.to_vec(), key, application })
    }

    /// The first word of its line.
    pub fn kind(&self) -> &'static str {
        if self.is_touched() { TOUCHED } else { PLAIN }
    }

    /// Whether it lies in a security key, which signs only when somebody touches it.
    pub fn is_touched(&self) -> bool {
        self.application.is_some()
    }

    /// The two words of its line.
    pub fn line(&self) -> String {
        format!("{} {}", self.kind(), Base64::encode_string(&self.blob))
    }

    /// Its fingerprint, as `ssh-keygen -l` shows it.
    pub fn fingerprint(&self) -> String {
        let digest = Base64::encode_string(&Sha256::digest(&self.blob));
        format!("SHA256:{}", digest.trim_end_matches('='))
    }

    /// Whether this key has signed the message, for this purpose, and with somebody present where it can tell.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> Result<(), &'static str> {
        const BROKEN: &str = "is no signature that `ssh-keygen -Y sign` makes";
        let mut rest = Reader(signature);
        let magic = rest.take(MAGIC.len()).ok_or(BROKEN)?;
        if magic != MAGIC || rest.number().ok_or(BROKEN)? != 1 {
            return Err(BROKEN);
        }
        let key = rest.string().ok_or(BROKEN)?;
        let namespace = rest.string().ok_or(BROKEN)?;
        let reserved = rest.string().ok_or(BROKEN)?;
        let hash = rest.string().ok_or(BROKEN)?;
        let inner = rest.string().ok_or(BROKEN)?;
        if !rest.0.is_empty() {
            return Err(BROKEN);
        }
        if key != self.blob {
            return Err("is a signature by another key");
        }
        if namespace != NAMESPACE.as_bytes() {
            return Err("was made for another purpose; sign with `-n toolgate`");
        }
        let digest = match hash {
            b"sha256" => Sha256::digest(message).to_vec(),
            b"sha512" => Sha512::digest(message).to_vec(),
            _ => return Err("uses a digest that is not known"),
        };
        let mut signed = MAGIC.to_vec();
        for part in [namespace, reserved, hash, &digest] {
            put(&mut signed, part);
        }
        self.has_signed(&signed, inner)
    }

    fn has_signed(&self, signed: &[u8], inner: &[u8]) -> Result<(), &'static str> {
        const BROKEN: &str = "is no signature of that key's kind";
        let mut rest = Reader(inner);
        if rest.string().ok_or(BROKEN)? != self.kind().as_bytes() {
            return Err(BROKEN);
        }
        let signature: [u8; 64] = rest.string().and_then(|raw| raw.try_into().ok()).ok_or(BROKEN)?;
        let message = match &self.application {
            None => signed.to_vec(),
            Some(application) => {
                let flags = rest.take(1).and_then(|byte| byte.first().copied()).ok_or(BROKEN)?;
                let count = rest.number().ok_or(BROKEN)?;
                // INVARIANT: a signature without a touch is nobody's word.
                if flags & PRESENT == 0 {
                    return Err("was made without a touch of the security key");
                }
                let mut message = Sha256::digest(application).to_vec();
                message.push(flags);
                message.extend_from_slice(&count.to_be_bytes());
                message.extend_from_slice(&Sha256::digest(signed));
                message
            }
        };
        if !rest.0.is_empty() {
            return Err(BROKEN);
        }
        let key = VerifyingKey::from_bytes(&self.key).map_err(|_| BROKEN)?;
        key.verify_strict(&message, &Signature::from_bytes(&signature))
            .map_err(|_| "does not fit: the statement was changed, or signed by another key")
    }
}

/// The bytes of a signature file: what lies between its two lines of dashes.
pub fn dearmoured(text: &str) -> Option<Vec<u8>> {
    if text.len() > LONGEST {
        return None;
    }
    let inner = text.trim().strip_prefix("-----BEGIN SSH SIGNATURE-----")?;
    let inner = inner.strip_suffix("-----END SSH SIGNATURE-----")?;
    let plain: String = inner.split_ascii_whitespace().collect();
    Base64::decode_vec(&plain).ok()
}

/// A signature as OpenSSH's tools read it.
pub fn armoured(signature: &[u8]) -> String {
    let text = Base64::encode_string(signature);
    let lines: Vec<&str> =
        text.as_bytes().chunks(70).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN SSH SIGNATURE-----\n{}\n-----END SSH SIGNATURE-----\n", lines.join("\n"))
}

/// Adds a string as the protocol writes it: its length, then its bytes.
fn put(to: &mut Vec<u8>, text: &[u8]) {
    to.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes());
    to.extend_from_slice(text);
}

/// Reads numbers and strings as the protocol writes them.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    fn string(&mut self) -> Option<&'b [u8]> {
        let length = self.number()?;
        self.take(usize::try_from(length).ok()?)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use ed25519_dalek::{Signer as _, SigningKey};

    use super::*;

    /// A key in software that signs as one of either kind would.
    pub(crate) struct Made {
        pub(crate) key: SshKey,
        secret: SigningKey,
    }

    impl Made {
        pub(crate) fn new(seed: u8, touched: bool) -> Made {
            let secret = SigningKey::from_bytes(&[seed; 32]);
            let mut blob = Vec::new();
            put(&mut blob, if touched { TOUCHED } else { PLAIN }.as_bytes());
            put(&mut blob, secret.verifying_key().as_bytes());
            if touched {
                put(&mut blob, b"ssh:");
            }
            Made { key: SshKey::of_blob(&blob).unwrap(), secret }
        }

        pub(crate) fn sign(&self, message: &[u8], namespace: &str, flags: u8) -> Vec<u8> {
            let mut signed = MAGIC.to_vec();
            for part in [namespace.as_bytes(), b"", b"sha512", &Sha512::digest(message)] {
                put(&mut signed, part);
            }
            let mut inner = Vec::new();
            put(&mut inner, self.key.kind().as_bytes());
            if let Some(application) = &self.key.application {
                let mut message = Sha256::digest(application).to_vec();
                message.extend_from_slice(&[flags, 0, 0, 0, 7]);
                message.extend_from_slice(&Sha256::digest(&signed));
                put(&mut inner, &self.secret.sign(&message).to_bytes());
                inner.extend_from_slice(&[flags, 0, 0, 0, 7]);
            } else {
                put(&mut inner, &self.secret.sign(&signed).to_bytes());
            }
            let mut all = MAGIC.to_vec();
            all.extend_from_slice(&1u32.to_be_bytes());
            for part in [&self.key.blob[..], namespace.as_bytes(), b"", b"sha512", &inner] {
                put(&mut all, part);
            }
            all
        }
    }

    #[test]
    fn a_signature_is_for_one_text_one_key_and_one_purpose() {
        for touched in [false, true] {
            let (own, other) = (Made::new(1, touched), Made::new(2, touched));
            let signature = own.sign(b"text", NAMESPACE, PRESENT);
            assert_eq!(own.key.verifies(b"text", &signature), Ok(()));
            assert!(own.key.verifies(b"texts", &signature).is_err());
            assert!(other.key.verifies(b"text", &signature).is_err());
            assert!(own.key.verifies(b"text", &own.sign(b"text", "git", PRESENT)).is_err());
            assert_eq!(dearmoured(&armoured(&signature)), Some(signature.clone()));
            for at in 0..signature.len() {
                let mut changed = signature.clone();
                changed[at] ^= 1;
                assert!(own.key.verifies(b"text", &changed).is_err(), "byte {at} of {touched}");
                assert!(own.key.verifies(b"text", &signature[..at]).is_err(), "cut at {at}");
            }
            let words = own.key.line();
            let (kind, blob) = words.split_once(' ').unwrap();
            assert_eq!(SshKey::parse(kind, blob), Some(own.key));
        }
    }

    #[test]
    fn a_security_key_that_nobody_touched_has_not_signed() {
        let own = Made::new(1, true);
        let untouched = own.sign(b"text", NAMESPACE, 4);
        let told = own.key.verifies(b"text", &untouched);
        assert_eq!(told, Err("was made without a touch of the security key"));
        assert_eq!(own.key.verifies(b"text", &own.sign(b"text", NAMESPACE, 5)), Ok(()));
    }

    #[test]
    fn a_signature_of_openssh_verifies() {
        // Made by `ssh-keygen -Y sign -n toolgate`, over `hello` without a newline. The key was thrown away.
        let key = "AAAAC3NzaC1lZDI1NTE5AAAAINLy2TXmAdWR1/Z6O0Mfr79KOhXTm4fEPJe5usUT1tkh";
        let signature = "-----BEGIN SSH SIGNATURE-----\n\
             U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAg0vLZNeYB1ZHX9no7Qx+vv0o6Fd\n\
             Obh8Q8l7m6xRPW2SEAAAAIdG9vbGdhdGUAAAAAAAAABnNoYTUxMgAAAFMAAAALc3NoLWVk\n\
             MjU1MTkAAABASaPWTyUDok7nbmdvV0LYWY+DfjMY9bjYF1j0JNUhTW6VPv/hEimx5sd0vZ\n\
             G/xMZLxpV8W63PmYj4wGRYnemRCQ==\n\
             -----END SSH SIGNATURE-----\n";
        let key = SshKey::parse(PLAIN, key).unwrap();
        let signature = dearmoured(signature).unwrap();
        assert_eq!(key.verifies(b"hello", &signature), Ok(()));
        assert!(key.verifies(b"hallo", &signature).is_err());
        assert_eq!(SshKey::parse(TOUCHED, &key.line()), None);
    }
}
