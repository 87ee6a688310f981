//! Keys that receipts are signed with: Ed25519, in the PEM files that other tools know.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::{fmt, fs};

use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey};
use ed25519_dalek::{Signature, Signer, VerifyingKey};
use rustix::fs::OFlags;

use crate::atomic::{random, random_name};
use crate::digest::{Algorithm, Digest};
use crate::error::Error;

/// A key that signs. Its file is for its owner alone.
pub struct SigningKey(ed25519_dalek::SigningKey);

/// A key that signatures are checked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

/// Keeps the key out of messages and logs.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.public().id())
    }
}

/// A key file is no longer than this.
const LONGEST: u64 = 4096;

impl SigningKey {
    /// Opens the key of this file, and makes one where there is none. A file that others can read is refused.
    pub fn open(path: &Path) -> Result<SigningKey, Error> {
        let failed = |error: io::Error| Error::about(&path.to_string_lossy(), error);
        match open(path) {
            Ok(file) => SigningKey::read(&file, path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make(path).map_err(failed)?;
                SigningKey::read(&open(path).map_err(failed)?, path)
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn read(file: &File, path: &Path) -> Result<SigningKey, Error> {
        let failed = |error: io::Error| Error::about(&path.to_string_lossy(), error);
        let mode = std::os::unix::fs::MetadataExt::mode(&file.metadata().map_err(failed)?);
        if mode & 0o077 != 0 {
            return Err(Error::UnsafeBase {
                path: path.to_path_buf(),
                why: "is a signing key that others can read; `chmod 600` it",
            });
        }
        let mut text = String::new();
        file.take(LONGEST).read_to_string(&mut text).map_err(failed)?;
        let key = ed25519_dalek::SigningKey::from_pkcs8_pem(&text);
        key.map(SigningKey).map_err(|_| Error::Damaged { path: path.to_path_buf() })
    }

    /// The key that its signatures are checked with.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs a text. See [`dsse`](crate::dsse) for how a text is made that cannot be taken for one of another kind.
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

fn open(path: &Path) -> io::Result<File> {
    // A pipe that stands there must not hold us up.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Writes a new key beside its place and links it there: of two who do that at once, one wins and both use its key.
fn make(path: &Path) -> io::Result<()> {
    let key = ed25519_dalek::SigningKey::from_bytes(&random()?);
    let text = key.to_pkcs8_pem(LineEnding::LF).map_err(io::Error::other)?;
    let directory = path.parent().unwrap_or(Path::new("."));
    std::os::unix::fs::DirBuilderExt::mode(fs::DirBuilder::new().recursive(true), 0o700).create(directory)?;
    let new = directory.join(random_name()?);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    let made = file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).and_then(|()| {
        match fs::hard_link(&new, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        }
    });
    fs::remove_file(&new)?;
    made
}

impl PublicKey {
    /// Reads a key as PEM.
    pub fn parse(pem: &str) -> Option<PublicKey> {
        VerifyingKey::from_public_key_pem(pem).ok().map(PublicKey)
    }

    /// The key as PEM.
    pub fn to_pem(&self) -> String {
        // An Ed25519 key always has this form.
        self.0.to_public_key_pem(LineEnding::LF).unwrap_or_default()
    }

    /// Its name in a receipt: the SHA-256 of its DER form.
    pub fn id(&self) -> String {
        let der = self.0.to_public_key_der();
        let der = der.as_ref().map_or(&[][..], |der| der.as_bytes());
        Digest::of(Algorithm::Sha256, der).hex()
    }

    /// Whether this key has signed a text.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        // Strict: a signature has one form, so that nobody makes a second receipt of a first one.
        Signature::from_slice(signature)
            .is_ok_and(|signature| self.0.verify_strict(message, &signature).is_ok())
    }
}
