//! Denies taking a name out of the team's registry; its status may change, and names may be added.
//!
//! Why: a name stays reserved for the agent that once had it, or else old records would speak of another one.
//!
//! Settings: `enabled` = whether it stands.
//!
//! Sees through: edits and whole new contents, both read as JSON with what stands in the file now; a name that is moved
//! elsewhere in the file is taken out. A shell command that writes it is denied, since nobody can say what it leaves.
//! Does not see: what a merge or a checkout of git brings in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{
    Access, After, Change, Decision, Facts, Finding, Json, Kind, Policy, Reach, Use, shorten,
};

use crate::project::{changed_in_project, team_path};

/// `[policy.registry-names]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RegistryNames {
    /// Whether it stands.
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
    if before.trim().is_empty() {
        return None;
    }
    let after = match after {
        After::Text(after) => after,
        // The edit will fail: what it looks for is not there.
        After::Replaced(_) => return None,
        After::More | After::Unknown => return Some("nobody can say what it leaves".to_owned()),
    };
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
        if let Some(lost) = gone(value, kept) {
            return Some(lost);
        }
    }
    None
}

fn gone(before: &Json<'_>, after: &Json<'_>) -> Option<String> {
    let lost = |name: &str| format!("the name `{}` would be gone", shorten(name, 60));
    match (before, after) {
        (Json::Object(members), after) => {
            members.iter().find(|(name, _)| after.get(name).is_none()).map(|(name, _)| lost(name))
        }
        (Json::List(entries), Json::List(kept)) => {
            let mut names = entries.iter().filter_map(name_of);
            names.find(|name| !kept.iter().any(|entry| name_of(entry) == Some(name))).map(lost)
        }
        (Json::List(_), _) => Some("the list of names would be gone".to_owned()),
        _ => None,
    }
}

fn name_of<'j>(entry: &'j Json<'_>) -> Option<&'j str> {
    ["persistent_name", "name", "id"].iter().find_map(|key| entry.get(key)?.text()).or(entry.text())
}

impl Policy for RegistryNames {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        if !self.enabled {
            return;
        }
        for (used, place) in changed_in_project(facts) {
            let is_meant = |below: String| {
                let above = || REGISTRY.starts_with(&format!("{below}/")) || below.is_empty();
                let tree = used.reach == Reach::Below || used.access == Access::Delete;
                below == REGISTRY || (tree && above())
            };
            if !place.paths().filter_map(|path| team_path(path, facts.ground)).any(is_meant) {
                continue;
            }
            let lost = match used.access {
                Access::Delete => Some("all of its names would be gone".to_owned()),
                _ => lost(used),
            };
            if let Some(lost) = lost {
                let path = place.lexical.to_string_lossy();
                findings.push(
                    Finding::new("registry-names", Decision::Deny, Kind::Registry)
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
