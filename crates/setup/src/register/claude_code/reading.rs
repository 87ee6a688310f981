//! A settings file as Claude Code reads it, and which of its handlers are ours.
//!
//! Against whom: a handler that stands in the file and yet never runs. The client drops a whole file for one
//! comment, all handlers of an event for one bad handler, and says nothing. Whoever asks "are we registered?"
//! (init, uninstall, doctor, the ConfigChange event) asks here, so that there is one answer.
//!
//! Does not see: wrong types deep inside settings that are not about hooks. `TYPES` lists what is checked.

use std::collections::BTreeMap;
use std::fmt;

use jsonc_parser::cst::CstRootNode;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::HOST;
use crate::register::handler::CommandLine;
use crate::register::json::{options, tolerant};

/// The event that decides about a call before it runs. Without it there is no gate.
pub const GATE: &str = "PreToolUse";

/// One settings file.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Why the client drops the whole file, where it does.
    pub dropped: Option<Dropped>,
    /// The events below `hooks`. Filled also for a dropped file that can be made out, so that one can say
    /// what is lost with it.
    pub events: BTreeMap<String, Event>,
    /// The settings; `None` where not even a tolerant parser makes sense of them.
    settings: Option<Map<String, Value>>,
}

/// The handlers of one event in one file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Event {
    /// Ours, in the order of the file.
    pub ours: Vec<Handler>,
    /// The first handler (or group) that makes the client drop all handlers of the event.
    pub bad: Option<Bad>,
}

/// One of our handlers.
#[derive(Debug, Clone, PartialEq)]
pub struct Handler {
    /// What the client starts.
    pub command: CommandLine,
    /// Seconds.
    pub timeout: Option<f64>,
    /// `"onFailure": "block"`.
    pub blocks_on_failure: bool,
    /// Why it does not judge every call before it runs.
    pub limits: Vec<Limit>,
}

/// Why a handler of ours lets calls through unjudged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    /// `async: true`: the client does not wait for the answer.
    Async,
    /// The group's matcher leaves tools out.
    Matcher(String),
    /// An `if` filter leaves calls out.
    If,
    /// `once: true`: the client forgets the handler after the first call.
    Once,
    /// Shell text that does more than start us, so that its answer need not be ours.
    ShellText,
}

/// Why the client drops a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dropped {
    /// Not JSON.
    NotJson {
        /// The line where the client stops reading.
        line: usize,
    },
    /// JSON but for its comments.
    Comments {
        /// The line of the first one.
        line: usize,
    },
    /// It starts with a byte order mark, which JSON does not allow.
    ByteOrderMark,
    /// Some other value than an object.
    NotAnObject,
    /// A setting of the wrong type.
    WrongType {
        /// Which one.
        key: &'static str,
        /// What it has to be.
        wanted: &'static str,
    },
    /// JSON that the client may well read, but we do not: nested too deep, or with broken escapes.
    BeyondUs,
}

/// Why the client drops the handlers of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bad {
    /// The event holds something else than an array.
    NotAnArray,
    /// A handler stands in the event itself instead of in a group with `hooks`.
    NotNested,
    /// A matcher that is not a string.
    Matcher,
    /// A `type` that the client does not know, or none.
    Type,
    /// A field that must be there is not.
    Missing(&'static str),
    /// A field with a value that the client refuses.
    Field(&'static str),
}

impl Reading {
    /// Reads the bytes of a settings file.
    pub fn of(bytes: &[u8]) -> Reading {
        // The client decodes as JavaScript does, so a stray byte is a replacement character and no error.
        let text = String::from_utf8_lossy(bytes);
        let (text, mark) = match text.strip_prefix('\u{feff}') {
            Some(rest) => (rest, true),
            None => (text.as_ref(), false),
        };
        let value = serde_json::from_str(text).ok().or_else(|| tolerant(text));
        let dropped = if mark {
            Some(Dropped::ByteOrderMark)
        } else {
            not_json(text).or_else(|| value.as_ref().map_or(Some(Dropped::BeyondUs), wrong_type))
        };
        let settings = match value {
            Some(Value::Object(settings)) => Some(settings),
            _ => None,
        };
        let events = settings.as_ref().map(events).unwrap_or_default();
        Reading { dropped, events, settings }
    }

    /// Whether hooks are switched off here: `disableAllHooks` with any value but `false`. A file that the
    /// client drops today counts too, since nobody has a good reason for such a line in a broken file.
    pub fn hooks_off(&self) -> bool {
        self.setting("disableAllHooks").is_some_and(|value| value != &Value::Bool(false))
    }

    /// A setting of the top level.
    pub fn setting(&self, key: &str) -> Option<&Value> {
        self.settings.as_ref()?.get(key)
    }

    /// Names in the `env` block.
    pub fn env_names(&self) -> impl Iterator<Item = &str> {
        let env = self.setting("env").and_then(Value::as_object);
        env.into_iter().flat_map(|env| env.keys().map(String::as_str))
    }

    /// Our handlers of all events, whether or not the client gets to see them.
    pub fn ours(&self) -> impl Iterator<Item = (&str, &Handler)> {
        self.events.iter().flat_map(|(name, event)| event.ours.iter().map(move |ours| (name.as_str(), ours)))
    }

    /// Whether the client, reading this file, asks us about every call before it runs.
    pub fn gates(&self) -> bool {
        let whole =
            |event: &Event| event.bad.is_none() && event.ours.iter().any(|ours| ours.limits.is_empty());
        self.dropped.is_none() && self.events.get(GATE).is_some_and(whole)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Async => f.write_str("`async` is true, so the client does not wait for the answer"),
            Limit::Matcher(matcher) => write!(f, "the matcher `{matcher}` leaves tools out"),
            Limit::If => f.write_str("an `if` filter leaves calls out"),
            Limit::Once => f.write_str("`once` is true, so only the first call is judged"),
            Limit::ShellText => f.write_str("the shell text does more than start toolgate"),
        }
    }
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dropped::NotJson { line } => write!(f, "not JSON (line {line})"),
            Dropped::Comments { line } => write!(f, "a comment (line {line})"),
            Dropped::ByteOrderMark => f.write_str("a byte order mark at its start"),
            Dropped::NotAnObject => f.write_str("not a JSON object"),
            Dropped::WrongType { key, wanted } => write!(f, "`{key}` is not {wanted}"),
            Dropped::BeyondUs => f.write_str("nested too deep or with broken escapes"),
        }
    }
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bad::NotAnArray => f.write_str("the event is not an array of groups"),
            Bad::NotNested => f.write_str("a handler is not in the `hooks` of a group"),
            Bad::Matcher => f.write_str("a `matcher` is not a string"),
            Bad::Type => f.write_str("a handler has no `type` that the client knows"),
            Bad::Missing(field) => write!(f, "a handler has no `{field}`"),
            Bad::Field(field) => write!(f, "the client refuses the `{field}` of a handler"),
        }
    }
}

/// Why a text is not JSON for the client. Asks for the syntax alone, since the client knows no limit for
/// depth or for the size of a number.
fn not_json(text: &str) -> Option<Dropped> {
    let error = serde_json::from_str::<IgnoredAny>(text).err()?;
    let strict_but_for_comments = options();
    if CstRootNode::parse(text, &strict_but_for_comments).is_ok() {
        return Some(Dropped::Comments { line: error.line() });
    }
    Some(Dropped::NotJson { line: error.line() })
}

type Fits = fn(&Value) -> bool;

/// Settings whose type the client checks, and drops the whole file over.
const TYPES: &[(&str, &str, Fits)] = &[
    ("hooks", "an object", Value::is_object),
    ("permissions", "an object", Value::is_object),
    ("env", "an object", Value::is_object),
    ("disableAllHooks", "true or false", Value::is_boolean),
];

fn wrong_type(value: &Value) -> Option<Dropped> {
    let Value::Object(settings) = value else {
        return Some(Dropped::NotAnObject);
    };
    TYPES
        .iter()
        .find(|(key, _, fits)| settings.get(*key).is_some_and(|value| !fits(value)))
        .map(|&(key, wanted, _)| Dropped::WrongType { key, wanted })
}

fn events(settings: &Map<String, Value>) -> BTreeMap<String, Event> {
    let hooks = settings.get("hooks").and_then(Value::as_object);
    let hooks = hooks.into_iter().flatten();
    hooks.map(|(name, groups)| (name.clone(), event(groups))).collect()
}

fn event(groups: &Value) -> Event {
    let mut event = Event::default();
    let Some(groups) = groups.as_array() else {
        event.bad = Some(Bad::NotAnArray);
        return event;
    };
    for group in groups {
        let Some(handlers) = group.get("hooks").and_then(Value::as_array) else {
            event.bad.get_or_insert(Bad::NotNested);
            continue;
        };
        let matcher = group.get("matcher");
        if matcher.is_some_and(|matcher| !matcher.is_string()) {
            event.bad.get_or_insert(Bad::Matcher);
        }
        for handler in handlers {
            if let Some(bad) = bad(handler) {
                event.bad.get_or_insert(bad);
            }
            if let Some(command) = CommandLine::of(handler).filter(|line| line.is_ours(HOST)) {
                event.ours.push(Handler {
                    limits: limits(handler, matcher, &command),
                    command,
                    timeout: handler.get("timeout").and_then(Value::as_f64),
                    blocks_on_failure: handler.get("onFailure").is_some_and(|value| value == "block"),
                });
            }
        }
    }
    event
}

fn limits(handler: &Value, matcher: Option<&Value>, command: &CommandLine) -> Vec<Limit> {
    let on = |field: &str| handler.get(field).is_some_and(|value| value != &Value::Bool(false));
    let narrow = matcher.and_then(Value::as_str).filter(|matcher| !["", "*", ".*"].contains(matcher));
    let mut limits: Vec<Limit> =
        narrow.map(|matcher| Limit::Matcher(matcher.to_owned())).into_iter().collect();
    limits.extend(on("async").then_some(Limit::Async));
    limits.extend(on("if").then_some(Limit::If));
    limits.extend(on("once").then_some(Limit::Once));
    limits.extend(command.start(HOST).is_none().then_some(Limit::ShellText));
    limits
}

/// Fields that a handler of any type may have, and what the client takes there.
const FIELDS: &[(&str, Fits)] = &[
    ("timeout", |value| value.as_f64().is_some_and(|seconds| seconds > 0.0)),
    ("onFailure", |value| value == "block"),
    ("args", |value| value.as_array().is_some_and(|list| list.iter().all(Value::is_string))),
    ("async", Value::is_boolean),
];

/// Why the client refuses a handler, and with it all others of its event.
fn bad(handler: &Value) -> Option<Bad> {
    let needed = match handler.get("type").and_then(Value::as_str) {
        Some("command") => Some("command"),
        Some("http") => Some("url"),
        Some("prompt" | "agent") => Some("prompt"),
        Some("mcp_tool") => None,
        _ => return Some(Bad::Type),
    };
    if let Some(field) = needed {
        match handler.get(field) {
            None => return Some(Bad::Missing(field)),
            Some(Value::String(_)) => {}
            Some(_) => return Some(Bad::Field(field)),
        }
    }
    FIELDS
        .iter()
        .find(|(field, fits)| handler.get(*field).is_some_and(|value| !fits(value)))
        .map(|&(field, _)| Bad::Field(field))
}
