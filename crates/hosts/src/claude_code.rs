//! Claude Code: command hooks, one JSON object on stdin, one on stdout.
//!
//! What the client does, as observed on 2.1.325, decides the form of every answer here:
//! - Only `permissionDecision: "deny"` inside `hookSpecificOutput` with the right `hookEventName`, or exit 2,
//!   stops a tool. Text beside the JSON, a second object, or an explicit `null` makes the client drop the
//!   answer and run the tool, so an answer is one object without nulls, or nothing at all.
//! - `"allow"` skips the user's own prompt; silence leaves it. A verdict that only has no objection is silent.
//! - `updatedInput` replaces the whole input, so a rewrite repeats every member.
//! - A change of settings is refused with exit 2 alone.
//! - `systemMessage` is shown to the user and not to the model; `additionalContext` is for the model, beside a denial too.
//!   The event of a prompt also comes for a task in the background that has ended, with a notice of that in place of the prompt.
//! - `updatedToolOutput` counts only where the tool did not fail. With `[redaction] wrap = true` a shell command is sent
//!   through toolgate, so that its output is without secrets however it ends.

use serde::Serialize;
use serde_json::value::RawValue;
use toolgate_model::{Call, Decision, DecodeError, Host, Json, Phase, Redaction, Reply, Verdict};

use crate::tools::Tool::{Fetch, Internal, InternalReading, Mcp, Question, Read, Search, Shell, Write};
use crate::tools::{Toolset, is_mcp_name};
use crate::wire::{Dialect, joined, print, redacted, rewritten};

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
        ("Read", Read("file_path")),
        ("ReadMcpResourceTool", Mcp),
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
        ("WebFetch", Fetch("url")),
        ("WebSearch", Fetch("query")),
        ("Workflow", InternalReading("scriptPath")),
        ("Write", Write("file_path")),
    ],
};

const DIALECT: Dialect = Dialect { host: "claude-code", tools: TOOLS, phase };

/// Where the events of those stand that took over its language: none of them tells of a change of settings.
pub(crate) fn phase_of_kin(event: &str) -> Phase {
    match phase(event) {
        Phase::Config => Phase::Other,
        phase => phase,
    }
}

/// Where its events stand.
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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    /// For the user, and not for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<Output<'a>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Output<'a> {
    hook_event_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_input: Option<Json<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Permission<'a>>,
    #[serde(rename = "updatedToolOutput", skip_serializing_if = "Option::is_none")]
    updated: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_context: Option<String>,
}

#[derive(Serialize)]
struct Permission<'a> {
    behavior: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

fn say(system_message: Option<&str>, hook_specific_output: Option<Output<'_>>) -> Reply {
    if system_message.is_none() && hook_specific_output.is_none() {
        return Reply::silent();
    }
    print(&Answer { system_message, hook_specific_output })
}

fn denial(reason: Option<&str>) -> Output<'_> {
    Output {
        hook_event_name: "PreToolUse",
        permission_decision: Some(Decision::Deny.word()),
        permission_decision_reason: reason,
        ..Output::default()
    }
}

fn before<'a>(call: &Call<'a>, verdict: &Verdict, message: Option<&'a str>) -> Option<Output<'a>> {
    let (word, updated_input) = match verdict.decision() {
        Decision::Allow => (verdict.granted().then_some("allow"), rewritten(call, verdict)),
        decision @ (Decision::Ask | Decision::Deny) => (Some(decision.word()), None),
    };
    let told = told("PreToolUse", verdict.context());
    if word.is_none() && updated_input.is_none() {
        return told;
    }
    Some(Output {
        permission_decision: word,
        permission_decision_reason: message,
        updated_input,
        ..told.unwrap_or(Output { hook_event_name: "PreToolUse", ..Output::default() })
    })
}

fn permission<'a>(behavior: &'a str, message: Option<&'a str>) -> Output<'a> {
    Output {
        hook_event_name: "PermissionRequest",
        decision: Some(Permission { behavior, message }),
        ..Output::default()
    }
}

/// What the model is told at this event.
fn told<'a>(event: &'a str, context: Option<&str>) -> Option<Output<'a>> {
    let context = context?.to_owned();
    Some(Output { hook_event_name: event, additional_context: Some(context), ..Output::default() })
}

/// What a tool gave back is replaced by the same without its secrets. The client takes it only in the very shape in which it
/// came, and of a tool that failed not at all.
fn after<'a>(call: &'a Call<'_>, verdict: &'a Verdict) -> Option<Output<'a>> {
    if call.event != "PostToolUse" {
        return None;
    }
    let note = verdict.redaction().map(Redaction::note);
    let context = joined(note.as_deref(), verdict.context());
    Some(Output { updated: redacted(verdict), ..told("PostToolUse", context.as_deref())? })
}

impl Host for ClaudeCode {
    fn id(&self) -> &'static str {
        "claude-code"
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

    fn phase(&self, event: &str) -> Phase {
        phase(event)
    }

    fn decode<'a>(&self, event: Option<&'a str>, stdin: &'a [u8]) -> Result<Call<'a>, DecodeError> {
        DIALECT.decode(event, stdin)
    }

    fn encode(&self, call: &Call<'_>, verdict: &Verdict) -> Reply {
        let message = verdict.message();
        let message = message.as_deref();
        let output = match (call.phase, verdict.decision()) {
            (Phase::Before, _) => before(call, verdict, message),
            (Phase::Permission, Decision::Allow) if verdict.granted() => Some(permission("allow", None)),
            // The host is about to ask its user anyway.
            (Phase::Permission, Decision::Allow | Decision::Ask) => None,
            (Phase::Permission, Decision::Deny) => Some(permission("deny", message)),
            (Phase::Config, Decision::Ask | Decision::Deny) => {
                return Reply::blocking(message.unwrap_or_default());
            }
            (Phase::After, _) => after(call, verdict),
            // What has happened cannot be stopped; it is in the record.
            (Phase::Start | Phase::Prompt, _) => told(&call.event, verdict.context()),
            (Phase::Config | Phase::End | Phase::Error | Phase::Other, _) => None,
        };
        say(verdict.notice(), output)
    }

    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply {
        match phase {
            // Not knowing the event, answer the one where a wrong answer costs: for any other one the
            // client drops it as not its own.
            None | Some(Phase::Before) => say(None, Some(denial(Some(message)))),
            Some(Phase::Permission) => say(None, Some(permission("deny", Some(message)))),
            Some(Phase::Config) => Reply::blocking(message),
            // After a call the output is shown all the same: the client takes another one only in the very shape of
            // that which could not be read, and a block hides nothing.
            Some(Phase::After | Phase::Start | Phase::Prompt | Phase::End | Phase::Error | Phase::Other) => {
                say(Some(message), None)
            }
        }
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
    fn an_event_that_it_does_not_know_passes() {
        let call = ClaudeCode.decode(None, br#"{"hook_event_name":"SomethingNew"}"#).unwrap();
        assert_eq!(call.phase, Phase::Other);
    }

    #[test]
    fn a_glob_that_leads_away_is_a_place_of_its_own() {
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
