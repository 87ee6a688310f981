//! Denies removing a name from the team's registry; its status may change, and names may be added.
//!
//! Why: a name stays reserved for the agent that once had it. Otherwise old records would seem to be about another agent.
//!
//! Settings: `enabled` switches it on or off.
//!
//! Sees through: edits and whole new contents, both compared as JSON with what the file holds now; a name that is moved
//! elsewhere in the file, or given to another entry, counts as removed. A shell command that writes it is denied, since nobody can say what it leaves.
//! Does not see: what git brings in from another branch or a patch (`git merge`, `git apply`); what project code
//! writes; what a program does to the whole worktree (a formatter, `tar x`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{
    Access, After, Change, Decision, Facts, Finding, FindingKind, Json, Policy, Use, shorten,
};

use crate::project::{changed_in_project, takes_old_tree, team_path};

/// `[policy.registry-names]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RegistryNames {
    /// Whether it is on.
    enabled: bool,
}

/// The file, by its names below the team's directory.
const REGISTRY: &str = "casting/registry.json";

impl RegistryNames {
    /// Whether what becomes of this file is to be looked at.
    pub(crate) fn seeks(&self, below: &str) -> bool {
        self.enabled && below == REGISTRY
    }
}

/// What of the registry would be lost; `None` where nothing is.
fn lost(used: &Use<'_>) -> Option<String> {
    let Some(Change { before, after }) = &used.change else {
        return Some("nobody can say what it leaves".to_owned());
    };
    let Some(before) = before else { return None };
    if matches!(after, After::More | After::Unknown) {
        return Some("nobody can say what it leaves".to_owned());
    }
    if before.trim().is_empty() {
        return None;
    }
    let after = match after {
        After::Text(after) => after,
        // An edit of what is not there fails in most hosts, and is made to fit in some.
        After::Replaced(_) | After::More | After::Unknown => {
            return Some("nobody can say what it leaves".to_owned());
        }
    };
    // A key that stands twice is refused here too: readers do not agree on which of the two counts.
    let Ok(after) = serde_json::from_str::<Json<'_>>(after) else {
        return Some("it would not be JSON any more".to_owned());
    };
    // What was not JSON before had no names to lose.
    let before = serde_json::from_str::<Json<'_>>(before).ok()?;
    missing(&before, &after)
}

/// The first entry of `before` that `after` lacks: a member of an object two levels down at most, or an element of a list by
/// its name.
fn missing(before: &Json<'_>, after: &Json<'_>) -> Option<String> {
    let Json::Object(members) = before else { return gone(before, after) };
    for (name, value) in members {
        let Some(kept) = after.get(name) else {
            return Some(format!("`{}` would be gone", shorten(name, 60)));
        };
        if let Some(lost) = gone(value, kept).or_else(|| renamed(value, kept)) {
            return Some(lost);
        }
    }
    None
}

/// Whether an entry keeps its place and loses its name.
fn renamed(entry: &Json<'_>, kept: &Json<'_>) -> Option<String> {
    let name = given_name(entry).filter(|name| given_name(kept) != Some(name))?;
    Some(format!("the name `{}` would be another one", shorten(name, 60)))
}

fn gone(before: &Json<'_>, after: &Json<'_>) -> Option<String> {
    let lost = |name: &str| format!("the name `{}` would be gone", shorten(name, 60));
    match (before, after) {
        (Json::Object(members), after) => members.iter().find_map(|(name, entry)| match after.get(name) {
            None => Some(lost(name)),
            Some(kept) => renamed(entry, kept),
        }),
        (Json::List(entries), Json::List(kept)) => {
            let mut names = entries.iter().filter_map(name_of);
            names.find(|name| !kept.iter().any(|entry| name_of(entry) == Some(name))).map(lost)
        }
        (Json::List(_), _) => Some("the list of names would be gone".to_owned()),
        _ => None,
    }
}

fn name_of<'j>(entry: &'j Json<'_>) -> Option<&'j str> {
    given_name(entry).or(entry.text())
}

fn given_name<'j>(entry: &'j Json<'_>) -> Option<&'j str> {
    ["persistent_name", "name", "id"].iter().find_map(|key| entry.get(key)?.text())
}

impl Policy for RegistryNames {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        if !self.enabled {
            return;
        }
        for (used, place) in changed_in_project(facts) {
            let is_meant = |below: String| {
                let above = || REGISTRY.starts_with(&format!("{below}/")) || below.is_empty();
                below == REGISTRY || (takes_old_tree(used, place) && above())
            };
            if !place.paths().filter_map(|path| team_path(path, facts.places)).any(is_meant) {
                continue;
            }
            let lost = match used.access {
                Access::Delete => Some("all of its names would be gone".to_owned()),
                _ => lost(used),
            };
            if let Some(lost) = lost {
                let path = place.lexical.to_string_lossy();
                findings.push(
                    Finding::new("registry-names", Decision::Deny, FindingKind::Registry)
                        .because(format!(
                            "{} changes `{}`, and {lost}; a name stays reserved for whoever had it",
                            facts.tool,
                            shorten(&path, 120)
                        ))
                        .at(&used.param, path)
                        .instead("keep every entry and change its status, with the edit tool"),
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
    fn a_lost_name_is_found_in_every_form_of_registry() {
        let text = |text: &str| After::Text(text.to_owned());
        for (before, after, wanted) in [
            (r#"{"kane":{}}"#, text(r#"{"kane":{"status":"retired"},"ash":{}}"#), None),
            (r#"{"kane":{},"ash":{}}"#, text(r#"{"ash":{}}"#), Some("`kane` would be gone")),
            (r#"{"agents":{"kane":{}}}"#, text(r#"{"agents":{}}"#), Some("the name `kane` would be gone")),
            (r#"{"agents":["kane"]}"#, text(r#"{"agents":["ash"]}"#), Some("the name `kane` would be gone")),
            (r#"[{"name":"kane"}]"#, text(r#"[{"name":"ash"}]"#), Some("the name `kane` would be gone")),
            (r#"{"agents":["kane"]}"#, text(r#"{"agents":{}}"#), Some("the list of names would be gone")),
            (
                r#"{"1":{"name":"kane"}}"#,
                text(r#"{"1":{"name":"ash"}}"#),
                Some("the name `kane` would be another one"),
            ),
            (r#"{"kane":{}}"#, text(r#"{"kane":{},"kane":{}}"#), Some("it would not be JSON any more")),
            (r#"{"kane":{}}"#, text("{"), Some("it would not be JSON any more")),
            (r#"{"kane":{}}"#, After::More, Some("nobody can say what it leaves")),
            (r#"{"kane":{}}"#, After::Unknown, Some("nobody can say what it leaves")),
            ("not yet", text("{}"), None),
            (" \n", text("{}"), None),
        ] {
            let change = Some(Change { before: Some(before.to_owned()), after });
            let shown = format!("{change:?}");
            let write = Use { change, ..used(Access::Write, Ok(place("/r/.squad/casting/registry.json"))) };
            assert_eq!(lost(&write).as_deref(), wanted, "{shown}");
        }
    }
}
