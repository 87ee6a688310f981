//! What a command of a linked worktree did to `packed-refs`, at level `full`.
//!
//! Git writes this file anew to delete a branch, and to pack branches: then it removes their own files. So a view has a copy, which is gone with
//! the view. Before that, init notes in the directory of the run by what the command's file differs from the one that was copied. The command
//! may have written anything there: the supervisor takes each difference for a wish, as it does with branches in the layer, and never
//! takes over the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, symlink_metadata};
use std::io::{self, Seek, Write};
use std::path::Path;

use rustix::fs::{Mode, OFlags, openat, renameat};

use super::refs::{Change, HEADS, LARGEST_PACKED, LOGS, Listed, Refs, Value, is_branch_name};
use super::{Run, Taken, directory, objects};
use crate::path::{Stamp, kind_at, open_directory, read_file, read_to_end};
use crate::view::{Layer, Packed};

/// The note, in the directory of a run.
const NOTE: &str = "packed-refs";
/// The note of a file that cannot be read, or in which more has changed than is looked at.
const UNKNOWN: &str = "?";
/// More differences than this are not looked at one by one.
const MOST_CHANGES: usize = 10_000;
/// More branches than this are not changed in this way by one command.
const MOST_BRANCHES: usize = 256;
const LARGEST_NOTE: u64 = 16 << 20;

/// By what the command's `packed-refs` differs from the one that its view began with.
pub(super) enum Repacked {
    /// Nobody has written it.
    Not,
    /// References with values that they did not have there, and those that are not there any more.
    By { set: BTreeMap<String, String>, gone: BTreeSet<String> },
    /// It is not known.
    Unknown,
}

/// The references in the text of a `packed-refs`.
fn entries(text: &[u8]) -> BTreeMap<&str, &str> {
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
    let pairs = lines.filter_map(|line| line.split_once(' '));
    // Shorter lines could be many more.
    let is_id = |id: &str| matches!(id.len(), 40 | 64) && objects::is_hex(id);
    let sound = pairs.filter(|(id, name)| is_id(id) && name.starts_with("refs/"));
    sound.map(|(id, name)| (name, id)).collect()
}

/// `None`: more has changed than is looked at.
fn differences(before: &[u8], now: &[u8]) -> Option<String> {
    let (before, now) = (entries(before), entries(now));
    let set = now.iter().filter(|(name, id)| before.get(*name) != Some(*id));
    let gone = before.keys().filter(|name| !now.contains_key(*name));
    let lines =
        set.map(|(name, id)| format!("{id} {name}\n")).chain(gone.map(|name| format!("gone {name}\n")));
    let mut text = String::new();
    for (count, line) in lines.enumerate() {
        if count == MOST_CHANGES {
            return None;
        }
        text.push_str(&line);
    }
    Some(text)
}

/// What a note says.
fn read_note(text: &str) -> Repacked {
    if text == UNKNOWN {
        return Repacked::Unknown;
    }
    let (mut set, mut gone) = (BTreeMap::new(), BTreeSet::new());
    for (word, name) in text.lines().filter_map(|line| line.split_once(' ')) {
        match word {
            "gone" => drop(gone.insert(name.to_owned())),
            id => drop(set.insert(name.to_owned(), id.to_owned())),
        }
    }
    Repacked::By { set, gone }
}

/// Reads what the command may have written, and what the view began with.
fn compare(packed: &Packed) -> io::Result<Option<String>> {
    let now = read_file(&packed.directory, Path::new(NOTE), LARGEST_PACKED)?.unwrap_or_default();
    let before = match &packed.before {
        None => Vec::new(),
        Some(file) => {
            let mut file = File::from(file.try_clone()?);
            file.rewind()?;
            read_to_end(&file, LARGEST_PACKED)?.ok_or_else(|| io::Error::other("it is too large"))?
        }
    };
    Ok(differences(&before, &now))
}

/// Says of tags, notes and the like that they stay. Git inside takes them for changed.
fn refuse_others(
    set: Option<&BTreeMap<String, String>>,
    removed: Option<&BTreeSet<String>>,
    refs: &Refs<'_>,
    taken: &mut Taken,
) -> io::Result<()> {
    let is_other = |name: &&String| !name.starts_with("refs/heads/");
    let set = set.into_iter().flatten().filter(|(name, _)| is_other(name));
    let set = set.map(|(name, id)| (name, Some(id)));
    let removed = removed.into_iter().flatten().filter(is_other).map(|name| (name, None));
    let mut others = set.chain(removed).peekable();
    if others.peek().is_none() {
        return Ok(());
    }
    let all = refs.of_every_kind();
    let packed = all.packed()?;
    for (name, id) in others {
        let Some(short) = name.strip_prefix("refs/").filter(|name| is_branch_name(name)) else {
            continue;
        };
        let outside = match all.loose(short) {
            Some(Value::Id(id)) => Some(id),
            // Not by this file, then.
            Some(Value::Other(_)) => continue,
            None => packed.get(short).cloned(),
        };
        if outside.as_ref() != id {
            taken.refuse(name, "all worktrees share it; have a person change it, outside the agent");
        }
    }
    Ok(())
}

impl Run<'_> {
    /// Notes what the command did to its copy of `packed-refs`, if anything, for whoever takes over what it has left. In init, when the command
    /// has ended; and when its last job has (`is_over`), whom nobody else could ask any more.
    pub(crate) fn note_packed(&self, packed: Option<&Packed>, is_over: bool) {
        if self.repository.is_plain() {
            // What lies in a layer is there afterwards.
            return;
        }
        let is_same = |packed: &&Packed| Stamp::at(&packed.directory, Path::new(NOTE)) == packed.stamp;
        let text = match packed.filter(|packed| !is_same(packed)) {
            None if !is_over => return,
            None => String::new(),
            Some(packed) => compare(packed).ok().flatten().unwrap_or_else(|| UNKNOWN.to_owned()),
        };
        let write = || -> io::Result<()> {
            const NEW: &str = "packed-refs.new";
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = openat(&self.lock, NEW, flags, Mode::from_raw_mode(0o600))?;
            File::from(file).write_all(text.as_bytes())?;
            Ok(renameat(&self.lock, NEW, &self.lock, NOTE)?)
        };
        // Without a note, nothing that is gone is taken for deleted unless its reflog is gone too.
        let _ = write();
    }

    /// What init has noted.
    pub(super) fn repacked(&self) -> Repacked {
        let note = directory(&self.directory).and_then(|run| read_file(run, Path::new(NOTE), LARGEST_NOTE));
        match note.map(|note| note.map(String::from_utf8)) {
            Ok(Some(Ok(text))) => read_note(&text),
            Ok(None) if self.has_told => Repacked::Not,
            _ => Repacked::Unknown,
        }
    }

    /// What became of branches that the layer says are gone, and of those that the command's `packed-refs` has changed.
    pub(super) fn changes_of_packed(
        &self,
        gone: BTreeSet<String>,
        listed: &Listed,
        refs: &Refs<'_>,
        repacked: &Repacked,
        taken: &mut Taken,
    ) -> io::Result<Vec<(String, Option<Change>)>> {
        let (set, removed) = match repacked {
            Repacked::Not if self.is_over => {
                return Ok(gone.into_iter().map(|name| (name, Some(Change::Delete))).collect());
            }
            Repacked::By { set, gone: removed } => (Some(set), Some(removed)),
            Repacked::Not | Repacked::Unknown => (None, None),
        };
        if gone.is_empty() && set.is_none() {
            return Ok(Vec::new());
        }
        let packed = refs.packed()?;
        let of = |names: Option<&BTreeMap<String, String>>, name: &str| {
            names.and_then(|names| names.get(&format!("{HEADS}/{name}")).cloned())
        };
        let is_removed =
            |name: &str| removed.is_some_and(|removed| removed.contains(&format!("{HEADS}/{name}")));
        let mut changes = Vec::new();
        for name in gone.clone() {
            // Packed, by a `packed-refs` that was written before the branch's own file was removed.
            let value = of(set, &name).or_else(|| packed.get(&name).filter(|_| set.is_some()).cloned());
            match value.filter(|_| !is_removed(&name)) {
                Some(id) => changes.push((name, Some(Change::Set(id)))),
                None if self.is_log_gone(&name) || is_removed(&name) => {
                    changes.push((name, Some(Change::Delete)));
                }
                None if set.is_some() && self.is_over => changes.push((name, Some(Change::Delete))),
                // A job may be packing it just now. It is looked at again when the last one has ended.
                None if !self.is_over => {}
                None if refs.id(&name).is_ok_and(|id| id.is_none()) => {}
                None => {
                    let why = "it is not known whether the command has deleted or packed it, so it stays as it is; delete it again";
                    taken.refuse(&format!("{HEADS}/{name}"), why);
                }
            }
        }
        let mut own = Vec::new();
        // What has a file of its own has its value from there.
        let is_elsewhere = |name: &str| {
            let shows_through = || refs.loose(name).is_some() && !listed.hides(name);
            listed.values.contains_key(name) || gone.contains(name) || shows_through()
        };
        for (name, id) in set.into_iter().flatten() {
            match name.strip_prefix("refs/heads/").filter(|name| is_branch_name(name)) {
                Some(name) if packed.get(name) == Some(id) || is_elsewhere(name) => {}
                Some(name) if refs.is_id(id) => own.push((name.to_owned(), Some(Change::Set(id.clone())))),
                Some(name) => own.push((name.to_owned(), None)),
                None => {}
            }
        }
        for name in removed.into_iter().flatten() {
            if let Some(name) = name.strip_prefix("refs/heads/").filter(|name| packed.contains_key(*name))
                && !is_elsewhere(name)
            {
                own.push((name.to_owned(), Some(Change::Delete)));
            }
        }
        if own.len() > MOST_BRANCHES {
            taken.refuse("packed-refs", "too many branches have changed in it");
        } else {
            changes.extend(own);
        }
        refuse_others(set, removed, refs, taken)?;
        Ok(changes)
    }

    /// Whether the command has removed the reflog of a branch. Git does so when it deletes the branch, and not when it packs it.
    fn is_log_gone(&self, name: &str) -> bool {
        let upper = Layer::of(&self.directory, &self.repository.common).upper.join(LOGS);
        let Ok(logs) = directory(&upper) else { return false };
        let above = Path::new(name).ancestors().filter(|above| *above != Path::new(""));
        above.into_iter().any(|above| {
            let parent = above.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
            let whiteout = || {
                let parent = open_directory(&logs, parent).ok()?;
                kind_at(&parent, Path::new(above.file_name()?)).ok()?
            };
            whiteout().is_some_and(objects::is_whiteout)
        })
    }

    /// Whether the command has left a note, after which the directory of the run is not used again.
    pub(super) fn has_note(&self) -> bool {
        symlink_metadata(self.directory.join(NOTE)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_noted_and_read_back() {
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let before = format!(
            "# pack-refs with: peeled\n{one} refs/heads/a\n{one} refs/tags/t\n^{two}\n{one} refs/heads/c\n"
        );
        let now =
            format!("{two} refs/heads/a\n{one} refs/heads/b\n{one} refs/tags/t\nno line\n{two} refs/heads/c");
        let text = differences(before.as_bytes(), now.as_bytes()).unwrap();
        let Repacked::By { set, gone } = read_note(&text) else { panic!("{text}") };
        let expected = [("a", &two), ("b", &one), ("c", &two)];
        assert_eq!(set, expected.map(|(name, id)| (format!("refs/heads/{name}"), id.clone())).into());
        assert!(gone.is_empty());
        let text = differences(before.as_bytes(), b"").unwrap();
        let Repacked::By { set, gone } = read_note(&text) else { panic!("{text}") };
        assert_eq!((set.len(), gone.len()), (0, 3));
        assert!(matches!(read_note(UNKNOWN), Repacked::Unknown));
        let many = (0..=MOST_CHANGES)
            .fold(String::new(), |text, number| text + &format!("{one} refs/heads/{number}\n"));
        assert!(differences(b"", many.as_bytes()).is_none());
    }
}
