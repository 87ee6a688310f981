//! Our own files: written whole or not at all, readable only by their owner, and read only if they are what was written.

#![expect(
    clippy::disallowed_methods,
    reason = "the state directory is ours; all that is written to it goes through here"
)]

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sha2::{Digest, Sha256};
use toolgate_model::World;

use crate::machine::Machine;

/// Removes a file of ours. Whether it was there.
pub fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Puts a file of ours in its place, unless one is there: of two that do it at once, the first wins.
pub(crate) fn put_first(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let own = beside(path, "own");
    write_private(&own, bytes)?;
    let linked = fs::hard_link(&own, path);
    let _ = fs::remove_file(&own);
    match linked {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Makes an empty file of ours that was not there, and has the disk keep it. Whether it was us who made it.
pub(crate) fn take(path: &Path) -> io::Result<bool> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        // The name is what counts, and it is the directory's.
        Ok(_) => fs::File::open(parent).and_then(|parent| parent.sync_all()).map(|()| true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes all but the newest files of a directory. Best effort.
pub(crate) fn keep_newest(directory: &Path, most: usize) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let file = |entry: fs::DirEntry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()));
    let mut files: Vec<_> = entries.flatten().filter_map(file).collect();
    files.sort();
    for (_, path) in files.iter().take(files.len().saturating_sub(most)) {
        let _ = fs::remove_file(path);
    }
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

/// A name for what these bytes say: so many digits of their SHA-256.
pub(crate) fn name_for(bytes: &[u8], digits: usize) -> String {
    let mut name = hex(&Sha256::digest(bytes));
    name.truncate(digits);
    name
}

/// A name beside a file that no other process and no other thread uses.
fn beside(path: &Path, ending: &str) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("{}-{count}.{ending}", std::process::id()))
}

/// Writes a file of ours as a whole or not at all, for our eyes only.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    let temporary = beside(path, "new");
    let open = || fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary);
    let mut file = match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
            open()?
        }
        opened => opened?,
    };
    let written = file.write_all(bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // Best effort: what counts is that the old file is whole.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Writes bytes with their checksum behind them.
pub fn write_checked(path: &Path, mut bytes: Vec<u8>) -> io::Result<()> {
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    write_private(path, &bytes)
}

/// Reads what [`write_checked`] wrote. `None`: nothing is there. Anything else that is there is an error.
pub fn read_checked(world: &dyn World, path: &Path, limit: usize) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = match world.read(path, limit) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    let broken = || io::Error::from(ErrorKind::InvalidData);
    let (content, sum) = bytes.split_last_chunk::<8>().ok_or_else(broken)?;
    if checksum(content) != u64::from_le_bytes(*sum) {
        return Err(broken());
    }
    bytes.truncate(bytes.len() - 8);
    Ok(Some(bytes))
}

/// Tells a damaged file from a whole one (FNV-1a). Against accidents only: no agent can write these files.
pub fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Removes files that nobody has written for a month: pins of sessions that are long over, compiled settings of
/// worktrees that are gone. Each is made again where it is needed after all. Best effort.
pub fn forget_old(machine: &dyn Machine, directory: &Path) {
    const MONTH: Duration = Duration::from_hours(30 * 24);
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let age =
            entry.metadata().ok().and_then(|found| machine.now().duration_since(found.modified().ok()?).ok());
        if age.is_some_and(|age| age > MONTH) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
