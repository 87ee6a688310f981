//! A draft: what is about to be written to the ledger.
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

use std::time::{Duration, SystemTime};

use toolgate_model::{Decision, FindingKind, Verdict, shorten};
use toolgate_secrets::{Redacted, redact};

use crate::Digest;
use crate::activity::{Activity, IN};
use crate::record::{MAX_LINE, Record, RecordedFinding};

/// A record before it has its place in the chain.
#[derive(Debug, Clone)]
#[must_use]
pub struct Draft {
    record: Record,
}

impl Draft {
    /// A call that nothing is objected to.
    pub fn new(time: SystemTime, host: &'static str, event: Redacted) -> Draft {
        Draft {
            record: Record { host: host.to_owned(), ..Record::blank(rfc3339(time), event.into_string()) },
        }
    }

    /// The host's id of the session.
    pub fn session(mut self, session: Redacted) -> Draft {
        self.record.session = session.into_string();
        self
    }

    /// Who called.
    pub fn agent(mut self, agent: Redacted) -> Draft {
        self.record.agent = agent.into_string();
        self
    }

    /// The tool.
    pub fn tool(mut self, tool: Redacted) -> Draft {
        self.record.tool = tool.into_string();
        self
    }

    /// The directory that the agent was confined to.
    pub fn root(mut self, root: Redacted) -> Draft {
        self.record.root = root.into_string();
        self
    }

    /// One thing that the call named. The value is looked at again with its name: that of a `password` is a
    /// secret whatever it looks like.
    pub fn arg(mut self, name: Redacted, value: Redacted) -> Draft {
        let value = value.named(name.as_str());
        self.record.args.push((name.into_string(), value.into_string()));
        self
    }

    /// What was decided, where there is no verdict to take it from.
    pub fn decision(mut self, decision: Decision) -> Draft {
        self.record.decision = decision;
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
        self.record.findings.push(RecordedFinding {
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
        self.record.decision = verdict.decision();
        self.record.granted = verdict.granted();
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
    pub fn counting(mut self, counted: Activity) -> Draft {
        let is_directory = matches!(counted, Activity::In(_));
        let word = counted.word();
        let words = &mut self.record.counted;
        if !words.iter().any(|known| *known == word) {
            // Directories come last: a list that is too long is cut at its end.
            let others = words.iter().take_while(|known| !known.starts_with(IN)).count();
            words.insert(if is_directory { words.len() } else { others }, word.into_owned());
        }
        self
    }

    /// The digest of the tool's input as it came.
    pub fn input(mut self, digest: Digest) -> Draft {
        self.record.input = digest.to_string();
        self
    }

    /// How long the decision took.
    pub fn took(mut self, time: Duration) -> Draft {
        self.record.micros = Some(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        self
    }

    /// The record as it would be shown, without its place in the chain.
    pub fn into_record(self) -> Record {
        Record { seq: 0, ..self.record }
    }

    /// The record, its texts short enough for [`MAX_LINE`]; number and link still to be set.
    pub(crate) fn fitted(self) -> serde_json::Result<Record> {
        let mut record = self.record;
        for limit in LIMITS {
            let bytes = record.shorten(limit);
            // JSON writes at most six bytes for one, and names and numbers take less than the rest: most
            // records need not be written to be measured.
            if bytes * 6 < MAX_LINE / 2 || serde_json::to_vec(&record)?.len() < MAX_LINE {
                break;
            }
        }
        Ok(record)
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

impl Record {
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

/// A clock that stands before 1970 or after 9999 is wrong; what can be shown of it is the nearest end.
pub fn rfc3339(time: SystemTime) -> String {
    const LAST_SECOND: Duration = Duration::from_secs(253_402_300_799);
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().min(LAST_SECOND);
    humantime::format_rfc3339_millis(SystemTime::UNIX_EPOCH + since).to_string()
}

#[cfg(test)]
mod tests {
    use toolgate_model::TeamPhase;

    use super::*;

    fn draft() -> Draft {
        Draft::new(SystemTime::UNIX_EPOCH, "claude", redact("PreToolUse"))
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
            .counting(Activity::Phase(TeamPhase::Proposed));
        for number in 0..100 {
            let directory = redact(&format!("{number}{}", "\u{1}".repeat(100_000)));
            draft = draft.counting(Activity::In(directory)).arg(long.clone(), long.clone()).finding(
                "a-policy-with-a-rather-long-name",
                FindingKind::GitInternals,
                Decision::Allow,
                long.clone(),
                long.clone(),
            );
        }
        let record = draft.fitted().unwrap();
        let mut line = Vec::new();
        record.append_to(&mut line).unwrap();
        assert!(line.len() <= MAX_LINE, "{}", line.len());
        assert!(record.shortened);
        assert_eq!((record.args.len(), record.findings.len(), record.counted.len()), (32, 32, 32));
        assert_eq!(record.session.chars().count(), MAX_NAME);
        assert_eq!(record.agent.chars().count(), MAX_NAME);
        assert_eq!(record.findings[0].policy, "a-policy-with-a-rather-long-name");
        assert_eq!(record.counted[0], "phase:init-phase-1");
        assert!(record.counted[1].starts_with(IN));
    }

    #[test]
    fn a_word_counts_once_and_directories_come_last() {
        let record = draft()
            .counting(Activity::In(redact("/w/a")))
            .counting(Activity::Call)
            .counting(Activity::In(redact("/w/a")))
            .counting(Activity::Write)
            .counting(Activity::In(redact("PASSWORD=hunter2")))
            .counting(Activity::Call)
            .fitted()
            .unwrap();
        assert_eq!(record.counted, ["call", "write", "in:/w/a", "in:PASSWORD=[PASSWORD REDACTED]"]);
        let json = serde_json::to_string(&record).unwrap();
        assert!(json.contains(r#""granted":false,"counted":["call","write","#), "{json}");
        assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), record);
    }

    #[test]
    fn one_long_text_is_shortened_and_the_others_stay() {
        let record = draft()
            .tool(redact("Bash"))
            .arg(redact("command"), redact(&"x".repeat(10_000)))
            .fitted()
            .unwrap();
        assert!(record.shortened);
        assert_eq!(record.tool, "Bash");
        assert_eq!(record.args[0].1.chars().count(), 4096);
    }

    #[test]
    fn a_wrong_clock_is_no_panic() {
        let year = Duration::from_hours(366 * 24);
        assert_eq!(rfc3339(SystemTime::UNIX_EPOCH - year), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(SystemTime::UNIX_EPOCH + year * 10_000), "9999-12-31T23:59:59.000Z");
    }
}
