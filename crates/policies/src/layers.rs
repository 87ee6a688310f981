//! From files to settings: profiles, and how one layer lies on another.
//!
//! A layer is a TOML table. Tables are merged key by key, lists of entries (`[[scope]]`, `[[rule]]`) grow,
//! anything else is replaced.

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::rules::{own_ids, unknown_ids};
use crate::{Settings, renamed};

macro_rules! profiles {
    ($($name:literal),* $(,)?) => {
        /// The shipped profiles: name and text.
        pub const PROFILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../profiles/", $name, ".toml")))),*];
    };
}
profiles!(
    "ask-user-limit",
    "declared-io",
    "ittybitty",
    "ittybitty-compat",
    "main-checkout",
    "pi-worktree",
    "pii-scrub",
    "read-only-roles",
    "reviewer-lockout",
    "secret-read-guard",
    "secret-scrub",
    "shell-blocklist",
    "squad",
    "tool-list",
    "worktree",
    "worktree-strict",
    "write-guard",
    "write-guard-resolve",
    "write-paths",
);

/// The text of a shipped profile.
pub fn profile(name: &str) -> Option<&'static str> {
    PROFILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// What is wrong with a layer, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerError {
    /// Where in the text, in bytes.
    pub at: Option<usize>,
    /// What is wrong.
    pub what: String,
}

impl LayerError {
    fn whole(what: String) -> LayerError {
        LayerError { at: None, what }
    }
}

/// One layer, read and checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// What it sets, by the names that keys have now.
    pub table: Table,
    /// What in it has another name now, for the person whose file it is: "`telling` is now `notices`".
    pub notes: Vec<String>,
    /// The ids in its `[rules]` that no shipped rule and no rule of this layer has. Only a project's layer may have any.
    pub unknown_rules: Vec<String>,
}

impl Layer {
    /// Takes out of `[rules]` what a project has no say in. The rules of the people above it, whose ids these are, are theirs:
    /// it can set one to `deny`, which adds an objection, and to nothing else. What nobody has a rule for says nothing.
    pub fn leave_rules_to(&mut self, theirs: &BTreeSet<String>) {
        let Some(Value::Table(rules)) = self.table.get_mut("rules") else { return };
        rules.retain(|id, response| {
            if theirs.contains(id) {
                response.as_str() == Some("deny")
            } else {
                !self.unknown_rules.iter().any(|unknown| unknown == id)
            }
        });
    }

    /// The ids of its own rules.
    pub fn own_rules(&self) -> BTreeSet<String> {
        ids_of(self.table.clone())
    }
}

/// Reads and checks one layer. Unknown keys and bad values are errors: a misspelt rule is no rule.
pub fn read(text: &str) -> Result<Table, LayerError> {
    read_noting(text).map(|layer| layer.table)
}

/// The same, and what in it has another name now.
pub fn read_noting(text: &str) -> Result<Layer, LayerError> {
    read_by(text, |_, _| Vec::new())
}

/// The same of a project's layer. Its `[rules]` may name rules that only the people above it have, and not everybody has them: an
/// id that is not known is noted, and no reason to deny every call.
pub fn read_of_project(text: &str) -> Result<Layer, LayerError> {
    read_by(text, unknown_ids)
}

/// Reads and checks a layer. `excused` gives the ids in `[rules]` that are no error though nobody knows them.
fn read_by(
    text: &str,
    excused: fn(&Settings, &BTreeSet<String>) -> Vec<String>,
) -> Result<Layer, LayerError> {
    let located = |what: String| LayerError { at: locate(text, &what), what };
    let spanned = |error: toml::de::Error| LayerError {
        at: error.span().map(|span| span.start),
        what: error.message().to_owned(),
    };
    let mut table: Table = toml::from_str(text).map_err(spanned)?;
    let notes = renamed::update(&mut table).map_err(located)?;
    // Where every key has its name of today, the text itself is read, since its errors know their places.
    let settings: Settings = if notes.is_empty() {
        toml::from_str(text).map_err(spanned)?
    } else {
        table.clone().try_into().map_err(|error: toml::de::Error| located(error.message().to_owned()))?
    };
    let mut elsewhere = ids_of_profiles(&settings);
    let unknown_rules = excused(&settings, &elsewhere);
    elsewhere.extend(unknown_rules.iter().cloned());
    settings.check_with(&elsewhere).map_err(located)?;
    if let Some(name) = &settings.profile
        && profile(name).is_none()
    {
        let names = PROFILES.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        return Err(located(format!("unknown profile `{name}`, expected one of {names}")));
    }
    Ok(Layer { table, notes, unknown_rules })
}

/// The ids of the rules that shipped profiles bring along, where these settings could mean one.
fn ids_of_profiles(settings: &Settings) -> BTreeSet<String> {
    if settings.rules.len() == 0 && settings.approval.rules.is_empty() {
        return BTreeSet::new();
    }
    PROFILES.iter().filter_map(|(_, text)| toml::from_str::<Table>(text).ok()).flat_map(ids_of).collect()
}

/// What a layer says by itself.
pub fn settings_of(table: &Table) -> Result<Settings, LayerError> {
    table.clone().try_into().map_err(|error: toml::de::Error| LayerError::whole(error.message().to_owned()))
}

/// What holds where no layer says anything.
pub fn settings_by_default() -> Table {
    Table::try_from(Settings::default()).unwrap_or_default()
}

/// The ids that a layer gives to rules of its own.
fn ids_of(table: Table) -> BTreeSet<String> {
    let settings: Settings = table.try_into().unwrap_or_default();
    own_ids(&settings).into_iter().map(str::to_owned).collect()
}

/// Where the first quoted word of a message stands in the text that it is about.
fn locate(text: &str, what: &str) -> Option<usize> {
    what.split('`').nth(1).and_then(|word| text.find(word))
}

/// The profile that the layers lie on: the last layer that names one chooses it, unless one is `fixed`.
pub fn chosen_profile<'n>(fixed: Option<&'n str>, default: &'n str, layers: &[&'n Table]) -> &'n str {
    let chosen = layers.iter().rev().find_map(|layer| layer.get("profile")?.as_str());
    fixed.or(chosen).unwrap_or(default)
}

/// Lays layers on top of their profile.
pub fn stack(fixed: Option<&str>, default: &str, layers: &[&Table]) -> Result<Settings, LayerError> {
    let name = chosen_profile(fixed, default, layers);
    let mut table = profile_table(name)?;
    for layer in layers {
        merge(&mut table, layer);
    }
    table.insert("profile".to_owned(), Value::String(name.to_owned()));
    let mut settings: Settings =
        table.try_into().map_err(|error: toml::de::Error| LayerError::whole(error.message().to_owned()))?;
    // INVARIANT: no layer asks for less of a person than another does, trusted or not.
    for layer in layers {
        settings.approval = settings.approval.with(&settings_of(layer)?.approval);
    }
    Ok(settings)
}

/// A profile, with the one that it builds on below it.
pub fn profile_table(name: &str) -> Result<Table, LayerError> {
    let text = profile(name).ok_or_else(|| LayerError::whole(format!("unknown profile `{name}`")))?;
    let own = read(text)?;
    // INVARIANT: shipped profiles build on at most one other; a test walks them all.
    match own.get("profile").and_then(Value::as_str) {
        Some(below) => {
            let mut table = read(profile(below).unwrap_or_default())?;
            merge(&mut table, &own);
            Ok(table)
        }
        None => Ok(own),
    }
}

fn merge(below: &mut Table, above: &Table) {
    for (key, value) in above {
        match (below.get_mut(key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => merge(below, above),
            (Some(Value::Array(below)), Value::Array(above)) if above.iter().any(Value::is_table) => {
                below.extend(above.iter().cloned());
            }
            _ => {
                below.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_can_be_read() {
        for (name, text) in PROFILES {
            stack(Some(name), "", &[]).unwrap_or_else(|error| panic!("{name}: {error:?}"));
            assert!(text.starts_with("# "), "{name} says what it is for");
        }
        assert!(PROFILES.is_sorted());
    }

    #[test]
    fn lists_of_entries_grow_and_values_are_replaced() {
        let layer = read("grant = false\n[[scope]]\npath = \"/x\"\nrights = \"read\"\n").unwrap();
        let alone = stack(Some("ittybitty"), "", &[]).unwrap();
        let both = stack(Some("ittybitty"), "", &[&layer]).unwrap();
        assert_eq!(both.scope.len(), alone.scope.len() + 1);
        assert!(alone.grant.reaches("claude-code", false) && !both.grant.reaches("claude-code", false));
    }

    #[test]
    fn no_layer_asks_for_less_of_a_person_than_another() {
        let strict = read("[approval]\nrequire = \"touch\"\nrules.git-clean = \"other-person\"\n").unwrap();
        let weak = read("[approval]\nrequire = \"terminal\"\nrules.git-clean = \"touch\"\n").unwrap();
        for layers in [[&strict, &weak], [&weak, &strict]] {
            let settings = stack(None, "worktree", &layers).unwrap();
            assert_eq!(settings.approval.required_for("destructive", "").word(), "touch");
            assert_eq!(settings.approval.required_for("destructive", "git-clean").word(), "other-person");
        }
        let error = read("[approval]\nrules.git-claen = \"touch\"\n").unwrap_err();
        assert!(error.what.contains("git-claen"), "{error:?}");
    }

    #[test]
    fn a_misspelt_setting_is_an_error_with_its_place() {
        for (text, at, word) in [
            ("grant = true\nscop = []\n", 13, "scop"),
            ("[[scope]]\npath = \"src\"\nrights = \"read\"\n", 18, "must begin with"),
            ("[[scope]]\npath = \"/a/../b\"\nrights = \"read\"\n", 18, "`..`"),
            ("profile = \"worktre\"\n", 11, "unknown profile"),
            ("[policy.gate-tampering]\nenabled = false\n", 8, "gate-tampering"),
            ("[[rule]]\nmessage = \"x\"\n", 20, "names no"),
            ("[policy.secret-file]\nopen = [\"a/.env\"]\n", 30, "must begin with"),
            ("[policy.secret-file]\nopen = [\"*\"]\n", 30, "names no file"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.what.contains(word), "{text}: {error:?}");
            assert_eq!(error.at, Some(at), "{text}: {error:?}");
        }
    }
}
