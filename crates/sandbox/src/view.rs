//! The file system that a command sees at level `full`: only what the plan grants exists in it.
//!
//! It is put together in a mount namespace of its own: an empty root in memory, the granted places bound into it, then
//! what must be private (`/proc`, `/dev`, `/tmp`, `/run`), then what is closed or pinned inside of something open. At the
//! end there is no name left for what was not granted: it cannot be opened, and it cannot be looked at, watched or
//! connected to either. The old root itself is taken down a moment later ([`OldRoot`]).

mod layers;
mod repository;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ffi::{CString, OsStr};
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, mkdirat, open, openat, openat2, readlinkat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
    fsconfig_create, fsmount, mount, mount_change, move_mount, open_tree, unmount,
};
use rustix::process::{Pid, PidfdFlags, WaitOptions, chdir, chroot, pidfd_open, pivot_root, waitpid};
use rustix::thread::{ThreadNameSpaceType, move_into_thread_name_spaces};

use crate::compiled::{CompiledPlan, is_of_kernel};
use crate::egress;
use crate::path::{Found, STRICTLY_BELOW, above, find, is_below, is_clean, open_place, parent};
use crate::plan::{Network, Rights};
use crate::rules::DEVICES;
use crate::sys::{self, Fork};

use layers::{Begun, FAST, LAYER, Names, begin_layers, mount_behind};
pub(crate) use layers::{Caches, Layer, tidy};
pub(crate) use repository::Packed;

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
const PLAIN: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// Directories of a project that hold more than what is pinned in them.
const SHARED: [&str; 4] = [".github", ".vscode", ".git", ".git/info"];

/// Names of our own while the view is built. Nobody sees them afterwards.
const OLD: &str = "/old";
const NEW: &str = "/new";
const BLANK_FILE: &str = "/blank-file";
const BLANK: &str = "/blank";
const RESOLVER: &str = "/resolver";
const STAGED: &str = "/staged";
const SHARED_GIT: &str = "/shared";
const CACHES: &str = "/caches";

/// Where caches are kept that the user does not have, in the view.
pub(crate) const NEW_CACHES: &str = "/run/caches";

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
    /// The kernel does not let this user have such a view at all: in a container whose `/proc` is covered in parts, nobody gets a new one.
    pub(crate) is_kernels: bool,
}

trait Step<T> {
    fn step(self, step: &str, path: &Path) -> Result<T, Failed>;
}

impl<T, E: Into<io::Error>> Step<T> for Result<T, E> {
    fn step(self, step: &str, path: &Path) -> Result<T, Failed> {
        self.map_err(|error| Failed {
            step: format!("{step} {}", path.display()),
            error: error.into(),
            is_kernels: false,
        })
    }
}

/// Builds the view and makes it the root of this process. Needs all rights over a mount namespace of its own. `run`: where
/// the layers over the repository are.
pub(crate) fn enter(
    plan: &CompiledPlan,
    run: Option<&Path>,
    sockets: &[PathBuf],
    caches: &Caches,
    old_root: OldRoot,
) -> Result<Entered, Failed> {
    let top = Path::new("/");
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).step("closing", top)?;
    let (begun, works) = begin_layers(plan, run, caches).step("opening", top)?;
    let scratch = ["/tmp", "/mnt", "/var"].into_iter().map(Path::new).find(|place| place.is_dir());
    let scratch = scratch.unwrap_or(Path::new("/tmp"));
    in_memory(scratch, c"mode=755,size=1m").step("mounting on", scratch)?;
    chdir(scratch).step("entering", scratch)?;
    for name in ["old", "new", "staged", "shared", "caches", "blank"] {
        mkdirat(CWD, name, Mode::from_raw_mode(0o755)).step("making", Path::new(name))?;
    }
    openat(CWD, "blank-file", OFlags::CREATE | OFlags::CLOEXEC, Mode::from_raw_mode(0o444))
        .step("making", Path::new(BLANK_FILE))?;
    if plan.network == Network::Listed {
        fs::write("resolver", egress::RESOLVER).step("making", Path::new(RESOLVER))?;
    }
    pivot_root(".", "old").step("changing to", scratch)?;
    chdir("/").step("entering", top)?;
    in_memory(Path::new(NEW), c"mode=755,size=16m").step("mounting on", Path::new(NEW))?;
    let view = View {
        old: directory(OLD).step("opening", Path::new(OLD))?,
        new: directory(NEW).step("opening", Path::new(NEW))?,
        blank: blank(BLANK)?,
        blank_file: blank(BLANK_FILE)?,
        plan,
        closed: RefCell::default(),
        run,
        sockets,
        caches,
        has_shared_layer: Cell::new(None),
        held: RefCell::new(BTreeSet::new()),
        new_caches: RefCell::default(),
        above_caches: RefCell::default(),
        begun: RefCell::new(begun),
        works: RefCell::new(works),
        packed: RefCell::default(),
    };
    view.build()?;
    let temporary = view.named_temporary();
    view.seal()?;
    chdir(NEW).step("entering", Path::new(NEW))?;
    match old_root {
        OldRoot::Left => leave_old_root()?,
        OldRoot::LeftLater => chroot(".").step("changing to", Path::new(NEW))?,
    }
    chdir("/").step("entering", top)?;
    let root = directory("/").step("opening", top)?;
    sys::set_mount_attributes(root, READ_ONLY, false).step("closing", top)?;
    // Nobody else uses this process's memory any more when the command's process is made.
    view.begun.take();
    let (new_caches, works, packed) = (view.new_caches.take(), view.works.take(), view.packed.take());
    Ok(Entered { new_caches, temporary, works, packed })
}

/// When the view becomes the root of its mount namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OldRoot {
    /// Before the command is there: whoever looks at it from outside reads its paths.
    Left,
    /// Later, by [`settle`]. Nobody in the view has a name for it, nor the rights to get out. The kernel waits for every processor of the machine before
    /// it takes the old root down, which may take longer than all else, and most commands are over before.
    LeftLater,
}

/// The view becomes the root of its mount namespace, and what it was made of is gone. This process is in it.
fn leave_old_root() -> Result<(), Failed> {
    pivot_root(".", ".").step("changing to", Path::new(NEW))?;
    unmount(".", UnmountFlags::DETACH).step("leaving", Path::new(OLD))
}

/// What is done from outside about a view that is there to stay, for all that live in it.
pub(crate) struct Settled<'s> {
    /// Whether it is still to be made the root of its namespace: it would keep every file system of the machine in use.
    pub(crate) leaves_old_root: bool,
    /// A place that is read-only from now on.
    pub(crate) closed: Option<&'s Path>,
}

/// Does that in the view of another process, `init`. Fails where the view is not there yet, and where somebody keeps a file open to write in the place
/// to be closed.
///
/// Whoever made a user namespace has every right over it, from outside and for as long as it lives. Init itself has given up its rights.
pub(crate) fn settle(init: Pid, settled: &Settled<'_>) -> io::Result<()> {
    /// Git writes its files in less.
    const PATIENCE: Duration = Duration::from_secs(1);
    let root = open(format!("/proc/{init}/root"), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let init = pidfd_open(init, PidfdFlags::empty())?;
    let settle = || -> io::Result<()> {
        // Should the supervisor be killed meanwhile, none of its locks and streams stays here.
        sys::keep_only(&[&init, &root]);
        let both = ThreadNameSpaceType::USER | ThreadNameSpaceType::MOUNT;
        move_into_thread_name_spaces(init.as_fd(), both)?;
        if settled.leaves_old_root {
            // Init is in the view once it has built it. Until then nobody may pull the old root from under it.
            let view = open_place(CWD, Path::new(NEW)).ok().and_then(|view| mount_behind(&view));
            let is_there = view.is_some() && view == mount_behind(&root);
            if !is_there {
                return Err(Errno::AGAIN.into());
            }
            chdir(NEW)?;
            leave_old_root().map_err(|failed| failed.error)?;
            chdir("/")?;
        }
        let Some(closed) = settled.closed else { return Ok(()) };
        let place = open_place(&directory("/")?, closed)?;
        let start = Instant::now();
        loop {
            match sys::set_mount_attributes(&place, READ_ONLY | PLAIN, false) {
                Err(error) if is_busy(&error) && start.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                done => return done,
            }
        }
    };
    match sys::fork(0)? {
        Fork::Child => sys::exit_at_once(i32::from(settle().is_err())),
        Fork::Parent(child) => match waitpid(Some(child), WaitOptions::empty())? {
            Some((_, status)) if status.exit_status() == Some(0) => Ok(()),
            _ => Err(Errno::BUSY.into()),
        },
    }
}

fn is_busy(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ResourceBusy
}

/// What a view has under names that are not the plan's.
pub(crate) struct Entered {
    /// Caches that are links into `NEW_CACHES`, since the user does not have them.
    pub(crate) new_caches: Vec<PathBuf>,
    /// The directory for temporary files that the command is told.
    pub(crate) temporary: PathBuf,
    /// The work directories of its layers, to be tidied up at the end.
    pub(crate) works: Vec<OwnedFd>,
    /// What is known of its copy of `packed-refs`.
    pub(crate) packed: Option<Packed>,
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
    /// Put over what is closed: an empty directory, and an empty file.
    blank: OwnedFd,
    blank_file: OwnedFd,
    plan: &'p CompiledPlan,
    /// Directories that are empty in the view but for what is open below them.
    closed: RefCell<Vec<PathBuf>>,
    run: Option<&'p Path>,
    /// Sockets of others that would be seen.
    sockets: &'p [PathBuf],
    /// What lies over caches.
    caches: &'p Caches,
    /// Whether the layer that most of them share could be had, once that was tried.
    has_shared_layer: Cell<Option<bool>>,
    /// Directories that were made mount points, so that they stay where they are.
    held: RefCell<BTreeSet<PathBuf>>,
    /// Caches that the user does not have.
    new_caches: RefCell<Vec<PathBuf>>,
    /// The directory that the last of them lies in, and its place in the view if it is closed: most lie in the home.
    above_caches: RefCell<Option<(PathBuf, Option<OwnedFd>)>>,
    /// Layers that are being made.
    begun: RefCell<Vec<Begun>>,
    /// The work directories of all layers.
    works: RefCell<Vec<OwnedFd>>,
    /// The copy of `packed-refs` that git inside may replace.
    packed: RefCell<Option<Packed>>,
}

/// A directory of the view.
enum Within {
    Top,
    Below(OwnedFd),
}

impl Within {
    fn of<'w>(&'w self, view: &'w View<'_>) -> &'w OwnedFd {
        match self {
            Within::Top => &view.new,
            Within::Below(directory) => directory,
        }
    }
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
        places.retain(|(path, _)| !self.is_closed_anyway(path));
        // The layers are being made meanwhile, so what they lie over comes last.
        let can_wait = self.caches_can_wait();
        let (of_caches, others): (Vec<_>, Vec<_>) =
            places.into_iter().partition(|(path, _)| can_wait && self.is_of_cache(path));
        self.places(&others)?;
        let repository = self.plan.repository.as_ref().zip(self.run);
        if let Some((repository, _)) = repository {
            self.repository(repository)?;
        }
        self.devices()?;
        self.processes()?;
        self.point(Path::new("/run"), true)?;
        if let Some((repository, run)) = repository {
            self.repository_layer(repository, run)?;
        }
        self.places(&of_caches)?;
        // A pin may lie in a cache, behind a link, and the layer would hide it.
        self.pins()?;
        for socket in self.sockets {
            if let Some(place) = self.find(socket)? {
                self.close(&place)?;
            }
        }
        if self.plan.network == Network::Listed {
            self.resolver()?;
        }
        if self.new_caches.borrow().is_empty() {
            return Ok(());
        }
        let alone = Caches::alone(self.plan);
        let handle = open_place(&self.old, &alone).step("opening", &alone)?;
        let point = self.point(Path::new(NEW_CACHES), true)?;
        attach(&handle, &point, PLAIN).step("binding", &alone)
    }

    /// Whom programs ask for names. Without the file they ask the same.
    fn resolver(&self) -> Result<(), Failed> {
        let path = Path::new("/etc/resolv.conf");
        let Some(place) = self.find(path)?.filter(|place| !place.is_directory) else { return Ok(()) };
        self.links(&place)?;
        let point = self.point(&place.path, false)?;
        let own = open_place(CWD, Path::new(RESOLVER)).step("opening", Path::new(RESOLVER))?;
        attach(&own, &point, READ_ONLY | PLAIN).step("binding", path)
    }

    /// The command's own processes.
    fn processes(&self) -> Result<(), Failed> {
        let proc = self.point(Path::new("/proc"), true)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
        mount("proc", name_of(&proc), "proc", flags, None).map_err(|error| Failed {
            step: "mounting /proc".to_owned(),
            error: error.into(),
            is_kernels: error == Errno::PERM,
        })?;
        for keys in ["/proc/keys", "/proc/key-users"].map(Path::new) {
            if let Ok(point) = open_place(&self.new, keys) {
                self.cover(&point, false).step("closing", keys)?;
            }
        }
        Ok(())
    }

    /// Puts these places into the view, in their order: what is a cache, and what a grant names.
    fn places(&self, places: &[(&Path, bool)]) -> Result<(), Failed> {
        for &(path, is_cache) in places {
            let found = if self.caches.is_missing(path) { None } else { self.find(path)? };
            let Some(place) = found else {
                if is_cache {
                    self.new_cache(path)?;
                }
                continue;
            };
            self.links(&place)?;
            match self.plan.rights_at(path) {
                Rights::None => self.close(&place)?,
                _ if is_ours(&place.path) => {}
                _ if is_cache && place.is_directory => self.cache(&place.path)?,
                // Its layer lies over it anyway.
                Rights::Read if place.is_directory && self.plan.caches.iter().any(|cache| cache == path) => {
                    self.hold(&place.path)?;
                }
                // What a command sees of its repository lies over it anyway.
                Rights::Read if self.is_linked_repository(&place.path) => self.hold(&place.path)?,
                // A link into a place that is read as a whole (`/bin`).
                Rights::Read if !place.links.is_empty() && self.is_within_readable(&place.path) => {}
                // Nothing more is in it than in what it lies in.
                Rights::Read if self.is_readable_above(path) => {}
                Rights::Read => {
                    self.hold(&place.path)?;
                    self.bind(&place, READ_ONLY | PLAIN)?;
                }
                Rights::Write => self.bind(&place, PLAIN)?,
            }
        }
        Ok(())
    }

    /// Whether a place is the repository of a linked worktree, which is put together by itself.
    fn is_linked_repository(&self, path: &Path) -> bool {
        let repository = self.plan.repository.as_ref().filter(|_| self.run.is_some());
        repository.is_some_and(|repository| !repository.is_plain() && repository.common == path)
    }

    fn is_of_cache(&self, path: &Path) -> bool {
        self.plan.caches.iter().any(|cache| is_below(path, cache))
    }

    /// Whether the repository has nothing to do with a cache, so that either may be mounted first.
    fn caches_can_wait(&self) -> bool {
        self.plan.repository.as_ref().is_none_or(|repository| {
            let parts = [&repository.common, &repository.own];
            parts.iter().all(|part| {
                self.plan.caches.iter().all(|cache| !is_below(part, cache) && !is_below(cache, part))
            })
        })
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

    /// Whether nothing of what a place lies in is in the view, and nothing of itself. The view has devices and processes without a
    /// grant, and in its own `/tmp` nothing but what the command has put there.
    fn is_closed_anyway(&self, path: &Path) -> bool {
        self.plan.rights_at(path) == Rights::None
            && !is_of_kernel(path)
            && self.plan.nearest_above(path).is_none_or(|(_, rights)| rights == Rights::None)
    }

    /// Whether a path without links lies in a place that is read as a whole.
    fn is_within_readable(&self, path: &Path) -> bool {
        let nearest = self.plan.nearest_above(path);
        !self.plan.names(path)
            && nearest.is_some_and(|(above, rights)| rights == Rights::Read && !is_ours(above))
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
            let parent = self.directory(above)?;
            let Some(name) = link.file_name() else { continue };
            match symlinkat(text, parent.of(self), name) {
                Ok(()) | Err(Errno::EXIST | Errno::ROFS | Errno::ACCESS | Errno::PERM) => {}
                Err(error) => return Err(error).step("linking", link),
            }
        }
        Ok(())
    }

    /// A place of the view to mount on, made where there is none.
    fn point(&self, path: &Path, is_directory: bool) -> Result<OwnedFd, Failed> {
        let is_link = match open_place(&self.new, path) {
            Ok(point) => return Ok(point),
            Err(error @ (Errno::NOENT | Errno::LOOP)) => error == Errno::LOOP,
            Err(error) => return Err(error).step("opening", path),
        };
        let (Some(above), Some(name)) = (parent(path), path.file_name()) else {
            return Err(Errno::NOENT).step("opening", path);
        };
        let parent = self.directory(above)?;
        let parent = parent.of(self);
        if is_link {
            self.remove_stale(parent, path, name)?;
        }
        let made = if is_directory {
            mkdirat(parent, name, Mode::from_raw_mode(0o755))
        } else {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            openat(parent, name, flags, Mode::from_raw_mode(0o444)).map(drop)
        };
        match made {
            // Another command of this plan makes the same ones, where they lie in the private temporary directory.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error).step("making", path),
        }
        openat2(parent, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), STRICTLY_BELOW)
            .step("opening", path)
    }

    /// A directory of the view, made where there is none.
    fn directory(&self, path: &Path) -> Result<Within, Failed> {
        Ok(if path == Path::new("/") { Within::Top } else { Within::Below(self.point(path, true)?) })
    }

    /// An earlier command left a link there when the user did not have this cache yet. It stays where it lies in the private temporary directory.
    fn remove_stale(&self, parent: &OwnedFd, path: &Path, name: &OsStr) -> Result<(), Failed> {
        let left = readlinkat(parent, name, Vec::new()).ok();
        let is_stale = left.is_some_and(|left| {
            new_cache(self.plan, path).is_some_and(|own| own.as_os_str().as_bytes() == left.as_bytes())
        });
        if is_stale { unlinkat(parent, name, AtFlags::empty()).step("removing", path) } else { Ok(()) }
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
            if missing.as_os_str().is_empty() || !is_below(path, &missing) {
                if open_place(&self.old, path).is_ok() {
                    return true;
                }
                path.clone_into(&mut missing);
            }
            false
        };
        for pinned in &self.plan.pinned {
            let within =
                std::iter::once(pinned.as_path()).chain(above(pinned).take_while(|path| !is_mount(path)));
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
        if !place.is_directory || !self.holds_more(&place.path) {
            return self.cover(&point, place.is_directory).step("closing", &place.path);
        }
        in_memory(Path::new(&name_of(&point)), c"mode=755,size=1m").step("closing", &place.path)?;
        self.closed.borrow_mut().push(place.path.clone());
        Ok(())
    }

    /// An empty file over another one, or an empty directory.
    fn cover(&self, point: &OwnedFd, is_directory: bool) -> io::Result<()> {
        let blank = if is_directory { &self.blank } else { &self.blank_file };
        put(&copy(blank)?, point)
    }

    /// Whether the view has something below a directory that is closed, which needs a directory to be put into.
    fn holds_more(&self, path: &Path) -> bool {
        let plan = self.plan;
        let repository = plan.repository.iter().flat_map(|repository| [&repository.common, &repository.own]);
        is_ours(path)
            || plan.node_at(path).is_some_and(|node| node.children().next().is_some())
            || repository.chain(&plan.caches).any(|place| is_below(place, path))
    }

    /// Keeps the directories above a place where they are, up to the grant that they lie in. Whoever could rename one of them
    /// would take away what lies over the place: for the next command, which finds nothing there, or at once, by
    /// putting another directory under the old name. A mount point cannot be renamed.
    fn hold(&self, path: &Path) -> Result<(), Failed> {
        let above = above(path)
            .take_while(|above| self.plan.rights_at(above) == Rights::Write && !self.plan.names(above));
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

    /// A private layer over a cache: a part of the one that most caches share, where the cache is among those.
    fn cache(&self, path: &Path) -> Result<(), Failed> {
        let Some((base, below)) = self.caches.shared_by(path).filter(|_| self.has_shared_layer()) else {
            return self.layer(&self.plan.private, path);
        };
        let staged = Path::new(CACHES).join(below);
        let Ok(part) = open_place(CWD, &staged) else { return self.layer(&self.plan.private, path) };
        let point = self.point(path, true)?;
        attach(&part, &point, PLAIN).step("binding a part of the layer over", base)
    }

    /// Has the layer that most caches share, once, in a place that is gone with the old root.
    fn has_shared_layer(&self) -> bool {
        if let Some(known) = self.has_shared_layer.get() {
            return known;
        }
        let made = || -> io::Result<()> {
            let base = self.caches.base().ok_or(Errno::NOENT)?;
            let layer = self.made_layer(&Layer::of(&self.plan.private, base))?;
            let staged = open_place(CWD, Path::new(CACHES))?;
            let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
            Ok(move_mount(&layer, "", &staged, "", flags)?)
        };
        let is_made = made().is_ok();
        self.has_shared_layer.set(Some(is_made));
        is_made
    }

    fn made_layer(&self, layer: &Layer) -> io::Result<OwnedFd> {
        let mut begun = self.begun.borrow_mut();
        let begun_at = begun.iter().position(|begun| begun.upper == layer.upper);
        let made = begun_at.and_then(|at| begun.swap_remove(at).aside.finish());
        if let Some(made) = made {
            return Ok(made);
        }
        let made = self.overlay(layer, &FAST);
        made.or_else(|_| self.overlay(layer, &["userxattr"]))
    }

    /// A cache that the user does not have: a link to a private directory. Only where the nearest directory that exists is closed.
    /// Elsewhere the way to the cache would be made on the user's disk. A link, since a mount for each would be felt.
    fn new_cache(&self, path: &Path) -> Result<(), Failed> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
        let is_inside = self.new_caches.borrow().iter().any(|cache| is_below(path, cache));
        if is_inside || self.plan.rights_at(path) == Rights::None {
            return Ok(());
        }
        let parent = match self.above_caches.take() {
            Some((known, parent)) if known == above => parent,
            _ => {
                let nearest = above.ancestors().find(|above| open_place(&self.old, above).is_ok());
                let is_closed = nearest.is_some_and(|nearest| self.plan.rights_at(nearest) == Rights::None);
                if is_closed { Some(self.point(above, true)?) } else { None }
            }
        };
        if let (Some(parent), Some(own)) = (&parent, new_cache(self.plan, path)) {
            match symlinkat(own, parent, name) {
                // What it lies in may be the command's own, and then an earlier one has left it there.
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error).step("linking", path),
            }
            self.new_caches.borrow_mut().push(path.to_owned());
        }
        self.above_caches.replace(Some((above.to_owned(), parent)));
        Ok(())
    }

    fn overlay(&self, layer: &Layer, options: &[&str]) -> io::Result<OwnedFd> {
        let names = Names { root: &self.old, descriptors: DESCRIPTORS };
        let (context, work) = names.configured(layer, options)?;
        fsconfig_create(&context)?;
        self.works.borrow_mut().push(work);
        Ok(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, LAYER)?)
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

    /// The directory that the person's own variable names, where the view can have it: other tools of an agent know it by that name. It is as
    /// private as `/tmp`, unless the plan grants it.
    fn named_temporary(&self) -> PathBuf {
        let named = self.plan.environment.iter().find(|(name, _)| name == "TMPDIR");
        let named = named.map(|(_, path)| PathBuf::from(path)).filter(|path| is_clean(path));
        let has = |named: &PathBuf| {
            let is_in_own = ["/tmp", "/var/tmp"].iter().any(|own| named.starts_with(own));
            let is_cache = self.plan.caches.iter().any(|cache| named.starts_with(cache));
            match self.plan.rights_at(named) {
                Rights::Write => return true,
                // Nothing is made in a place that others can change: what leads there must stay what it is.
                Rights::Read => return false,
                Rights::None if is_cache => return false,
                // What lies below it would be hidden.
                Rights::None if !is_in_own && self.holds_more(named) => return false,
                Rights::None => {}
            }
            let Ok(point) = self.point(named, true) else { return false };
            let private = || self.find(&self.plan.temporary()).ok().flatten();
            is_in_own || private().is_some_and(|private| attach(&private.handle, &point, PLAIN).is_ok())
        };
        named.filter(has).unwrap_or_else(|| PathBuf::from("/tmp"))
    }

    /// A few devices that keep nothing, shared memory and terminals of the view's own.
    fn devices(&self) -> Result<(), Failed> {
        let dev = Path::new("/dev");
        let parent = self.point(dev, true)?;
        for device in DEVICES {
            let path = Path::new(device);
            let (Some(place), Some(name)) = (self.find(path)?, path.file_name()) else { continue };
            let flags = OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let point = openat(&parent, name, flags, Mode::from_raw_mode(0o444)).step("making", path)?;
            attach(&place.handle, &point, libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC)
                .step("binding", path)?;
        }
        let shared = self.point(Path::new("/dev/shm"), true)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        // It takes memory, of which no other limit knows.
        let most = self.plan.limits.disk.into_iter().chain(self.plan.limits.memory).min();
        let options = most.map_or_else(|| "mode=1777".to_owned(), |most| format!("mode=1777,size={most}"));
        let options =
            CString::new(options).map_err(io::Error::other).step("mounting", Path::new("/dev/shm"))?;
        mount("tmpfs", name_of(&shared), "tmpfs", flags, Some(options.as_c_str()))
            .step("mounting", Path::new("/dev/shm"))?;
        let terminals = self.point(Path::new("/dev/pts"), true)?;
        let options = c"newinstance,ptmxmode=0666,mode=620";
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        mount("devpts", name_of(&terminals), "devpts", flags, Some(options))
            .step("mounting", Path::new("/dev/pts"))?;
        for (name, text) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
            ("ptmx", "pts/ptmx"),
        ] {
            let linked = match symlinkat(text, &parent, name) {
                // A grant has brought one.
                Err(Errno::EXIST) => {
                    let _ = unlinkat(&parent, name, AtFlags::empty());
                    symlinkat(text, &parent, name)
                }
                linked => linked,
            };
            linked.step("linking", dev)?;
        }
        Ok(())
    }
}

/// Where a cache lies that the user does not have.
fn new_cache(plan: &CompiledPlan, path: &Path) -> Option<PathBuf> {
    Layer::of(&plan.private, path).alone.file_name().map(|own| Path::new(NEW_CACHES).join(own))
}

/// Whether the view has something of its own there.
fn is_ours(path: &Path) -> bool {
    ["/dev", "/proc", "/tmp", "/var/tmp", "/run"].into_iter().any(|own| path == Path::new(own))
        || is_below(path, Path::new("/dev"))
        || is_below(path, Path::new("/proc"))
}

/// What is empty, as a mount that is read-only: what is copied from it is so too.
fn blank(name: &str) -> Result<OwnedFd, Failed> {
    let path = Path::new(name);
    let place = open_place(CWD, path).step("opening", path)?;
    attach(&place, &place, READ_ONLY | PLAIN).step("binding", path)?;
    open_place(CWD, path).step("opening", path)
}

/// A copy of the mounts at a place, with these attributes, at a point.
fn attach(place: &OwnedFd, point: &OwnedFd, attributes: u64) -> io::Result<()> {
    let tree = copy(place)?;
    sys::set_mount_attributes(&tree, attributes, true)?;
    put(&tree, point)
}

/// A copy of the mounts at a place, which is nowhere yet.
fn copy(place: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(place, "", flags)?)
}

fn put(tree: &OwnedFd, point: &OwnedFd) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, "", point, "", flags)?)
}

/// Where the descriptors of this process are while the view is built.
const DESCRIPTORS: &str = "/old/proc/self/fd";

/// A name for what is behind a handle, for calls that take names alone.
fn name_of(handle: &OwnedFd) -> String {
    format!("{DESCRIPTORS}/{}", std::os::fd::AsRawFd::as_raw_fd(handle))
}
