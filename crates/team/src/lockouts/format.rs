//! The content of a file of lockouts: lines that we write, and whatever others have written there.
//!
//! Promise: what cannot be understood is an error, never a lockout less. Only a last line that breaks off is
//! skipped, since a writer that was killed leaves one.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::MapDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use toolgate_evidence::Digest;
use toolgate_evidence::render::unsafe_in_line;
use toolgate_model::{Lockout, plain_name};

use super::Locked;
use crate::text::is_plain;

/// What one file says.
#[derive(Debug, Clone, Default)]
pub(super) struct Content {
    pub(super) locked: Vec<StatedLockout>,
    pub(super) cleared: Vec<String>,
    /// It is one JSON document, to which no line can be appended.
    pub(super) is_document: bool,
    pub(super) end: FileEnd,
}

/// A lockout, and the id of its statement where that one locks out several.
#[derive(Debug, Clone)]
pub(super) struct StatedLockout {
    pub(super) locked: Locked,
    pub(super) statement_id: Option<String>,
}

/// How the file ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum FileEnd {
    /// With a newline, or it is empty.
    #[default]
    Whole,
    /// With a line that is whole but for its newline.
    Unended,
    /// With half a line, which begins here.
    Torn(usize),
}

impl Content {
    /// Reads a file's text; the number of the line that cannot be read where there is one.
    pub(super) fn of(text: &[u8]) -> Result<Content, usize> {
        let mut content = Content::default();
        let mut is_first = true;
        let mut next = 0;
        for (index, line) in text.split_inclusive(|&byte| byte == b'\n').enumerate() {
            let start = next;
            next += line.len();
            if line.trim_ascii().is_empty() {
                continue;
            }
            if Statement::of(line).and_then(|statement| content.take(statement)).is_some() {
                is_first = false;
                continue;
            }
            if is_first && let Ok(document) = serde_json::from_slice(text) {
                content.is_document = true;
                return content.take_document(document).map(|()| content).ok_or(index + 1);
            }
            // Of an object that breaks off nothing is JSON; what is JSON was written to its end.
            let breaks_off = !line.ends_with(b"\n") && serde_json::from_slice::<IgnoredAny>(line).is_err();
            if !breaks_off {
                return Err(index + 1);
            }
            content.end = FileEnd::Torn(start);
            return Ok(content);
        }
        if text.last().is_some_and(|&byte| byte != b'\n') {
            content.end = FileEnd::Unended;
        }
        Ok(content)
    }

    /// Whether it locks out under this id.
    pub(super) fn holds(&self, id: &str) -> bool {
        self.locked.iter().any(|stated| stated.locked.id == id)
    }

    /// `None`, here and below: it is neither a lockout nor a clear.
    fn take(&mut self, statement: Statement<'_>) -> Option<()> {
        if let Some(ids) = statement.clear {
            self.cleared.extend(ids.into_list());
            return Some(());
        }
        if statement.agent.is_none() && statement.agents.is_none() && statement.locked_agents.is_none() {
            return None;
        }
        let artifacts: Vec<String> =
            [statement.artifact, statement.path, statement.file].into_iter().flatten().collect();
        if artifacts.is_empty() {
            return None;
        }
        let lists =
            [statement.agents, statement.locked_agents].into_iter().flatten().flat_map(Names::into_list);
        let agents: Vec<String> = statement.agent.into_iter().chain(lists).collect();
        let is_sole = artifacts.len() == 1 && agents.len() == 1;
        let text = |shown: &Option<Shown<'_>>| shown.as_ref().map(Shown::text).unwrap_or_default();
        for artifact in &artifacts {
            for agent in &agents {
                let mut locked = Locked {
                    id: text(&statement.id),
                    lockout: lockout(artifact, agent)?,
                    time: text(&statement.time),
                    by: text(&statement.by),
                    reason: text(&statement.reason),
                };
                let mut statement_id = None;
                if locked.id.is_empty() {
                    locked.id = derived_id(&locked, "");
                } else if !is_sole {
                    let own_id = derived_id(&locked, &locked.id);
                    statement_id = Some(std::mem::replace(&mut locked.id, own_id));
                }
                self.locked.push(StatedLockout { locked, statement_id });
            }
        }
        Some(())
    }

    fn take_document(&mut self, document: Document) -> Option<()> {
        document.0.into_iter().try_for_each(|members| self.take_members(members))
    }

    /// One object of a document: a statement as we write it, a list of such, or artifacts with their agents.
    fn take_members(&mut self, members: Members) -> Option<()> {
        let has = |name: &str| members.iter().any(|(key, _)| key == name);
        if STATEMENT_KEYS.into_iter().any(has) {
            return self.take(Statement::of_members(members.into_iter())?);
        }
        if has("lockouts") {
            return members.into_iter().try_for_each(|(key, value)| match value {
                value if key == "lockouts" => self.take_document(Document::deserialize(value).ok()?),
                // A version, a note.
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(()),
                Value::Array(_) | Value::Object(_) => None,
            });
        }
        members.into_iter().try_for_each(|(artifact, value)| {
            let mut statement = match value {
                Value::Object(members) => Statement::of_members(members.into_iter())?,
                agents => {
                    Statement { agents: Some(Names::deserialize(agents).ok()?), ..Statement::default() }
                }
            };
            statement.artifact.get_or_insert(artifact);
            self.take(statement)
        })
    }
}

/// An object with one of these is a statement, and no list of artifacts.
const STATEMENT_KEYS: [&str; 7] = ["artifact", "path", "file", "agent", "agents", "lockedAgents", "clear"];

/// A name that nobody can have would lock out nobody, and a text with a newline in it cannot be shown.
fn lockout(artifact: &str, agent: &str) -> Option<Lockout> {
    let name = plain_name(agent);
    let usable = !name.is_empty() && !artifact.trim().is_empty() && is_plain(artifact) && is_plain(&name);
    usable.then(|| Lockout { artifact: artifact.to_owned(), agent: name })
}

/// The id of a lockout that has none of its own: the same for the same content, wherever it is found.
pub(super) fn derived_id(locked: &Locked, salt: &str) -> String {
    let Locked { lockout: Lockout { artifact, agent }, time, by, reason, .. } = locked;
    // None of these holds a newline.
    let content = [artifact, agent, time, by, reason, salt].join("\n");
    let mut id = Digest::of(content.as_bytes()).hex();
    id.truncate(16);
    id
}

/// Who is locked out, or what is cleared: one line, or an object of a document. What else it holds is the writer's own
/// business.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Statement<'a> {
    #[serde(borrow)]
    id: Option<Shown<'a>>,
    #[serde(borrow)]
    time: Option<Shown<'a>>,
    #[serde(borrow)]
    by: Option<Shown<'a>>,
    #[serde(borrow)]
    reason: Option<Shown<'a>>,
    artifact: Option<String>,
    path: Option<String>,
    file: Option<String>,
    agent: Option<String>,
    agents: Option<Names>,
    #[serde(rename = "lockedAgents")]
    locked_agents: Option<Names>,
    clear: Option<Names>,
}

impl<'a> Statement<'a> {
    fn of(line: &'a [u8]) -> Option<Statement<'a>> {
        // serde would take a list of the values too.
        if line.trim_ascii_start().first() != Some(&b'{') {
            return None;
        }
        serde_json::from_slice(line).ok()
    }

    fn of_members(members: impl Iterator<Item = (String, Value)>) -> Option<Statement<'static>> {
        Statement::deserialize(MapDeserializer::<_, serde_json::Error>::new(members)).ok()
    }
}

/// A text that is only shown. Where it is none, no lockout is lost by it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Shown<'a> {
    Text(#[serde(borrow)] Cow<'a, str>),
    Other(IgnoredAny),
}

impl Shown<'_> {
    fn text(&self) -> String {
        match self {
            Shown::Text(text) if is_plain(text) => text.clone().into_owned(),
            Shown::Text(text) => text.replace(unsafe_in_line, " "),
            Shown::Other(_) => String::new(),
        }
    }
}

/// One name or several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Several(Vec<String>),
}

impl Names {
    fn into_list(self) -> Vec<String> {
        match self {
            Names::One(name) => vec![name],
            Names::Several(names) => names,
        }
    }
}

/// The members of an object, doubles included: after a merge by git, both of them count.
type Members = Vec<(String, Value)>;

/// A whole file: one object or a list of objects.
struct Document(Vec<Members>);

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Document, D::Error> {
        struct Objects;

        impl<'de> Visitor<'de> for Objects {
            type Value = Document;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object or a list of objects")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Document(vec![members]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Document, A::Error> {
                let mut objects = Vec::new();
                while let Some(Document(more)) = list.next_element()? {
                    objects.extend(more);
                }
                Ok(Document(objects))
            }
        }

        deserializer.deserialize_any(Objects)
    }
}
