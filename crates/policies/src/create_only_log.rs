//! Denies changing a log of the team once it is written; a new one may be made.
//!
//! Why: a log is evidence of who did what. What can be edited afterwards proves nothing.
//!
//! Settings: `enabled` = whether it stands, `paths` = the directories of logs, by names below the team's directory.
//!
//! Sees through: the shell (`>`, `>>`, `sed -i`, `mv`, `rm`), links, other letter case.
//! Does not see: what a merge or a checkout of git brings in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Access, After, Change, Decision, Facts, Finding, Kind, Place, Policy, Use, shorten};

use crate::project::{changed_in_project, team_path};

/// `[policy.create-only-log]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CreateOnlyLog {
    /// Whether it stands.
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
    /// Whether what becomes of this file is to be looked at.
    pub(crate) fn seeks(&self, below: &str) -> bool {
        let in_log =
            |log: &String| below.strip_prefix(log.as_str()).is_some_and(|rest| rest.starts_with('/'));
        self.enabled && self.paths.iter().any(in_log)
    }

    /// Whether it makes a file that is not there.
    fn makes(used: &Use<'_>, place: &Place) -> bool {
        let edits = matches!(&used.change, Some(Change { after: After::Replaced(_), .. }));
        let is_directory =
            place.node.as_ref().is_some_and(|node| node.kind == toolgate_model::NodeKind::Directory);
        used.access != Access::Delete && !edits && (place.node.is_none() || is_directory)
    }
}

impl Policy for CreateOnlyLog {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        if !self.enabled {
            return;
        }
        for (used, place) in changed_in_project(facts) {
            let mut below = place.paths().filter_map(|path| team_path(path, facts.ground));
            let is_log = below.any(|below| {
                self.seeks(&below) || (used.access == Access::Delete && self.paths.contains(&below))
            });
            if is_log && !CreateOnlyLog::makes(used, place) {
                let path = place.lexical.to_string_lossy();
                findings.push(
                    Finding::new("create-only-log", Decision::Deny, Kind::Log)
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
