//! The answer is never looser than the verdict: for every host, event and verdict, what the client would do with the
//! answer is held against what was decided.
//!
//! What a client does stands here once more, in [`obeyed`], as it was observed: not as our encoders mean it.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may fail, and reads its payloads from the disk"
)]

mod support;

use std::collections::HashSet;

use serde_json::{Value, json};
use support::{CAPTURED, Payload, payloads};
use toolgate_hosts::{HOSTS, host};
use toolgate_model::{
    Agent, Call, Decision, Facts, Finding, Ground, Kind, Phase, Policy, Redaction, Reply, Ruleset, Standing,
    Unknown, Verdict, Wording,
};

/// What the client does with a call.
#[derive(Debug, PartialEq)]
struct Obeyed {
    decision: Decision,
    granted: bool,
    /// What it runs with, where that is not the input that it sent.
    input: Option<Value>,
}

impl Obeyed {
    fn runs() -> Obeyed {
        Obeyed { decision: Decision::Allow, granted: false, input: None }
    }
    fn as_said(decision: Decision) -> Obeyed {
        Obeyed { decision, ..Obeyed::runs() }
    }
}

/// The object on stdout, alone. Text around it, two of them, or nothing, is no answer to any client.
fn answer(reply: &Reply) -> Option<Value> {
    serde_json::from_str(&reply.stdout).ok().filter(Value::is_object)
}

fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// Claude Code 2.1.325: an answer with a null or for another event is dropped.
fn claude_code(event: &str, reply: &Reply) -> Obeyed {
    if reply.code == 2 {
        return Obeyed::as_said(Decision::Deny);
    }
    let Some(answer) = answer(reply) else { return Obeyed::runs() };
    let output = &answer["hookSpecificOutput"];
    let has_null =
        |value: &Value| value.as_object().is_some_and(|members| members.values().any(Value::is_null));
    if output["hookEventName"] != event || has_null(&answer) || has_null(output) {
        return Obeyed::runs();
    }
    if event == "PermissionRequest" {
        return match text(output, "/decision/behavior") {
            Some("allow") => Obeyed { granted: true, ..Obeyed::runs() },
            Some("deny") => Obeyed::as_said(Decision::Deny),
            // The prompt that it was about to show.
            _ => Obeyed::as_said(Decision::Ask),
        };
    }
    let input = output.get("updatedInput").cloned();
    match text(output, "/permissionDecision") {
        Some("allow") => Obeyed { granted: true, input, ..Obeyed::runs() },
        Some("ask") => Obeyed::as_said(Decision::Ask),
        Some("deny") => Obeyed::as_said(Decision::Deny),
        _ => Obeyed { input, ..Obeyed::runs() },
    }
}

/// Codex 0.166.0: everything but a well-formed denial runs; a field that it does not know voids the answer.
fn codex(event: &str, reply: &Reply) -> Obeyed {
    if reply.code == 2 && !reply.stderr.trim().is_empty() {
        return Obeyed::as_said(Decision::Deny);
    }
    let Some(answer) = answer(reply).filter(|_| reply.code == 0) else { return Obeyed::runs() };
    let known = [
        "hookSpecificOutput",
        "hookEventName",
        "permissionDecision",
        "permissionDecisionReason",
        "updatedInput",
        "decision",
    ];
    let strange = |value: &Value| value.as_object().unwrap().keys().any(|key| !known.contains(&key.as_str()));
    let output = &answer["hookSpecificOutput"];
    if strange(&answer) || strange(output) {
        return Obeyed::runs();
    }
    if event == "PermissionRequest" {
        return match text(output, "/decision/behavior") {
            Some("allow") => Obeyed { granted: true, ..Obeyed::runs() },
            Some("deny") => Obeyed::as_said(Decision::Deny),
            _ => Obeyed::as_said(Decision::Ask),
        };
    }
    let reason = text(output, "/permissionDecisionReason").unwrap_or_default();
    match text(output, "/permissionDecision") {
        // Its own approvals come after, so this grants nothing.
        Some("allow") => Obeyed { input: output.get("updatedInput").cloned(), ..Obeyed::runs() },
        Some("deny") if !reason.trim().is_empty() => Obeyed::as_said(Decision::Deny),
        _ => Obeyed::runs(),
    }
}

/// Copilot CLI 1.0.102.
fn copilot(event: &str, reply: &Reply) -> Obeyed {
    if reply.code != 0 {
        return Obeyed::as_said(Decision::Deny);
    }
    let Some(answer) = answer(reply) else { return Obeyed::runs() };
    let (word, input) = match event {
        "permissionRequest" | "PermissionRequest" => (text(&answer, "/behavior"), None),
        _ => (text(&answer, "/permissionDecision"), answer.get("modifiedArgs").cloned()),
    };
    match word {
        Some("allow") => Obeyed { granted: true, input, ..Obeyed::runs() },
        Some("ask") if input.is_none() => Obeyed::as_said(Decision::Ask),
        Some("deny") => Obeyed::as_said(Decision::Deny),
        _ => Obeyed { input, ..Obeyed::runs() },
    }
}

/// Gemini CLI 0.61.0: JSON beats the exit code; a rewrite is merged over the arguments.
fn gemini(sent: &Value, reply: &Reply) -> Obeyed {
    let Some(answer) = answer(reply) else {
        let blocked = reply.code >= 2 && !reply.stderr.trim().is_empty();
        return Obeyed::as_said(if blocked { Decision::Deny } else { Decision::Allow });
    };
    match text(&answer, "/decision") {
        Some("deny" | "block") => Obeyed::as_said(Decision::Deny),
        Some("ask") => Obeyed::as_said(Decision::Ask),
        _ => {
            let changes = answer.pointer("/hookSpecificOutput/tool_input");
            let input = changes.map(|changes| {
                let mut input = sent.as_object().unwrap().clone();
                input.extend(changes.as_object().unwrap().clone());
                Value::Object(input)
            });
            Obeyed { input, ..Obeyed::runs() }
        }
    }
}

/// Qwen Code 0.24.4: a changed input is ignored.
fn qwen(reply: &Reply) -> Obeyed {
    if reply.code == 2 && !reply.stderr.trim().is_empty() {
        return Obeyed::as_said(Decision::Deny);
    }
    let Some(answer) = answer(reply) else { return Obeyed::runs() };
    match text(&answer, "/hookSpecificOutput/permissionDecision") {
        Some("deny") => Obeyed::as_said(Decision::Deny),
        Some("ask") => Obeyed::as_said(Decision::Ask),
        Some("allow") => Obeyed { granted: true, ..Obeyed::runs() },
        _ => Obeyed::runs(),
    }
}

/// Cursor, as documented: `ask` is obeyed by two events only, and only one takes a changed input.
fn cursor(event: &str, reply: &Reply) -> Obeyed {
    if reply.code == 2 {
        return Obeyed::as_said(Decision::Deny);
    }
    let Some(answer) = answer(reply) else { return Obeyed::runs() };
    let input = answer.get("updated_input").filter(|_| event == "preToolUse").cloned();
    match text(&answer, "/permission") {
        Some("deny") => Obeyed::as_said(Decision::Deny),
        Some("ask") if matches!(event, "beforeShellExecution" | "beforeMCPExecution") => {
            Obeyed::as_said(Decision::Ask)
        }
        Some("allow") => Obeyed { granted: true, input, ..Obeyed::runs() },
        _ => Obeyed { input, ..Obeyed::runs() },
    }
}

/// Claude MPM: two words.
fn mpm(reply: &Reply) -> Obeyed {
    let action = answer(reply).and_then(|answer| text(&answer, "/action").map(str::to_owned));
    Obeyed::as_said(match action.as_deref() {
        Some("block") => Decision::Deny,
        _ => Decision::Allow,
    })
}

/// The adapters and everyone who speaks the plain protocol: what is not understood is a denial.
fn plain(reply: &Reply) -> Obeyed {
    let Some(answer) = answer(reply) else { return Obeyed::as_said(Decision::Deny) };
    match text(&answer, "/decision") {
        Some("allow") => Obeyed {
            granted: answer["granted"] == true,
            input: answer.get("input").cloned(),
            ..Obeyed::runs()
        },
        Some("ask") => Obeyed::as_said(Decision::Ask),
        _ => Obeyed::as_said(Decision::Deny),
    }
}

/// What the host's client does with this answer to this event.
fn obeyed(host: &str, event: &str, sent: &Value, reply: &Reply) -> Obeyed {
    match host {
        "claude-code" => claude_code(event, reply),
        "codex" => codex(event, reply),
        "copilot" => copilot(event, reply),
        "cursor" => cursor(event, reply),
        "gemini" => gemini(sent, reply),
        "mpm" => mpm(reply),
        "qwen" => qwen(reply),
        "copilot-sdk" | "generic" | "opencode" | "pi" => plain(reply),
        other => panic!("what does {other} do?"),
    }
}

/// Events of every host: captured ones, and made-up ones where none could be captured.
fn events() -> Vec<(&'static str, Payload)> {
    let captured = CAPTURED.iter().map(|(directory, id, _)| (*directory, *id));
    // It is told Claude Code's events.
    let captured = captured.chain([("claude-code", "mpm")]);
    let mut events: Vec<_> = captured
        .flat_map(|(directory, id)| payloads(directory).into_iter().map(move |one| (id, one)))
        .collect();
    let shell = json!({"command": "ls", "cwd": "/w", "file_path": "/w/a", "tool_name": "Shell", "tool_input": {"command": "ls"}});
    let plain = json!({"cwd": "/w", "tool": "bash", "input": {"command": "ls"}});
    let cursor =
        ["preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "subagentStart"];
    for (id, names, payload) in
        [("cursor", cursor, shell), ("generic", ["before", "permission", "after", "start", "end"], plain)]
    {
        events.extend(names.map(|event| {
            let place = format!("{id} {event}");
            (id, Payload { place, event: event.to_owned(), bytes: payload.to_string().into_bytes() })
        }));
    }
    events
}

struct Objects(Decision, String);

impl Policy for Objects {
    fn judge(&self, _: &Facts<'_>, findings: &mut Vec<Finding>) {
        findings.push(Finding::new("p", self.0, Kind::Outside).because(self.1.clone()));
    }
}

struct OwnWords;

impl Wording for OwnWords {
    fn word(&self, _: &Finding, _: &Facts<'_>) -> Option<String> {
        None
    }
}

/// A verdict of this kind.
fn verdict(decision: Decision, message: &str, granted: bool, rewrites: &[(String, String)]) -> Verdict {
    let (agent, ground) = (Agent::default(), Ground::default());
    let facts = Facts {
        tool: "t",
        agent: &agent,
        team: &toolgate_model::Team::default(),
        asks_user: false,
        command: None,
        ground: &ground,
        standing: Standing::default(),
        uses: Vec::new(),
        runs: Vec::new(),
        connects: false,
        unknown: Vec::<Unknown<'_>>::new(),
        changes: Vec::new(),
        expanded: Vec::new(),
        config: None,
    };
    let objects = Objects(decision, message.to_owned());
    let ruleset = Ruleset {
        policies: vec![&objects],
        can_ask: true,
        grants: granted,
        wording: &OwnWords,
        facts: &facts,
    };
    Ruleset::decide(&[ruleset]).rewriting(rewrites.to_vec())
}

const MESSAGES: [&str; 6] =
    ["no", "", "say \"no\"\n{}\n", "null", "\u{1b}[31mrot\u{0}", "\u{feff}ümläut \u{2028} 🙂 \\u0000"];

fn check(
    id: &str,
    event: &str,
    call: &Call<'_>,
    decision: Decision,
    message: &str,
    granted: bool,
    rewriting: bool,
) {
    let sent = serde_json::to_value(&call.input).unwrap();
    let member = sent.as_object().and_then(|input| input.iter().find(|(_, value)| value.is_string()));
    let rewrites: Vec<_> = member
        .iter()
        .filter(|_| rewriting)
        .map(|(name, _)| ((*name).clone(), "changed".to_owned()))
        .collect();
    let verdict = verdict(decision, message, granted, &rewrites);
    let reply = host(id).unwrap().encode(call, &verdict);
    assert!(!reply.stdout.contains('\n'), "{id} {event}: more than a line: {reply:?}");
    let what =
        format!("{id} {event} {decision:?} {message:?} granted={granted} rewriting={rewriting}: {reply:?}");
    let obeyed = obeyed(id, event, &sent, &reply);
    // A prompt that the host shows anyway is the asking.
    let asked_anyway = call.phase == Phase::Permission && decision != Decision::Deny;
    assert!(obeyed.decision >= decision || asked_anyway, "looser: {what} -> {obeyed:?}");
    assert!(!obeyed.granted || verdict.granted(), "a grant that nobody gave: {what}");
    let changed = rewrites.iter().fold(sent, |mut input, (name, text)| {
        input[name] = json!(text);
        input
    });
    let runs = obeyed.decision == Decision::Allow && call.phase == Phase::Before;
    if runs && !rewrites.is_empty() {
        assert_eq!(obeyed.input, Some(changed), "the change is lost: {what}");
    } else if runs {
        assert_eq!(obeyed.input, None, "a change that nobody made: {what}");
    }
}

#[test]
fn no_answer_is_looser_than_its_verdict() {
    let mut seen = 0;
    for (id, Payload { place, event, bytes }) in events() {
        let call = host(id).unwrap().decode(Some(&event), &bytes);
        let call = call.unwrap_or_else(|error| panic!("{place}: {error}"));
        if !matches!(call.phase, Phase::Before | Phase::Permission) {
            continue;
        }
        seen += 1;
        for decision in [Decision::Allow, Decision::Ask, Decision::Deny] {
            for message in MESSAGES {
                for (granted, rewriting) in [(false, false), (false, true), (true, false), (true, true)] {
                    check(id, &event, &call, decision, message, granted, rewriting);
                }
            }
        }
    }
    assert!(seen >= 150, "only {seen} events");
}

#[test]
fn every_host_refuses_what_cannot_be_judged() {
    for (id, Payload { place, event, bytes }) in events() {
        let host = host(id).unwrap();
        let Ok(call) = host.decode(Some(&event), &bytes) else { panic!("{place}") };
        if !matches!(call.phase, Phase::Before | Phase::Permission) {
            continue;
        }
        let sent = serde_json::to_value(&call.input).unwrap();
        for phase in [Some(call.phase), Some(host.phase(&event))] {
            let reply = host.refuse(phase, "toolgate cannot judge this call");
            assert_eq!(
                obeyed(id, &event, &sent, &reply).decision,
                Decision::Deny,
                "{id}, {place}: {reply:?}"
            );
        }
        if call.phase == Phase::Before {
            let reply = host.refuse(None, "toolgate cannot judge this call");
            let named = if id == "claude-code" { "PreToolUse" } else { &event };
            assert_eq!(obeyed(id, named, &sent, &reply).decision, Decision::Deny, "{id}, {place}: {reply:?}");
        }
    }
}

#[test]
fn every_host_is_held_to_it() {
    let events = events();
    for host in HOSTS {
        assert!(events.iter().any(|(id, _)| *id == host.id()), "{}", host.id());
    }
}

/// What the model reads of a call that has run, where the client takes that from the answer; `None` where it reads what
/// the tool gave back.
fn shown(host: &str, event: &str, call: &Call<'_>, reply: &Reply) -> Option<String> {
    let said = answer(reply);
    if host == "codex" && reply.code == 2 && !reply.stderr.trim().is_empty() {
        return Some(reply.stderr.clone());
    }
    let said = said?;
    let (text, beside) = match host {
        "claude-code" => {
            let output = &said["hookSpecificOutput"];
            let sent: Value = serde_json::from_str(call.output.as_deref()?).unwrap();
            let new = output.get("updatedToolOutput").filter(|new| same_shape(&sent, new))?;
            (new.to_string(), text(output, "/additionalContext"))
        }
        "codex" => {
            let known = said.as_object()?.keys().all(|key| matches!(key.as_str(), "decision" | "reason"));
            let obeyed = known && reply.code == 0 && said["decision"] == "block";
            let reason = text(&said, "/reason").filter(|reason| obeyed && !reason.trim().is_empty())?;
            (reason.to_owned(), None)
        }
        "copilot" if said["decision"] == "block" => (text(&said, "/reason")?.to_owned(), None),
        "copilot" => {
            text(&said, "/modifiedResult/resultType").filter(|_| reply.code == 0)?;
            let new = text(&said, "/modifiedResult/textResultForLlm")?;
            (new.to_owned(), text(&said, "/additionalContext"))
        }
        "cursor" => {
            let new = said.get("updated_mcp_tool_output");
            let new = new.filter(|_| event == "postToolUse" && call.tool.starts_with("MCP:"))?;
            (new.to_string(), text(&said, "/additional_context"))
        }
        "gemini" if said["decision"] == "deny" => (text(&said, "/reason")?.to_owned(), None),
        "copilot-sdk" | "generic" | "opencode" | "pi" => match text(&said, "/decision")? {
            "allow" => (said.get("output")?.to_string(), text(&said, "/note")),
            _ => (text(&said, "/reason")?.to_owned(), None),
        },
        _ => return None,
    };
    Some(format!("{text}\n{}", beside.unwrap_or_default()))
}

/// Claude Code passes over what has not the members of what the tool gave back.
fn same_shape(sent: &Value, new: &Value) -> bool {
    match (sent, new) {
        (Value::Object(sent), Value::Object(new)) => {
            sent.len() == new.len() && sent.iter().all(|(name, value)| same_shape(value, &new[name]))
        }
        (Value::Array(sent), Value::Array(new)) => {
            sent.len() == new.len() && sent.iter().zip(new).all(|(sent, new)| same_shape(sent, new))
        }
        (Value::String(_), Value::String(_)) => true,
        (sent, new) => sent == new,
    }
}

const MARK: &str = "[a mark]";

/// The same with all of its texts redacted, and what they were.
fn redact(value: &mut Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(std::mem::replace(text, MARK.to_owned())),
        Value::Array(values) => values.iter_mut().for_each(|value| redact(value, texts)),
        Value::Object(members) => members.values_mut().for_each(|value| redact(value, texts)),
        _ => {}
    }
}

/// Events after a call, also of hosts that no event could be captured of.
fn after_events() -> Vec<(&'static str, Payload)> {
    let mut events = events();
    let output = json!({"content": [{"type": "text", "text": "what it said"}]});
    let cursor = |tool: &str| json!({"tool_name": tool, "tool_input": {}, "tool_output": output.to_string()});
    let generic = json!({"tool": "t", "input": {}, "output": {"a": [1, "what it said"]}});
    let strange = json!({"toolName": "bash", "toolArgs": {}, "toolResult": {"resultType": "success", "text": "what it said"}});
    for (id, event, payload) in [
        ("cursor", "postToolUse", cursor("MCP:t")),
        ("cursor", "postToolUse", cursor("Shell")),
        ("generic", "after", generic),
        ("copilot", "postToolUse", strange),
    ] {
        let place = format!("{id} {payload}");
        events
            .push((id, Payload { place, event: event.to_owned(), bytes: payload.to_string().into_bytes() }));
    }
    events
}

#[test]
fn no_redaction_is_dropped_by_a_host_that_can_show_it() {
    let mut seen = HashSet::new();
    for (id, Payload { place, event, bytes }) in after_events() {
        let host = host(id).unwrap();
        let call = host.decode(Some(&event), &bytes).unwrap();
        let Some(output) = call.output.as_deref() else { continue };
        let (mut output, mut texts): (Value, _) = (serde_json::from_str(output).unwrap(), Vec::new());
        redact(&mut output, &mut texts);
        let redaction = Redaction { output: output.to_string(), count: texts.len() };
        let note = redaction.note();
        let redacting = host.encode(&call, &Verdict::none().redacting(Some(redaction)));
        assert!(!redacting.stdout.contains('\n'), "{place}: more than a line");
        let shown_instead = shown(id, &event, &call, &redacting);
        assert_eq!(shown_instead.is_some(), host.changes_output(&call.tool), "{place}: {redacting:?}");
        let clean = host.encode(&call, &Verdict::none());
        assert_eq!(shown(id, &event, &call, &clean), None, "{place}: {clean:?}");
        let Some(shown_instead) = shown_instead else { continue };
        seen.insert(id);
        assert!(shown_instead.contains(MARK) || texts.is_empty(), "{place}: {shown_instead}");
        assert!(shown_instead.contains(&note), "{place}: {shown_instead}");
        let names = output.to_string();
        for text in texts.iter().filter(|text| text.len() > 7 && !names.contains(*text)) {
            assert!(!redacting.stdout.contains(text.as_str()), "{place}: `{text}` is in {redacting:?}");
        }
    }
    let changing: HashSet<_> =
        HOSTS.iter().map(|host| host.id()).filter(|id| !["mpm", "qwen"].contains(id)).collect();
    assert_eq!(seen, changing);
}

#[test]
fn an_output_that_nobody_could_look_through_is_not_shown() {
    for (id, Payload { place, event, bytes }) in after_events() {
        let host = host(id).unwrap();
        let call = host.decode(Some(&event), &bytes).unwrap();
        // Claude Code takes only what has the shape of that which could not be read.
        if call.output.is_none() || !host.changes_output(&call.tool) || id == "claude-code" {
            continue;
        }
        let reply = host.refuse(Some(Phase::After), "no way");
        let instead = shown(id, &event, &call, &reply).unwrap_or_else(|| panic!("{place}: {reply:?}"));
        assert!(instead.contains("no way"), "{place}: {reply:?}");
        // Cursor is not known to take anything then.
        if id != "cursor" {
            let reply = host.refuse(None, "no way");
            let instead = shown(id, &event, &call, &reply).unwrap_or_else(|| panic!("{place}: {reply:?}"));
            assert!(instead.contains("no way"), "{place}: {reply:?}");
        }
    }
}
