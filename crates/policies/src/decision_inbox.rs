//! Denies agents writing the team's decisions themselves: they put proposals into the inbox.
//!
//! Why: several agents that write one file overwrite each other, and a proposal becomes a decision only when the coordinator
//! writes it down.
//!
//! Settings: `enabled` switches it on or off, `keepers` = names and roles that may add to them, besides the coordinator.
//!
//! Sees through: the shell, links, other letter case.
//! Does not see: what git brings in from another branch or a patch (`git merge`, `git apply`); what project code
//! writes; what a program does to the whole worktree (a formatter, `tar x`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Decision, Facts, Finding, FindingKind, Policy, shorten};

use crate::project::{changed_in_project, takes_tree, team_path};

/// `[policy.decision-inbox]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DecisionInbox {
    /// Whether it is on.
    enabled: bool,
    /// Names and roles, beside the coordinator, that may add to the decisions: who merges the inbox.
    keepers: Vec<String>,
}

impl Policy for DecisionInbox {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let member = &facts.team.member;
        let keeps = member.is_coordinator() || self.keepers.iter().any(|keeper| member.is(keeper));
        if !self.enabled || !member.is_worker() || keeps {
            return;
        }
        for (used, place) in changed_in_project(facts) {
            let mut below = place.paths().filter_map(|path| team_path(path, facts.places));
            let tree = takes_tree(used);
            if below.any(|below| below == "decisions.md" || (tree && below.is_empty())) {
                let path = place.lexical.to_string_lossy();
                findings.push(
                    Finding::new("decision-inbox", Decision::Deny, FindingKind::Decisions)
                        .because(format!(
                            "{} {} `{}`, which the coordinator keeps",
                            facts.tool,
                            used.access.verb(),
                            shorten(&path, 120)
                        ))
                        .at(&used.param, path)
                        .instead("write a file of your own to decisions/inbox/ instead"),
                );
            }
        }
    }
}
