//! Codex CLI: Claude Code's events, and a stricter reader of the answers.
//!
//! What the client does, as observed on 0.166.0:
//! - It runs the tool unless it gets a well-formed denial, and an unknown field invalidates any answer. So a
//!   denial is exit 2 with the reason on stderr, which wins over all else, and its JSON has the known fields only.
//! - It cannot ask, so toolgate denies instead of asking. toolgate can only answer the prompt that the client is about to show anyway.
//! - It accepts a rewrite only together with `"allow"`, which grants nothing here: its own approvals come afterwards.
//! - `systemMessage` is a warning to the user, read only where the hook ends with 0; `additionalContext` is for the model.
//! - The output of a tool cannot be changed, but a block after the call shows its reason instead. Partial output of a
//!   shell that still runs, results that an MCP server calls errors and failed patches raise no event.
//! - Such a text comes without the exit code, and most models make their calls in a script (`exec`, "code mode"), where it is an exception:
//!   the rest of the script does not run. So if a shell command runs through toolgate anyway, or nobody is asked for permission
//!   (`bypassPermissions`), toolgate searches its output while it runs; `[redaction] wrap = true` does so in every mode. In a script any
//!   other result in which only email addresses were found stays as it is.
//! - A command's terminal (`tty`) stays a terminal: toolgate searches what is printed there when the command has ended.
//! - Nobody is asked in any mode. Directories of `--add-dir` are in no event: `[[scope]]` in the settings opens them.
//! - `cwd` is the directory that the call names, which an agent chooses; the hook itself starts in the session's.

use toolgate_model::{
    Answer, Call, Decision, DecodeError, HooksStart, Host, Kept, KeptFrom, Phase, Reply, Stoppable, Terms,
    Unstoppable, Verdict,
};

use crate::claude_code::phase_of_kin as phase;
use crate::hook_output::{HookAnswer, HookOutput, say, tell};
use crate::readable::readable;
use crate::reply::{print, print_denial, rewritten};
use crate::tools::Tool::{Fetch, Internal, Mcp, Patch, Question, Read, Shell, ShellIn};
use crate::tools::{Toolset, is_mcp_name};
use crate::wire::Dialect;

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
        // Text typed into a shell that runs. The client raises no event for it today; should it, it is a command.
        ("write_stdin", Shell("chars")),
    ],
};

impl Host for Codex {
    fn id(&self) -> &'static str {
        "codex"
    }

    fn own_directory(&self) -> Option<&'static str> {
        Some(".codex")
    }

    fn keeps(&self) -> &'static [Kept] {
        const {
            &[
                Kept::read(KeptFrom::Home, ".codex/AGENTS.md"),
                Kept::read(KeptFrom::Home, ".codex/memories"),
                Kept::read(KeptFrom::Home, ".codex/prompts"),
                Kept::read(KeptFrom::Home, ".codex/skills"),
            ]
        }
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

    fn launches(&self, tool: &str) -> bool {
        matches!(tool, "Bash" | "exec_command")
    }

    fn spoils_changed_output(&self, tool: &str) -> bool {
        self.launches(tool)
    }

    fn stops_at_changed_output(&self, call: &Call<'_>) -> bool {
        call.id.as_deref().is_some_and(|id| id.starts_with(OF_SCRIPT))
    }

    fn phase(&self, event: &str) -> Phase {
        phase(event)
    }

    fn decode<'a>(&self, event: Option<&'a str>, stdin: &'a [u8]) -> Result<Call<'a>, DecodeError> {
        DIALECT.decode(event, stdin)
    }

    fn encode_verdict(&self, phase: Stoppable, call: &Call<'_>, verdict: &Verdict, terms: &Terms) -> Reply {
        let message = terms.denial(verdict).unwrap_or_default();
        let notice = terms.notice.as_deref();
        match (phase, verdict.decision()) {
            (Stoppable::Before, Decision::Allow | Decision::Contain) => match rewritten(call, terms) {
                // Context comes alone: earlier versions take no decision beside it.
                None => tell(notice, HookOutput::context(&call.event, terms)),
                Some(input) => {
                    let allowed = HookOutput::before("allow", None);
                    say(Answer::Rewrite, notice, HookOutput { updated_input: Some(input), ..allowed })
                }
            },
            // Beside exit 2 the client reads no JSON, and so would not show the notice.
            (Stoppable::Before, Decision::Ask | Decision::Deny)
                if notice.is_some() && !message.trim().is_empty() =>
            {
                say(Answer::Deny, notice, HookOutput::before("deny", Some(&message)))
            }
            (Stoppable::Permission, Decision::Allow | Decision::Contain) if verdict.granted() => {
                say(Answer::Grant, None, HookOutput::permission("allow", None))
            }
            // The host is about to ask its user anyway.
            (Stoppable::Permission, Decision::Allow | Decision::Contain | Decision::Ask)
            | (Stoppable::Config, Decision::Allow | Decision::Contain) => Reply::silent(),
            (Stoppable::Before | Stoppable::Config, Decision::Ask | Decision::Deny)
            | (Stoppable::Permission, Decision::Deny) => self.refuse(Some(call.phase), &message),
        }
    }

    fn encode_terms(&self, phase: Unstoppable, call: &Call<'_>, terms: &Terms) -> Reply {
        match (phase, &terms.output) {
            (Unstoppable::After, Some(redacted)) => {
                print(Answer::Redact, &HookAnswer::block(&readable(redacted, MODEL_READS)))
            }
            (Unstoppable::After | Unstoppable::Start | Unstoppable::Prompt, _) => {
                tell(terms.notice.as_deref(), HookOutput::context(&call.event, terms))
            }
            (Unstoppable::End | Unstoppable::Error | Unstoppable::Other, _) => Reply::silent(),
        }
    }

    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply {
        let deny = |output| print_denial(&HookAnswer::with(None, output), message);
        match phase {
            None | Some(Phase::Before) => deny(HookOutput::before("deny", Some(message))),
            Some(Phase::Permission) => deny(HookOutput::permission("deny", Some(message))),
            Some(Phase::Config) => Reply::blocking(message),
            Some(Phase::After) => print_denial(&HookAnswer::block(message), message),
            Some(Phase::Start | Phase::Prompt) => tell(Some(message), None),
            Some(Phase::End | Phase::Error | Phase::Other) => Reply::silent(),
        }
    }
}

/// How the id of a call begins that a script of the model makes.
const OF_SCRIPT: &str = "exec-";

const DIALECT: Dialect = Dialect { host: "codex", tools: TOOLS, phase, unasked: None };

/// Where in the result of an MCP server that is which the model gets; the client prefers the first.
const MODEL_READS: &[&str] = &["structuredContent", "content"];
