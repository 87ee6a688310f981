//! GitHub Copilot SDK: an application's own code hands on what its callbacks get.
//!
//! What the SDK does, as observed on 1.0.14: a permission request has a shape for each kind; a custom tool is the
//! application's own, told by its name only; `"allow"` skips the application's permission handler. Of a tool that failed nothing can be
//! changed.

use std::borrow::Cow;

use toolgate_model::{Action, Agent, Call, DecodeError, HooksStart, Host, Json, Phase, Reply, Verdict};

use crate::members::Members;
use crate::tools::Tool::{Fetch, Internal, Read, Shell, Write};
use crate::tools::{Tool, Toolset};
use crate::{copilot, plain};

pub(crate) struct CopilotSdk;

const TOOLS: Toolset = Toolset { is_added: |_| true, ..copilot::TOOLS };

/// The kinds of permission that name what they are for in a parameter of their own.
const KINDS: &[(&str, Tool)] = &[
    ("memory", Internal),
    ("read", Read("path")),
    ("shell", Shell("fullCommandText")),
    ("url", Fetch("url")),
    ("write", Write("fileName")),
];

/// What permission is asked for: the tool or the kind, its input, and what that would do.
fn asked(mut told: Members<'_>) -> Result<(Cow<'_, str>, Json<'_>, Action<'_>), DecodeError> {
    let kind = told.text("kind")?.ok_or(DecodeError::MissingField("input.kind"))?;
    if let Some((_, tool)) = KINDS.iter().find(|(known, _)| *known == kind) {
        let input = told.rest()?;
        let action = tool.action(&input);
        return Ok((kind, input, action));
    }
    let tool = told.text("toolName")?.unwrap_or_else(|| kind.clone());
    let arguments = told.first(&["toolArgs", "args"])?;
    let input = match arguments {
        Some(input @ (Json::Object(_) | Json::Text(_))) => input,
        // What is asked for in a form that nobody here knows is searched as it stands.
        _ => told.rest()?,
    };
    let action = match &*kind {
        "hook" => TOOLS.action(&tool, &input),
        "mcp" | "custom-tool" => Action::Unlisted { mcp: true },
        _ => Action::Unlisted { mcp: false },
    };
    Ok((tool, input, action))
}

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

    fn phase(&self, event: &str) -> Phase {
        match event {
            "onPreToolUse" => Phase::Before,
            "onPermissionRequest" => Phase::Permission,
            "onPostToolUse" | "onPostToolUseFailure" => Phase::After,
            "onSessionStart" => Phase::Start,
            _ => Phase::Other,
        }
    }

    fn decode<'a>(&self, event: Option<&'a str>, stdin: &'a [u8]) -> Result<Call<'a>, DecodeError> {
        let mut payload = Members::read(stdin)?;
        let name = event.ok_or(DecodeError::MissingField("event"))?;
        let phase = self.phase(name);
        let (mut told, mut invocation) = (payload.object("input")?, payload.object("invocation")?);
        let own = told.text("sessionId")?;
        let session = invocation.text("sessionId")?.or(own);
        let cwd = told.first_text(&["workingDirectory", "cwd"])?;
        let agent = Agent { id: told.text("agentId")?, kind: told.text("agentType")? };
        let output = told.output("toolResult", phase);
        let (tool, input, action) = match phase {
            Phase::Before | Phase::After => {
                let tool = told.text("toolName")?.ok_or(DecodeError::MissingField("input.toolName"))?;
                let input = told.take("toolArgs")?.ok_or(DecodeError::MissingField("input.toolArgs"))?;
                if !matches!(input, Json::Object(_) | Json::Text(_)) {
                    return Err(DecodeError::WrongField("input.toolArgs"));
                }
                let action = TOOLS.action(&tool, &input);
                (tool, input, action)
            }
            Phase::Permission => asked(told)?,
            _ => (Cow::Borrowed(""), Json::Null, Action::Nothing),
        };
        Ok(Call {
            session,
            cwd,
            agent,
            tool,
            input,
            action,
            output,
            ..Call::event(self.id(), Cow::Borrowed(name), phase)
        })
    }

    fn encode(&self, call: &Call<'_>, verdict: &Verdict) -> Reply {
        plain::encode(call, verdict)
    }

    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply {
        plain::refuse(phase, message)
    }
}
