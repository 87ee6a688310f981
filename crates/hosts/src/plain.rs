//! The plain answer: for hosts whose own code keeps a `toolgate serve`, and for everyone without a page here.

use serde::Serialize;
use serde_json::value::RawValue;
use toolgate_model::{Call, Decision, Json, Kind, Phase, Redaction, Reply, Verdict};

use crate::wire::{print, redacted, rewritten};

/// One verdict in words that any program can act on. docs/protocol.md is its manual.
#[derive(Default, Serialize)]
struct Answer<'a> {
    decision: &'a str,
    /// The gate vouches: the host need not ask either.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    granted: bool,
    /// For the model, word for word.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// The whole input to run with instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Json<'a>>,
    /// What the model is to see instead of the tool's output.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a RawValue>,
    /// For the model, beside that output.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// For the person: the gate has stepped back, as its profile says.
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<&'a str>,
}

/// Says the verdict. What has happened cannot be stopped, only shown in another form; it is in the record.
pub(crate) fn encode(call: &Call<'_>, verdict: &Verdict) -> Reply {
    if matches!(
        call.phase,
        Phase::After | Phase::Start | Phase::Prompt | Phase::End | Phase::Error | Phase::Other
    ) {
        let output = redacted(verdict);
        let note = verdict.redaction().map(Redaction::note);
        return print(&Answer { decision: "allow", output, note, ..Answer::default() });
    }
    let stepped_back = verdict.findings().iter().find(|finding| finding.kind == Kind::Inactive);
    let notice = stepped_back.map(toolgate_model::Finding::message);
    let message = verdict.message();
    print(&Answer {
        decision: verdict.decision().word(),
        granted: verdict.granted(),
        reason: message.as_deref(),
        input: (verdict.decision() == Decision::Allow).then(|| rewritten(call, verdict)).flatten(),
        notice: notice.as_deref(),
        ..Answer::default()
    })
}

/// Refuses. After a call that is: show the reason instead of what nobody could look through. An event that stops and shows
/// nothing is let pass, and the person told.
pub(crate) fn refuse(phase: Option<Phase>, message: &str) -> Reply {
    match phase {
        Some(Phase::Start | Phase::Prompt | Phase::End | Phase::Error | Phase::Other) => {
            print(&Answer { decision: "allow", notice: Some(message), ..Answer::default() })
        }
        None | Some(Phase::Before | Phase::Permission | Phase::Config | Phase::After) => {
            print(&Answer { decision: "deny", reason: Some(message), ..Answer::default() })
        }
    }
}
