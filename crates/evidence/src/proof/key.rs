//! The key that checkpoints are signed with, in `<state>/tlog/key`. It evolves: the log names the next one, and the old one is erased.
//!
//! Against whom: somebody who gets into the state directory later. They find the present key, and no earlier one: what was sealed
//! before they came, they cannot sign again. Erasing is best effort where a disk keeps old copies of what is overwritten.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, EncodePrivateKey, EncodePublicKey};

use super::files::{random, read, write_private};
use super::note::NoteKey;
use crate::LedgerError;

/// The key of this file; `None` where there is none, or none that can be read as one.
pub(crate) fn load(path: &Path) -> Result<Option<SigningKey>, LedgerError> {
    let Some(text) = read(path)? else { return Ok(None) };
    let metadata = fs::metadata(path).map_err(|error| LedgerError::about(path, error))?;
    if metadata.mode() & 0o077 != 0 {
        // Others may have read it: what it signs would prove nothing.
        return Err(LedgerError::Refused { path: path.to_path_buf() });
    }
    Ok(str::from_utf8(&text).ok().and_then(|text| SigningKey::from_pkcs8_pem(text).ok()))
}

/// A new key in this file.
pub(crate) fn make(path: &Path) -> Result<SigningKey, LedgerError> {
    let key = SigningKey::from_bytes(&random(path)?);
    let pem = key.to_pkcs8_pem(LineEnding::LF);
    let pem = pem.map_err(|error| LedgerError::about(path, std::io::Error::other(error)))?;
    write_private(path, pem.as_bytes(), true)?;
    Ok(key)
}

/// When the key of this file was made.
pub(crate) fn made(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|found| found.modified()).ok()
}

/// Erases the key of a file, and puts the next one in its place.
pub(crate) fn replace(path: &Path, next: &Path) -> Result<(), LedgerError> {
    let failed = |error| LedgerError::about(path, error);
    if let Ok(mut file) = OpenOptions::new().write(true).open(path) {
        let length = usize::try_from(file.metadata().map_err(failed)?.len().min(4096)).unwrap_or(0);
        file.write_all(&vec![0; length]).and_then(|()| file.sync_data()).map_err(failed)?;
    }
    fs::rename(next, path).map_err(failed)?;
    let _ = path.parent().map(|parent| File::open(parent).and_then(|directory| directory.sync_all()));
    Ok(())
}

/// A public key in the form that `openssl` reads.
pub(crate) fn pem(key: &NoteKey) -> String {
    // An Ed25519 key always has this form.
    key.key().to_public_key_pem(LineEnding::LF).unwrap_or_default()
}
