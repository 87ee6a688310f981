//! A person's word about one call: what it takes to approve one, and what an approval covers.
//!
//! Against whom: an approval that reaches further than what the person saw. It names the objections that were shown. Any other
//! objection stands, and so does the floor.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Decision, Finding, FindingKind};

/// How well it is known that a person approved, from the weakest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strength {
    /// Somebody typed at a terminal that no agent is known to have made.
    Terminal,
    /// Somebody typed their password, which a helper of root's had the system ask for.
    Password,
    /// Somebody touched a security key.
    Touch,
    /// Somebody else signed, with a key of their own.
    OtherPerson,
}

impl Strength {
    /// The word for it in settings and records.
    pub fn word(self) -> &'static str {
        match self {
            Strength::Terminal => "terminal",
            Strength::Password => "password",
            Strength::Touch => "touch",
            Strength::OtherPerson => "other-person",
        }
    }
}

/// What it takes to approve something, weakest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Require {
    /// A person at a terminal that no agent is known to have made.
    #[default]
    Terminal,
    /// The same, and their password, which the system asks for. Takes a managed installation.
    Password,
    /// A touch of a security key.
    Touch,
    /// The signature of another person.
    OtherPerson,
    /// Nobody can approve it.
    Nobody,
}

impl Require {
    /// The word for it in settings.
    pub fn word(self) -> &'static str {
        match self {
            Require::Terminal => "terminal",
            Require::Password => "password",
            Require::Touch => "touch",
            Require::OtherPerson => "other-person",
            Require::Nobody => "nobody",
        }
    }

    /// Whether an approval of this strength is enough.
    pub fn is_met_by(self, strength: Strength) -> bool {
        match self {
            Require::Terminal => true,
            Require::Password => strength >= Strength::Password,
            Require::Touch => strength >= Strength::Touch,
            Require::OtherPerson => strength >= Strength::OtherPerson,
            Require::Nobody => false,
        }
    }
}

/// `[approval]`: what it takes to let a call through, or to loosen anything else. No file asks for less than another does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ApprovalSettings {
    /// What it takes: `terminal`, `password`, `touch`, `other-person`; `nobody` switches approvals off.
    pub require: Require,
    /// The same for the objections of single rules and policies, by their ids: `npm-publish = "touch"`. More than `require`, never less.
    pub rules: BTreeMap<String, Require>,
}

impl ApprovalSettings {
    /// What it takes to let this objection pass.
    pub fn required_for(&self, policy: &str, rule: &str) -> Require {
        let own = [policy, rule].into_iter().filter_map(|id| self.rules.get(id)).max();
        self.require.max(own.copied().unwrap_or_default())
    }

    /// What it takes to loosen more than one call. `concerns`: whether what a rule or a policy with this id stops would pass then.
    pub fn required_to_loosen(&self, concerns: impl Fn(&str) -> bool) -> Require {
        let own = self.rules.iter().filter(|(id, _)| concerns(id)).map(|(_, require)| *require).max();
        self.require.max(own.unwrap_or_default())
    }

    /// The stricter of both, in everything.
    #[must_use]
    pub fn with(mut self, other: &ApprovalSettings) -> ApprovalSettings {
        self.require = self.require.max(other.require);
        for (id, require) in &other.rules {
            let own = self.rules.entry(id.clone()).or_default();
            *own = (*own).max(*require);
        }
        self
    }
}

/// An objection as an approval names it: by what it is about, not by its words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Objection {
    /// The policy's id.
    pub policy: String,
    /// The id of the rule behind it.
    pub rule: String,
    /// What sort of objection it is.
    pub kind: FindingKind,
    /// The parameter that it is about.
    pub param: String,
    /// The path that it is about.
    pub path: String,
    /// What it asks for.
    pub decision: Decision,
}

impl Objection {
    /// The objection that this finding makes.
    pub fn of(finding: &Finding) -> Objection {
        Objection {
            policy: finding.policy.to_owned(),
            rule: finding.rule.to_string(),
            kind: finding.kind,
            param: finding.param.clone(),
            path: finding.path.clone(),
            decision: finding.decision,
        }
    }

    /// Whether another one is about the same thing, whatever its parameter is called, and no stricter.
    pub fn is_about(&self, other: &Objection) -> bool {
        self.policy == other.policy
            && self.rule == other.rule
            && self.kind == other.kind
            && self.path == other.path
            && self.decision >= other.decision
    }

    /// Whether this finding objects to the same thing, and no more strictly.
    pub fn covers(&self, finding: &Finding) -> bool {
        let own = Objection::of(finding);
        self.param == own.param && self.is_about(&own)
    }
}

/// What a person has said about this very call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PersonsWord {
    /// It may run.
    Approved(Approval),
    /// It may not.
    Rejected {
        /// Who said so.
        by: String,
        /// What the agent is told.
        note: String,
    },
}

/// One use of an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// Who approved.
    pub by: String,
    /// How well that is known.
    pub strength: Strength,
    /// The code by which the call was approved.
    pub code: String,
    /// What tells this approval from all others.
    pub nonce: String,
    /// Which use of it this is, from 1; 0 where none was taken.
    pub number: u32,
    /// The digest of what was shown.
    pub shown: String,
    /// The objections that were shown.
    pub objections: Vec<Objection>,
}

impl Approval {
    /// Whether it lets this objection pass, where so much is required.
    pub(crate) fn lets_pass(&self, finding: &Finding, require: Require) -> bool {
        !finding.is_final
            && require.is_met_by(self.strength)
            && self.objections.iter().any(|shown| shown.covers(finding))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_asks_for_more_and_never_for_less() {
        let touch = ApprovalSettings { require: Require::Touch, ..ApprovalSettings::default() };
        let rules = BTreeMap::from([("npm-publish".to_owned(), Require::OtherPerson)]);
        let weak = ApprovalSettings { require: Require::Terminal, rules };
        for both in [touch.clone().with(&weak), weak.clone().with(&touch)] {
            assert_eq!(both.required_for("destructive", ""), Require::Touch);
            assert_eq!(both.required_for("destructive", "npm-publish"), Require::OtherPerson);
        }
        assert_eq!(weak.required_for("npm-publish", ""), Require::OtherPerson, "a policy by its id");
        let to_loosen = |id: &'static str| weak.required_to_loosen(move |own| own == id);
        assert_eq!(to_loosen("npm-publish"), Require::OtherPerson);
        assert_eq!(to_loosen("git-clean"), Require::Terminal);
        assert_eq!(touch.required_to_loosen(|_| true), Require::Touch);
    }

    #[test]
    fn nobody_is_met_by_no_strength() {
        for (require, strength, met) in [
            (Require::Terminal, Strength::Terminal, true),
            (Require::Password, Strength::Terminal, false),
            (Require::Password, Strength::Password, true),
            (Require::Password, Strength::Touch, true),
            (Require::Touch, Strength::Terminal, false),
            (Require::Touch, Strength::Password, false),
            (Require::Touch, Strength::OtherPerson, true),
            (Require::OtherPerson, Strength::Touch, false),
            (Require::Nobody, Strength::OtherPerson, false),
        ] {
            assert_eq!(require.is_met_by(strength), met, "{require:?} {strength:?}");
        }
    }
}
