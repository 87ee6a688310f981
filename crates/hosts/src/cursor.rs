//! Cursor: an event for every kind of call, and one more for all of them.
//!
//! The client is closed and was not driven here; this follows its documentation. `preToolUse` takes `"ask"` and
//! does not obey it, and so does `subagentStart`: there what would be asked is denied. The events for shell and MCP
//! calls do ask. An object without `permission` has no objection. Only what the tool of an MCP server gave back can be
//! changed, and only in `postToolUse`, which has it as JSON inside of a text. `user_message` is for the user;
//! `additional_context` is for the model, after a tool and at the start of a session, and at no other event.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use toolgate_model::{
    Access, Action, Agent, Call, Decision, DecodeError, FileUse, Host, Json, PathArg, Phase, Redaction,
    Reply, Verdict,
};

use crate::members::Members;
use crate::tools::Tool::{Delete, Fetch, Internal, Read, Search, Shell, ShellIn, Write};
use crate::tools::Toolset;
use crate::wire::{joined, print, print_denial, redacted, rewrite_hint, rewritten};

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

#[derive(Default, Serialize)]
struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    permission: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_input: Option<Json<'a>>,
}

fn objection<'a>(permission: &'static str, message: &'a str, notice: Option<&str>) -> Answer<'a> {
    Answer {
        permission: Some(permission),
        user_message: joined(Some(message), notice),
        agent_message: Some(message),
        updated_input: None,
    }
}

/// What is shown instead of what the tool of an MCP server gave back, and what the model is told.
#[derive(Serialize)]
struct After<Output> {
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_mcp_tool_output: Option<Output>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_context: Option<String>,
}

/// A prompt goes on, whatever becomes of us.
#[derive(Serialize)]
struct Prompt<'a> {
    r#continue: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_message: Option<&'a str>,
}

/// The form of every MCP server's answer.
#[derive(Serialize)]
struct McpOutput<'a> {
    content: [McpText<'a>; 1],
}

#[derive(Serialize)]
struct McpText<'a> {
    r#type: &'static str,
    text: &'a str,
}

fn is_mcp(tool: &str) -> bool {
    tool.starts_with("MCP:")
}

/// What a tool gave back. Where it is JSON inside of a text, it is that JSON.
fn output<'a>(told: &mut Members<'a>, phase: Phase) -> Option<Cow<'a, str>> {
    if let Some(printed) = told.output("output", phase) {
        return Some(printed);
    }
    let output = told.output("tool_output", phase).or_else(|| told.output("result_json", phase))?;
    let inner: Option<String> = serde_json::from_str(&output).ok();
    let inner = inner.filter(|inner| serde_json::from_str::<&RawValue>(inner).is_ok());
    Some(inner.map_or(output, Cow::Owned))
}

/// The file that is read, and those that come with it.
fn read_with_attachments<'a>(told: &mut Members<'a>) -> Result<(Json<'a>, Action<'a>), DecodeError> {
    let path = told.take("file_path")?.unwrap_or(Json::Null);
    let input = Json::Object(vec![(Cow::Borrowed("file_path"), path)]);
    let read = |path| FileUse { access: Access::Read, param: Cow::Borrowed("file_path"), path };
    let mut uses = vec![read(PathArg::of(&input, "file_path"))];
    if let Some(Json::List(attachments)) = told.take("attachments")? {
        uses.extend(attachments.iter().map(|attachment| read(PathArg::of(attachment, "file_path"))));
    }
    Ok((input, Action::Files(uses)))
}

/// What stands in the place of an MCP server's output, and what the model is told: at the two events that take it.
fn told(call: &Call<'_>, verdict: &Verdict) -> Reply {
    let heard = matches!(&*call.event, "postToolUse" | "sessionStart");
    let output = redacted(verdict).filter(|_| call.event == "postToolUse" && is_mcp(&call.tool));
    let note = verdict.redaction().filter(|_| output.is_some()).map(Redaction::note);
    match joined(note.as_deref(), verdict.context().filter(|_| heard)) {
        None => Reply::silent(),
        context => print(&After { updated_mcp_tool_output: output, additional_context: context }),
    }
}

impl Host for Cursor {
    fn id(&self) -> &'static str {
        "cursor"
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
        let mut told = Members::read(stdin)?;
        let name = told
            .text("hook_event_name")?
            .or(event.map(Cow::Borrowed))
            .ok_or(DecodeError::MissingField("hook_event_name"))?;
        let phase = self.phase(&name);
        let roots = match told.take("workspace_roots")? {
            Some(Json::List(roots)) => roots,
            _ => Vec::new(),
        };
        let root = roots.into_iter().find_map(|root| match root {
            Json::Text(root) => Some(root),
            _ => None,
        });
        let session = told.first_text(&["conversation_id", "session_id"])?;
        let cwd = told.text("cwd")?.filter(|cwd| !cwd.is_empty()).or(root);
        let agent = Agent { id: told.text("subagent_id")?, kind: told.text("subagent_type")? };
        let transcript = told.text("transcript_path")?;
        let tool = told.text("tool_name")?;
        let output = output(&mut told, phase);
        let said = told.said("prompt", phase)?;
        let (tool, input, action) = match &*name {
            "preToolUse" | "postToolUse" | "postToolUseFailure" => {
                let tool = tool.ok_or(DecodeError::MissingField("tool_name"))?;
                let input = told.take("tool_input")?.ok_or(DecodeError::MissingField("tool_input"))?;
                if !matches!(input, Json::Object(_)) {
                    return Err(DecodeError::WrongField("tool_input"));
                }
                let action = TOOLS.action(&tool, &input);
                (tool, input, action)
            }
            "beforeShellExecution" => {
                let input = told.rest()?;
                let action = Shell("command").action(&input);
                (Cow::Borrowed("Shell"), input, action)
            }
            "beforeMCPExecution" => {
                let tool = tool.ok_or(DecodeError::MissingField("tool_name"))?;
                let input = match told.take("tool_input")? {
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
                let (input, action) = read_with_attachments(&mut told)?;
                (Cow::Borrowed("Read"), input, action)
            }
            "subagentStart" => (Cow::Borrowed("Task"), Json::Null, Action::Internal),
            _ => (Cow::Borrowed(""), Json::Null, Action::Nothing),
        };
        Ok(Call {
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

    fn encode(&self, call: &Call<'_>, verdict: &Verdict) -> Reply {
        let notice = verdict.notice();
        match call.phase {
            Phase::Before => {}
            Phase::After | Phase::Start => return told(call, verdict),
            Phase::Prompt => return print(&Prompt { r#continue: true, user_message: notice }),
            Phase::Permission | Phase::Config | Phase::End | Phase::Error | Phase::Other => {
                return Reply::silent();
            }
        }
        let message = verdict.message().unwrap_or_default();
        let asks = matches!(&*call.event, "beforeShellExecution" | "beforeMCPExecution");
        match verdict.decision() {
            Decision::Allow => match rewrite_hint(verdict) {
                // Only one of its events can change a call.
                Some(hint) if call.event != "preToolUse" => self.refuse(Some(call.phase), &hint),
                _ => print(&Answer {
                    permission: verdict.granted().then_some("allow"),
                    user_message: notice.map(str::to_owned),
                    updated_input: rewritten(call, verdict),
                    ..Answer::default()
                }),
            },
            Decision::Ask if asks => print(&objection("ask", &message, notice)),
            Decision::Ask | Decision::Deny => print_denial(&objection("deny", &message, notice), &message),
        }
    }

    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply {
        match phase {
            None | Some(Phase::Before | Phase::Permission | Phase::Config) => {
                print_denial(&objection("deny", message, None), message)
            }
            // Of another tool than an MCP server's it changes nothing.
            Some(Phase::After) => print(&After {
                updated_mcp_tool_output: Some(McpOutput {
                    content: [McpText { r#type: "text", text: message }],
                }),
                additional_context: None,
            }),
            Some(Phase::Prompt) => print(&Prompt { r#continue: true, user_message: Some(message) }),
            Some(Phase::Start | Phase::End | Phase::Error | Phase::Other) => Reply::silent(),
        }
    }
}
