//! Files of the proof: written whole or not at all, for our eyes only.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::LedgerError;
use crate::random::fill_with_random;

/// No file that is read whole is longer.
const MAX_READ: u64 = 64 * 1024 * 1024;

/// Writes a file as a whole or not at all. `lasting`: it is on the disk when this returns.
pub(crate) fn write_private(path: &Path, bytes: &[u8], lasting: bool) -> Result<(), LedgerError> {
    let failed = |error| LedgerError::about(path, error);
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let open = || OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new);
    let mut file = match open() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let parent = path.parent().unwrap_or(Path::new("/"));
            DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(failed)?;
            open().map_err(failed)?
        }
        opened => opened.map_err(failed)?,
    };
    let mut written = file.write_all(bytes);
    if lasting && written.is_ok() {
        written = file.sync_all();
    }
    let written = written.and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    } else if lasting && let Some(parent) = path.parent() {
        let _ = File::open(parent).and_then(|directory| directory.sync_all());
    }
    written.map_err(failed)
}

/// Reads a whole file; `None` where there is none.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, LedgerError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LedgerError::about(path, error)),
    };
    let mut bytes = Vec::new();
    let read = file.take(MAX_READ).read_to_end(&mut bytes);
    read.map(|_| Some(bytes)).map_err(|error| LedgerError::about(path, error))
}

/// Bytes that nobody can guess.
pub(crate) fn random<const N: usize>(about: &Path) -> Result<[u8; N], LedgerError> {
    let mut bytes = [0; N];
    fill_with_random(&mut bytes).map_err(|error| LedgerError::about(about, error))?;
    Ok(bytes)
}
