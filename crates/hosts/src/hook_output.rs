//! The answer that Claude Code made common: one object, and in it `hookSpecificOutput` for the event. Several hosts took it over,
//! and each client obeys some members and drops or refuses the others: a host's page sets only those that its client takes.

use std::borrow::Cow;

use toolgate_model::{Answer, Json, Reply, Terms};

use crate::reply::{OwnJson, answer_object, print};

answer_object! {
    /// The whole answer.
    #[serde(rename_all = "camelCase")]
    pub(crate) struct HookAnswer<'a> {
        decision: &'static str,
        reason: &'a str,
        /// For the user, and not for the model.
        system_message: &'a str,
        hook_specific_output: HookOutput<'a>,
    }
}

answer_object! {
    /// What is answered to one kind of event.
    #[serde(rename_all = "camelCase")]
    pub(crate) struct HookOutput<'a> {
        hook_event_name: &'a str,
        permission_decision: &'static str,
        permission_decision_reason: &'a str,
        updated_input: Json<'a>,
        /// Gemini's name for it.
        #[serde(rename = "tool_input")]
        tool_input: Json<'a>,
        decision: Permission<'a>,
        updated_tool_output: OwnJson<'a>,
        additional_context: Cow<'a, str>,
    }
}

answer_object! {
    /// What is answered in the user's stead where the client is about to ask for permission.
    pub(crate) struct Permission<'a> {
        behavior: &'static str,
        message: &'a str,
    }
}

impl<'a> HookAnswer<'a> {
    /// An output, and what the user is told beside it.
    pub(crate) fn with(system_message: Option<&'a str>, output: HookOutput<'a>) -> HookAnswer<'a> {
        HookAnswer { system_message, hook_specific_output: Some(output), ..HookAnswer::default() }
    }

    /// One word for the whole event, and why.
    pub(crate) fn objection(decision: &'static str, reason: &'a str) -> HookAnswer<'a> {
        HookAnswer { decision: Some(decision), reason: Some(reason), ..HookAnswer::default() }
    }

    /// After a call: the model reads the reason instead of what the tool gave back.
    pub(crate) fn block(reason: &'a str) -> HookAnswer<'a> {
        HookAnswer::objection("block", reason)
    }
}

impl<'a> HookOutput<'a> {
    /// Of this event, and empty.
    pub(crate) fn of(event: &'a str) -> HookOutput<'a> {
        HookOutput { hook_event_name: Some(event), ..HookOutput::default() }
    }

    /// What becomes of a call that is about to run.
    pub(crate) fn before(decision: &'static str, reason: Option<&'a str>) -> HookOutput<'a> {
        HookOutput {
            permission_decision: Some(decision),
            permission_decision_reason: reason,
            ..HookOutput::of("PreToolUse")
        }
    }

    /// Answers the client that is about to ask for permission.
    pub(crate) fn permission(behavior: &'static str, message: Option<&'a str>) -> HookOutput<'a> {
        let decision = Some(Permission { behavior: Some(behavior), message });
        HookOutput { decision, ..HookOutput::of("PermissionRequest") }
    }

    /// What the model is told at this event; `None` where that is nothing.
    pub(crate) fn context(event: &'a str, terms: &'a Terms) -> Option<HookOutput<'a>> {
        let context = terms.context.as_deref()?;
        Some(HookOutput { additional_context: Some(context.into()), ..HookOutput::of(event) })
    }
}

/// Answers with an output that the client takes for `answer`.
pub(crate) fn say(answer: Answer, notice: Option<&str>, output: HookOutput<'_>) -> Reply {
    print(answer, &HookAnswer::with(notice, output))
}

/// Objects to nothing, and tells the user the notice and the model the context; silence where there is neither.
pub(crate) fn tell(notice: Option<&str>, context: Option<HookOutput<'_>>) -> Reply {
    match context {
        Some(context) => say(Answer::Tell, notice, context),
        None if notice.is_none() => Reply::silent(),
        None => print(Answer::Tell, &HookAnswer { system_message: notice, ..HookAnswer::default() }),
    }
}
