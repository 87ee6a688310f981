//! Gemini CLI: its own names for the events, and one word for the decision.
//!
//! What the client does, as observed on 0.61.0:
//! - JSON on stdout beats the exit code, and exit 2 without any text lets the call run. So a denial says it in
//!   both places.
//! - An unknown word for the decision lets the call run.
//! - A rewrite is merged over the arguments, and the model is told of it.
//! - `"ask"` shows a dialog; where nobody is there the client ends without running the tool.

use serde::Serialize;
use toolgate_model::{Call, Decision, DecodeError, Host, Json, Phase, Reply, Verdict};

use crate::tools::Tool::{Fetch, Internal, Read, Search, ShellIn, Write};
use crate::tools::Toolset;
use crate::wire::{Dialect, print, print_denial, rewritten};

pub(crate) struct Gemini;

/// Every tool of the client that we know.
pub(crate) const TOOLS: Toolset = Toolset {
    is_added: |tool| tool.starts_with("mcp_"),
    listed: &[
        ("activate_skill", Internal),
        ("ask_user", Internal),
        ("codebase_investigator", Internal),
        ("complete_task", Internal),
        ("enter_plan_mode", Internal),
        ("exit_plan_mode", Internal),
        ("get_internal_docs", Internal),
        ("glob", Search("dir_path", Some("pattern"))),
        ("google_web_search", Fetch("query")),
        ("grep_search", Search("dir_path", Some("include_pattern"))),
        ("invoke_agent", Internal),
        ("list_background_processes", Internal),
        ("list_directory", Search("dir_path", None)),
        ("read_background_output", Internal),
        ("read_file", Read("file_path")),
        ("read_many_files", Search("include", None)),
        ("replace", Write("file_path")),
        ("run_shell_command", ShellIn("command", "dir_path")),
        ("save_memory", Internal),
        ("update_topic", Internal),
        ("web_fetch", Fetch("prompt")),
        ("write_file", Write("file_path")),
        ("write_todos", Internal),
    ],
};

const DIALECT: Dialect = Dialect { host: "gemini", tools: TOOLS, phase };

fn phase(event: &str) -> Phase {
    match event {
        "BeforeTool" => Phase::Before,
        "AfterTool" => Phase::After,
        "SessionStart" => Phase::Start,
        _ => Phase::Other,
    }
}

#[derive(Serialize)]
struct Answer<'a> {
    decision: &'static str,
    reason: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rewrite<'a> {
    hook_specific_output: NewInput<'a>,
}

#[derive(Serialize)]
struct NewInput<'a> {
    #[serde(rename = "hookEventName")]
    event: &'static str,
    tool_input: Json<'a>,
}

impl Host for Gemini {
    fn id(&self) -> &'static str {
        "gemini"
    }

    fn project_variable(&self) -> Option<&'static str> {
        Some("GEMINI_PROJECT_DIR")
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
            (Phase::Before, Decision::Allow) => match rewritten(call, verdict) {
                None => Reply::silent(),
                Some(tool_input) => {
                    print(&Rewrite { hook_specific_output: NewInput { event: "BeforeTool", tool_input } })
                }
            },
            (Phase::Before, Decision::Ask) => print(&Answer { decision: "ask", reason: &message }),
            (Phase::Before | Phase::Permission | Phase::Config, Decision::Ask | Decision::Deny) => {
                self.refuse(Some(call.phase), &message)
            }
            // What has happened cannot be stopped; it is in the record.
            (Phase::Permission | Phase::Config | Phase::After | Phase::Start | Phase::Other, _) => {
                Reply::silent()
            }
        }
    }

    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply {
        match phase {
            None | Some(Phase::Before | Phase::Permission | Phase::Config) => {
                print_denial(&Answer { decision: "deny", reason: message }, message)
            }
            Some(Phase::After | Phase::Start | Phase::Other) => Reply::silent(),
        }
    }
}
