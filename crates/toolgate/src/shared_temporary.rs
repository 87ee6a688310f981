//! What a contained command names in the temporary directories that everybody shares.
//!
//! A contained command has temporary directories of its own. What an agent has put into `/tmp` by another tool would not be there,
//! and what a command puts there no other tool would find. So what a command names, and the policies have let it name, is
//! passed in, and what it has made under such a name is passed out when it has ended.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use toolgate_gate::launch::Shared;
use toolgate_sandbox::{Grant, Plan, Rights};

/// The most that is copied where a file cannot be moved.
const MOST_COPIED: u64 = 64 * 1024 * 1024;

/// Names under which a command may make something.
#[derive(Debug, Default)]
pub(crate) struct PassedOut {
    names: Vec<(PathBuf, PathBuf)>,
}

/// Passes in what is there, and remembers what is not there yet.
pub(crate) fn pass_in(shared: &[Shared], plan: &mut Plan) -> PassedOut {
    let mut passed = PassedOut::default();
    for Shared { path, write } in shared {
        match fs::symlink_metadata(path) {
            Ok(found) => {
                // A link has no rights of its own, and a socket is somebody's door.
                let is_plain = found.is_file() || found.is_dir();
                let is_own = found.uid() == rustix::process::getuid().as_raw();
                if is_plain && (is_own || !write) {
                    let rights = if *write { Rights::Write } else { Rights::Read };
                    plan.grants.push(Grant::new(path, rights));
                }
            }
            Err(_) if *write => {
                let Some(name) = path.file_name() else { continue };
                let inside = plan.private.join("tmp").join(name);
                // What an earlier file of this name was put over.
                if fs::symlink_metadata(&inside).is_ok_and(|found| found.is_file() && found.len() == 0) {
                    let _ = fs::remove_file(&inside);
                }
                passed.names.push((inside, path.clone()));
            }
            Err(_) => {}
        }
    }
    passed
}

/// The most that is looked at of a directory before it is moved.
const MOST_ENTRIES: usize = 10_000;
/// Rights that a program has from its file: whoever runs it has those of the file's owner.
const SET_ID: u32 = 0o6000;

impl PassedOut {
    /// Moves what was made under these names to where others look for it. Best effort: what cannot be moved stays inside, where the
    /// next contained command finds it.
    ///
    /// Against whom: a command that leaves a door where the person's programs look for one, such as a socket in the directory of a
    /// terminal multiplexer. So only files and directories of files go out. A job that still runs (`is_over` is false) could put a door
    /// into a directory later, or change a file's rights through a handle: of what it has made only copies go out.
    pub(crate) fn pass_out(&self, is_over: bool) {
        for (inside, outside) in &self.names {
            let Ok(found) = fs::symlink_metadata(inside) else { continue };
            let is_harmless = if found.is_dir() {
                is_over && has_only_files(inside, &mut { MOST_ENTRIES })
            } else {
                found.is_file()
            };
            if !is_harmless {
                continue;
            }
            let can_move = is_over && found.mode() & SET_ID == 0;
            let is_moved =
                can_move && renameat_with(CWD, inside, CWD, outside, RenameFlags::NOREPLACE).is_ok();
            if !is_moved && found.is_file() && found.len() <= MOST_COPIED {
                let _ = copy(inside, outside);
            }
        }
    }
}

/// Whether only files and directories without rights of their own lie below a directory, and no more than `left`.
fn has_only_files(directory: &Path, left: &mut usize) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return false };
    for entry in entries {
        let (Some(rest), Ok(entry)) = (left.checked_sub(1), entry) else { return false };
        *left = rest;
        let Ok(found) = entry.metadata() else { return false };
        let is_harmless = found.mode() & SET_ID == 0
            && (found.is_file() || (found.is_dir() && has_only_files(&entry.path(), left)));
        if !is_harmless {
            return false;
        }
    }
    true
}

/// Copies a file to a name that must be free. Follows no link and waits for no pipe: a job of the command may still run, and put one there.
fn copy(inside: &Path, outside: &Path) -> io::Result<()> {
    let no_link = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let from = fs::OpenOptions::new().read(true).custom_flags(no_link).open(inside)?;
    if !from.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut to = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(outside)?;
    let mut bytes = Vec::new();
    (&from).take(MOST_COPIED).read_to_end(&mut bytes)?;
    to.write_all(&bytes)?;
    fs::remove_file(inside)
}
