//! Asks before an agent changes something in a shared temporary directory that was there before its session, or makes what programs obey there.
//!
//! Why: `/tmp` belongs to everybody on the machine. What an agent makes there is its own; what it finds there is
//! another agent's state, a person's build, or the socket of a service. And programs look for some names in all
//! directories above them: a `/tmp/.cargo` or a `/tmp/.git` counts for whatever anybody builds or unpacks below `/tmp`.
//!
//! Settings: `decision` = what happens to the call (`allow`, `ask`, `deny`). The policy never applies to what the session has
//! made itself, to the directory that `TMPDIR` names, or to the worktree.
//!
//! Sees through: other names of the same place, links, a search or deletion that begins above (`grep -r x /tmp`).
//! Does not see: what another agent has made since this session began. If the file system does not store when a file was
//! made, nothing counts as older.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Facts, Finding, FindingKind, InShared, Policy, shorten};

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
        for used in &facts.uses {
            let Ok(place) = &used.place else { continue };
            let is_heeded = || {
                let shared = InShared::temporary(&place.physical).filter(InShared::is_heeded_below);
                let is_in_root = facts.places.root.as_ref().is_some_and(|root| root.holds(&place.physical));
                used.access.changes() && shared.is_some() && !is_in_root
            };
            let which = if used.foreign {
                "which was in the shared temporary directory before this session"
            } else if is_heeded() {
                "which programs obey wherever they are started in the shared temporary directory"
            } else {
                continue;
            };
            let path = place.lexical.to_string_lossy().into_owned();
            findings.push(
                Finding::new("shared-temporary", decision, FindingKind::Outside)
                    .because(format!(
                        "{} {} `{}`, {which}",
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
