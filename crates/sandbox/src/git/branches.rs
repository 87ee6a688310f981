//! Which branches of a repository a command may move, and what becomes of those that it has moved.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::outside::Git;
use super::refs::{self, Change, HEADS, LOGS, Listed, Refs, Value};
use super::{MOST_OWN, Moved, Run, Taken, directory, logs, use_of, uses};
use crate::alive::is_alive;
use crate::compiled::CompiledPlan;
use crate::path::{kind_at, names_in, open_directory, read_file};
use crate::pins::move_away;
use crate::plan::{Level, Repository};
use crate::view::Layer;

const MOST_BRANCHES: usize = 256;

impl Run<'_> {
    /// Where the command has written branches, and the name of that place among the branches.
    fn branches(&self) -> (PathBuf, PathBuf) {
        let heads = self.repository.common.join(HEADS);
        match self.level {
            Level::Full => {
                (Layer::of(&self.directory, &self.repository.common).upper.join(HEADS), PathBuf::new())
            }
            Level::Landlock => {
                let below = self.seen.below.clone();
                (heads.join(&below), below)
            }
        }
    }

    /// Takes over objects and branches. Branches are listed first: what one of them needs was written before it, so it is
    /// among the objects even where another command goes on meanwhile.
    pub(super) fn take_branches(&mut self, taken: &mut Taken) -> io::Result<()> {
        let (place, below) = self.branches();
        let listed = self.format.clone().map_err(io::Error::other).and_then(|format| {
            let place = directory(&place)?;
            let before = |name: &str| {
                let id = self.seen.branches.get(name)?.clone()?;
                Some((*self.seen.stamps.get(name)?, Value::Id(id)))
            };
            Ok((refs::list_again(&place, &below.to_string_lossy(), format, &before), place, format))
        });
        let repacked = self.repacked();
        taken.add(self.take_objects());
        let (listed, place, format) = listed?;
        let common = self.common.try_clone()?;
        let refs = Refs::of(&common, format);
        let listed = match (listed, self.level) {
            (Ok(listed), _) => listed,
            (Err(error), Level::Full) => return Err(error),
            // What cannot be listed is not looked through, but what was there before is put back all the same.
            (Err(error), Level::Landlock) => {
                taken.refuse(HEADS, error);
                refs.listed(self.seen.branches.keys().chain(self.seen.others.keys()))
            }
        };
        let strange: Vec<PathBuf> = listed.strange.difference(&self.seen.strange).cloned().collect();
        for path in strange {
            taken.refuse(&format!("{HEADS}/{}", path.display()), "this is not the name of a branch");
            if self.level == Level::Landlock {
                self.put_away(&place, path.strip_prefix(&below).unwrap_or(&path), taken);
            }
        }
        let mut changes = self.changes(&listed, &refs);
        if self.level == Level::Full {
            let gone = self.gone(&listed);
            changes.extend(self.changes_of_packed(gone, &listed, &refs, &repacked, taken)?);
        }
        if !changes.is_empty() {
            self.take_changes(changes, &refs, (&place, &below), taken)?;
        }
        if self.level == Level::Landlock {
            logs::put_back(&common, &refs, &self.seen.logs, taken);
        }
        Ok(())
    }

    /// Moves branches as the command has, or has them be what they were. `place`: where the command has written them, and its name
    /// among the branches.
    fn take_changes(
        &mut self,
        changes: Vec<(String, Option<Change>)>,
        refs: &Refs<'_>,
        (place, below): (&OwnedFd, &Path),
        taken: &mut Taken,
    ) -> io::Result<()> {
        let git = Git::of(self.plan, &self.repository.common);
        let mut own = self.own_branches(self.seen.head.as_deref())?;
        let in_doubt: BTreeSet<&str> = changes.iter().map(|(name, _)| name.as_str()).collect();
        // What the command can write beside its own branch may have come after the list was made.
        let is_in_doubt = |name: &str, id: &str| {
            let Some(name) = name.strip_prefix("refs/heads/") else { return false };
            let is_seen = self.seen.branches.get(name).is_some_and(|seen| seen.as_deref() == Some(id));
            let is_writable = self.level == Level::Landlock && Path::new(name).starts_with(below);
            in_doubt.contains(name) || (is_writable && !is_seen)
        };
        // A commit upon what was there is all that most commands leave. Then nothing else needs to be asked.
        let is_simple = |(name, change): &(String, Option<Change>)| {
            matches!(change, Some(Change::Set(_)))
                && own.contains(name)
                && self.seen.branches.get(name).is_some_and(Option::is_some)
        };
        let seen_own = self.seen.branches.iter().filter(|(name, _)| own.contains(*name));
        let known = match &git {
            Some(git) if !changes.iter().all(is_simple) => git.known_commits(is_in_doubt).ok(),
            _ => None,
        };
        let known = known.unwrap_or_else(|| seen_own.filter_map(|(_, id)| id.clone()).collect());
        let judge = Judge {
            git,
            known,
            own: own.clone(),
            elsewhere: checked_out(&self.common, &self.repository)?,
            head: self.seen.head.clone(),
            seen: self.seen.branches.clone(),
            now: refs::checked_out(&self.own),
        };
        for (name, change) in changes {
            let what = format!("{HEADS}/{name}");
            let asked = Asked { judge: &judge, refs, name: &name, change: change.as_ref() };
            let outcome = match self.level {
                _ if taken.branches.len() >= MOST_BRANCHES => {
                    Err("too many branches have changed".to_owned())
                }
                Level::Full => self.take_branch(&asked),
                Level::Landlock => self.keep_branch(&asked),
            };
            match outcome {
                Ok(Some(moved)) => {
                    self.seen.branches.insert(name.clone(), moved.to.clone());
                    // At level landlock somebody else may have made it. What this worktree has had checked out is its own.
                    let is_ours = self.level == Level::Full
                        || (!judge.elsewhere.contains(&name)
                            && (judge.now.as_ref() == Some(&name) || self.was_checked_out(&name)));
                    match (&moved.from, &moved.to) {
                        (None, _) if is_ours => drop(own.insert(name)),
                        (_, None) => drop(own.remove(&name)),
                        _ => {}
                    }
                    taken.branches.push(moved);
                }
                Ok(None) => {}
                Err(why) => {
                    taken.refuse(&what, why);
                    if self.level == Level::Landlock
                        && let Err(error) = self.put_back(&asked, place, below)
                    {
                        taken.refuse(&what, format!("it cannot be put back: {error}"));
                    }
                }
            }
        }
        if own != judge.own {
            self.write_own_branches(&own)?;
        }
        Ok(())
    }

    /// Whether the worktree's own log says that it was on a branch.
    fn was_checked_out(&self, name: &str) -> bool {
        let log = read_file(&self.own, Path::new("logs/HEAD"), 64 << 20).ok().flatten().unwrap_or_default();
        let end = format!(" to {name}");
        String::from_utf8_lossy(&log)
            .lines()
            .any(|line| line.contains("\tcheckout: moving from ") && line.ends_with(&end))
    }

    /// What the command did to branches. `None`: something that is no value of a branch.
    fn changes(&self, listed: &Listed, refs: &Refs<'_>) -> Vec<(String, Option<Change>)> {
        let mut changes = Vec::new();
        for (name, value) in &listed.values {
            let before = self.seen.branches.get(name).cloned().flatten();
            match value {
                Value::Id(id) if before.as_ref() == Some(id) => {}
                Value::Id(id) => changes.push((name.clone(), Some(Change::Set(id.clone())))),
                Value::Other(text) if self.seen.others.get(name) == Some(text) => {}
                Value::Other(_) => changes.push((name.clone(), None)),
            }
        }
        match self.level {
            // Asked for by `gone`.
            Level::Full => {}
            Level::Landlock => {
                let others = self.seen.others.keys().filter(|name| !listed.values.contains_key(*name));
                changes.extend(others.map(|name| (name.clone(), Some(Change::Delete))));
                let known = self.seen.branches.iter().filter(|(name, id)| {
                    id.is_some() && Path::new(name.as_str()).starts_with(&self.seen.below)
                });
                for (name, before) in known.filter(|(name, _)| !listed.values.contains_key(*name)) {
                    // Somebody may have packed it meanwhile.
                    if &refs.id(name).unwrap_or_default() != before {
                        changes.push((name.clone(), Some(Change::Delete)));
                    }
                }
            }
        }
        changes
    }

    /// Level `full`: branches whose files the command has removed.
    fn gone(&self, listed: &Listed) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for gone in &listed.gone {
            let below = format!("{gone}/");
            let known = self.seen.branches.iter().filter(|(_, id)| id.is_some()).map(|(name, _)| name);
            let mut names = known.filter(|name| name.starts_with(&below) || *name == gone).peekable();
            if names.peek().is_none() {
                all.insert(gone.clone());
            }
            all.extend(names.cloned());
        }
        all
    }

    /// Level `full`: moves a branch outside as the command has moved it inside.
    fn take_branch(&self, asked: &Asked<'_>) -> Result<Option<Moved>, String> {
        let Asked { judge, refs, name, change } = *asked;
        let outside = refs.id(name).map_err(|error| error.to_string())?;
        match change {
            // Git has only touched it, or it came from outside.
            Some(Change::Set(id)) if outside.as_ref() == Some(id) => return Ok(None),
            Some(Change::Delete) if outside.is_none() => return Ok(None),
            _ => {}
        }
        let to = judge.allows(name, change, outside.as_deref())?;
        let done = match &to {
            Some(to) => refs.set(name, outside.as_deref(), to, &self.log_of(asked, outside.as_deref(), to)),
            None => judge.delete(name, outside.as_deref()),
        };
        done.map_err(|error| error.to_string())?;
        Ok(Some(Moved { name: name.to_owned(), from: outside, to }))
    }

    fn log_of(&self, asked: &Asked<'_>, from: Option<&str>, to: &str) -> Vec<String> {
        let Asked { judge, refs, name, .. } = *asked;
        let layer = Layer::of(&self.directory, &self.repository.common).upper.join(LOGS);
        let added = directory(&layer).ok().and_then(|logs| refs.added_lines(&logs, name, from, to));
        let are_known = |lines: &Vec<String>| {
            let ids = lines.iter().filter_map(|line| line.split(' ').nth(1));
            judge.git.as_ref().is_some_and(|git| git.are_commits(ids))
        };
        added.filter(are_known).unwrap_or_else(|| vec![refs.plain_line(from, to)])
    }

    /// Level `landlock`: the branch is moved already. Says whether it may stay so.
    fn keep_branch(&self, asked: &Asked<'_>) -> Result<Option<Moved>, String> {
        let Asked { judge, refs, name, change } = *asked;
        let before = self.seen.branches.get(name).cloned().flatten();
        if self.seen.others.contains_key(name) {
            return Err("a branch that is the name of another one is not changed".to_owned());
        }
        if let Some(Change::Set(id)) = change
            && !judge.own.contains(name)
        {
            let is_as_listed = refs.value(name).is_ok_and(|value| value == Some(Value::Id(id.clone())));
            if !is_as_listed || moved_elsewhere(&self.repository, name, id) {
                // Others are at work on it.
                return Ok(None);
            }
        }
        // A branch that was packed before is not among those that were seen.
        let before = match (before, change) {
            (None, Some(Change::Set(_))) => refs.packed().map_err(|error| error.to_string())?.remove(name),
            (before, _) => before,
        };
        if matches!((change, &before), (Some(Change::Set(id)), Some(before)) if id == before) {
            return Ok(None);
        }
        match judge.allows(name, change, before.as_deref()) {
            Ok(to) => Ok(Some(Moved { name: name.to_owned(), from: before, to })),
            // Its objects may still lie with another contained command, whose supervisor takes them over.
            Err(_)
                if before.is_none() && change.is_some() && is_used_elsewhere(self.plan, &self.repository) =>
            {
                Ok(None)
            }
            Err(why) => Err(why),
        }
    }

    /// Level `landlock`: has a branch be what it was, unless somebody has moved it on.
    fn put_back(&self, asked: &Asked<'_>, place: &OwnedFd, below: &Path) -> io::Result<()> {
        let Asked { refs, name, change, .. } = *asked;
        let path = Path::new(name).strip_prefix(below).unwrap_or(Path::new(name));
        let id = self.seen.branches.get(name).cloned().flatten().map(|id| format!("{id}\n").into_bytes());
        let before = id.or_else(|| self.seen.others.get(name).cloned());
        let mut now = refs.loose(name);
        match change {
            Some(Change::Set(id)) if now != Some(Value::Id(id.clone())) => return Ok(()),
            Some(Change::Delete) if now.is_some() => return Ok(()),
            // A link or the like, which no rename under a lock would replace for sure.
            None if kind_at(place, path)?.is_some() => {
                self.move_branch_away(place, path)?;
                now = None;
            }
            _ => {}
        }
        match before {
            Some(before) => refs.put_back(name, now.as_ref(), &before),
            // The value that it had, if any, is in `packed-refs`, which the command cannot write.
            None if now.is_some() => self.move_branch_away(place, path),
            None => Ok(()),
        }
    }

    fn move_branch_away(&self, place: &OwnedFd, path: &Path) -> io::Result<()> {
        let above = path.parent().filter(|above| *above != Path::new("")).unwrap_or(Path::new("."));
        let above = open_directory(place, above)?;
        move_away(&above, path.file_name().unwrap_or(OsStr::new("")), &self.plan.quarantine()?)
    }

    fn put_away(&self, place: &OwnedFd, path: &Path, taken: &mut Taken) {
        if let Err(error) = self.move_branch_away(place, path) {
            taken.refuse(&format!("{HEADS}/{}", path.display()), format!("it cannot be moved away: {error}"));
        }
    }
}

/// A branch that the command has changed.
#[derive(Clone, Copy)]
struct Asked<'a> {
    judge: &'a Judge,
    refs: &'a Refs<'a>,
    name: &'a str,
    /// `None`: into something that is no value of a branch.
    change: Option<&'a Change>,
}

/// Whose branches are whose.
struct Judge {
    git: Option<Git>,
    own: BTreeSet<String>,
    /// Branches that other worktrees have checked out.
    elsewhere: BTreeSet<String>,
    /// Commits that are whole.
    known: Vec<String>,
    /// What this worktree had checked out at the start, and has now.
    head: Option<String>,
    now: Option<String>,
    seen: BTreeMap<String, Option<String>>,
}

impl Judge {
    /// The value that a branch may get (`None`: it may be deleted), or why it stays as it is.
    fn allows(
        &self,
        name: &str,
        change: Option<&Change>,
        outside: Option<&str>,
    ) -> Result<Option<String>, String> {
        let is_own = self.own.contains(name);
        let seen = self.seen.get(name).cloned().flatten();
        match change {
            None => Err("its content is not the id of an object".to_owned()),
            Some(Change::Delete) if !is_own => {
                Err("other branches are not deleted; have a person do it, outside the agent".to_owned())
            }
            Some(Change::Delete) if seen.as_deref() != outside => {
                Err("it has changed outside meanwhile".to_owned())
            }
            Some(Change::Delete) if self.elsewhere.contains(name) || self.now.as_deref() == Some(name) => {
                Err("a branch that is checked out is not deleted".to_owned())
            }
            Some(Change::Delete) => Ok(None),
            Some(Change::Set(id)) => {
                let git = self.git.as_ref().ok_or("there is no git that can be trusted to check it")?;
                match outside {
                    None if seen.is_some() => return Err("it was deleted outside meanwhile".to_owned()),
                    None => {}
                    Some(outside) if is_own && seen.as_deref() == Some(outside) => {}
                    Some(_) if is_own => return Err("it has changed outside meanwhile".to_owned()),
                    Some(outside) => self.allows_forward(git, name, outside, id)?,
                }
                if !git.are_commits([id.as_str()].into_iter()) {
                    return Err(format!("{id} is not a commit of this repository"));
                }
                git.is_whole(id, &self.known).map_err(|error| format!("{id} is not whole: {error}"))?;
                Ok(Some(id.clone()))
            }
        }
    }

    /// A branch of somebody else that the worktree has checked out.
    fn allows_forward(&self, git: &Git, name: &str, from: &str, to: &str) -> Result<(), String> {
        if self.head.as_deref() != Some(name) && self.now.as_deref() != Some(name) {
            return Err(
                "other branches are not changed; check it out, or make a branch of your own".to_owned()
            );
        }
        if self.elsewhere.contains(name) {
            return Err("another worktree has it checked out; commit on a branch of your own".to_owned());
        }
        if !git.is_ancestor(from, to) {
            return Err(
                "it is not this worktree's own, and commits on it would be lost; make a branch of your own"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn delete(&self, name: &str, value: Option<&str>) -> io::Result<()> {
        match (&self.git, value) {
            (Some(git), Some(value)) => git.delete_branch(name, value),
            (None, _) => Err(io::Error::other("there is no git that can be trusted to delete it")),
            (_, None) => Ok(()),
        }
    }
}

/// The branches that other worktrees of a repository use, also in the midst of a rebase.
pub(super) fn checked_out(common: &OwnedFd, repository: &Repository) -> io::Result<BTreeSet<String>> {
    let mut branches = BTreeSet::new();
    for (handle, _) in other_worktrees(common, repository)? {
        branches.extend(refs::checked_out(&handle));
        branches.extend(refs::rebased(&handle));
    }
    Ok(branches)
}

fn other_worktrees(common: &OwnedFd, repository: &Repository) -> io::Result<Vec<(OwnedFd, PathBuf)>> {
    let mut all = Vec::new();
    if !repository.is_plain() {
        all.push((open_directory(common, Path::new("."))?, PathBuf::new()));
    }
    let worktrees = match open_directory(common, Path::new("worktrees")) {
        Err(rustix::io::Errno::NOENT) => return Ok(all),
        worktrees => worktrees?,
    };
    for name in names_in(&worktrees, MOST_OWN)? {
        if Some(name.as_os_str()) != repository.own.file_name()
            && let Ok(handle) = open_directory(&worktrees, Path::new(&name))
        {
            all.push((handle, PathBuf::from(name)));
        }
    }
    Ok(all)
}

/// Whether another worktree has this branch checked out and has moved it there itself. Its own log says so, which our
/// command cannot write.
fn moved_elsewhere(repository: &Repository, name: &str, id: &str) -> bool {
    let worktrees = directory(&repository.common).and_then(|common| other_worktrees(&common, repository));
    worktrees.unwrap_or_default().iter().any(|(handle, _)| {
        let log = || read_file(handle, Path::new("logs/HEAD"), 64 << 20).ok().flatten();
        refs::checked_out(handle).as_deref() == Some(name)
            && log().is_some_and(|log| {
                let text = String::from_utf8_lossy(&log);
                text.lines().last().and_then(|line| line.split(' ').nth(1)) == Some(id)
            })
    })
}

/// Whether a contained command runs in another worktree.
fn is_used_elsewhere(plan: &CompiledPlan, repository: &Repository) -> bool {
    let worktrees = directory(&repository.common).and_then(|common| other_worktrees(&common, repository));
    let names = worktrees.unwrap_or_default().into_iter().map(|(_, name)| name);
    let own = names
        .filter(|name| *name != Path::new(""))
        .map(|name| repository.common.join("worktrees").join(name));
    is_alive(&uses(plan).file, &own.map(|own| use_of(&own)).collect::<Vec<_>>())
}
