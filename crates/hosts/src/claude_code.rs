//! Claude Code: command hooks, one JSON object on stdin, one on stdout.
//!
//! What the client does, as observed on 2.1.325, decides the form of every answer here:
//! - Only `permissionDecision: "deny"` inside `hookSpecificOutput` with the right `hookEventName`, or exit 2,
//!   stops a tool. Text beside the JSON, a second object, or an explicit `null` makes the client drop the
//!   answer and run the tool, so an answer is one object without nulls, or nothing at all.
//! - `"ask"` is asked in every mode, with one exception: under `bypassPermissions` nobody is asked about files that the client
//!   takes for its own or for sensitive (`.claude`, `.mcp.json`, `.git`, `.vscode`). There, toolgate denies instead of asking.
//! - `"allow"` skips the user's own prompt; silence leaves it. A verdict that only has no objection is silent.
//! - `updatedInput` replaces the whole input, so a rewrite repeats every member.
//! - Only exit 2 refuses a change of settings.
//! - `systemMessage` is shown to the user and not to the model; `additionalContext` is for the model, beside a denial too.
//!   The event of a prompt also comes for a task in the background that has ended, with a notice of that in place of the prompt.
//! - `updatedToolOutput` counts only if the tool did not fail. So toolgate redacts the output of a contained command, and of any command
//!   under `bypassPermissions`, while it runs. `[redaction] wrap = true` does so for all, in every mode.
//! - An error from a tool of an MCP server cannot be changed, and is shown.
//! - For a helper with `isolation: "worktree"`, the client itself refuses any command that is sent through a file. There, a command that
//!   has to be contained does not run, and the output of a command that fails is shown.
//! - Directories of `--add-dir` are in no event, and the event of `/add-dir` opens nothing: `[[scope]]` in the settings does.

use toolgate_model::{
    Answer, Call, Decision, DecodeError, Host, Phase, RedactedOutput, Reply, Stoppable, Terms, Unstoppable,
    Verdict,
};

use crate::hook_output::{HookOutput, say, tell};
use crate::reply::{joined, no_objection, redacted_whole, rewritten};
use crate::tools::Tool::{Fetch, Internal, InternalReading, Mcp, Question, Read, Search, Shell, Write};
use crate::tools::{Toolset, is_mcp_name};
use crate::wire::Dialect;

pub(crate) struct ClaudeCode;

/// Every tool of the client that we know.
pub(crate) const TOOLS: Toolset = Toolset {
    is_added: is_mcp_name,
    listed: &[
        ("Agent", InternalReading("cwd")),
        ("AskUserQuestion", Question),
        ("Bash", Shell("command")),
        ("BashOutput", Internal),
        ("CronCreate", Internal),
        ("CronDelete", Internal),
        ("CronList", Internal),
        ("Edit", Write("file_path")),
        ("EnterPlanMode", Internal),
        ("EnterWorktree", InternalReading("path")),
        ("ExitPlanMode", Internal),
        ("ExitWorktree", Internal),
        ("Glob", Search("path", Some("pattern"))),
        ("Grep", Search("path", Some("glob"))),
        ("KillBash", Internal),
        ("KillShell", Internal),
        ("LS", Search("path", None)),
        ("ListAgents", Internal),
        ("ListMcpResourcesTool", Internal),
        ("Monitor", Shell("command")),
        ("MultiEdit", Write("file_path")),
        ("NotebookEdit", Write("notebook_path")),
        ("NotebookRead", Read("notebook_path")),
        ("ProposeGoal", Internal),
        ("PushNotification", Internal),
        ("Read", Read("file_path")),
        ("ReadMcpResourceTool", Mcp),
        ("ReportFindings", Internal),
        ("ScheduleWakeup", Internal),
        ("SendMessage", Internal),
        ("Skill", Internal),
        ("SlashCommand", Internal),
        ("StructuredOutput", Internal),
        ("Task", Internal),
        ("TaskCreate", Internal),
        ("TaskGet", Internal),
        ("TaskList", Internal),
        ("TaskOutput", Internal),
        ("TaskStop", Internal),
        ("TaskUpdate", Internal),
        ("TodoRead", Internal),
        ("TodoWrite", Internal),
        ("ToolSearch", Internal),
        ("WaitForMcpServers", Internal),
        ("WebFetch", Fetch("url")),
        ("WebSearch", Fetch("query")),
        ("Workflow", InternalReading("scriptPath")),
        ("Write", Write("file_path")),
    ],
};

/// The phases for hosts that took over its events: none of them has one for a change of settings.
pub(crate) fn phase_of_kin(event: &str) -> Phase {
    match phase(event) {
        Phase::Config => Phase::Other,
        phase => phase,
    }
}

/// In which phase of a call its events come.
pub(crate) fn phase(event: &str) -> Phase {
    match event {
        "PreToolUse" => Phase::Before,
        "PermissionRequest" => Phase::Permission,
        "PostToolUse" | "PostToolUseFailure" => Phase::After,
        "ConfigChange" => Phase::Config,
        "SessionStart" => Phase::Start,
        "UserPromptSubmit" => Phase::Prompt,
        "SessionEnd" => Phase::End,
        _ => Phase::Other,
    }
}

impl Host for ClaudeCode {
    fn id(&self) -> &'static str {
        "claude-code"
    }

    fn own_directory(&self) -> Option<&'static str> {
        Some(".claude")
    }

    // It starts them elsewhere then.
    fn loses_hooks_with_directory(&self) -> bool {
        false
    }

    fn project_variable(&self) -> Option<&'static str> {
        Some("CLAUDE_PROJECT_DIR")
    }

    fn changes_output(&self, _: &str) -> bool {
        true
    }

    fn keeps_failed_output(&self, tool: &str) -> bool {
        tool == "Bash"
    }

    fn launches(&self, tool: &str) -> bool {
        matches!(tool, "Bash" | "Monitor")
    }

    fn phase(&self, event: &str) -> Phase {
        phase(event)
    }

    fn decode<'a>(&self, event: Option<&'a str>, stdin: &'a [u8]) -> Result<Call<'a>, DecodeError> {
        DIALECT.decode(event, stdin)
    }

    fn encode_verdict(&self, phase: Stoppable, call: &Call<'_>, verdict: &Verdict, terms: &Terms) -> Reply {
        let message = terms.message(verdict);
        let (message, notice) = (message.as_deref(), terms.notice.as_deref());
        let before = |word| HookOutput {
            permission_decision: word,
            permission_decision_reason: message,
            additional_context: terms.context.as_deref().map(Into::into),
            ..HookOutput::of("PreToolUse")
        };
        match (phase, verdict.decision()) {
            (Stoppable::Before, Decision::Allow | Decision::Contain) => {
                let (granted, updated_input) = (verdict.granted(), rewritten(call, terms));
                if !granted && updated_input.is_none() {
                    return tell(notice, HookOutput::context("PreToolUse", terms));
                }
                let answer = no_objection(updated_input.is_some(), granted, false);
                let output = before(granted.then_some("allow"));
                say(answer, notice, HookOutput { updated_input, ..output })
            }
            (Stoppable::Before, Decision::Ask) => say(Answer::Ask, notice, before(Some("ask"))),
            (Stoppable::Before, Decision::Deny) => say(Answer::Deny, notice, before(Some("deny"))),
            (Stoppable::Permission, Decision::Allow | Decision::Contain) if verdict.granted() => {
                say(Answer::Grant, notice, HookOutput::permission("allow", None))
            }
            // The host is about to ask its user anyway.
            (Stoppable::Permission, Decision::Allow | Decision::Contain | Decision::Ask) => {
                tell(notice, None)
            }
            (Stoppable::Permission, Decision::Deny) => {
                say(Answer::Deny, notice, HookOutput::permission("deny", message))
            }
            (Stoppable::Config, Decision::Allow | Decision::Contain) => tell(notice, None),
            (Stoppable::Config, Decision::Ask | Decision::Deny) => {
                Reply::blocking(message.unwrap_or_default())
            }
        }
    }

    fn encode_terms(&self, phase: Unstoppable, call: &Call<'_>, terms: &Terms) -> Reply {
        let notice = terms.notice.as_deref();
        match phase {
            Unstoppable::After => after_call(call, terms),
            Unstoppable::Start | Unstoppable::Prompt => tell(notice, HookOutput::context(&call.event, terms)),
            Unstoppable::End | Unstoppable::Error | Unstoppable::Other => tell(notice, None),
        }
    }

    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply {
        match phase {
            // Not knowing the event, answer the one where a wrong answer costs: for any other one the
            // client drops it as not its own.
            None | Some(Phase::Before) => say(Answer::Deny, None, HookOutput::before("deny", Some(message))),
            Some(Phase::Permission) => say(Answer::Deny, None, HookOutput::permission("deny", Some(message))),
            Some(Phase::Config) => Reply::blocking(message),
            // After a call the output is shown all the same: the client takes another one only in the very shape of
            // that which could not be read, and a block hides nothing.
            Some(Phase::After | Phase::Start | Phase::Prompt | Phase::End | Phase::Error | Phase::Other) => {
                tell(Some(message), None)
            }
        }
    }
}

const DIALECT: Dialect =
    Dialect { host: "claude-code", tools: TOOLS, phase, unasked: Some(("bypassPermissions", UNASKED)) };

/// What the client takes for sensitive itself. In the mode in which it skips its own question about these, it skips a hook's too;
/// about all else it asks.
const UNASKED: &[&str] = &[
    ".bash_profile",
    ".bashrc",
    ".claude",
    ".git",
    ".husky",
    ".idea",
    ".mcp.json",
    ".profile",
    ".ripgreprc",
    ".vscode",
    ".zprofile",
    ".zshrc",
];

/// What a tool gave back is replaced by the same without its secrets. The client takes it only in the very shape in which it
/// came, and of a tool that failed not at all.
fn after_call(call: &Call<'_>, terms: &Terms) -> Reply {
    let notice = terms.notice.as_deref();
    let note = terms.output.as_ref().map(RedactedOutput::note);
    match joined(note.as_deref(), terms.context.as_deref()) {
        Some(context) if call.event == "PostToolUse" => {
            let updated_tool_output = redacted_whole(terms);
            let answer = if updated_tool_output.is_some() { Answer::Redact } else { Answer::Tell };
            let additional_context = Some(context.into());
            let output =
                HookOutput { updated_tool_output, additional_context, ..HookOutput::of("PostToolUse") };
            say(answer, notice, output)
        }
        _ => tell(notice, None),
    }
}

#[cfg(test)]
mod tests {
    use toolgate_model::Action;

    use super::*;

    #[test]
    fn a_doubled_tool_name_is_refused() {
        let event =
            br#"{"hook_event_name":"PreToolUse","tool_name":"Read","tool_name":"Bash","tool_input":{}}"#;
        assert!(ClaudeCode.decode(None, event).is_err());
    }

    #[test]
    fn a_member_that_is_doubled_behind_thousands_is_refused() {
        let many = (0..5000).fold(String::new(), |many, number| many + &format!("\"n{number}\":1,"));
        let event = format!(
            r#"{{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{{{many}"command":"ls","command":"rm x"}}}}"#
        );
        assert!(ClaudeCode.decode(None, event.as_bytes()).is_err());
    }

    #[test]
    fn an_unknown_event_is_read_as_one_that_stops_nothing() {
        let call = ClaudeCode.decode(None, br#"{"hook_event_name":"SomethingNew"}"#).unwrap();
        assert_eq!(call.phase, Phase::Other);
    }

    #[test]
    fn a_glob_that_leads_elsewhere_is_judged_as_a_second_place() {
        let uses = |input: &str| {
            let event =
                format!(r#"{{"hook_event_name":"PreToolUse","tool_name":"Glob","tool_input":{input}}}"#);
            match ClaudeCode.decode(None, event.as_bytes()).unwrap().action {
                Action::Files(uses) => uses.len(),
                _ => 0,
            }
        };
        assert_eq!(uses(r#"{"pattern":"**/*.rs"}"#), 1);
        assert_eq!(uses(r#"{"pattern":"/etc/*"}"#), 2);
        assert_eq!(uses(r#"{"pattern":"../*"}"#), 2);
        assert_eq!(uses(r#"{"pattern":"link/**"}"#), 2);
        assert_eq!(uses(r#"{"pattern":"{/etc,x*}/**"}"#), 2);
        assert_eq!(uses(r#"{"pattern":"**/*.{rs,toml}"}"#), 1);
        assert_eq!(uses(r#"{"pattern":"{*,}/etc/*"}"#), 2);
        assert_eq!(uses(r#"{"pattern":"{*,.}{*,.}/*"}"#), 2);
        assert_eq!(uses(r#"{"pattern":"*/[.][.]/[.]./x"}"#), 2);
        assert_eq!(uses(r#"{"pattern":"*/\\.\\./x"}"#), 2);
        assert_eq!(uses(r#"{"pattern":"{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"}"#), 2);
    }
}
