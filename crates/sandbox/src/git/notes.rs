//! What is known of a repository from before a command: what was true outside, and which branches are the worktree's own.
//! Both lie in our own directory, where the command cannot write.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, StatxFlags, statx};

use super::Run;
use super::logs::{self, Log};
use super::refs::{self, HEADS, Refs, Value};
use crate::path::{Stamp, is_absent, open_directory};
use crate::plan::Level;

/// How the first line of the note of own branches begins. No branch has such a name.
const MADE: &str = "made: ";

/// What was true outside when a run began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// What the worktree had checked out, or was rebasing.
    pub(super) head: Option<String>,
    /// The line in its `HEAD`.
    pub(super) at: Option<String>,
    /// Branches and their values: the worktree's own ones, at level `landlock` all that can be written.
    pub(super) branches: BTreeMap<String, Option<String>>,
    /// Branches at level `landlock` that are names of others, or not readable.
    pub(super) others: BTreeMap<String, Vec<u8>>,
    /// The directory of branches, below `refs/heads`, that can be written at level `landlock`: that of the worktree's own.
    pub(super) below: PathBuf,
    /// Reflogs at level `landlock` of branches that are not the worktree's own.
    pub(super) logs: BTreeMap<String, Log>,
    /// Which contents of files the branches are. Only those that cannot change without showing it.
    pub(super) stamps: BTreeMap<String, Stamp>,
    /// Entries that were no branches already.
    pub(super) strange: BTreeSet<PathBuf>,
}

impl Seen {
    /// Names hold no spaces and no line breaks.
    pub(super) fn to_text(&self) -> String {
        let head = self.head.iter().map(|head| format!("head {head}\n"));
        let at = self.at.iter().map(|at| format!("at {at}\n"));
        let branches =
            self.branches.iter().map(|(name, id)| format!("{} {name}\n", id.as_deref().unwrap_or("none")));
        head.chain(at).chain(branches).collect()
    }

    pub(super) fn from_text(text: &str) -> Seen {
        let mut seen = Seen::default();
        for (word, name) in text.lines().filter_map(|line| line.split_once(' ')) {
            match word {
                "head" => seen.head = Some(name.to_owned()),
                "at" => seen.at = Some(name.to_owned()),
                "none" => drop(seen.branches.insert(name.to_owned(), None)),
                id => drop(seen.branches.insert(name.to_owned(), Some(id.to_owned()))),
            }
        }
        seen
    }
}

impl Run<'_> {
    /// What is true outside now.
    pub(super) fn look(&self) -> io::Result<Seen> {
        let common = &self.common;
        let head = refs::checked_out(&self.own).or_else(|| refs::rebased(&self.own));
        let mut seen = Seen { head, at: refs::head_line(&self.own), ..Seen::default() };
        let Ok(format) = self.format else { return Ok(seen) };
        let refs = Refs::of(common, format);
        let own = self.own_branches(seen.head.as_deref())?;
        if self.level == Level::Landlock {
            // A head that the command has forged opens nothing.
            let head =
                seen.head.as_ref().filter(|head| own.is_empty() || own.contains(*head)).or(own.first());
            let below = head.and_then(|head| Path::new(head).parent()).unwrap_or(Path::new("")).to_owned();
            if let Ok(heads) = open_directory(common, &Path::new(HEADS).join(&below)) {
                let listed = refs::list(&heads, &below.to_string_lossy(), format)?;
                seen.strange = listed.strange;
                let stamps = listed.stamps.into_iter();
                seen.stamps = stamps.filter_map(|(name, stamp)| Some((name, stamp.settled()?))).collect();
                for (name, value) in listed.values {
                    match value {
                        Value::Id(id) => drop(seen.branches.insert(name, Some(id))),
                        Value::Other(text) => drop(seen.others.insert(name, text)),
                    }
                }
            }
            seen.logs = logs::read(common, &below, &own);
            seen.below = below;
        }
        for name in own {
            if !seen.branches.contains_key(&name)
                && let Ok(id) = refs.id(&name)
            {
                seen.branches.insert(name, id);
            }
        }
        Ok(seen)
    }

    fn notes(&self) -> PathBuf {
        self.state.join("branches")
    }

    /// The branches that are this worktree's. The first look decides: it is before any command of this plan.
    pub(super) fn own_branches(&self, head: Option<&str>) -> io::Result<BTreeSet<String>> {
        let noted = match fs::read_to_string(self.notes()) {
            Ok(text) => self.noted_of_this(&text),
            Err(error) if is_absent(&error) => None,
            Err(error) => return Err(error),
        };
        if let Some(own) = noted {
            return Ok(own);
        }
        let own: BTreeSet<String> = head.map(str::to_owned).into_iter().collect();
        self.write_own_branches(&own)?;
        Ok(own)
    }

    /// The branches in a note, if it is about this worktree and not about an earlier one of the same name.
    fn noted_of_this(&self, text: &str) -> Option<BTreeSet<String>> {
        let (first, rest) = text.split_once('\n').unwrap_or_default();
        let named = first.strip_prefix(MADE);
        if named.is_some_and(|named| named != self.made()) {
            return None;
        }
        let branches = if named.is_some() { rest } else { text };
        Some(branches.lines().map(str::to_owned).collect())
    }

    /// Which directory the worktree's own is, and when it was made. No command can make it anew. That of a clone it can.
    fn made(&self) -> String {
        let wanted = StatxFlags::INO | StatxFlags::BTIME;
        match statx(&self.own, "", AtFlags::EMPTY_PATH, wanted) {
            Ok(found) if !self.repository.is_plain() => {
                format!("{} {}.{}", found.stx_ino, found.stx_btime.tv_sec, found.stx_btime.tv_nsec)
            }
            _ => String::new(),
        }
    }

    pub(super) fn write_own_branches(&self, own: &BTreeSet<String>) -> io::Result<()> {
        let new = self.state.join("branches.new");
        let first = format!("{MADE}{}\n", self.made());
        let text = own.iter().fold(first, |text, name| text + name + "\n");
        let mut file = fs::File::create(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_data()?;
        fs::rename(new, self.notes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_read_back() {
        let branches = [("a/b".to_owned(), Some("1".repeat(40))), ("new".to_owned(), None)];
        let seen = Seen { head: Some("a/b".to_owned()), branches: branches.into(), ..Seen::default() };
        assert_eq!(Seen::from_text(&seen.to_text()), seen);
    }
}
