//! Reading and replacing a person's file: in one step, keeping its mode and owner, through links but never
//! through one that leads nowhere.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

use super::RegisterError;

/// The file that a settings file's name stands for, following links, and the directories on the way to it that
/// do not exist yet, outermost first.
pub(super) fn locate(file: &Path) -> Result<(PathBuf, Vec<PathBuf>), RegisterError> {
    if !file.is_absolute() {
        return Err(RegisterError::NotAbsolute { path: file.to_path_buf() });
    }
    let not_a_file = || RegisterError::NotAFile { file: file.to_path_buf() };
    match fs::symlink_metadata(file) {
        // Creating what a link names would let a repository choose where its reader's files appear.
        Ok(found) if found.is_symlink() => {
            Ok((fs::canonicalize(file).map_err(|_| not_a_file())?, Vec::new()))
        }
        Ok(_) => Ok((file.to_path_buf(), Vec::new())),
        Err(error) if is_absent(&error) => {
            let missing = |dir: &&Path| fs::symlink_metadata(dir).is_err();
            let mut dirs: Vec<_> =
                file.ancestors().skip(1).take_while(missing).map(Path::to_path_buf).collect();
            dirs.reverse();
            Ok((file.to_path_buf(), dirs))
        }
        Err(error) => Err(io_error(file)(error)),
    }
}

/// The text of a regular file; `None` where there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, RegisterError> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => {
            let bytes = fs::read(path).map_err(io_error(path))?;
            String::from_utf8(bytes)
                .map(Some)
                .map_err(|_| RegisterError::NotText { path: path.to_path_buf() })
        }
        Ok(_) => Err(RegisterError::NotAFile { file: path.to_path_buf() }),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(io_error(path)(error)),
    }
}

/// Whether there is no such file, be it that a file stands where one of its directories would be.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Puts a text in the place of a file in one step: a reader sees the old file or the new one. Mode and owner
/// are those of the old file; `mode`, less the umask, is for a new one.
pub(super) fn replace(path: &Path, text: &str, mode: u32) -> Result<(), RegisterError> {
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
