//! Denies writing git's own files by a file tool: hooks, config, the pointer to the git directory, refs.
//!
//! Why: a hook, `core.fsmonitor` or a changed `.git` pointer runs code the next time a person types
//! `git status`, where no gate sees it. git itself writes these files when it is asked to commit.
//!
//! Settings: `enabled`.
//!
//! A lock that a dead process left in the session's own part of the repository may be deleted (`rm .git/index.lock`).
//!
//! Sees through: links, `..`, `.GIT` and invisible characters.
//! Does not see: `core.hooksPath` that points to a directory of the worktree. toolgate reads the hooks there when git would run them.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Decision, Facts, Finding, FindingKind, Policy, Use, shorten};

use crate::pattern::Probe;

/// `[policy.git-internals-write]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GitInternalsWrite {
    /// Whether it is asked.
    enabled: bool,
}

impl Default for GitInternalsWrite {
    fn default() -> Self {
        GitInternalsWrite { enabled: true }
    }
}

/// Notes in there that run nothing and that people do edit.
const HARMLESS: &[&str] =
    &["**/.git/info/exclude", "**/.git/description", "**/.git/COMMIT_EDITMSG", "**/.git/MERGE_MSG"];

impl Policy for GitInternalsWrite {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        if !self.enabled {
            return;
        }
        let internal = |path: &Path| {
            let probe = Probe::new(path, facts.places);
            probe.forbidden_by("**/.git")
                && !HARMLESS.iter().any(|harmless| probe.covered_by(harmless).is_some())
        };
        let may_harm = |used: &&Use<'_>| used.writes() && !used.own_lock && !used.deletes_nothing();
        for used in facts.uses.iter().filter(may_harm) {
            let Ok(place) = &used.place else { continue };
            if place.paths().any(internal) {
                findings.push(
                    Finding::new("git-internals-write", Decision::Deny, FindingKind::GitInternals)
                        .at(&used.param, place.lexical.to_string_lossy().into_owned())
                        .because(format!(
                            "`{}` is git's own file",
                            shorten(&place.lexical.to_string_lossy(), 120)
                        ))
                        .instead("change it through git, or have a person do it")
                        // A repository that the command itself makes is its own.
                        .held(used.is_held()),
                );
            }
        }
    }
}
