//! Limits the number of questions to the user: denies further ones, or answers them in the user's place.
//!
//! Why: an agent that asks about everything is no help, and a user who answers everything stops reading.
//!
//! Settings: `max` = questions in a session (by default any number), `answer` = the answer after that, in hosts that allow it,
//! and the reason of a denial in others; `shortest` = an answer of fewer letters counts as brief, and `brief` is added to it.
//! `over` = `answer` or `deny`.
//!
//! Sees through: the question tools of all hosts. The count belongs to the session, survives restarts, and is exact even if calls
//! come at the same time.
//! Does not see: questions that an agent writes into its text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Decision, Facts, Finding, FindingKind, Phase, Policy};

/// `[policy.ask-user-limit]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AskUserLimit {
    /// Questions in a session.
    max: Option<u32>,
    /// What happens to one question more.
    over: Over,
    /// What it is answered with.
    answer: String,
    /// An answer of fewer letters is brief.
    shortest: u32,
    /// What is added to a brief answer.
    brief: String,
}

/// What happens to a question beyond the limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Over {
    /// toolgate answers it in the user's place.
    #[default]
    Answer,
    /// It is denied.
    Deny,
}

impl Default for AskUserLimit {
    fn default() -> Self {
        AskUserLimit {
            max: None,
            over: Over::Answer,
            answer: "Proceed with your best judgment \u{2014} question limit reached.".into(),
            shortest: 0,
            brief: " (brief response \u{2014} proceed with best judgment if ambiguous)".into(),
        }
    }
}

impl AskUserLimit {
    /// Whether questions are counted at all.
    pub(crate) fn counts(&self) -> bool {
        self.max.is_some()
    }

    /// A brief answer as it is passed on; `None` where it stays as it is.
    pub(crate) fn spelled_out(&self, answer: &str) -> Option<String> {
        let brief =
            !self.brief.is_empty() && answer.chars().count() < usize::try_from(self.shortest).unwrap_or(0);
        (brief && !answer.ends_with(&self.brief)).then(|| format!("{answer}{}", self.brief))
    }
}

impl Policy for AskUserLimit {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let asks = facts.asks_user && facts.phase == Phase::Before;
        let (true, Some(max)) = (asks, self.max) else { return };
        let asked = facts.team.history.asked;
        if asked < max {
            return;
        }
        let finding = Finding::new("ask-user-limit", Decision::Deny, FindingKind::Question)
            .because(format!("the user was asked {asked} questions in this session, and the limit is {max}"))
            .instead(self.answer.clone())
            .detail(format!("{asked}/{max}"));
        findings.push(match self.over {
            Over::Answer => finding.answering(self.answer.clone()),
            Over::Deny => finding,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{facts, objections};
    use toolgate_model::{History, Places, Team};

    #[test]
    fn the_question_after_the_last_one_is_answered_or_denied() {
        let places = Places::default();
        let judged = |limit: &AskUserLimit, asked, asks_user| {
            let team = Team { history: History { asked, ..History::default() }, ..Team::default() };
            objections(limit, &Facts { asks_user, ..facts("AskUserQuestion", &places, &team) }).pop()
        };
        let three = AskUserLimit { max: Some(3), ..AskUserLimit::default() };
        assert_eq!(judged(&three, 2, true), None);
        assert_eq!(judged(&three, 9, false), None, "no question");
        assert_eq!(judged(&AskUserLimit::default(), 9, true), None, "no limit");
        let answered = judged(&three, 3, true).unwrap();
        assert_eq!((answered.decision, answered.detail.as_str()), (Decision::Deny, "3/3"));
        assert_eq!(answered.answer.as_deref(), Some(three.answer.as_str()));
        assert!(answered.message().contains("asked 3 questions"), "{}", answered.message());
        // In words that the agent can go on with, also where nobody answers in the user's stead.
        let denied = judged(&AskUserLimit { over: Over::Deny, ..three.clone() }, 4, true).unwrap();
        assert_eq!((denied.answer, denied.detail.as_str()), (None, "4/3"));
        assert_eq!(denied.instead, three.answer);
        assert!(three.counts() && !AskUserLimit::default().counts());
    }

    #[test]
    fn a_brief_answer_is_explained_once() {
        let limit = AskUserLimit { shortest: 10, ..AskUserLimit::default() };
        let whole = limit.spelled_out("yes").unwrap();
        assert_eq!(whole, "yes (brief response \u{2014} proceed with best judgment if ambiguous)");
        assert_eq!(limit.spelled_out(&whole), None);
        assert_eq!(limit.spelled_out("use postgres"), None);
        assert_eq!(AskUserLimit::default().spelled_out(""), None);
    }
}
