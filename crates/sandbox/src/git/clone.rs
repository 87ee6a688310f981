//! The repository of a plain clone: `.git` is a directory of the worktree, and holds what is the agent's own beside what decides
//! what git runs.
//!
//! At level `full` one layer lies over all of it. The command may do there whatever it likes; nothing of it is seen outside. When it has
//! ended, the supervisor takes over what git writes in ordinary work: verified objects, references, their logs, `HEAD`, the index,
//! the notes of a merge or a rebase that goes on. Hooks, settings, `commondir` and whatever else could have git run code or read another
//! repository are never among it, whether they are there or not.
//!
//! What has changed outside since the command began is not overwritten. The time of a note of ours says when that was, so
//! nothing has to be read before a command starts.
//!
//! At level `landlock` there are no layers, and a directory in a writable one cannot be closed. The command writes `.git` itself; what could
//! run code is pinned, and put back when it has ended.

mod files;
mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, statat};

use super::believed::Ground;
use super::objects::{self, is_whiteout};
use super::outside::Git;
use super::refs::{self, Listed, Lock, Refs, Value, is_branch_name};
use super::sweep::Sweep;
use super::{Format, MOST_OWN, Moved, Run, Taken, believed, branches, directory, format_of};
use crate::outcome::Error;
use crate::path::{is_absent, kind_at, kinds_in, names_in, open_directory, read_file};
use crate::plan::Repository;
use crate::view::Layer;

use files::Mirror;

/// Files of a git directory that decide what git runs, or where it looks for the rest. They are pinned at level `landlock`.
const DECIDING: [&str; 11] = [
    "hooks",
    "config",
    "config.worktree",
    "commondir",
    "gitdir",
    "info/attributes",
    "info/grafts",
    "objects/info/alternates",
    "objects/info/http-alternates",
    "remotes",
    "branches",
];
/// What of a linked worktree of the clone says where things are.
const POINTERS: [&str; 4] = ["commondir", "gitdir", "config.worktree", "locked"];
/// A clone with more submodules or worktrees is not held.
const MOST_MODULES: usize = 4096;
const LARGEST_LOG: u64 = 64 << 20;
/// The note whose time says when a run began.
const BEGUN: &str = "seen";
const INDEX: &str = "index";
/// What of a layer was looked at when the command ended and left others behind.
const HANDLED: &str = "handled";

/// What must not change in a plain clone at level `landlock`.
pub(super) fn pinned(repository: &Repository) -> Result<Vec<PathBuf>, Error> {
    let common = &repository.common;
    let mut pinned: Vec<PathBuf> = DECIDING.iter().map(|name| common.join(name)).collect();
    let (worktrees, modules) = git_directories(common).map_err(|why| {
        Error::Plan(format!("{} cannot be held at level landlock: {why}", common.display()))
    })?;
    pinned.extend(worktrees.iter().flat_map(|worktree| POINTERS.iter().map(|name| worktree.join(name))));
    pinned.extend(modules.iter().flat_map(|module| DECIDING.iter().map(|name| module.join(name))));
    Ok(pinned)
}

/// The git directories in that of a clone: those of its linked worktrees, and those of its submodules.
fn git_directories(common: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), String> {
    let entries = |directory: &Path| {
        let names = directory_names(directory).map_err(|error| error.to_string())?;
        Ok::<_, String>(names.into_iter().map(|name| directory.join(name)).collect::<Vec<_>>())
    };
    let worktrees = entries(&common.join("worktrees"))?;
    // A submodule may be called `a/b`, and may have submodules of its own.
    let (mut modules, mut places, mut looked_at) = (Vec::new(), vec![common.join("modules")], 0);
    while let Some(place) = places.pop() {
        for below in entries(&place)? {
            looked_at += 1;
            if looked_at > MOST_MODULES {
                return Err("it has too many submodules".to_owned());
            }
            if below.join("HEAD").exists() {
                places.push(below.join("modules"));
                modules.push(below);
            } else {
                places.push(below);
            }
        }
    }
    Ok((worktrees, modules))
}

/// The directories in a directory; none where that is none.
fn directory_names(path: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let handle = match directory(path) {
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        opened => opened?,
    };
    let kinds = kinds_in(&handle, MOST_MODULES)?.into_iter();
    Ok(kinds.filter(|(_, kind)| *kind == FileType::Directory).map(|(name, _)| name).collect())
}

/// Why a command can only read a clone, if so.
pub(super) fn only_read(common: &OwnedFd, format: &Result<Format, String>) -> Option<String> {
    if !matches!(kind_at(common, Path::new("commondir")), Ok(None)) {
        return Some(
            "its `commondir` leads to another repository; use a linked worktree of that one".to_owned(),
        );
    }
    format.as_ref().err().cloned()
}

/// Has a clone hold nothing that git outside would write through or act by, at level `landlock`.
pub(super) fn sweep(
    repository: &Repository,
    quarantine: &OwnedFd,
    format: Format,
    taken: &mut Taken,
) -> io::Result<()> {
    let common = directory(&repository.common)?;
    let any = |_: &str| true;
    let ground = Ground { format, checks_out: &any, rebases: &any, head: None };
    let none = Path::new("");
    // What is pinned is put back by itself. Those of submodules and other worktrees come below; objects are many.
    let passes = |path: &Path| {
        DECIDING.iter().any(|pinned| path == Path::new(pinned))
            || ["objects", "modules", "worktrees", "lfs"].iter().any(|apart| path == Path::new(apart))
    };
    Sweep { ground: &ground, quarantine, taken: &mut *taken, shown: none, passes: &passes }
        .directory(&common);
    if let Ok(objects) = open_directory(&common, Path::new("objects"))
        && let Err(error) = sweep_objects(&objects, quarantine, taken)
    {
        taken.refuse("objects", error);
    }
    // Last: the command may have made more of them than can be looked at.
    let (worktrees, modules) = git_directories(&repository.common).map_err(io::Error::other)?;
    for other in worktrees.into_iter().chain(modules) {
        let shown = other.strip_prefix(&repository.common).unwrap_or(none);
        let handle = match directory(&other) {
            Ok(handle) => handle,
            Err(error) => {
                taken.refuse(&shown.to_string_lossy(), error);
                continue;
            }
        };
        if let Err(error) = believed::check_index(&handle, &ground, quarantine, taken) {
            taken.refuse(&shown.join(INDEX).to_string_lossy(), error);
        }
        Sweep { ground: &ground, quarantine, taken: &mut *taken, shown, passes: &passes }.directory(&handle);
    }
    Ok(())
}

/// Takes away links among the directories of objects, in which git outside would write new ones. The objects themselves are many, and are never
/// written again.
fn sweep_objects(objects: &OwnedFd, quarantine: &OwnedFd, taken: &mut Taken) -> io::Result<()> {
    for (name, _) in kinds_in(objects, MOST_OWN)?.into_iter().filter(|(_, kind)| *kind == FileType::Symlink) {
        let what = Path::new("objects").join(&name);
        taken.refuse(&what.to_string_lossy(), "git outside would write through it; it was moved away");
        crate::pins::move_away(objects, &name, quarantine)?;
    }
    Ok(())
}

/// Where a layer over a clone and the clone itself are.
struct Places {
    upper: OwnedFd,
    common: OwnedFd,
    format: Format,
    git: Git,
    /// When the command began, on the clock of the file system.
    begun: (i64, i64),
    handled: BTreeSet<String>,
    /// The index as it was when the command began, and as it is outside now.
    indexes: (PathBuf, PathBuf),
}

impl Places {
    /// Whether what is at a path outside has changed since the command began.
    fn has_changed(&self, path: &Path) -> bool {
        let changed = statat(&self.common, path, AtFlags::SYMLINK_NOFOLLOW);
        changed.is_ok_and(|stat| (number(stat.st_ctime), number(stat.st_ctime_nsec)) > self.begun)
    }

    /// Whether an entry of the layer was looked at before and is as it was.
    fn is_handled(&self, path: &Path) -> bool {
        !self.handled.is_empty() && mark(&self.upper, path).is_some_and(|mark| self.handled.contains(&mark))
    }
}

/// The types of times differ between machines.
fn number(time: impl TryInto<i64>) -> i64 {
    time.try_into().unwrap_or(i64::MAX)
}

/// An entry of a layer and when it was written.
fn mark(upper: &OwnedFd, path: &Path) -> Option<String> {
    let stat = statat(upper, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let shown = path.display();
    Some(format!("{} {} {} {} {shown}", stat.st_ino, stat.st_mtime, number(stat.st_mtime_nsec), stat.st_size))
}

impl Run<'_> {
    /// Takes over what a command has left in the layer over its clone.
    pub(super) fn take_clone(&mut self, taken: &mut Taken) -> io::Result<()> {
        let layer = Layer::of(&self.directory, &self.repository.common);
        let Ok(upper) = directory(&layer.upper) else { return Ok(()) };
        let names = names_in(&upper, MOST_OWN)?;
        // The view makes these, and closes them.
        let is_ours = |name: &std::ffi::OsString| {
            let is_closed = ["hooks", "modules", "worktrees"].iter().any(|closed| name == closed);
            let place = open_directory(&upper, Path::new(name)).map_err(io::Error::from);
            is_closed && place.and_then(|place| names_in(place, 1)).is_ok_and(|names| names.is_empty())
        };
        if names.iter().all(is_ours) {
            return Ok(());
        }
        let common = directory(&self.repository.common)?;
        let format = format_of(&common)?;
        let git = Git::of(self.plan, &self.repository.common)
            .ok_or_else(|| io::Error::other("there is no git that can be trusted to check what is new"))?;
        let begun = fs::metadata(self.directory.join(BEGUN))?;
        let begun = (begun.ctime(), begun.ctime_nsec());
        let handled = fs::read_to_string(self.directory.join(HANDLED)).unwrap_or_default();
        let handled = handled.lines().map(str::to_owned).collect();
        let indexes = (self.directory.join(INDEX), self.repository.common.join(INDEX));
        let places = Places { upper, common, format, git, begun, handled, indexes };
        for whole in ["HEAD", "refs", "objects"] {
            let kind = kind_at(&places.upper, Path::new(whole))?;
            if kind.is_some_and(is_whiteout)
                || matches!(open_directory(&places.upper, Path::new(whole)), Ok(made) if refs::is_anew(&made))
            {
                taken.refuse(".git", "the repository was removed inside; outside it is as before");
                return Ok(());
            }
        }
        if let Ok(from) = open_directory(&places.upper, Path::new("objects")) {
            let to = open_directory(&places.common, Path::new("objects"))?;
            objects::take_over(&from, &to, format, Some(&places.git), false, taken);
        }
        let elsewhere = branches::checked_out(&places.common, &self.repository)?;
        let done = places.take_references(&elsewhere, taken);
        told("refs", done, taken);
        let done = places.take_logs(taken);
        told("logs", done, taken);
        let done = places.take_head(&elsewhere, taken);
        told("HEAD", done, taken);
        let done = Mirror { places: &places, elsewhere: &elsewhere, taken }.take(&names);
        told(".git", done, taken);
        let done = settings::take(&places, taken);
        told("config", done, taken);
        Ok(())
    }

    /// Keeps the index as it is now. Git never writes it in place, so a second name keeps it.
    pub(super) fn keep_index(&self) {
        let base = self.directory.join(INDEX);
        let _ = fs::remove_file(&base);
        // Elsewhere than on the same file system there is none; then whatever has changed outside counts.
        let _ = fs::hard_link(self.repository.common.join(INDEX), base);
    }

    /// Notes what of the layer was looked at. What is written later is another change, of what is true outside by now.
    pub(super) fn note_handled(&self) -> io::Result<()> {
        let layer = Layer::of(&self.directory, &self.repository.common);
        let mut text = String::new();
        if let Ok(upper) = directory(&layer.upper) {
            let mut left = MOST_OWN;
            note_below(&upper, Path::new(""), &mut left, &mut text)?;
        }
        self.keep_index();
        fs::write(self.directory.join(HANDLED), text)?;
        fs::write(self.directory.join(BEGUN), "clone\n")
    }
}

/// One part that cannot be taken over does not keep the others from it.
fn told(what: &str, done: io::Result<()>, taken: &mut Taken) {
    if let Err(error) = done {
        taken.refuse(what, error);
    }
}

fn note_below(upper: &OwnedFd, here: &Path, left: &mut usize, text: &mut String) -> io::Result<()> {
    let place = if here == Path::new("") { Path::new(".") } else { here };
    for name in names_in(open_directory(upper, place)?, *left)? {
        let path = here.join(&name);
        *left = left.saturating_sub(1);
        if path == Path::new("objects") {
            continue;
        }
        match kind_at(upper, &path)? {
            Some(FileType::Directory) if path.components().count() < 64 => {
                note_below(upper, &path, left, text)?;
            }
            _ => {
                let mark = mark(upper, &path).filter(|mark| !mark.contains('\n'));
                text.extend(mark.into_iter().flat_map(|mark| [mark, "\n".to_owned()]));
            }
        }
    }
    Ok(())
}

/// A reference that is another one inside than outside.
struct Changed {
    name: String,
    before: Option<Value>,
    after: Option<Value>,
}

impl Places {
    /// What the command has made of references. The layer shows through where it has nothing.
    fn changed_references(&self, refs: &Refs<'_>) -> io::Result<(Vec<Changed>, Listed)> {
        let listed = match open_directory(&self.upper, Path::new("refs")) {
            Ok(place) => refs::list(&place, "", self.format)?,
            Err(_) => Listed::nothing(),
        };
        let packed = refs.packed()?;
        let packed_inside = match kind_at(&self.upper, Path::new("packed-refs"))? {
            None => None,
            Some(kind) if is_whiteout(kind) => Some(BTreeMap::new()),
            Some(_) if self.is_handled(Path::new("packed-refs")) => None,
            Some(_) => Some(refs.packed_in(&self.upper)?),
        };
        let needs_all = packed_inside.is_some() || !listed.gone.is_empty() || !listed.anew.is_empty();
        let outside = if needs_all {
            let place = open_directory(&self.common, Path::new("refs"))?;
            refs::list(&place, "", self.format)?.values
        } else {
            BTreeMap::new()
        };
        let inside = packed_inside.as_ref().unwrap_or(&packed);
        let mut names: BTreeSet<&String> = listed.values.keys().collect();
        names.extend(outside.keys().filter(|name| listed.hides(name)));
        if packed_inside.is_some() {
            names.extend(inside.keys().chain(packed.keys()));
        }
        let mut changed = Vec::new();
        for name in names {
            if self.is_handled(&Path::new("refs").join(name)) {
                continue;
            }
            let of_packs = |all: &BTreeMap<String, String>| all.get(name).cloned().map(Value::Id);
            let loose = refs.loose(name);
            let after = match listed.values.get(name) {
                Some(value) => Some(value.clone()),
                None if loose.is_some() && !listed.hides(name) => loose.clone(),
                None => of_packs(inside),
            };
            let before = loose.or_else(|| of_packs(&packed));
            if before != after {
                changed.push(Changed { name: name.clone(), before, after });
            }
        }
        Ok((changed, listed))
    }

    fn take_references(&self, elsewhere: &BTreeSet<String>, taken: &mut Taken) -> io::Result<()> {
        let refs = Refs::all(&self.common, self.format);
        let (changed, listed) = self.changed_references(&refs)?;
        for strange in &listed.strange {
            taken.refuse(&format!("refs/{}", strange.display()), "this is not the name of a reference");
        }
        let new = || {
            changed.iter().filter_map(|changed| match &changed.after {
                Some(Value::Id(id)) => Some(id.as_str()),
                _ => None,
            })
        };
        let are_whole = self.git.are_whole(new()).is_ok();
        // Before anything is changed by us. What is deleted goes first: it may have the name of a directory that is to be made.
        let is_stale =
            |changed: &Changed| changed.before.is_some() && self.has_changed(&self.file_of(&changed.name));
        let judged: Vec<(&Changed, bool)> =
            changed.iter().map(|changed| (changed, is_stale(changed))).collect();
        let (deleted, others): (Vec<_>, Vec<_>) =
            judged.into_iter().partition(|(changed, _)| changed.after.is_none());
        for (changed, is_stale) in deleted.into_iter().chain(others) {
            let full = format!("refs/{}", changed.name);
            let moved = if is_stale {
                Err("it has changed outside meanwhile; do it again".to_owned())
            } else {
                self.take_reference(&refs, changed, elsewhere, are_whole)
            };
            match moved {
                Ok(moved) => taken.branches.extend(moved),
                Err(why) => taken.refuse(&full, why),
            }
        }
        Ok(())
    }

    /// The file outside that holds a reference.
    fn file_of(&self, name: &str) -> PathBuf {
        let loose = Path::new("refs").join(name);
        let is_loose = matches!(kind_at(&self.common, &loose), Ok(Some(FileType::RegularFile)));
        if is_loose { loose } else { PathBuf::from("packed-refs") }
    }

    fn take_reference(
        &self,
        refs: &Refs<'_>,
        changed: &Changed,
        elsewhere: &BTreeSet<String>,
        are_whole: bool,
    ) -> Result<Option<Moved>, String> {
        let Changed { name, before, after } = changed;
        let full = format!("refs/{name}");
        let branch = name.strip_prefix("heads/");
        if branch.is_some_and(|branch| elsewhere.contains(branch)) {
            return Err("another worktree has it checked out; change it there".to_owned());
        }
        if name.starts_with("replace/") {
            return Err(
                "it would have git show other content than what was committed; commit a change instead"
                    .to_owned(),
            );
        }
        let id = |value: &Option<Value>| match value {
            Some(Value::Id(id)) => Some(id.clone()),
            _ => None,
        };
        let told = |error: io::Error| error.to_string();
        match (before, after) {
            (_, Some(Value::Other(text))) => {
                let named = std::str::from_utf8(text)
                    .ok()
                    .and_then(|text| text.trim_end().strip_prefix("ref: refs/remotes/"));
                if name.starts_with("remotes/")
                    && name.ends_with("/HEAD")
                    && named.is_some_and(is_branch_name)
                {
                    return refs.set_other(name, text).map(|()| None).map_err(told);
                }
                Err("its content is not the id of an object".to_owned())
            }
            (Some(Value::Other(_)), _) => {
                Err("the name of another reference stays as it is; have a person change it".to_owned())
            }
            (Some(Value::Id(before)), None) => {
                self.git.delete_reference(&full, before).map_err(told)?;
                Ok(Some(moved(name, Some(before.clone()), None)))
            }
            (None, None) => Ok(None),
            (before, Some(Value::Id(to))) => {
                if !are_whole {
                    self.git
                        .are_whole([to.as_str()].into_iter())
                        .map_err(|error| format!("{to} is not whole: {error}"))?;
                }
                let from = id(before);
                refs.set(name, from.as_deref(), to, &[]).map_err(told)?;
                self.take_log(name, from.as_deref(), to).map_err(told)?;
                Ok(Some(moved(name, from, Some(to.clone()))))
            }
        }
    }

    /// The log of a reference that was moved: its new lines, or for the stash, whose log is the list of its entries, the whole of it.
    fn take_log(&self, name: &str, from: Option<&str>, to: &str) -> io::Result<()> {
        let path = Path::new("logs/refs").join(name);
        let refs = Refs::all(&self.common, self.format);
        // What was deleted is not a file, and leaves the log outside as it is.
        let Ok(Some(text)) = read_file(&self.upper, &path, LARGEST_LOG) else { return Ok(()) };
        let before = read_file(&self.common, &path, LARGEST_LOG)?.unwrap_or_default();
        match text.strip_prefix(before.as_slice()).and_then(|added| self.sound_lines(added)) {
            Some(added) => self.append(&path, &added),
            None if name == "stash" => {
                let all = self.sound_lines(&text).ok_or_else(|| io::Error::other("its log is malformed"))?;
                let lock = Lock::take(&self.common, &path)?;
                lock.write(all.as_bytes())?;
                lock.rename(&path)
            }
            None => self.append(&path, &(refs.plain_line(from, to) + "\n")),
        }
    }

    /// Lines of a log as text, if each of them is one and the commits that they name are there.
    fn sound_lines(&self, text: &[u8]) -> Option<String> {
        let text = std::str::from_utf8(text).ok()?;
        let zeros = self.format.zeros();
        let mut ids = Vec::new();
        for line in text.lines() {
            let (_, new) = refs::ids_of_line(line, self.format)?;
            ids.extend((new != zeros).then_some(new));
        }
        let is_ended = text.is_empty() || text.ends_with('\n');
        (is_ended && self.git.are_commits(ids.into_iter())).then(|| text.to_owned())
    }

    fn append(&self, path: &Path, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let above = path.parent().unwrap_or(Path::new("logs"));
        refs::make_directories(&self.common, above)?;
        let above = open_directory(&self.common, above)?;
        let name = path.file_name().ok_or_else(|| io::Error::other("a path without a name"))?;
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut log = fs::File::from(openat(&above, name, flags, Mode::from_raw_mode(0o666))?);
        log.write_all(text.as_bytes())
    }

    /// Logs of what was not moved: of `HEAD`, and of the stash, of which an entry below the first may be gone.
    fn take_logs(&self, taken: &mut Taken) -> io::Result<()> {
        if kind_at(&self.upper, Path::new("logs"))?.is_some_and(is_whiteout) {
            taken.refuse("logs", "they were removed inside; outside they are as before");
            return Ok(());
        }
        let refs = Refs::all(&self.common, self.format);
        let stash = Path::new("logs/refs/stash");
        if let Ok(Some(text)) = read_file(&self.upper, stash, LARGEST_LOG)
            && !self.is_handled(stash)
            && !self.has_changed(stash)
            && let Some(Value::Id(id)) = refs.value("stash")?
            && text
                .strip_suffix(b"\n")
                .and_then(|text| text.rsplit(|byte| *byte == b'\n').next())
                .is_some_and(|last| last.split(|byte| *byte == b' ').nth(1) == Some(id.as_bytes()))
            && read_file(&self.common, stash, LARGEST_LOG)?.is_some_and(|before| before != text)
        {
            self.take_log("stash", Some(&id), &id)?;
        }
        let path = Path::new("logs/HEAD");
        if self.is_handled(path) {
            return Ok(());
        }
        let Ok(Some(text)) = read_file(&self.upper, path, LARGEST_LOG) else { return Ok(()) };
        let before = read_file(&self.common, path, LARGEST_LOG)?.unwrap_or_default();
        match text.strip_prefix(before.as_slice()).and_then(|added| self.sound_lines(added)) {
            Some(added) => self.append(path, &added)?,
            None => {
                taken.refuse("logs/HEAD", "it is not what it was with new lines added; it stays as it is");
            }
        }
        Ok(())
    }

    fn take_head(&self, elsewhere: &BTreeSet<String>, taken: &mut Taken) -> io::Result<()> {
        let path = Path::new("HEAD");
        let Some(text) = read_file(&self.upper, path, 4096)? else { return Ok(()) };
        if self.is_handled(path) || read_file(&self.common, path, 4096)?.as_ref() == Some(&text) {
            return Ok(());
        }
        if let Err(why) = self.allows_head(&text, elsewhere) {
            taken.refuse("HEAD", why);
            return Ok(());
        }
        let lock = Lock::take(&self.common, path)?;
        lock.write(&text)?;
        lock.rename(path)
    }

    fn allows_head(&self, text: &[u8], elsewhere: &BTreeSet<String>) -> Result<(), &'static str> {
        let text = std::str::from_utf8(text).unwrap_or_default();
        let text = text.strip_suffix('\n').unwrap_or(text);
        if self.has_changed(Path::new("HEAD")) {
            return Err("it has changed outside meanwhile; do it again");
        }
        let Some(branch) = text.strip_prefix("ref: refs/heads/") else {
            let is_commit = self.format.is_id(text) && self.git.are_commits([text].into_iter());
            return if is_commit { Ok(()) } else { Err("it names neither a branch nor a commit") };
        };
        if !is_branch_name(branch) {
            return Err("it names neither a branch nor a commit");
        }
        if elsewhere.contains(branch) {
            return Err("another worktree has that branch checked out");
        }
        let name = format!("heads/{branch}");
        let is_made =
            matches!(kind_at(&self.upper, &Path::new("refs").join(&name)), Ok(Some(FileType::RegularFile)));
        if is_made && !matches!(Refs::all(&self.common, self.format).value(&name), Ok(Some(_))) {
            return Err("its branch was not taken over");
        }
        Ok(())
    }
}

fn moved(name: &str, from: Option<String>, to: Option<String>) -> Moved {
    let name = name.strip_prefix("heads/").map_or_else(|| format!("refs/{name}"), str::to_owned);
    Moved { name, from, to }
}
