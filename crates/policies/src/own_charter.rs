//! Denies an agent changing its own charter.
//!
//! Why: the charter says what the agent is there for and what it may not do. An agent that can change it has no bounds.
//!
//! Settings: `enabled` switches it on or off.
//!
//! Sees through: the shell, links, other letter case; a helper in an agent's own session is that agent.
//! Does not see: a charter that its host puts together from other files; what git brings in from another branch or a patch;
//! what a program does to the whole worktree (a formatter, `tar x`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Decision, Facts, Finding, FindingKind, Member, Policy, plain_name, shorten};

use crate::project::{changed_in_project, takes_tree, team_path};

/// `[policy.own-charter]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OwnCharter {
    /// Whether it is on.
    enabled: bool,
}

/// Whether it is the member's own charter, or a tree that holds it.
fn is_own(below: &str, tree: bool, member: &Member) -> bool {
    let mut names = below.split('/').filter(|name| !name.is_empty());
    let agents = names.next().is_none_or(|name| name == "agents");
    let owner = names.next().is_none_or(|owner| member.names().any(|name| name == plain_name(owner)));
    let file = names.next();
    let named = member.names().next().is_some();
    named && agents && owner && file.map_or(tree, |file| file == "charter.md")
}

impl Policy for OwnCharter {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let member = &facts.team.member;
        if !self.enabled || member.is_coordinator() {
            return;
        }
        for (used, place) in changed_in_project(facts) {
            let tree = takes_tree(used);
            let mut below = place.paths().filter_map(|path| team_path(path, facts.places));
            if below.any(|below| is_own(&below, tree, member)) {
                let path = place.lexical.to_string_lossy();
                findings.push(
                    Finding::new("own-charter", Decision::Deny, FindingKind::Charter)
                        .because(format!(
                            "{} {} `{}`, the charter that this agent works under",
                            facts.tool,
                            used.access.verb(),
                            shorten(&path, 120)
                        ))
                        .at(&used.param, path)
                        .instead("ask the coordinator for the change"),
                );
            }
        }
    }
}
