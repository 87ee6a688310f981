//! What the clients really send: every captured event is read without loss, and every tool in it is known.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::support::{CAPTURED, Payload, payloads};
use serde_json::Value;
use serde_json::value::RawValue;
use toolgate_hosts::host;
use toolgate_model::{Action, Call, DecodeError, PathArg, Phase};

/// Calls of tools that the clients' own makers do not know: an application's, and one that is not there.
const UNKNOWN: [&str; 1] = ["no_such_tool"];

/// The name and the input of the tool, wherever the host puts them.
fn tool_of(payload: &Value) -> Option<(&str, &Value)> {
    let inner =
        ["event", "input"].iter().find_map(|name| payload.get(name).filter(|value| value.is_object()));
    let outer = inner.unwrap_or(payload);
    let name = ["tool_name", "toolName", "tool"].iter().find_map(|name| outer.get(name)?.as_str())?;
    let places = [outer.get("tool_input"), outer.get("toolInput"), outer.get("toolArgs"), outer.get("args")];
    let own = [outer.get("input").filter(|_| outer.get("type").is_some()), payload.pointer("/output/args")];
    let input = places.into_iter().chain(own).flatten().next()?;
    Some((name, input))
}

/// All that the call says of files and commands, in one text.
fn said(call: &Call<'_>) -> String {
    match &call.action {
        Action::Files(uses) => {
            uses.iter().map(|used| used.path.text().to_owned()).collect::<Vec<_>>().join("\n")
        }
        Action::Shell { command, .. } => command.as_deref().unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}

#[test]
fn every_event_keeps_its_session_tool_and_input() {
    for (directory, id, fewest) in CAPTURED {
        let host = host(id).unwrap();
        let payloads = payloads(directory);
        assert!(payloads.len() >= *fewest, "{directory}: only {}", payloads.len());
        for Payload { place, event, bytes } in &payloads {
            let call = host.decode(Some(event), bytes).unwrap_or_else(|error| panic!("{place}: {error}"));
            let value: Value = serde_json::from_slice(bytes).unwrap();
            if call.phase == Phase::Other {
                continue;
            }
            let sessions = ["session_id", "sessionId", "sessionID"];
            let inner = [&value, &value["input"], &value["ctx"], &value["invocation"]];
            let session =
                inner.iter().find_map(|value| sessions.iter().find_map(|name| value.get(name)?.as_str()));
            let parent = value.get("parentAgentId").and_then(Value::as_str);
            assert_eq!(call.session.as_deref(), parent.or(session), "{place}: the session");
            if let Some((tool, input)) = tool_of(&value) {
                assert_eq!(call.tool, tool, "{place}: the tool");
                assert_eq!(&serde_json::to_value(&call.input).unwrap(), input, "{place}: the input");
            }
        }
    }
}

/// A client that calls its events otherwise than we know must not run its tools unjudged.
#[test]
fn a_call_under_an_unknown_event_name_is_refused() {
    let mut refused = BTreeSet::new();
    for (directory, id, _) in CAPTURED {
        let host = host(id).unwrap();
        for Payload { place, event, bytes } in &payloads(directory) {
            let call = host.decode(Some(event), bytes).unwrap();
            let value: Value = serde_json::from_slice(bytes).unwrap();
            if call.phase != Phase::Before || tool_of(&value).is_none() {
                continue;
            }
            let text = std::str::from_utf8(bytes).unwrap();
            let quoted = |name: &str| format!("\"{name}\"");
            let renamed = text.replace(&quoted(event), &quoted("BeforeToolRuns"));
            let named = renamed.replace(&quoted(&call.event), &quoted("BeforeToolRuns"));
            match host.decode(Some("BeforeToolRuns"), named.as_bytes()) {
                Err(DecodeError::UnknownEvent | DecodeError::WrongField(_)) => refused.insert(*id),
                other => panic!("{place}: {:?}", other.map(|call| call.phase)),
            };
        }
    }
    let all: BTreeSet<_> = CAPTURED.iter().map(|(_, id, _)| *id).collect();
    assert_eq!(refused, all);
}

#[test]
fn a_doubled_member_is_passed_over_or_named_as_the_reason() {
    let mut refused = BTreeSet::new();
    for (directory, id, _) in CAPTURED {
        let host = host(id).unwrap();
        for Payload { place, event, bytes } in &payloads(directory) {
            let members: BTreeMap<String, &RawValue> = serde_json::from_slice(bytes).unwrap();
            let text = std::str::from_utf8(bytes).unwrap();
            for (name, value) in &members {
                let doubled = text.replacen('{', &format!("{{{name:?}: {value},"), 1);
                if let Err(error) = host.decode(Some(event), doubled.as_bytes()) {
                    let is_clear = matches!(error, DecodeError::DoubledMember { .. });
                    assert!(is_clear, "{place}: `{name}` twice: {error}");
                    refused.insert(*id);
                }
            }
        }
    }
    let all: BTreeSet<_> = CAPTURED.iter().map(|(_, id, _)| *id).collect();
    assert_eq!(refused, all);
}

/// The members that what a tool gave back stands in, byte for byte.
fn output_of(bytes: &[u8]) -> Vec<&str> {
    type Members<'a> = BTreeMap<&'a str, &'a RawValue>;
    const OUTPUTS: [&str; 7] =
        ["tool_response", "toolResult", "tool_result", "output", "content", "details", "structuredContent"];
    fn inside(value: &RawValue) -> Option<Members<'_>> {
        serde_json::from_str(value.get()).ok()
    }
    let whole: Members<'_> = serde_json::from_slice(bytes).unwrap();
    let inner = ["event", "input"].iter().find_map(|name| inside(whole.get(name)?));
    let places = inner.into_iter().chain([whole]);
    places.flat_map(|place| OUTPUTS.map(|name| place.get(name).map(|value| value.get()))).flatten().collect()
}

#[test]
fn the_output_of_a_tool_is_kept_byte_for_byte() {
    for (directory, id, _) in CAPTURED {
        let mut outputs = 0;
        for Payload { place, event, bytes } in &payloads(directory) {
            let call = host(id).unwrap().decode(Some(event), bytes).unwrap();
            let output = call.output.as_deref();
            if call.phase != Phase::After {
                assert_eq!(output, None, "{place}");
                continue;
            }
            let expected = output_of(bytes);
            // An event of a tool that failed has none.
            assert_eq!(output.is_some(), !expected.is_empty(), "{place}");
            let Some(output) = output else { continue };
            outputs += 1;
            if *id == "pi" {
                let whole: Value = serde_json::from_slice(bytes).unwrap();
                let members: BTreeMap<&str, &RawValue> = serde_json::from_str(output).unwrap();
                let texts: BTreeSet<_> = members.values().map(|value| value.get()).collect();
                assert_eq!(texts, expected.into_iter().collect(), "{place}");
                for (name, value) in members {
                    assert_eq!(
                        whole["event"][name],
                        serde_json::from_str::<Value>(value.get()).unwrap(),
                        "{place}"
                    );
                }
            } else {
                assert_eq!(expected, [output], "{place}");
            }
        }
        assert!(outputs >= 1, "{directory}: no outputs");
    }
}

#[test]
fn no_output_makes_an_event_unreadable() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    for output in [&*deep, r#"{"a":1,"a":2}"#, r#""\ud800""#, "null", "7"] {
        for (id, event, payload) in [
            ("claude-code", "PostToolUse", r#"{"tool_name":"Bash","tool_input":{},"tool_response":OUTPUT}"#),
            ("codex", "PostToolUse", r#"{"tool_name":"Bash","tool_input":{},"tool_response":OUTPUT}"#),
            ("copilot", "postToolUse", r#"{"toolName":"bash","toolArgs":{},"toolResult":OUTPUT}"#),
            ("copilot", "PostToolUse", r#"{"tool_name":"Bash","tool_input":{},"tool_result":OUTPUT}"#),
            (
                "copilot-sdk",
                "onPostToolUse",
                r#"{"input":{"toolName":"bash","toolArgs":{},"toolResult":OUTPUT}}"#,
            ),
            ("cursor", "postToolUse", r#"{"tool_name":"Shell","tool_input":{},"tool_output":OUTPUT}"#),
            ("cursor", "afterShellExecution", r#"{"command":"ls","output":OUTPUT}"#),
            ("cursor", "afterMCPExecution", r#"{"tool_name":"t","tool_input":"{}","result_json":OUTPUT}"#),
            ("gemini", "AfterTool", r#"{"tool_name":"glob","tool_input":{},"tool_response":OUTPUT}"#),
            ("generic", "after", r#"{"tool":"t","input":{},"output":OUTPUT}"#),
            ("mpm", "PostToolUse", r#"{"tool_name":"Bash","tool_input":{},"tool_response":OUTPUT}"#),
            ("opencode", "tool.execute.after", r#"{"input":{"tool":"bash","args":{}},"output":OUTPUT}"#),
            (
                "pi",
                "tool_result",
                r#"{"event":{"type":"tool_result","toolName":"bash","input":{},"details":OUTPUT}}"#,
            ),
            ("qwen", "PostToolUse", r#"{"tool_name":"glob","tool_input":{},"tool_response":OUTPUT}"#),
        ] {
            let payload = payload.replace("OUTPUT", output);
            let call = host(id).unwrap().decode(Some(event), payload.as_bytes());
            let call = call.unwrap_or_else(|error| panic!("{id} {event}: {error}"));
            let expected = if id == "pi" { format!("{{\"details\":{output}}}") } else { output.to_owned() };
            // An absent response and none at all are the same to Claude Code's kin.
            if output != "null" || call.output.is_some() {
                assert_eq!(call.output.as_deref(), Some(&*expected), "{id} {event}");
            }
        }
    }
}

#[test]
fn json_inside_a_text_is_read_as_json() {
    for (event, member) in [("postToolUse", "tool_output"), ("afterMCPExecution", "result_json")] {
        let read = |output: &str| {
            let payload = format!(r#"{{"tool_name":"MCP:t","tool_input":{{}},"{member}":{output}}}"#);
            let call = host("cursor").unwrap().decode(Some(event), payload.as_bytes()).unwrap();
            call.output.unwrap().into_owned()
        };
        assert_eq!(read(r#""{\"content\":[\"a\"]}""#), r#"{"content":["a"]}"#);
        assert_eq!(read(r#""no JSON""#), r#""no JSON""#);
        assert_eq!(read(r#"{"a":1}"#), r#"{"a":1}"#);
    }
}

#[test]
fn every_tool_is_known_and_no_path_is_skipped() {
    for (directory, id, _) in CAPTURED {
        let host = host(id).unwrap();
        let mut calls = 0;
        for Payload { place, event, bytes } in &payloads(directory) {
            let call = host.decode(Some(event), bytes).unwrap();
            if !matches!(call.phase, Phase::Before | Phase::Permission) {
                continue;
            }
            calls += 1;
            let known = !matches!(call.action, Action::Unlisted { mcp: false } | Action::Nothing);
            assert_eq!(known, !UNKNOWN.contains(&&*call.tool), "{place}: {:?}", call.action);
            if let Action::Files(uses) = &call.action {
                for used in uses {
                    let named = matches!(used.path, PathArg::Text(_) | PathArg::Pattern(_) | PathArg::Cwd);
                    assert!(named, "{place}: {used:?}");
                }
            }
            // What an added tool is given is searched later, whole.
            if matches!(call.action, Action::Unlisted { .. }) {
                continue;
            }
            let value: Value = serde_json::from_slice(bytes).unwrap();
            let Some((_, Value::Object(input))) = tool_of(&value) else { continue };
            for (name, value) in input {
                if let Some(path) =
                    value.as_str().filter(|text| text.starts_with("/home/dev") && !text.contains('\n'))
                {
                    assert!(said(&call).contains(path), "{place}: `{name}` is passed over");
                }
            }
        }
        assert!(calls >= 1, "{directory}: no calls");
    }
}

#[test]
fn an_event_without_a_name_is_refused_where_events_do_not_name_themselves() {
    for (directory, id) in [("copilot", "copilot"), ("copilot-sdk", "copilot-sdk"), ("opencode", "opencode")]
    {
        let host = host(id).unwrap();
        let mut calls = 0;
        for Payload { place, event, bytes } in &payloads(directory) {
            if host.phase(event) == Phase::Before {
                assert!(host.decode(None, bytes).is_err(), "{place}");
                calls += 1;
            }
        }
        assert!(calls >= 1, "{directory}: no calls");
    }
}

/// What the user said, as the call has it, of every captured event that begins a turn or answers a question.
#[test]
fn only_words_of_the_user_are_taken_as_said_by_the_user() {
    let mut said = Vec::new();
    for (directory, id, _) in CAPTURED {
        for Payload { place, event, bytes } in &payloads(directory) {
            let call = host(id).unwrap().decode(Some(event), bytes).unwrap();
            assert!(call.phase != Phase::Prompt || call.said.is_some(), "{place}");
            if let Some(words) = call.said {
                said.push(format!("{place}: {words}"));
            }
        }
    }
    let scripted = "Please do the scripted work.";
    let expected = [
        "claude-code/PostToolUse.AskUserQuestion: A".to_owned(),
        "claude-code/UserPromptSubmit: Use every tool once.".to_owned(),
        "codex/UserPromptSubmit: Use every tool once.".to_owned(),
        format!("copilot/userPromptSubmitted: {scripted}"),
        format!("copilot-pascal-case/UserPromptSubmit: {scripted}"),
        format!("copilot-sdk/onUserPromptSubmitted: {scripted}"),
        format!("gemini/BeforeAgent: {scripted}"),
        format!("opencode/chat.message: \"{scripted}\""),
        format!("pi/input: {scripted}"),
        format!("pi-0.73.1/input: {scripted}"),
    ];
    assert_eq!(said, expected);
}

#[test]
fn a_prompt_that_is_not_the_users_begins_no_turn() {
    for (id, event, payload) in [
        ("claude-code", "UserPromptSubmit", r#"{"prompt":"<task-notification>\n<task-id>b</task-id>"}"#),
        ("codex", "UserPromptSubmit", r#"{"prompt":"yes","agent_id":"a"}"#),
        ("copilot", "userPromptSubmitted", r#"{"prompt":"yes","agentId":"a"}"#),
        (
            "copilot-sdk",
            "onUserPromptSubmitted",
            r#"{"input":{"prompt":"yes","sessionId":"a"},"invocation":{"sessionId":"b"}}"#,
        ),
        ("pi", "input", r#"{"event":{"type":"input","text":"yes","source":"extension"}}"#),
        ("qwen", "UserPromptSubmit", r#"{"prompt":"yes"}"#),
    ] {
        let call = host(id).unwrap().decode(Some(event), payload.as_bytes()).unwrap();
        assert_eq!((call.phase, call.said), (Phase::Other, None), "{id} {event}");
    }
}

#[test]
fn ends_of_sessions_and_errors_are_recognized() {
    let mut seen = BTreeSet::new();
    for (directory, id, _) in CAPTURED {
        for Payload { event, bytes, .. } in &payloads(directory) {
            let call = host(id).unwrap().decode(Some(event), bytes).unwrap();
            if matches!(call.phase, Phase::End | Phase::Error) {
                seen.insert(format!("{directory} {event} {:?}", call.phase));
            }
        }
    }
    let expected = [
        "claude-code SessionEnd End",
        "codex SessionEnd End",
        "copilot errorOccurred Error",
        "copilot sessionEnd End",
        "copilot-pascal-case SessionEnd End",
        "copilot-sdk onErrorOccurred Error",
        "copilot-sdk onSessionEnd End",
        "gemini SessionEnd End",
        "pi session_shutdown End",
        "pi-0.73.1 session_shutdown End",
    ];
    assert_eq!(seen, expected.map(str::to_owned).into());
}

/// A question is told several times, as a call, as what the application is handed, and as a permission: it is one.
#[test]
fn a_question_is_judged_once() {
    for (directory, expected) in [("copilot-sdk", "onUserInputRequest"), ("claude-code", "PreToolUse")] {
        let questions = payloads(directory).into_iter().filter(|Payload { event, bytes, .. }| {
            let call = host(directory).unwrap().decode(Some(event), bytes).unwrap();
            matches!(call.action, Action::Question) && call.phase.stops()
        });
        assert_eq!(questions.map(|one| one.event).collect::<Vec<_>>(), [expected]);
    }
    let permission = br#"{"event":"permission","cwd":"/w","tool":"ask_user","input":{}}"#;
    let call = host("generic").unwrap().decode(None, permission).unwrap();
    assert!(matches!(call.action, Action::Internal));
}

#[test]
fn events_of_the_plain_protocol_are_read() {
    let read = |event: &str, payload: &'static str| {
        host("generic").unwrap().decode(Some(event), payload.as_bytes()).map(|call| {
            let question = matches!(call.action, Action::Question);
            (call.phase, question, call.tool.into_owned(), call.said.map(Cow::into_owned))
        })
    };
    let none = String::new;
    let ask = || "ask_user".to_owned();
    let yes = || Some("yes".to_owned());
    assert_eq!(read("prompt", r#"{"text":"yes"}"#), Ok((Phase::Prompt, false, none(), yes())));
    assert_eq!(read("answer", r#"{"text":"yes"}"#), Ok((Phase::After, true, ask(), yes())));
    assert_eq!(read("question", r#"{"cwd":"/w","text":"yes"}"#), Ok((Phase::Before, true, ask(), None)));
    assert_eq!(read("end", "{}"), Ok((Phase::End, false, none(), None)));
    assert_eq!(read("error", r#"{"message":"m"}"#), Ok((Phase::Error, false, none(), None)));
    for (event, payload) in [("prompt", "{}"), ("answer", r#"{"text":7}"#), ("question", r#"{"text":"yes"}"#)]
    {
        assert!(read(event, payload).is_err(), "{event} {payload}");
    }
}
