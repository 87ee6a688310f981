//! GitHub Copilot CLI: command hooks, of a person or of an administrator (`policy.d`).
//!
//! What the client does, as observed on 1.0.102:
//! - Events named in camel case do not say their own name, so the registration does (`--event preToolUse`). Named
//!   in Pascal case they come in Claude Code's form, with its names for tools and Copilot's own for parameters.
//! - `"allow"` overrides even what the user has forbidden on the command line, so no objection is silence.
//! - Exit 2 denies, with the reason from the JSON on stdout; an unknown word there lets the call run.
//! - After a call `modifiedResult` is shown instead of what the tool gave back, in one spelling only, whatever that of the
//!   event; in any other it is passed over, and the output shown. `decision: "block"` shows its reason instead, also
//!   beside exit 2. Of a tool that failed nothing can be changed.
//! - A patch is one text, not an object.
//! - `additionalContext` is for the model. There is nothing that its user would be shown, and the model not.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use toolgate_model::{
    Action, Agent, Answer, Call, Decision, DecodeError, Host, Json, Phase, Reply, Stoppable, Terms,
    Unstoppable, Verdict,
};

use crate::hook_output::{HookAnswer, Permission};
use crate::members::Members;
use crate::readable::readable;
use crate::reply::{joined, no_objection, print, print_denial, redacted, rewritten};
use crate::tools::Tool::{Fetch, Internal, Patch, Question, Read, Search, Shell, Write};
use crate::tools::Toolset;
use crate::wire::spoken;

pub(crate) struct Copilot;

/// Every tool of the client that we know, under both of its names.
pub(crate) const TOOLS: Toolset = Toolset {
    is_added: |tool| tool.contains('-'),
    listed: &[
        ("Bash", Shell("command")),
        ("Edit", Write("path")),
        ("Glob", Search("paths", Some("pattern"))),
        ("Grep", Search("paths", Some("glob"))),
        ("Read", Read("path")),
        ("Write", Write("path")),
        ("apply_patch", Patch("patch")),
        ("ask_user", Question),
        ("bash", Shell("command")),
        ("create", Write("path")),
        ("edit", Write("path")),
        ("exit_plan_mode", Internal),
        ("fetch_copilot_cli_documentation", Internal),
        ("glob", Search("paths", Some("pattern"))),
        ("grep", Search("paths", Some("glob"))),
        ("list_agents", Internal),
        ("list_bash", Internal),
        ("read_agent", Internal),
        ("read_bash", Internal),
        ("report_intent", Internal),
        ("rg", Search("paths", Some("glob"))),
        ("session_store_sql", Internal),
        ("skill", Internal),
        ("sql", Internal),
        ("stop_bash", Internal),
        ("task", Internal),
        ("update_todo", Internal),
        ("view", Read("path")),
        ("web_fetch", Fetch("url")),
        ("write_agent", Internal),
        ("write_bash", Shell("input")),
    ],
};

/// What it asks permission for: the kind stands in the tool's place, an MCP tool is `server/tool`.
const PERMISSIONS: Toolset = Toolset {
    is_added: |kind| kind.contains('/'),
    listed: &[
        ("bash", Shell("command")),
        ("edit", Write("file_path")),
        ("read", Read("path")),
        ("url", Fetch("url")),
        ("web_fetch", Fetch("url")),
        ("write", Write("file_path")),
    ],
};

pub(crate) fn phase(event: &str) -> Phase {
    match event {
        "preToolUse" | "PreToolUse" => Phase::Before,
        "permissionRequest" | "PermissionRequest" => Phase::Permission,
        "postToolUse" | "PostToolUse" | "postToolUseFailure" | "PostToolUseFailure" => Phase::After,
        "sessionStart" | "SessionStart" => Phase::Start,
        "userPromptSubmitted" | "UserPromptSubmit" => Phase::Prompt,
        "sessionEnd" | "SessionEnd" => Phase::End,
        "errorOccurred" | "ErrorOccurred" => Phase::Error,
        _ => Phase::Other,
    }
}

/// The answer to all events but a request for permission.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_args: Option<Json<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_result: Option<ToolResult<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_context: Option<Cow<'a, str>>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    block: Option<HookAnswer<'a>>,
}

/// What the tool gave back, in the spelling that is taken.
struct ToolResult<'a>(Members<'a>);

/// The names of a result's members in the other spelling.
const SPELLINGS: [(&str, &str); 2] =
    [("result_type", "resultType"), ("text_result_for_llm", "textResultForLlm")];

impl<'a> ToolResult<'a> {
    /// `None` where it has not the form that the client takes.
    fn read(result: &'a RawValue) -> Option<ToolResult<'a>> {
        let result = ToolResult(Members::of(result).ok()?);
        let has =
            |wanted| result.members().any(|(name, value)| name == wanted && value.get().starts_with('"'));
        SPELLINGS.iter().all(|(_, name)| has(*name)).then_some(result)
    }

    fn members(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        let spelled =
            |name| SPELLINGS.iter().find(|(other, _)| *other == name).map_or(name, |(_, taken)| *taken);
        self.0.iter().map(move |(name, value)| (spelled(name), value))
    }
}

impl Serialize for ToolResult<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.members())
    }
}

fn after_call(terms: &Terms) -> Reply {
    let Some(output) = &terms.output else { return tell(terms) };
    let context = joined(Some(&output.note()), terms.context.as_deref());
    match redacted(terms).and_then(ToolResult::read) {
        Some(result) => print(
            Answer::Redact,
            &Body {
                modified_result: Some(result),
                additional_context: context.map(Cow::Owned),
                ..Body::default()
            },
        ),
        // The client would pass over any other form, and show what it should hide.
        None => print(Answer::Redact, &HookAnswer::block(&readable(output, &[]))),
    }
}

/// Objects to nothing, and tells the model the context.
fn tell(terms: &Terms) -> Reply {
    match terms.context.as_deref() {
        None => Reply::silent(),
        Some(context) => {
            print(Answer::Tell, &Body { additional_context: Some(context.into()), ..Body::default() })
        }
    }
}

impl Host for Copilot {
    fn id(&self) -> &'static str {
        "copilot"
    }

    fn project_variable(&self) -> Option<&'static str> {
        Some("COPILOT_PROJECT_DIR")
    }

    fn grant_overrides_user(&self) -> bool {
        true
    }

    fn changes_output(&self, _: &str) -> bool {
        true
    }

    fn runs_what_is_late(&self) -> bool {
        true
    }

    fn phase(&self, event: &str) -> Phase {
        phase(event)
    }

    fn decode<'a>(&self, event: Option<&'a str>, stdin: &'a [u8]) -> Result<Call<'a>, DecodeError> {
        let mut told = Members::read(stdin)?;
        let name = told
            .first_text(&["hook_event_name", "hookName"])?
            .or(event.map(Cow::Borrowed))
            .ok_or(DecodeError::MissingField("hook_event_name"))?;
        let agent = Agent { id: told.text("agentId")?, kind: told.text("agentType")? };
        let phase = spoken(phase(&name), agent.id.is_none());
        let (tool, input, action) = match phase {
            Phase::Before | Phase::Permission | Phase::After => {
                let tool = told.first_text(&["toolName", "tool_name"])?;
                let tool = tool.ok_or(DecodeError::MissingField("toolName"))?;
                let arguments = told.first(&["toolArgs", "toolInput", "tool_input"])?;
                let input = arguments.ok_or(DecodeError::MissingField("toolArgs"))?;
                if !matches!(input, Json::Object(_) | Json::Text(_)) {
                    return Err(DecodeError::WrongField("toolArgs"));
                }
                let tools = if phase == Phase::Permission { PERMISSIONS } else { TOOLS };
                let action = tools.action(&tool, &input);
                (tool, input, action)
            }
            _ => (Cow::Borrowed(""), Json::Null, Action::Nothing),
        };
        let own = told.first_text(&["sessionId", "session_id"])?;
        Ok(Call {
            // A sub-agent's events have its own id there; the session is the one that it belongs to.
            session: told.text("parentAgentId")?.or(own),
            cwd: told.text("cwd")?,
            transcript: told.text("transcriptPath")?,
            agent,
            tool,
            input,
            action,
            said: told.said("prompt", phase)?,
            output: told.output("toolResult", phase).or_else(|| told.output("tool_result", phase)),
            ..Call::event(self.id(), name, phase)
        })
    }

    fn encode_verdict(&self, phase: Stoppable, call: &Call<'_>, verdict: &Verdict, terms: &Terms) -> Reply {
        let message = terms.message(verdict).unwrap_or_default();
        let additional_context = terms.context.as_deref().map(Cow::Borrowed);
        match (phase, verdict.decision()) {
            (Stoppable::Before, Decision::Allow) => {
                let (granted, modified_args) = (verdict.granted(), rewritten(call, terms));
                let permission_decision = granted.then_some("allow");
                match no_objection(modified_args.is_some(), granted, false) {
                    Answer::Silence => tell(terms),
                    answer => {
                        let told = Body { additional_context, ..Body::default() };
                        print(answer, &Body { permission_decision, modified_args, ..told })
                    }
                }
            }
            (Stoppable::Before, Decision::Ask) => {
                let asked = Body {
                    permission_decision: Some("ask"),
                    permission_decision_reason: Some(&message),
                    additional_context,
                    ..Body::default()
                };
                print(Answer::Ask, &asked)
            }
            (Stoppable::Permission, Decision::Allow) if verdict.granted() => {
                print(Answer::Grant, &Permission { behavior: "allow", message: None })
            }
            // The host is about to ask its user anyway.
            (Stoppable::Permission, Decision::Allow | Decision::Ask)
            | (Stoppable::Config, Decision::Allow) => Reply::silent(),
            (Stoppable::Before | Stoppable::Permission, Decision::Deny)
            | (Stoppable::Config, Decision::Ask | Decision::Deny) => self.refuse(Some(call.phase), &message),
        }
    }

    fn encode_terms(&self, phase: Unstoppable, _: &Call<'_>, terms: &Terms) -> Reply {
        match phase {
            Unstoppable::After => after_call(terms),
            Unstoppable::Start | Unstoppable::Prompt => tell(terms),
            Unstoppable::End | Unstoppable::Error | Unstoppable::Other => Reply::silent(),
        }
    }

    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply {
        match phase {
            None | Some(Phase::Before) => {
                let denial = Body {
                    permission_decision: Some("deny"),
                    permission_decision_reason: Some(message),
                    // Where not even the event is known, it may be one after the call.
                    block: phase.is_none().then(|| HookAnswer::block(message)),
                    ..Body::default()
                };
                print_denial(&denial, message)
            }
            Some(Phase::Permission) => {
                print(Answer::Deny, &Permission { behavior: "deny", message: Some(message) })
            }
            Some(Phase::Config) => Reply::blocking(message),
            Some(Phase::After) => print(Answer::Deny, &HookAnswer::block(message)),
            Some(Phase::Start | Phase::Prompt | Phase::End | Phase::Error | Phase::Other) => Reply::silent(),
        }
    }
}
