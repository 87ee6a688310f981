//! Pinned names in directories below the top of a worktree: `sub/.agent/settings.json`.
//!
//! The root has each name pinned, there or not. Below it there are thousands of directories, so they are walked through once, and what was found is kept in
//! a list of ours. What is there is pinned before a command like names of the root. When a command has ended, only directories that have
//! changed since are read again: the kernel stamps a directory with each name that is made in it, and no program can set that stamp. What has appeared is moved away.
//!
//! Against whom: a command that puts settings, a skill or a server for agents into a directory in which a person starts an agent later, or in which a
//! host looks for them by itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, Stat, statat};
use rustix::io::Errno;

use super::{Disturbed, Repair, State, put_back};
use crate::alive::Alive;
use crate::compiled::CompiledPlan;
use crate::path::{
    below_root, for_each_entry, make_own, open_up, open_whole_directory, reach_directory, read_file,
};
use crate::plan::{Nested, Plan};

/// Directories that are looked after. Each costs a look after each command.
const MOST_DIRECTORIES: usize = 4096;
/// Places that hold a pinned name. Each name of theirs costs a look before and after each command.
const MOST_BASES: usize = 64;
const LARGEST_LIST: u64 = 8 << 20;
/// The kernel's clock for stamps goes in steps of some milliseconds.
const STEP: Duration = Duration::from_millis(50);

/// A time, as the kernel stamps files with it.
type Time = (i64, i64);

/// Which directory it was, and when a name in it was last made, renamed or removed.
type Seen = (u64, Time);

/// What is known of the tree.
#[derive(Debug, Default, PartialEq, Eq)]
struct List {
    /// There is more than is looked after.
    is_cut: bool,
    /// Directories, relative to the top. A time of zeros: to be read again; no number: never read.
    directories: BTreeMap<OsString, Seen>,
    /// What the first part of a pinned name was found as: `sub/.agent`.
    bases: BTreeSet<OsString>,
}

/// The tree of one command.
pub(crate) struct Tree {
    nested: Nested,
    /// Where git keeps other worktrees, whose files are not this one's.
    worktrees: Option<PathBuf>,
    top: OwnedFd,
    list: List,
    /// The list as it is kept, to know whether there is anything new to be written.
    kept: Vec<u8>,
    file: PathBuf,
    begun: Time,
    /// What jobs of earlier commands have left.
    disturbed: Vec<PathBuf>,
    /// The mark of this command, which stays until somebody has looked at what it left: also where its supervisor is killed.
    mark: Option<PathBuf>,
    /// Marks of earlier commands of which nothing is alive any more.
    old_marks: Vec<PathBuf>,
    /// Since when there may be something of earlier commands.
    since: Option<Time>,
    /// There was more than is looked after before.
    was_cut: bool,
    /// The first parts of all names.
    firsts: Vec<OsString>,
}

impl Tree {
    /// Looks at the tree of a plan and pins what is there. `None` where there is none to look after.
    pub(crate) fn look(plan: &mut Plan) -> io::Result<Option<Tree>> {
        let Some(nested) = plan.nested.clone() else { return Ok(None) };
        let top = open_whole_directory(&nested.top).or_else(|error| match error {
            // An earlier command may have closed it.
            Errno::ACCESS => reach_directory(super::root().map_err(|_| error)?, below_root(&nested.top)),
            other => Err(other),
        });
        let Ok(top) = top else { return Ok(None) };
        let file = plan.private.join("nested");
        let kept = List::kept(&file).unwrap_or_default();
        let known = List::read(&kept);
        let is_new = known.is_none();
        let has_jobs = plan.alive.as_ref().is_some_and(Alive::has_others);
        let worktrees = plan.repository.as_ref().map(|repository| repository.common.join("worktrees"));
        let marks = marks_in(&plan.private);
        let since = marks.iter().map(|(time, _)| *time).min();
        let old_marks = if has_jobs { Vec::new() } else { marks.into_iter().map(|(_, mark)| mark).collect() };
        let mut firsts: Vec<OsString> =
            nested.names.iter().filter_map(|name| name.iter().next().map(OsStr::to_owned)).collect();
        firsts.sort();
        firsts.dedup();
        let (list, begun) = (known.unwrap_or_default(), now());
        let was_cut = list.is_cut;
        let mark = Some(leave_mark(&plan.private, begun)?);
        let disturbed = Vec::new();
        let mut tree = Tree {
            nested,
            worktrees,
            top,
            list,
            kept,
            file,
            begun,
            disturbed,
            mark,
            old_marks,
            since,
            was_cut,
            firsts,
        };
        if is_new {
            tree.list.directories.insert(OsString::new(), (0, (0, 0)));
        }
        // Whatever is there before the first command was there before.
        if is_new || since.is_some() {
            tree.disturbed = tree.scan(since);
        }
        plan.pinned.extend(tree.pinned());
        Ok(Some(tree))
    }

    /// Every name of every place that has one.
    fn pinned(&self) -> Vec<PathBuf> {
        let mut pinned = Vec::new();
        for base in &self.list.bases {
            // What is gone is not pinned: the directory that it was in would be closed for it.
            if stat_of_any(&self.top, base).is_none() {
                continue;
            }
            let base = Path::new(base);
            let (Some(first), above) = (base.file_name(), base.parent().unwrap_or(Path::new(""))) else {
                continue;
            };
            let names = self.nested.names.iter().filter(|name| name.iter().next() == Some(first));
            pinned.extend(names.map(|name| self.nested.top.join(above).join(name)));
        }
        pinned
    }

    /// What earlier commands have left behind, moved away before this one begins.
    pub(crate) fn begin(&mut self, plan: &CompiledPlan) -> Vec<Disturbed> {
        std::mem::take(&mut self.disturbed).into_iter().map(|path| away(path, plan)).collect()
    }

    /// Looks again and moves away what has appeared. `is_over`: no process of the command is left.
    pub(crate) fn finish(mut self, plan: &CompiledPlan, is_over: bool) -> Vec<Disturbed> {
        let since = self.since.map_or(self.begun, |since| since.min(self.begun));
        let found = self.scan(Some(since));
        let own = self.mark.take().filter(|_| is_over);
        for mark in own.iter().chain(&self.old_marks) {
            take_mark_away(mark);
        }
        let mut disturbed: Vec<Disturbed> = found.into_iter().map(|path| away(path, plan)).collect();
        if self.list.is_cut && !self.was_cut {
            disturbed.push(Disturbed { path: self.nested.top.clone(), outcome: Repair::TooMany });
        }
        let text = self.list.text();
        // Mostly nothing has changed, and writing takes a file system longer than all looking.
        let written = if text == self.kept { Ok(()) } else { keep(&text, &self.file) };
        if let Err(error) = written {
            let outcome = Repair::Failed(error.to_string());
            disturbed.push(Disturbed { path: self.nested.top.clone(), outcome });
        }
        disturbed
    }

    /// Reads what has changed, and gives what has appeared under a pinned name since then.
    fn scan(&mut self, since: Option<Time>) -> Vec<PathBuf> {
        let has_room =
            self.list.directories.len() < MOST_DIRECTORIES / 2 && self.list.bases.len() < MOST_BASES;
        if self.list.is_cut && has_room {
            // There is room again, so all of it is read anew.
            self.list.is_cut = false;
            self.list.directories.values_mut().for_each(|seen| seen.1 = (0, 0));
        }
        let mut appeared = Vec::new();
        let mut gone: Option<Vec<u8>> = None;
        let mut left: VecDeque<(OsString, bool)> = VecDeque::new();
        // A directory comes before those in it.
        for (path, seen) in &self.list.directories {
            let is_gone = gone.as_ref().is_some_and(|gone| path.as_bytes().starts_with(gone));
            match stat_of(&self.top, path).filter(|_| !is_gone) {
                Some(stat) if (stat.st_ino, changed(&stat)) == *seen => {}
                Some(stat) => {
                    // Another directory than before. One that was never read is not.
                    let is_other = seen.0 != 0 && stat.st_ino != seen.0;
                    left.push_back((path.clone(), is_other && is_since(&stat, since)));
                }
                None => {
                    if !is_gone {
                        gone = Some([path.as_bytes(), b"/"].concat());
                    }
                    left.push_back((path.clone(), false));
                }
            }
        }
        while let Some((path, is_new)) = left.pop_front() {
            self.read(&path, is_new, since, &mut left, &mut appeared);
        }
        let top = &self.top;
        self.list.bases.retain(|base| stat_of_any(top, base).is_some());
        appeared
    }

    /// Reads one directory. `is_new`: it has come here itself since then, with all that is in it.
    fn read(
        &mut self,
        path: &OsStr,
        is_new: bool,
        since: Option<Time>,
        left: &mut VecDeque<(OsString, bool)>,
        appeared: &mut Vec<PathBuf>,
    ) {
        let opened =
            reach_directory(&self.top, if path.is_empty() { Path::new(".") } else { Path::new(path) });
        let directory = match opened {
            Ok(directory) => directory,
            Err(error) => {
                // Nothing is opened by so long a name. It is looked at when it is moved to a shorter one.
                self.list.is_cut |= error == Errno::NAMETOOLONG;
                self.list.directories.remove(path);
                return;
            }
        };
        // Before it is read: what is made meanwhile is found the next time.
        let stat = rustix::fs::fstat(&directory);
        let mut found: Vec<OsString> = Vec::new();
        let mut is_other = false;
        let read = for_each_entry(&directory, |name, kind| {
            let name = OsStr::from_bytes(name.to_bytes());
            is_other |= name == ".git" && !path.is_empty() && self.is_worktree(&directory, path);
            let may_be_directory = matches!(kind, FileType::Directory | FileType::Unknown);
            if self.begins_pinned(name) || (may_be_directory && !self.is_passed_over(name)) {
                found.push(name.to_owned());
            }
            Ok(())
        });
        if is_other || read.is_err() {
            self.list.directories.remove(path);
            return;
        }
        let time = |stat: &Stat| if is_settled(stat) { changed(stat) } else { (0, 0) };
        let seen = stat.map_or((0, (0, 0)), |stat| (stat.st_ino, time(&stat)));
        self.list.directories.insert(path.to_owned(), seen);
        for name in found {
            let Some(stat) = stat_of_any(&directory, &name) else { continue };
            let below = joined(path, &name);
            let has_come = is_new || is_since(&stat, since);
            let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
            if self.begins_pinned(&name) {
                // In the root itself each name is pinned, there or not.
                if !path.is_empty() && !self.list.bases.contains(&below) {
                    self.meet(&directory, path, (&name, is_directory), has_come, since, appeared);
                }
            } else if is_directory && !self.list.directories.contains_key(&below) {
                if self.list.directories.len() < MOST_DIRECTORIES {
                    self.list.directories.insert(below.clone(), (0, (0, 0)));
                    left.push_back((below, has_come && since.is_some()));
                } else {
                    self.list.is_cut = true;
                }
            }
        }
    }

    /// Something has the first part of a pinned name: `sub/.agent`.
    fn meet(
        &mut self,
        directory: &OwnedFd,
        path: &OsStr,
        (first, is_directory): (&OsStr, bool),
        has_come: bool,
        since: Option<Time>,
        appeared: &mut Vec<PathBuf>,
    ) {
        let above = self.nested.top.join(path);
        let is_single = |name: &&PathBuf| name.iter().count() == 1;
        let names = || self.nested.names.iter().filter(|name| name.iter().next() == Some(first));
        if since.is_some() && (!is_directory || names().any(|name| is_single(&name))) {
            // A file of that name or, where a directory should be, a link that leads elsewhere.
            if has_come {
                appeared.push(above.join(first));
                return;
            }
        } else if since.is_some() {
            for name in names() {
                let mut has_come = has_come;
                let mut parts = PathBuf::new();
                let mut last = None;
                for part in name {
                    parts.push(part);
                    last = stat_of_any(directory, parts.as_os_str());
                    has_come |= last.as_ref().is_some_and(|stat| is_since(stat, since));
                }
                if has_come && last.is_some() {
                    appeared.push(above.join(name));
                }
            }
        }
        if self.list.bases.len() < MOST_BASES {
            self.list.bases.insert(joined(path, first));
        } else {
            self.list.is_cut = true;
        }
    }

    fn begins_pinned(&self, name: &OsStr) -> bool {
        self.firsts.iter().any(|first| first == name)
    }

    fn is_passed_over(&self, name: &OsStr) -> bool {
        name == ".git" || self.nested.passed_over.iter().any(|other| other == name)
    }

    /// Whether a directory is another worktree of the same repository, by what git has written down outside of a command's reach.
    fn is_worktree(&self, directory: &OwnedFd, path: &OsStr) -> bool {
        const LONGEST: u64 = 8192;
        let Some(worktrees) = &self.worktrees else { return false };
        let text = read_file(directory, Path::new(".git"), LONGEST).ok().flatten().unwrap_or_default();
        let Some(own) = text.strip_prefix(b"gitdir: ").map(<[u8]>::trim_ascii_end) else { return false };
        let own = Path::new(OsStr::from_bytes(own));
        if own.parent() != Some(worktrees) {
            return false;
        }
        let back = fs::read(own.join("gitdir")).unwrap_or_default();
        let here = self.nested.top.join(path).join(".git");
        Path::new(OsStr::from_bytes(back.trim_ascii_end())) == here
    }
}

impl Drop for Tree {
    /// The command was not run, so there is nothing to look at.
    fn drop(&mut self) {
        if let Some(mark) = &self.mark {
            take_mark_away(mark);
        }
    }
}

/// How the name of a mark begins; the time follows, and the process.
const MARK: &str = "open-";
/// A mark that counts no more, to be named anew for the next command: a file system takes longer to make and remove a file.
const SPARE_MARK: &str = "spare-mark";

/// The marks of commands that nobody has looked after, and since when they run.
fn marks_in(private: &Path) -> Vec<(Time, PathBuf)> {
    let entries = fs::read_dir(private).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter_map(|path| Some((time_of_mark(&path)?, path))).collect()
}

fn time_of_mark(path: &Path) -> Option<Time> {
    let (time, _) = path.file_name()?.to_str()?.strip_prefix(MARK)?.split_once('-')?;
    time_in(time.as_bytes())
}

/// Whether a file in the private directory of a plan says that a command runs, or that nobody has looked at what it left. It is gone once a later
/// command has looked.
pub fn is_mark(path: &Path) -> bool {
    time_of_mark(path).is_some()
}

fn leave_mark(private: &Path, (seconds, part): Time) -> io::Result<PathBuf> {
    let mark = private.join(format!("{MARK}{seconds}.{part}-{}", std::process::id()));
    // Of two commands that start at once, one gets it.
    if fs::rename(private.join(SPARE_MARK), &mark).is_ok() {
        return Ok(mark);
    }
    let make =
        || fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&mark).map(drop);
    match make() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_own(private)?;
            make()?;
        }
        outcome => outcome?,
    }
    Ok(mark)
}

/// Best effort: where a mark stays, the next command looks once more.
fn take_mark_away(mark: &Path) {
    if fs::rename(mark, mark.with_file_name(SPARE_MARK)).is_err() {
        let _ = fs::remove_file(mark);
    }
}

fn away(path: PathBuf, plan: &CompiledPlan) -> Disturbed {
    let outcome = match put_back(&path, &State::Nothing, plan) {
        Ok(()) => Repair::MovedAway,
        Err(error) => Repair::Failed(error.to_string()),
    };
    Disturbed { path, outcome }
}

fn joined(above: &OsStr, name: &OsStr) -> OsString {
    if above.is_empty() { name.to_owned() } else { Path::new(above).join(name).into_os_string() }
}

/// What is at a path below the top, if that is a directory. Those above it have been looked at before.
fn stat_of(top: &OwnedFd, path: &OsStr) -> Option<Stat> {
    let path = if path.is_empty() { OsStr::new(".") } else { path };
    let is_directory = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    stat_of_any(top, path).filter(is_directory)
}

fn stat_of_any(directory: &OwnedFd, name: &OsStr) -> Option<Stat> {
    let look = || statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
    match look() {
        // A command may have closed a directory on the way, so that what it made there is not found.
        Err(Errno::ACCESS) => {
            open_up(directory, Path::new("")).ok()?;
            open_up(directory, Path::new(name).parent().unwrap_or(Path::new(""))).ok()?;
            look().ok()
        }
        found => found.ok(),
    }
}

#[allow(clippy::useless_conversion, clippy::unnecessary_fallible_conversions)]
fn changed(stat: &Stat) -> Time {
    let part = i64::try_from(stat.st_ctime_nsec).unwrap_or_default();
    (i64::try_from(stat.st_ctime).unwrap_or_default(), part)
}

/// Whether it was made, renamed or changed since then. Without a time: no.
fn is_since(stat: &Stat, since: Option<Time>) -> bool {
    since.is_some_and(|since| changed(stat) >= since)
}

/// Whether a change from now on must show.
fn is_settled(stat: &Stat) -> bool {
    let before = SystemTime::now().checked_sub(STEP).map(time_of);
    before.is_some_and(|before| changed(stat) < before)
}

fn time_of(time: SystemTime) -> Time {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (since.as_secs().cast_signed(), i64::from(since.subsec_nanos()))
}

/// The time that a file gets which is made now, or an earlier one: stamps are behind the clock by up to a step of the kernel's.
fn now() -> Time {
    const BEHIND: Duration = Duration::from_millis(12);
    SystemTime::now().checked_sub(BEHIND).map(time_of).unwrap_or_default()
}

impl List {
    const HEAD: &'static [u8] = b"nested 2";

    /// The text that is kept in a file. `None` where there is none that can be read.
    fn kept(file: &Path) -> Option<Vec<u8>> {
        let opened = fs::File::open(file).ok()?;
        super::read_to_end(&opened, LARGEST_LIST).ok()?
    }

    /// `None` where it is none of ours, or of an older program: the tree is walked through anew.
    fn read(bytes: &[u8]) -> Option<List> {
        let mut parts = bytes.split(|byte| *byte == 0);
        let mut list = List::default();
        (parts.next()? == Self::HEAD).then_some(())?;
        list.is_cut = parts.next()? == b"cut";
        loop {
            match parts.next()? {
                b"d" => {
                    let path = OsString::from_vec(parts.next()?.to_vec());
                    let inode = std::str::from_utf8(parts.next()?).ok()?.parse().ok()?;
                    list.directories.insert(path, (inode, time_in(parts.next()?)?));
                }
                b"b" => drop(list.bases.insert(OsString::from_vec(parts.next()?.to_vec()))),
                // Written last: what was cut off is not a list.
                b"end" => return Some(list),
                _ => return None,
            }
        }
    }

    fn text(&self) -> Vec<u8> {
        let mut text = [Self::HEAD, b"\0", if self.is_cut { b"cut" } else { b"" }, b"\0"].concat();
        for (path, (inode, (seconds, part))) in &self.directories {
            text.extend([b"d\0", path.as_bytes(), b"\0"].concat());
            text.extend(format!("{inode}\0{seconds}.{part}\0").bytes());
        }
        for base in &self.bases {
            text.extend([b"b\0", base.as_bytes(), b"\0"].concat());
        }
        text.extend(b"end\0");
        text
    }
}

/// Writes a list, whole or not at all: another command may write it at the same time.
fn keep(text: &[u8], file: &Path) -> io::Result<()> {
    let new = file.with_extension(std::process::id().to_string());
    let mut options = fs::OpenOptions::new();
    let written = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)
        .and_then(|mut opened| opened.write_all(text))
        .and_then(|()| fs::rename(&new, file));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

fn time_in(text: &[u8]) -> Option<Time> {
    let (seconds, part) = std::str::from_utf8(text).ok()?.split_once('.')?;
    Some((seconds.parse().ok()?, part.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written_or_not_at_all() {
        let mut list = List { is_cut: true, ..List::default() };
        list.directories.insert(OsString::new(), (0, (0, 0)));
        list.directories.insert("a b/\nc".into(), (1, (2, 3)));
        list.bases.insert("a b/.agent".into());
        let text = list.text();
        assert_eq!(List::read(&text), Some(list));
        for length in 0..text.len() - 1 {
            assert_eq!(List::read(text.get(..length).unwrap()), None, "{length}");
        }
        assert_eq!(List::read(&List::default().text()), Some(List::default()));
    }
}
