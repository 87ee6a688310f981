//! pi: its extension passes on each event with what it knows about the session.
//!
//! What the client does, as observed on 1.5.0: paths reach the extension as the model wrote them, and the tools
//! then read `@a`, `~/x`, `file:///x` and odd blanks in their own way. toolgate reads them in the same way.
//! It has no permission modes: the extension asks in a dialog, with the reason. Without a screen, toolgate denies instead of
//! asking.

use std::borrow::Cow;

use toolgate_model::{
    Access, Action, ActivationState, Answer, Call, Decision, DecodeError, FileUse, Host, Json, PathArg,
    Phase, Reply, Stoppable, Terms, Unstoppable, Verdict,
};

use crate::members::Members;
use crate::plain;
use crate::tools::Tool::{Internal, Read, Search, Shell, Write};
use crate::tools::{Toolset, is_mcp_name};
use crate::wire::{NO_TOOL, asks_for_a_tool, event_name, input_of, turn_if_by_user};

pub(crate) struct Pi;

/// Every tool of pi that we know. What `codemode` runs comes as calls of its own.
pub(crate) const TOOLS: Toolset = Toolset {
    is_added: is_mcp_name,
    listed: &[
        ("bash", Shell("command")),
        ("codemode", Internal),
        ("edit", Write("path")),
        ("find", Search("path", Some("pattern"))),
        ("grep", Search("path", Some("glob"))),
        ("ls", Search("path", None)),
        ("read", Read("path")),
        ("tool_search", Internal),
        ("write", Write("path")),
    ],
};

impl Host for Pi {
    fn id(&self) -> &'static str {
        "pi"
    }

    fn own_directory(&self) -> Option<&'static str> {
        Some(".pi")
    }

    fn is_served(&self) -> bool {
        true
    }

    fn changes_output(&self, _: &str) -> bool {
        true
    }

    fn asks_about_changed_input(&self) -> bool {
        true
    }

    fn launches(&self, tool: &str) -> bool {
        tool == "bash"
    }

    fn phase(&self, event: &str) -> Phase {
        match event {
            "tool_call" => Phase::Before,
            "tool_result" => Phase::After,
            "session_start" => Phase::Start,
            "input" => Phase::Prompt,
            "session_shutdown" => Phase::End,
            _ => Phase::Other,
        }
    }

    fn decode<'a>(&self, event: Option<&'a str>, stdin: &'a [u8]) -> Result<Call<'a>, DecodeError> {
        let mut payload = Members::read(stdin)?;
        let (mut members, mut ctx) = (payload.object("event")?, payload.object("ctx")?);
        let name = event_name(members.text("type")?, event, "event.type")?;
        let by_user = members.text("source")?.is_none_or(|source| source != "extension");
        let phase = turn_if_by_user(self.phase(&name), by_user);
        let (tool, input, action) = match phase {
            Phase::Before | Phase::Permission | Phase::After => {
                let tool = members.text("toolName")?.ok_or(DecodeError::MissingField("event.toolName"))?;
                let input = input_of(members.take("input")?, false, "event.input")?;
                let action = match TOOLS.find(&tool) {
                    Some(known) => as_pi_reads_it(known.action(&input)),
                    None => TOOLS.action(&tool, &input),
                };
                (tool, input, action)
            }
            Phase::Other
                if members.text("toolName")?.is_some()
                    && asks_for_a_tool(
                        members.take("input")?.is_some(),
                        members.raw("content").is_some(),
                    ) =>
            {
                return Err(DecodeError::UnknownEvent);
            }
            Phase::Config | Phase::Start | Phase::Prompt | Phase::End | Phase::Error | Phase::Other => {
                NO_TOOL
            }
        };
        let trusted = match ctx.take("trusted")? {
            Some(Json::Bool(trusted)) => Some(trusted),
            _ => None,
        };
        Ok(Call {
            id: members.text("toolCallId")?,
            session: ctx.text("sessionId")?,
            cwd: ctx.text("cwd")?,
            transcript: ctx.text("sessionFile")?,
            activation: ActivationState {
                trusted,
                mode: ctx.text("mode")?.map(Cow::into_owned),
                paused: false,
            },
            tool,
            input,
            action,
            said: members.said("text", phase)?,
            output: (phase == Phase::After).then(|| output(&mut members)).flatten(),
            ..Call::event(self.id(), name, phase)
        })
    }

    fn encode_verdict(&self, _: Stoppable, call: &Call<'_>, verdict: &Verdict, terms: &Terms) -> Reply {
        let objection = match verdict.decision() {
            Decision::Allow | Decision::Contain => None,
            Decision::Ask => Some(Answer::Ask),
            Decision::Deny => Some(Answer::Deny),
        };
        plain::encode(call, verdict, terms, objection)
    }

    fn encode_terms(&self, phase: Unstoppable, call: &Call<'_>, terms: &Terms) -> Reply {
        plain::tell(phase, call, terms)
    }

    fn refuse(&self, phase: Option<Phase>, message: &str) -> Reply {
        plain::refuse(phase, message)
    }
}

/// The members of an event that hold what a tool gave back: together they are its output.
const OUTPUT: [&str; 3] = ["content", "details", "structuredContent"];

fn output<'a>(members: &mut Members<'a>) -> Option<Cow<'a, str>> {
    let member = |name| members.raw(name).map(|value| format!("\"{name}\":{}", value.get()));
    let members: Vec<_> = OUTPUT.into_iter().filter_map(member).collect();
    (!members.is_empty()).then(|| Cow::Owned(format!("{{{}}}", members.join(","))))
}

/// The same action, its paths as pi's own tools will read them.
fn as_pi_reads_it(action: Action<'_>) -> Action<'_> {
    let Action::Files(mut uses) = action else { return action };
    let mut others = Vec::new();
    for used in &mut uses {
        if let PathArg::Text(text) = &used.path {
            let path = spelled_out(text);
            // Versions differ in which of these they take for an address; the others take it for a name.
            let bare = text.strip_prefix('@').unwrap_or(text);
            if bare.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:")) {
                let literal = PathArg::Text(Cow::Owned(format!("./{bare}")));
                others.push(FileUse { path: literal, ..used.clone() });
            }
            if used.access == Access::Read {
                let taken = other_spellings(&path).into_iter().filter(|other| *other != path);
                others
                    .extend(taken.map(|other| FileUse { path: PathArg::Text(other.into()), ..used.clone() }));
            }
            used.path = PathArg::Text(Cow::Owned(path));
        }
    }
    // What was asked for comes last: where a path is made absolute, the last one counts.
    others.extend(uses);
    Action::Files(others)
}

/// Names that pi reads instead where a file is not there, for the sake of screenshots on macOS. A repository can have a
/// link of such a name.
fn other_spellings(path: &str) -> [String; 2] {
    let mut narrow = path.to_owned();
    for (at, _) in path.rmatch_indices(' ') {
        let half_of_day = path.get(at + 1..at + 4).map(str::to_ascii_lowercase);
        if matches!(half_of_day.as_deref(), Some("am." | "pm.")) {
            narrow.replace_range(at..=at, "\u{202f}");
        }
    }
    [narrow, path.replace('\'', "\u{2019}")]
}

/// `@a` is `a`, `file:///a%20b` is `/a b`, and a blank of any width is a blank.
fn spelled_out(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| match c {
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
            c => c,
        })
        .collect();
    let path = plain.strip_prefix('@').unwrap_or(&plain);
    match path.get(..5) {
        Some(scheme) if scheme.eq_ignore_ascii_case("file:") => file_address(path),
        _ => path.to_owned(),
    }
}

/// The path in `file:///a`, `file://host/a` or `file:/a`, its `%20` read as bytes.
fn file_address(address: &str) -> String {
    let rest = address.split_once(':').map(|(_, rest)| rest).unwrap_or_default();
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/"),
        None => rest,
    };
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.as_bytes();
    while let Some((&byte, rest)) = left.split_first() {
        let code = rest.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.filter(|_| byte == b'%').and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                left = rest.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(byte);
                left = rest;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_spellings_that_pi_tries_are_judged_too() {
        assert_eq!(other_spellings("it's"), ["it's", "it\u{2019}s"]);
        assert_eq!(
            other_spellings("é 9.41 am.x 1 PM.png"),
            ["é 9.41\u{202f}am.x 1\u{202f}PM.png", "é 9.41 am.x 1 PM.png"]
        );
    }

    #[test]
    fn a_file_address_is_judged_as_a_path_and_as_a_name() {
        let event = br#"{"event":{"type":"tool_call","toolName":"write","input":{"path":"@file:/tmp/x"}}}"#;
        let Action::Files(uses) = Pi.decode(None, event).unwrap().action else { panic!("files") };
        let paths: Vec<_> = uses.iter().map(|used| used.path.text()).collect();
        assert_eq!(paths, ["./file:/tmp/x", "/tmp/x"]);
    }

    #[test]
    fn paths_are_read_as_pi_reads_them() {
        for (raw, read) in [
            ("a.txt", "a.txt"),
            ("@a.txt", "a.txt"),
            ("@/etc/passwd", "/etc/passwd"),
            ("@~/x", "~/x"),
            ("@@a", "@a"),
            ("file:///etc/pass%77d", "/etc/passwd"),
            ("FILE:/etc/x", "/etc/x"),
            ("file://host/etc", "/etc"),
            ("@file:///etc/x", "/etc/x"),
            ("a\u{202f}b", "a b"),
            ("file:", ""),
            ("", ""),
        ] {
            assert_eq!(spelled_out(raw), read, "{raw:?}");
        }
    }
}
