//! Denies or asks about writes that the user's own `[[rule]]` entries name: directories, file types.
//!
//! Why: every project has places that nobody should edit by hand. A rule about one should need no code.
//!
//! Settings: each `[[rule]]` has a `message` and `directories` (a write into one of that name, or below that
//! place, is refused), `extensions` (only these file types may be written), or `paths` (patterns as in
//! `[[scope]]`); `decision` = `deny` (default) or `ask`; `id` = a name for `[rules]` and the end of its messages.
//!
//! Sees through: links and `..`, since it sees where the path leads.
//! Does not see: file types by content. It looks only at names.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Facts, Finding, FindingKind, Places, Policy, shorten, work};

use crate::pattern::Probe;
use crate::response::{Response, deny};
use crate::rules::{OwnRule, RuleSwitches};
use crate::settings::Settings;

/// One `[[rule]]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its id, for `[rules]` and the end of its messages; left out: `rule-` and its place among these entries.
    #[serde(default)]
    pub id: String,
    /// What the agent is told.
    pub message: String,
    /// Names of directories that may not be written into, wherever they are.
    #[serde(default)]
    pub directories: Vec<String>,
    /// The only file endings that may be written, each with its dot.
    #[serde(default)]
    pub extensions: Vec<String>,
    /// Places that may not be written, as in `[[scope]]`.
    #[serde(default)]
    pub paths: Vec<String>,
    /// `deny` or `ask`.
    #[serde(default = "deny")]
    pub decision: Response,
}

impl OwnRule for Rule {
    const KIND: &'static str = "rule";
    fn id(&self) -> &str {
        &self.id
    }
}

pub(crate) struct CustomRules<'s> {
    rules: &'s [Rule],
    switches: &'s RuleSwitches,
}

impl<'s> CustomRules<'s> {
    pub(crate) fn of(settings: &'s Settings) -> CustomRules<'s> {
        CustomRules { rules: &settings.rule, switches: &settings.rules }
    }
}

impl CustomRules<'_> {
    /// The id of a rule whose `paths` deny writing this place.
    pub(crate) fn denies_place(&self, path: &Path, places: &Places) -> Option<String> {
        let probe = Probe::new(path, places);
        self.rules.iter().enumerate().find_map(|(index, rule)| {
            let id = rule.id_at(index);
            let is_denied = self.switches.get(&id).unwrap_or(rule.decision) == Response::Deny;
            let mut patterns = rule.paths.iter().filter(|_| is_denied);
            let is_meant = patterns.any(|pattern| probe.covered_by(pattern).is_some());
            is_meant.then(|| id.into_owned())
        })
    }
}

impl Policy for CustomRules<'_> {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        for (index, rule) in self.rules.iter().enumerate() {
            let id = rule.id_at(index);
            let response = self.switches.get(&id).unwrap_or(rule.decision);
            let Some(decision) = response.objection() else { continue };
            for used in facts.uses.iter().filter(|used| used.writes()) {
                let Ok(place) = &used.place else { continue };
                if work::is_spent() {
                    return;
                }
                let broken = |path: &Path| {
                    let things = rule.directories.len() + rule.extensions.len();
                    work::pay_for(path.as_os_str().len(), things);
                    let probe = Probe::new(path, facts.places);
                    let named =
                        |name: &String| path.components().any(|part| part.as_os_str() == name.as_str());
                    let ending = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
                    rule.directories.iter().any(named)
                        || rule.paths.iter().any(|pattern| probe.covered_by(pattern).is_some())
                        || (!rule.extensions.is_empty()
                            && !rule.extensions.iter().any(|end| ending.ends_with(end.as_str())))
                };
                if place.paths().any(broken) {
                    findings.push(
                        Finding::new("custom-rule", decision, FindingKind::Rule)
                            .rule(id.clone().into_owned())
                            .at(&used.param, place.lexical.to_string_lossy().into_owned())
                            .because(format!(
                                "a rule forbids `{}` here: {}",
                                facts.tool,
                                shorten(&rule.message, 200)
                            )),
                    );
                }
            }
        }
    }
}
