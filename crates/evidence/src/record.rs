//! A record as it stands in the ledger.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use toolgate_model::{Decision, FindingKind};

use crate::Digest;

/// A line is at most this long, its newline included: a call cannot fill the disk by being long.
pub const MAX_LINE: usize = 16 * 1024;

/// The event of the record that says what a crash left and where it was put.
pub const REPAIR: &str = "ledger-repair";

/// One record of the ledger. Fields that are empty are left out; there is no `null`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its number; the first record has 1, and none is left out.
    pub seq: u64,
    /// When the call came: RFC 3339, UTC, with milliseconds.
    pub time: String,
    /// The host's id.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// The host's name of the event.
    pub event: String,
    /// The host's id of the session.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// Who called.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The tool.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tool: String,
    /// The directory that the agent was confined to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub root: String,
    /// What the call named, in its order; an object in JSON.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "in_order")]
    pub args: Vec<(String, String)>,
    /// What was decided.
    pub decision: Decision,
    /// Whether the gate vouched for the call.
    #[serde(default)]
    pub granted: bool,
    /// All objections, the strictest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<RecordedFinding>,
    /// What the call counts as in its session: the words of [`Activity`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<String>,
    /// The digest of the tool's input: `sha256:…`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub input: String,
    /// How long the decision took, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
    /// Texts were shortened or list members left out, to keep to [`MAX_LINE`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shortened: bool,
    /// The SHA-256 of the line before, without its newline; zeros in the very first line.
    pub prev: String,
}

/// One objection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedFinding {
    /// The policy's id.
    pub policy: String,
    /// What sort of objection it is.
    pub kind: FindingKind,
    /// What it asks for.
    pub decision: Decision,
    /// The path that it is about.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// What the agent was told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl Record {
    /// A record that says nothing yet, with the longest number, so that a length that is checked is the
    /// longest possible.
    pub(crate) fn blank(time: String, event: String) -> Record {
        Record {
            seq: u64::MAX,
            time,
            host: String::new(),
            event,
            session: String::new(),
            agent: String::new(),
            tool: String::new(),
            root: String::new(),
            args: Vec::new(),
            decision: Decision::Allow,
            granted: false,
            findings: Vec::new(),
            counted: Vec::new(),
            input: String::new(),
            micros: None,
            shortened: false,
            prev: Digest::NOTHING.hex(),
        }
    }

    /// Whether this is a record of the ledger about itself, and no call.
    pub fn is_repair(&self) -> bool {
        self.event == REPAIR && self.host.is_empty()
    }

    /// The line, with its newline.
    pub(crate) fn append_to(&self, lines: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(&mut *lines, self)?;
        lines.push(b'\n');
        Ok(())
    }
}

/// What the chain needs of a line. Tells a record from anything else, and also reads those of a later
/// version, whose kinds of findings this one may not know.
#[derive(Deserialize)]
pub(crate) struct Link<'a> {
    pub(crate) seq: u64,
    #[serde(borrow)]
    pub(crate) time: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) prev: Cow<'a, str>,
    #[expect(dead_code, reason = "a record has one; that is all that is asked")]
    event: IgnoredAny,
    #[expect(dead_code, reason = "a record has one; that is all that is asked")]
    decision: IgnoredAny,
}

impl<'a> Link<'a> {
    /// `line` without its newline.
    pub(crate) fn of(line: &'a [u8]) -> Option<Link<'a>> {
        // serde would take a list of the values too.
        if line.first() != Some(&b'{') {
            return None;
        }
        serde_json::from_slice(line).ok()
    }
}

/// Pairs as a JSON object that keeps their order.
mod in_order {
    use std::fmt;

    use serde::de::{MapAccess, Visitor};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        pairs: &[(String, String)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(String, String)>, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Vec<(String, String)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(pairs)
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use toolgate_secrets::redact;

    use super::*;
    use crate::Draft;

    fn draft() -> Draft {
        Draft::new(SystemTime::UNIX_EPOCH, "claude", redact("PreToolUse"))
    }

    #[test]
    fn empty_fields_are_left_out_and_args_keep_their_order() {
        let record = draft()
            .tool(redact("Read"))
            .arg(redact("z"), redact("1"))
            .arg(redact("a"), redact("2"))
            .fitted()
            .unwrap();
        let json = serde_json::to_string(&record).unwrap();
        let zeros = "0".repeat(64);
        assert_eq!(
            json,
            format!(
                r#"{{"seq":18446744073709551615,"time":"1970-01-01T00:00:00.000Z","host":"claude","event":"PreToolUse","tool":"Read","args":{{"z":"1","a":"2"}},"decision":"allow","granted":false,"prev":"{zeros}"}}"#
            )
        );
        assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), record);
    }

    #[test]
    fn a_record_is_told_from_anything_else() {
        assert!(
            Link::of(br#"{"seq":1,"time":"t","event":"e","decision":"allow","prev":"p","new":[1]}"#)
                .is_some()
        );
        for other in [
            "",
            "{}",
            "null",
            r#"{"seq":1,"time":"t","event":"e","decision":"allow"}"#,
            r#"{"seq":-1,"time":"t","event":"e","decision":"allow","prev":"p"}"#,
            r#"{"seq":1,"seq":2,"time":"t","event":"e","decision":"allow","prev":"p"}"#,
            r#"{"seq":1,"time":"t","event":"e","decision":"allow","prev":"p"} "x""#,
            r#"{"seq":1,"time":"t","event":"e","decision":"allow","prev":"p""#,
            r#"[1,"t","p",1,1]"#,
        ] {
            assert!(Link::of(other.as_bytes()).is_none(), "{other}");
        }
    }
}
