//! What a policy, a gap or a rule may be set to.
//!
//! Settings have their own words, separate from the gate's decisions: not every decision is something that a person can
//! write into a file, and one word of the settings may stand for several decisions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::Decision;

/// What happens to a call that a policy, a gap or a rule is about. From the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Response {
    /// Nothing: it is not objected to.
    Allow,
    /// A person is asked.
    Ask,
    /// It is denied.
    Deny,
}

impl Response {
    /// The word for it in settings.
    pub fn word(self) -> &'static str {
        match self {
            Response::Allow => "allow",
            Response::Ask => "ask",
            Response::Deny => "deny",
        }
    }

    /// What is decided where there is something to object to; `None` where nothing is.
    pub fn objection(self) -> Option<Decision> {
        match self {
            Response::Allow => None,
            Response::Ask => Some(Decision::Ask),
            Response::Deny => Some(Decision::Deny),
        }
    }

    /// Whether it leaves the call alone.
    pub(crate) fn is_silent(self) -> bool {
        self.objection().is_none()
    }
}

/// For rules that deny where nothing else is said.
pub(crate) fn deny() -> Response {
    Response::Deny
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_response_has_a_word_and_an_objection() {
        for (response, word, decision) in [
            (Response::Allow, "allow", None),
            (Response::Ask, "ask", Some(Decision::Ask)),
            (Response::Deny, "deny", Some(Decision::Deny)),
        ] {
            assert_eq!((response.word(), response.objection()), (word, decision));
            assert_eq!(response.is_silent(), decision.is_none());
        }
        assert!(Response::Allow < Response::Ask && Response::Ask < Response::Deny);
    }
}
