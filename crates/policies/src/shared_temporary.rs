//! Asks before an agent changes something in a shared temporary directory that was there before its session.
//!
//! Why: `/tmp` belongs to everybody on the machine. What an agent makes there is its own; what it finds there is
//! another agent's state, a person's build, or the socket of a service.
//!
//! Settings: `decision` = what happens to the call (`allow`, `ask`, `deny`). The policy never applies to what the session has
//! made itself, to the directory that `TMPDIR` names, or to the worktree.
//!
//! Sees through: other names of the same place, links, a search or deletion that begins above (`grep -r x /tmp`).
//! Does not see: what another agent has made since this session began. If the file system does not store when a file was
//! made, nothing counts as older.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Facts, Finding, FindingKind, Policy, shorten};

use crate::response::Response;

/// `[policy.shared-temporary]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SharedTemporary {
    /// What happens to a call that changes it.
    decision: Response,
}

impl Default for SharedTemporary {
    fn default() -> Self {
        SharedTemporary { decision: Response::Allow }
    }
}

impl Policy for SharedTemporary {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let Some(decision) = self.decision.objection() else { return };
        for used in facts.uses.iter().filter(|used| used.foreign) {
            let Ok(place) = &used.place else { continue };
            let path = place.lexical.to_string_lossy().into_owned();
            findings.push(
                Finding::new("shared-temporary", decision, FindingKind::Outside)
                    .because(format!(
                        "{} {} `{}`, which was in the shared temporary directory before this session",
                        facts.tool,
                        used.access.verb(),
                        shorten(&path, 100)
                    ))
                    .at(&used.param, path)
                    .instead("use a name of your own, from `mktemp -d`"),
            );
        }
    }
}
