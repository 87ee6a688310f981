//! A record: what is read from the ledger, and the draft of what is written to it.
//!
//! Against whom: carelessness. A draft takes the texts of a call only as `Redacted`, so code that would log a
//! secret does not compile:
//!
//! ```compile_fail,E0308
//! # use std::time::SystemTime;
//! let command = String::from("PASSWORD=hunter2 make");
//! toolgate_evidence::Draft::new(SystemTime::now(), "claude", command);
//! ```
//! ```
//! # use std::time::SystemTime;
//! # use toolgate_secrets::redact;
//! let command = String::from("PASSWORD=hunter2 make");
//! toolgate_evidence::Draft::new(SystemTime::now(), "claude", redact(&command));
//! ```

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use toolgate_model::{Decision, FindingKind, TeamPhase, Verdict, shorten};
use toolgate_secrets::{Redacted, redact};

use crate::Digest;

/// A line is at most this long, its newline included: a call cannot fill the disk by being long.
pub const MAX_LINE: usize = 16 * 1024;

/// The event of the record that says what a crash left and where it was put.
pub const REPAIR: &str = "ledger-repair";

/// One record of the ledger. Fields that are empty are left out; there is no `null`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
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
    pub findings: Vec<FindingEntry>,
    /// What the call counts as in its session: the words of [`Counted`].
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
pub struct FindingEntry {
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

/// What a call counts as in its session; see [`crate::SessionCounts`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counted {
    /// `question`: the user was asked.
    Question,
    /// `prompt`: the user spoke, and a turn begins.
    Prompt,
    /// `phase:` and its word: the team's phase was set.
    Phase(TeamPhase),
    /// `read`: something was read.
    Read,
    /// `write`: something was written.
    Write,
    /// `run`: a command was run.
    Run,
    /// `connect`: something was sent or fetched.
    Connect,
    /// `call`: a tool was called.
    Call,
    /// `in:` and the directory: something in it was written.
    In(Redacted),
}

/// What the words begin with that are more than a word.
pub(crate) const PHASE: &str = "phase:";
pub(crate) const IN: &str = "in:";

impl Counted {
    fn word(self) -> Cow<'static, str> {
        match self {
            Counted::Question => "question".into(),
            Counted::Prompt => "prompt".into(),
            Counted::Phase(phase) => format!("{PHASE}{}", phase.word()).into(),
            Counted::Read => "read".into(),
            Counted::Write => "write".into(),
            Counted::Run => "run".into(),
            Counted::Connect => "connect".into(),
            Counted::Call => "call".into(),
            Counted::In(directory) => format!("{IN}{directory}").into(),
        }
    }
}

/// A record before it has its place in the chain.
#[derive(Debug, Clone)]
#[must_use]
pub struct Draft {
    entry: Entry,
}

impl Draft {
    /// A call that nothing is objected to.
    pub fn new(time: SystemTime, host: &'static str, event: Redacted) -> Draft {
        Draft { entry: Entry { host: host.to_owned(), ..Entry::blank(rfc3339(time), event.into_string()) } }
    }

    /// The host's id of the session.
    pub fn session(mut self, session: Redacted) -> Draft {
        self.entry.session = session.into_string();
        self
    }

    /// Who called.
    pub fn agent(mut self, agent: Redacted) -> Draft {
        self.entry.agent = agent.into_string();
        self
    }

    /// The tool.
    pub fn tool(mut self, tool: Redacted) -> Draft {
        self.entry.tool = tool.into_string();
        self
    }

    /// The directory that the agent was confined to.
    pub fn root(mut self, root: Redacted) -> Draft {
        self.entry.root = root.into_string();
        self
    }

    /// One thing that the call named. The value is looked at again with its name: that of a `password` is a
    /// secret whatever it looks like.
    pub fn arg(mut self, name: Redacted, value: Redacted) -> Draft {
        let value = value.named(name.as_str());
        self.entry.args.push((name.into_string(), value.into_string()));
        self
    }

    /// What was decided, where there is no verdict to take it from.
    pub fn decision(mut self, decision: Decision) -> Draft {
        self.entry.decision = decision;
        self
    }

    /// One objection, where there is no verdict to take it from.
    pub fn finding(
        mut self,
        policy: &'static str,
        kind: FindingKind,
        decision: Decision,
        path: Redacted,
        message: Redacted,
    ) -> Draft {
        self.entry.findings.push(FindingEntry {
            policy: policy.to_owned(),
            kind,
            decision,
            path: path.into_string(),
            message: message.into_string(),
        });
        self
    }

    /// What was decided, with all objections.
    pub fn verdict(mut self, verdict: &Verdict) -> Draft {
        self.entry.decision = verdict.decision();
        self.entry.granted = verdict.granted();
        for finding in verdict.findings() {
            self = self.finding(
                finding.policy,
                finding.kind,
                finding.decision,
                redact(&finding.path),
                redact(&finding.message()),
            );
        }
        self
    }

    /// What the call counts as; once, however often it is said.
    pub fn counting(mut self, counted: Counted) -> Draft {
        let is_directory = matches!(counted, Counted::In(_));
        let word = counted.word();
        let words = &mut self.entry.counted;
        if !words.iter().any(|known| *known == word) {
            // Directories come last: a list that is too long is cut at its end.
            let others = words.iter().take_while(|known| !known.starts_with(IN)).count();
            words.insert(if is_directory { words.len() } else { others }, word.into_owned());
        }
        self
    }

    /// The digest of the tool's input as it came.
    pub fn input(mut self, digest: Digest) -> Draft {
        self.entry.input = digest.to_string();
        self
    }

    /// How long the decision took.
    pub fn took(mut self, time: Duration) -> Draft {
        self.entry.micros = Some(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        self
    }

    /// The record as it would be shown, without its place in the chain.
    pub fn into_entry(self) -> Entry {
        Entry { seq: 0, ..self.entry }
    }

    /// The record, its texts short enough for [`MAX_LINE`]; number and link still to be set.
    pub(crate) fn fitted(self) -> serde_json::Result<Entry> {
        let mut entry = self.entry;
        for limit in LIMITS {
            let bytes = entry.shorten(limit);
            // JSON writes at most six bytes for one, and names and numbers take less than the rest: most
            // records need not be written to be measured.
            if bytes * 6 < MAX_LINE / 2 || serde_json::to_vec(&entry)?.len() < MAX_LINE {
                break;
            }
        }
        Ok(entry)
    }
}

/// How many characters a text may have, tried in this order. At the last, even a full record of characters
/// that JSON writes six bytes for fits.
const LIMITS: [usize; 5] = [4096, 1024, 256, 64, 8];

/// How many arguments, findings and counted words are kept.
const MAX_LIST: usize = 32;

/// How many characters the names of a session and of an agent may have. They have their own limit: what is counted
/// by them must not slip to another name because the rest of the call is long.
pub(crate) const MAX_NAME: usize = 128;

impl Entry {
    /// A record that says nothing yet, with the longest number, so that a length that is checked is the
    /// longest possible.
    pub(crate) fn blank(time: String, event: String) -> Entry {
        Entry {
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

    /// Shortens every text to `limit` characters, and says how many bytes they have then. Names keep their own
    /// limit, and our own words stay as they are.
    fn shorten(&mut self, limit: usize) -> usize {
        let mut bytes = 0;
        let mut cut =
            [self.args.len(), self.findings.len(), self.counted.len()].iter().any(|&n| n > MAX_LIST);
        self.args.truncate(MAX_LIST);
        self.findings.truncate(MAX_LIST);
        self.counted.truncate(MAX_LIST);
        let names = [&mut self.session, &mut self.agent].map(|text| (text, MAX_NAME));
        let own = [&mut self.event, &mut self.tool, &mut self.root].map(|text| (text, limit));
        let args = self.args.iter_mut().flat_map(|(name, value)| [(name, limit), (value, limit)]);
        let findings = self.findings.iter_mut().flat_map(|finding| {
            [(&mut finding.policy, usize::MAX), (&mut finding.path, limit), (&mut finding.message, limit)]
        });
        let counted = self.counted.iter_mut().map(|word| {
            let limit = if word.starts_with(IN) { limit } else { usize::MAX };
            (word, limit)
        });
        for (text, limit) in names.into_iter().chain(own).chain(args).chain(findings).chain(counted) {
            // Bytes are never fewer than characters: most texts need no count.
            if text.len() > limit && text.chars().count() > limit {
                *text = shorten(text, limit);
                cut = true;
            }
            bytes += text.len();
        }
        self.shortened |= cut;
        bytes
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

/// A clock that stands before 1970 or after 9999 is wrong; what can be shown of it is the nearest end.
pub fn rfc3339(time: SystemTime) -> String {
    const LAST_SECOND: Duration = Duration::from_secs(253_402_300_799);
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().min(LAST_SECOND);
    humantime::format_rfc3339_millis(SystemTime::UNIX_EPOCH + since).to_string()
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
    use super::*;

    fn draft() -> Draft {
        Draft::new(SystemTime::UNIX_EPOCH, "claude", redact("PreToolUse"))
    }

    #[test]
    fn empty_fields_are_left_out_and_args_keep_their_order() {
        let entry = draft()
            .tool(redact("Read"))
            .arg(redact("z"), redact("1"))
            .arg(redact("a"), redact("2"))
            .fitted()
            .unwrap();
        let json = serde_json::to_string(&entry).unwrap();
        let zeros = "0".repeat(64);
        assert_eq!(
            json,
            format!(
                r#"{{"seq":18446744073709551615,"time":"1970-01-01T00:00:00.000Z","host":"claude","event":"PreToolUse","tool":"Read","args":{{"z":"1","a":"2"}},"decision":"allow","granted":false,"prev":"{zeros}"}}"#
            )
        );
        assert_eq!(serde_json::from_str::<Entry>(&json).unwrap(), entry);
    }

    #[test]
    fn the_longest_draft_fits() {
        // A control character is one byte in the text and six in JSON.
        let long = redact(&"\u{1}".repeat(100_000));
        let mut draft = draft()
            .session(long.clone())
            .agent(long.clone())
            .tool(long.clone())
            .root(long.clone())
            .input(Digest::of(b""))
            .took(Duration::MAX)
            .decision(Decision::Deny)
            .counting(Counted::Phase(TeamPhase::Proposed));
        for number in 0..100 {
            let directory = redact(&format!("{number}{}", "\u{1}".repeat(100_000)));
            draft = draft.counting(Counted::In(directory)).arg(long.clone(), long.clone()).finding(
                "a-policy-with-a-rather-long-name",
                FindingKind::GitInternals,
                Decision::Allow,
                long.clone(),
                long.clone(),
            );
        }
        let entry = draft.fitted().unwrap();
        let mut line = Vec::new();
        entry.append_to(&mut line).unwrap();
        assert!(line.len() <= MAX_LINE, "{}", line.len());
        assert!(entry.shortened);
        assert_eq!((entry.args.len(), entry.findings.len(), entry.counted.len()), (32, 32, 32));
        assert_eq!(entry.session.chars().count(), MAX_NAME);
        assert_eq!(entry.agent.chars().count(), MAX_NAME);
        assert_eq!(entry.findings[0].policy, "a-policy-with-a-rather-long-name");
        assert_eq!(entry.counted[0], "phase:init-phase-1");
        assert!(entry.counted[1].starts_with(IN));
    }

    #[test]
    fn a_word_counts_once_and_directories_come_last() {
        let entry = draft()
            .counting(Counted::In(redact("/w/a")))
            .counting(Counted::Call)
            .counting(Counted::In(redact("/w/a")))
            .counting(Counted::Write)
            .counting(Counted::In(redact("PASSWORD=hunter2")))
            .counting(Counted::Call)
            .fitted()
            .unwrap();
        assert_eq!(entry.counted, ["call", "write", "in:/w/a", "in:PASSWORD=[PASSWORD REDACTED]"]);
        let json = serde_json::to_string(&entry).unwrap();
        assert!(json.contains(r#""granted":false,"counted":["call","write","#), "{json}");
        assert_eq!(serde_json::from_str::<Entry>(&json).unwrap(), entry);
    }

    #[test]
    fn one_long_text_is_shortened_and_the_others_stay() {
        let entry = draft()
            .tool(redact("Bash"))
            .arg(redact("command"), redact(&"x".repeat(10_000)))
            .fitted()
            .unwrap();
        assert!(entry.shortened);
        assert_eq!(entry.tool, "Bash");
        assert_eq!(entry.args[0].1.chars().count(), 4096);
    }

    #[test]
    fn a_wrong_clock_is_no_panic() {
        let year = Duration::from_hours(366 * 24);
        assert_eq!(rfc3339(SystemTime::UNIX_EPOCH - year), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(SystemTime::UNIX_EPOCH + year * 10_000), "9999-12-31T23:59:59.000Z");
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
