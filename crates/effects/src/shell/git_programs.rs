//! Programs that git starts by what contained programs can write: lists of steps, repositories inside of the worktree, files that settings name.
//!
//! The settings of the session's own repository are out of a contained program's reach, but not what they lead to: a filter may be a script
//! of the worktree. A repository inside of the worktree has settings of its own, and git looks into one that the index names.

use std::path::PathBuf;

use toolgate_model::{Doubt, Effect, Gap, NodeKind};

use super::Interpreter;
use super::git::GitCall;
use super::text::Text;
use crate::spec::Reading;

impl Interpreter<'_, '_> {
    /// Doubts a sub-command that would start such a program.
    pub(super) fn git_programs(&mut self, call: &GitCall<'_>) {
        let GitCall { sub, reading, settings, .. } = *call;
        let why = if does_written_steps(sub, reading) {
            Some("steps that were written down")
        } else if serves_repository(sub, reading) {
            Some("a repository on this machine")
        } else if looks_into_worktree(sub) && self.has_repository_inside(sub) {
            Some("a repository inside of the worktree")
        } else if self.settings_lead_to_worktree(settings) {
            Some("a program of the worktree")
        } else {
            None
        };
        if let Some(why) = why {
            self.unknown(Gap::Doubt(Doubt::Repository), &format!("git {sub}: {why}"));
        }
    }

    /// A program that has git change the repository: `gh pr checkout` fetches, and checks out. What git would start then, it starts.
    pub(super) fn git_started_by(&mut self, program: &str, reading: &Reading) {
        if !self.is_own_repository() {
            self.unknown(Gap::Project, &format!("{program} in a repository that is not the session's own"));
        }
        let settings = self.settings_in_force();
        if self.settings_lead_to_worktree(&settings) {
            let why = format!("{program} starts git: a program of the worktree");
            self.unknown(Gap::Doubt(Doubt::Repository), &why);
        }
        // `gh pr create` only looks, unless somebody is there whom it can ask where to push.
        let started: &[&str] = match reading.sub.last() {
            Some(&("create" | "set-default")) if program == "gh" => &["status"],
            _ => &["fetch", "checkout", "merge"],
        };
        for sub in started {
            self.hooks(sub, &settings, true);
        }
    }

    /// Whether the index names a repository inside of the worktree, or the command may have put one there.
    fn has_repository_inside(&mut self, sub: &str) -> bool {
        let adds = |effect: &Effect<'_>| {
            matches!(effect, Effect::Run(run) if run.program == "git"
                && run.sub.first().is_some_and(|sub| sub == "add" || sub == "submodule")
                && !run.operands.iter().flatten().all(|name| self.is_file(name)))
        };
        // What is committed is in the index, and looked at no more.
        if !matches!(sub, "add" | "commit" | "fetch" | "mv" | "rm") && self.report.effects().iter().any(adds)
        {
            return true;
        }
        self.git_index().is_some_and(|index| index.has_repository || index.has_more)
    }

    fn is_file(&self, name: &str) -> bool {
        let place = self.one_place(&Text::known(name)).map(PathBuf::from);
        place.is_some_and(|place| self.scene.world.look(&place).is_ok_and(|node| node.kind == NodeKind::File))
    }
}

/// Sub-commands whose other side is a repository here, whatever their words are: `git clone --template` brings hooks along. The words of all
/// others are looked at (`remotes.rs`).
fn serves_repository(sub: &str, reading: &Reading) -> bool {
    match sub {
        "submodule" | "upload-pack" | "receive-pack" | "upload-archive" | "daemon" => true,
        "clone" => reading.options.iter().any(|given| given.name == "--template"),
        _ => false,
    }
}

/// `git rebase --continue` does what its list says, `exec` lines too, and a contained rebase may have left that. `--abort` goes back to the
/// commit that its notes name, `--quit` keeps the stash that they name.
fn does_written_steps(sub: &str, reading: &Reading) -> bool {
    let has = |names: &[&str]| reading.options.iter().any(|given| names.contains(&given.name));
    match sub {
        "rebase" => !has(&["--show-current-patch"]),
        "bisect" | "am" => true,
        _ => false,
    }
}

/// Sub-commands that look at the files of the worktree, and so into repositories among them.
fn looks_into_worktree(sub: &str) -> bool {
    matches!(
        sub,
        "status"
            | "diff"
            | "diff-files"
            | "diff-index"
            | "difftool"
            | "commit"
            | "stash"
            | "describe"
            | "checkout"
            | "switch"
            | "restore"
            | "reset"
            | "merge"
            | "pull"
            | "rebase"
            | "cherry-pick"
            | "revert"
            | "submodule"
            | "grep"
            | "clean"
            | "fetch"
            | "read-tree"
            | "update-index"
            | "ls-files"
            | "worktree"
            | "archive"
            | "add"
            | "rm"
            | "mv"
    )
}
