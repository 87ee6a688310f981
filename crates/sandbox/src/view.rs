//! The file system that a command sees at level `full`: only what the plan grants exists in it.
//!
//! It is put together in a mount namespace of its own: an empty root in memory, the granted places bound into it, then
//! what must be private (`/proc`, `/dev`, `/tmp`, `/run`), then what is closed or pinned inside of something open. At the
//! end the old root is gone, so there is no name left for what was not granted: it cannot be opened, and it cannot be
//! looked at, watched or connected to either.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{CStr, OsStr};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, mkdirat, open, openat, openat2, symlinkat, unlinkat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen,
    mount, mount_change, move_mount, open_tree, unmount,
};
use rustix::process::{chdir, pivot_root};
use sha2::{Digest, Sha256};

use crate::compiled::CompiledPlan;
use crate::path::{Found, STRICTLY_BELOW, find, for_each_entry, open_place, open_whole_directory};
use crate::plan::{Repository, Rights};
use crate::rules::DEVICES;
use crate::sys;

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
const PLAIN: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// Directories of a project that hold more than what is pinned in them.
const SHARED: [&str; 4] = [".github", ".vscode", ".git", ".git/info"];

/// Names of our own while the view is built. Nobody sees them afterwards.
const OLD: &str = "/old";
const NEW: &str = "/new";
const BLANK_FILE: &str = "/blank-file";
const STAGED: &str = "/staged";
const SHARED_GIT: &str = "/shared";

/// Where caches are kept that the user does not have: in our own directory, and in the view.
const ALONE: &str = "alone";
pub(crate) const NEW_CACHES: &str = "/run/caches";

/// A private layer over a directory: what is written there lies in `upper`.
pub(crate) struct Layer {
    pub(crate) lower: PathBuf,
    pub(crate) upper: PathBuf,
    pub(crate) work: PathBuf,
    /// Stands in for the directory while it does not exist. Apart from `upper`: a command writes here directly, and must not
    /// forge what the kernel later takes for its own notes about a layer.
    pub(crate) alone: PathBuf,
}

impl Layer {
    /// The layer over this directory among those in `private`.
    pub(crate) fn of(private: &Path, lower: &Path) -> Layer {
        let name: Vec<u8> = lower
            .as_os_str()
            .as_bytes()
            .iter()
            .map(|byte| match byte {
                b'/' => b'%',
                // These mean something in the options of a mount.
                b':' | b',' | b'\\' | b'%' => b'_',
                other => *other,
            })
            .collect();
        // A name has at most 255 bytes, a path more.
        let name =
            if name.len() > 200 { Sha256::digest(&name).into_iter().flat_map(hex).collect() } else { name };
        let here = private.join("layers").join(OsStr::from_bytes(&name));
        // Programs come upon this name. A `%` means something to `make` and in URLs.
        let plain: Vec<u8> = name.iter().map(|byte| if *byte == b'%' { b'-' } else { *byte }).collect();
        let plain = plain.strip_prefix(b"-").unwrap_or(&plain);
        let alone = private.join(ALONE).join(OsStr::from_bytes(plain));
        let (upper, work) = (here.join("upper"), here.join("work"));
        Layer { lower: lower.to_owned(), upper, work, alone }
    }

    /// Makes its directories, where they are not there yet.
    pub(crate) fn prepare(&self) -> io::Result<()> {
        if fs::symlink_metadata(&self.work).is_ok_and(|found| found.is_dir()) {
            return Ok(());
        }
        fs::create_dir_all(&self.upper)?;
        fs::create_dir_all(&self.work)
    }
}

/// Takes the kernel's mark from the work directory of a layer that was not written to the disk when it ended. What was written before a
/// crash of the machine may be lost; a cache is filled again. The kernel has closed these directories, so only who has all rights in
/// a namespace of its own can.
fn unmark(work: &OwnedFd) {
    let own = Path::new("work/incompat");
    let _ = unlinkat(work, own.join("volatile/dirty"), AtFlags::empty());
    let _ = unlinkat(work, own.join("volatile"), AtFlags::REMOVEDIR);
    let _ = unlinkat(work, own, AtFlags::REMOVEDIR);
}

fn hex(byte: u8) -> [u8; 2] {
    let digit = |half: u8| b"0123456789abcdef".get(usize::from(half)).copied().unwrap_or(b'0');
    [digit(byte >> 4), digit(byte & 15)]
}

/// Makes what lies over a plan's caches, and in place of those that do not exist. It stays from one command to the next.
pub(crate) fn prepare_caches(plan: &CompiledPlan) -> io::Result<()> {
    let mut has_place = false;
    for layer in plan.caches.iter().map(|cache| Layer::of(&plan.private, cache)) {
        match fs::metadata(&layer.lower) {
            Ok(found) if found.is_dir() => layer.prepare()?,
            Ok(_) => {}
            Err(_) => {
                if !has_place {
                    fs::create_dir_all(plan.private.join(ALONE))?;
                    has_place = true;
                }
                // An earlier command may have put a link there. Making one directory follows none.
                match fs::create_dir(&layer.alone) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                    _ => {}
                }
            }
        }
    }
    Ok(())
}

/// The parts of a shared git directory that a commit writes. A layer lies over them, and what is new there is taken over when the command
/// has ended.
pub(crate) const PRIVATE_PARTS: [&str; 3] = ["objects", "refs/heads", "logs/refs/heads"];

/// Sockets in places that may be read. Connecting writes nothing, so a read-only view would not stop it; whoever listens
/// is not contained. Asked for before the network's namespace is left. In places that may be written they are the
/// command's own, or were put into its worktree. One that is made later is not covered; from Landlock 9 on the kernel asks
/// for the right to write before it connects.
pub(crate) fn sockets(plan: &CompiledPlan) -> Vec<PathBuf> {
    let listed = fs::read("/proc/net/unix").unwrap_or_default();
    let paths = listed.split(|byte| *byte == b'\n').filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b'/')?;
        line.get(at..).map(|path| PathBuf::from(OsStr::from_bytes(path)))
    });
    // Of a plain clone they are those of the person's own git, which watches files for it.
    let clone = plan.repository.as_ref().filter(|repository| repository.is_plain());
    let is_in_clone = |path: &Path| clone.is_some_and(|clone| path.starts_with(&clone.common));
    let is_others = |path: &PathBuf| plan.rights_at(path) == Rights::Read || is_in_clone(path);
    let mut paths: Vec<_> = paths.filter(is_others).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// What failed while a view was built.
pub(crate) struct Failed {
    pub(crate) step: String,
    pub(crate) error: io::Error,
}

trait Step<T> {
    fn step(self, step: &str, path: &Path) -> Result<T, Failed>;
}

impl<T, E: Into<io::Error>> Step<T> for Result<T, E> {
    fn step(self, step: &str, path: &Path) -> Result<T, Failed> {
        self.map_err(|error| Failed { step: format!("{step} {}", path.display()), error: error.into() })
    }
}

/// Builds the view and makes it the root of this process. Needs all rights over a mount namespace of its own. `run`: where
/// the layers over the repository are. Returns the caches that are links into `NEW_CACHES`, since the user does not have them.
pub(crate) fn enter(
    plan: &CompiledPlan,
    run: Option<&Path>,
    sockets: &[PathBuf],
) -> Result<Vec<PathBuf>, Failed> {
    let top = Path::new("/");
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).step("closing", top)?;
    let scratch = ["/tmp", "/mnt", "/var"].into_iter().map(Path::new).find(|place| place.is_dir());
    let scratch = scratch.unwrap_or(Path::new("/tmp"));
    in_memory(scratch, c"mode=755,size=1m").step("mounting on", scratch)?;
    chdir(scratch).step("entering", scratch)?;
    for name in ["old", "new", "staged", "shared"] {
        mkdirat(CWD, name, Mode::from_raw_mode(0o755)).step("making", Path::new(name))?;
    }
    openat(CWD, "blank-file", OFlags::CREATE | OFlags::CLOEXEC, Mode::from_raw_mode(0o444))
        .step("making", Path::new(BLANK_FILE))?;
    pivot_root(".", "old").step("changing to", scratch)?;
    chdir("/").step("entering", top)?;
    in_memory(Path::new(NEW), c"mode=755,size=16m").step("mounting on", Path::new(NEW))?;
    let view = View {
        old: directory(OLD).step("opening", Path::new(OLD))?,
        new: directory(NEW).step("opening", Path::new(NEW))?,
        plan,
        closed: RefCell::default(),
        run,
        sockets,
        held: RefCell::new(BTreeSet::new()),
        new_caches: RefCell::default(),
        above_caches: RefCell::default(),
    };
    view.build()?;
    view.seal()?;
    chdir(NEW).step("entering", Path::new(NEW))?;
    pivot_root(".", ".").step("changing to", Path::new(NEW))?;
    unmount(".", UnmountFlags::DETACH).step("leaving", Path::new(OLD))?;
    chdir("/").step("entering", top)?;
    let root = directory("/").step("opening", top)?;
    sys::set_mount_attributes(root, READ_ONLY, false).step("closing", top)?;
    Ok(view.new_caches.take())
}

fn in_memory(place: &Path, options: &std::ffi::CStr) -> rustix::io::Result<()> {
    mount("tmpfs", place, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(options))
}

fn directory(path: &str) -> rustix::io::Result<OwnedFd> {
    open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

struct View<'p> {
    old: OwnedFd,
    new: OwnedFd,
    plan: &'p CompiledPlan,
    /// Directories that are empty in the view but for what is open below them.
    closed: RefCell<Vec<PathBuf>>,
    run: Option<&'p Path>,
    /// Sockets of others that would be seen.
    sockets: &'p [PathBuf],
    /// Directories that were made mount points, so that they stay where they are.
    held: RefCell<BTreeSet<PathBuf>>,
    /// Caches that the user does not have.
    new_caches: RefCell<Vec<PathBuf>>,
    /// The directory that the last of them lies in, and whether it is closed: most lie in the home.
    above_caches: RefCell<Option<(PathBuf, bool)>>,
}

impl View<'_> {
    fn build(&self) -> Result<(), Failed> {
        self.temporary()?;
        // What lies deeper is mounted later, over what it lies in.
        let grants = self.plan.grants.iter().map(|grant| (grant.path.as_path(), false));
        let caches = self.plan.caches.iter().map(|cache| (cache.as_path(), true));
        let places = grants.chain(caches).filter(|(path, _)| *path != Path::new("/"));
        let top = self.top()?;
        let mut places: Vec<(&Path, bool)> =
            top.iter().map(|path| (path.as_path(), false)).chain(places).collect();
        // As text, which is quicker to compare: the paths are clean.
        places
            .sort_by_cached_key(|(path, is_cache)| (path.components().count(), path.as_os_str(), *is_cache));
        places.dedup();
        for (path, is_cache) in places.into_iter().filter(|(path, _)| !self.is_closed_anyway(path)) {
            let Some(place) = self.find(path)? else {
                if is_cache {
                    self.new_cache(path)?;
                }
                continue;
            };
            self.links(&place)?;
            match self.plan.rights_at(path) {
                Rights::None => self.close(&place)?,
                _ if is_ours(&place.path) => {}
                _ if is_cache && place.is_directory => self.layer(&self.plan.private, &place.path)?,
                // Nothing more is in it than in what it lies in.
                Rights::Read if self.is_readable_above(path) => {}
                Rights::Read => {
                    self.hold(&place.path)?;
                    self.bind(&place, READ_ONLY | PLAIN)?;
                }
                Rights::Write => self.bind(&place, PLAIN)?,
            }
        }
        if let Some((repository, run)) = self.plan.repository.as_ref().zip(self.run) {
            self.repository(repository, run)?;
        }
        self.pins()?;
        for socket in self.sockets {
            if let Some(place) = self.find(socket)? {
                self.close(&place)?;
            }
        }
        self.devices()?;
        let proc = self.point(Path::new("/proc"), true)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
        mount("proc", name_of(&proc), "proc", flags, None).step("mounting", Path::new("/proc"))?;
        for keys in ["/proc/keys", "/proc/key-users"] {
            self.cover(Path::new(keys))?;
        }
        self.point(Path::new("/run"), true)?;
        if self.new_caches.borrow().is_empty() {
            return Ok(());
        }
        let alone = self.plan.private.join(ALONE);
        let handle = open_place(&self.old, &alone).step("opening", &alone)?;
        let point = self.point(Path::new(NEW_CACHES), true)?;
        attach(&handle, &point, PLAIN).step("binding", &alone)
    }

    /// What a grant of the root itself opens: each of its entries. The root of the view stays its own, or nothing could be put over
    /// what is closed.
    fn top(&self) -> Result<Vec<PathBuf>, Failed> {
        let root = Path::new("/");
        if self.plan.rights_at(root) == Rights::None {
            return Ok(Vec::new());
        }
        let entries = fs::read_dir(OLD).step("reading", root)?;
        let paths = entries.map(|entry| entry.map(|entry| root.join(entry.file_name())));
        paths.collect::<io::Result<Vec<_>>>().step("reading", root)
    }

    /// Whether nothing of what a place lies in is in the view, and nothing of itself. The view has directories of its own without a
    /// grant.
    fn is_closed_anyway(&self, path: &Path) -> bool {
        let is_in_own = ["/dev", "/proc", "/run", "/tmp", "/var/tmp"].iter().any(|own| path.starts_with(own));
        self.plan.rights_at(path) == Rights::None
            && !is_in_own
            && self.plan.nearest_above(path).is_none_or(|(_, rights)| rights == Rights::None)
    }

    /// Whether a place that is read is in the view already, since it lies in one that is read as a whole.
    fn is_readable_above(&self, path: &Path) -> bool {
        let nearest = self.plan.nearest_above(path);
        nearest.is_some_and(|(above, rights)| rights == Rights::Read && !is_ours(above))
            && open_place(&self.new, path).is_ok()
    }

    fn find(&self, path: &Path) -> Result<Option<Found>, Failed> {
        find(&self.old, path, self.plan).step("looking for", path)
    }

    /// Has the links on the way to a place in the view too, where what they lie in is the view's own.
    fn links(&self, place: &Found) -> Result<(), Failed> {
        for (link, text) in &place.links {
            let above = link.parent().unwrap_or(Path::new("/"));
            let parent = self.point(above, true)?;
            let Some(name) = link.file_name() else { continue };
            match symlinkat(text, &parent, name) {
                Ok(()) | Err(Errno::EXIST | Errno::ROFS | Errno::ACCESS | Errno::PERM) => {}
                Err(error) => return Err(error).step("linking", link),
            }
        }
        Ok(())
    }

    /// A place of the view to mount on, made where there is none.
    fn point(&self, path: &Path, is_directory: bool) -> Result<OwnedFd, Failed> {
        match open_place(&self.new, path) {
            Ok(point) => return Ok(point),
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error).step("opening", path),
        }
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::NOENT).step("opening", path);
        };
        let parent = self.point(above, true)?;
        let made = if is_directory {
            mkdirat(&parent, name, Mode::from_raw_mode(0o755))
        } else {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            openat(&parent, name, flags, Mode::from_raw_mode(0o444)).map(drop)
        };
        match made {
            // Another command of this plan makes the same ones, where they lie in the private temporary directory.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error).step("making", path),
        }
        openat2(&parent, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), STRICTLY_BELOW)
            .step("opening", path)
    }

    /// What must not change is read-only. Where it is not there, the directory that it would be in is, unless that holds more.
    fn pins(&self) -> Result<(), Failed> {
        let is_mount = |path: &Path| {
            self.plan.names(path)
                || self.plan.repository.as_ref().is_some_and(|repository| repository.own == path)
        };
        // Many pins lie in directories that are not there.
        let mut missing = PathBuf::new();
        let mut is_there = |path: &Path| {
            if missing.as_os_str().is_empty() || !path.starts_with(&missing) {
                if open_place(&self.old, path).is_ok() {
                    return true;
                }
                path.clone_into(&mut missing);
            }
            false
        };
        for pinned in &self.plan.pinned {
            let within = pinned.ancestors().take_while(|path| *path == pinned || !is_mount(path));
            let Some(path) = within.into_iter().find(|path| is_there(path)) else { continue };
            let is_shared = path != pinned && SHARED.iter().any(|name| path.ends_with(name));
            let is_granted = self.plan.rights_at(path) == Rights::Write || path == pinned;
            if is_shared || !is_granted || path == Path::new("/") {
                continue;
            }
            match find(&self.old, path, self.plan) {
                Ok(Some(place)) => {
                    self.hold(&place.path)?;
                    self.bind(&place, READ_ONLY | PLAIN)?;
                }
                Ok(None) => {}
                // A link in a writable place cannot be mounted on. It is looked at when the command has ended.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                Err(error) => return Err(error).step("looking for", path),
            }
        }
        Ok(())
    }

    /// A place as it is, with these attributes, at the same path of the view.
    fn bind(&self, place: &Found, attributes: u64) -> Result<(), Failed> {
        let point = self.point(&place.path, place.is_directory)?;
        attach(&place.handle, &point, attributes).step("binding", &place.path)
    }

    /// Something empty over a place that is closed, where the view would show it. It takes what is open further down.
    fn close(&self, place: &Found) -> Result<(), Failed> {
        self.hold(&place.path)?;
        let Ok(point) = open_place(&self.new, &place.path) else { return Ok(()) };
        if !place.is_directory {
            return self.cover(&place.path);
        }
        in_memory(Path::new(&name_of(&point)), c"mode=755,size=1m").step("closing", &place.path)?;
        self.closed.borrow_mut().push(place.path.clone());
        Ok(())
    }

    /// An empty file over another one.
    fn cover(&self, path: &Path) -> Result<(), Failed> {
        let Ok(point) = open_place(&self.new, path) else { return Ok(()) };
        let blank = open_place(CWD, Path::new(BLANK_FILE)).step("opening", Path::new(BLANK_FILE))?;
        attach(&blank, &point, READ_ONLY | PLAIN).step("closing", path)
    }

    /// Keeps the directories above a place where they are, up to the grant that they lie in. Whoever could rename one of them
    /// would take away what lies over the place: for the next command, which finds nothing there, or at once, by
    /// putting another directory under the old name. A mount point cannot be renamed.
    fn hold(&self, path: &Path) -> Result<(), Failed> {
        let above = path.ancestors().skip(1);
        let above =
            above.take_while(|above| self.plan.rights_at(above) == Rights::Write && !self.plan.names(above));
        let above: Vec<&Path> = above.collect();
        for directory in above.into_iter().rev() {
            if self.held.borrow_mut().insert(directory.to_owned())
                && let Ok(point) = open_place(&self.new, directory)
            {
                attach(&point, &point, PLAIN).step("holding", directory)?;
            }
        }
        Ok(())
    }

    /// Nothing can be made any more in what is closed.
    fn seal(&self) -> Result<(), Failed> {
        for path in self.closed.borrow().iter() {
            let place = open_place(&self.new, path).step("opening", path)?;
            sys::set_mount_attributes(place, READ_ONLY, false).step("closing", path)?;
        }
        Ok(())
    }

    /// A private layer over a directory, if it can be had. A file system that takes none is read and not written.
    ///
    /// Without `volatile` the kernel writes all of the file system to the disk when a layer on it ends.
    fn layer(&self, private: &Path, lower: &Path) -> Result<(), Failed> {
        let layer = Layer::of(private, lower);
        let point = self.point(lower, true)?;
        let Ok(made) = self.made_layer(&layer) else {
            let Some(place) = self.find(lower)? else { return Ok(()) };
            return attach(&place.handle, &point, READ_ONLY | PLAIN).step("binding", lower);
        };
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(&made, "", &point, "", flags).step("attaching", lower)
    }

    fn made_layer(&self, layer: &Layer) -> io::Result<OwnedFd> {
        let made = self.overlay(layer, &["userxattr", "volatile"]);
        made.or_else(|_| self.overlay(layer, &["userxattr"]))
    }

    /// A cache that the user does not have: a link to a private directory. Only where the nearest directory that exists is closed.
    /// Elsewhere the way to the cache would be made on the user's disk. A link, since a mount for each would be felt.
    fn new_cache(&self, path: &Path) -> Result<(), Failed> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
        let is_closed = match self.above_caches.take() {
            Some((known, is_closed)) if known == above => is_closed,
            _ => {
                let nearest = above.ancestors().find(|above| open_place(&self.old, above).is_ok());
                nearest.is_some_and(|nearest| self.plan.rights_at(nearest) == Rights::None)
            }
        };
        self.above_caches.replace(Some((above.to_owned(), is_closed)));
        let is_inside = self.new_caches.borrow().iter().any(|cache| path.starts_with(cache));
        if !is_closed || is_inside || self.plan.rights_at(path) == Rights::None {
            return Ok(());
        }
        let layer = Layer::of(&self.plan.private, path);
        let Some(own) = layer.alone.file_name() else { return Ok(()) };
        let parent = self.point(above, true)?;
        symlinkat(Path::new(NEW_CACHES).join(own), &parent, name).step("linking", path)?;
        self.new_caches.borrow_mut().push(path.to_owned());
        Ok(())
    }

    fn overlay(&self, layer: &Layer, options: &[&str]) -> io::Result<OwnedFd> {
        let made = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(&made, "source", "toolgate")?;
        for (key, path) in [("lowerdir", &layer.lower), ("upperdir", &layer.upper), ("workdir", &layer.work)]
        {
            // No link leads anywhere from here: what is found is what is named.
            let handle = open_place(&self.old, path)?;
            if key == "workdir" {
                unmark(&handle);
            }
            fsconfig_set_string(&made, key, name_of(&handle))?;
        }
        for option in options {
            fsconfig_set_flag(&made, *option)?;
        }
        fsconfig_create(&made)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        Ok(fsmount(&made, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
    }

    /// A git directory whose own entries are the view's. Locks can be made beside files that cannot be changed, and what
    /// is new in it (`commondir`, `config.worktree`) is gone with the view.
    fn repository(&self, repository: &Repository, run: &Path) -> Result<(), Failed> {
        let common = &repository.common;
        if repository.is_plain() {
            return self.plain_clone(common, run);
        }
        let point = self.point(common, true)?;
        in_memory(Path::new(&name_of(&point)), c"mode=755,size=16m").step("mounting on", common)?;
        drop(point);
        let shared = open_place(CWD, Path::new(SHARED_GIT)).step("opening", Path::new(SHARED_GIT))?;
        let handle = open_place(&self.old, common).step("opening", common)?;
        attach(&handle, &shared, READ_ONLY | PLAIN).step("binding", common)?;
        self.children(common)?;
        // Git packs branches into this file and then deletes their own. It would be gone with the view, and they with it.
        let packed = common.join("packed-refs");
        if self.find(&packed)?.is_none() {
            let blank = open_place(CWD, Path::new(BLANK_FILE)).step("opening", Path::new(BLANK_FILE))?;
            let point = self.point(&packed, false)?;
            attach(&blank, &point, READ_ONLY | PLAIN).step("closing", &packed)?;
        }
        if let Some(own) = self.find(&repository.own)? {
            self.bind(&own, PLAIN)?;
        }
        // One layer over the whole directory, of which the parts alone are seen: making one takes longer than all other mounts.
        if let Ok(layer) = self.made_layer(&Layer::of(run, common)) {
            let staged = open_place(CWD, Path::new(STAGED)).step("opening", Path::new(STAGED))?;
            let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
            move_mount(&layer, "", &staged, "", flags).step("attaching", common)?;
            for part in PRIVATE_PARTS {
                let (path, staged) = (common.join(part), Path::new(STAGED).join(part));
                let found = self.find(&path)?.filter(|found| found.is_directory && found.path == path);
                let Some(point) = found else { continue };
                let point = self.point(&point.path, true)?;
                let staged = open_place(CWD, &staged).step("opening", &staged)?;
                attach(&staged, &point, PLAIN).step("binding", &path)?;
            }
        }
        Ok(())
    }

    /// What is in the git directory, read-only.
    fn children(&self, common: &Path) -> Result<(), Failed> {
        let here = open_place(&self.new, common).step("opening", common)?;
        let shared = open_whole_directory(Path::new(SHARED_GIT)).step("opening", common)?;
        let mut links = Vec::new();
        let bind = |name: &CStr, kind: FileType| -> io::Result<()> {
            match kind {
                FileType::Directory => mkdirat(&here, name, Mode::from_raw_mode(0o755))?,
                FileType::RegularFile => {
                    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                    drop(openat(&here, name, flags, Mode::from_raw_mode(0o444))?);
                }
                _ => {
                    links.push(common.join(OsStr::from_bytes(name.to_bytes())));
                    return Ok(());
                }
            }
            let flags = OpenTreeFlags::OPEN_TREE_CLONE
                | OpenTreeFlags::OPEN_TREE_CLOEXEC
                | OpenTreeFlags::AT_SYMLINK_NOFOLLOW
                | OpenTreeFlags::AT_RECURSIVE;
            // Read-only, as what it is a part of.
            let tree = open_tree(&shared, name, flags)?;
            Ok(move_mount(&tree, "", &here, name, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
        };
        for_each_entry(&shared, bind).step("binding", common)?;
        for path in links {
            if let Some(place) = self.find(&path)? {
                self.bind(&place, READ_ONLY | PLAIN)?;
            }
        }
        Ok(())
    }

    /// A layer over all of a plain clone. What is never taken over from it, and would be missed, cannot be written: a submodule
    /// or a worktree that is made inside would lead nowhere afterwards.
    fn plain_clone(&self, common: &Path, run: &Path) -> Result<(), Failed> {
        self.layer(run, common)?;
        for name in ["hooks", "modules", "worktrees"] {
            let path = common.join(name);
            // Where there is no layer, nothing can be written anyway.
            let Ok(point) = self.point(&path, true) else { continue };
            attach(&point, &point, READ_ONLY | PLAIN).step("closing", &path)?;
        }
        Ok(())
    }

    /// The private directory for temporary files, under the names that programs know.
    fn temporary(&self) -> Result<(), Failed> {
        let path = self.plan.temporary();
        let Some(place) = self.find(&path)? else { return Err(Errno::NOENT).step("looking for", &path) };
        for name in ["/tmp", "/var/tmp"] {
            let point = self.point(Path::new(name), true)?;
            attach(&place.handle, &point, PLAIN).step("binding", &path)?;
        }
        Ok(())
    }

    /// A few devices that keep nothing, shared memory and terminals of the view's own.
    fn devices(&self) -> Result<(), Failed> {
        let dev = Path::new("/dev");
        self.point(dev, true)?;
        for device in DEVICES {
            let path = Path::new(device);
            if let Some(place) = self.find(path)? {
                let point = self.point(path, false)?;
                attach(&place.handle, &point, libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC)
                    .step("binding", path)?;
            }
        }
        let shared = self.point(Path::new("/dev/shm"), true)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("tmpfs", name_of(&shared), "tmpfs", flags, Some(c"mode=1777"))
            .step("mounting", Path::new("/dev/shm"))?;
        let terminals = self.point(Path::new("/dev/pts"), true)?;
        let options = c"newinstance,ptmxmode=0666,mode=620";
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        mount("devpts", name_of(&terminals), "devpts", flags, Some(options))
            .step("mounting", Path::new("/dev/pts"))?;
        let parent = self.point(dev, true)?;
        for (name, text) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
            ("ptmx", "pts/ptmx"),
        ] {
            let _ = unlinkat(&parent, name, AtFlags::empty());
            symlinkat(text, &parent, name).step("linking", dev)?;
        }
        Ok(())
    }
}

/// Whether the view has something of its own there.
fn is_ours(path: &Path) -> bool {
    ["/dev", "/proc", "/tmp", "/var/tmp", "/run"].into_iter().any(|own| path == Path::new(own))
        || path.starts_with("/dev")
        || path.starts_with("/proc")
}

/// A copy of the mounts at a place, with these attributes, at a point.
fn attach(place: &OwnedFd, point: &OwnedFd, attributes: u64) -> io::Result<()> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(place, "", flags)?;
    sys::set_mount_attributes(&tree, attributes, true)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(&tree, "", point, "", flags)?)
}

/// A name for what is behind a handle, for calls that take names alone.
fn name_of(handle: &OwnedFd) -> String {
    format!("/old/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(handle))
}
