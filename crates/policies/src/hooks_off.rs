//! Refuses a change of the host's settings that would switch our hooks off.
//!
//! Why: one line in a repository (`"disableAllHooks": true`) silences every hook of some hosts at once, in the
//! middle of a session.
//!
//! Settings: none. This is the floor.
//!
//! Sees through: a settings file that the host would drop whole (a comment, a wrong type) with our
//! registration in it.
//! Does not see: settings that the host does not tell us of before it applies them. `toolgate doctor` does.

use toolgate_model::{ConfigChange, Decision, Facts, Finding, Kind, Policy};

pub(crate) struct HooksOff;

impl Policy for HooksOff {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let reason = match facts.config {
            None | Some(ConfigChange::Harmless) => return,
            Some(ConfigChange::HooksOff) => "these settings switch all hooks off",
            Some(ConfigChange::RegistrationGone) => {
                "these settings no longer hold the registration of toolgate"
            }
            Some(ConfigChange::Unreadable) => {
                "the host cannot read these settings, and would drop the registration of toolgate with them"
            }
        };
        findings.push(
            Finding::new("hooks-off", Decision::Deny, Kind::Tampering)
                .because(reason.to_owned())
                .instead("mend the file, or run `toolgate uninstall` in a terminal"),
        );
    }
}
