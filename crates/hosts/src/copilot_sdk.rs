//! GitHub Copilot SDK: an application's own code passes on what its callbacks get.
//!
//! What the SDK does, as observed on 1.0.14: a permission request has a shape for each kind; a custom tool is the
//! application's own, known by its name only; `"allow"` skips the application's permission handler. Nothing can be changed if a tool failed.
//! A call of `ask_user` raises two events, one as a call and one as the question that the application is handed.
//! `onUserInputResponse` is not an event of the SDK: the adapter uses it to send the user's answer.

use std::borrow::Cow;

use toolgate_model::{
    Action, Agent, Answer, Call, Decision, DecodeError, HooksStart, Host, Json, Phase, Reply, Stoppable,
    Terms, Unstoppable, Verdict,
};

use crate::members::Members;
use crate::tools::Tool::{Fetch, Internal, Read, Shell, Write};
use crate::tools::{Tool, Toolset};
use crate::wire::{NO_TOOL, asks_for_a_tool, input_of, turn_if_by_user};
use crate::{copilot, plain};

pub(crate) struct CopilotSdk;

impl Host for CopilotSdk {
    fn id(&self) -> &'static str {
        "copilot-sdk"
    }

    fn hooks_start(&self) -> HooksStart {
        HooksStart::WithTheCall
    }

    fn is_served(&self) -> bool {
        true
    }

    fn grant_overrides_user(&self) -> bool {
        true
    }

    fn changes_output(&self, _: &str) -> bool {
        true
    }

    fn launches(&self, tool: &str) -> bool {
        tool == "bash"
    }

    fn phase(&self, event: &str) -> Phase {
        match event {
            "onPreToolUse" => Phase::Before,
            "onPermissionRequest" => Phase::Permission,
            "onPostToolUse" | "onPostToolUseFailure" => Phase::After,
            "onUserInputRequest" => Phase::Before,
            "onUserInputResponse" => Phase::After,
            "onSessionStart" => Phase::Start,
            "onUserPromptSubmitted" => Phase::Prompt,
            "onSessionEnd" => Phase::End,
            "onErrorOccurred" => Phase::Error,
            _ => Phase::Other,
        }
    }

    fn decode<'a>(&self, event: Option<&'a str>, stdin: &'a [u8]) -> Result<Call<'a>, DecodeError> {
        let mut payload = Members::read(stdin)?;
        let name = event.ok_or(DecodeError::MissingField("event"))?;
        let (mut members, mut invocation) = (payload.object("input")?, payload.object("invocation")?);
        let own = members.text("sessionId")?;
        let whole = invocation.text("sessionId")?;
        // A sub-agent's events have its own id there.
        let by_main = own.is_none() || whole.is_none() || own == whole;
        let session = whole.or(own);
        let cwd = members.first_text(&["workingDirectory", "cwd"])?;
        let agent = Agent { id: members.text("agentId")?, kind: members.text("agentType")? };
        let phase = turn_if_by_user(self.phase(name), by_main && agent.id.is_none());
        let output = members.output("toolResult", phase);
        let said = match name {
            "onUserInputResponse" => members.text("answer")?,
            _ => members.said("prompt", phase)?,
        };
        let (tool, input, action) = match phase {
            Phase::Before | Phase::After if is_user_input(name) => {
                (Cow::Borrowed(ASK_USER), members.rest()?, Action::Question)
            }
            Phase::Error => {
                let recoverable = members.take("recoverable")?;
                let recoverable = recoverable.map(|value| (Cow::Borrowed("recoverable"), value));
                (Cow::Borrowed(""), Json::Object(recoverable.into_iter().collect()), Action::Nothing)
            }
            Phase::Before | Phase::After => {
                let tool = members.text("toolName")?.ok_or(DecodeError::MissingField("input.toolName"))?;
                let input = input_of(members.take("toolArgs")?, true, "input.toolArgs")?;
                let action = action(&tool, &input);
                (tool, input, action)
            }
            Phase::Permission => permission_request(members)?,
            Phase::Other
                if asks_for_a_tool(
                    members.take("toolArgs")?.is_some(),
                    members.raw("toolResult").is_some(),
                ) =>
            {
                return Err(DecodeError::UnknownEvent);
            }
            Phase::Config | Phase::Start | Phase::Prompt | Phase::End | Phase::Other => NO_TOOL,
        };
        Ok(Call {
            session,
            cwd,
            agent,
            tool,
            input,
            action,
            output,
            said,
            ..Call::event(self.id(), Cow::Borrowed(name), phase)
        })
    }

    fn encode_verdict(&self, phase: Stoppable, call: &Call<'_>, verdict: &Verdict, terms: &Terms) -> Reply {
        let objection = match verdict.decision() {
            // A permission cannot change a call, so the adapter rejects one that would have to be changed.
            Decision::Allow | Decision::Contain => {
                let too_late = phase == Stoppable::Permission && !terms.rewrites.is_empty();
                too_late.then_some(Answer::Deny)
            }
            Decision::Ask => Some(Answer::Ask),
            Decision::Deny => Some(Answer::Deny),
        };
        plain::encode(call, verdict, terms, objection)
    }

    fn encode_terms(&self, phase: Unstoppable, call: &Call<'_>, terms: &Terms) -> Reply {
        plain::tell(phase, call, terms)
    }

    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply {
        plain::refuse(phase, message)
    }
}

const TOOLS: Toolset = Toolset { is_added: |_| true, ..copilot::TOOLS };

/// Its tool by which an agent asks the user.
const ASK_USER: &str = "ask_user";

/// What a tool is asked to do. Its question is judged, and counted, where the application is handed it: there it can also
/// be answered in the user's stead.
fn action<'a>(tool: &str, input: &Json<'a>) -> Action<'a> {
    if tool == ASK_USER { Action::Internal } else { TOOLS.action(tool, input) }
}

fn is_user_input(event: &str) -> bool {
    matches!(event, "onUserInputRequest" | "onUserInputResponse")
}

/// The kinds of permission that name what they are for in a parameter of their own.
const KINDS: &[(&str, Tool)] = &[
    ("memory", Internal),
    ("read", Read("path")),
    ("shell", Shell("fullCommandText")),
    ("url", Fetch("url")),
    ("write", Write("fileName")),
];

/// What permission is asked for: the tool or the kind, its input, and what that would do.
fn permission_request(mut members: Members<'_>) -> Result<(Cow<'_, str>, Json<'_>, Action<'_>), DecodeError> {
    let kind = members.text("kind")?.ok_or(DecodeError::MissingField("input.kind"))?;
    if let Some((_, tool)) = KINDS.iter().find(|(known, _)| *known == kind) {
        let input = members.rest()?;
        let action = tool.action(&input);
        return Ok((kind, input, action));
    }
    let tool = members.text("toolName")?.unwrap_or_else(|| kind.clone());
    let arguments = members.first(&["toolArgs", "args"])?;
    let input = match arguments {
        Some(input @ (Json::Object(_) | Json::Text(_))) => input,
        // What is asked for in a form that nobody here knows is searched as it is.
        _ => members.rest()?,
    };
    let action = match &*kind {
        "hook" => action(&tool, &input),
        "mcp" | "custom-tool" => Action::Unlisted { mcp: true },
        _ => Action::Unlisted { mcp: false },
    };
    Ok((tool, input, action))
}
