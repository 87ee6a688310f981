//! Denies every change except appending to files that may only grow.
//!
//! Why: what a team decided and learned must stay as it was written. Rewriting an entry afterwards falsifies the history.
//!
//! Settings: `enabled` switches it on or off, `paths` = files and directories, by names below the team's directory (`*` stands
//! for any part of a name), `message` of your own. Entries of `[[team.file]]` with `append-only = true` count too.
//!
//! Sees through: edits and whole new contents, compared with what the file holds now; in shell commands `>>` and `tee -a`
//! pass, and `>`, `sed -i`, `cp`, `mv`, `rm` and the like do not, whatever they would write.
//! Does not see: what git brings in from another branch or a patch (`git merge`, `git apply`); what project code
//! writes; what a program does to the whole worktree (a formatter, `tar x`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Access, After, Change, Decision, Facts, Finding, FindingKind, Policy, Use, shorten};

use crate::project::{changed_in_project, takes_old_tree, team_path};
use crate::settings::Settings;
use crate::team::FileRule;

/// `[policy.append-only]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AppendOnly {
    /// Whether it is on.
    enabled: bool,
    /// Files and directories that may only grow.
    paths: Vec<String>,
}

impl Default for AppendOnly {
    fn default() -> Self {
        let paths = ["decisions.md", "agents/*/history.md", "casting/history.json"];
        AppendOnly { enabled: false, paths: paths.map(str::to_owned).into() }
    }
}

impl AppendOnly {
    /// Files and directories that may only grow, where that is asked for.
    pub(crate) fn files(&self) -> &[String] {
        if self.enabled { &self.paths } else { &[] }
    }

    /// Whether this path below the team's directory may only grow.
    pub(crate) fn seeks(&self, below: &str, files: &[FileRule]) -> bool {
        let named =
            |path: &String| FileRule { path: path.clone(), ..FileRule::default() }.about(below).is_some();
        let ruled = |rule: &FileRule| rule.append_only && rule.about(below).is_some();
        self.enabled && (self.paths.iter().any(named) || files.iter().any(ruled))
    }
}

/// The policy over its settings and the team's table.
pub(crate) struct GrowingFiles<'s> {
    settings: &'s AppendOnly,
    files: &'s [FileRule],
}

impl<'s> GrowingFiles<'s> {
    pub(crate) fn of(settings: &'s Settings) -> GrowingFiles<'s> {
        GrowingFiles { settings: &settings.policy.append_only, files: &settings.team.file }
    }
}

impl GrowingFiles<'_> {
    /// Whether a tree holds a file that may only grow, as far as its names say that.
    fn holds(&self, below: &str) -> bool {
        let named = |path: &String| FileRule { path: path.clone(), ..FileRule::default() }.is_below(below);
        let ruled = |rule: &FileRule| rule.append_only && rule.is_below(below);
        self.settings.paths.iter().any(named) || self.files.iter().any(ruled)
    }
}

/// Whether a change only adds at the end.
fn grows(used: &Use<'_>) -> bool {
    match (&used.access, &used.change) {
        (Access::Append, _) => true,
        (Access::Write, Some(Change { before, after })) => match (before, after) {
            (_, After::More) => true,
            (None, After::Text(_)) => true,
            (Some(before), After::Text(after)) => after.starts_with(before.as_str()),
            // The file is not there, or does not hold the text: the edit will fail. Should it not, this is what it does.
            // An empty text stands at no end.
            (before, After::Replaced(pairs)) => pairs
                .iter()
                .all(|(old, new)| new.starts_with(old.as_str()) && (before.is_none() || !old.is_empty())),
            (before, After::Unknown) => before.is_none(),
        },
        _ => false,
    }
}

impl Policy for GrowingFiles<'_> {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        if !self.settings.enabled {
            return;
        }
        for (used, place) in changed_in_project(facts) {
            let mut below = place.paths().filter_map(|path| team_path(path, facts.places));
            let is_meant = below.any(|below| {
                self.settings.seeks(&below, self.files) || (takes_old_tree(used, place) && self.holds(&below))
            });
            if is_meant && !grows(used) {
                let path = place.lexical.to_string_lossy();
                findings.push(
                    Finding::new("append-only", Decision::Deny, FindingKind::AppendOnly)
                        .because(format!(
                            "{} {} `{}`, which is append-only: what is in it stays",
                            facts.tool,
                            used.access.verb(),
                            shorten(&path, 120)
                        ))
                        .at(&used.param, path)
                        .instead("append to it: with `>>`, or an edit that keeps everything in it"),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{place, used};

    #[test]
    fn a_change_appends_only_if_it_keeps_all_that_was_there() {
        let text = |text: &str| After::Text(text.to_owned());
        let replaced = |old: &str, new: &str| After::Replaced(vec![(old.to_owned(), new.to_owned())]);
        for (before, after, wanted) in [
            (Some("a\n"), After::More, true),
            (None, text("new"), true),
            (Some("a\n"), text("a\nb\n"), true),
            (Some("a\n"), text("b\na\n"), false),
            (Some("a\n"), text(""), false),
            (Some("a\n"), replaced("a", "a and b"), true),
            (Some("a\n"), replaced("a", "b"), false),
            (Some("a\n"), replaced("", "b"), false),
            (None, replaced("", "b"), true),
            (Some("a\n"), After::Unknown, false),
            (None, After::Unknown, true),
        ] {
            let change = Some(Change { before: before.map(str::to_owned), after });
            let shown = format!("{change:?}");
            let write = Use { change, ..used(Access::Write, Ok(place("/r/.squad/decisions.md"))) };
            assert_eq!(grows(&write), wanted, "{shown}");
        }
        let alone = |access| grows(&used(access, Ok(place("/r/.squad/decisions.md"))));
        assert!(alone(Access::Append) && !alone(Access::Write) && !alone(Access::Delete));
    }
}
