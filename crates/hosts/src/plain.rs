//! The plain answer: for hosts whose own code keeps a `toolgate serve`, and for everyone without a page here.

use serde::Serialize;
use serde_json::value::RawValue;
use toolgate_model::{Call, Decision, Finding, FindingKind, Json, Phase, Redaction, Reply, Verdict};

use crate::wire::{joined, print, redacted, rewritten};

/// One verdict in words that any program can act on. docs/protocol.md is its manual.
#[derive(Default, Serialize)]
struct Said<'a> {
    decision: &'a str,
    /// The gate vouches: the host need not ask either.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    granted: bool,
    /// For the model, word for word.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// What a question is answered with in the user's stead.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<&'a str>,
    /// The whole input to run with instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Json<'a>>,
    /// What the model is to see instead of the tool's output.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a RawValue>,
    /// For the model, beside that output.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The user's answer as it is passed on to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// For the model besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'a str>,
    /// What a session came to, at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
    /// What the host is to do about an error of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    handling: Option<&'static str>,
    /// For the person, and not for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
}

/// Says the verdict.
pub(crate) fn encode(call: &Call<'_>, verdict: &Verdict) -> Reply {
    match call.phase {
        Phase::Before | Phase::Permission | Phase::Config => decided(call, verdict),
        Phase::After | Phase::Start | Phase::Prompt | Phase::End | Phase::Error | Phase::Other => {
            told(call, verdict)
        }
    }
}

fn decided(call: &Call<'_>, verdict: &Verdict) -> Reply {
    let stepped_back = verdict.findings().iter().find(|finding| finding.kind == FindingKind::Inactive);
    let stepped_back = stepped_back.map(Finding::message);
    let message = verdict.message();
    let answer = verdict.answer();
    print(&Said {
        decision: verdict.decision().word(),
        granted: verdict.granted(),
        // A host that cannot answer in the user's stead denies with the same words.
        reason: answer.or(message.as_deref()),
        answer,
        input: (verdict.decision() == Decision::Allow).then(|| rewritten(call, verdict)).flatten(),
        context: verdict.context(),
        notice: joined(stepped_back.as_deref(), verdict.notice()),
        ..Said::default()
    })
}

/// What has happened cannot be stopped, only shown in another form; it is in the record.
fn told(call: &Call<'_>, verdict: &Verdict) -> Reply {
    let ends = call.phase == Phase::End;
    print(&Said {
        decision: "allow",
        output: redacted(verdict),
        note: verdict.redaction().map(Redaction::note),
        text: verdict.said(),
        context: verdict.context().filter(|_| !ends),
        summary: verdict.context().filter(|_| ends),
        handling: (call.phase == Phase::Error).then(|| handling(&call.input)),
        notice: verdict.notice().map(str::to_owned),
        ..Said::default()
    })
}

/// What may go well the next time is tried again; after all else it is the user's turn.
fn handling(error: &Json<'_>) -> &'static str {
    match error.get("recoverable") {
        Some(Json::Bool(true)) => "retry",
        _ => "abort",
    }
}

/// Refuses. After a call that is: show the reason instead of what nobody could look through. An event that stops and shows
/// nothing is let pass, and the person told.
pub(crate) fn refuse(phase: Option<Phase>, message: &str) -> Reply {
    match phase {
        Some(Phase::Start | Phase::Prompt | Phase::End | Phase::Error | Phase::Other) => {
            print(&Said { decision: "allow", notice: Some(message.to_owned()), ..Said::default() })
        }
        None | Some(Phase::Before | Phase::Permission | Phase::Config | Phase::After) => {
            print(&Said { decision: "deny", reason: Some(message), ..Said::default() })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[test]
    fn only_what_is_said_to_be_recoverable_is_tried_again() {
        let error = |value| Json::Object(vec![(Cow::Borrowed("recoverable"), value)]);
        assert_eq!(handling(&error(Json::Bool(true))), "retry");
        for other in [error(Json::Bool(false)), error(Json::Text("true".into())), Json::Null] {
            assert_eq!(handling(&other), "abort");
        }
    }
}
