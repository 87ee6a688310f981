//! What a command of git writes that other worktrees share: settings, other branches, locks.
//!
//! A commit, a tag, a stash, what is fetched and `git gc` are ordinary work, and so is which branch of a remote its own branch follows. The
//! rest is doubted: a sandbox lets a command move the branches of its own worktree and nothing else. A plain clone shares with nobody.

use std::path::Path;

use toolgate_model::{Access, Doubt, Gap, Reach, clean};

use super::super::Interpreter;
use super::super::apply::slot_text;
use super::super::text::{Flow, Text};
use super::call::GitCall;
use super::remotes::is_remote;
use super::settings::InForce;
use crate::spec::Reading;

/// Sub-commands that write what is shared, whatever their words are; without a verb all of them.
const SHARED: &[(&str, &[&str])] = &[
    ("fast-import", &[]),
    ("lfs", &["install", "uninstall", "update", "migrate", "prune"]),
    ("maintenance", &["run", "start", "stop", "register", "unregister"]),
    ("pack-refs", &[]),
    ("refs", &["migrate"]),
    ("sparse-checkout", &["init", "set", "add", "reapply", "disable", "clean"]),
    ("worktree", &["lock", "unlock", "repair", "move", "prune"]),
];

/// Options of `git init` that change a repository which is there.
const MADE_ANEW: &[&str] = &["--ref-format", "--separate-git-dir", "--shared", "--template"];

/// Modes of files as an index has them. Others are links and repositories.
const FILES: [&str; 3] = ["100644", "100755", "644"];

impl Interpreter<'_, '_> {
    /// Doubts a command that writes what other worktrees share.
    pub(super) fn shared_writes(&mut self, call: &GitCall<'_>) {
        let GitCall { sub, reading, operands, arguments, settings } = *call;
        // One that the command has made itself, and a plain clone, are its own.
        let Some(repository) = self.repository().filter(|found| found.common != found.own) else { return };
        // `same` sub-commands go by the first of them, so the word itself counts.
        let verb = verb(sub, arguments);
        let is_listed = SHARED.iter().any(|(listed, verbs)| {
            *listed == sub && (verbs.is_empty() || verb.as_deref().is_some_and(|verb| verbs.contains(&verb)))
        });
        let is_dry = reading.options.iter().any(|given| given.name == "-n");
        let is_shared = match sub {
            _ if is_listed => !is_dry,
            "branch" => self.changes_other_branch(&repository.own, call),
            "checkout" | "switch" | "worktree" => follows_local(reading, operands, settings),
            _ => false,
        };
        if is_shared {
            let named = verb.map_or_else(|| format!("git {sub}"), |verb| format!("git {sub} {verb}"));
            self.unknown(Gap::Doubt(Doubt::Shared), &named);
        }
    }

    /// `git init` in a repository that is there: it moves the repository, of all worktrees, or puts a template's hooks into it.
    pub(super) fn made_anew(&mut self, sub: &str, reading: &Reading, operands: &[Text]) {
        if sub != "init" || !reading.options.iter().any(|given| MADE_ANEW.contains(&given.name)) {
            return;
        }
        let here = Text::known(".");
        let Some(place) = self.one_place(operands.first().unwrap_or(&here)) else { return };
        let pointer = clean(&Path::new(&place).join(".git"));
        if self.scene.world.look(&pointer).is_ok() {
            self.touch_place(Access::Write, Reach::Exact, pointer.to_string_lossy().into_owned());
            if let Some(repository) = self.repository_at(&place) {
                let common = repository.common.to_string_lossy().into_owned();
                self.touch_place(Access::Write, Reach::Below, common);
            }
        }
    }

    /// `git branch -m other new`, `git branch -u main`
    fn changes_other_branch(&self, own: &Path, call: &GitCall<'_>) -> bool {
        let GitCall { reading, operands, arguments, settings, .. } = *call;
        let given = |names: &[&str]| reading.options.iter().find(|given| names.contains(&given.name));
        let head = self.small_file(&own.join("HEAD"));
        let head = head.as_deref().and_then(|head| head.trim().strip_prefix("ref: refs/heads/"));
        let is_own = |branch: &Text| branch.whole().is_some_and(|name| Some(name) == head);
        if given(&["-m", "-M", "-c", "-C"]).is_some() {
            return operands.len() > 1 && !operands.first().is_some_and(is_own);
        }
        if given(&["--edit-description", "--unset-upstream"]).is_some() {
            return !operands.first().is_none_or(is_own);
        }
        if let Some(upstream) = given(&["-u"]) {
            let upstream = upstream.value.map(|slot| slot_text(arguments, &slot)).unwrap_or_default();
            return !operands.first().is_none_or(is_own) || !is_of_remote(&upstream, settings);
        }
        follows_local(reading, operands, settings)
    }

    /// Names that a command puts into the index past the files: what is checked out later has them.
    pub(super) fn index_names(
        &mut self,
        sub: &str,
        reading: &Reading,
        operands: &[Text],
        arguments: &[Text],
    ) {
        let has = |name: &str| reading.options.iter().any(|given| given.name == name);
        match sub {
            "update-index" => {
                for given in reading.options.iter().filter(|given| given.name == "--cacheinfo") {
                    let Some(info) = given.value.map(|slot| slot_text(arguments, &slot)) else { continue };
                    let (mode, path) = match info.raw().split_once(',') {
                        Some((mode, rest)) => (mode, rest.split_once(',').map(|(_, path)| path)),
                        None => (info.raw(), operands.get(1).map(Text::raw)),
                    };
                    let (mode, path) = (mode.to_owned(), path.unwrap_or_default().to_owned());
                    self.index_name_as(&mode, &path);
                }
                if has("--index-info") {
                    self.index_names_by_input();
                }
            }
            "mktree" | "fast-import" => {
                self.unknown(Gap::Doubt(Doubt::Shared), &format!("git {sub}"));
                self.index_names_by_input();
            }
            _ => {}
        }
    }

    /// `100644 1a2b3c…<tab>name`, a line each.
    fn index_names_by_input(&mut self) {
        let Flow::Text(text) = self.streams.stdin().clone() else {
            self.unknown(Gap::Doubt(Doubt::Shared), "names that git puts into the index");
            return;
        };
        for line in text.raw().lines() {
            let mode = line.split([' ', ',']).next().unwrap_or_default().to_owned();
            if let Some((_, path)) = line.split_once('\t') {
                self.index_name_as(&mode, path);
            } else if let Some(path) = line.strip_prefix("M ").and_then(|rest| rest.splitn(3, ' ').nth(2)) {
                self.index_name_as("100644", path);
            }
        }
    }

    fn index_name_as(&mut self, mode: &str, path: &str) {
        let path = Text::marked(path.trim_matches('"').to_owned());
        if path.is_empty() || path.has_any() || !FILES.contains(&mode) {
            self.unknown(Gap::Doubt(Doubt::Shared), "a link, or a name that is not known, in the index");
        }
        if path.is_empty() || path.has_any() {
            return;
        }
        // Names in an index are seen from the top.
        if let Some(top) = self.git_top() {
            self.touch(Access::Write, Reach::Exact, &Text::marked(format!("{top}/{}", path.raw())));
        }
        self.touch(Access::Write, Reach::Exact, &path);
    }
}

/// The word behind the sub-command.
fn verb(sub: &str, arguments: &[Text]) -> Option<String> {
    let at = arguments.iter().position(|word| word.raw() == sub)?;
    let next = arguments.get(at + 1..)?.iter().find(|word| !word.raw().starts_with('-'))?;
    next.whole().map(str::to_owned)
}

/// Whether a new branch is told to follow one that is no remote's: `git checkout -b x --track main`.
fn follows_local(reading: &Reading, operands: &[Text], settings: &[InForce]) -> bool {
    let tracks = reading.options.iter().any(|given| matches!(given.name, "-t" | "--track"));
    tracks && !operands.last().is_some_and(|start| is_of_remote(start, settings))
}

/// `origin/main`, of a remote that a person has set up.
fn is_of_remote(branch: &Text, settings: &[InForce]) -> bool {
    let Some(name) = branch.whole() else { return false };
    let name = name.strip_prefix("refs/remotes/").or_else(|| name.strip_prefix("remotes/")).unwrap_or(name);
    // A remote's own name may hold a slash.
    name.match_indices('/').any(|(at, _)| name.get(..at).is_some_and(|remote| is_remote(settings, remote)))
}
