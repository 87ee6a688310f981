//! Opens what a plan names, without being led elsewhere.
//!
//! A plan names places with their links resolved. Between then and now an earlier command may have put a link where a
//! directory was, so that a grant of `build/` would open `~/.ssh`. A link in a place that the command may write is never followed.

use std::ffi::{CStr, OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RawDir, ResolveFlags, SeekFrom, StatxFlags, fstat, openat2,
    readlinkat, renameat, seek, statat, statx, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::compiled::CompiledPlan;
use crate::names::os;
pub(crate) use crate::names::{above, clean, is_below, is_clean, parent, parts};

/// No path of a system has more links in it.
const MOST_LINKS: usize = 40;

/// What a command has left is opened so, from a directory that is ours.
pub(crate) const STRICTLY_BELOW: ResolveFlags =
    ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS).union(ResolveFlags::BENEATH);

/// A place of a plan, as it is on the disk.
pub(crate) struct Found {
    /// Where it really is.
    pub(crate) path: PathBuf,
    /// The place itself, for system calls that take a handle.
    pub(crate) handle: OwnedFd,
    pub(crate) is_directory: bool,
    /// The links on the way, each with what it says.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
}

/// Finds a place below `root`, the root of the file system under whatever name. `None`: there is nothing.
pub(crate) fn find(root: impl AsFd, path: &Path, plan: &CompiledPlan) -> io::Result<Option<Found>> {
    let (mut path, mut links) = (path.to_owned(), Vec::new());
    loop {
        match open_place(&root, &path) {
            Ok(handle) => {
                let kind = FileType::from_raw_mode(fstat(&handle)?.st_mode);
                return Ok(Some(Found { path, handle, is_directory: kind == FileType::Directory, links }));
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => return Ok(None),
            Err(Errno::LOOP) if links.len() < MOST_LINKS => {
                let Some((link, text, rest)) = first_link(&root, &path)? else { return Ok(None) };
                if plan.is_writable_below_root(&link) {
                    let told = format!("{} is a link that the command may have made", link.display());
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, told));
                }
                let above = link.parent().unwrap_or(Path::new("/"));
                path = clean(&above.join(&text).join(rest));
                links.push((link, text));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// A handle for what is at `path` below `root`, where no link is on the way.
pub(crate) fn open_place(root: impl AsFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(
        root,
        below_root(path),
        flags,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    )
}

/// An absolute path as one that begins at a handle for the root.
pub(crate) fn below_root(path: &Path) -> &Path {
    let bytes = path.as_os_str().as_encoded_bytes();
    let rest = bytes.iter().position(|byte| *byte != b'/').and_then(|start| bytes.get(start..));
    Path::new(os(rest.unwrap_or(b".")))
}

/// A directory to be read, where no link is on the way to it.
pub(crate) fn open_whole_directory(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if !path.is_absolute() {
        return Err(Errno::INVAL);
    }
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS)
}

/// A directory of ours, made where there is none.
pub(crate) fn open_or_make(path: &Path) -> io::Result<OwnedFd> {
    let directory = match fs::File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_own(path)?;
            fs::File::open(path)?
        }
        opened => opened?,
    };
    Ok(directory.into())
}

/// Makes a directory of ours, and those above it.
pub(crate) fn make_own(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// The path with every link resolved. What has none on the way, which is usual, needs one look.
pub(crate) fn canonical(path: &Path) -> io::Result<PathBuf> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let straight = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    if path.is_absolute() {
        match openat2(CWD, path, flags, Mode::empty(), straight) {
            Ok(_) => return Ok(clean(path)),
            // No link came before what is missing: it would have been refused first.
            Err(Errno::NOENT) => return Err(Errno::NOENT.into()),
            Err(_) => {}
        }
    }
    path.canonicalize()
}

/// A directory below another one, where no link is on the way.
pub(crate) fn open_directory(below: impl AsFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(below, path, flags, Mode::empty(), STRICTLY_BELOW)
}

/// The same, past directories that a command may have closed to hide what it put there: their owner opens them again. What the owner
/// cannot reach so, no command of the owner's can.
pub(crate) fn reach_directory(below: impl AsFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    match open_directory(&below, path) {
        Err(Errno::ACCESS) => {
            open_up(&below, path)?;
            open_directory(&below, path)
        }
        opened => opened,
    }
}

/// Gives the owner every right to each directory of a path; without a path, to the directory itself.
pub(crate) fn open_up(below: impl AsFd, path: &Path) -> rustix::io::Result<()> {
    let mut names = parts(path).peekable();
    if names.peek().is_none() {
        return give_owner_all(below);
    }
    let mut here = PathBuf::new();
    for name in names {
        here.push(name);
        give_owner_all(open_closed(&below, &here)?)?;
    }
    Ok(())
}

/// A handle for a directory that may be closed, where no link is on the way.
fn open_closed(below: impl AsFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(below, path, flags, Mode::empty(), STRICTLY_BELOW)
}

/// What belongs to somebody else stays as it is.
fn give_owner_all(directory: impl AsFd) -> rustix::io::Result<()> {
    let stat = fstat(&directory)?;
    let mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
    if stat.st_uid != geteuid().as_raw() || mode.contains(Mode::RWXU) {
        return Ok(());
    }
    // By the handle: the name may lead elsewhere by now, and a handle for a place alone cannot be given to `fchmod`.
    let by_handle = format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd());
    rustix::fs::chmod(by_handle, mode | Mode::RWXU)
}

/// A regular file below a directory, where no link is on the way. Never waits for the other end of a pipe.
pub(crate) fn open_file(below: impl AsFd, path: &Path) -> io::Result<fs::File> {
    // What is no regular file is not opened at all: opening can mean something to a device. A link on the way only misleads this
    // look; the file itself is opened past none.
    match FileType::from_raw_mode(statat(&below, path, AtFlags::SYMLINK_NOFOLLOW)?.st_mode) {
        FileType::RegularFile => open_seen_file(below, path),
        FileType::Symlink => Err(Errno::LOOP.into()),
        _ => Err(not_regular()),
    }
}

/// The same for what was a regular file a moment ago. Should it be something else by now, opening it does no harm: a contained
/// command can put no device there, and a pipe is not waited for.
pub(crate) fn open_seen(below: impl AsFd, path: &Path) -> io::Result<(fs::File, fs::Metadata)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = fs::File::from(openat2(&below, path, flags, Mode::empty(), STRICTLY_BELOW)?);
    let found = file.metadata()?;
    if found.is_file() { Ok((file, found)) } else { Err(not_regular()) }
}

fn open_seen_file(below: impl AsFd, path: &Path) -> io::Result<fs::File> {
    open_seen(below, path).map(|(file, _)| file)
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file")
}

/// The text of a regular file, up to `most` bytes. `None`: there is nothing.
pub(crate) fn read_file(below: impl AsFd, path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    read_opened(open_file(below, path), most)
}

/// The same for what was a regular file a moment ago, and which content that is.
pub(crate) fn read_seen_file(
    below: impl AsFd,
    path: &Path,
    most: u64,
) -> io::Result<Option<(Vec<u8>, Stamp)>> {
    let (file, found) = match open_seen(below, path) {
        Err(error) if is_absent(&error) => return Ok(None),
        opened => opened?,
    };
    let stamp = Stamp::new(found.dev(), found.ino(), (found.ctime(), found.ctime_nsec()));
    Ok(read_opened(Ok(file), most)?.map(|text| (text, stamp)))
}

/// Which content a file has: the kernel changes the last part with every write, and no program can set it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    file: (u64, u64),
    changed: (i64, i64),
}

impl Stamp {
    fn new(device: u64, inode: u64, changed: (i64, i64)) -> Stamp {
        Stamp { file: (device, inode), changed }
    }

    /// Of what is at a name, no link followed.
    pub(crate) fn at(directory: impl AsFd, name: &Path) -> Option<Stamp> {
        let found = statx(directory, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS).ok()?;
        let device = rustix::fs::makedev(found.stx_dev_major, found.stx_dev_minor);
        let changed = (found.stx_ctime.tv_sec, i64::from(found.stx_ctime.tv_nsec));
        Some(Stamp::new(device, found.stx_ino, changed))
    }

    /// The stamp of a file that has been left alone for a while, so that a write from now on must show. The kernel's clock for this goes in steps
    /// of some milliseconds.
    pub(crate) fn settled(self) -> Option<Stamp> {
        self.settled_by(SystemTime::now())
    }

    /// The same, for what was left alone for a while at that time.
    pub(crate) fn settled_by(self, time: SystemTime) -> Option<Stamp> {
        const STEP: Duration = Duration::from_millis(50);
        let now = time.checked_sub(STEP)?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        (self.changed < (now.as_secs().cast_signed(), i64::from(now.subsec_nanos()))).then_some(self)
    }
}

fn read_opened(opened: io::Result<fs::File>, most: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match opened {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let text = read_to_end(&file, most)?;
    text.map(Some).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it is too large"))
}

/// What is small enough for one call is read with one: a regular file gives less than was asked for at its end alone.
const USUAL: usize = 2048;

/// All of a regular file, from where it was read to. `None`: it has more than `most` bytes.
pub(crate) fn read_to_end(file: &fs::File, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut usual = [0; USUAL];
    let mut reader = file;
    let read = reader.read(&mut usual)?;
    let mut text = usual.get(..read).unwrap_or_default().to_vec();
    if read == USUAL {
        let left = most.saturating_add(1).saturating_sub(USUAL as u64);
        reader.take(left).read_to_end(&mut text)?;
    }
    Ok(u64::try_from(text.len()).is_ok_and(|length| length <= most).then_some(text))
}

/// Whether an error says that there is nothing at a path.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The names in a directory, in order. More than `most` are an error, never a shorter list that looks whole.
pub(crate) fn names_in(directory: impl AsFd, most: usize) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for_each_entry(directory, |name, _| {
        if names.len() == most {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it has too many entries"));
        }
        names.push(os(name.to_bytes()).to_owned());
        Ok(())
    })?;
    names.sort();
    Ok(names)
}

/// The same, with what each is. Where the file system does not tell while it lists, each is looked at.
pub(crate) fn kinds_in(directory: impl AsFd, most: usize) -> io::Result<Vec<(OsString, FileType)>> {
    let directory = directory.as_fd();
    let mut entries = Vec::new();
    for_each_entry(directory, |name, kind| {
        if entries.len() == most {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it has too many entries"));
        }
        let name = os(name.to_bytes()).to_owned();
        let kind = if kind == FileType::Unknown { kind_at(directory, Path::new(&name))? } else { Some(kind) };
        entries.extend(kind.map(|kind| (name, kind)));
        Ok(())
    })?;
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(entries)
}

/// Visits every entry of a directory that was opened to be read, from its beginning: its name, and its kind where the file system
/// tells it. Reads through the handle itself, which is quicker than a second one.
pub(crate) fn for_each_entry(
    directory: impl AsFd,
    mut visit: impl FnMut(&CStr, FileType) -> io::Result<()>,
) -> io::Result<()> {
    seek(&directory, SeekFrom::Start(0))?;
    let mut buffer = [MaybeUninit::uninit(); 8192];
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            visit(entry.file_name(), entry.file_type())?;
        }
    }
    Ok(())
}

/// What is at a name, no link followed. `None`: nothing.
pub(crate) fn kind_at(directory: impl AsFd, name: &Path) -> io::Result<Option<FileType>> {
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Removes what is at a name, and all below it. No link is followed, and a directory that its maker has closed is opened
/// first. What somebody else removes meanwhile is gone as well: an init that ends tidies up its layers.
pub(crate) fn remove_tree(directory: impl AsFd, name: &OsStr) -> io::Result<()> {
    let top = directory.as_fd();
    let mut deep = Deep { names: vec![name.to_owned()], count: 0 };
    while let Some(name) = deep.names.pop() {
        remove_below(top, top, &name, 0, &mut deep)?;
    }
    Ok(())
}

/// Directories that were moved to the top, and how many there were.
struct Deep {
    names: Vec<OsString>,
    count: usize,
}

/// What lies deeper than this is moved to the top first, so that no tree is too deep to be removed.
const DEEP: usize = 64;

fn remove_below(
    top: BorrowedFd<'_>,
    directory: BorrowedFd<'_>,
    name: &OsStr,
    depth: usize,
    deep: &mut Deep,
) -> io::Result<()> {
    match kind_at(directory, Path::new(name))? {
        None => return Ok(()),
        Some(FileType::Directory) => {}
        Some(_) => return unless_gone(unlinkat(directory, name, AtFlags::empty())),
    }
    let place = match open_closed(directory, Path::new(name)) {
        Err(Errno::NOENT) => return Ok(()),
        opened => opened?,
    };
    give_owner_all(&place)?;
    if depth == DEEP {
        let moved = OsString::from(format!(".toolgate-removed-{}-{}", std::process::id(), deep.count));
        deep.count += 1;
        renameat(directory, name, top, &moved)?;
        deep.names.push(moved);
        return Ok(());
    }
    let listed = open_directory(&place, Path::new("."))
        .map_err(io::Error::from)
        .and_then(|here| Ok((names_in(&here, usize::MAX)?, here)));
    let (names, here) = match listed {
        // Nobody can list what is gone.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        listed => listed?,
    };
    for name in names {
        remove_below(top, here.as_fd(), &name, depth + 1, deep)?;
    }
    unless_gone(unlinkat(directory, name, AtFlags::REMOVEDIR))
}

fn unless_gone(removed: rustix::io::Result<()>) -> io::Result<()> {
    match removed {
        Err(Errno::NOENT) => Ok(()),
        removed => Ok(removed?),
    }
}

/// The first link on the way, what it says, and the rest of the path.
fn first_link(root: impl AsFd, path: &Path) -> io::Result<Option<(PathBuf, PathBuf, PathBuf)>> {
    let mut above = PathBuf::from("/");
    let mut names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    while let Some(name) = names.next() {
        let here = open_place(&root, &above)?;
        let kind = FileType::from_raw_mode(statat(&here, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode);
        above.push(name);
        if kind == FileType::Symlink {
            let text = readlinkat(&here, name, Vec::new())?;
            let rest: PathBuf = names.collect();
            return Ok(Some((above, PathBuf::from(os(text.as_bytes())), rest)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::open;

    use super::*;
    use crate::plan::{Grant, Plan, Rights};

    fn root() -> OwnedFd {
        open("/", OFlags::PATH, Mode::empty()).unwrap()
    }

    #[test]
    fn what_somebody_else_removes_meanwhile_is_gone_as_well() {
        let scratch = tempfile::tempdir().unwrap();
        let here: OwnedFd = fs::File::open(scratch.path()).unwrap().into();
        for _ in 0..40 {
            for number in 0..40 {
                let below = scratch.path().join(format!("tree/{number}/below"));
                fs::create_dir_all(&below).unwrap();
                fs::write(below.join("file"), "").unwrap();
            }
            std::thread::scope(|scope| {
                let removed = [0; 3].map(|_| scope.spawn(|| remove_tree(&here, OsStr::new("tree"))));
                for removed in removed {
                    removed.join().unwrap().unwrap();
                }
            });
            assert!(!scratch.path().join("tree").exists());
        }
    }

    #[test]
    fn links_outside_of_writable_places_are_followed_and_listed() {
        let scratch = tempfile::tempdir().unwrap();
        let here = scratch.path().canonicalize().unwrap();
        std::fs::create_dir_all(here.join("real/deep")).unwrap();
        symlink("real", here.join("link")).unwrap();
        let plan = CompiledPlan::of(Plan::new("/nowhere", "/state"));
        let found = find(root(), &here.join("link/deep"), &plan).unwrap().unwrap();
        assert_eq!(found.path, here.join("real/deep"));
        assert_eq!(found.links, [(here.join("link"), PathBuf::from("real"))]);
        assert!(found.is_directory);
        assert!(find(root(), &here.join("none"), &plan).unwrap().is_none());
    }

    #[test]
    fn paths_are_taken_apart_as_text() {
        for (path, below, names) in [
            ("/", ".", &[][..]),
            ("/a", "a", &["a"]),
            ("//a//b/./c/", "a//b/./c/", &["a", "b", "c"]),
            ("a/../b", "a/../b", &["a", "..", "b"]),
            ("", ".", &[]),
        ] {
            assert_eq!(below_root(Path::new(path)), Path::new(below), "{path}");
            assert_eq!(parts(Path::new(path)).collect::<Vec<_>>(), names, "{path}");
        }
        for (path, expected) in
            [("/", true), ("/a/b", true), ("/a/..b/...", true), ("a", false), ("", false), ("/a/", false)]
        {
            assert_eq!(is_clean(Path::new(path)), expected, "{path}");
        }
        for (path, top, expected) in [
            ("/a/b", "/a", true),
            ("/a", "/a", true),
            ("/ab", "/a", false),
            ("/a", "/a/b", false),
            ("/a", "/", true),
            ("/", "/", true),
        ] {
            assert_eq!(is_below(Path::new(path), Path::new(top)), expected, "{path} {top}");
        }
        for path in ["//a", "/a//b", "/a/./b", "/a/..", "/.", "//"] {
            assert!(!is_clean(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn what_a_clean_path_lies_in_is_what_the_standard_library_says() {
        for path in ["/", "/a", "/a/b", "/a/b/c.d", "/a b/..b"].map(Path::new) {
            assert_eq!(parent(path), path.parent(), "{}", path.display());
            assert!(above(path).eq(path.ancestors().skip(1)), "{}", path.display());
        }
    }

    #[test]
    fn a_link_in_a_writable_place_is_an_error() {
        let scratch = tempfile::tempdir().unwrap();
        let here = scratch.path().canonicalize().unwrap();
        symlink("/etc", here.join("build")).unwrap();
        let mut plan = Plan::new(&here, "/state");
        plan.grants.push(Grant::new(here.join("build"), Rights::Write));
        assert!(find(root(), &here.join("build"), &CompiledPlan::of(plan)).is_err());
    }

    #[test]
    fn trees_are_removed_however_deep_and_closed() {
        let scratch = tempfile::tempdir().unwrap();
        let top: OwnedFd = open(scratch.path(), OFlags::RDONLY, Mode::empty()).unwrap();
        let mut here = top.try_clone().unwrap();
        for _ in 0..500 {
            rustix::fs::mkdirat(&here, "d", Mode::RWXU).unwrap();
            here = open_directory(&here, Path::new("d")).unwrap();
        }
        symlink("/etc", scratch.path().join("d/link")).unwrap();
        std::fs::create_dir(scratch.path().join("d/closed")).unwrap();
        std::fs::write(scratch.path().join("d/closed/file"), "").unwrap();
        rustix::fs::chmod(scratch.path().join("d/closed"), Mode::empty()).unwrap();
        remove_tree(&top, OsStr::new("d")).unwrap();
        assert_eq!(names_in(&top, 10).unwrap(), Vec::<OsString>::new());
        assert!(Path::new("/etc/passwd").exists());
    }

    #[test]
    fn links_that_lead_in_circles_end() {
        let scratch = tempfile::tempdir().unwrap();
        let here = scratch.path().canonicalize().unwrap();
        symlink("b", here.join("a")).unwrap();
        symlink("a", here.join("b")).unwrap();
        let plan = CompiledPlan::of(Plan::new("/nowhere", "/state"));
        assert!(find(root(), &here.join("a/x"), &plan).is_err());
    }
}
