//! Qwen Code: Gemini's tools, Claude Code's events and answers.
//!
//! What the client does, as observed on 0.24.4: it ignores a changed input and runs the original, so a rewrite is
//! a denial that says what to write instead; exit 2 without text lets the call run. What a tool gave back can be neither
//! changed nor hidden: a block after the call leaves it where it is.

use serde::Serialize;
use toolgate_model::{Call, Decision, DecodeError, Host, Phase, Reply, Verdict};

use crate::claude_code::phase_of_kin as phase;
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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    hook_specific_output: Output<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Output<'a> {
    hook_event_name: &'static str,
    permission_decision: &'static str,
    permission_decision_reason: &'a str,
}

fn before<'a>(decision: &'static str, reason: &'a str) -> Answer<'a> {
    Answer {
        hook_specific_output: Output {
            hook_event_name: "PreToolUse",
            permission_decision: decision,
            permission_decision_reason: reason,
        },
    }
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
        match (call.phase, verdict.decision()) {
            (Phase::Before, Decision::Allow) => match rewrite_hint(verdict) {
                None => Reply::silent(),
                Some(hint) => self.refuse(Some(Phase::Before), &hint),
            },
            (Phase::Before, Decision::Ask) => print(&before("ask", &message)),
            (Phase::Before | Phase::Config, Decision::Deny) | (Phase::Config, Decision::Ask) => {
                self.refuse(Some(call.phase), &message)
            }
            (Phase::Permission, Decision::Deny) => Reply::blocking(&message),
            // What has happened cannot be stopped; it is in the record.
            (
                Phase::Permission
                | Phase::Config
                | Phase::After
                | Phase::Start
                | Phase::Prompt
                | Phase::End
                | Phase::Error
                | Phase::Other,
                _,
            ) => Reply::silent(),
        }
    }

    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply {
        match phase {
            None | Some(Phase::Before) => print_denial(&before("deny", message), message),
            Some(Phase::Permission | Phase::Config) => Reply::blocking(message),
            Some(Phase::After | Phase::Start | Phase::Prompt | Phase::End | Phase::Error | Phase::Other) => {
                Reply::silent()
            }
        }
    }
}
