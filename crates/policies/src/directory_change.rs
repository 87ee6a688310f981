//! Denies or asks about changes of the working directory by how they are written: bare, back, expanded, globbed.
//!
//! Why: a host that keeps the directory between commands carries a bare `cd` on into the next command, and a word that
//! bash expands may lead anywhere. `outside-scope` judges where a change leads; this policy judges the word.
//!
//! Settings: `home` (bare `cd` and `cd ~`), `previous` (`cd -`, `popd`), `dynamic` (a variable, a substitution or a
//! tilde in the target), `glob` (`cd src/*`) = `allow` (default), `ask` or `deny`.
//!
//! Sees through: `cd --`, `pushd`, functions and scripts; a `cd` behind any separator.
//! Does not see: `git -C`, `make -C` and the like, which change nothing for the next command.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{DirectoryChange as Change, Facts, Finding, FindingKind, Policy, shorten};

use crate::response::Response;

/// `[policy.directory-change]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DirectoryChange {
    /// A bare `cd`, or `cd ~`.
    home: Response,
    /// `cd -` and `popd`.
    previous: Response,
    /// A target with a variable, a substitution or a tilde.
    dynamic: Response,
    /// A target that is a glob.
    glob: Response,
}

impl Default for DirectoryChange {
    fn default() -> Self {
        let open = Response::Allow;
        DirectoryChange { home: open, previous: open, dynamic: open, glob: open }
    }
}

impl DirectoryChange {
    /// The strictest of what is set for this change, and what it is about.
    fn strictest(&self, change: &Change) -> (Response, &'static str) {
        let parts = [
            (change.home, self.home, "leads home"),
            (change.previous, self.previous, "leads back to where the shell was before"),
            (change.dynamic, self.dynamic, "has a target that the shell expands first"),
            (change.glob, self.glob, "has a glob for its target"),
        ];
        let given =
            parts.into_iter().filter(|(given, ..)| *given).map(|(_, response, what)| (response, what));
        given.max_by_key(|(response, _)| *response).unwrap_or((Response::Allow, ""))
    }
}

impl Policy for DirectoryChange {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        for change in &facts.changes {
            let (response, what) = self.strictest(change);
            if let Some(decision) = response.objection() {
                let target = shorten(&change.text, 80);
                findings.push(
                    Finding::new("directory-change", decision, FindingKind::DirectoryChange)
                        .because(format!("`{}` {what}", format!("cd {target}").trim_end()))
                        .at("command", target)
                        .instead("name a directory inside the worktree, or leave out the `cd`"),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strictest_setting_that_applies_wins() {
        let policy =
            DirectoryChange { home: Response::Ask, dynamic: Response::Deny, ..DirectoryChange::default() };
        let change = |home, previous, dynamic| Change { home, previous, dynamic, ..Change::default() };
        for (change, response) in [
            (change(false, false, false), Response::Allow),
            (change(true, false, false), Response::Ask),
            (change(false, true, false), Response::Allow),
            (change(true, false, true), Response::Deny),
        ] {
            assert_eq!(policy.strictest(&change).0, response, "{change:?}");
        }
    }
}
