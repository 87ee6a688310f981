//! Qwen Code: Gemini's tools, Claude Code's events and answers.
//!
//! What the client does, as observed on 0.24.4: it ignores a changed input and runs the original, so a rewrite is
//! a denial that says what to write instead; exit 2 without text lets the call run. What a tool gave back can be neither
//! changed nor hidden: a block after the call leaves it where it is. `additionalContext` after a call is for the model. That
//! `systemMessage` is shown beside exit 2 has not been seen. The calls of a sub-agent tell its id and no kind: the id is its
//! kind, a `-`, and the id of the call that started it.

use serde::Serialize;
use toolgate_model::{Call, Decision, DecodeError, Host, Phase, Reply, Verdict};

use crate::claude_code::phase_of_kin;
use crate::tools::Tool::{Fetch, Internal, Question, Read, Search, ShellIn, Write};
use crate::tools::{Toolset, is_mcp_name};
use crate::wire::{Dialect, print, print_denial, rewrite_hint};

pub(crate) struct Qwen;

/// Every tool of the client that we know.
pub(crate) const TOOLS: Toolset = Toolset {
    is_added: is_mcp_name,
    listed: &[
        ("agent", Internal),
        ("ask_user_question", Question),
        ("edit", Write("file_path")),
        ("exit_plan_mode", Internal),
        ("glob", Search("path", Some("pattern"))),
        ("grep_search", Search("path", Some("glob"))),
        ("list_directory", Search("path", None)),
        ("monitor", ShellIn("command", "directory")),
        ("read_file", Read("file_path")),
        ("run_shell_command", ShellIn("command", "directory")),
        ("save_memory", Internal),
        ("send_message", Internal),
        ("skill", Internal),
        ("task_stop", Internal),
        ("todo_write", Internal),
        ("tool_search", Internal),
        ("web_fetch", Fetch("url")),
        ("web_search", Fetch("query")),
        ("write_file", Write("file_path")),
    ],
};

const DIALECT: Dialect = Dialect { host: "qwen", tools: TOOLS, phase };

/// Where its events stand.
fn phase(event: &str) -> Phase {
    match phase_of_kin(event) {
        // It comes before every request to the model and not only when the user has spoken: it begins no turn.
        Phase::Prompt => Phase::Other,
        phase => phase,
    }
}

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
        permission_decision_reason: &'a str,
    },
    /// What the model is told.
    #[serde(rename_all = "camelCase")]
    Told { hook_event_name: &'a str, additional_context: &'a str },
}

fn before<'a>(decision: &'static str, reason: &'a str, system_message: Option<&'a str>) -> Answer<'a> {
    let output = Output::Before {
        hook_event_name: "PreToolUse",
        permission_decision: decision,
        permission_decision_reason: reason,
    };
    Answer { system_message, hook_specific_output: Some(output) }
}

fn say(system_message: Option<&str>, hook_specific_output: Option<Output<'_>>) -> Reply {
    if system_message.is_none() && hook_specific_output.is_none() {
        return Reply::silent();
    }
    print(&Answer { system_message, hook_specific_output })
}

impl Host for Qwen {
    fn id(&self) -> &'static str {
        "qwen"
    }

    fn project_variable(&self) -> Option<&'static str> {
        Some("QWEN_PROJECT_DIR")
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
        let told = |context| Output::Told { hook_event_name: &call.event, additional_context: context };
        match (call.phase, verdict.decision()) {
            (Phase::Before, Decision::Allow) => match rewrite_hint(verdict) {
                None => say(notice, None),
                Some(hint) => print_denial(&before("deny", &hint, notice), &hint),
            },
            (Phase::Before, Decision::Ask) => print(&before("ask", &message, notice)),
            (Phase::Before, Decision::Deny) => print_denial(&before("deny", &message, notice), &message),
            (Phase::Config, Decision::Ask | Decision::Deny) | (Phase::Permission, Decision::Deny) => {
                Reply::blocking(&message)
            }
            // What has happened cannot be stopped; it is in the record.
            (Phase::After | Phase::Start, _) => say(notice, verdict.context().map(told)),
            (
                Phase::Permission | Phase::Config | Phase::Prompt | Phase::End | Phase::Error | Phase::Other,
                _,
            ) => Reply::silent(),
        }
    }

    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply {
        match phase {
            None | Some(Phase::Before) => print_denial(&before("deny", message, None), message),
            Some(Phase::Permission | Phase::Config) => Reply::blocking(message),
            Some(Phase::Start) => say(Some(message), None),
            Some(Phase::After | Phase::Prompt | Phase::End | Phase::Error | Phase::Other) => Reply::silent(),
        }
    }
}
