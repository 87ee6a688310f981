//! A handler in a host's settings: what the host starts for it, and whether that is us.
//!
//! Whoever asks "is this one of ours?" (init, uninstall, doctor, a change of settings) asks here, so that there is
//! one answer.

use std::fmt;

use serde_json::Value;

use super::hook_line::Start;

/// What a host starts for a handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandLine {
    /// A program and its arguments, without a shell.
    Exec(Start),
    /// Text for a shell.
    Shell(String),
}

impl CommandLine {
    /// The one of a handler: `command` and `args` (Claude Code), `exec` and `args` (Copilot), or a `command` for
    /// a shell.
    pub fn of(handler: &Value) -> Option<CommandLine> {
        let text = |key: &str| Some(handler.get(key)?.as_str()?.to_owned());
        let args = handler.get("args");
        match (text("exec"), text("command"), args) {
            (Some(program), _, None) => Some(CommandLine::Exec(Start { program, args: Vec::new() })),
            (Some(program), _, Some(args)) | (None, Some(program), Some(args)) => {
                let args = args.as_array()?.iter().map(|arg| arg.as_str().map(str::to_owned));
                Some(CommandLine::Exec(Start { program, args: args.collect::<Option<_>>()? }))
            }
            (None, command, None) => command.or_else(|| text("bash")).map(CommandLine::Shell),
            (None, None, Some(_)) => None,
        }
    }

    /// Whether it names us at all, be it inside of a longer text.
    pub fn is_ours(&self, host: &str) -> bool {
        match self {
            CommandLine::Exec(start) => start.is_ours(host),
            CommandLine::Shell(text) => {
                // A quoted path is still our path.
                let bare = text.replace(['\'', '"'], "");
                let named = format!("toolgate hook {host}");
                let mut tails = bare.split(&named).skip(1);
                tails.any(|tail| tail.is_empty() || tail.starts_with([' ', ';', '\n', '|', '&', ')']))
            }
        }
    }

    /// What it starts, where that is us and nothing else.
    pub fn start(&self, host: &str) -> Option<Start> {
        let start = match self {
            CommandLine::Exec(start) => Some(start.clone()),
            CommandLine::Shell(text) => Start::of_shell(text),
        };
        start.filter(|start| start.is_ours(host))
    }

    /// The program that is started; for shell text that does more, its first word.
    pub fn program(&self) -> String {
        match self {
            CommandLine::Exec(start) => start.program.clone(),
            CommandLine::Shell(text) => Start::of_shell(text).map_or_else(
                || text.split_whitespace().next().unwrap_or_default().trim_matches(['\'', '"']).to_owned(),
                |start| start.program,
            ),
        }
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandLine::Exec(start) => {
                f.write_str(&start.program)?;
                start.args.iter().try_for_each(|arg| write!(f, " {arg}"))
            }
            CommandLine::Shell(text) => f.write_str(text),
        }
    }
}

/// Whether a handler is one of ours.
pub fn is_ours(handler: &Value, host: &str) -> bool {
    CommandLine::of(handler).is_some_and(|line| line.is_ours(host))
}

/// The handlers in one element of an event: those of a group, or the element itself, as the host has it.
pub fn handlers_in(element: &Value) -> &[Value] {
    match element.get("hooks").and_then(Value::as_array) {
        Some(handlers) => handlers,
        None => std::slice::from_ref(element),
    }
}

/// Our handlers of an event, with the element in which each stands and its place among that one's handlers.
pub fn ours_of<'a>(
    settings: &'a Value,
    host: &'a str,
    event: &str,
) -> impl Iterator<Item = (usize, usize, &'a Value, &'a Value)> {
    let elements = settings.get("hooks").and_then(|hooks| hooks.get(event)?.as_array());
    elements.into_iter().flatten().enumerate().flat_map(move |(at, element)| {
        let ours = handlers_in(element).iter().enumerate().filter(|(_, handler)| is_ours(handler, host));
        ours.map(move |(place, handler)| (at, place, element, handler))
    })
}
