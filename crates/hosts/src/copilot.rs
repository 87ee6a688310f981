//! GitHub Copilot CLI: command hooks, of a person or of an administrator (`policy.d`).
//!
//! What the client does, as observed on 1.0.102:
//! - Events named in camel case do not say their own name, so the registration does (`--event preToolUse`). Named
//!   in Pascal case they come in Claude Code's form, with its names for tools and Copilot's own for parameters.
//! - `"allow"` overrides even what the user has forbidden on the command line, so no objection is silence.
//! - `"ask"` shows a dialog with the reason, whatever the user has allowed on the command line. With `--prompt`, and in its
//!   autopilot, it denies and says that nobody could be asked.
//! - Exit 2 denies, with the reason from the JSON on stdout; an unknown word there lets the call run.
//! - After a call, the client shows `modifiedResult` instead of the tool's output. It accepts one spelling only, whatever that of the
//!   event; it ignores any other, and shows the output. `decision: "block"` shows its reason instead, also together with
//!   exit 2. Nothing can be changed if the tool failed.
//! - A patch is one text, not an object.
//! - Directories of `--add-dir` are in no event: `[[scope]]` in the settings opens them.
//! - `additionalContext` is for the model. There is no way to show something to the user and not to the model.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use toolgate_model::{
    Agent, Answer, Call, Decision, DecodeError, Host, Json, Kept, KeptFrom, Phase, Reply, Stoppable, Terms,
    Unstoppable, Verdict,
};

use crate::hook_output::{HookAnswer, Permission};
use crate::members::Members;
use crate::readable::readable;
use crate::reply::{
    answer_object, joined, no_objection, print, print_denial, redacted, rewritten, tell_or_silence,
};
use crate::tools::Tool::{Fetch, Internal, Patch, Question, Read, Search, Shell, Write};
use crate::tools::Toolset;
use crate::wire::{NO_TOOL, asks_for_a_tool, event_name, input_of, turn_if_by_user};

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
        ("list_powershell", Internal),
        ("read_agent", Internal),
        ("read_bash", Internal),
        ("read_powershell", Internal),
        ("report_intent", Internal),
        ("rg", Search("paths", Some("glob"))),
        ("session_store_sql", Internal),
        ("skill", Internal),
        ("sql", Internal),
        ("stop_bash", Internal),
        ("stop_powershell", Internal),
        ("task", Internal),
        ("update_todo", Internal),
        ("view", Read("path")),
        ("web_fetch", Fetch("url")),
        ("write_agent", Internal),
        ("write_bash", Shell("input")),
    ],
};

impl Host for Copilot {
    fn id(&self) -> &'static str {
        "copilot"
    }

    fn own_directory(&self) -> Option<&'static str> {
        Some(".copilot")
    }

    // It starts them elsewhere then.
    fn loses_hooks_with_directory(&self) -> bool {
        false
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

    fn launches(&self, tool: &str) -> bool {
        matches!(tool, "bash" | "Bash")
    }

    fn keeps(&self) -> &'static [Kept] {
        const {
            &[
                Kept::read(KeptFrom::Home, ".copilot/session-state/{session}"),
                Kept::written(KeptFrom::Home, ".copilot/session-state/{session}/plan.md"),
                Kept::written(KeptFrom::Home, ".copilot/session-state/{session}/files"),
            ]
        }
    }

    fn phase(&self, event: &str) -> Phase {
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

    fn decode<'a>(&self, event: Option<&'a str>, stdin: &'a [u8]) -> Result<Call<'a>, DecodeError> {
        let mut members = Members::read(stdin)?;
        let own_name = members.first_text(&["hook_event_name", "hookName"])?;
        let name = event_name(own_name, event, "hook_event_name")?;
        let agent = Agent { id: members.text("agentId")?, kind: members.text("agentType")? };
        let phase = turn_if_by_user(self.phase(&name), agent.id.is_none());
        let (tool, input, action) = match phase {
            Phase::Before | Phase::Permission | Phase::After => {
                let tool = members.first_text(&["toolName", "tool_name"])?;
                let tool = tool.ok_or(DecodeError::MissingField("toolName"))?;
                let arguments = members.first(&["toolArgs", "toolInput", "tool_input"])?;
                let input = input_of(arguments, true, "toolArgs")?;
                let tools = if phase == Phase::Permission { PERMISSIONS } else { TOOLS };
                let action = tools.action(&tool, &input);
                (tool, input, action)
            }
            Phase::Other
                if asks_for_a_tool(
                    members.first(&["toolArgs", "toolInput", "tool_input"])?.is_some(),
                    members.first(&["toolResult", "tool_result", "tool_response"])?.is_some(),
                ) =>
            {
                return Err(DecodeError::UnknownEvent);
            }
            Phase::Config | Phase::Start | Phase::Prompt | Phase::End | Phase::Error | Phase::Other => {
                NO_TOOL
            }
        };
        let own = members.first_text(&["sessionId", "session_id"])?;
        Ok(Call {
            // A sub-agent's events have its own id there; the session is the one that it belongs to.
            session: members.text("parentAgentId")?.or(own),
            cwd: members.text("cwd")?,
            transcript: members.text("transcriptPath")?,
            agent,
            tool,
            input,
            action,
            said: members.said("prompt", phase)?,
            output: members.output("toolResult", phase).or_else(|| members.output("tool_result", phase)),
            ..Call::event(self.id(), name, phase)
        })
    }

    fn encode_verdict(&self, phase: Stoppable, call: &Call<'_>, verdict: &Verdict, terms: &Terms) -> Reply {
        let message = terms.message(verdict).unwrap_or_default();
        match (phase, verdict.decision()) {
            (Stoppable::Before, Decision::Allow | Decision::Contain) => {
                let (granted, modified_args) = (verdict.granted(), rewritten(call, terms));
                let permission_decision = granted.then_some("allow");
                let answer = no_objection(modified_args.is_some(), granted, terms.context.is_some());
                say(answer, &Body { permission_decision, modified_args, ..with_context(terms) })
            }
            (Stoppable::Before, Decision::Ask) => {
                let (word, reason) = (Some("ask"), Some(&*message));
                let asked = Body {
                    permission_decision: word,
                    permission_decision_reason: reason,
                    ..with_context(terms)
                };
                print(Answer::Ask, &asked)
            }
            (Stoppable::Permission, Decision::Allow | Decision::Contain) if verdict.granted() => {
                print(Answer::Grant, &Permission { behavior: Some("allow"), message: None })
            }
            // The host is about to ask its user anyway.
            (Stoppable::Permission, Decision::Allow | Decision::Contain | Decision::Ask)
            | (Stoppable::Config, Decision::Allow | Decision::Contain) => Reply::silent(),
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
                print(Answer::Deny, &Permission { behavior: Some("deny"), message: Some(message) })
            }
            Some(Phase::Config) => Reply::blocking(message),
            Some(Phase::After) => print(Answer::Deny, &HookAnswer::block(message)),
            Some(Phase::Start | Phase::Prompt | Phase::End | Phase::Error | Phase::Other) => Reply::silent(),
        }
    }
}

/// What it asks permission for. The event names the kind instead of the tool, and an MCP tool as `server/tool`.
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

answer_object! {
    /// The answer to all events but a request for permission.
    #[serde(rename_all = "camelCase")]
    struct Body<'a> {
        permission_decision: &'static str,
        permission_decision_reason: &'a str,
        modified_args: Json<'a>,
        modified_result: ToolResult<'a>,
        additional_context: Cow<'a, str>,
        #[serde(flatten)]
        block: HookAnswer<'a>,
    }
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
    let additional_context = joined(Some(&output.note()), terms.context.as_deref()).map(Cow::Owned);
    match redacted(terms).and_then(ToolResult::read) {
        // The client would pass over any other form, and show what it should hide.
        None => print(Answer::Redact, &HookAnswer::block(&readable(output, &[]))),
        modified_result => {
            print(Answer::Redact, &Body { modified_result, additional_context, ..Body::default() })
        }
    }
}

/// Objects to nothing, and tells the model the context.
fn tell(terms: &Terms) -> Reply {
    say(tell_or_silence(terms.context.is_some()), &with_context(terms))
}

fn with_context(terms: &Terms) -> Body<'_> {
    Body { additional_context: terms.context.as_deref().map(Cow::Borrowed), ..Body::default() }
}

/// No objection is silence: an object with nothing in it is not sent.
fn say(answer: Answer, body: &Body<'_>) -> Reply {
    if answer == Answer::Silence { Reply::silent() } else { print(answer, body) }
}
