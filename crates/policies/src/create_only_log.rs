//! Denies changing a team's log file once it is written; new ones may be made.
//!
//! Why: a log is evidence of who did what. A log that can be edited afterwards proves nothing.
//!
//! Settings: `enabled` switches it on or off, `paths` = the directories of logs, by names below the team's directory.
//!
//! Sees through: the shell (`>`, `>>`, `sed -i`, `mv`, `rm`), links, other letter case.
//! Does not see: what git brings in from another branch or a patch (`git merge`, `git apply`); what project code
//! writes; what a program does to the whole worktree (a formatter, `tar x`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{
    Access, After, Change, Decision, Facts, Finding, FindingKind, NodeKind, Policy, Resolved, Use, shorten,
};

use crate::project::{changed_in_project, takes_old_tree, team_path};

/// `[policy.create-only-log]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CreateOnlyLog {
    /// Whether it is on.
    enabled: bool,
    /// The directories of logs.
    paths: Vec<String>,
}

impl Default for CreateOnlyLog {
    fn default() -> Self {
        CreateOnlyLog { enabled: false, paths: vec!["orchestration-log".into(), "log".into()] }
    }
}

impl CreateOnlyLog {
    /// The directories of logs, where they are asked for.
    pub(crate) fn directories(&self) -> &[String] {
        if self.enabled { &self.paths } else { &[] }
    }

    /// Whether what becomes of this file is to be looked at.
    pub(crate) fn seeks(&self, below: &str) -> bool {
        let in_log = |log: &String| {
            below.strip_prefix(log.to_lowercase().as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        self.enabled && self.paths.iter().any(in_log)
    }

    /// Whether a tree is a directory of logs, or holds one.
    fn holds(&self, below: &str) -> bool {
        let is_log = |log: &String| {
            let log = log.to_lowercase();
            log == below
                || below.is_empty()
                || log.strip_prefix(below).is_some_and(|rest| rest.starts_with('/'))
        };
        self.paths.iter().any(is_log)
    }
}

/// Whether it makes a file that is not there, or puts one into a directory.
fn makes(used: &Use<'_>, place: &Resolved, tool: &str) -> bool {
    let replaces = matches!(&used.change, Some(Change { after: After::Replaced(_), .. }));
    let edits = replaces || tool.eq_ignore_ascii_case("edit");
    let is_file = place.node.as_ref().is_some_and(|node| node.kind != NodeKind::Directory);
    used.access != Access::Delete && !edits && !is_file
}

impl Policy for CreateOnlyLog {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        if !self.enabled {
            return;
        }
        for (used, place) in changed_in_project(facts) {
            let mut below = place.paths().filter_map(|path| team_path(path, facts.places));
            let old_tree = takes_old_tree(used, place);
            let is_log = below.any(|below| {
                (self.seeks(&below) && !makes(used, place, facts.tool)) || (old_tree && self.holds(&below))
            });
            if is_log {
                let path = place.lexical.to_string_lossy();
                findings.push(
                    Finding::new("create-only-log", Decision::Deny, FindingKind::Log)
                        .because(format!(
                            "{} {} `{}`, a log that is append-only: it is written once and stays",
                            facts.tool,
                            used.access.verb(),
                            shorten(&path, 120)
                        ))
                        .at(&used.param, path)
                        .instead("make a new file beside it"),
                );
            }
        }
    }
}
