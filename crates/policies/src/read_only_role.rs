//! Denies writes by agents whose role is to read: researchers, reviewers, testers.
//!
//! Why: a reviewer that edits what it reviews does not review.
//!
//! Settings: `roles` = kinds of agents, as the host names them; case and `_` against `-` do not matter.
//!
//! Sees through: a role given by the agent's kind or id, by the hook's command line (`--role`, `--agent`) or by
//! `toolgate agent add`.
//! Does not see: what the agent calls itself. Only its host and people say what its role is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Decision, Facts, Finding, FindingKind, Policy};

/// `[policy.read-only-role]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ReadOnlyRole {
    /// Kinds of agents that only read.
    pub roles: Vec<String>,
}

impl Policy for ReadOnlyRole {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        if self.roles.is_empty() {
            return;
        }
        let plain = |name: &str| name.trim().to_lowercase().replace('_', "-");
        let held = |name: &str| self.roles.iter().any(|role| plain(role) == plain(name));
        let told = facts.agent.words();
        let member = &facts.team.member;
        let registered = [&member.role, &member.name].into_iter().map(String::as_str).chain(member.names());
        let Some(role) = told.chain(registered).find(|name| !name.is_empty() && held(name)) else {
            return;
        };
        for used in facts.uses.iter().filter(|used| used.writes()) {
            findings.push(
                Finding::new("read-only-role", Decision::Deny, FindingKind::Role)
                    .at(&used.param, used.text.escape_debug().to_string())
                    .because(format!(
                        "an agent in the role `{}` is read-only; {} changes files",
                        plain(role),
                        facts.tool
                    ))
                    .instead("hand the change to an agent that may write"),
            );
        }
    }
}
