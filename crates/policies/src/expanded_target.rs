//! Denies or asks about files that a shell command changes by a word that bash expands first.
//!
//! Why: `> $OUT` writes to whatever place the variable names at run time. If its value is known, the place is judged like
//! any other. This policy is for people who want no expansions at all in such a word.
//!
//! Settings: `change` = `allow` (default), `ask` or `deny`, for a word with a variable, a substitution, a tilde, a glob
//! or braces where a file is written, deleted or linked to.
//!
//! Sees through: quotes that keep bash from expanding.
//! Does not see: words that are only read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Access, Facts, Finding, FindingKind, Policy, shorten};

use crate::response::Response;

/// `[policy.expanded-target]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ExpandedTarget {
    /// Where a file is written, deleted or linked to.
    change: Response,
}

impl Default for ExpandedTarget {
    fn default() -> Self {
        ExpandedTarget { change: Response::Allow }
    }
}

impl Policy for ExpandedTarget {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let Some(decision) = self.change.objection() else { return };
        for target in &facts.expanded {
            if target.access.changes() || target.access == Access::Link {
                let text = shorten(&target.text, 80);
                findings.push(
                    Finding::new("expanded-target", decision, FindingKind::Expansion)
                        .because(format!(
                            "{} `{text}`, a word that the shell expands first",
                            target.access.verb()
                        ))
                        .at("command", text)
                        .instead("write the path out"),
                );
            }
        }
    }
}
