//! Files of a clone beside objects and references: the index, notes of what goes on, and what is never taken over.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::Places;
use crate::git::Taken;
use crate::git::believed::{self, Ground, Judged, LARGEST_INDEX};
use crate::git::objects::{is_hex, is_whiteout};
use crate::git::refs::{self, Lock};
use crate::path::{kind_at, names_in, open_directory, open_file, read_file, remove_tree};

/// What git notes about what goes on: a merge, a rebase, a message that is being written.
pub(super) const NOTES: [&str; 27] = [
    "AUTO_MERGE",
    "BISECT_ANCESTORS_OK",
    "BISECT_EXPECTED_REV",
    "BISECT_FIRST_PARENT",
    "BISECT_HEAD",
    "BISECT_LOG",
    "BISECT_NAMES",
    "BISECT_START",
    "BISECT_TERMS",
    "CHERRY_PICK_HEAD",
    "COMMIT_EDITMSG",
    "FETCH_HEAD",
    "MERGE_AUTOSTASH",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_RR",
    "NOTES_EDITMSG",
    "ORIG_HEAD",
    "REBASE_HEAD",
    "REVERT_HEAD",
    "SQUASH_MSG",
    "TAG_EDITMSG",
    "description",
    "rebase-apply",
    "rebase-merge",
    "sequencer",
];
const MOST_ENTRIES: usize = 10_000;
const MOST_DEPTH: usize = 8;
const LARGEST_NOTE: u64 = 64 << 20;

/// What becomes of an entry of a git directory.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// It is taken over elsewhere, or is of no use to anybody.
    Passed,
    /// What is in it is taken over as it is.
    Note,
    /// It is taken over under git's own lock.
    Index,
    /// A directory of which one file is taken over.
    Info,
    /// It stays inside, for this reason.
    Refused(&'static str),
}

fn kind_of(name: &str) -> Kind {
    const RUNS: &str = "it decides what git runs; have a person change it, outside the agent";
    match name {
        "objects" | "refs" | "logs" | "HEAD" | "packed-refs" | "config" | "gc.pid" | "gc.log" => Kind::Passed,
        "index" => Kind::Index,
        "info" => Kind::Info,
        "rr-cache" => Kind::Note,
        "hooks" => Kind::Refused(RUNS),
        "commondir" | "gitdir" | "config.worktree" => Kind::Refused(
            "it says where git finds the repository; have a person change it, outside the agent",
        ),
        "worktrees" => Kind::Refused("worktrees are made by a person, outside of the agent; use a branch"),
        "modules" => Kind::Refused(
            "submodules bring settings and hooks of their own; have a person run `git submodule update`, outside the agent",
        ),
        "shallow" => Kind::Refused("the depth of a clone is changed by a person, outside the agent"),
        name if NOTES.contains(&name) => Kind::Note,
        name if name.starts_with("sharedindex.") && name.get(12..).is_some_and(is_hex) => Kind::Note,
        // Locks, and files that were being written when the command ended.
        name if is_ended_by(name, ".lock")
            || name.starts_with("tmp_")
            || name.starts_with("fsmonitor--daemon") =>
        {
            Kind::Passed
        }
        _ => Kind::Refused("git does not write it in ordinary work"),
    }
}

fn is_ended_by(name: &str, end: &str) -> bool {
    name.as_bytes().ends_with(end.as_bytes())
}

/// Takes over files of a layer.
pub(super) struct Mirror<'m> {
    pub(super) places: &'m Places,
    /// Branches that other worktrees have checked out.
    pub(super) elsewhere: &'m BTreeSet<String>,
    pub(super) taken: &'m mut Taken,
}

impl Mirror<'_> {
    /// Takes over what may be, of these names in the layer. The index comes last: it is what the person looks at.
    pub(super) fn take(mut self, names: &[OsString]) -> io::Result<()> {
        for name in
            names.iter().filter(|name| *name != "index").chain(names.iter().filter(|name| *name == "index"))
        {
            let path = Path::new(name);
            let text = name.to_string_lossy();
            match kind_of(&text) {
                Kind::Passed => {}
                Kind::Note => {
                    let mut left = MOST_ENTRIES;
                    if let Err(error) = self.note(path, 0, &mut left) {
                        self.taken.refuse(&text, error);
                    }
                }
                Kind::Index => {
                    if let Err(error) = self.index(path) {
                        self.taken.refuse(&text, error);
                    }
                }
                Kind::Info => self.info()?,
                Kind::Refused(why) => {
                    if !self.places.is_handled(path) && !self.is_empty(path) {
                        self.taken.refuse(&text, why);
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether nothing is at a path of the layer but directories.
    fn is_empty(&self, path: &Path) -> bool {
        match kind_at(&self.places.upper, path) {
            Ok(Some(FileType::Directory)) => {
                let names = open_directory(&self.places.upper, path)
                    .map_err(io::Error::from)
                    .and_then(|place| names_in(place, MOST_ENTRIES));
                names.is_ok_and(|names| {
                    path.components().count() < MOST_DEPTH
                        && names.iter().all(|name| self.is_empty(&path.join(name)))
                })
            }
            Ok(None | Some(FileType::Socket | FileType::Fifo)) => true,
            _ => self.places.is_handled(path),
        }
    }

    fn info(&mut self) -> io::Result<()> {
        let here = Path::new("info");
        let Ok(place) = open_directory(&self.places.upper, here) else {
            self.taken.refuse("info", "it was removed inside; outside it is as before");
            return Ok(());
        };
        for name in names_in(&place, MOST_ENTRIES)? {
            let path = here.join(&name);
            match name.to_str() {
                // Names to be left out of lists: like `.gitignore`, which lies in the worktree.
                Some("exclude") => {
                    let mut left = 1;
                    self.note(&path, 0, &mut left)?;
                }
                Some("refs") => {}
                Some(name) if is_ended_by(name, ".lock") => {}
                _ if self.places.is_handled(&path) => {}
                _ => self.taken.refuse(
                    &path.to_string_lossy(),
                    "it can name programs and other content; have a person change it, outside the agent",
                ),
            }
        }
        Ok(())
    }

    /// A file, or a directory and all files in it.
    fn note(&mut self, path: &Path, depth: usize, left: &mut usize) -> io::Result<()> {
        if depth > MOST_DEPTH {
            return Err(io::Error::other("it is too deep"));
        }
        *left = left.checked_sub(1).ok_or_else(|| io::Error::other("it has too many entries"))?;
        let (upper, common) = (&self.places.upper, &self.places.common);
        match kind_at(upper, path)? {
            Some(FileType::Directory) => {
                let inside = open_directory(upper, path)?;
                let names = names_in(&inside, *left)?;
                if matches!(kind_at(common, path)?, Some(kind) if kind != FileType::Directory) {
                    remove(common, path)?;
                }
                match mkdirat(common, path, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                if refs::is_anew(&inside) && !self.places.is_handled(path) {
                    for old in names_in(open_directory(common, path)?, MOST_ENTRIES)? {
                        if !names.contains(&old) {
                            remove(common, &path.join(old))?;
                        }
                    }
                }
                names.iter().try_for_each(|name| self.note(&path.join(name), depth + 1, left))
            }
            _ if self.places.is_handled(path) => Ok(()),
            Some(kind) if is_whiteout(kind) => remove(common, path),
            Some(FileType::RegularFile) => {
                let text = read_file(upper, path, LARGEST_NOTE)?.unwrap_or_default();
                let Some(text) = self.believed(path, text) else { return Ok(()) };
                if read_file(common, path, LARGEST_NOTE).ok().flatten().as_ref() == Some(&text) {
                    return Ok(());
                }
                let mode = rustix::fs::statat(upper, path, AtFlags::SYMLINK_NOFOLLOW)?.st_mode & 0o777;
                write(common, path, &text, mode)
            }
            Some(_) => Err(io::Error::other("it is not a regular file")),
            None => Ok(()),
        }
    }

    /// What git outside may believe of a file; `None`: nothing.
    fn believed(&mut self, path: &Path, text: Vec<u8>) -> Option<Vec<u8>> {
        let shown = path.to_string_lossy();
        let is_free = |branch: &str| !self.elsewhere.contains(branch);
        let ground =
            Ground { format: self.places.format, checks_out: &is_free, rebases: &is_free, head: None };
        match believed::judge(path, &text, &ground) {
            Judged::Harmless => Some(text),
            Judged::Instead(text, why) => {
                if let Some(why) = why {
                    self.taken.refuse(&shown, why);
                }
                Some(text)
            }
            Judged::Refused(why) => {
                self.taken.refuse(&shown, why);
                None
            }
        }
    }

    fn index(&mut self, path: &Path) -> io::Result<()> {
        let (upper, common) = (&self.places.upper, &self.places.common);
        if self.places.is_handled(path) {
            return Ok(());
        }
        if kind_at(upper, path)?.is_some_and(is_whiteout) {
            return Err(io::Error::other("it was removed inside; outside it is as before"));
        }
        let mut text = Vec::new();
        open_file(upper, path)?.take(LARGEST_INDEX).read_to_end(&mut text)?;
        let Some(text) = self.believed(path, text) else { return Ok(()) };
        if self.places.has_changed(path) {
            let mut now = Vec::new();
            open_file(common, path)?.take(LARGEST_INDEX).read_to_end(&mut now)?;
            if now == text {
                return Ok(());
            }
            // Whoever only looks, a prompt or an editor, has git note what it saw. That is no change.
            let (before, outside) = &self.places.indexes;
            let entries = |index: &Path| self.places.git.entries_of(index).ok();
            if !before.exists() || entries(before).is_none() || entries(before) != entries(outside) {
                return Err(io::Error::other("what is staged has changed outside meanwhile; stage it again"));
            }
        }
        let lock = Lock::take(common, path)?;
        lock.write(&text)?;
        lock.rename(path)
    }
}

fn remove(common: &OwnedFd, path: &Path) -> io::Result<()> {
    let (above, name) = parts(common, path)?;
    match kind_at(&above, Path::new(&name))? {
        None => Ok(()),
        Some(FileType::Directory) => remove_tree(&above, &name),
        Some(_) => Ok(unlinkat(&above, &name, AtFlags::empty())?),
    }
}

/// Writes a file under another name and renames it: whatever is there, a link for one, is replaced and not written through.
fn write(common: &OwnedFd, path: &Path, text: &[u8], mode: u32) -> io::Result<()> {
    let (above, name) = parts(common, path)?;
    let temporary = format!("tmp_toolgate_{}", std::process::id());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = fs::File::from(openat(&above, &temporary, flags, Mode::from_raw_mode(mode & 0o777))?);
    let written = file.write_all(text);
    let renamed = written.and_then(|()| Ok(renameat(&above, &temporary, &above, &name)?));
    if renamed.is_err() {
        let _ = unlinkat(&above, &temporary, AtFlags::empty());
    }
    renamed
}

fn parts(common: &OwnedFd, path: &Path) -> io::Result<(OwnedFd, OsString)> {
    let name =
        path.file_name().map(OsStr::to_owned).ok_or_else(|| io::Error::other("a path without a name"))?;
    let above = path.parent().unwrap_or(Path::new(""));
    refs::make_directories(common, above)?;
    let above = if above == Path::new("") { Path::new(".") } else { above };
    Ok((open_directory(common, above)?, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_git_writes_in_ordinary_work_is_taken_over() {
        for (name, expected) in [
            ("index", Kind::Index),
            ("MERGE_MSG", Kind::Note),
            ("rebase-merge", Kind::Note),
            ("sharedindex.0123abcd", Kind::Note),
            ("sharedindex.x/y", Kind::Refused("")),
            ("index.lock", Kind::Passed),
            ("config", Kind::Passed),
            ("hooks", Kind::Refused("")),
            ("commondir", Kind::Refused("")),
            ("config.worktree", Kind::Refused("")),
            ("modules", Kind::Refused("")),
            ("worktrees", Kind::Refused("")),
            ("remotes", Kind::Refused("")),
            ("anything", Kind::Refused("")),
        ] {
            let found = kind_of(name);
            let is_refused = matches!((&found, &expected), (Kind::Refused(_), Kind::Refused(_)));
            assert!(is_refused || found == expected, "{name}: {found:?}");
        }
    }
}
