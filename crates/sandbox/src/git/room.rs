//! Directories for the layers of runs at level `full`, used again where a command has left nothing in them: making and removing one
//! takes a file system longer than all else that starts a command.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, flock, statat};

use super::{Run, directory};
use crate::path::{names_in, open_directory, open_whole_directory, remove_tree};
use crate::view::{Layer, PRIVATE_PARTS};

/// How the name of a directory begins that waits to be used.
const SPARE: &str = "spare-";
/// More than one, since the kernel still takes down the mounts of the last command when the next one starts.
const MOST_SPARE: usize = 4;

/// Whether a directory among the runs waits to be used.
pub(super) fn is_spare(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(SPARE.as_bytes())
}

impl Run<'_> {
    /// Finds or makes a directory for the layer of this run, and locks it. Only under the lock of all runs.
    pub(super) fn take_room(&mut self) -> io::Result<()> {
        let runs = self.state.join("runs");
        let spare: Vec<OsString> =
            names_in(directory(&runs)?, usize::MAX)?.into_iter().filter(|name| is_spare(name)).collect();
        let own = runs.join(std::process::id().to_string() + "-0");
        for name in &spare {
            let handle = directory(&runs.join(name))?;
            // One whose last command's init is not gone yet is left alone.
            if flock(&handle, FlockOperation::NonBlockingLockExclusive).is_ok() {
                fs::rename(runs.join(name), &own)?;
                (self.directory, self.lock) = (own, handle);
                return Layer::of(&self.directory, &self.repository.common).prepare();
            }
        }
        self.make_room()?;
        let layer = Layer::of(&self.directory, &self.repository.common);
        layer.prepare()?;
        for part in PRIVATE_PARTS {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(layer.upper.join(part))?;
        }
        Ok(())
    }

    /// Makes a directory for the layer of this run, and locks it.
    pub(super) fn make_room(&mut self) -> io::Result<()> {
        let runs = self.state.join("runs");
        for number in 0..u32::MAX {
            self.directory = runs.join(format!("{}-{number}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&self.directory) {
                Ok(()) => break,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        self.lock = directory(&self.directory)?;
        flock(&self.lock, FlockOperation::LockExclusive)?;
        Ok(())
    }

    /// Gives the directory back when nothing of the run is alive any more.
    pub(super) fn leave_room(&self) -> io::Result<()> {
        let runs = directory(&self.state.join("runs"))?;
        let name = self.directory.file_name().unwrap_or(OsStr::new(""));
        let has_room =
            || names_in(&runs, usize::MAX).map(|names| names.iter().filter(|name| is_spare(name)).count());
        if !self.repository.is_plain() && self.is_as_made() && !self.has_note() && has_room()? < MOST_SPARE {
            let spare = format!("{SPARE}{}", name.display());
            return Ok(rustix::fs::renameat(&runs, name, &runs, spare)?);
        }
        remove_tree(&runs, name)
    }

    /// Whether the command has left nothing in its layer: it can write below the parts alone.
    fn is_as_made(&self) -> bool {
        let upper = Layer::of(&self.directory, &self.repository.common).upper;
        let Ok(upper) = open_whole_directory(&upper) else { return false };
        let holds = |path: &str, expected: &[&str]| {
            let place = Path::new(path);
            let is_own = statat(&upper, place, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| {
                FileType::from_raw_mode(found.st_mode) == FileType::Directory
                    && Mode::from_raw_mode(found.st_mode) == Mode::RWXU
            });
            let names = || names_in(open_directory(&upper, place)?, expected.len());
            is_own && names().is_ok_and(|names| names == expected)
        };
        holds("objects", &[])
            && holds("refs/heads", &[])
            && holds("logs/refs/heads", &[])
            && holds("refs", &["heads"])
            && holds("logs/refs", &["heads"])
            && holds("logs", &["refs"])
    }
}
