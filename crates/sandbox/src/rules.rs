//! A plan as Landlock rules.
//!
//! Landlock adds up: what a rule opens, no other rule closes. Below a readable place a closed one is kept closed by
//! granting its neighbours instead, one by one. Below a writable place that would take away the right to make files, so
//! there only the view of level `full` can close something.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use landlock::{
    Access, AccessFs, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetError, Scope,
};
use rustix::fs::{
    Access as Accessible, AtFlags, FileType, Mode, OFlags, accessat, fcntl_getfl, fstat, openat2, statat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::compiled::{CompiledPlan, Node};
use crate::kernel::Kernel;
use crate::path::{STRICTLY_BELOW, find, for_each_entry, kinds_in, open_directory};
use crate::plan::Rights;
use crate::sys;

/// Devices that keep nothing.
pub(crate) const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
/// A directory with more entries than this is not granted entry by entry.
const MOST_NEIGHBOURS: usize = 4096;

/// Rules that are being put together.
pub(crate) struct Rules {
    ruleset: OwnedFd,
    kernel: Kernel,
}

impl Rules {
    /// Nothing is granted yet, and every right that the kernel knows is asked for.
    pub(crate) fn new(kernel: Kernel) -> Result<Rules, String> {
        let made = || -> Result<Option<OwnedFd>, RulesetError> {
            // Everything that is asked for, or an error.
            let ruleset = Ruleset::default()
                .set_compatibility(CompatLevel::HardRequirement)
                .handle_access(AccessFs::from_all(kernel.abi()))?;
            let scopes = Scope::AbstractUnixSocket | Scope::Signal;
            let ruleset = if kernel.scopes { ruleset.scope(scopes)? } else { ruleset };
            Ok(ruleset.create()?.into())
        };
        let ruleset = made().map_err(|error| error.to_string())?;
        Ok(Rules { ruleset: ruleset.ok_or("the kernel has no Landlock")?, kernel })
    }

    /// Rules that another process of ours has put together.
    pub(crate) fn handed(ruleset: OwnedFd, kernel: Kernel) -> Rules {
        Rules { ruleset, kernel }
    }

    /// For whoever is to have them.
    pub(crate) fn handle(&self) -> &OwnedFd {
        &self.ruleset
    }

    /// From now on nothing else is open to this thread and to what it starts.
    pub(crate) fn restrict_self(self) -> io::Result<()> {
        sys::restrict_by_landlock(&self.ruleset)
    }

    /// Grants what a plan opens, on a file system that is seen whole.
    pub(crate) fn of_plan(mut self, root: &OwnedFd, plan: &CompiledPlan) -> io::Result<Rules> {
        for grant in &plan.grants {
            match grant.rights {
                Rights::None => {}
                Rights::Read => {
                    if let Some(place) = find(root, &grant.path, plan)? {
                        let node = plan.node_at(&place.path);
                        self = self.readable(&place.handle, place.is_directory, node, 0)?;
                    }
                }
                Rights::Write => {
                    if let Some(place) = find(root, &grant.path, plan)? {
                        let rights = self.writes();
                        self = self.allow(&place.handle, place.is_directory, rights)?;
                    }
                }
            }
        }
        Ok(self)
    }

    /// Grants reading, but for what the plan closes below. `node`: what the plan names there.
    fn readable(
        mut self,
        place: &OwnedFd,
        is_directory: bool,
        node: Option<&Node>,
        depth: usize,
    ) -> io::Result<Rules> {
        let closing = node.filter(|node| is_directory && node.closes_below());
        let Some(node) = closing.filter(|node| !closes_itself(place, node, 0)) else {
            let rights = self.reads();
            return self.allow(place, is_directory, rights);
        };
        if depth > MOST_DEPTH {
            return Ok(self);
        }
        let Some(Neighbours { directory, entries }) = neighbours(place)? else { return Ok(self) };
        for (name, kind) in entries {
            let below = node.below(OsStr::from_bytes(name.to_bytes()));
            let rights = below.and_then(Node::named).unwrap_or(Rights::Read);
            // A link grants nothing: what it leads to has rights of its own.
            if rights != Rights::Read || kind == FileType::Symlink {
                continue;
            }
            let Ok((entry, is_directory)) = open_neighbour(&directory, &name, kind) else { continue };
            self = self.readable(&entry, is_directory, below, depth + 1)?;
        }
        Ok(self)
    }

    /// Devices, and those of our own streams that are files: a command may open them again by name.
    pub(crate) fn devices(mut self, root: &OwnedFd, plan: &CompiledPlan) -> io::Result<Rules> {
        let all = self.all();
        let usual = (AccessFs::ReadFile | AccessFs::WriteFile) & all;
        for device in DEVICES {
            let Some(place) = find(root, Path::new(device), plan)? else { continue };
            let terminal =
                if device == "/dev/tty" { BitFlags::from(AccessFs::IoctlDev) } else { BitFlags::EMPTY };
            self = self.allow(&place.handle, false, usual | (terminal & all))?;
        }
        let (input, output, error) = (io::stdin(), io::stdout(), io::stderr());
        for stream in [input.as_fd(), output.as_fd(), error.as_fd()] {
            let is_file = fstat(stream)
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
            let rights = if is_file { rights_of_stream(stream)? & all } else { BitFlags::EMPTY };
            if !rights.is_empty() {
                self = self.allow_handle(stream, rights)?;
            }
        }
        Ok(self)
    }

    /// Terminals, which are devices.
    pub(crate) fn terminals(self, directory: &OwnedFd) -> io::Result<Rules> {
        let rights = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::ReadDir | AccessFs::IoctlDev;
        let rights = rights & self.all();
        self.allow(directory, true, rights)
    }

    pub(crate) fn allow(
        self,
        handle: &OwnedFd,
        is_directory: bool,
        rights: BitFlags<AccessFs>,
    ) -> io::Result<Rules> {
        let rights = if is_directory { rights } else { rights & AccessFs::from_file(self.kernel.abi()) };
        self.allow_handle(handle.as_fd(), rights)
    }

    fn allow_handle(self, handle: BorrowedFd<'_>, rights: BitFlags<AccessFs>) -> io::Result<Rules> {
        sys::add_landlock_rule(&self.ruleset, handle, rights.bits())?;
        Ok(self)
    }

    fn all(&self) -> BitFlags<AccessFs> {
        AccessFs::from_all(self.kernel.abi())
    }

    pub(crate) fn reads(&self) -> BitFlags<AccessFs> {
        AccessFs::from_read(self.kernel.abi())
    }

    /// All but devices: nobody needs to make one, and none in a worktree is there to be used.
    pub(crate) fn writes(&self) -> BitFlags<AccessFs> {
        self.all() & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev)
    }
}

/// What whoever opened a file meant it for. Opened again by its name in `/proc`, it could be had with any right that the
/// person has: an input must not become something to write.
fn rights_of_stream(stream: BorrowedFd<'_>) -> io::Result<BitFlags<AccessFs>> {
    let flags = fcntl_getfl(stream)?;
    Ok(match flags & OFlags::RWMODE {
        _ if flags.contains(OFlags::PATH) => BitFlags::EMPTY,
        OFlags::WRONLY => AccessFs::WriteFile | AccessFs::Truncate,
        OFlags::RDWR => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate,
        _ => AccessFs::ReadFile.into(),
    })
}

/// Below this many directories nothing is granted entry by entry.
const MOST_DEPTH: usize = 16;

/// Everything in a directory, and the directory to open it from.
struct Neighbours {
    directory: OwnedFd,
    entries: Vec<(CString, FileType)>,
}

/// `None`: nothing there can be granted by itself.
fn neighbours(place: &OwnedFd) -> io::Result<Option<Neighbours>> {
    let directory = match open_directory(place, Path::new(".")) {
        Ok(directory) => directory,
        // Who is contained already may not look; then there is nothing to grant either.
        Err(Errno::ACCESS) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut entries = Vec::new();
    for_each_entry(&directory, |name, kind| {
        if entries.len() <= MOST_NEIGHBOURS {
            entries.push((name.to_owned(), kind));
        }
        Ok(())
    })?;
    // Past the bound the directory is closed: a shorter list would look whole.
    Ok((entries.len() <= MOST_NEIGHBOURS).then_some(Neighbours { directory, entries }))
}

/// Whether all that a plan closes below a directory is closed to this user by owner and mode: then a rule for the directory opens nothing
/// that is closed, and a rule for each neighbour can be saved. What a closed directory shows may be no more than names.
///
/// Never for root, who owns such files. A closed name that is not there counts if this user cannot put it there: whoever can,
/// another user, decides then who may read it. The next command looks again.
fn closes_itself(place: &OwnedFd, node: &Node, depth: usize) -> bool {
    let user = geteuid();
    if user.is_root() || depth > MOST_DEPTH || !is_foreign(place, Path::new("."), Accessible::WRITE_OK) {
        return false;
    }
    node.children().all(|(name, below)| {
        let name = Path::new(name);
        let kind = match statat(place, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => FileType::from_raw_mode(found.st_mode),
            Err(Errno::NOENT) => return true,
            Err(_) => return false,
        };
        match (below.named(), kind) {
            // What a link leads to has rights of its own.
            (_, FileType::Symlink) => true,
            (Some(Rights::None), _) => is_closed(place, name, kind, &mut { MOST_CLOSED }, depth),
            _ if !below.closes_below() => true,
            (_, FileType::Directory) => {
                openat2(place, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), STRICTLY_BELOW)
                    .is_ok_and(|place| closes_itself(&place, below, depth + 1))
            }
            _ => true,
        }
    })
}

/// A closed directory with more in it is not looked through.
const MOST_CLOSED: usize = 64;

/// Whether this user can read nothing of what is at a name, nor put something there that could be read: `/etc/sudoers.d` can be entered by everybody,
/// and each of its files is closed. `left`: so many entries are looked at yet.
fn is_closed(place: &OwnedFd, name: &Path, kind: FileType, left: &mut usize, depth: usize) -> bool {
    if kind != FileType::Directory {
        return is_foreign(place, name, Accessible::READ_OK);
    }
    if !is_foreign(place, name, Accessible::WRITE_OK) || depth > MOST_DEPTH {
        return false;
    }
    let can = |right| !is_foreign(place, name, right);
    match (can(Accessible::READ_OK), can(Accessible::EXEC_OK)) {
        (false, false) => true,
        // Whoever knows a name could open what has it, and here none can be looked up.
        (false, true) => false,
        (true, _) => {
            let listed = open_directory(place, name).map_err(io::Error::from);
            let listed = listed.and_then(|directory| Ok((kinds_in(&directory, *left)?, directory)));
            let Ok((entries, directory)) = listed else { return false };
            *left -= entries.len();
            entries.into_iter().all(|(entry, kind)| {
                // What a link leads to has rights of its own.
                kind == FileType::Symlink || is_closed(&directory, Path::new(&entry), kind, left, depth + 1)
            })
        }
    }
}

/// Whether something is another user's, who does not give this one that right. Its owner could take the right back.
fn is_foreign(place: &OwnedFd, name: &Path, right: Accessible) -> bool {
    let is_own = statat(place, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_or(true, |found| found.st_uid == geteuid().as_raw());
    !is_own && accessat(place, name, right, AtFlags::EACCESS) == Err(Errno::ACCESS)
}

/// Opens an entry of a directory that was listed, and says whether it is a directory. Not where it has become something else
/// since: rules for a file would open a directory too far.
fn open_neighbour(directory: &OwnedFd, name: &CStr, kind: FileType) -> rustix::io::Result<(OwnedFd, bool)> {
    let is_directory = kind == FileType::Directory;
    let only_directories = if is_directory { OFlags::DIRECTORY } else { OFlags::empty() };
    let flags = OFlags::PATH | OFlags::CLOEXEC | only_directories;
    let entry = openat2(directory, name, flags, Mode::empty(), STRICTLY_BELOW)?;
    if is_directory {
        return Ok((entry, true));
    }
    let found = FileType::from_raw_mode(fstat(&entry)?.st_mode);
    match (kind, found) {
        // Not every file system lists kinds.
        (FileType::Unknown, found) => Ok((entry, found == FileType::Directory)),
        (_, FileType::Directory) => Err(Errno::ISDIR),
        (..) => Ok((entry, false)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_this_user_owns_is_not_closed_by_its_mode() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("key");
        std::fs::write(&file, "key").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).unwrap();
        let here = std::fs::File::open(scratch.path()).unwrap().into();
        assert!(!is_foreign(&here, Path::new("key"), Accessible::READ_OK));
        assert!(!is_foreign(&here, Path::new("none"), Accessible::READ_OK));
        let root = std::fs::File::open("/").unwrap().into();
        assert!(!is_foreign(&root, Path::new("etc/passwd"), Accessible::READ_OK));
        let is_foreign_to_us = !geteuid().is_root();
        assert_eq!(is_foreign(&root, Path::new("etc"), Accessible::WRITE_OK), is_foreign_to_us);
    }
}
