//! Hooks: what git runs of a repository, before and after what it is asked to do.

use std::path::{Path, PathBuf};

use toolgate_model::{Access, Effect, Gap};

use super::super::Interpreter;
use super::super::text::Text;
use super::settings::{InForce, last};

/// A hook, whether `--no-verify` leaves it out, and the sub-commands that may run it.
struct Hook {
    name: &'static str,
    is_check: bool,
    subs: &'static [&'static str],
}

const fn hook(name: &'static str, is_check: bool, subs: &'static [&'static str]) -> Hook {
    Hook { name, is_check, subs }
}

#[rustfmt::skip]
const HOOKS: &[Hook] = &[
    hook("applypatch-msg", true, &["am"]),
    hook("pre-applypatch", true, &["am"]),
    hook("post-applypatch", false, &["am"]),
    hook("pre-commit", true, &["commit", "cherry-pick", "revert", "merge", "pull"]),
    hook("pre-merge-commit", true, &["merge", "pull"]),
    hook("prepare-commit-msg", false, &["commit", "merge", "pull", "cherry-pick", "revert", "rebase"]),
    hook("commit-msg", true, &["commit", "merge", "pull", "cherry-pick", "revert", "rebase"]),
    hook("post-commit", false, &["commit", "cherry-pick", "revert", "rebase", "pull", "merge"]),
    hook("pre-rebase", true, &["rebase", "pull"]),
    hook("post-checkout", false, &[
        "checkout", "switch", "worktree", "clone", "reset", "rebase", "pull", "bisect", "submodule", "stash", "am",
    ]),
    hook("post-merge", false, &["merge", "pull"]),
    hook("post-rewrite", false, &["commit", "rebase", "pull"]),
    hook("pre-push", true, &["push"]),
    hook("pre-auto-gc", false, &[
        "commit", "merge", "pull", "fetch", "rebase", "am", "gc", "cherry-pick", "revert", "maintenance",
    ]),
    hook("post-index-change", false, &[
        "add", "stage", "rm", "mv", "commit", "checkout", "switch", "restore", "reset", "merge", "pull", "rebase",
        "cherry-pick", "revert", "am", "apply", "stash", "read-tree", "update-index", "status", "diff", "describe",
        "sparse-checkout", "checkout-index", "worktree", "bisect", "submodule", "clone", "subtree", "filter-branch",
    ]),
    hook("reference-transaction", false, &[
        "commit", "merge", "pull", "fetch", "push", "rebase", "cherry-pick", "revert", "am", "reset", "checkout",
        "switch", "branch", "tag", "stash", "notes", "replace", "update-ref", "symbolic-ref", "worktree", "remote",
        "fast-import", "bisect", "clone", "filter-branch", "filter-repo", "pack-refs", "gc", "maintenance", "reflog",
        "submodule", "subtree", "refs", "init", "svn", "lfs",
    ]),
    hook("sendemail-validate", true, &["send-email"]),
];

/// Sub-commands that run no hook at all. Any other one that the table does not name may run each.
#[rustfmt::skip]
const WITHOUT: &[&str] = &[
    "annotate", "archive", "blame", "bugreport", "bundle", "cat-file", "check-attr", "check-ignore", "check-mailmap",
    "check-ref-format", "cherry", "clean", "column", "commit-graph", "commit-tree", "config", "count-objects",
    "credential", "credential-cache", "credential-store", "diagnose", "diff-files", "diff-index", "diff-tree",
    "difftool", "fast-export", "fetch-pack", "fmt-merge-msg", "for-each-ref", "for-each-repo", "format-patch", "fsck",
    "get-tar-commit-id", "grep", "hash-object", "help", "index-pack", "interpret-trailers", "log", "ls-files",
    "ls-remote", "ls-tree", "mailinfo", "mailsplit", "merge-base", "merge-file", "merge-tree", "mktag", "mktree",
    "multi-pack-index", "name-rev", "pack-objects", "pack-redundant", "patch-id", "prune", "prune-packed",
    "range-diff", "repack", "request-pull", "rerere", "rev-list", "rev-parse", "shortlog", "show", "show-branch",
    "show-index", "show-ref", "stripspace", "unpack-file", "unpack-objects", "update-server-info", "upload-archive",
    "upload-pack", "var", "verify-commit", "verify-pack", "verify-tag", "version", "whatchanged", "write-tree",
];

impl Interpreter<'_, '_> {
    /// Walks the hooks of the repository that this sub-command may run.
    pub(in super::super) fn hooks(&mut self, sub: &str, settings: &[InForce], is_checked: bool) {
        let is_listed = |hook: &Hook| hook.subs.contains(&sub);
        let is_unknown = !WITHOUT.contains(&sub) && !HOOKS.iter().any(is_listed);
        let may_run = |hook: &&Hook| (is_unknown || is_listed(hook)) && (is_checked || !hook.is_check);
        let mut hooks = HOOKS.iter().filter(may_run).peekable();
        if hooks.peek().is_none() {
            return;
        }
        let Some(directory) = self.hooks_directory(settings) else { return };
        // One look tells of most repositories that there is nothing to look for.
        if self.scene.world.look(&directory).is_err() && !self.state.disk.has_made(&directory) {
            let lies_there = |path: &str| Path::new(path).starts_with(&directory);
            if !self.state.disk.files().iter().any(|(path, _)| lies_there(path)) {
                return;
            }
        }
        for hook in hooks {
            let path = directory.join(hook.name);
            let written = path.to_str().and_then(|path| self.state.written(path)).is_some();
            if !written && self.scene.world.look(&path).is_err() && !self.may_have_filled(&path) {
                continue;
            }
            let step = format!("git hook {}", hook.name);
            self.unknown(Gap::Project, &step);
            let words = [Text::known(&path.to_string_lossy())];
            self.in_step(&step, "", |shell| {
                shell.forked(|shell| shell.hook(&words));
            });
        }
    }

    /// Where git looks for hooks: what the settings name is seen from the top of the work tree.
    fn hooks_directory(&self, settings: &[InForce]) -> Option<PathBuf> {
        let repository = self.repository()?;
        Some(match last(settings, "core.hookspath").filter(|path| !path.is_empty()) {
            Some(path) => toolgate_model::clean(&repository.top.join(self.tilde(path).raw())),
            None => repository.common.join("hooks"),
        })
    }

    /// A hook is the repository's own: what it does counts, that it is read does not.
    fn hook(&mut self, words: &[Text]) {
        let before = self.report.effects().len();
        let Some(path) = words.first() else { return };
        self.run_file(path.raw(), words, &[]);
        let name = path.raw().to_owned();
        let own = |effect: &Effect<'_>| matches!(effect, Effect::Use(Access::Read, target) if target.path.text() == name);
        self.report.retain_after(before, |effect| !own(effect));
        self.doubts.forget_told();
    }
}
