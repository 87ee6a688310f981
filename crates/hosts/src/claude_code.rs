//! Claude Code: command hooks, one JSON object on stdin, one on stdout.
//!
//! What the client does, as observed on 2.1.325, decides the form of every answer here:
//! - Only `permissionDecision: "deny"` inside `hookSpecificOutput` with the right `hookEventName`, or exit 2,
//!   stops a tool. Text beside the JSON, a second object, or an explicit `null` makes the client drop the
//!   answer and run the tool, so an answer is one object without nulls, or nothing at all.
//! - `"allow"` skips the user's own prompt; silence leaves it. A verdict that only has no objection is silent.
//! - `updatedInput` replaces the whole input, so a rewrite repeats every member.
//! - A change of settings is refused with exit 2 alone.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use toolgate_model::{Action, Agent, Call, Decision, DecodeError, Host, Json, Phase, Reply, Verdict};

use crate::Tool::{self, Fetch, Internal, InternalReading, Mcp, Read, Search, Shell, Write};
use crate::action_for;

pub(crate) struct ClaudeCode;

/// Every tool of the client that we know, sorted by name. What is not here is judged by its parameters.
pub(crate) const TOOLS: &[(&str, Tool)] = &[
    ("Agent", InternalReading("cwd")),
    ("AskUserQuestion", Internal),
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
];

/// The fields of an event that matter here. Unknown ones are passed over; a doubled one is an error.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    hook_event_name: Cow<'a, str>,
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    transcript_path: Option<Cow<'a, str>>,
    #[serde(borrow)]
    cwd: Option<Cow<'a, str>>,
    #[serde(borrow)]
    agent_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    agent_type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tool_name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tool_input: Option<Json<'a>>,
    #[serde(borrow)]
    file_path: Option<Cow<'a, str>>,
    tool_response: Option<Response>,
}

/// What a tool gave back: only where the host says that it moved the session into a worktree.
#[derive(Default)]
struct Response {
    worktree: Option<String>,
}

impl<'de> Deserialize<'de> for Response {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ResponseVisitor)
    }
}

/// Passes over everything but one member, without keeping it: an output can be long.
struct ResponseVisitor;

impl<'de> Visitor<'de> for ResponseVisitor {
    type Value = Response;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tool's response")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Response, A::Error> {
        let mut response = Response::default();
        while let Some(key) = object.next_key::<Cow<'de, str>>()? {
            if key == "worktreePath" {
                response.worktree = object.next_value::<Json<'de>>()?.text().map(str::to_owned);
            } else {
                object.next_value::<IgnoredAny>()?;
            }
        }
        Ok(response)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Response, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Response::default())
    }
    fn visit_str<E>(self, _: &str) -> Result<Response, E> {
        Ok(Response::default())
    }
    fn visit_bool<E>(self, _: bool) -> Result<Response, E> {
        Ok(Response::default())
    }
    fn visit_i64<E>(self, _: i64) -> Result<Response, E> {
        Ok(Response::default())
    }
    fn visit_u64<E>(self, _: u64) -> Result<Response, E> {
        Ok(Response::default())
    }
    fn visit_f64<E>(self, _: f64) -> Result<Response, E> {
        Ok(Response::default())
    }
    fn visit_unit<E>(self) -> Result<Response, E> {
        Ok(Response::default())
    }
}

/// Reads an event of Claude Code; hosts that speak its language use it too.
pub(crate) fn decode<'a>(host: &'static str, stdin: &'a [u8]) -> Result<Call<'a>, DecodeError> {
    let event: Event<'a> = serde_json::from_slice(stdin)
        .map_err(|error| DecodeError::Malformed { line: error.line(), column: error.column() })?;
    let phase = match &*event.hook_event_name {
        "PreToolUse" => Phase::Before,
        "PermissionRequest" => Phase::Permission,
        "PostToolUse" | "PostToolUseFailure" => Phase::After,
        "ConfigChange" => Phase::Config,
        "SessionStart" => Phase::Start,
        _ => Phase::Other,
    };
    let (tool, input, action) = match phase {
        Phase::Before | Phase::Permission | Phase::After => {
            let tool = event.tool_name.ok_or(DecodeError::MissingField("tool_name"))?;
            let input = event.tool_input.ok_or(DecodeError::MissingField("tool_input"))?;
            if !matches!(input, Json::Object(_)) {
                return Err(DecodeError::WrongField("tool_input"));
            }
            let action = action_for(TOOLS, &tool, &input);
            (tool, input, action)
        }
        Phase::Config => (Cow::Borrowed(""), Json::Null, Action::Configure(event.file_path)),
        Phase::Start | Phase::Other => (Cow::Borrowed(""), Json::Null, Action::Nothing),
    };
    Ok(Call {
        host,
        event: event.hook_event_name,
        phase,
        session: event.session_id,
        cwd: event.cwd,
        transcript: event.transcript_path,
        entered: (phase == Phase::After && tool == "EnterWorktree")
            .then_some(event.tool_response)
            .flatten()
            .and_then(|response| response.worktree.map(Cow::Owned)),
        agent: Agent { id: event.agent_id, kind: event.agent_type },
        tool,
        input,
        action,
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
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
}

#[derive(Serialize)]
struct Permission<'a> {
    behavior: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

fn print(answer: &Answer<'_>) -> Reply {
    // Our own types hold no map with a key that is no string: the only way that writing them could fail.
    // Should it fail all the same, exit 2 blocks.
    match serde_json::to_string(answer) {
        Ok(json) => Reply::json(json),
        Err(_) => Reply { stderr: "toolgate could not write its answer".into(), code: 2, ..Reply::default() },
    }
}

fn before(decision: &str, reason: Option<&str>, updated_input: Option<Json<'_>>) -> Reply {
    print(&Answer {
        system_message: None,
        hook_specific_output: Some(Output {
            hook_event_name: "PreToolUse",
            permission_decision: (!decision.is_empty()).then_some(decision),
            permission_decision_reason: reason,
            updated_input,
            ..Output::default()
        }),
    })
}

fn permission(behavior: &str, message: Option<&str>) -> Reply {
    print(&Answer {
        system_message: None,
        hook_specific_output: Some(Output {
            hook_event_name: "PermissionRequest",
            decision: Some(Permission { behavior, message }),
            ..Output::default()
        }),
    })
}

impl Host for ClaudeCode {
    fn id(&self) -> &'static str {
        "claude-code"
    }

    fn profile(&self) -> &'static str {
        "worktree"
    }

    fn decode<'a>(&self, stdin: &'a [u8]) -> Result<Call<'a>, DecodeError> {
        decode(self.id(), stdin)
    }

    fn encode(&self, call: &Call<'_>, verdict: &Verdict) -> Reply {
        let message = verdict.message();
        let message = message.as_deref();
        match (call.phase, verdict.decision()) {
            (Phase::Before, Decision::Allow) => {
                let rewritten = match verdict.rewrites() {
                    [] => None,
                    rewrites => Some(rewrites.iter().fold(call.input.clone(), |input, (param, text)| {
                        input.with_text(param, text.clone())
                    })),
                };
                match (verdict.granted(), rewritten) {
                    (false, None) => Reply::silent(),
                    (true, rewritten) => before("allow", None, rewritten),
                    (false, rewritten) => before("", None, rewritten),
                }
            }
            (Phase::Before, decision @ (Decision::Ask | Decision::Deny)) => {
                before(decision.word(), message, None)
            }
            (Phase::Permission, Decision::Allow) if verdict.granted() => permission("allow", None),
            // The host is about to ask its user anyway.
            (Phase::Permission, Decision::Allow | Decision::Ask) => Reply::silent(),
            (Phase::Permission, Decision::Deny) => permission("deny", message),
            (Phase::Config, Decision::Ask | Decision::Deny) => {
                Reply { stderr: message.unwrap_or_default().to_owned(), code: 2, ..Reply::default() }
            }
            // What has happened cannot be stopped; it is in the record.
            (Phase::Config | Phase::After | Phase::Start | Phase::Other, _) => Reply::silent(),
        }
    }

    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply {
        match phase {
            // Not knowing the event, answer the one where a wrong answer costs: for any other one the
            // client drops it as not its own.
            None | Some(Phase::Before) => before("deny", Some(message), None),
            Some(Phase::Permission) => permission("deny", Some(message)),
            Some(Phase::Config) => Reply { stderr: message.to_owned(), code: 2, ..Reply::default() },
            Some(Phase::After | Phase::Start | Phase::Other) => {
                print(&Answer { system_message: Some(message), hook_specific_output: None })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_every_tool_is_found() {
        assert!(TOOLS.is_sorted_by_key(|(name, _)| name));
    }

    #[test]
    fn a_doubled_tool_name_is_refused() {
        let event =
            br#"{"hook_event_name":"PreToolUse","tool_name":"Read","tool_name":"Bash","tool_input":{}}"#;
        assert!(ClaudeCode.decode(event).is_err());
    }

    #[test]
    fn an_event_that_it_does_not_know_passes() {
        let call = ClaudeCode.decode(br#"{"hook_event_name":"SomethingNew"}"#).unwrap();
        assert_eq!(call.phase, Phase::Other);
    }

    #[test]
    fn a_glob_that_leads_away_is_a_place_of_its_own() {
        let uses = |input: &str| {
            let event =
                format!(r#"{{"hook_event_name":"PreToolUse","tool_name":"Glob","tool_input":{input}}}"#);
            match ClaudeCode.decode(event.as_bytes()).unwrap().action {
                Action::Files(uses) => uses.len(),
                _ => 0,
            }
        };
        assert_eq!(uses(r#"{"pattern":"**/*.rs"}"#), 1);
        assert_eq!(uses(r#"{"pattern":"/etc/*"}"#), 2);
        assert_eq!(uses(r#"{"pattern":"../*"}"#), 2);
        assert_eq!(uses(r#"{"pattern":"link/**"}"#), 2);
        assert_eq!(uses(r#"{"pattern":"{/etc,x}/**"}"#), 2);
    }
}
