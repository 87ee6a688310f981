//! Cursor: an event for every kind of call, and one more for all of them.
//!
//! The client is closed source, and we have not tested it; this follows its documentation. `preToolUse` and `subagentStart`
//! accept `"ask"` but do not obey it, so there toolgate denies instead of asking. The events for shell and MCP
//! calls do ask. An object without `permission` means no objection. Only the output of an MCP server's tool can be
//! changed, and only in `postToolUse`, which has it as JSON inside of a text. `user_message` is for the user;
//! `additional_context` is for the model, after a tool and at the start of a session, and at no other event.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use toolgate_model::{
    Access, Action, Agent, Answer, Call, Decision, DecodeError, FileUse, Host, Json, PathArg, Phase,
    RedactedOutput, Reply, Stoppable, Terms, Unstoppable, Verdict,
};

use crate::members::Members;
use crate::reply::{
    answer_object, joined, no_objection, print, print_denial, redacted, rewrite_hint, rewritten,
    tell_or_silence,
};
use crate::tools::Tool::{Delete, Fetch, Internal, Read, Search, Shell, ShellIn, Write};
use crate::tools::Toolset;
use crate::wire::{NO_TOOL, asks_for_a_tool, event_name, input_of};

pub(crate) struct Cursor;

/// Every tool of the client that we know.
pub(crate) const TOOLS: Toolset = Toolset {
    is_added: is_mcp,
    listed: &[
        ("Delete", Delete("file_path")),
        ("Grep", Search("path", Some("glob"))),
        ("Read", Read("file_path")),
        ("Shell", ShellIn("command", "working_directory")),
        ("Task", Internal),
        ("WebFetch", Fetch("url")),
        ("WebSearch", Fetch("query")),
        ("Write", Write("file_path")),
    ],
};

impl Host for Cursor {
    fn id(&self) -> &'static str {
        "cursor"
    }

    fn own_directory(&self) -> Option<&'static str> {
        Some(".cursor")
    }

    fn project_variable(&self) -> Option<&'static str> {
        Some("CURSOR_PROJECT_DIR")
    }

    fn changes_output(&self, tool: &str) -> bool {
        is_mcp(tool)
    }

    fn phase(&self, event: &str) -> Phase {
        match event {
            "preToolUse"
            | "beforeShellExecution"
            | "beforeMCPExecution"
            | "beforeReadFile"
            | "beforeTabFileRead"
            | "subagentStart" => Phase::Before,
            "postToolUse"
            | "postToolUseFailure"
            | "afterShellExecution"
            | "afterMCPExecution"
            | "afterFileEdit"
            | "afterTabFileEdit" => Phase::After,
            "sessionStart" => Phase::Start,
            "beforeSubmitPrompt" => Phase::Prompt,
            "sessionEnd" => Phase::End,
            _ => Phase::Other,
        }
    }

    fn decode<'a>(&self, event: Option<&'a str>, stdin: &'a [u8]) -> Result<Call<'a>, DecodeError> {
        let mut members = Members::read(stdin)?;
        let name = event_name(members.text("hook_event_name")?, event, "hook_event_name")?;
        let phase = self.phase(&name);
        let roots = match members.take("workspace_roots")? {
            Some(Json::List(roots)) => roots,
            _ => Vec::new(),
        };
        let root = roots.into_iter().find_map(|root| match root {
            Json::Text(root) => Some(root),
            _ => None,
        });
        let session = members.first_text(&["conversation_id", "session_id"])?;
        let cwd = members.text("cwd")?.filter(|cwd| !cwd.is_empty()).or(root);
        let agent = Agent { id: members.text("subagent_id")?, kind: members.text("subagent_type")? };
        let transcript = members.text("transcript_path")?;
        let id = members.text("tool_use_id")?;
        let tool = members.text("tool_name")?;
        let output = output(&mut members, phase);
        let said = members.said("prompt", phase)?;
        let (tool, input, action) = match &*name {
            "preToolUse" | "postToolUse" | "postToolUseFailure" => {
                let tool = tool.ok_or(DecodeError::MissingField("tool_name"))?;
                let input = input_of(members.take("tool_input")?, false, "tool_input")?;
                let action = TOOLS.action(&tool, &input);
                (tool, input, action)
            }
            "beforeShellExecution" => {
                let input = members.rest()?;
                let action = Shell("command").action(&input);
                (Cow::Borrowed("Shell"), input, action)
            }
            "beforeMCPExecution" => {
                let tool = tool.ok_or(DecodeError::MissingField("tool_name"))?;
                let input = match members.take("tool_input")? {
                    None => return Err(DecodeError::MissingField("tool_input")),
                    // The input is JSON inside of a text.
                    Some(Json::Text(text)) => {
                        let input: Result<Json<'_>, _> = serde_json::from_str(&text);
                        input.map_err(|_| DecodeError::WrongField("tool_input"))?.into_owned()
                    }
                    Some(input) => input,
                };
                (tool, input, Action::Unlisted { mcp: true })
            }
            "beforeReadFile" | "beforeTabFileRead" => {
                let (input, action) = read_with_attachments(&mut members)?;
                (Cow::Borrowed("Read"), input, action)
            }
            "subagentStart" => (Cow::Borrowed("Task"), Json::Null, Action::Internal),
            _ if phase == Phase::Other
                && asks_for_a_tool(
                    members.first(&["tool_input", "command", "file_path"])?.is_some(),
                    members.first(&["tool_output", "result_json", "output", "edits"])?.is_some(),
                ) =>
            {
                return Err(DecodeError::UnknownEvent);
            }
            _ => NO_TOOL,
        };
        Ok(Call {
            id,
            session,
            cwd,
            transcript,
            agent,
            tool,
            input,
            action,
            output,
            said,
            ..Call::event(self.id(), name, phase)
        })
    }

    fn encode_verdict(&self, _: Stoppable, call: &Call<'_>, verdict: &Verdict, terms: &Terms) -> Reply {
        let message = terms.message(verdict).unwrap_or_default();
        let notice = terms.notice.as_deref();
        let asks = matches!(&*call.event, "beforeShellExecution" | "beforeMCPExecution");
        match verdict.decision() {
            Decision::Allow | Decision::Contain => match rewrite_hint(terms) {
                // Only one of its events can change a call.
                Some(hint) if call.event != "preToolUse" => self.refuse(Some(call.phase), &hint),
                hint => {
                    let answer = no_objection(hint.is_some(), verdict.granted(), notice.is_some());
                    let body = Body {
                        permission: verdict.granted().then_some("allow"),
                        user_message: notice.map(str::to_owned),
                        updated_input: rewritten(call, terms),
                        ..Body::default()
                    };
                    print(answer, &body)
                }
            },
            Decision::Ask if asks => print(Answer::Ask, &objection("ask", &message, notice)),
            Decision::Ask | Decision::Deny => print_denial(&objection("deny", &message, notice), &message),
        }
    }

    fn encode_terms(&self, phase: Unstoppable, call: &Call<'_>, terms: &Terms) -> Reply {
        match phase {
            Unstoppable::After | Unstoppable::Start => after_or_start(call, terms),
            Unstoppable::Prompt => prompt(terms.notice.as_deref()),
            Unstoppable::End | Unstoppable::Error | Unstoppable::Other => Reply::silent(),
        }
    }

    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply {
        match phase {
            None | Some(Phase::Before | Phase::Permission | Phase::Config) => {
                print_denial(&objection("deny", message, None), message)
            }
            Some(Phase::After) => {
                let instead = McpOutput::Message { content: [McpText { r#type: "text", text: message }] };
                // Of another tool than an MCP server's it changes nothing. Which tool it was is not known here, and the
                // record must not claim more than the client does.
                let body = Body { updated_mcp_tool_output: Some(instead), ..Body::default() };
                print(Answer::Silence, &body)
            }
            Some(Phase::Prompt) => prompt(Some(message)),
            Some(Phase::Start | Phase::End | Phase::Error | Phase::Other) => Reply::silent(),
        }
    }
}

answer_object! {
    /// The answer to any event, with the members that its kind takes.
    struct Body<'a> {
        r#continue: bool,
        permission: &'static str,
        user_message: String,
        agent_message: &'a str,
        updated_input: Json<'a>,
        updated_mcp_tool_output: McpOutput<'a>,
        additional_context: String,
    }
}

/// What is shown instead of what the tool of an MCP server gave back, in the form of every such server's answer.
#[derive(Serialize)]
#[serde(untagged)]
enum McpOutput<'a> {
    Redacted(&'a RawValue),
    Message { content: [McpText<'a>; 1] },
}

#[derive(Serialize)]
struct McpText<'a> {
    r#type: &'static str,
    text: &'a str,
}

fn objection<'a>(permission: &'static str, message: &'a str, notice: Option<&str>) -> Body<'a> {
    Body {
        permission: Some(permission),
        user_message: joined(Some(message), notice),
        agent_message: Some(message),
        ..Body::default()
    }
}

fn is_mcp(tool: &str) -> bool {
    tool.starts_with("MCP:")
}

/// What a tool gave back. Where it is JSON inside of a text, it is that JSON.
fn output<'a>(members: &mut Members<'a>, phase: Phase) -> Option<Cow<'a, str>> {
    if let Some(printed) = members.output("output", phase) {
        return Some(printed);
    }
    let output = members.output("tool_output", phase).or_else(|| members.output("result_json", phase))?;
    let inner: Option<String> = serde_json::from_str(&output).ok();
    let inner = inner.filter(|inner| serde_json::from_str::<&RawValue>(inner).is_ok());
    Some(inner.map_or(output, Cow::Owned))
}

/// The file that is read, and those that come with it.
fn read_with_attachments<'a>(members: &mut Members<'a>) -> Result<(Json<'a>, Action<'a>), DecodeError> {
    let path = members.take("file_path")?.unwrap_or(Json::Null);
    let input = Json::Object(vec![(Cow::Borrowed("file_path"), path)]);
    let read = |path| FileUse { access: Access::Read, param: Cow::Borrowed("file_path"), path };
    let mut uses = vec![read(PathArg::of(&input, "file_path"))];
    if let Some(Json::List(attachments)) = members.take("attachments")? {
        uses.extend(attachments.iter().map(|attachment| read(PathArg::of(attachment, "file_path"))));
    }
    Ok((input, Action::Files(uses)))
}

/// What is shown in place of an MCP server's output, and what the model is told: at the two events that take it.
fn after_or_start(call: &Call<'_>, terms: &Terms) -> Reply {
    let takes_context = matches!(&*call.event, "postToolUse" | "sessionStart");
    let output = redacted(terms).filter(|_| call.event == "postToolUse" && is_mcp(&call.tool));
    let note = terms.output.as_ref().filter(|_| output.is_some()).map(RedactedOutput::note);
    let answer = if output.is_some() { Answer::Redact } else { Answer::Tell };
    // What is no more than a text of ours has not the form of such a server's answer.
    let text = output.filter(|_| terms.output.as_ref().is_some_and(|output| output.withheld));
    let text: Option<String> = text.and_then(|text| serde_json::from_str(text.get()).ok());
    match joined(note.as_deref(), terms.context.as_deref().filter(|_| takes_context)) {
        None => Reply::silent(),
        additional_context => {
            let updated_mcp_tool_output = match text.as_deref() {
                Some(text) => Some(McpOutput::Message { content: [McpText { r#type: "text", text }] }),
                None => output.map(McpOutput::Redacted),
            };
            print(answer, &Body { updated_mcp_tool_output, additional_context, ..Body::default() })
        }
    }
}

/// A prompt goes on, whatever becomes of us.
fn prompt(user_message: Option<&str>) -> Reply {
    let answer = tell_or_silence(user_message.is_some());
    let user_message = user_message.map(str::to_owned);
    print(answer, &Body { r#continue: Some(true), user_message, ..Body::default() })
}
