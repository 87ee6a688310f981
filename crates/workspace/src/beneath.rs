//! Files below a directory handle, and no others.
//!
//! INVARIANT: nothing in this crate opens a file that an agent names but through [`Top`]. The kernel follows the path from
//! the handle, beneath it, through no symbolic link and no mount, in one step: between the check and the use there is no
//! gap, because they are the same system call.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use toolgate_declaration::CleanPath;

use crate::error::{Error, Leaves};
use crate::system::open_beneath;

/// A directory and what lies below it.
#[derive(Debug)]
pub(crate) struct Top {
    dir: OwnedFd,
}

/// The directory that a file stands in. For the top itself no handle of its own is needed.
pub(crate) enum Parent<'t> {
    Top(BorrowedFd<'t>),
    Below(OwnedFd),
}

impl AsFd for Parent<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Parent::Top(dir) => *dir,
            Parent::Below(dir) => dir.as_fd(),
        }
    }
}

/// A directory is opened like this.
pub(crate) const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A pipe that stands where a file should be must not hold us up.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NOCTTY).union(OFlags::NONBLOCK);

/// For its owner alone.
pub(crate) const DIRECTORY_MODE: Mode = Mode::RWXU;
pub(crate) const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

impl Top {
    pub(crate) fn new(dir: OwnedFd) -> Top {
        Top { dir }
    }

    pub(crate) fn into_handle(self) -> OwnedFd {
        self.dir
    }

    /// Opens a file to be read. It is a regular one, or an error.
    pub(crate) fn open(&self, path: &CleanPath<'_>) -> Result<(File, Stat), Error> {
        let file = match self.follow(path.as_str(), FILE) {
            // A socket cannot even be opened.
            Err(Error::Io { source, .. }) if source.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
                return Err(Error::NotAFile { path: path.to_string() });
            }
            file => file?,
        };
        let stat = fs::fstat(&file).map_err(|errno| Error::about(path.as_str(), errno))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Error::NotAFile { path: path.to_string() });
        }
        Ok((File::from(file), stat))
    }

    /// Opens a directory; empty: the top itself.
    pub(crate) fn open_directory(&self, path: &str) -> Result<OwnedFd, Error> {
        self.follow(if path.is_empty() { "." } else { path }, DIRECTORY)
    }

    /// The directory that a file is to stand in. One that is missing is made if `may_make` has nothing against it.
    pub(crate) fn parent(
        &self,
        path: &CleanPath<'_>,
        may_make: impl FnOnce() -> Result<(), Error>,
    ) -> Result<Parent<'_>, Error> {
        let (directory, _) = path.split();
        if directory.is_empty() {
            return Ok(Parent::Top(self.dir.as_fd()));
        }
        let parent = match self.follow(directory, DIRECTORY) {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                may_make()?;
                self.make(directory)
            }
            found => found,
        };
        parent.map(Parent::Below).map_err(|error| error.on_the_way_to(path.as_str()))
    }

    /// Makes a directory and those above it that are missing. Each one is followed from the top again: what was made a
    /// moment ago may have been exchanged for a link since.
    fn make(&self, directory: &str) -> Result<OwnedFd, Error> {
        let mut above: Option<OwnedFd> = None;
        let ends = directory.match_indices('/').map(|(at, _)| at).chain([directory.len()]);
        for end in ends {
            let so_far = directory.get(..end).unwrap_or_default();
            let name = so_far.rsplit('/').next().unwrap_or_default();
            let inside = above.as_ref().map_or(self.dir.as_fd(), AsFd::as_fd);
            match fs::mkdirat(inside, name, DIRECTORY_MODE) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(self.failed(so_far, errno)),
            }
            above = Some(self.follow(so_far, DIRECTORY)?);
        }
        above.ok_or_else(|| Error::about(directory, Errno::NOENT))
    }

    pub(crate) fn follow(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Error> {
        // Somebody may move directories about while the kernel follows the path; it then asks to be called again.
        const ATTEMPTS: usize = 1000;
        let name = CString::new(path).map_err(|_| Error::about(path, Errno::INVAL))?;
        for _ in 0..ATTEMPTS {
            match open_beneath(&self.dir, &name, flags) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                Ok(file) => return Ok(file),
                Err(errno) => return Err(self.failed(path, errno)),
            }
        }
        Err(self.failed(path, Errno::AGAIN))
    }

    /// What the kernel's answer means here.
    pub(crate) fn failed(&self, path: &str, errno: Errno) -> Error {
        let path = path.to_owned();
        match errno {
            Errno::LOOP => Error::PathTraversal { path, why: Leaves::Link },
            Errno::XDEV => Error::PathTraversal { path, why: Leaves::Mount },
            // A directory that was asked for and is a link is told so by some calls.
            Errno::NOTDIR if self.is_link(&path) => Error::PathTraversal { path, why: Leaves::Link },
            _ => Error::Io { path, source: errno.into() },
        }
    }

    fn is_link(&self, path: &str) -> bool {
        fs::statat(&self.dir, path, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    }

    /// Whether the directory has been removed. The handle of one that was is open still, and leads nowhere.
    pub(crate) fn is_gone(&self) -> bool {
        fs::fstat(&self.dir).is_ok_and(|stat| stat.st_nlink == 0)
    }
}

impl AsFd for Top {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}
