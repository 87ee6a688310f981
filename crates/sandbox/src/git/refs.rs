//! Branches of the real repository: their names, their values, and how one is moved.
//!
//! A branch is moved as git moves it: a lock file that must not exist, the old value compared under the lock, a line in
//! the reflog, a rename.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CString, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, fgetxattr, mkdirat, openat, readlinkat, renameat, unlinkat,
};
use rustix::io::Errno;

use super::Format;
use super::objects::{is_person, is_whiteout};
use crate::path::{Stamp, kind_at, kinds_in, names_in, open_directory, read_file, read_seen_file};

pub(crate) const HEADS: &str = "refs/heads";
pub(crate) const LOGS: &str = "logs/refs/heads";
const LARGEST_REF: u64 = 4096;
pub(super) const LARGEST_PACKED: u64 = 256 << 20;
const LARGEST_LOG: u64 = 16 << 20;
/// Git waits so long for a branch that somebody else has locked.
const LOCK_PATIENCE: Duration = Duration::from_millis(300);
const MOST_NAMES: usize = 50_000;
const MOST_DEPTH: usize = 32;

/// What a branch is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Id(String),
    /// The name of another one, or nothing that git could read: the text, or where a link leads.
    Other(Vec<u8>),
}

/// What a command did to a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    Set(String),
    Delete,
}

/// Whether git would take this for the name of a branch.
pub(super) fn is_branch_name(name: &str) -> bool {
    let is_bad = |character: char| character.is_ascii_control() || " ~^:?*[\\".contains(character);
    let is_component =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.as_bytes().ends_with(b".lock");
    !name.contains(is_bad)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.ends_with('.')
        && !name.starts_with('-')
        && name != "@"
        && name != "HEAD"
        && name.len() < 1024
        && name.split('/').all(is_component)
}

/// The branch that a worktree has checked out.
pub(super) fn checked_out(worktree: &OwnedFd) -> Option<String> {
    branch_in(worktree, "HEAD", "ref:")
}

/// What the `HEAD` of a worktree says.
pub(super) fn head_line(worktree: &OwnedFd) -> Option<String> {
    let text = String::from_utf8(read_file(worktree, Path::new("HEAD"), LARGEST_REF).ok()??).ok()?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    (!line.contains(char::is_control)).then(|| line.to_owned())
}

/// The branch that a worktree is in the midst of rebasing.
pub(super) fn rebased(worktree: &OwnedFd) -> Option<String> {
    let states = ["rebase-merge/head-name", "rebase-apply/head-name"];
    states.into_iter().find_map(|state| branch_in(worktree, state, ""))
}

fn branch_in(worktree: &OwnedFd, file: &str, prefix: &str) -> Option<String> {
    let text = read_file(worktree, Path::new(file), LARGEST_REF).ok()??;
    let text = String::from_utf8(text).ok()?;
    let name = text.strip_prefix(prefix)?.trim().strip_prefix("refs/heads/")?;
    is_branch_name(name).then(|| name.to_owned())
}

fn value(text: &[u8], format: Format) -> Value {
    match std::str::from_utf8(text).map(|text| text.strip_suffix('\n').unwrap_or(text)) {
        Ok(id) if format.is_id(id) => Value::Id(id.to_owned()),
        _ => Value::Other(text.to_vec()),
    }
}

/// Branches in a directory that has the form of `refs/heads`: a part of the repository, or a layer over it.
pub(super) struct Listed {
    pub(super) values: BTreeMap<String, Value>,
    /// Names at which an overlay says that what was there is gone.
    pub(super) gone: BTreeSet<String>,
    /// Entries that cannot be branches, as paths below the directory.
    pub(super) strange: BTreeSet<PathBuf>,
    /// Directories that an overlay says were made anew: nothing shows through them.
    pub(super) anew: BTreeSet<String>,
    /// Of values, which content of a file each was.
    pub(super) stamps: BTreeMap<String, Stamp>,
}

/// Values that were read before, by name, with what shows that they are still the same. Only settled ones.
pub(super) type Before<'b> = dyn Fn(&str) -> Option<(Stamp, Value)> + 'b;

impl Listed {
    pub(super) fn nothing() -> Listed {
        Listed {
            values: BTreeMap::new(),
            gone: BTreeSet::new(),
            strange: BTreeSet::new(),
            anew: BTreeSet::new(),
            stamps: BTreeMap::new(),
        }
    }

    /// Whether what is at a name below the overlay is not seen through it.
    pub(super) fn hides(&self, name: &str) -> bool {
        let mut above = Path::new(name).ancestors().filter_map(Path::to_str);
        self.gone.contains(name)
            || above.any(|above| above != name && (self.gone.contains(above) || self.anew.contains(above)))
    }
}

/// Lists the branches in a directory whose own name among the branches is `here`, empty for `refs/heads` itself.
pub(super) fn list(directory: &OwnedFd, here: &str, format: Format) -> io::Result<Listed> {
    list_again(directory, here, format, &|_| None)
}

/// The same, and reads no file that has not changed.
pub(super) fn list_again(
    directory: &OwnedFd,
    here: &str,
    format: Format,
    before: &Before<'_>,
) -> io::Result<Listed> {
    let mut listed = Listed::nothing();
    walk(directory, Path::new(here), 0, format, before, &mut listed)?;
    Ok(listed)
}

fn walk(
    directory: &OwnedFd,
    here: &Path,
    depth: usize,
    format: Format,
    before: &Before<'_>,
    listed: &mut Listed,
) -> io::Result<()> {
    for (entry, kind) in kinds_in(directory, MOST_NAMES)? {
        let path = Path::new(&entry);
        let full = here.join(path);
        if path.extension().is_some_and(|end| end == "lock") && kind == FileType::RegularFile {
            continue;
        }
        let Some(name) = full.to_str().filter(|name| is_branch_name(name)).map(str::to_owned) else {
            listed.strange.insert(full);
            continue;
        };
        if listed.values.len() + listed.gone.len() + listed.strange.len() >= MOST_NAMES || depth > MOST_DEPTH
        {
            return Err(io::Error::other("there are too many branches"));
        }
        match kind {
            FileType::Directory => {
                let below = open_directory(directory, path)?;
                if is_anew(&below) {
                    listed.anew.insert(name);
                }
                walk(&below, &full, depth + 1, format, before, listed)?;
            }
            FileType::RegularFile => {
                if let Some((stamp, value)) = before(&name)
                    && Stamp::at(directory, path) == Some(stamp)
                {
                    listed.values.insert(name, value);
                    continue;
                }
                match read_seen_file(directory, path, LARGEST_REF) {
                    Ok(Some((text, stamp))) => {
                        listed.stamps.insert(name.clone(), stamp);
                        listed.values.insert(name, value(&text, format));
                    }
                    Ok(None) => {}
                    Err(_) => {
                        listed.values.insert(name, Value::Other(b"unreadable".to_vec()));
                    }
                }
            }
            kind if is_whiteout(kind) => {
                listed.gone.insert(name);
            }
            _ => {
                // A link would have git read a file elsewhere as a branch.
                let text =
                    readlinkat(directory, path, Vec::new()).map(CString::into_bytes).unwrap_or_default();
                listed.values.insert(name, Value::Other([b"link ", text.as_slice()].concat()));
            }
        }
    }
    Ok(())
}

/// Whether an overlay says that this directory was made anew, after one that was there before was removed.
pub(super) fn is_anew(directory: &OwnedFd) -> bool {
    let mut value = [0; 8];
    let length = fgetxattr(directory, "user.overlay.opaque", value.as_mut_slice()).unwrap_or(0);
    value.get(..length).is_some_and(|value| value == b"y")
}

/// The branches of a repository.
pub(super) struct Refs<'r> {
    common: &'r OwnedFd,
    format: Format,
    /// Where they lie, and where their logs do.
    place: &'static str,
    logs: &'static str,
}

impl Refs<'_> {
    pub(super) fn of(common: &OwnedFd, format: Format) -> Refs<'_> {
        Refs { common, format, place: HEADS, logs: LOGS }
    }

    /// All references, not branches alone: their names begin with `heads/`, `tags/` and so on.
    pub(super) fn all(common: &OwnedFd, format: Format) -> Refs<'_> {
        Refs { common, format, place: "refs", logs: "logs/refs" }
    }

    /// The same with all references.
    pub(super) fn of_every_kind(&self) -> Refs<'_> {
        Refs::all(self.common, self.format)
    }

    /// Whether this is how an object is named.
    pub(super) fn is_id(&self, text: &str) -> bool {
        self.format.is_id(text)
    }

    /// All branches in `packed-refs`.
    pub(super) fn packed(&self) -> io::Result<BTreeMap<String, String>> {
        self.packed_in(self.common)
    }

    /// All branches in the `packed-refs` of a directory.
    pub(super) fn packed_in(&self, directory: &OwnedFd) -> io::Result<BTreeMap<String, String>> {
        let text = read_file(directory, Path::new("packed-refs"), LARGEST_PACKED)?.unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
        let pairs = lines.filter_map(|line| line.split_once(' '));
        let below = |name: &'_ str| name.strip_prefix(self.place)?.strip_prefix('/').map(str::to_owned);
        let branches = pairs.filter_map(|(id, name)| Some((below(name)?, id)));
        let sound = branches.filter(|(name, id)| self.format.is_id(id) && is_branch_name(name));
        Ok(sound.map(|(name, id)| (name, id.to_owned())).collect())
    }

    /// The value of a branch in a file of its own.
    pub(super) fn loose(&self, name: &str) -> Option<Value> {
        match read_file(self.common, &Path::new(self.place).join(name), LARGEST_REF) {
            Ok(text) => text.map(|text| value(&text, self.format)),
            // A directory of branches has this name.
            Err(_) if self.is_directory(name) => None,
            Err(_) => Some(Value::Other(b"unreadable".to_vec())),
        }
    }

    /// Of these branches, those that have files of their own.
    pub(super) fn listed<'n>(&self, names: impl Iterator<Item = &'n String>) -> Listed {
        let values = names.filter_map(|name| Some((name.clone(), self.loose(name)?))).collect();
        Listed { values, ..Listed::nothing() }
    }

    /// The value of a branch, `None` where there is none.
    pub(super) fn value(&self, name: &str) -> io::Result<Option<Value>> {
        match self.loose(name) {
            Some(value) => Ok(Some(value)),
            None => Ok(self.packed()?.remove(name).map(Value::Id)),
        }
    }

    fn is_directory(&self, name: &str) -> bool {
        matches!(kind_at(self.common, &Path::new(self.place).join(name)), Ok(Some(FileType::Directory)))
    }

    /// The id that a branch has, `None` where there is no such branch.
    pub(super) fn id(&self, name: &str) -> io::Result<Option<String>> {
        match self.value(name)? {
            None => Ok(None),
            Some(Value::Id(id)) => Ok(Some(id)),
            Some(Value::Other(_)) => Err(io::Error::other("the branch outside is not the id of an object")),
        }
    }

    /// Moves a branch from one value to another, if it still has the first one.
    pub(super) fn set(&self, name: &str, from: Option<&str>, to: &str, log: &[String]) -> io::Result<()> {
        if from.is_none() {
            self.refuse_conflict(name)?;
        }
        let path = Path::new(self.place).join(name);
        let lock = Lock::take(self.common, &path)?;
        if self.id(name)?.as_deref() != from {
            return Err(io::Error::other("it has changed outside meanwhile"));
        }
        lock.write(format!("{to}\n").as_bytes())?;
        self.log(name, log)?;
        lock.rename(&path)
    }

    /// Has a branch be what it was, if it is still what a command with rights on its directory has made of it.
    pub(super) fn put_back(&self, name: &str, now: Option<&Value>, before: &[u8]) -> io::Result<()> {
        let path = Path::new(self.place).join(name);
        let lock = Lock::take(self.common, &path)?;
        if self.loose(name).as_ref() != now {
            return Err(io::Error::other("it has changed again meanwhile"));
        }
        lock.write(before)?;
        lock.rename(&path)
    }

    /// `a` and `a/b` cannot both be branches. Those in files conflict by themselves.
    fn refuse_conflict(&self, name: &str) -> io::Result<()> {
        let below = format!("{name}/");
        let conflicts = |other: &String| other.starts_with(&below) || name.starts_with(&format!("{other}/"));
        match self.packed()?.keys().find(|other| conflicts(other)) {
            Some(other) => Err(io::Error::other(format!("there is a branch `{other}`"))),
            None => Ok(()),
        }
    }

    /// Has a reference be the name of another one.
    pub(super) fn set_other(&self, name: &str, text: &[u8]) -> io::Result<()> {
        let path = Path::new(self.place).join(name);
        let lock = Lock::take(self.common, &path)?;
        lock.write(text)?;
        lock.rename(&path)
    }

    /// Adds lines to the reflog of a branch.
    fn log(&self, name: &str, lines: &[String]) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let path = Path::new(self.logs).join(name);
        let (above, file) = directory_for(self.common, &path)?;
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut log = fs::File::from(openat(&above, &file, flags, Mode::from_raw_mode(0o666))?);
        log.write_all([lines.join("\n").as_str(), "\n"].concat().as_bytes())
    }

    /// The lines that a command has added to a reflog, if they lead from one value to the other. Their ids are not yet looked up.
    pub(super) fn added_lines(
        &self,
        logs: &OwnedFd,
        name: &str,
        from: Option<&str>,
        to: &str,
    ) -> Option<Vec<String>> {
        let text = read_file(logs, Path::new(name), LARGEST_LOG).ok()??;
        let before =
            read_file(self.common, &Path::new(self.logs).join(name), LARGEST_LOG).ok()?.unwrap_or_default();
        let added = String::from_utf8(text.strip_prefix(before.as_slice())?.to_vec()).ok()?;
        let lines: Vec<String> = added.lines().map(str::to_owned).collect();
        let nothing = self.format.zeros();
        let mut value = from.unwrap_or(&nothing).to_owned();
        for line in &lines {
            let (old, new) = ids_of_line(line, self.format)?;
            if old != value {
                return None;
            }
            new.clone_into(&mut value);
        }
        (value == to && !lines.is_empty() && lines.len() <= 10_000).then_some(lines)
    }

    /// One line for a move whose own lines cannot be used.
    pub(super) fn plain_line(&self, from: Option<&str>, to: &str) -> String {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let nothing = self.format.zeros();
        let from = from.unwrap_or(&nothing);
        format!(
            "{from} {to} toolgate <toolgate@localhost> {now} +0000\ttoolgate: taken over from a contained command"
        )
    }
}

/// Both ids of a line of a reflog, if it is one.
pub(super) fn ids_of_line(line: &str, format: Format) -> Option<(&str, &str)> {
    let (head, message) = line.split_once('\t').unwrap_or((line, ""));
    let (old, rest) = head.split_once(' ')?;
    let (new, person) = rest.split_once(' ')?;
    let is_sound = format.is_id(old)
        && format.is_id(new)
        && is_person(person.as_bytes())
        && line.len() <= 4096
        && !message.contains(char::is_control);
    is_sound.then_some((old, new))
}

/// The directory that a path below `common` lies in, made where there is none, and the last name.
fn directory_for(common: &OwnedFd, path: &Path) -> io::Result<(OwnedFd, OsString)> {
    let name = path.file_name().ok_or_else(|| io::Error::other("a path without a name"))?;
    let above = path.parent().filter(|above| *above != Path::new("")).unwrap_or(Path::new("."));
    make_directories(common, above)?;
    Ok((open_directory(common, above)?, name.to_owned()))
}

/// Makes a directory and those above it.
pub(super) fn make_directories(common: &OwnedFd, path: &Path) -> io::Result<()> {
    // Nearly always they are there.
    if matches!(kind_at(common, path), Ok(Some(FileType::Directory))) {
        return Ok(());
    }
    let mut made = PathBuf::new();
    for part in path.components() {
        made.push(part);
        match mkdirat(common, &made, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// A branch, or another file that git writes so, that is locked. The lock goes with this value.
pub(super) struct Lock {
    above: OwnedFd,
    name: OsString,
    file: fs::File,
    is_used: std::cell::Cell<bool>,
}

impl Lock {
    pub(super) fn take(common: &OwnedFd, path: &Path) -> io::Result<Lock> {
        let (above, file) = directory_for(common, path)?;
        let mut name = file;
        name.push(".lock");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let start = std::time::Instant::now();
        loop {
            match openat(&above, &name, flags, Mode::from_raw_mode(0o666)) {
                Ok(file) => return Ok(Lock { above, name, file: file.into(), is_used: false.into() }),
                Err(Errno::EXIST) if start.elapsed() < LOCK_PATIENCE => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(Errno::EXIST) => return Err(io::Error::other("somebody else has locked it")),
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(super) fn write(&self, text: &[u8]) -> io::Result<()> {
        (&self.file).write_all(text)?;
        self.file.sync_data()
    }

    pub(super) fn rename(&self, path: &Path) -> io::Result<()> {
        let Some(name) = path.file_name() else { return Ok(()) };
        let renamed = match renameat(&self.above, &self.name, &self.above, name) {
            // A directory that is left over from branches that are gone.
            Err(Errno::ISDIR | Errno::NOTEMPTY | Errno::EXIST) => {
                remove_empty(&self.above, Path::new(name), 0);
                renameat(&self.above, &self.name, &self.above, name)
            }
            other => other,
        };
        self.is_used.set(renamed.is_ok());
        Ok(renamed?)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if !self.is_used.get() {
            let _ = unlinkat(&self.above, &self.name, AtFlags::empty());
        }
    }
}

/// Removes directories that have nothing in them.
fn remove_empty(above: &OwnedFd, name: &Path, depth: usize) {
    if let Ok(directory) = open_directory(above, name)
        && depth < MOST_DEPTH
    {
        for below in names_in(&directory, MOST_NAMES).unwrap_or_default() {
            remove_empty(&directory, Path::new(&below), depth + 1);
        }
        let _ = unlinkat(above, name, AtFlags::REMOVEDIR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_as_git_does() {
        for (name, expected) in [
            ("main", true),
            ("agent/task/x", true),
            ("a.b", true),
            ("ä", true),
            ("", false),
            ("HEAD", false),
            ("@", false),
            ("-x", false),
            (".a", false),
            ("a/.b", false),
            ("a..b", false),
            ("../../config", false),
            ("a.lock", false),
            ("a.lock/b", false),
            ("a.", false),
            ("a/", false),
            ("/a", false),
            ("a//b", false),
            ("a b", false),
            ("a~1", false),
            ("a@{1}", false),
            ("a*", false),
            ("a\u{7f}", false),
            ("a\nb", false),
        ] {
            assert_eq!(is_branch_name(name), expected, "{name:?}");
        }
    }

    #[test]
    fn a_line_of_a_reflog_has_two_ids_and_a_person() {
        let (old, new) = ("0".repeat(40), "1".repeat(40));
        let line = |rest: &str| format!("{old} {new} {rest}");
        assert!(ids_of_line(&line("A <a> 1700000000 +0000\tcommit: x"), Format::Sha1).is_some());
        assert!(ids_of_line(&line("A <a> 1700000000 +0000"), Format::Sha1).is_some());
        assert!(ids_of_line(&line("A <a> 1700000000 +0000\tx\u{1b}[2J"), Format::Sha1).is_none());
        assert!(ids_of_line(&line("A a 1 +0000\tx"), Format::Sha1).is_none());
        assert!(ids_of_line("x y A <a> 1 +0000", Format::Sha1).is_none());
    }
}
