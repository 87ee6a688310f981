//! What only one system is asked, with a portable way beside each: a path below a handle, a file without a name, randomness, waiting
//! for the disk.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{self, Mode, OFlags};
use rustix::io::Errno;
use rustix::path::Arg;

/// Opens a path from a handle, beneath it, through no symbolic link and no mount. The kernel does that in one step: between the check and
/// the use there is no gap, because they are the same system call.
#[cfg(target_os = "linux")]
pub(crate) fn open_beneath(
    directory: impl AsFd,
    path: impl Arg,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    const BENEATH: ResolveFlags = ResolveFlags::BENEATH
        .union(ResolveFlags::NO_SYMLINKS)
        .union(ResolveFlags::NO_MAGICLINKS)
        .union(ResolveFlags::NO_XDEV);
    fs::openat2(directory, path, flags, Mode::empty(), BENEATH)
}

/// The same name by name: each is opened below the handle of the one before, follows no link, and has to lie on the same file system. Somebody
/// who moves a directory out while we are in it has moved us with it; on Linux the kernel sees that.
#[cfg(not(target_os = "linux"))]
pub(crate) fn open_beneath(
    directory: impl AsFd,
    path: impl Arg,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    let path = path.as_str().map_err(|_| Errno::INVAL)?;
    if path.starts_with('/') || path.split('/').any(|name| name == "..") {
        return Err(Errno::XDEV);
    }
    let device = fs::fstat(&directory)?.st_dev;
    let same = |opened: OwnedFd| {
        if fs::fstat(&opened)?.st_dev == device { Ok(opened) } else { Err(Errno::XDEV) }
    };
    let mut names: Vec<&str> = path.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
    let last = names.pop().unwrap_or(".");
    let way = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut inside: Option<OwnedFd> = None;
    for name in names {
        let above = inside.as_ref().map_or(directory.as_fd(), AsFd::as_fd);
        let opened = fs::openat(above, name, way, Mode::empty())?;
        inside = Some(same(opened)?);
    }
    let above = inside.as_ref().map_or(directory.as_fd(), AsFd::as_fd);
    same(fs::openat(above, last, flags | OFlags::NOFOLLOW, Mode::empty())?)
}

/// Opens a directory that its owner closed, and opens it up. Elsewhere there is no handle for what may not be read.
#[cfg(target_os = "linux")]
pub(crate) fn open_up(open: impl Fn(OFlags) -> rustix::io::Result<OwnedFd>) -> rustix::io::Result<()> {
    use std::os::fd::AsRawFd as _;
    let handle = open(OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)?;
    fs::chmod(format!("/proc/self/fd/{}", handle.as_raw_fd()), Mode::RWXU)
}

/// The same.
#[cfg(not(target_os = "linux"))]
pub(crate) fn open_up(_: impl Fn(OFlags) -> rustix::io::Result<OwnedFd>) -> rustix::io::Result<()> {
    Err(Errno::ACCESS)
}

/// A new file in a directory that has no name yet. Not every file system has such files, and other systems have none.
pub(crate) fn open_unnamed(directory: BorrowedFd<'_>, mode: Mode) -> rustix::io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        fs::openat(directory, ".", OFlags::RDWR | OFlags::CLOEXEC | OFlags::TMPFILE, mode)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (directory, mode);
        Err(Errno::OPNOTSUPP)
    }
}

/// Gives such a file a name.
pub(crate) fn name_unnamed(file: impl AsFd, directory: BorrowedFd<'_>, name: &str) -> rustix::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::AtFlags;
        use std::os::fd::AsRawFd as _;
        match fs::linkat(&file, "", directory, name, AtFlags::EMPTY_PATH) {
            // Older kernels want the way through /proc from whoever has no special right.
            Err(Errno::NOENT) => {
                let own = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
                fs::linkat(fs::CWD, own, directory, name, AtFlags::SYMLINK_FOLLOW)
            }
            linked => linked,
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, directory, name);
        Err(Errno::NOENT)
    }
}

/// Waits until all that was written to a file system is on the disk.
pub(crate) fn sync_all(directory: impl AsFd) -> rustix::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        fs::syncfs(directory)
    }
    #[cfg(not(target_os = "linux"))]
    {
        fs::sync();
        fs::fsync(directory)
    }
}

/// Fills these bytes with what nobody can guess.
pub(crate) fn fill_with_random(bytes: &mut [u8]) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::rand::{GetRandomFlags, getrandom};
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            filled += getrandom(rest, GetRandomFlags::empty())?;
        }
        Ok(())
    }
    #[cfg(not(target_os = "linux"))]
    {
        use std::io::Read as _;
        std::fs::File::open("/dev/urandom")?.read_exact(bytes)
    }
}
