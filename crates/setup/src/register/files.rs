//! Reading and replacing a person's file: in one step, keeping its mode and owner, through links but never
//! through one that leads nowhere.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

use super::RegisterError;
use toolgate_gate::disk::read_regular;

/// Longer settings than this are nobody's settings.
const LONGEST_SETTINGS: usize = 16 << 20;

/// The file that a settings file's name stands for, with every link on the way followed, and the directories on the
/// way to it that do not exist yet, outermost first.
pub(crate) fn locate(file: &Path) -> Result<(PathBuf, Vec<PathBuf>), RegisterError> {
    if !file.is_absolute() {
        return Err(RegisterError::NotAbsolute { path: file.to_path_buf() });
    }
    let is_there = |path: &&Path| match fs::symlink_metadata(path) {
        Err(error) if is_absent(&error) => Ok(false),
        found => found.map(|_| true).map_err(io_error(path)),
    };
    let mut missing = Vec::new();
    for path in file.ancestors() {
        if is_there(&path)? {
            // Creating what a link names would let a repository choose where its reader's files appear.
            let not_a_file = |_| RegisterError::NotAFile { file: path.to_path_buf() };
            let mut real = fs::canonicalize(path).map_err(not_a_file)?;
            let mut dirs = Vec::new();
            while let Some(name) = missing.pop() {
                real.push(name);
                dirs.push(real.clone());
            }
            // The last one is the file.
            dirs.pop();
            return Ok((real, dirs));
        }
        missing.extend(path.file_name());
    }
    Err(RegisterError::NotAFile { file: file.to_path_buf() })
}

/// That a file that is named inside of a directory is inside of it. A repository can bring a link in any part of the
/// name, and have its reader's own files written through it.
pub(super) fn stays_inside(dir: &Path, file: &Path, target: &Path) -> Result<(), RegisterError> {
    // Where there is no directory, there is no link in it.
    let Ok(real) = fs::canonicalize(dir) else { return Ok(()) };
    if file.starts_with(dir) && !target.starts_with(real) {
        return Err(RegisterError::LeadsOut { file: file.to_path_buf(), target: target.to_path_buf() });
    }
    Ok(())
}

/// The text of a file of settings; `None` where there is none.
pub(crate) fn read(path: &Path) -> Result<Option<String>, RegisterError> {
    let Some(bytes) = read_bytes(path, LONGEST_SETTINGS)? else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|_| RegisterError::NotText { path: path.to_path_buf() })
}

/// What a regular file holds; `None` where there is none. Whoever can write it can make it long.
pub(super) fn read_bytes(path: &Path, longest: usize) -> Result<Option<Vec<u8>>, RegisterError> {
    match read_regular(path, longest.saturating_add(1)) {
        Ok(bytes) if bytes.len() > longest => {
            Err(RegisterError::TooLong { path: path.to_path_buf(), longest })
        }
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            Err(RegisterError::NotAFile { file: path.to_path_buf() })
        }
        Err(error) => Err(io_error(path)(error)),
    }
}

/// Whether there is no such file, be it that a file stands where one of its directories would be.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Puts a text in the place of a file in one step: a reader sees the old file or the new one. Mode and owner
/// are those of the old file; `mode`, less the umask, is for a new one.
pub(crate) fn replace(path: &Path, text: &str, mode: u32) -> Result<(), RegisterError> {
    let not_a_file = || RegisterError::NotAFile { file: path.to_path_buf() };
    let mut name = path.file_name().ok_or_else(not_a_file)?.to_os_string();
    name.push(format!(".{}.tmp", std::process::id()));
    let temp = path.with_file_name(name);
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temp)?;
        if let Ok(old) = fs::metadata(path) {
            let new = file.metadata()?;
            if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
                fchown(&file, Some(old.uid()), Some(old.gid()))?;
            }
            file.set_permissions(old.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temp, path)
    };
    write().map_err(|error| {
        if error.kind() != io::ErrorKind::AlreadyExists {
            let _ = fs::remove_file(&temp);
        }
        io_error(path)(error)
    })
}

/// Keeps two processes from changing the note at the same time, for as long as the file lives.
pub(super) fn lock(state: &Path) -> Result<File, RegisterError> {
    DirBuilder::new().recursive(true).mode(0o700).create(state).map_err(io_error(state))?;
    let path = state.join("registrations.lock");
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = file.map_err(io_error(&path))?;
    file.lock().map_err(io_error(&path))?;
    Ok(file)
}

pub(super) fn io_error(path: &Path) -> impl FnOnce(io::Error) -> RegisterError {
    let path = path.to_path_buf();
    |source| RegisterError::Io { path, source }
}
