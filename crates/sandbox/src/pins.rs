//! Paths that must neither change nor appear while a command runs.
//!
//! At level `full` what exists is mounted read-only, but a name that does not exist cannot be, and a directory above a
//! mount can be renamed. At level `landlock` a file in a writable directory cannot be protected at all. So at both levels
//! each pin is looked at before the command and after it. What has changed is put back, what has appeared is moved
//! away, and both are reported. What appears is moved away while the command runs, too (`pins/guard.rs`).

mod guard;
mod modes;
mod nested;
mod standing;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, fchmod, fstat, mkdirat, open, openat, readlinkat,
    renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use crate::compiled::CompiledPlan;
pub(crate) use crate::outcome::{Disturbed, Repair};
use crate::path::{
    below_root, kind_at, names_in, open_seen, open_up, parent, parts, reach_directory, read_to_end,
    remove_tree,
};
use crate::plan::{Grant, Level, Rights};

pub(crate) use guard::{Guard, Patience};
pub(crate) use nested::Tree;
pub use nested::is_mark;
pub(crate) use standing::{Note, Turn};

use guard::Quiet;
use modes::Modes;

/// One pinned file, or all files of one pinned directory: so much is kept, and can be put back.
const MOST_KEPT: u64 = 16 << 20;
const MOST_ENTRIES: usize = 4096;
const MOST_DEPTH: usize = 32;
/// A process has at least 1024 descriptors.
const MOST_OPEN: usize = 256;
const MOST_LINKS: usize = 40;

/// Which file it is: device, inode, and how many names it has.
type Identity = (u64, u64, u64);

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Nothing,
    File {
        identity: Identity,
        mode: u32,
        content: Vec<u8>,
    },
    Link(Vec<u8>),
    Directory {
        mode: u32,
        entries: BTreeMap<OsString, State>,
    },
    /// A pipe, a socket or a device.
    Other(u32),
    /// Too large or not readable. Never equal to anything.
    Unknown,
}

impl State {
    /// Whether nothing has changed, down to which files they are. Through a second name of a file it could be changed later.
    fn is_same(&self, other: &State) -> bool {
        match (self, other) {
            (State::Unknown, _) | (_, State::Unknown) => false,
            (State::Directory { mode, entries }, State::Directory { mode: other_mode, entries: other }) => {
                mode == other_mode
                    && entries.len() == other.len()
                    && entries.iter().zip(other).all(|((name, state), (other_name, other))| {
                        name == other_name && state.is_same(other)
                    })
            }
            _ => self == other,
        }
    }

    /// Whether all of it was looked at, so that it can be put back.
    fn is_known(&self) -> bool {
        match self {
            State::Unknown => false,
            State::Directory { entries, .. } => entries.values().all(State::is_known),
            State::Nothing | State::File { .. } | State::Link(_) | State::Other(_) => true,
        }
    }

    /// Whether all contents are the same.
    fn is_like(&self, other: &State) -> bool {
        match (self, other) {
            (State::Unknown, _) | (_, State::Unknown) => false,
            (State::File { mode, content, .. }, State::File { mode: other_mode, content: other, .. }) => {
                (mode, content) == (other_mode, other)
            }
            (State::Directory { mode, entries }, State::Directory { mode: other_mode, entries: other }) => {
                mode == other_mode
                    && entries.len() == other.len()
                    && entries.iter().zip(other).all(|((name, state), (other_name, other))| {
                        name == other_name && state.is_like(other)
                    })
            }
            _ => self == other,
        }
    }
}

/// All pins of a plan, as they were.
pub(crate) struct Pins {
    all: Vec<Pin>,
    level: Level,
    /// Those that are missing while nothing happens where they would be.
    quiet: Quiet,
    /// Where the kernel does not keep them.
    modes: Modes,
    /// What looks after those that are not there.
    pub(crate) guard: Option<Guard>,
}

struct Pin {
    path: PathBuf,
    before: State,
    /// The directory that it was in.
    above: Option<(u64, u64)>,
}

impl Pin {
    /// Whether the command cannot have changed it. At level `full` a file is mounted read-only on its own name, so only the
    /// directories above it can be exchanged. What changes otherwise was changed by the person, and stays.
    fn is_out_of_reach(&self, level: Level, directories: &mut Directories) -> bool {
        let is_mounted = match &self.before {
            State::File { identity: (.., names), .. } => *names == 1,
            State::Directory { .. } => true,
            State::Nothing | State::Link(_) | State::Other(_) | State::Unknown => false,
        };
        level == Level::Full
            && is_mounted
            && self.above.is_some()
            && self.above == directories.identity_above(&self.path)
    }
}

/// Directories that pins lie in, each opened once: most pins lie in a few. Good for one look, since a command changes what is
/// where.
struct Directories {
    root: OwnedFd,
    /// By their names as text, which are quicker to compare than paths.
    opened: BTreeMap<OsString, rustix::io::Result<OwnedFd>>,
    /// Which directories they are, where somebody has asked.
    identities: BTreeMap<OsString, (u64, u64)>,
}

impl Directories {
    fn new() -> io::Result<Directories> {
        // Who is contained already may pass through the root and not read it.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Directories {
            root: open("/", flags, Mode::empty())?,
            opened: BTreeMap::new(),
            identities: BTreeMap::new(),
        })
    }

    /// The directory that a path lies in, where no link is on the way.
    fn above(&mut self, path: &Path) -> Result<&OwnedFd, Errno> {
        let above = parent(path).unwrap_or(Path::new("/"));
        if !self.opened.contains_key(above.as_os_str()) {
            if self.opened.len() == MOST_OPEN {
                self.forget();
            }
            self.opened.insert(above.as_os_str().to_owned(), reach_directory(&self.root, below_root(above)));
        }
        match self.opened.get(above.as_os_str()) {
            Some(Ok(directory)) => Ok(directory),
            Some(Err(error)) => Err(*error),
            None => Err(Errno::NOENT),
        }
    }

    fn forget(&mut self) {
        self.opened.clear();
        self.identities.clear();
    }

    /// Which directory a path is in.
    fn identity_above(&mut self, path: &Path) -> Option<(u64, u64)> {
        let name = parent(path).unwrap_or(Path::new("/")).as_os_str();
        if let Some(known) = self.identities.get(name) {
            return Some(*known);
        }
        let stat = fstat(self.above(path).ok()?).ok()?;
        self.identities.insert(name.to_owned(), (stat.st_dev, stat.st_ino));
        Some((stat.st_dev, stat.st_ino))
    }

    fn state_at(&mut self, path: &Path) -> State {
        let Some(name) = path.file_name() else { return State::Unknown };
        match self.above(path) {
            Ok(above) => {
                let (mut entries, mut kept) = (MOST_ENTRIES, MOST_KEPT);
                read_state(above, name, 0, &mut entries, &mut kept).unwrap_or(State::Unknown)
            }
            // Where a link is in the way, nothing of what was looked at is there.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => State::Nothing,
            Err(_) => State::Unknown,
        }
    }

    /// What is at a path that is as it is named: no link on the way, and none at its end. `None` where it is not, or cannot be looked at.
    fn plain_state_at(&mut self, path: &Path) -> Option<State> {
        let is_named = parts(path).all(|part| part != "..");
        let name = path.file_name().filter(|_| is_named)?;
        match self.above(path) {
            Ok(above) => {
                let (mut entries, mut kept) = (MOST_ENTRIES, MOST_KEPT);
                let state = read_state(above, name, 0, &mut entries, &mut kept).ok()?;
                (!matches!(state, State::Link(_))).then_some(state)
            }
            // A link as the last part of the way is not a directory to the kernel either.
            Err(Errno::NOTDIR) if has_link(parent(path).unwrap_or(path)) => None,
            Err(Errno::NOENT | Errno::NOTDIR) => Some(State::Nothing),
            Err(_) => None,
        }
    }
}

impl Pins {
    /// Looks at every pin of a plan.
    pub(crate) fn look(plan: &CompiledPlan, level: Level) -> io::Result<Pins> {
        let begun = SystemTime::now();
        let modes = match level {
            Level::Landlock => Modes::look(&plan.unclosed),
            Level::Full => Modes::default(),
        };
        let mut directories = Directories::new()?;
        let mut pins: Vec<Pin> = Vec::new();
        let mut known: BTreeSet<OsString> = BTreeSet::new();
        let kept = kept(plan, level)?;
        for path in plan.pinned.iter().chain(&kept) {
            if known.contains(path.as_os_str()) {
                continue;
            }
            let found = directories.plain_state_at(path);
            let resolved = match &found {
                Some(_) => Ok(vec![path.clone()]),
                None => resolve(path, plan),
            };
            let resolved = match resolved {
                Ok(resolved) => resolved,
                // What we cannot reach even by opening directories of the person's, the command cannot reach either: it has less
                // rights, and the same user.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => continue,
                Err(error) => return Err(error),
            };
            let mut found = found;
            for path in resolved {
                if !known.insert(path.as_os_str().to_owned()) {
                    continue;
                }
                let before = found.take().unwrap_or_else(|| directories.state_at(&path));
                // Asked for at level `full` alone.
                let above = if level == Level::Full { directories.identity_above(&path) } else { None };
                let is_writable = || kept.contains(&path) || plan.rights_at(&path) == Rights::Write;
                if !before.is_known() && level == Level::Landlock && is_writable() {
                    let told = format!(
                        "level landlock cannot keep {} from being written, and it is too large or too closed to be put back; that needs level \
                         full",
                        path.display()
                    );
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, told));
                }
                pins.push(Pin { path, before, above });
            }
        }
        let is_writable = |path: &Path| plan.rights_at(path) == Rights::Write;
        let (guard, quiet) = Guard::of(&pins, &mut directories, begun, is_writable, || plan.quarantine())?;
        Ok(Pins { all: pins, level, quiet, modes, guard })
    }

    /// Looks again, and has everything be as before. `moved`: what was moved away while the command ran.
    pub(crate) fn check(&self, plan: &CompiledPlan, moved: BTreeSet<PathBuf>) -> Vec<Disturbed> {
        let mut disturbed = self.look_again(plan, State::is_same);
        disturbed.retain(|disturbed| !moved.contains(&disturbed.path));
        let moved = moved.into_iter().map(|path| Disturbed { path, outcome: Repair::MovedAway });
        disturbed.extend(moved);
        disturbed
    }

    /// The same while a background job lives, as often as it is done. Whether something had to be put back. A file of the same content may be another
    /// one: git writes its settings anew, and what is changed later by a second name is found then.
    pub(crate) fn keep(&self, plan: &CompiledPlan) -> bool {
        let disturbed = self.look_again(plan, State::is_like);
        disturbed.iter().any(|disturbed| disturbed.outcome != Repair::Unknown)
    }

    /// `is_as_before`: what was there, and what is there now.
    fn look_again(
        &self,
        plan: &CompiledPlan,
        is_as_before: impl Fn(&State, &State) -> bool,
    ) -> Vec<Disturbed> {
        let mut disturbed = self.modes.put_back();
        let mut directories = match Directories::new() {
            Ok(directories) => directories,
            Err(error) => {
                let outcome = Repair::Failed(error.to_string());
                let failed = |pin: &Pin| Disturbed { path: pin.path.clone(), outcome: outcome.clone() };
                disturbed.extend(self.all.iter().map(failed));
                return disturbed;
            }
        };
        let missing = self.quiet.missing();
        for (number, pin) in self.all.iter().enumerate() {
            if missing.contains(&number) {
                continue;
            }
            let now = directories.state_at(&pin.path);
            if is_as_before(&pin.before, &now) || pin.is_out_of_reach(self.level, &mut directories) {
                continue;
            }
            // What is put back may be a directory that others lie in.
            directories.forget();
            let outcome = match (&pin.before, put_back(&pin.path, &pin.before, plan)) {
                (State::Unknown, _) => Repair::Unknown,
                (_, Err(error)) => Repair::Failed(error.to_string()),
                (State::Nothing, Ok(())) => Repair::MovedAway,
                (before, Ok(())) if before.is_like(&now) => Repair::Renewed,
                (_, Ok(())) => Repair::PutBack,
            };
            disturbed.push(Disturbed { path: pin.path.clone(), outcome });
        }
        disturbed
    }
}

/// Whether a part of a path is a link.
fn has_link(path: &Path) -> bool {
    let is_link = |part: &Path| fs::symlink_metadata(part).is_ok_and(|found| found.is_symlink());
    path.ancestors().any(is_link)
}

/// Whether something is at a path, and no link on the way to it.
pub(crate) fn is_plain(path: &Path) -> bool {
    fs::canonicalize(path).is_ok_and(|real| real == path)
}

/// What of the kept places has to be looked at: at level `full` those that are not there or behind a link, since the others are mounted read-only; at level
/// `landlock` all, but for what may be written below them.
fn kept(plan: &CompiledPlan, level: Level) -> io::Result<Vec<PathBuf>> {
    let mut looked = Vec::new();
    let mut left: Vec<PathBuf> = plan.kept.clone();
    while let Some(path) = left.pop() {
        let is_there = fs::symlink_metadata(&path);
        let opens_below = plan.grants.iter().any(|grant| {
            grant.rights == Rights::Write && grant.path != path && grant.path.starts_with(&path)
        });
        match (level, is_there) {
            (Level::Full, Ok(_)) if is_plain(&path) => {}
            (Level::Landlock, Ok(found)) if opens_below && found.is_dir() => {
                for entry in fs::read_dir(&path)? {
                    let entry = entry?.path();
                    let is_granted = |grant: &Grant| grant.rights == Rights::Write && grant.path == entry;
                    if !plan.grants.iter().any(is_granted) {
                        left.push(entry);
                    }
                }
            }
            (Level::Full | Level::Landlock, _) => looked.push(path),
        }
    }
    Ok(looked)
}

fn root() -> io::Result<OwnedFd> {
    Ok(fs::File::open("/")?.into())
}

/// What is to be pinned for a path with links in it: the path with the links resolved, and each link on the way that the command can
/// write. A link that the command can write is pinned alone where it is the last part: what it leads to has its own pin, or none.
fn resolve(path: &Path, plan: &CompiledPlan) -> io::Result<Vec<PathBuf>> {
    let root = root()?;
    let (mut done, mut links) = (PathBuf::new(), 0);
    let mut pinned = Vec::new();
    let mut rest: Vec<OsString> = names(path).rev().collect();
    while let Some(name) = rest.pop() {
        if name == ".." {
            done.pop();
            continue;
        }
        let next = done.join(&name);
        if !matches!(kind_at(&root, &next)?, Some(FileType::Symlink)) {
            done = next;
            continue;
        }
        links += 1;
        let absolute = Path::new("/").join(&next);
        let is_writable = plan.rights_at(&absolute) == Rights::Write;
        if is_writable || links > MOST_LINKS {
            pinned.push(absolute);
            if rest.is_empty() || links > MOST_LINKS {
                return Ok(pinned);
            }
        }
        let text = readlinkat(&root, &next, Vec::new())?;
        let text = Path::new(OsStr::from_bytes(text.as_bytes()));
        if text.is_absolute() {
            done = PathBuf::new();
        }
        rest.extend(names(text).rev());
    }
    pinned.push(Path::new("/").join(done));
    Ok(pinned)
}

fn names(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    parts(path).map(OsStr::to_owned)
}

fn read_state(
    above: &OwnedFd,
    name: &OsStr,
    depth: usize,
    entries: &mut usize,
    kept: &mut u64,
) -> io::Result<State> {
    let stat = match statat(above, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(State::Nothing),
        Err(error) => return Err(error.into()),
    };
    if *entries == 0 || depth > MOST_DEPTH {
        return Ok(State::Unknown);
    }
    *entries -= 1;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            let (file, found) = open_seen(above, Path::new(name))?;
            let Some(content) = read_to_end(&file, *kept)? else {
                return Ok(State::Unknown);
            };
            *kept = kept.saturating_sub(u64::try_from(content.len()).unwrap_or(u64::MAX));
            Ok(State::File {
                identity: (found.dev(), found.ino(), found.nlink()),
                mode: found.mode() & 0o7777,
                content,
            })
        }
        FileType::Symlink => Ok(State::Link(readlinkat(above, name, Vec::new())?.into_bytes())),
        FileType::Directory => {
            let here = reach_directory(above, Path::new(name))?;
            let mut states = BTreeMap::new();
            for name in names_in(&here, MOST_ENTRIES)? {
                let state = read_state(&here, &name, depth + 1, entries, kept)?;
                states.insert(name, state);
            }
            Ok(State::Directory { mode: fstat(&here)?.st_mode & 0o7777, entries: states })
        }
        _ => Ok(State::Other(stat.st_mode)),
    }
}

/// Has a path be what it was.
fn put_back(path: &Path, before: &State, plan: &CompiledPlan) -> io::Result<()> {
    if *before == State::Unknown {
        return Ok(());
    }
    let quarantine = plan.quarantine()?;
    let name = path.file_name().ok_or_else(|| io::Error::other("a path without a name"))?;
    let mut above = root()?;
    let mut here = PathBuf::from("/");
    for part in names(path.parent().unwrap_or(Path::new("/"))) {
        here.push(&part);
        above = match reach_directory(&above, Path::new(&part)) {
            Ok(below) => below,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if *before == State::Nothing => {
                // Something that is not a directory leads elsewhere, or nowhere: it was no way to the pin before either.
                return if plan.rights_at(&here) == Rights::Write {
                    take_away(&above, &part, &quarantine)
                } else {
                    Ok(())
                };
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                take_away(&above, &part, &quarantine)?;
                mkdirat(&above, &part, Mode::from_raw_mode(0o755))?;
                reach_directory(&above, Path::new(&part))?
            }
            Err(error) => return Err(error.into()),
        };
    }
    open_up(&above, Path::new(""))?;
    restore(&above, name, before, &quarantine)
}

fn take_away(above: &OwnedFd, name: &OsStr, quarantine: &OwnedFd) -> io::Result<()> {
    match kind_at(above, Path::new(name))? {
        None => Ok(()),
        Some(_) => move_away(above, name, quarantine),
    }
}

fn restore(above: &OwnedFd, name: &OsStr, before: &State, quarantine: &OwnedFd) -> io::Result<()> {
    let (mut entries, mut kept) = (MOST_ENTRIES, MOST_KEPT);
    let now = read_state(above, name, 0, &mut entries, &mut kept).unwrap_or(State::Unknown);
    if before.is_same(&now) {
        return Ok(());
    }
    match (before, &now) {
        (State::Directory { entries, mode }, State::Directory { entries: others, .. }) => {
            let here = reach_directory(above, Path::new(name))?;
            open_up(&here, Path::new(""))?;
            for other in others.keys().filter(|other| !entries.contains_key(*other)) {
                move_away(&here, other, quarantine)?;
            }
            for (name, state) in entries {
                restore(&here, name, state, quarantine)?;
            }
            return Ok(fchmod(&here, Mode::from_raw_mode(*mode))?);
        }
        (State::Unknown, _) => return Err(io::Error::other("its content was too large to be kept")),
        (State::Other(_), _) => return Err(io::Error::other("it was neither a file nor a directory")),
        _ => {}
    }
    take_away(above, name, quarantine)?;
    match before {
        State::File { mode, content, .. } => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut file = fs::File::from(openat(above, name, flags, Mode::from_raw_mode(0o600))?);
            file.write_all(content)?;
            fchmod(&file, Mode::from_raw_mode(*mode))?;
        }
        State::Link(text) => symlinkat(OsStr::from_bytes(text), above, name)?,
        State::Directory { mode, entries } => {
            mkdirat(above, name, Mode::from_raw_mode(0o700))?;
            let here = reach_directory(above, Path::new(name))?;
            for (name, state) in entries {
                restore(&here, name, state, quarantine)?;
            }
            fchmod(&here, Mode::from_raw_mode(*mode))?;
        }
        State::Nothing | State::Other(_) | State::Unknown => {}
    }
    Ok(())
}

/// Moves what is at a name into quarantine, whatever it is. What lies on another file system is deleted instead.
pub(crate) fn move_away(above: &OwnedFd, name: &OsStr, quarantine: &OwnedFd) -> io::Result<()> {
    let mut is_opened = false;
    for number in 0..10_000 {
        let mut to = OsString::from(format!("{}-{number}-", std::process::id()));
        to.push(name);
        match renameat_with(above, name, quarantine, &to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            Err(Errno::EXIST) => {}
            Err(Errno::NOENT) => return Ok(()),
            // A directory that its maker has closed, or one that was closed around it.
            Err(Errno::ACCESS) if !is_opened => {
                is_opened = true;
                open_up(above, Path::new(""))?;
                // Anything but a directory needs no more.
                let _ = open_up(above, Path::new(name));
            }
            // A name that is too long for a number before it, or a file system that cannot rename so.
            Err(Errno::XDEV | Errno::NAMETOOLONG | Errno::INVAL) => return remove_tree(above, name),
            Err(Errno::BUSY) => return Ok(unlinkat(above, name, AtFlags::empty())?),
            Err(error) => return Err(error.into()),
        }
    }
    remove_tree(above, name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::plan::Plan;

    struct Scratch {
        _directory: tempfile::TempDir,
        here: PathBuf,
        plan: CompiledPlan,
    }

    fn scratch(pins: &[&str]) -> Scratch {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        let here = top.join("work");
        fs::create_dir_all(&here).unwrap();
        let mut plan = Plan::new(&here, top.join("private"));
        plan.pinned = pins.iter().map(|pin| here.join(pin)).collect();
        Scratch { _directory: directory, here, plan: CompiledPlan::of(plan) }
    }

    fn quarantined(scratch: &Scratch) -> usize {
        fs::read_dir(scratch.plan.private.join("quarantine")).map_or(0, Iterator::count)
    }

    #[test]
    fn what_changed_is_put_back() {
        let scratch = scratch(&["a", "dir", "link", "mode", "gone"]);
        let here = &scratch.here;
        for name in ["a", "mode", "gone"] {
            fs::write(here.join(name), name).unwrap();
        }
        fs::create_dir(here.join("dir")).unwrap();
        fs::write(here.join("dir/x"), "x").unwrap();
        symlink("a", here.join("link")).unwrap();
        let pins = Pins::look(&scratch.plan, Level::Landlock).unwrap();
        assert_eq!(pins.check(&scratch.plan, BTreeSet::new()), []);
        fs::write(here.join("a"), "b").unwrap();
        fs::write(here.join("dir/x"), "y").unwrap();
        fs::write(here.join("dir/new"), "y").unwrap();
        fs::remove_file(here.join("link")).unwrap();
        symlink("/etc/passwd", here.join("link")).unwrap();
        fs::set_permissions(here.join("mode"), fs::Permissions::from_mode(0o777)).unwrap();
        fs::remove_file(here.join("gone")).unwrap();
        let disturbed = pins.check(&scratch.plan, BTreeSet::new());
        assert_eq!(disturbed.len(), 5);
        assert!(disturbed.iter().all(|pin| pin.outcome == Repair::PutBack), "{disturbed:?}");
        assert_eq!(fs::read_to_string(here.join("a")).unwrap(), "a");
        assert!(!here.join("dir/new").exists());
        assert_eq!(fs::read_link(here.join("link")).unwrap(), Path::new("a"));
    }

    #[test]
    fn what_appeared_is_moved_away() {
        let scratch = scratch(&["new", "dir/new", "deep/er/new"]);
        let here = &scratch.here;
        let pins = Pins::look(&scratch.plan, Level::Landlock).unwrap();
        fs::create_dir_all(here.join("new/below")).unwrap();
        fs::create_dir(here.join("dir")).unwrap();
        symlink("/etc/passwd", here.join("dir/new")).unwrap();
        symlink("/etc", here.join("deep")).unwrap();
        let disturbed = pins.check(&scratch.plan, BTreeSet::new());
        assert_eq!(disturbed.len(), 2, "{disturbed:?}");
        assert!(disturbed.iter().all(|pin| pin.outcome == Repair::MovedAway), "{disturbed:?}");
        assert_eq!(quarantined(&scratch), 2);
        assert!(!here.join("new").exists());
        assert!(Path::new("/etc/passwd").exists());
    }

    #[test]
    fn a_directory_above_that_was_exchanged_is_exchanged_back() {
        let scratch = scratch(&["dir/pin"]);
        let here = &scratch.here;
        fs::create_dir(here.join("dir")).unwrap();
        fs::write(here.join("dir/pin"), "pin").unwrap();
        let pins = Pins::look(&scratch.plan, Level::Landlock).unwrap();
        let elsewhere = here.join("elsewhere");
        fs::rename(here.join("dir"), &elsewhere).unwrap();
        fs::write(elsewhere.join("pin"), "evil").unwrap();
        symlink("elsewhere", here.join("dir")).unwrap();
        assert_eq!(pins.check(&scratch.plan, BTreeSet::new()).len(), 1);
        assert_eq!(fs::read_to_string(here.join("dir/pin")).unwrap(), "pin");
        assert!(fs::symlink_metadata(here.join("dir")).unwrap().is_dir());
        assert_eq!(fs::read_to_string(elsewhere.join("pin")).unwrap(), "evil");
    }

    #[test]
    fn a_file_with_a_second_name_is_written_anew() {
        let scratch = scratch(&["a", "b"]);
        let here = &scratch.here;
        for name in ["a", "b"] {
            fs::write(here.join(name), name).unwrap();
        }
        let pins = Pins::look(&scratch.plan, Level::Landlock).unwrap();
        fs::hard_link(here.join("a"), here.join("second")).unwrap();
        fs::copy(here.join("b"), here.join("copy")).unwrap();
        fs::rename(here.join("copy"), here.join("b")).unwrap();
        let disturbed = pins.check(&scratch.plan, BTreeSet::new());
        assert!(disturbed.iter().all(|pin| pin.outcome == Repair::Renewed), "{disturbed:?}");
        assert_eq!(disturbed.len(), 2);
        fs::write(here.join("second"), "evil").unwrap();
        assert_eq!(fs::read_to_string(here.join("a")).unwrap(), "a");
    }

    #[test]
    fn what_the_person_changes_at_level_full_stays() {
        let scratch = scratch(&["dir/pin", "dir/new"]);
        let here = &scratch.here;
        fs::create_dir(here.join("dir")).unwrap();
        fs::write(here.join("dir/pin"), "pin").unwrap();
        let pins = Pins::look(&scratch.plan, Level::Full).unwrap();
        fs::write(here.join("dir/pin"), "edited").unwrap();
        assert_eq!(pins.check(&scratch.plan, BTreeSet::new()), []);
        // But a directory that was exchanged is the command's work, and so is what was not there to be mounted.
        fs::rename(here.join("dir"), here.join("old")).unwrap();
        fs::create_dir(here.join("dir")).unwrap();
        fs::write(here.join("dir/new"), "evil").unwrap();
        assert_eq!(pins.check(&scratch.plan, BTreeSet::new()).len(), 2);
        assert_eq!(fs::read_to_string(here.join("dir/pin")).unwrap(), "pin");
        assert!(!here.join("dir/new").exists());
    }

    #[test]
    fn what_is_too_large_to_be_put_back_is_not_left_to_a_command() {
        let scratch = scratch(&["large"]);
        for (size, is_held) in [(2 << 20, true), (17 << 20, false)] {
            fs::write(scratch.here.join("large"), vec![0; size]).unwrap();
            let pins = Pins::look(&scratch.plan, Level::Landlock);
            assert_eq!(pins.is_ok(), is_held, "{size}");
            let Ok(pins) = pins else { continue };
            fs::write(scratch.here.join("large"), "evil").unwrap();
            let disturbed = pins.check(&scratch.plan, BTreeSet::new());
            assert_eq!(disturbed.first().map(|pin| pin.outcome.clone()), Some(Repair::PutBack));
            assert_eq!(fs::metadata(scratch.here.join("large")).unwrap().len(), size as u64);
        }
        // At level full it is mounted read-only.
        let pins = Pins::look(&scratch.plan, Level::Full).unwrap();
        assert_eq!(
            pins.check(&scratch.plan, BTreeSet::new()).first().map(|pin| pin.outcome.clone()),
            Some(Repair::Unknown)
        );
    }
}
