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

use toolgate_model::{ConfigChange, Decision, Facts, Finding, FindingKind, Policy};

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
            Finding::new("hooks-off", Decision::Deny, FindingKind::Tampering)
                .because(reason.to_owned())
                .instead("fix the file, or run `toolgate uninstall` in a terminal"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{facts, objections};
    use toolgate_model::{Places, Team};

    #[test]
    fn settings_that_would_switch_our_hook_off_are_denied() {
        let (places, team) = (Places::default(), Team::default());
        let refused = |config| {
            let found = objections(&HooksOff, &Facts { config, ..facts("", &places, &team) });
            found.first().map(|finding| (finding.decision, finding.message()))
        };
        assert_eq!(refused(None), None);
        assert_eq!(refused(Some(ConfigChange::Harmless)), None);
        for (change, why) in [
            (ConfigChange::HooksOff, "switch all hooks off"),
            (ConfigChange::RegistrationGone, "no longer hold the registration"),
            (ConfigChange::Unreadable, "cannot read these settings"),
        ] {
            let (decision, message) = refused(Some(change)).unwrap();
            assert_eq!(decision, Decision::Deny);
            assert!(message.contains(why) && message.contains("fix the file"), "{message}");
        }
    }
}
