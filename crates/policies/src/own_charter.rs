//! Denies an agent changing its own charter.
//!
//! Why: the charter says what the agent is there for and what it may not do. One who writes that has no bounds.
//!
//! Settings: `enabled` = whether it stands.
//!
//! Sees through: the shell, links, other letter case; a sub-agent acts for the agent that started it.
//! Does not see: a charter that its host puts together from other files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Decision, Facts, Finding, Kind, Policy, Reach, shorten};

use crate::project::{changed_in_project, team_path};

/// `[policy.own-charter]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OwnCharter {
    /// Whether it stands.
    enabled: bool,
}

impl Policy for OwnCharter {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let member = &facts.team.member;
        if !self.enabled || member.is_coordinator() {
            return;
        }
        for (used, place) in changed_in_project(facts) {
            let own = |below: &str| {
                member.names().any(|name| {
                    let charter = format!("agents/{name}/charter.md");
                    below == charter
                        || (used.reach == Reach::Below && charter.starts_with(&format!("{below}/")))
                })
            };
            if place.paths().filter_map(|path| team_path(path, facts.ground)).any(|below| own(&below)) {
                let path = place.lexical.to_string_lossy();
                findings.push(
                    Finding::new("own-charter", Decision::Deny, Kind::Charter)
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
