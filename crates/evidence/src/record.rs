//! A record of the ledger.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use toolgate_model::{Answer, Decision, FindingKind};

use crate::word::{UnknownFields, Word};
use crate::{Digest, in_order};

/// A line is at most this long, its newline included: a call cannot fill the disk by being long.
pub const MAX_LINE: usize = 16 * 1024;

/// The event of the record that says what a crash left and where it was put.
pub const REPAIR: &str = "ledger-repair";

/// The event of the record that names the next key of the checkpoints.
pub const NEXT_KEY: &str = "ledger-key";

/// The event of the record that says which old records were dropped.
pub const PRUNED: &str = "ledger-pruned";

/// The event of the record that says whose text was erased, and by whom.
pub const ERASED: &str = "ledger-erased";

/// The event of what is left of a record whose text was erased.
pub const REST: &str = "ledger-rest";

/// The version of a record's form that this build writes.
///
/// What a later version may do without breaking this one: add a field, and use a new word for a decision, a kind, an
/// answer or a reason. A field never changes its type or its meaning.
pub const VERSION: u32 = 2;

/// One record of the ledger. Fields that are empty are left out; there is no `null`.
///
/// Nothing that a later version wrote gets lost: words are kept as they were written, and so are unknown fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its number; the first record has 1, and none is left out.
    pub seq: u64,
    /// The version of its form. The first one did not write it.
    #[serde(rename = "v", default = "first_version", skip_serializing_if = "is_first_version")]
    pub version: u32,
    /// When the call came: RFC 3339, UTC, with milliseconds.
    pub time: String,
    /// The host's id.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// The host's name of the event.
    pub event: String,
    /// The id of the call: what its records before and after have in common.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub call: String,
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
    /// The directory in which the call was made, where it is another one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cwd: String,
    /// What the call named, in its order; an object in JSON.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "in_order")]
    pub args: Vec<(String, String)>,
    /// What was decided.
    pub decision: Word<Decision>,
    /// What would have been decided, where the settings only observe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would: Option<Word<Decision>>,
    /// Whether the gate vouched for the call.
    #[serde(default)]
    pub granted: bool,
    /// All objections, the strictest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<RecordedFinding>,
    /// What of the call was not proved, whatever was decided about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unproved: Vec<RecordedUnproved>,
    /// What was enforced on it, where it ran in a sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contained: Option<RecordedContainment>,
    /// A connection that a contained command has made, or was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<RecordedConnection>,
    /// The approval by which it could run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<RecordedApproval>,
    /// What the host was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Word<Answer>>,
    /// How many texts were taken out of what the tool gave back.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redacted: u64,
    /// What the call counts as in its session: the words of [`crate::Activity`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<String>,
    /// The digest of the tool's input: `sha256:…`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub input: String,
    /// The digest of the rules that were in force: `sha256:…`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rules: String,
    /// How long the decision took, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
    /// The user who ran the agent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// The machine that it ran on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub machine: String,
    /// The version of toolgate that decided.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub toolgate: String,
    /// The call was made by `toolgate doctor`, to see whether it is stopped. It is no agent's and counts nowhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub canary: bool,
    /// Texts were shortened or list members left out, to keep to [`MAX_LINE`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shortened: bool,
    /// What a later version wrote besides.
    #[serde(flatten)]
    pub unknown: UnknownFields,
    /// The SHA-256 of the line before, without its newline; zeros in the very first line.
    pub prev: String,
}

/// One objection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedFinding {
    /// The policy's id.
    pub policy: String,
    /// The id of the rule behind it; empty where the policy is the rule.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// What sort of objection it is.
    pub kind: Word<FindingKind>,
    /// What it asks for.
    pub decision: Word<Decision>,
    /// What it would ask for, where the settings only observe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would: Option<Word<Decision>>,
    /// The path that it is about.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// What the agent was told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What a later version wrote besides.
    #[serde(flatten)]
    pub unknown: UnknownFields,
}

impl RecordedFinding {
    /// Whether it asks for a denial.
    pub(crate) fn denies(&self) -> bool {
        self.decision.known().is_some_and(Decision::denies)
    }
}

/// What was enforced on a command that ran in a sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedContainment {
    /// The level: `full` or `landlock`; empty where it did not run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub level: String,
    /// What it could reach over the network: `none`, `listed` or `all`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub network: String,
    /// What was refused inside, or undone afterwards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// What a later version wrote besides.
    #[serde(flatten)]
    pub unknown: UnknownFields,
}

/// A connection that a command in a sandbox has made through toolgate, or was refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedConnection {
    /// The name or the address that it went to.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The address that was dialled; empty where none was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub address: String,
    /// How many bytes the command sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sent: u64,
    /// How many bytes it received.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub received: u64,
    /// Why it was refused; empty where it was not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub refused: String,
    /// What a later version wrote besides.
    #[serde(flatten)]
    pub unknown: UnknownFields,
}

/// The approval by which a call could run. This record is its use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedApproval {
    /// Who approved it.
    pub by: String,
    /// How well that is known: `terminal`, which is weak, `touch` or `other-person`.
    pub how: String,
    /// The code by which it was approved.
    pub code: String,
    /// What tells the approval from all others.
    pub nonce: String,
    /// Which use of it this is, from 1; left out where the event took none, since the one before it had.
    #[serde(rename = "use", default, skip_serializing_if = "is_zero")]
    pub number: u64,
    /// The digest of what the person was shown: `sha256:…`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub shown: String,
    /// What a later version wrote besides.
    #[serde(flatten)]
    pub unknown: UnknownFields,
}

/// Something of a call that was not proved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedUnproved {
    /// Why: the word of the gap, as in `[policy.unproved-effect]`.
    pub reason: String,
    /// The words or the tool that cannot be known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What a later version wrote besides.
    #[serde(flatten)]
    pub unknown: UnknownFields,
}

fn first_version() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_first_version(version: &u32) -> bool {
    *version == first_version()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Record {
    /// A record that says nothing yet, with the longest number, so that a length that is checked is the
    /// longest possible.
    pub(crate) fn blank(time: String, event: String) -> Record {
        let nothing = String::new;
        Record {
            seq: u64::MAX,
            version: VERSION,
            time,
            host: nothing(),
            event,
            call: nothing(),
            session: nothing(),
            agent: nothing(),
            tool: nothing(),
            root: nothing(),
            cwd: nothing(),
            args: Vec::new(),
            decision: Decision::Allow.into(),
            would: None,
            granted: false,
            findings: Vec::new(),
            unproved: Vec::new(),
            contained: None,
            connection: None,
            approval: None,
            answer: None,
            redacted: 0,
            counted: Vec::new(),
            input: nothing(),
            rules: nothing(),
            micros: None,
            user: nothing(),
            machine: nothing(),
            toolgate: nothing(),
            canary: false,
            shortened: false,
            unknown: UnknownFields::default(),
            prev: Digest::NOTHING.hex(),
        }
    }

    /// Whether the call was denied. A decision that this version does not know is no denial.
    pub fn is_denied(&self) -> bool {
        self.decision.known().is_some_and(Decision::denies)
    }

    /// Whether this is a record of the ledger about itself, and no call.
    pub fn is_repair(&self) -> bool {
        self.event == REPAIR && self.host.is_empty()
    }

    /// Whether this is a record of the sealer that names the next key, as it makes one each day and at the end of each session.
    pub fn is_next_key(&self) -> bool {
        self.event == NEXT_KEY && self.host.is_empty()
    }

    /// Whether the ledger speaks of itself here: a repair, a key, what was dropped or erased. No host and no person makes such a record.
    pub fn is_own(&self) -> bool {
        self.host.is_empty() && self.event.starts_with(OWN)
    }

    /// The line, with its newline.
    pub(crate) fn append_to(&self, lines: &mut Vec<u8>) -> serde_json::Result<()> {
        lines.extend(serde_json::to_vec(self)?);
        lines.push(b'\n');
        Ok(())
    }
}

/// What the events of the ledger's own records begin with.
const OWN: &str = "ledger-";

/// A record of the ledger about itself; `None` where the line is another one. Looks at the beginning of a line only: own records have
/// no host, so their event comes early.
pub(crate) fn own_record(line: &[u8]) -> Option<Record> {
    const EVENT: &[u8] = br#","event":"ledger-"#;
    const EARLY: usize = 128;
    let start = line.get(..line.len().min(EARLY)).unwrap_or_default();
    let is_likely = start.windows(EVENT.len()).any(|part| part == EVENT);
    let record: Option<Record> = is_likely.then(|| serde_json::from_slice(line).ok()).flatten();
    record.filter(Record::is_own)
}

/// What the chain needs of a line. Distinguishes a record from anything else; a record of a later version is one too.
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use toolgate_secrets::redact;

    use super::*;
    use crate::{Activity, Draft};

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
                r#"{{"seq":18446744073709551615,"v":2,"time":"1970-01-01T00:00:00.000Z","host":"claude","event":"PreToolUse","tool":"Read","args":{{"z":"1","a":"2"}},"decision":"allow","granted":false,"prev":"{zeros}"}}"#
            )
        );
        assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), record);
    }

    #[test]
    fn all_fields_are_written_in_a_fixed_order() {
        let record = draft()
            .toolgate("9.8.7")
            .machine(redact("desk"))
            .user(redact("dev"))
            .rules(&Digest::of(b"rules").to_string())
            .redacted(3)
            .answer(Answer::Deny)
            .unproved("program", redact("frobnicate"))
            .call(redact("toolu_1"))
            .session(redact("s"))
            .agent(redact("ripley"))
            .tool(redact("Bash"))
            .root(redact("/w"))
            .cwd(redact("/w/src"))
            .arg(redact("command"), redact("frobnicate"))
            .decision(Decision::Deny)
            .finding("p", FindingKind::Outside, Decision::Deny, redact("/x"), redact("no"))
            .counting(Activity::Call)
            .input(Digest::of(b"input"))
            .took(Duration::from_micros(7))
            .canary()
            .fitted()
            .unwrap();
        let json = serde_json::to_string(&Record { shortened: true, ..record.clone() }).unwrap();
        assert_eq!(
            json,
            format!(
                concat!(
                    r#"{{"seq":18446744073709551615,"v":2,"time":"1970-01-01T00:00:00.000Z","host":"claude","#,
                    r#""event":"PreToolUse","call":"toolu_1","session":"s","agent":"ripley","tool":"Bash","#,
                    r#""root":"/w","cwd":"/w/src","args":{{"command":"frobnicate"}},"decision":"deny","granted":false,"#,
                    r#""findings":[{{"policy":"p","kind":"outside-scope","decision":"deny","path":"/x","#,
                    r#""message":"no"}}],"unproved":[{{"reason":"program","text":"frobnicate"}}],"#,
                    r#""answer":"deny","redacted":3,"counted":["call"],"input":"{}","rules":"{}","#,
                    r#""micros":7,"user":"dev","machine":"desk","toolgate":"9.8.7","canary":true,"#,
                    r#""shortened":true,"prev":"{}"}}"#
                ),
                Digest::of(b"input"),
                Digest::of(b"rules"),
                Digest::NOTHING.hex(),
            )
        );
    }

    #[test]
    fn a_record_of_the_first_version_is_written_again_unchanged() {
        let line = concat!(
            r#"{"seq":3,"time":"2026-11-15T22:49:13.001Z","host":"claude","event":"PreToolUse","session":"s","#,
            r#""tool":"Read","root":"/w","args":{"file_path":"/x"},"decision":"deny","granted":false,"#,
            r#""findings":[{"policy":"outside-scope","kind":"outside","decision":"deny","path":"/x","#,
            r#""message":"no"}],"counted":["call"],"micros":300,"prev":"p"}"#
        );
        let record: Record = serde_json::from_str(line).unwrap();
        assert_eq!((record.version, record.canary, record.is_denied()), (1, false, true));
        assert_eq!(record.findings[0].kind.known(), Some(FindingKind::Outside));
        assert_eq!(serde_json::to_string(&record).unwrap(), line);
    }

    #[test]
    fn fields_and_words_of_a_later_version_are_kept() {
        let line = concat!(
            r#"{"seq":3,"v":3,"time":"2027-01-01T00:00:00.000Z","event":"PreToolUse","decision":"rehearse","#,
            r#""granted":false,"findings":[{"policy":"p","kind":"leak","decision":"rehearse","score":0.5}],"#,
            r#""unproved":[{"reason":"quantum","text":"x","at":[1,{"a":null}]}],"answer":"rehearse","#,
            r#""signature":{"by":"k","of":[1,2]},"note":null,"prev":"p"}"#
        );
        let record: Record = serde_json::from_str(line).unwrap();
        assert_eq!((record.version, record.decision.known()), (3, None));
        assert_eq!(record.unknown.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["signature", "note"]);
        assert_eq!(serde_json::to_string(&record).unwrap(), line);
    }

    #[test]
    fn only_a_whole_record_is_taken_for_a_link_of_the_chain() {
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
