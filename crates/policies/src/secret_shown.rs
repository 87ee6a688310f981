//! Asks before a file with a secret in it is read, in hosts that do not let a tool's output be changed.
//!
//! Why: elsewhere toolgate redacts a secret before the model sees it. In these hosts, the only chance is before the
//! read.
//!
//! Settings: `decision` = what happens to the call (`allow`, `ask`, `deny`). `[redaction]` says what counts as a secret;
//! email addresses do not count here.
//!
//! Sees through: other names of the file, links, `cat`, `grep`, redirections and everything else that reads a file by its name.
//! Does not see: files outside of the worktree, which other policies close; what comes after the first MiB of a file; files
//! that a search of a whole directory finds, or that a program opens by itself; the output of programs. toolgate does not ask about a
//! file that is only copied, counted or run. It asks about a copy that is read later.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Access, Facts, Finding, FindingKind, NodeKind, Places, Policy, Resolved, Use, shorten};

use crate::pattern::Probe;
use crate::response::Response;

/// `[policy.secret-shown]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SecretShown {
    /// What happens to a call that would show a secret.
    decision: Response,
}

impl Default for SecretShown {
    fn default() -> Self {
        SecretShown { decision: Response::Ask }
    }
}

/// Whether the content of what is used comes to the caller.
fn is_read(used: &Use<'_>) -> bool {
    matches!(used.access, Access::Read | Access::Search)
}

impl SecretShown {
    /// Whether secrets are to be looked for in the file that is used, where the host shows whatever is in it.
    pub(crate) fn seeks(&self, used: &Use<'_>, place: &Resolved, places: &Places) -> bool {
        let is_file = || place.node.as_ref().is_some_and(|node| node.kind == NodeKind::File);
        let is_inside = || Probe::new(&place.physical, places).covered_by("{worktree}").is_some();
        !self.decision.is_silent() && is_read(used) && is_file() && is_inside()
    }
}

impl Policy for SecretShown {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let Some(decision) = self.decision.objection() else { return };
        for used in facts.uses.iter().filter(|used| is_read(used)) {
            let (Ok(place), Some(secret)) = (&used.place, used.private.iter().find(|found| !found.email))
            else {
                continue;
            };
            let path = place.lexical.to_string_lossy();
            findings.push(
                Finding::new("secret-shown", decision, FindingKind::Secret)
                    .because(format!(
                        "{} reads `{}`, which holds {}, and this host shows the model everything that is read",
                        facts.tool,
                        shorten(&path, 120),
                        secret.about
                    ))
                    .at(&used.param, path)
                    .instead("ask a person what is in it, or have the secret moved into the environment"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{place, used};
    use toolgate_model::{Node, NodeId, Place};

    #[test]
    fn only_reads_of_regular_files_in_the_worktree_are_searched() {
        let places = Places { root: Some(Place::plain("/r")), ..Places::default() };
        let seeks = |policy: &SecretShown, access, path: &str, kind| {
            let id = NodeId { device: 0, inode: 1 };
            let node = Some(Node { kind, id, names: 1, changed: (0, 0) });
            let place = Resolved { node, ..place(path) };
            policy.seeks(&used(access, Ok(place.clone())), &place, &places)
        };
        let asks = SecretShown::default();
        assert!(seeks(&asks, Access::Read, "/r/a", NodeKind::File));
        assert!(seeks(&asks, Access::Search, "/r/a", NodeKind::File));
        assert!(!seeks(&asks, Access::Write, "/r/a", NodeKind::File));
        assert!(!seeks(&asks, Access::List, "/r/a", NodeKind::File));
        assert!(!seeks(&asks, Access::Search, "/r/a", NodeKind::Directory));
        assert!(!seeks(&asks, Access::Read, "/elsewhere/a", NodeKind::File));
        let allows = SecretShown { decision: Response::Allow };
        assert!(!seeks(&allows, Access::Read, "/r/a", NodeKind::File));
    }
}
