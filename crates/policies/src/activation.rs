//! When the gate is active, and what is said where it is not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{ActivationState, Decision, Facts, Finding, FindingKind, Places, Policy};

use crate::settings::Settings;

/// When the gate is active. The floor always is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Activation {
    /// The host's modes in which it is active; empty: all.
    pub modes: Vec<String>,
    /// Whether it is inactive in a project that the host's user has not trusted.
    pub skip_untrusted: bool,
    /// The environment variable that names the root; without it the gate is inactive. Empty: none.
    pub root_env: String,
}

/// Says in the verdict, and with it in the log, that the gate is inactive: that is a state which one can see, and never
/// a silence.
pub struct Inactive(&'static str);

impl Policy for Inactive {
    fn judge(&self, _: &Facts<'_>, findings: &mut Vec<Finding>) {
        findings.push(
            Finding::new("activation", Decision::Allow, FindingKind::Inactive)
                .because(format!("not judged: {}", self.0)),
        );
    }
}

impl Settings {
    /// Why the gate is inactive for this call, if it is.
    pub fn inactive(&self, facts: &Facts<'_>) -> Option<&'static Inactive> {
        self.inactive_in(&facts.activation, facts.places)
    }

    /// The same, before anything is known of the call itself.
    pub fn inactive_in(&self, state: &ActivationState, places: &Places) -> Option<&'static Inactive> {
        const MODE: &Inactive = &Inactive("the host's mode is one in which this profile is inactive");
        const TRUST: &Inactive =
            &Inactive("the project is not trusted, and this profile is active in trusted ones only");
        const ROOT: &Inactive = &Inactive("the variable that names the root is not set to a directory");
        const PAUSED: &Inactive =
            &Inactive("a person has switched the gate off for a while (`toolgate pause`)");
        let activation = &self.activation;
        let other_mode = |mode: &String| !activation.modes.is_empty() && !activation.modes.contains(mode);
        if state.paused {
            Some(PAUSED)
        } else if state.mode.as_ref().is_some_and(other_mode) {
            Some(MODE)
        } else if activation.skip_untrusted && state.trusted == Some(false) {
            Some(TRUST)
        } else if !activation.root_env.is_empty() && places.root.is_none() {
            Some(ROOT)
        } else {
            None
        }
    }
}
