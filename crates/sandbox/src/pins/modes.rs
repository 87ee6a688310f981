//! Files outside of what a command may write whose modes must stay as they are.
//!
//! At level `landlock` the kernel lets a command change the mode of whatever its user owns, though it can neither write nor read it. Against whom: one
//! that closes a host's settings or a directory above them, so that the host finds no hook to start; or a program of ours. What was closed is opened
//! again when the command has ended, and while a background job lives.

use std::collections::BTreeSet;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, chmod, fstat, openat2, statat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::{Disturbed, Repair};
use crate::path::{above, below_root, open_up, parent};

/// What the modes were.
#[derive(Default)]
pub(super) struct Modes {
    /// What lies in another one comes after it.
    all: Vec<(PathBuf, Seen)>,
}

/// Which file it is, and its mode.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Seen {
    identity: (u64, u64),
    mode: u32,
}

impl Seen {
    fn of(stat: &Stat) -> Seen {
        Seen { identity: (stat.st_dev, stat.st_ino), mode: stat.st_mode & 0o7777 }
    }
}

impl Modes {
    /// Looks at these files, and at what they lie in. What is another user's no command can close. To root nothing is closed by what it lies in, and a
    /// program all the same when it is none any more; what stays with a command has no more rights than the command, and needs our directories.
    pub(super) fn look(paths: &[PathBuf]) -> Modes {
        let user = geteuid();
        let above = |path| above(path).take_while(|_| !user.is_root());
        let paths: BTreeSet<&Path> =
            paths.iter().flat_map(|path| std::iter::once(path.as_path()).chain(above(path))).collect();
        let seen = paths.into_iter().filter_map(|path| {
            let stat = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            let kind = FileType::from_raw_mode(stat.st_mode);
            let can_be_closed = matches!(kind, FileType::RegularFile | FileType::Directory);
            (stat.st_uid == user.as_raw() && can_be_closed).then(|| (path.to_owned(), Seen::of(&stat)))
        });
        Modes { all: seen.collect() }
    }

    /// Has them be as before. What is another file by now was put there by somebody else.
    pub(super) fn put_back(&self) -> Vec<Disturbed> {
        let mut disturbed = Vec::new();
        for (path, seen) in &self.all {
            let Ok(stat) = look_at(path) else { continue };
            let now = Seen::of(&stat);
            if now == *seen || now.identity != seen.identity {
                continue;
            }
            let outcome = match set(path, *seen) {
                Ok(()) => Repair::PutBack,
                Err(error) => Repair::Failed(error.to_string()),
            };
            disturbed.push(Disturbed { path: path.clone(), outcome });
        }
        disturbed
    }

    /// What is noted of each, under a name that no pin has.
    pub(super) fn notes(&self) -> impl Iterator<Item = (PathBuf, u32)> {
        self.all.iter().map(|(path, seen)| {
            let mut name = std::ffi::OsString::from("mode of ");
            name.push(path);
            (name.into(), seen.mode)
        })
    }
}

/// What is at a path, also behind a directory that was closed.
fn look_at(path: &Path) -> rustix::io::Result<Stat> {
    let look = || statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW);
    match look() {
        Err(Errno::ACCESS) => {
            let top =
                openat2(CWD, "/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::empty())?;
            open_up(&top, below_root(parent(path).unwrap_or(Path::new("/"))))?;
            look()
        }
        looked => looked,
    }
}

fn set(path: &Path, seen: Seen) -> rustix::io::Result<()> {
    let straight = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat2(CWD, path, flags, Mode::empty(), straight)?;
    if Seen::of(&fstat(&handle)?).identity != seen.identity {
        return Ok(());
    }
    // By the handle: the name may lead elsewhere by now, and a handle for a place alone cannot be given to `fchmod`.
    chmod(format!("/proc/self/fd/{}", handle.as_raw_fd()), Mode::from_raw_mode(seen.mode))
}
