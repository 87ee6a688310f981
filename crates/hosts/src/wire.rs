//! The event that Claude Code made common: one object in snake case. Several hosts send it, each with its own
//! events and tools.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use toolgate_model::{Action, Agent, Call, DecodeError, Json, Phase};

use crate::tools::Toolset;

/// What a host says in this language.
pub(crate) struct Dialect {
    /// The host's id.
    pub host: &'static str,
    /// Its tools.
    pub tools: Toolset,
    /// In which phase of a call its events come.
    pub phase: fn(&str) -> Phase,
    /// The permission mode in which it asks nobody about files of these names, whatever a hook answers.
    pub unasked: Option<(&'static str, &'static [&'static str])>,
}

/// The fields of an event that matter here. Unknown ones are passed over; a doubled one is an error.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    hook_event_name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    transcript_path: Option<Cow<'a, str>>,
    #[serde(borrow)]
    cwd: Option<Cow<'a, str>>,
    #[serde(borrow)]
    source: Option<Json<'a>>,
    #[serde(borrow)]
    permission_mode: Option<Cow<'a, str>>,
    #[serde(borrow)]
    agent_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    agent_type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tool_name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tool_use_id: Option<Json<'a>>,
    #[serde(borrow)]
    tool_input: Option<Json<'a>>,
    #[serde(borrow)]
    file_path: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tool_response: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt: Option<Json<'a>>,
}

impl Dialect {
    /// Reads one event.
    pub(crate) fn decode<'a>(
        &self,
        named: Option<&'a str>,
        stdin: &'a [u8],
    ) -> Result<Call<'a>, DecodeError> {
        let event: Event<'a> = serde_json::from_slice(stdin).map_err(|error| unreadable(stdin, &error))?;
        let name = event_name(event.hook_event_name, named, "hook_event_name")?;
        let text = |member: Option<Json<'a>>| match member {
            Some(Json::Text(text)) => Some(text),
            _ => None,
        };
        let prompt = text(event.prompt);
        let by_user = event.agent_id.is_none() && !prompt.as_deref().is_some_and(is_notification);
        let phase = turn_if_by_user((self.phase)(&name), by_user);
        let (tool, input, action) = match phase {
            Phase::Before | Phase::Permission | Phase::After => {
                let tool = event.tool_name.ok_or(DecodeError::MissingField("tool_name"))?;
                let input = input_of(event.tool_input, false, "tool_input")?;
                let action = counted_once(phase, self.tools.action(&tool, &input));
                (tool, input, action)
            }
            Phase::Config => (Cow::Borrowed(""), Json::Null, Action::Configure(event.file_path)),
            // A client that calls its events otherwise than we know must not run its tools unjudged.
            Phase::Other
                if !TELLING.contains(&&*name)
                    && asks_for_a_tool(event.tool_input.is_some(), event.tool_response.is_some()) =>
            {
                return Err(DecodeError::UnknownEvent);
            }
            Phase::Start | Phase::Prompt | Phase::End | Phase::Error | Phase::Other => NO_TOOL,
        };
        let response = event.tool_response.filter(|_| phase == Phase::After);
        Ok(Call {
            id: text(event.tool_use_id),
            session: event.session_id,
            cwd: event.cwd,
            transcript: event.transcript_path,
            resumed: phase == Phase::Start && text(event.source).is_some_and(|source| source == "resume"),
            unasked: match self.unasked {
                Some((mode, names)) if event.permission_mode.as_deref() == Some(mode) => names,
                _ => &[],
            },
            unattended: event.permission_mode.as_deref() == Some("bypassPermissions"),
            entered: response.filter(|_| tool == "EnterWorktree").and_then(worktree_entered),
            agent: Agent { id: event.agent_id, kind: event.agent_type },
            said: match (&action, response) {
                (Action::Question, Some(response)) => users_answers(response),
                _ => prompt.filter(|_| phase == Phase::Prompt),
            },
            tool,
            input,
            action,
            output: response.map(|output| Cow::Borrowed(output.get())),
            ..Call::event(self.host, name, phase)
        })
    }
}

/// Events that are known to come when there is no tool to stop.
const TELLING: [&str; 9] = [
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "Notification",
    "PreCompact",
    "PostCompact",
    "PostToolBatch",
    "UserPromptSubmit",
];

/// Whether an event whose name says nothing to us has what a tool is given, and not yet what it gave back.
pub(crate) fn asks_for_a_tool(has_input: bool, has_output: bool) -> bool {
    has_input && !has_output
}

/// What an event asks a tool to do, where it is about none.
pub(crate) const NO_TOOL: (Cow<'static, str>, Json<'static>, Action<'static>) =
    (Cow::Borrowed(""), Json::Null, Action::Nothing);

/// The event's name: as it says itself, else as the registration does.
pub(crate) fn event_name<'a>(
    own: Option<Cow<'a, str>>,
    registered: Option<&'a str>,
    field: &'static str,
) -> Result<Cow<'a, str>, DecodeError> {
    own.or(registered.map(Cow::Borrowed)).ok_or(DecodeError::MissingField(field))
}

/// A tool's input: an object or, where the host sends patches so, one text.
pub(crate) fn input_of<'a>(
    input: Option<Json<'a>>,
    may_be_text: bool,
    field: &'static str,
) -> Result<Json<'a>, DecodeError> {
    match input.ok_or(DecodeError::MissingField(field))? {
        input @ Json::Object(_) => Ok(input),
        input @ Json::Text(_) if may_be_text => Ok(input),
        _ => Err(DecodeError::WrongField(field)),
    }
}

/// Where the host says that it moved the session.
fn worktree_entered<'a>(response: &RawValue) -> Option<Cow<'a, str>> {
    #[derive(Deserialize)]
    struct Response {
        #[serde(rename = "worktreePath")]
        worktree: String,
    }
    serde_json::from_str(response.get()).ok().map(|Response { worktree }| Cow::Owned(worktree))
}

/// A question is judged, and counted, before it is asked: the permission that some hosts ask for besides is not one more.
pub(crate) fn counted_once(phase: Phase, action: Action<'_>) -> Action<'_> {
    match action {
        Action::Question if phase == Phase::Permission => Action::Internal,
        action => action,
    }
}

/// Hosts raise the event of a prompt also for what no user has said, a sub-agent's task for one: that begins no turn.
pub(crate) fn turn_if_by_user(phase: Phase, by_user: bool) -> Phase {
    if phase == Phase::Prompt && !by_user { Phase::Other } else { phase }
}

/// Whether a prompt is the client's own notice that a task in the background has ended.
fn is_notification(prompt: &str) -> bool {
    prompt.starts_with("<task-notification>")
}

/// What the user answered to the questions of a tool, each answer in lines of its own.
fn users_answers<'a>(response: &RawValue) -> Option<Cow<'a, str>> {
    #[derive(Deserialize)]
    struct Response {
        answers: BTreeMap<String, String>,
    }
    let Response { answers } = serde_json::from_str(response.get()).ok()?;
    Some(Cow::Owned(answers.into_values().collect::<Vec<_>>().join("\n")))
}

/// Why a JSON text cannot be read, and where.
pub(crate) fn unreadable(text: &[u8], error: &serde_json::Error) -> DecodeError {
    let (line, column) = (error.line(), error.column());
    if has_doubled_member(text) {
        DecodeError::DoubledMember { line, column }
    } else {
        DecodeError::Malformed { line, column }
    }
}

/// Whether an object in a JSON text has two members of the same name.
fn has_doubled_member(text: &[u8]) -> bool {
    /// Reads a value, and whether a member in it is doubled.
    struct Search;

    impl<'de> DeserializeSeed<'de> for Search {
        type Value = bool;
        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
            deserializer.deserialize_any(self)
        }
    }

    impl<'de> Visitor<'de> for Search {
        type Value = bool;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON value")
        }
        fn visit_unit<E>(self) -> Result<bool, E> {
            Ok(false)
        }
        fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
            Ok(false)
        }
        fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
            Ok(false)
        }
        fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
            Ok(false)
        }
        fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
            Ok(false)
        }
        fn visit_str<E>(self, _: &str) -> Result<bool, E> {
            Ok(false)
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
            let mut found = false;
            while let Some(doubled) = list.next_element_seed(Search)? {
                found |= doubled;
            }
            Ok(found)
        }
        fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<bool, A::Error> {
            /// The names are kept while they are compared, and an event may be nothing but names.
            const MAX_NAMES: usize = 4096;
            let (mut found, mut names) = (false, BTreeSet::new());
            while let Some(name) = object.next_key::<String>()? {
                // More than are compared might be doubled.
                found |= names.len() >= MAX_NAMES || !names.insert(name);
                found |= object.next_value_seed(Search)?;
            }
            Ok(found)
        }
    }

    Search.deserialize(&mut serde_json::Deserializer::from_slice(text)).unwrap_or(false)
}
