//! Private layers over directories, and which caches share one.
//!
//! A layer is an overlay file system: making one has the kernel change the disk a dozen times, which is most of what level `full` costs. So the caches
//! of a home, which are many, share one layer over the home, and each of them is a part of it in the view. Nothing else of that layer is seen.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, IFlags, Mode, OFlags, RenameFlags, ResolveFlags, StatxFlags, chmodat, ioctl_getflags,
    ioctl_setflags, open, openat2, renameat_with, statx, unlinkat,
};
use rustix::io::Errno;
use rustix::mount::{FsOpenFlags, MountAttrFlags, fsconfig_set_flag, fsconfig_set_string, fsopen};
use sha2::{Digest, Sha256};

use crate::compiled::CompiledPlan;
use crate::path::{is_below, names_in, open_or_make, open_place};
use crate::sys::Aside;

/// Where caches are kept that the user does not have, in our own directory.
const ALONE: &str = "alone";

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
        if let Some(all) = self.upper.ancestors().nth(2) {
            fs::create_dir_all(all)?;
            scatter(all);
        }
        fs::create_dir_all(&self.upper)?;
        fs::create_dir_all(&self.work)
    }
}

/// Has ext4 put each directory that is made in this one into a part of the disk of its own. Without a journal it takes no inode that was freed within
/// the last minutes: where builds make and remove many files, it looks at thousands of them for each of the files that the kernel makes and removes
/// for a layer. Other file systems do not know the mark, and do not need it.
fn scatter(directory: &Path) {
    let Ok(directory) = fs::File::open(directory) else { return };
    if let Ok(flags) = ioctl_getflags(&directory) {
        let _ = ioctl_setflags(&directory, flags | IFlags::TOPDIR);
    }
}

/// The kernel's own directory in a work directory.
const OWN: &str = "work";
/// Those of earlier commands. The kernel would remove it and make another one before anything else, and a file system takes longer to remove a
/// directory than to make one. More than one: the last command may still be tidying up when the next one starts.
const SPENT: [&str; 4] = ["spent", "spent-1", "spent-2", "spent-3"];

/// Has the kernel find a work directory that nobody has used.
fn renew(work: &OwnedFd) {
    for spent in SPENT {
        match renameat_with(work, OWN, work, spent, RenameFlags::NOREPLACE) {
            Ok(()) | Err(Errno::NOENT) => return,
            Err(_) => {}
        }
    }
    // What was left behind there is in the way, or the file system cannot rename so.
    unmark(work, OWN);
}

/// Takes away the kernel's mark of a layer that is not written to the disk when it ends. With the mark the kernel takes it no second time. What was
/// written before a crash of the machine may be lost; a cache is filled again.
fn unmark(work: &OwnedFd, own: &str) {
    let own = Path::new(own).join("incompat");
    let _ = unlinkat(work, own.join("volatile/dirty"), AtFlags::empty());
    let _ = unlinkat(work, own.join("volatile"), AtFlags::REMOVEDIR);
    let _ = unlinkat(work, own, AtFlags::REMOVEDIR);
}

/// Tidies up for the next command, with no rights but the user's: the kernel has closed these directories, but they are the user's own. That takes a
/// file system as long as all else that starts a command, so it is done when whoever waits for the command knows how it ended. Should it not be
/// done, a later command does it.
pub(crate) fn tidy(work: &OwnedFd) {
    for own in [OWN].into_iter().chain(SPENT) {
        if chmodat(work, own, Mode::RWXU, AtFlags::empty()) == Err(Errno::NOENT) {
            continue;
        }
        for directory in ["incompat", "incompat/volatile"] {
            let _ = chmodat(work, Path::new(own).join(directory), Mode::RWXU, AtFlags::empty());
        }
        unmark(work, own);
        if own != OWN {
            let _ = unlinkat(work, own, AtFlags::REMOVEDIR);
        }
    }
}

/// How what lies on the old root is named, before or after it was left.
pub(super) struct Names<'n> {
    pub(super) root: &'n OwnedFd,
    /// Where the descriptors of this process are, for calls that take names alone.
    pub(super) descriptors: &'n str,
}

/// How layers are mounted.
pub(super) const LAYER: MountAttrFlags =
    MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV);

impl Names<'_> {
    fn of(&self, handle: &OwnedFd) -> String {
        format!("{}/{}", self.descriptors, handle.as_raw_fd())
    }

    /// A layer whose parts the kernel has been told, and which is not made yet, and its work directory.
    pub(super) fn configured(&self, layer: &Layer, options: &[&str]) -> io::Result<(OwnedFd, OwnedFd)> {
        let made = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(&made, "source", "toolgate")?;
        // No link leads anywhere from here: what is found is what is named.
        let work = open_place(self.root, &layer.work)?;
        renew(&work);
        for (key, path) in [("lowerdir", &layer.lower), ("upperdir", &layer.upper)] {
            fsconfig_set_string(&made, key, self.of(&open_place(self.root, path)?))?;
        }
        fsconfig_set_string(&made, "workdir", self.of(&work))?;
        // With an index the kernel takes no directory that an earlier command's view still has. It takes that view down when the command has
        // ended, and nothing is written through it any more.
        fsconfig_set_string(&made, "index", "off")?;
        for option in options {
            fsconfig_set_flag(&made, *option)?;
        }
        Ok((made, work))
    }
}

/// Without `volatile` the kernel writes all of the file system to the disk when a layer on it ends.
pub(super) const FAST: [&str; 2] = ["userxattr", "volatile"];

/// A layer that is being made, while the view is built.
pub(super) struct Begun {
    pub(super) upper: PathBuf,
    pub(super) aside: Aside,
}

/// Has the kernel begin with the layers that nearly every view has. Whatever does not go well is made when it is needed.
pub(super) fn begin_layers(
    plan: &CompiledPlan,
    run: Option<&Path>,
    caches: &Caches,
) -> rustix::io::Result<(Vec<Begun>, Vec<OwnedFd>)> {
    let (mut begun, mut works) = (Vec::new(), Vec::new());
    let repository =
        plan.repository.as_ref().zip(run).map(|(repository, run)| Layer::of(run, &repository.common));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = open("/", flags, Mode::empty())?;
    let names = Names { root: &root, descriptors: "/proc/self/fd" };
    for layer in repository.into_iter().chain(caches.shared_layer(plan)) {
        let Ok((context, work)) = names.configured(&layer, &FAST) else { continue };
        let Ok(aside) = Aside::make(context, LAYER) else { continue };
        begun.push(Begun { upper: layer.upper, aside });
        works.push(work);
    }
    Ok((begun, works))
}

fn hex(byte: u8) -> [u8; 2] {
    let digit = |half: u8| b"0123456789abcdef".get(usize::from(half)).copied().unwrap_or(b'0');
    [digit(byte >> 4), digit(byte & 15)]
}

/// What lies over a plan's caches.
#[derive(Debug, Default)]
pub(crate) struct Caches {
    /// The directory whose layer most caches share.
    base: Option<PathBuf>,
    /// The caches that do.
    shared: Vec<PathBuf>,
    /// The caches that the user does not have.
    missing: BTreeSet<PathBuf>,
}

impl Caches {
    /// Makes what lies over a plan's caches, and in place of those that do not exist. It stays from one command to the next.
    pub(crate) fn prepare(plan: &CompiledPlan) -> io::Result<Caches> {
        let base = base(&plan.caches);
        let mount = base.and_then(mount_of);
        let (mut shared, mut missing) = (Vec::new(), Vec::new());
        for cache in &plan.caches {
            match fs::metadata(cache) {
                // What is mounted there is not seen through a layer over what it lies in.
                Ok(found) if found.is_dir() => match base {
                    Some(base) if is_below(cache, base) && mount.is_some() && mount_of(cache) == mount => {
                        shared.push(cache.clone());
                    }
                    _ => Layer::of(&plan.private, cache).prepare()?,
                },
                Ok(_) => {}
                Err(_) => missing.push(Layer::of(&plan.private, cache)),
            }
        }
        if let Some(base) = base.filter(|_| !shared.is_empty()) {
            Layer::of(&plan.private, base).prepare()?;
        }
        if !missing.is_empty() {
            let alone = open_or_make(&Caches::alone(plan))?;
            let there: BTreeSet<OsString> = names_in(alone, usize::MAX)?.into_iter().collect();
            for layer in &missing {
                if layer.alone.file_name().is_some_and(|name| there.contains(name)) {
                    continue;
                }
                // Another command may put a link there meanwhile. Making one directory follows none.
                match fs::create_dir(&layer.alone) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                    _ => {}
                }
            }
        }
        let missing = missing.into_iter().map(|layer| layer.lower).collect();
        Ok(Caches { base: base.map(Path::to_owned), shared, missing })
    }

    /// Where caches are kept that the user does not have.
    pub(super) fn alone(plan: &CompiledPlan) -> PathBuf {
        plan.private.join(ALONE)
    }

    /// Whether the user does not have this cache.
    pub(super) fn is_missing(&self, cache: &Path) -> bool {
        self.missing.contains(cache)
    }

    /// The directory whose layer most caches share.
    pub(super) fn base(&self) -> Option<&Path> {
        self.base.as_deref()
    }

    /// The layer that most caches share, where there is any that does.
    pub(super) fn shared_layer(&self, plan: &CompiledPlan) -> Option<Layer> {
        let base = self.base().filter(|_| !self.shared.is_empty())?;
        Some(Layer::of(&plan.private, base))
    }

    /// The directory whose layer a cache shares with others, and the cache's place in it.
    pub(super) fn shared_by<'c>(&'c self, cache: &'c Path) -> Option<(&'c Path, &'c Path)> {
        let base = self.base().filter(|_| self.shared.iter().any(|shared| shared == cache))?;
        Some((base, cache.strip_prefix(base).ok()?))
    }
}

/// The directory that most caches lie in, by their names alone: it must be the same for each command, or what one has written is not found by the
/// next. Mostly the home.
fn base(caches: &[PathBuf]) -> Option<&Path> {
    let holds = |above: &OsStr| caches.iter().filter(|cache| is_below(cache, Path::new(above))).count();
    let above: BTreeSet<&OsStr> =
        caches.iter().filter_map(|cache| Some(cache.parent()?.as_os_str())).collect();
    let above = above.into_iter().filter(|above| *above != "/");
    // Of two that hold as many, the longer one, which is the deeper one where one lies in the other.
    above.max_by_key(|above| (holds(above), above.len(), *above)).map(Path::new)
}

/// Which mount a directory is on, where no link is on the way to it.
fn mount_of(path: &Path) -> Option<u64> {
    let straight = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    mount_behind(&openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), straight).ok()?)
}

/// Which mount a handle is on.
pub(super) fn mount_behind(handle: &OwnedFd) -> Option<u64> {
    let found = statx(handle, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
    (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_caches_share_the_home_whatever_their_order() {
        let mut caches: Vec<PathBuf> =
            ["/home/u/.cargo", "/home/u/.npm", "/home/u/.cache", "/home/u/.local/share/pnpm", "/data/pip"]
                .map(PathBuf::from)
                .into();
        for _ in 0..caches.len() {
            assert_eq!(base(&caches), Some(Path::new("/home/u")));
            caches.rotate_left(1);
        }
        assert_eq!(base(&["/a/b".into(), "/c/d".into()]), base(&["/c/d".into(), "/a/b".into()]));
        // A layer over the root would hold the layers themselves.
        assert_eq!(base(&["/cache".into()]), None);
        assert_eq!(base(&[]), None);
    }
}
