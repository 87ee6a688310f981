//! The directory in which the host starts our hooks, after a contained command.
//!
//! Against whom: a contained program that moves or closes that directory, so that no later hook can be started there. Commands of hooks are
//! contained on Linux alone, so elsewhere there is nothing to do.

use std::path::Path;

/// Leaves the directory there that the host starts our hooks in, with its owner's way in: a program inside may have moved or closed it,
/// and most hosts run a call whose hook cannot be started. Best effort: where it cannot be done, the host could not work there either.
///
/// No link is followed: that program may have put one there, and would have us make and open directories elsewhere.
#[cfg(not(target_os = "linux"))]
pub(crate) fn keep_reachable(_: &Path) {}

/// Leaves the directory there that the host starts our hooks in, with its owner's way in: a program inside may have moved or closed it,
/// and most hosts run a call whose hook cannot be started. Best effort: where it cannot be done, the host could not work there either.
///
/// No link is followed: that program may have put one there, and would have us make and open directories elsewhere.
#[cfg(target_os = "linux")]
pub(crate) fn keep_reachable(start: &Path) {
    use std::ffi::OsStr;
    use std::os::fd::{AsRawFd as _, OwnedFd};

    use rustix::fs::{CWD, Mode, OFlags, chmod, fstat, mkdirat, openat};
    use rustix::io::Errno;

    const OWNERS: u32 = 0o100;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = |above: &OwnedFd, name: &OsStr| openat(above, name, flags, Mode::empty());
    let walk = || -> rustix::io::Result<()> {
        let mut here = openat(CWD, "/", flags, Mode::empty())?;
        for name in start.iter().skip(1) {
            let below = match open(&here, name) {
                Err(Errno::NOENT) => {
                    mkdirat(&here, name, Mode::from_raw_mode(0o777))?;
                    open(&here, name)?
                }
                found => found?,
            };
            let mode = fstat(&below)?.st_mode;
            if mode & OWNERS != OWNERS {
                // A handle of this kind has no mode to be changed by itself.
                let named = format!("/proc/self/fd/{}", below.as_raw_fd());
                chmod(named, Mode::from_raw_mode((mode | OWNERS) & 0o7777))?;
            }
            here = below;
        }
        Ok(())
    };
    if start.is_absolute() {
        let _ = walk();
    }
}
