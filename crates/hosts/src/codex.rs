//! Codex CLI: Claude Code's events, answered to a stricter reader.
//!
//! What the client does, as observed on 0.166.0:
//! - It runs the tool on anything but a well-formed denial, and an unknown field makes any answer void. So a
//!   denial is exit 2 with the reason on stderr, which wins over all else, and its JSON has the known fields only.
//! - It cannot ask: what would be asked is denied. Only the prompt that it is about to show anyway can be answered.
//! - A rewrite is taken only beside `"allow"`, which grants nothing here: its own approvals come after.
//! - `systemMessage` is a warning to the user, read only where the hook ends with 0; `additionalContext` is for the model.
//! - What a tool gave back cannot be changed, but a block after the call shows its reason instead. Partial output of a
//!   shell that still runs, results that an MCP server calls errors and failed patches are not told.
//! - `cwd` is the directory that the call names, which an agent chooses; the hook itself starts in the session's.

use serde::Serialize;
use toolgate_model::{Call, Decision, DecodeError, HooksStart, Host, Json, Phase, Reply, Verdict};

use crate::claude_code::phase_of_kin as phase;
use crate::readable::readable;
use crate::tools::Tool::{Fetch, Internal, Mcp, Patch, Question, Read, Shell, ShellIn};
use crate::tools::{Toolset, is_mcp_name};
use crate::wire::{Dialect, print, print_denial, rewritten};

pub(crate) struct Codex;

/// Every tool of the client that we know. It calls any shell tool `Bash`.
pub(crate) const TOOLS: Toolset = Toolset {
    is_added: is_mcp_name,
    listed: &[
        ("Bash", Shell("command")),
        ("apply_patch", Patch("command")),
        ("close_agent", Internal),
        ("collaborationclose_agent", Internal),
        ("collaborationinterrupt_agent", Internal),
        ("collaborationlist_agents", Internal),
        ("collaborationsend_input", Internal),
        ("collaborationsend_message", Internal),
        ("collaborationspawn_agent", Internal),
        ("collaborationwait_agent", Internal),
        ("create_goal", Internal),
        ("exec_command", ShellIn("cmd", "workdir")),
        ("get_goal", Internal),
        ("list_mcp_resource_templates", Internal),
        ("list_mcp_resources", Internal),
        ("multi_agent_v1close_agent", Internal),
        ("multi_agent_v1resume_agent", Internal),
        ("multi_agent_v1send_input", Internal),
        ("multi_agent_v1spawn_agent", Internal),
        ("multi_agent_v1wait_agent", Internal),
        ("read_mcp_resource", Mcp),
        ("request_user_input", Question),
        ("resume_agent", Internal),
        ("send_input", Internal),
        ("spawn_agent", Internal),
        ("tool_search", Internal),
        ("update_goal", Internal),
        ("update_plan", Internal),
        ("view_image", Read("path")),
        ("wait_agent", Internal),
        ("web_search", Fetch("query")),
        // Text typed into a shell that runs. The client tells nobody of it today; should it, it is a command.
        ("write_stdin", Shell("chars")),
    ],
};

const DIALECT: Dialect = Dialect { host: "codex", tools: TOOLS, phase };

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    /// For the user, and not for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<Output<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    #[serde(rename_all = "camelCase")]
    Before {
        hook_event_name: &'static str,
        permission_decision: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        permission_decision_reason: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        updated_input: Option<Json<'a>>,
    },
    #[serde(rename_all = "camelCase")]
    Permission { hook_event_name: &'static str, decision: Behaviour<'a> },
    /// What the model is told: alone, since earlier versions take no decision beside it.
    #[serde(rename_all = "camelCase")]
    Told { hook_event_name: &'a str, additional_context: &'a str },
}

#[derive(Serialize)]
struct Behaviour<'a> {
    behavior: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

fn before<'a>(decision: &'static str, reason: Option<&'a str>, input: Option<Json<'a>>) -> Output<'a> {
    Output::Before {
        hook_event_name: "PreToolUse",
        permission_decision: decision,
        permission_decision_reason: reason,
        updated_input: input,
    }
}

fn permission<'a>(behavior: &'static str, message: Option<&'a str>) -> Output<'a> {
    let decision = Behaviour { behavior, message };
    Output::Permission { hook_event_name: "PermissionRequest", decision }
}

fn told<'a>(call: &'a Call<'_>, verdict: &'a Verdict) -> Option<Output<'a>> {
    let additional_context = verdict.context()?;
    Some(Output::Told { hook_event_name: &call.event, additional_context })
}

fn alone(output: Output<'_>) -> Answer<'_> {
    Answer { hook_specific_output: Some(output), ..Answer::default() }
}

fn say(system_message: Option<&str>, hook_specific_output: Option<Output<'_>>) -> Reply {
    if system_message.is_none() && hook_specific_output.is_none() {
        return Reply::silent();
    }
    print(&Answer { system_message, hook_specific_output })
}

/// What the model reads instead of what the tool gave back. Any other member would make it void.
#[derive(Serialize)]
struct Block<'a> {
    decision: &'static str,
    reason: &'a str,
}

fn block(reason: &str) -> Block<'_> {
    Block { decision: "block", reason }
}

/// Where in the result of an MCP server that is which the model gets; the client prefers the first.
const READ: &[&str] = &["structuredContent", "content"];

impl Host for Codex {
    fn id(&self) -> &'static str {
        "codex"
    }

    fn changes_output(&self, _: &str) -> bool {
        true
    }

    fn hooks_start(&self) -> HooksStart {
        HooksStart::WithTheSession
    }

    fn runs_what_is_late(&self) -> bool {
        true
    }

    fn phase(&self, event: &str) -> Phase {
        phase(event)
    }

    fn decode<'a>(&self, event: Option<&'a str>, stdin: &'a [u8]) -> Result<Call<'a>, DecodeError> {
        DIALECT.decode(event, stdin)
    }

    fn encode(&self, call: &Call<'_>, verdict: &Verdict) -> Reply {
        let message = verdict.message().unwrap_or_default();
        let notice = verdict.notice();
        match (call.phase, verdict.decision()) {
            (Phase::Before, Decision::Allow) => match rewritten(call, verdict) {
                None => say(notice, told(call, verdict)),
                Some(input) => say(notice, Some(before("allow", None, Some(input)))),
            },
            // Beside exit 2 the client reads no JSON, and so would not show the notice.
            (Phase::Before, Decision::Ask | Decision::Deny)
                if notice.is_some() && !message.trim().is_empty() =>
            {
                say(notice, Some(before("deny", Some(&message), None)))
            }
            (Phase::Permission, Decision::Allow) if verdict.granted() => {
                print(&alone(permission("allow", None)))
            }
            // The host is about to ask its user anyway.
            (Phase::Permission, Decision::Allow | Decision::Ask) => Reply::silent(),
            (Phase::Before | Phase::Permission | Phase::Config, Decision::Ask | Decision::Deny) => {
                self.refuse(Some(call.phase), &message)
            }
            (Phase::After, _) => match verdict.redaction() {
                None => say(notice, told(call, verdict)),
                Some(redaction) => print(&block(&readable(redaction, READ))),
            },
            // What has happened cannot be stopped; it is in the record.
            (Phase::Start | Phase::Prompt, _) => say(notice, told(call, verdict)),
            (Phase::Config | Phase::End | Phase::Error | Phase::Other, _) => Reply::silent(),
        }
    }

    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply {
        match phase {
            None | Some(Phase::Before) => print_denial(&alone(before("deny", Some(message), None)), message),
            Some(Phase::Permission) => print_denial(&alone(permission("deny", Some(message))), message),
            Some(Phase::Config) => Reply::blocking(message),
            Some(Phase::After) => print_denial(&block(message), message),
            Some(Phase::Start | Phase::Prompt) => say(Some(message), None),
            Some(Phase::End | Phase::Error | Phase::Other) => Reply::silent(),
        }
    }
}
