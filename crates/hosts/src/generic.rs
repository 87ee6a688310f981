//! The generic protocol, for every host that toolgate does not know. docs/protocol.md is its manual.
//!
//! An orchestrator says in plain words what a call is: the tool and its input, and, where it knows, what the tool
//! would do (`action`). A tool without an action is looked up by its name among those of all hosts; one that no host
//! has is judged by its parameters.

use std::borrow::Cow;

use toolgate_model::{
    Access, Action, Agent, Answer, Call, Decision, DecodeError, FileUse, Host, Json, PathArg, Phase, Reply,
    Stoppable, Terms, Unstoppable, Verdict, quoted,
};

use crate::members::Members;
use crate::plain;
use crate::tools::{TOOLSETS, Tool, Toolset, and_as_written, is_mcp_name};
use crate::wire::{NO_TOOL, counted_once, event_name};

pub(crate) struct Generic;

impl Host for Generic {
    fn id(&self) -> &'static str {
        "generic"
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

    /// Whoever speaks this protocol runs the input that is answered.
    fn launches(&self, _: &str) -> bool {
        true
    }

    fn phase(&self, event: &str) -> Phase {
        match event {
            "permission" => Phase::Permission,
            "after" => Phase::After,
            "answer" => Phase::After,
            "start" => Phase::Start,
            "prompt" => Phase::Prompt,
            "end" => Phase::End,
            "error" => Phase::Error,
            // Whoever misspells an event gets the answer that stops a call.
            _ => Phase::Before,
        }
    }

    fn decode<'a>(&self, event: Option<&'a str>, stdin: &'a [u8]) -> Result<Call<'a>, DecodeError> {
        let mut members = Members::read(stdin)?;
        let name = event_name(members.text("event")?, event, "event")?;
        let phase = self.phase(&name);
        if phase == Phase::Before && name != "before" && name != "question" {
            return Err(DecodeError::WrongField("event"));
        }
        let cwd = members.text("cwd")?;
        if matches!(phase, Phase::Before | Phase::Permission) {
            let cwd = cwd.as_deref().ok_or(DecodeError::MissingField("cwd"))?;
            if !cwd.starts_with('/') {
                return Err(DecodeError::WrongField("cwd"));
            }
        }
        let mut agent = members.object("agent")?;
        let agent = Agent { id: agent.text("id")?, kind: agent.text("kind")? };
        let said = match &*name {
            "prompt" | "answer" => Some(members.text("text")?.ok_or(DecodeError::MissingField("text"))?),
            _ => None,
        };
        let (tool, input, action) = match phase {
            Phase::Before | Phase::After if matches!(&*name, "question" | "answer") => {
                (Cow::Borrowed("ask_user"), question_input(&mut members)?, Action::Question)
            }
            Phase::Error => (Cow::Borrowed(""), error_input(&mut members)?, Action::Nothing),
            Phase::Before | Phase::Permission | Phase::After => {
                let tool = members.text("tool")?.ok_or(DecodeError::MissingField("tool"))?;
                let input = members.take("input")?.ok_or(DecodeError::MissingField("input"))?;
                let action = match members.take("action")? {
                    Some(action) => action_by_word(action)?,
                    None => action_by_name(&tool, &input),
                };
                (tool, input, counted_once(phase, action))
            }
            Phase::Config | Phase::Start | Phase::Prompt | Phase::End | Phase::Other => NO_TOOL,
        };
        Ok(Call {
            session: members.text("session")?,
            cwd,
            agent,
            tool,
            input,
            action,
            output: members.output("output", phase),
            said,
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

/// What a call of this name is asked to do: as in the first host that has such a tool with such a parameter.
fn action_by_name<'a>(name: &str, input: &Json<'a>) -> Action<'a> {
    let fits = |(_, tools): &(&str, Toolset)| {
        let tool = tools.find(name)?;
        let fits = match input {
            Json::Text(_) => matches!(tool, Tool::Patch(_)),
            _ => tool.main_parameter().is_none_or(|param| input.get(param).is_some()),
        };
        fits.then_some(tool)
    };
    match TOOLSETS.iter().find_map(fits) {
        Some(tool) if runs_elsewhere(tool, input) => Action::Unlisted { mcp: false },
        Some(tool) => and_as_written(tool.action(input)),
        None => Action::Unlisted { mcp: is_mcp_name(name) },
    }
}

/// Whether a command comes with a directory that the tool of this name has no parameter for. The caller's tool may
/// run it there or not, so nobody can say what it reaches.
fn runs_elsewhere(tool: Tool, input: &Json<'_>) -> bool {
    const DIRECTORIES: [&str; 7] =
        ["cwd", "dir", "dir_path", "directory", "workdir", "workingDirectory", "working_directory"];
    let known = match tool {
        Tool::Shell(_) => "",
        Tool::ShellIn(_, directory) => directory,
        _ => return false,
    };
    DIRECTORIES.iter().any(|name| *name != known && input.get(name).is_some())
}

/// What the caller says that the call would do.
fn action_by_word(action: Json<'_>) -> Result<Action<'_>, DecodeError> {
    const WRONG: DecodeError = DecodeError::WrongField("action");
    const ACCESSES: [(&str, Access); 4] = [
        ("read", Access::Read),
        ("search", Access::Search),
        ("write", Access::Write),
        ("delete", Access::Delete),
    ];
    let members = match action {
        Json::Text(word) if word == "none" => return Ok(Action::Internal),
        Json::Text(word) if word == "fetch" => return Ok(Action::Fetch),
        Json::Object(members) => members,
        _ => return Err(WRONG),
    };
    let is_command = |name: &str| matches!(name, "shell" | "run" | "directory");
    if members.iter().any(|(name, _)| is_command(name)) {
        let (mut command, mut directory) = (None, None);
        for (name, value) in members {
            match (&*name, value) {
                ("shell", Json::Text(text)) if command.is_none() => command = Some(text),
                ("run", Json::List(words)) if command.is_none() && !words.is_empty() => {
                    command = Some(quoted(&words).ok_or(WRONG)?.into());
                }
                ("directory", Json::Text(text)) => directory = Some(text),
                _ => return Err(WRONG),
            }
        }
        return command.ok_or(WRONG).map(|command| Action::Shell { command: Some(command), directory });
    }
    let mut uses = Vec::new();
    for (name, value) in members {
        let (param, access) = *ACCESSES.iter().find(|(word, _)| *word == name).ok_or(WRONG)?;
        let paths = match value {
            Json::List(paths) => paths,
            path => vec![path],
        };
        for path in paths {
            let Json::Text(path) = path else { return Err(WRONG) };
            uses.push(FileUse { access, param: Cow::Borrowed(param), path: PathArg::Text(path) });
        }
    }
    if uses.is_empty() { Err(WRONG) } else { Ok(Action::Files(uses)) }
}

/// The question, as the tools that ask one have it.
fn question_input<'a>(members: &mut Members<'a>) -> Result<Json<'a>, DecodeError> {
    let question = members.text("text")?.map(|text| (Cow::Borrowed("question"), Json::Text(text)));
    Ok(Json::Object(question.into_iter().collect()))
}

/// What failed in the host.
fn error_input<'a>(members: &mut Members<'a>) -> Result<Json<'a>, DecodeError> {
    let mut error = Vec::new();
    for name in ["message", "recoverable"] {
        error.extend(members.take(name)?.map(|value| (Cow::Borrowed(name), value)));
    }
    Ok(Json::Object(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(call: &str) -> Result<String, DecodeError> {
        let call = format!(r#"{{"event":"before","cwd":"/w",{call}}}"#);
        let call = Generic.decode(None, call.as_bytes())?;
        Ok(match call.action {
            Action::Files(uses) => {
                let each = uses.iter().map(|used| format!("{} {}", used.access.verb(), used.path.text()));
                each.collect::<Vec<_>>().join(", ")
            }
            Action::Shell { command, directory } => format!("{command:?} in {directory:?}"),
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn a_tool_is_recognized_by_its_name_in_any_host() {
        for (call, expected) in [
            (r#""tool":"Bash","input":{"command":"ls"}"#, r#"Some("ls") in None"#),
            (r#""tool":"bash","input":{"command":["ls","a b"]}"#, r#"Some("'ls' 'a b'") in None"#),
            (r#""tool":"read","input":{"filePath":"x"}"#, "reads x"),
            (r#""tool":"read","input":{"path":"x"}"#, "reads x"),
            (r#""tool":"write_file","input":{"file_path":"x"}"#, "writes x"),
            (r#""tool":"mcp__a__b","input":{}"#, "Unlisted { mcp: true }"),
            (r#""tool":"whatever","input":{}"#, "Unlisted { mcp: false }"),
            (r#""tool":"grep","input":{"pattern":"x","path":"/a"}"#, "searches , searches /a"),
            (r#""tool":"list_directory","input":{"path":"/a"}"#, "searches , searches /a"),
            (r#""tool":"read","input":{"filePath":"a","path":"/b"}"#, "reads a, reads /b"),
            (r#""tool":"exec_command","input":{"cmd":"ls","workdir":"a"}"#, r#"Some("ls") in Some("a")"#),
            (r#""tool":"bash","input":{"command":"ls","workdir":"a"}"#, "Unlisted { mcp: false }"),
            (r#""tool":"Bash","input":{"command":"ls","cwd":"a"}"#, "Unlisted { mcp: false }"),
            (
                r#""tool":"run_shell_command","input":{"command":"ls","directory":"a"}"#,
                "Unlisted { mcp: false }",
            ),
            (
                r#""tool":"apply_patch","input":"*** Begin Patch\n*** Delete File: a\n*** End Patch""#,
                "deletes a",
            ),
        ] {
            assert_eq!(action(call).as_deref(), Ok(expected), "{call}");
        }
    }

    #[test]
    fn an_action_given_by_the_caller_is_taken() {
        for (word, expected) in [
            (r#"{"shell":"ls","directory":"sub"}"#, r#"Some("ls") in Some("sub")"#),
            (r#"{"run":["ls","$x"]}"#, r#"Some("'ls' '$x'") in None"#),
            (r#"{"read":"a","write":["b","c"]}"#, "reads a, writes b, writes c"),
            (r#""none""#, "Internal"),
        ] {
            let call = format!(r#""tool":"t","input":{{}},"action":{word}"#);
            assert_eq!(action(&call).as_deref(), Ok(expected), "{word}");
        }
    }

    #[test]
    fn an_action_that_is_not_understood_is_an_error() {
        for word in [
            "{}",
            "null",
            "7",
            r#""all""#,
            r#"{"chmod":"a"}"#,
            r#"{"write":7}"#,
            r#"{"shell":7}"#,
            r#"{"run":[]}"#,
            r#"{"run":[1]}"#,
            r#"{"directory":"x"}"#,
            r#"{"shell":"ls","write":"a"}"#,
            r#"{"shell":"ls","run":["a"]}"#,
        ] {
            let call = format!(r#""tool":"t","input":{{}},"action":{word}"#);
            assert_eq!(action(&call), Err(DecodeError::WrongField("action")), "{word}");
        }
    }
}
