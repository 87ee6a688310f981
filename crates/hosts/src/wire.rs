//! The event that Claude Code made common: one object in snake case. Several hosts send it, each with its own
//! events and tools.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use toolgate_model::{Action, Agent, Call, DecodeError, Json, Phase, Reply, Verdict};

use crate::tools::Toolset;

/// What a host says in this language.
pub(crate) struct Dialect {
    /// The host's id.
    pub host: &'static str,
    /// Its tools.
    pub tools: Toolset,
    /// Where its events stand.
    pub phase: fn(&str) -> Phase,
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

impl Dialect {
    /// Reads one event.
    pub(crate) fn decode<'a>(
        &self,
        named: Option<&'a str>,
        stdin: &'a [u8],
    ) -> Result<Call<'a>, DecodeError> {
        let event: Event<'a> = serde_json::from_slice(stdin).map_err(malformed)?;
        let name = event
            .hook_event_name
            .or(named.map(Cow::Borrowed))
            .ok_or(DecodeError::MissingField("hook_event_name"))?;
        let phase = (self.phase)(&name);
        let (tool, input, action) = match phase {
            Phase::Before | Phase::Permission | Phase::After => {
                let tool = event.tool_name.ok_or(DecodeError::MissingField("tool_name"))?;
                let input = event.tool_input.ok_or(DecodeError::MissingField("tool_input"))?;
                if !matches!(input, Json::Object(_)) {
                    return Err(DecodeError::WrongField("tool_input"));
                }
                let action = self.tools.action(&tool, &input);
                (tool, input, action)
            }
            Phase::Config => (Cow::Borrowed(""), Json::Null, Action::Configure(event.file_path)),
            Phase::Start | Phase::Other => (Cow::Borrowed(""), Json::Null, Action::Nothing),
        };
        Ok(Call {
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
            ..Call::event(self.host, name, phase)
        })
    }
}

/// Where in an event something stands that cannot be read.
#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
pub(crate) fn malformed(error: serde_json::Error) -> DecodeError {
    DecodeError::Malformed { line: error.line(), column: error.column() }
}

/// One line of JSON. Our own types hold no map with a key that is no string: the only way that writing them could
/// fail. Should it fail all the same, exit 2 blocks.
pub(crate) fn print(answer: &impl Serialize) -> Reply {
    match serde_json::to_string(answer) {
        Ok(json) => Reply::json(json),
        Err(_) => Reply::blocking("toolgate could not write its answer"),
    }
}

/// A denial in every form that some version of a host obeys: its own JSON, exit 2, and the reason on stderr.
pub(crate) fn print_denial(answer: &impl Serialize, message: &str) -> Reply {
    Reply { stdout: print(answer).stdout, ..Reply::blocking(message) }
}

/// The whole input with the verdict's changes in it; `None` where there are none.
pub(crate) fn rewritten<'a>(call: &Call<'a>, verdict: &Verdict) -> Option<Json<'a>> {
    match verdict.rewrites() {
        [] => None,
        rewrites => Some(
            rewrites
                .iter()
                .fold(call.input.clone(), |input, (param, text)| input.with_text(param, text.clone())),
        ),
    }
}

/// What to say where a host cannot change a call, and so has to refuse it.
pub(crate) fn rewrite_hint(verdict: &Verdict) -> Option<String> {
    let (param, text) = verdict.rewrites().first()?;
    Some(format!("this host cannot change a call; give `{param}` as `{text}`"))
}
