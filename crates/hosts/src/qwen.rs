//! Qwen Code: Gemini's tools, Claude Code's events and answers.
//!
//! What the client does, as observed on 0.24.4: it ignores a changed input and runs the original, so a rewrite is
//! a denial that says what to write instead; exit 2 without text lets the call run. The output of a tool can be neither
//! changed nor hidden: a block after the call leaves it there. `"ask"` asks in every mode, even in `yolo`, if there is a user;
//! if there is none, the client stops the call and shows the reason. `additionalContext` after a call is for the model. We have not
//! seen `systemMessage` shown together with exit 2. The calls of a sub-agent name its id and no kind: the id is its
//! kind, a `-`, and the id of the call that started it. What a search finds, what a program prints and the errors of MCP servers' tools
//! are shown as they are. Directories of `--include-directories` are in no event, and `[[scope]]` in the settings opens them.

use toolgate_model::{
    Answer, Call, Decision, DecodeError, Host, Kept, KeptFrom, Phase, Reply, Stoppable, Terms, Unstoppable,
    Verdict,
};

use crate::claude_code::phase_of_kin;
use crate::hook_output::{HookAnswer, HookOutput, say, tell};
use crate::reply::{print_denial, rewrite_hint};
use crate::tools::Tool::{Fetch, Internal, Mcp, Question, Read, Search, ShellIn, Write};
use crate::tools::{Toolset, is_mcp_name};
use crate::wire::Dialect;

pub(crate) struct Qwen;

/// Every tool of the client that we know.
pub(crate) const TOOLS: Toolset = Toolset {
    is_added: is_mcp_name,
    listed: &[
        ("agent", Internal),
        ("ask_user_question", Question),
        ("cron_create", Internal),
        ("cron_delete", Internal),
        ("cron_list", Internal),
        ("edit", Write("file_path")),
        ("enter_plan_mode", Internal),
        ("exit_plan_mode", Internal),
        ("get_goal", Internal),
        ("glob", Search("path", Some("pattern"))),
        ("grep_search", Search("path", Some("glob"))),
        ("list_agents", Internal),
        ("list_directory", Search("path", None)),
        ("loop_wakeup", Internal),
        ("monitor", ShellIn("command", "directory")),
        ("notebook_edit", Write("notebook_path")),
        ("propose_goal", Internal),
        ("read_file", Read("file_path")),
        ("read_mcp_resource", Mcp),
        ("report_findings", Internal),
        ("run_shell_command", ShellIn("command", "directory")),
        ("save_memory", Internal),
        ("send_message", Internal),
        ("skill", Internal),
        ("structured_output", Internal),
        ("task_create", Internal),
        ("task_list", Internal),
        ("task_stop", Internal),
        ("task_update", Internal),
        ("todo_write", Internal),
        ("tool_search", Internal),
        ("update_goal", Internal),
        ("web_fetch", Fetch("url")),
        ("web_search", Fetch("query")),
        ("write_file", Write("file_path")),
    ],
};

impl Host for Qwen {
    fn id(&self) -> &'static str {
        "qwen"
    }

    fn own_directory(&self) -> Option<&'static str> {
        Some(".qwen")
    }

    fn project_variable(&self) -> Option<&'static str> {
        Some("QWEN_PROJECT_DIR")
    }

    fn runs_what_is_late(&self) -> bool {
        true
    }

    fn keeps(&self) -> &'static [Kept] {
        const {
            &[
                Kept::read(KeptFrom::Home, ".qwen/tmp/{project}"),
                Kept::written(KeptFrom::AboveTranscripts, "plans"),
                Kept::written(KeptFrom::Home, ".qwen/plans"),
                Kept::written(KeptFrom::AboveTranscripts, "memory"),
            ]
        }
    }

    fn phase(&self, event: &str) -> Phase {
        match phase_of_kin(event) {
            // It comes before every request to the model and not only when the user has spoken: it begins no turn.
            Phase::Prompt => Phase::Other,
            phase => phase,
        }
    }

    fn decode<'a>(&self, event: Option<&'a str>, stdin: &'a [u8]) -> Result<Call<'a>, DecodeError> {
        DIALECT.decode(event, stdin)
    }

    fn encode_verdict(&self, phase: Stoppable, _: &Call<'_>, verdict: &Verdict, terms: &Terms) -> Reply {
        let message = terms.message(verdict).unwrap_or_default();
        let notice = terms.notice.as_deref();
        match (phase, verdict.decision()) {
            (Stoppable::Before, Decision::Allow | Decision::Contain) => match rewrite_hint(terms) {
                None => tell(notice, None),
                Some(hint) => deny(notice, &hint),
            },
            (Stoppable::Before, Decision::Ask) => {
                say(Answer::Ask, notice, HookOutput::before("ask", Some(&message)))
            }
            (Stoppable::Before, Decision::Deny) => deny(notice, &message),
            // The host is about to ask its user anyway.
            (Stoppable::Permission, Decision::Allow | Decision::Contain | Decision::Ask)
            | (Stoppable::Config, Decision::Allow | Decision::Contain) => Reply::silent(),
            (Stoppable::Permission, Decision::Deny) | (Stoppable::Config, Decision::Ask | Decision::Deny) => {
                Reply::blocking(&message)
            }
        }
    }

    fn encode_terms(&self, phase: Unstoppable, call: &Call<'_>, terms: &Terms) -> Reply {
        match phase {
            Unstoppable::After | Unstoppable::Start => {
                tell(terms.notice.as_deref(), HookOutput::context(&call.event, terms))
            }
            Unstoppable::Prompt | Unstoppable::End | Unstoppable::Error | Unstoppable::Other => {
                Reply::silent()
            }
        }
    }

    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply {
        match phase {
            None | Some(Phase::Before) => deny(None, message),
            Some(Phase::Permission | Phase::Config) => Reply::blocking(message),
            Some(Phase::Start) => tell(Some(message), None),
            Some(Phase::After | Phase::Prompt | Phase::End | Phase::Error | Phase::Other) => Reply::silent(),
        }
    }
}

const DIALECT: Dialect =
    Dialect { host: "qwen", tools: TOOLS, phase: |event| Qwen.phase(event), unasked: None };

/// Denies in every form that the client obeys.
fn deny(notice: Option<&str>, message: &str) -> Reply {
    print_denial(&HookAnswer::with(notice, HookOutput::before("deny", Some(message))), message)
}
