//! What lies below a directory, whichever way it is made.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{self, AtFlags, Dir, FileType};
use rustix::io::Errno;
use toolgate_declaration::{CleanPath, Dots, MAX_PATH};

use crate::atomic::is_ours;
use crate::beneath::Top;
use crate::error::Error;

/// Something that is not a directory.
pub(crate) struct Found {
    pub(crate) path: CleanPath<'static>,
    pub(crate) kind: FileType,
}

/// Everything below `from` that is not a directory, in no order; nothing where there is no such directory. No link is
/// followed, no mount entered, and what was being written by somebody who was killed is passed over. A name that no
/// declaration can hold, since it is not text or has control characters, is passed over too: nobody could have declared it.
pub(crate) fn walk(
    top: &Top,
    from: &str,
    mut each: impl FnMut(Found) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut waiting = vec![from.to_owned()];
    while let Some(directory) = waiting.pop() {
        let handle = match top.open_directory(&directory) {
            Ok(handle) => handle,
            Err(Error::Io { source, .. })
                if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
            {
                continue;
            }
            Err(error) => return Err(error),
        };
        for (name, kind) in entries(handle, &directory)? {
            let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            // Nothing below could be declared, and the system would not follow it.
            if path.len() > MAX_PATH {
                continue;
            }
            if kind == FileType::Directory {
                waiting.push(path);
            } else if let Ok(path) = CleanPath::of(&path, Dots::Component) {
                each(Found { path: path.into_owned(), kind })?;
            }
        }
    }
    Ok(())
}

/// The names in one directory that are text, each with what it is.
fn entries(handle: OwnedFd, directory: &str) -> Result<Vec<(String, FileType)>, Error> {
    let failed = |errno: Errno| Error::about(directory, errno);
    let mut entries = Vec::new();
    let mut listing = Dir::new(handle).map_err(failed)?;
    while let Some(entry) = listing.read() {
        let entry = entry.map_err(failed)?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        if matches!(name, "." | "..") || is_ours(name) {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not say.
            FileType::Unknown => {
                let dir = listing.fd().map_err(failed)?;
                match fs::statat(dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(Errno::NOENT) => continue,
                    Err(errno) => return Err(failed(errno)),
                }
            }
            kind => kind,
        };
        entries.push((name.to_owned(), kind));
    }
    Ok(entries)
}
