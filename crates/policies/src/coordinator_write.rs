//! Denies a coordinator every write in the project except the team's own files: writing is its agents' work.
//!
//! Why: a coordinator that also does the work reviews nobody, does not track who did what, and fills its context with
//! details that it does not need.
//!
//! Settings: `enabled` switches it on or off.
//!
//! Sees through: the shell, links, `..`. A sub-agent of its session is an agent, and not the coordinator.
//! Does not see: what it puts into a sub-agent's prompt, and what project code writes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Decision, Facts, Finding, FindingKind, Policy, shorten};

use crate::project::{changed_in_project, is_built};

/// `[policy.coordinator-write]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CoordinatorWrite {
    /// Whether it is on.
    enabled: bool,
}

impl Policy for CoordinatorWrite {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        if !self.enabled || !facts.team.member.is_coordinator() {
            return;
        }
        for (used, place) in changed_in_project(facts) {
            let of_team = place.paths().all(|path| facts.places.team.iter().any(|team| team.holds(path)));
            if of_team || is_built(used, place) {
                continue;
            }
            let path = place.lexical.to_string_lossy();
            findings.push(
                Finding::new("coordinator-write", Decision::Deny, FindingKind::Coordinator)
                    .because(format!(
                        "{} {} `{}`, and a coordinator does not do the work itself",
                        facts.tool,
                        used.access.verb(),
                        shorten(&path, 120)
                    ))
                    .at(&used.param, path)
                    .instead("hand the work to an agent; the team's own files are open"),
            );
        }
    }
}
