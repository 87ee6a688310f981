//! Denies reading a directory as if it were a file.
//!
//! Why: the read tool of some hosts fails on a directory in a way that makes the model try again and again. If the
//! denial says what to do instead, the model goes on at once.
//!
//! Settings: `enabled` (off by default).
//!
//! Sees through: links to directories, any spelling of the path.
//! Does not see: anything else. It is guidance, not protection.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Access, Decision, Facts, Finding, FindingKind, NodeKind, Policy, shorten};

/// `[policy.directory-read]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DirectoryRead {
    /// Whether it is asked.
    enabled: bool,
}

impl Policy for DirectoryRead {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        for used in facts.uses.iter().filter(|used| self.enabled && used.access == Access::Read) {
            let Ok(place) = &used.place else { continue };
            if place.node.as_ref().is_some_and(|node| node.kind == NodeKind::Directory) {
                findings.push(
                    Finding::new("directory-read", Decision::Deny, FindingKind::Directory)
                        .at(&used.param, place.lexical.to_string_lossy().into_owned())
                        .because(format!(
                            "`{}` is a directory",
                            shorten(&place.lexical.to_string_lossy(), 120)
                        ))
                        .instead("use bash ls instead"),
                );
            }
        }
    }
}
