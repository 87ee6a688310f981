//! Files that are there whole or not at all.
//!
//! What is written gets its name last. Until then it has none that anybody could guess: a file without a name where the
//! system has such, one with a name of 128 random bits where it has not. Whoever is killed on the way leaves the old file
//! as it was.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{self, AtFlags, OFlags};
use rustix::io::Errno;

use crate::beneath::{DIRECTORY, FILE_MODE};
use crate::system::{fill_with_random, name_unnamed, open_unnamed};

/// Whether what was written is there after a loss of power, too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// After a crash of the process, not of the machine.
    #[default]
    Process,
    /// After a loss of power: waits for the disk.
    Machine,
}

/// What our own names begin with. Nobody else is given such a name.
const OURS: &str = ".toolgate-";

/// Whether a name is one of ours: a file that was being written.
pub(crate) fn is_ours(name: &str) -> bool {
    name.starts_with(OURS)
}

/// Bytes that nobody can guess.
pub(crate) fn random<const COUNT: usize>() -> io::Result<[u8; COUNT]> {
    let mut random = [0; COUNT];
    fill_with_random(&mut random)?;
    Ok(random)
}

/// A name that nobody can guess.
pub(crate) fn random_name() -> io::Result<String> {
    Ok(format!("{OURS}{:032x}", u128::from_ne_bytes(random()?)))
}

/// A file that has all it is to hold, and not its name.
pub(crate) struct Staged<'d> {
    directory: BorrowedFd<'d>,
    file: File,
    /// The name that it has until then, where it needs one.
    name: Option<String>,
    durability: Durability,
}

impl<'d> Staged<'d> {
    /// Writes all that `content` gives, and says how much that was.
    pub(crate) fn write(
        directory: BorrowedFd<'d>,
        content: &mut dyn Read,
        durability: Durability,
    ) -> io::Result<(Staged<'d>, u64)> {
        let mut staged = Staged::begin(directory, durability)?;
        let length = io::copy(content, &mut staged.file)?;
        Ok((staged, length))
    }

    /// The same for what is all there: one call.
    pub(crate) fn write_all(
        directory: BorrowedFd<'d>,
        content: &[u8],
        durability: Durability,
    ) -> io::Result<Staged<'d>> {
        let mut staged = Staged::begin(directory, durability)?;
        staged.file.write_all(content)?;
        Ok(staged)
    }

    fn begin(directory: BorrowedFd<'d>, durability: Durability) -> io::Result<Staged<'d>> {
        match open_unnamed(directory, FILE_MODE) {
            Ok(file) => Ok(Staged { directory, file: file.into(), name: None, durability }),
            // Not every file system has files without a name.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Staged::begin_named(directory, durability),
            Err(errno) => Err(errno.into()),
        }
    }

    fn begin_named(directory: BorrowedFd<'d>, durability: Durability) -> io::Result<Staged<'d>> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let name = random_name()?;
        let file = fs::openat(directory, &name, flags, FILE_MODE)?;
        Ok(Staged { directory, file: file.into(), name: Some(name), durability })
    }

    /// Where the rest of what it is to hold is written.
    pub(crate) fn content(&mut self) -> &mut File {
        &mut self.file
    }

    /// Gives it its name, in place of what has it now.
    pub(crate) fn publish(mut self, name: &str) -> io::Result<()> {
        if self.durability == Durability::Machine {
            self.file.sync_all()?;
        }
        if self.name.is_none() {
            match self.link(name) {
                Ok(true) => return self.settle(),
                Ok(false) => {
                    let between = random_name()?;
                    if !self.link(&between)? {
                        return Err(io::ErrorKind::AlreadyExists.into());
                    }
                    self.name = Some(between);
                }
                // No way to link it: an older kernel, and no /proc.
                Err(error) if error.kind() == io::ErrorKind::NotFound => self = self.with_a_name()?,
                Err(error) => return Err(error),
            }
        }
        if let Some(between) = &self.name {
            fs::renameat(self.directory, between, self.directory, name)?;
            self.name = None;
        }
        self.settle()
    }

    /// The same content in a file that has a name.
    fn with_a_name(mut self) -> io::Result<Staged<'d>> {
        let mut named = Staged::begin_named(self.directory, self.durability)?;
        self.file.rewind()?;
        io::copy(&mut self.file, &mut named.file)?;
        if self.durability == Durability::Machine {
            named.file.sync_all()?;
        }
        Ok(named)
    }

    /// Gives a file without a name this one. False where it is taken.
    fn link(&self, name: &str) -> io::Result<bool> {
        match name_unnamed(&self.file, self.directory, name) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    fn settle(&self) -> io::Result<()> {
        if self.durability == Durability::Machine {
            fs::fsync(self.directory)?;
        }
        Ok(())
    }
}

impl Drop for Staged<'_> {
    /// What was not published is taken away.
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = fs::unlinkat(self.directory, name, AtFlags::empty());
        }
    }
}

/// Replaces a file of our own, beside the workspaces.
pub(crate) fn replace(directory: impl AsFd, name: &str, content: &[u8]) -> io::Result<()> {
    Staged::write_all(directory.as_fd(), content, Durability::Machine)?.publish(name)
}

/// Opens a file of our own to be read. A pipe or a link that stands there must not lead us anywhere.
pub(crate) fn open_file(directory: impl AsFd, name: &str) -> rustix::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    fs::openat(directory, name, flags, rustix::fs::Mode::empty()).map(File::from)
}

/// Opens a file of our own that stays, a lock or a count, and makes it where there is none.
pub(crate) fn open_lasting(directory: impl AsFd, name: &str) -> rustix::io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    fs::openat(directory, name, flags, FILE_MODE).map(File::from)
}

/// Opens a directory of our own below another one.
pub(crate) fn open_directory(directory: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    Ok(fs::openat(directory, name, DIRECTORY | OFlags::NOFOLLOW, rustix::fs::Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_staged_file_with_a_name_is_published_or_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = File::open(scratch.path()).unwrap();
        std::fs::write(scratch.path().join("x"), "old").unwrap();
        for (content, durability) in [("one", Durability::Process), ("two", Durability::Machine)] {
            let staged = Staged::write_all(directory.as_fd(), content.as_bytes(), durability).unwrap();
            let named = staged.with_a_name().unwrap();
            assert!(named.name.is_some());
            named.publish("x").unwrap();
            assert_eq!(std::fs::read_to_string(scratch.path().join("x")).unwrap(), content);
        }
        drop(Staged::begin_named(directory.as_fd(), Durability::Process).unwrap());
        assert_eq!(
            std::fs::read_dir(scratch.path()).unwrap().count(),
            1,
            "what is not published is taken away"
        );
    }
}
