//! The answer is never looser than the verdict: for every host, event and verdict, what the client would do with the
//! answer is held against what was decided.
//!
//! What a client does is written here once more, in [`obeyed`] and [`shown`], as it was observed: not as our encoders mean it.
//! What a reply says of itself for the record is held against the same reading.

use std::collections::HashSet;

use crate::support::{CAPTURED, Payload, payloads};
use serde_json::{Value, json};
use toolgate_hosts::{HOSTS, host};
use toolgate_model::{
    ActivationState, Agent, Answer, Call, Decision, Facts, Finding, FindingKind, Mode, Phase, Places, Policy,
    RedactedOutput, Reply, Ruleset, Sandboxing, Terms, Unknown, Verdict, Wording,
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

/// What Claude Code asks nobody about while it bypasses permissions, whatever a hook says.
const BYPASSED: [&str; 4] = [".claude/", ".mcp.json", ".git/", ".vscode/"];

/// Claude Code 2.1.325: an answer with a null or for another event is dropped.
fn claude_code(event: &str, sent: &Value, mode: Option<&str>, reply: &Reply) -> Obeyed {
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
        Some("ask")
            if mode == Some("bypassPermissions")
                && BYPASSED.iter().any(|name| sent.to_string().contains(name)) =>
        {
            Obeyed::runs()
        }
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
        "systemMessage",
        "additionalContext",
    ];
    let strange = |value: &Value| value.as_object().unwrap().keys().any(|key| !known.contains(&key.as_str()));
    let Some(output) = answer.get("hookSpecificOutput") else { return Obeyed::runs() };
    // Earlier versions take no decision beside what the model is told.
    let decides = output.get("permissionDecision").is_some() && output.get("additionalContext").is_some();
    if strange(&answer) || strange(output) || decides {
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
fn plain(host: &str, event: &str, reply: &Reply) -> Obeyed {
    let Some(answer) = answer(reply) else { return Obeyed::as_said(Decision::Deny) };
    match text(&answer, "/decision") {
        // It gives its plugins no way to ask.
        Some("ask") if host == "opencode" => Obeyed::as_said(Decision::Deny),
        // A call cannot be changed there any more.
        Some("allow") if event == "onPermissionRequest" && answer.get("input").is_some() => {
            Obeyed::as_said(Decision::Deny)
        }
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
fn obeyed(host: &str, event: &str, sent: &Value, mode: Option<&str>, reply: &Reply) -> Obeyed {
    match host {
        "claude-code" => claude_code(event, sent, mode, reply),
        "codex" => codex(event, reply),
        "copilot" => copilot(event, reply),
        "cursor" => cursor(event, reply),
        "gemini" => gemini(sent, reply),
        "mpm" => mpm(reply),
        "qwen" => qwen(reply),
        "copilot-sdk" | "generic" | "opencode" | "pi" => plain(host, event, reply),
        other => panic!("what does {other} do?"),
    }
}

/// What the record has to say of the reply to an event that can be stopped.
fn answer_to_record(host: &str, event: &str, obeyed: &Obeyed, reply: &Reply) -> Answer {
    match obeyed.decision {
        Decision::Deny => Answer::Deny,
        Decision::Ask => Answer::Ask,
        Decision::Allow | Decision::Contain if obeyed.input.is_some() => Answer::Rewrite,
        Decision::Allow | Decision::Contain if obeyed.granted => Answer::Grant,
        Decision::Allow | Decision::Contain => tell_or_silence(host, event, reply),
    }
}

/// What the record has to say of a reply that neither stops nor changes anything.
fn tell_or_silence(host: &str, event: &str, reply: &Reply) -> Answer {
    let plain = answer(reply).filter(|_| matches!(host, "copilot-sdk" | "generic" | "opencode" | "pi"));
    let more = plain
        .is_some_and(|plain| ["text", "summary", "handling"].iter().any(|name| plain.get(name).is_some()));
    let texts = [shown_to_user(host, event, reply), told_to_model(host, event, reply)];
    if more || texts != ["", ""] { Answer::Tell } else { Answer::Silence }
}

/// Events of every host: captured ones, and made-up ones where none could be captured.
fn events() -> Vec<(&'static str, Payload)> {
    let captured = CAPTURED.iter().map(|(directory, id, _)| (*directory, *id));
    // It gets Claude Code's events.
    let captured = captured.chain([("claude-code", "mpm")]);
    let mut events: Vec<_> = captured
        .flat_map(|(directory, id)| payloads(directory).into_iter().map(move |one| (id, one)))
        .collect();
    let shell = json!({"command": "ls", "cwd": "/w", "file_path": "/w/a", "tool_name": "Shell", "tool_input": {"command": "ls"}});
    let plain = json!({"cwd": "/w", "tool": "bash", "input": {"command": "ls"}});
    let cursor =
        ["preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "subagentStart"];
    let made_up = |id: &'static str, event: &str, payload: &Value| {
        let place = format!("{id} {event}");
        (id, Payload { place, event: event.to_owned(), bytes: payload.to_string().into_bytes() })
    };
    events.extend(cursor.map(|event| made_up("cursor", event, &shell)));
    events.extend(
        ["before", "permission", "after", "start", "end"].map(|event| made_up("generic", event, &plain)),
    );
    let said = json!({"cwd": "/w", "session": "s", "text": "yes", "message": "m", "recoverable": true});
    events.extend(["question", "answer", "prompt", "error"].map(|event| made_up("generic", event, &said)));
    let prompt = json!({"conversation_id": "s", "prompt": "yes"});
    let start = json!({"conversation_id": "s", "workspace_roots": ["/w"]});
    events.push(made_up("cursor", "beforeSubmitPrompt", &prompt));
    events.extend(["sessionStart", "sessionEnd"].map(|event| made_up("cursor", event, &start)));
    let answered = json!({"input": {"answer": "yes", "wasFreeform": true}, "invocation": {"sessionId": "s"}});
    events.push(made_up("copilot-sdk", "onUserInputResponse", &answered));
    events
}

/// The permission mode that an event names.
fn mode_of(bytes: &[u8]) -> Option<String> {
    let event: Value = serde_json::from_slice(bytes).ok()?;
    event.get("permission_mode")?.as_str().map(str::to_owned)
}

#[test]
fn what_a_host_asks_nobody_about_is_denied_in_every_mode_and_asked_elsewhere() {
    let modes =
        ["default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions", "yolo", "a new one"];
    let inputs = [
        json!({"file_path": "/w/.claude/skills/a/SKILL.md", "content": "x"}),
        json!({"file_path": "/w/.mcp.json", "content": "x"}),
        json!({"command": "echo x > .vscode/settings.json"}),
        json!({"file_path": "/w/src/a", "content": "x"}),
    ];
    let mut asked = 0;
    for (id, event) in [
        ("claude-code", "PreToolUse"),
        ("codex", "PreToolUse"),
        ("qwen", "PreToolUse"),
        ("gemini", "BeforeTool"),
    ] {
        for mode in modes {
            for input in &inputs {
                let tool = if input.get("command").is_some() { "Bash" } else { "Write" };
                let bytes = json!({"hook_event_name": event, "permission_mode": mode, "tool_name": tool, "tool_input": input});
                let bytes = bytes.to_string();
                let call = host(id).unwrap().decode(None, bytes.as_bytes()).unwrap();
                let besides = Besides { mode: Some(mode), ..Besides::default() };
                check(id, event, &call, Decision::Ask, "a person looks at it", besides);
                let verdict =
                    verdict(&Objects { decision: Decision::Ask, message: "why", answer: None }, false);
                let reply = host(id).unwrap().encode(&call, &verdict, &Terms::default());
                // The user reads why, or the model does.
                assert!(
                    format!("{}{}", reply.stdout, reply.stderr).contains("why"),
                    "{id} {mode}: {reply:?}"
                );
                asked += usize::from(reply.answer == Answer::Ask);
            }
        }
    }
    // All of Qwen's and Gemini's, none of Codex', and of Claude Code's all but three in one mode.
    assert_eq!(asked, 3 * modes.len() * inputs.len() - 3);
}

struct Objects<'a> {
    decision: Decision,
    message: &'a str,
    answer: Option<&'a str>,
}

impl Policy for Objects<'_> {
    fn judge(&self, _: &Facts<'_>, findings: &mut Vec<Finding>) {
        let finding = Finding::new("p", self.decision, FindingKind::Outside).because(self.message);
        findings.push(match self.answer {
            Some(answer) => finding.answering(answer),
            None => finding,
        });
    }
}

struct OwnWords;

impl Wording for OwnWords {
    fn word(&self, _: &Finding, _: &Facts<'_>) -> Option<String> {
        None
    }
}

/// A verdict of this kind.
fn verdict(objects: &Objects<'_>, granted: bool) -> Verdict {
    let (agent, places) = (Agent::default(), Places::default());
    let facts = Facts {
        tool: "t",
        agent: &agent,
        team: &toolgate_model::Team::default(),
        phase: toolgate_model::Phase::Before,
        asks_user: false,
        command: None,
        places: &places,
        activation: ActivationState::default(),
        uses: Vec::new(),
        runs: Vec::new(),
        connects: false,
        unknown: Vec::<Unknown<'_>>::new(),
        changes: Vec::new(),
        expanded: Vec::new(),
        config: None,
        redacts: false,
    };
    let ruleset = Ruleset {
        policies: vec![objects],
        can_ask: true,
        grants: granted,
        wording: &OwnWords,
        facts: &facts,
        sandboxing: if objects.decision.contains() {
            Sandboxing::Wanted { grants: granted }
        } else {
            Sandboxing::Unwanted
        },
        floor: 0,
        approval: None,
        mode: Mode::Enforce,
    };
    Ruleset::decide(&[ruleset], |_| false)
}

const MESSAGES: [&str; 6] =
    ["no", "", "say \"no\"\n{}\n", "null", "\u{1b}[31mrot\u{0}", "\u{feff}ümläut \u{2028} 🙂 \\u0000"];

/// What a verdict carries besides its decision.
#[derive(Debug, Clone, Copy, Default)]
struct Besides<'a> {
    granted: bool,
    rewriting: bool,
    mode: Option<&'a str>,
    notice: Option<&'a str>,
    context: Option<&'a str>,
    answer: Option<&'a str>,
    said: Option<&'a str>,
}

fn check(id: &str, event: &str, call: &Call<'_>, decision: Decision, message: &str, besides: Besides<'_>) {
    let sent = serde_json::to_value(&call.input).unwrap();
    let member = sent.as_object().and_then(|input| input.iter().find(|(_, value)| value.is_string()));
    let rewrites: Vec<_> = member
        .iter()
        .filter(|_| besides.rewriting)
        .map(|(name, _)| ((*name).clone(), "changed".to_owned()))
        .collect();
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let objects = Objects { decision, message, answer: besides.answer };
    let verdict = verdict(&objects, besides.granted);
    let terms = Terms {
        rewrites: rewrites.clone(),
        notice: owned(besides.notice),
        context: owned(besides.context),
        said: owned(besides.said),
        ..Terms::default()
    };
    let reply = host(id).unwrap().encode(call, &verdict, &terms);
    assert!(!reply.stdout.contains('\n'), "{id} {event}: more than a line: {reply:?}");
    let what = format!("{id} {event} {decision:?} {message:?} {besides:?}: {reply:?}");
    let obeyed = obeyed(id, event, &sent, besides.mode, &reply);
    // A prompt that the host shows anyway is the asking.
    let asked_anyway = call.phase == Phase::Permission && !decision.denies();
    // What is contained runs with the input that leads into the sandbox, or not at all.
    let is_contained = decision.contains() && obeyed.input.is_some();
    assert!(obeyed.decision >= decision || asked_anyway || is_contained, "looser: {what} -> {obeyed:?}");
    assert!(!obeyed.granted || verdict.granted(), "a grant that nobody gave: {what}");
    let changed = rewrites.iter().fold(sent, |mut input, (name, text)| {
        input[name] = json!(text);
        input
    });
    let runs = obeyed.decision.may_run() && call.phase == Phase::Before;
    if runs && !rewrites.is_empty() {
        assert_eq!(obeyed.input, Some(changed), "the change is lost: {what}");
    } else if runs {
        assert_eq!(obeyed.input, None, "a change that nobody made: {what}");
    }
    assert_eq!(
        reply.answer,
        answer_to_record(id, event, &obeyed, &reply),
        "what is recorded: {what} -> {obeyed:?}"
    );
}

#[test]
fn no_answer_is_looser_than_its_verdict() {
    let mut seen = 0;
    let notice = Some("notice {\"decision\":\"allow\"}\nof two lines");
    let all = Besides { notice, context: Some("context"), answer: Some("answer"), ..Besides::default() };
    for (id, Payload { place, event, bytes }) in events() {
        let call = host(id).unwrap().decode(Some(&event), &bytes);
        let call = call.unwrap_or_else(|error| panic!("{place}: {error}"));
        if !call.phase.stops() {
            continue;
        }
        seen += 1;
        for decision in [Decision::Allow, Decision::Contain, Decision::Ask, Decision::Deny] {
            // Settings of the host are no command.
            if decision.contains() && call.phase == Phase::Config {
                continue;
            }
            for message in MESSAGES {
                for (granted, rewriting) in [(false, false), (false, true), (true, false), (true, true)] {
                    for besides in [
                        Besides::default(),
                        Besides { notice, ..Besides::default() },
                        Besides { context: Some("context"), ..Besides::default() },
                        Besides { said: Some("said"), ..all },
                    ] {
                        let mode = mode_of(&bytes);
                        let besides = Besides { mode: mode.as_deref(), ..besides };
                        let besides = Besides { granted, rewriting, ..besides };
                        check(id, &event, &call, decision, message, besides);
                    }
                }
            }
        }
    }
    assert!(seen >= 150, "only {seen} events");
}

/// What the client shows its user, of an answer to this event; empty where it shows nothing.
fn shown_to_user(host: &str, event: &str, reply: &Reply) -> String {
    let Some(said) = answer(reply) else { return String::new() };
    let member = match host {
        "claude-code" | "gemini" | "qwen" => "/systemMessage",
        "codex" if reply.code == 0 => "/systemMessage",
        "cursor" if event != "sessionStart" => "/user_message",
        "copilot-sdk" | "generic" | "opencode" | "pi" => "/notice",
        _ => return String::new(),
    };
    text(&said, member).unwrap_or_default().to_owned()
}

/// What the client tells its model besides, of an answer to this event; empty where it tells nothing.
fn told_to_model(host: &str, event: &str, reply: &Reply) -> String {
    let Some(said) = answer(reply) else { return String::new() };
    let named = said["hookSpecificOutput"]["hookEventName"] == event;
    let member = match host {
        "claude-code" | "codex" | "qwen" if named => "/hookSpecificOutput/additionalContext",
        "gemini" if named && event != "BeforeTool" => "/hookSpecificOutput/additionalContext",
        "copilot" => "/additionalContext",
        "cursor" => "/additional_context",
        "copilot-sdk" | "generic" | "opencode" | "pi" => "/context",
        _ => return String::new(),
    };
    text(&said, member).unwrap_or_default().to_owned()
}

#[test]
fn notices_and_context_are_sent_where_the_client_shows_them() {
    let mut begun = HashSet::new();
    for (id, Payload { place, event, bytes }) in events() {
        let host = host(id).unwrap();
        let call = host.decode(Some(&event), &bytes).unwrap();
        let tell_both = |decision| {
            let objects = Objects { decision, message: "no", answer: None };
            let notice = Some("for the user".into());
            let terms = Terms { notice, context: Some("for the model".into()), ..Terms::default() };
            if call.phase.stops() {
                host.encode(&call, &verdict(&objects, false), &terms)
            } else {
                host.tell(&call, &terms)
            }
        };
        for decision in [Decision::Allow, Decision::Deny] {
            let reply = tell_both(decision);
            let (user, model) = (shown_to_user(id, &event, &reply), told_to_model(id, &event, &reply));
            let whole = format!("{}{}", reply.stdout, reply.stderr);
            assert_eq!(
                whole.matches("for the user").count(),
                usize::from(!user.is_empty()),
                "{place}: {reply:?}"
            );
            assert!(!model.contains("for the user") && !user.contains("for the model"), "{place}: {reply:?}");
            let shows = !matches!(id, "copilot" | "mpm");
            let expected = shows && matches!(call.phase, Phase::Before | Phase::Prompt);
            assert!(user.contains("for the user") || !expected, "{place}: {reply:?}");
            let begins = matches!(call.phase, Phase::Start | Phase::Prompt);
            let takes_context = id != "mpm" && !(id == "cursor" && call.phase == Phase::Prompt);
            assert!(model == "for the model" || !begins || !takes_context, "{place}: {reply:?}");
            if begins && !model.is_empty() {
                begun.insert(id);
            }
        }
    }
    assert_eq!(begun.len(), HOSTS.len() - 2, "all but mpm, and qwen, of which no start was seen: {begun:?}");
}

#[test]
fn an_event_that_stops_nothing_passes_even_when_we_refuse() {
    let mut seen = HashSet::new();
    for (id, Payload { place, event, bytes }) in events() {
        let host = host(id).unwrap();
        let call = host.decode(Some(&event), &bytes).unwrap();
        if !matches!(call.phase, Phase::Start | Phase::Prompt | Phase::End | Phase::Error | Phase::Other) {
            continue;
        }
        seen.insert(id);
        for reply in [host.refuse(Some(host.phase(&event)), "broken"), host.tell(&call, &Terms::default())] {
            assert_eq!(reply.code, 0, "{place}: {reply:?}");
            assert_eq!(reply.stderr, "", "{place}: {reply:?}");
            let said = answer(&reply).unwrap_or_default();
            let stops = ["block", "deny", "ask"].map(Value::from);
            assert!(!stops.contains(&said["decision"]) && said["continue"] != false, "{place}: {reply:?}");
            assert!(said["action"] != "block", "{place}: {reply:?}");
        }
    }
    assert!(seen.len() >= 9, "only hosts {seen:?}");
}

#[test]
fn questions_are_answered_and_answers_passed_on_in_the_plain_protocol() {
    let objects = Objects { decision: Decision::Deny, message: "too many", answer: Some("Decide.") };
    let denied = verdict(&objects, false);
    let terms = Terms { said: Some("yes (brief)".into()), ..Terms::default() };
    let (asked, told) = (
        json!({"decision": "deny", "reason": "Decide.", "answer": "Decide."}),
        json!({"decision": "allow", "text": "yes (brief)"}),
    );
    for (id, event, payload, expected) in [
        ("generic", "question", r#"{"cwd":"/w","text":"Which?"}"#, &asked),
        ("generic", "answer", r#"{"text":"yes"}"#, &told),
        ("copilot-sdk", "onUserInputRequest", r#"{"input":{"question":"Which?"}}"#, &asked),
        ("copilot-sdk", "onUserInputResponse", r#"{"input":{"answer":"yes"}}"#, &told),
    ] {
        let host = host(id).unwrap();
        let call = host.decode(Some(event), payload.as_bytes()).unwrap();
        let reply = if call.phase.stops() {
            host.encode(&call, &denied, &Terms::default())
        } else {
            host.tell(&call, &terms)
        };
        assert_eq!(&answer(&reply).unwrap(), expected, "{id} {event}");
    }
}

#[test]
fn the_end_of_a_session_gets_a_summary_and_an_error_its_handling() {
    let terms = Terms { notice: Some("n".into()), context: Some("c".into()), ..Terms::default() };
    for (id, event, payload, expected) in [
        ("generic", "end", "{}", json!({"decision": "allow", "summary": "c", "notice": "n"})),
        (
            "copilot-sdk",
            "onSessionEnd",
            r#"{"input":{}}"#,
            json!({"decision": "allow", "summary": "c", "notice": "n"}),
        ),
        (
            "generic",
            "error",
            r#"{"message":"m","recoverable":true}"#,
            json!({"decision": "allow", "context": "c", "handling": "retry", "notice": "n"}),
        ),
        (
            "copilot-sdk",
            "onErrorOccurred",
            r#"{"input":{"error":{"message":"m"},"recoverable":false}}"#,
            json!({"decision": "allow", "context": "c", "handling": "abort", "notice": "n"}),
        ),
    ] {
        let host = host(id).unwrap();
        let call = host.decode(Some(event), payload.as_bytes()).unwrap();
        assert_eq!(answer(&host.tell(&call, &terms)).unwrap(), expected, "{id} {event}");
    }
}

#[test]
fn a_call_that_cannot_be_judged_is_denied_by_every_host() {
    let mut seen = HashSet::new();
    for (id, Payload { place, event, bytes }) in events() {
        let host = host(id).unwrap();
        let Ok(call) = host.decode(Some(&event), &bytes) else { panic!("{place}") };
        assert_eq!(host.refuse(None, "toolgate cannot judge this call").answer, Answer::Deny, "{place}");
        if !call.phase.stops() {
            continue;
        }
        seen.insert(id);
        let sent = serde_json::to_value(&call.input).unwrap();
        let refused = [call.phase, host.phase(&event)]
            .map(|phase| host.refuse(Some(phase), "toolgate cannot judge this call"));
        // An event that can be stopped, and that nobody has decided about.
        let undecided = host.tell(&call, &Terms { notice: Some("notice".into()), ..Terms::default() });
        for reply in refused.into_iter().chain([undecided]) {
            let denied = obeyed(id, &event, &sent, None, &reply).decision.denies();
            assert!(denied && reply.answer == Answer::Deny, "{id}, {place}: {reply:?}");
        }
        if call.phase == Phase::Before {
            let reply = host.refuse(None, "toolgate cannot judge this call");
            let named = if id == "claude-code" { "PreToolUse" } else { &event };
            assert_eq!(
                obeyed(id, named, &sent, None, &reply).decision,
                Decision::Deny,
                "{id}, {place}: {reply:?}"
            );
        }
    }
    assert_eq!(seen.len(), HOSTS.len(), "{seen:?}");
}

#[test]
fn a_denial_holds_its_reason_and_the_advice_to_the_agent() {
    let denied = verdict(&Objects { decision: Decision::Deny, message: "no", answer: None }, false);
    let terms = Terms { urge: Some("look around".into()), ..Terms::default() };
    let mut seen = HashSet::new();
    for (id, Payload { place, event, bytes }) in events() {
        let host = host(id).unwrap();
        let call = host.decode(Some(&event), &bytes).unwrap();
        if call.phase.stops() {
            let reply = host.encode(&call, &denied, &terms);
            let whole = format!("{}{}", reply.stdout, reply.stderr);
            // In JSON the end of a line is escaped.
            let is_there =
                ["no\nlook around [p]", "no\\nlook around [p]"].iter().any(|told| whole.contains(told));
            assert!(is_there, "{place}: {reply:?}");
            seen.insert(id);
        }
    }
    assert_eq!(seen.len(), HOSTS.len(), "{seen:?}");
}

#[test]
fn the_recorded_answer_to_an_event_that_stops_nothing_is_what_the_client_does() {
    let mut seen = HashSet::new();
    for (id, Payload { place, event, bytes }) in after_events() {
        let host = host(id).unwrap();
        let call = host.decode(Some(&event), &bytes).unwrap();
        if call.phase.stops() {
            continue;
        }
        for bits in 0..16 {
            let given = |bit: u8, text: &str| (bits & (1 << bit) != 0).then(|| text.to_owned());
            let output = call.output.as_deref().and_then(|output| given(0, output));
            let terms = Terms {
                output: output.map(|output| RedactedOutput { output, count: 1, withheld: false }),
                notice: given(1, "notice"),
                context: given(2, "context"),
                said: given(3, "said"),
                ..Terms::default()
            };
            let reply = host.tell(&call, &terms);
            let expected = match shown(id, &event, &call, &reply) {
                Some(_) => Answer::Redact,
                None => tell_or_silence(id, &event, &reply),
            };
            assert_eq!(reply.answer, expected, "{place}: {terms:?} {reply:?}");
            seen.insert(expected.word());
        }
        let reply = host.refuse(Some(call.phase), "no way");
        let expected = match shown(id, &event, &call, &reply) {
            // Its refusal does not know the tool, and hides the output of some tools only.
            Some(_) if id == "cursor" => Answer::Silence,
            Some(_) => Answer::Deny,
            None => tell_or_silence(id, &event, &reply),
        };
        assert_eq!(reply.answer, expected, "{place}: {reply:?}");
        let granted = verdict(&Objects { decision: Decision::Allow, message: "", answer: None }, true);
        assert_eq!(host.encode(&call, &granted, &Terms::default()), host.refuse(None, MISPLACED), "{place}");
    }
    assert_eq!(seen, HashSet::from(["silence", "tell", "redact"]));
}

/// What a verdict about an event that nothing can stop is refused with.
const MISPLACED: &str = "toolgate decided about an event that nothing can stop";

#[test]
fn every_host_has_events_in_these_tests() {
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
fn a_redacted_output_is_shown_by_every_host_that_can_change_outputs() {
    let mut seen = HashSet::new();
    for (id, Payload { place, event, bytes }) in after_events() {
        let host = host(id).unwrap();
        let call = host.decode(Some(&event), &bytes).unwrap();
        let Some(output) = call.output.as_deref() else { continue };
        let (mut output, mut texts): (Value, _) = (serde_json::from_str(output).unwrap(), Vec::new());
        redact(&mut output, &mut texts);
        let redacted = RedactedOutput { output: output.to_string(), count: texts.len(), withheld: false };
        let note = redacted.note();
        let redacting = host.tell(&call, &Terms { output: Some(redacted), ..Terms::default() });
        assert!(!redacting.stdout.contains('\n'), "{place}: more than a line");
        let shown_instead = shown(id, &event, &call, &redacting);
        assert_eq!(shown_instead.is_some(), host.changes_output(&call.tool), "{place}: {redacting:?}");
        let clean = host.tell(&call, &Terms::default());
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
fn an_output_that_could_not_be_searched_is_withheld() {
    let mut seen = HashSet::new();
    for (id, Payload { place, event, bytes }) in after_events() {
        let host = host(id).unwrap();
        let call = host.decode(Some(&event), &bytes).unwrap();
        // Claude Code takes only what has the shape of that which could not be read.
        if call.output.is_none() || !host.changes_output(&call.tool) || id == "claude-code" {
            continue;
        }
        seen.insert(id);
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
    let withholding: HashSet<_> = HOSTS
        .iter()
        .map(|host| host.id())
        .filter(|id| !["claude-code", "mpm", "qwen"].contains(id))
        .collect();
    assert_eq!(seen, withholding);
}
