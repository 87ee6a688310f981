//! Questions that only one system can answer, with a portable way beside each: a path without links, when a file was made.

#![cfg_attr(
    not(target_os = "linux"),
    allow(clippy::disallowed_methods, reason = "this is what stands behind `World` and the names of files")
)]

use std::fs::File;
use std::path::Path;

/// What was found at a path when no link may be on the way.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "other systems cannot be asked"))]
pub(crate) enum Straight {
    /// It is there, and nothing on the way is a link.
    Opened(File),
    /// It is not there.
    Absent,
    /// Something on the way is a link, or the system cannot be asked: the path has to be walked.
    Unknown,
}

/// The kernel refuses to open a path with a link in it, if it is asked to. Older kernels, some sandboxes and other systems do not
/// know the question.
pub(crate) fn open_straight(path: &Path) -> Straight {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Ok(file) => Straight::Opened(File::from(file)),
            Err(rustix::io::Errno::NOENT) => Straight::Absent,
            Err(_) => Straight::Unknown,
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        // INVARIANT: what cannot be asked in one step is never said to be straight.
        let _ = path;
        Straight::Unknown
    }
}

/// When what stands at this path was made, in seconds and nanoseconds; a link at its end is not followed.
pub(crate) fn born(path: &Path) -> Option<(i64, i64)> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
        let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME).ok()?;
        let told = found.stx_mask & StatxFlags::BTIME.bits() != 0;
        told.then(|| (found.stx_btime.tv_sec, i64::from(found.stx_btime.tv_nsec)))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let made = std::fs::symlink_metadata(path).ok()?.created().ok()?;
        let since = made.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some((i64::try_from(since.as_secs()).ok()?, i64::from(since.subsec_nanos())))
    }
}
