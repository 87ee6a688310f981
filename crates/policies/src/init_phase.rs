//! Denies every write in the project until the user has agreed to the proposed team.
//!
//! Why: an unwanted team is hard to get rid of once its files are in the repository.
//!
//! Settings: `enabled` switches it on or off. The phase is set by `toolgate phase`, by `--phase` in the hook's command line, or, with
//! `init = true` in `[team]`, follows from a missing roster. What the user then says in the session counts as agreement, unless it
//! refuses or begins with a word that asks for a change. The answer to a question is agreement if it begins with a yes.
//!
//! Sees through: the shell, MCP tools, links; tools by which an agent could later speak in its user's name. Reading is open, and so are commits and branches.
//! Does not see: files outside of the project, which other policies judge; what project code writes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Decision, Facts, Finding, FindingKind, Policy, TeamPhase, shorten};

use crate::project::changed_in_project;

/// What they schedule comes to us as if the user had said it.
const SCHEDULERS: &[&str] = &["CronCreate", "ScheduleWakeup"];

/// `[policy.init-phase]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct InitPhase {
    /// Whether it is on.
    enabled: bool,
}

impl InitPhase {
    /// Whether it is on.
    pub(crate) fn is_on(&self) -> bool {
        self.enabled
    }
}

impl Policy for InitPhase {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        if !self.enabled || facts.team.phase != TeamPhase::Proposed {
            return;
        }
        if SCHEDULERS.contains(&facts.tool) {
            findings.push(
                Finding::new("init-phase", Decision::Deny, FindingKind::TeamPhase)
                    .because(format!(
                        "{} speaks for the user later, and the user has not agreed to the team",
                        facts.tool
                    ))
                    .instead("propose the team and wait for the user's answer"),
            );
        }
        for (used, place) in changed_in_project(facts) {
            let path = place.lexical.to_string_lossy();
            findings.push(
                Finding::new("init-phase", Decision::Deny, FindingKind::TeamPhase)
                    .because(format!(
                        "{} {} `{}` before the user has agreed to the team",
                        facts.tool,
                        used.access.verb(),
                        shorten(&path, 120)
                    ))
                    .at(&used.param, path)
                    .instead("propose the team and wait for the user's answer"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{facts, objections};
    use toolgate_model::{Places, Team};

    #[test]
    fn schedulers_are_denied_until_the_user_has_agreed() {
        let places = Places::default();
        let denied = |enabled, phase, tool| {
            let team = Team { phase, ..Team::default() };
            !objections(&InitPhase { enabled }, &facts(tool, &places, &team)).is_empty()
        };
        for tool in SCHEDULERS {
            assert!(denied(true, TeamPhase::Proposed, tool), "{tool}");
            assert!(!denied(true, TeamPhase::Agreed, tool), "{tool}");
            assert!(!denied(true, TeamPhase::Working, tool), "{tool}");
            assert!(!denied(false, TeamPhase::Proposed, tool), "{tool}");
        }
        assert!(!denied(true, TeamPhase::Proposed, "Read"));
    }
}
