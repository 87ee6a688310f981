//! A call as the log holds it, to be judged again.
//!
//! The log holds what a call named, not what it carried, and no secret. So it says of each call whether that is enough to judge it: a command that
//! is not there to the letter is never judged by what is left of it.

use serde_json::Value;
use toolgate_evidence::{Digest, Record};
use toolgate_hosts::{host, tools_like};
use toolgate_model::{Action, Decision, Host, Json, Phase};
use toolgate_secrets::mark_in;
use toolgate_transcripts::PastCall;

/// What was decided about a call when it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Then {
    pub(super) decision: Decision,
    /// A person let it through.
    pub(super) is_approved: bool,
}

impl Then {
    pub(super) fn word(self) -> &'static str {
        if self.is_approved { "approved" } else { self.decision.word() }
    }
}

/// A call of the log.
pub(super) struct Recorded {
    pub(super) host: &'static dyn Host,
    pub(super) call: PastCall,
    /// The directory that its agent was confined to: there its session began.
    pub(super) start: Option<String>,
    pub(super) then: Then,
    /// Why it cannot be judged by what the log holds.
    pub(super) lacks: Option<&'static str>,
}

impl Recorded {
    /// `None` where the record is not of a call that was about to be made.
    pub(super) fn of(record: Record) -> Option<Recorded> {
        let host = host(&record.host).filter(|_| !record.canary && !record.tool.is_empty())?;
        if host.phase(&record.event) != Phase::Before {
            return None;
        }
        let decision = record.would.as_ref().unwrap_or(&record.decision).known()?;
        let then = Then { decision, is_approved: record.approval.is_some() };
        let lacks = lacks(host, &record);
        let Record { root, cwd, args, session, call: id, tool, time, .. } = record;
        let input = args.into_iter().map(|(name, value)| (name, Value::String(value)));
        let directory = [cwd, root.clone()].into_iter().find(|directory| !directory.is_empty());
        let call = PastCall {
            session,
            id,
            tool,
            input: Value::Object(input.collect()),
            directory,
            time: Some(time),
        };
        Some(Recorded { host, call, start: Some(root).filter(|root| !root.is_empty()), then, lacks })
    }
}

/// What the log does not hold of a call, and it takes to judge it.
fn lacks(host: &dyn Host, record: &Record) -> Option<&'static str> {
    if record.root.is_empty() {
        return Some("the log names no directory");
    }
    if record.findings.iter().any(|finding| finding.policy == "failure") {
        return Some("it could not be judged then");
    }
    if record.shortened {
        return Some("the log holds its text shortened");
    }
    let texts = || record.args.iter().map(|(_, value)| value).chain([&record.root, &record.cwd]);
    if texts().any(|text| mark_in(text, false).is_some()) {
        return Some("the log holds its text without a secret");
    }
    let members = record.args.iter().map(|(name, value)| {
        let value = Json::Text(value.as_str().into());
        (name.as_str().into(), value)
    });
    let input = Json::Object(members.collect());
    // INVARIANT: what has the digest of the input is the input, to the letter.
    let is_whole =
        serde_json::to_vec(&input).is_ok_and(|input| Digest::of(&input).to_string() == record.input);
    if is_whole {
        return None;
    }
    match tools_like(host.id()).action(&record.tool, &input) {
        // Times and limits are left out, and what a write holds: where it goes is there.
        Action::Shell { command: Some(_), .. } => None,
        Action::Files(files) if !files.is_empty() => None,
        Action::Fetch | Action::Internal | Action::Question | Action::Nothing => None,
        Action::Shell { command: None, .. } | Action::Run(_) => Some("the log leaves its command out"),
        Action::Files(_) | Action::Unlisted { .. } | Action::Configure(_) => {
            Some("the log leaves out what it was given")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(tool: &str, args: &Value, more: &Value) -> Record {
        let mut record = serde_json::json!({
            "seq": 1, "time": "2026-11-18T05:00:00.000Z", "host": "claude-code", "event": "PreToolUse", "tool": tool, "root": "/w",
            "args": args, "decision": "allow", "prev": "",
        });
        for (name, value) in more.as_object().unwrap() {
            record[name] = value.clone();
        }
        serde_json::from_value(record).unwrap()
    }

    fn why_not(tool: &str, args: &Value, more: &Value) -> Option<&'static str> {
        Recorded::of(record(tool, args, more)).unwrap().lacks
    }

    #[test]
    fn a_text_that_is_not_there_to_the_letter_is_not_judged() {
        let (nothing, command) = (serde_json::json!({}), serde_json::json!({ "command": "ls" }));
        assert_eq!(why_not("Bash", &command, &nothing), None);
        assert_eq!(why_not("Bash", &nothing, &nothing), Some("the log leaves its command out"));
        let hidden = serde_json::json!({ "command": "PASSWORD=[PASSWORD REDACTED] make" });
        assert_eq!(why_not("Bash", &hidden, &nothing), Some("the log holds its text without a secret"));
        let cut = serde_json::json!({ "shortened": true });
        assert_eq!(why_not("Bash", &command, &cut), Some("the log holds its text shortened"));
        let place = serde_json::json!({ "file_path": "/w/a" });
        assert_eq!(why_not("Write", &place, &nothing), None);
        assert_eq!(why_not("mcp__x__y", &nothing, &nothing), Some("the log leaves out what it was given"));
        let input = Digest::of(b"{}").to_string();
        assert_eq!(why_not("mcp__x__y", &nothing, &serde_json::json!({ "input": input })), None);
    }

    #[test]
    fn only_calls_that_were_about_to_be_made_count() {
        let nothing = serde_json::json!({});
        for more in [
            r#"{"event":"PostToolUse"}"#,
            r#"{"canary":true}"#,
            r#"{"host":"nobody"}"#,
            r#"{"decision":"later"}"#,
        ] {
            let more: Value = serde_json::from_str(more).unwrap();
            assert!(Recorded::of(record("Bash", &nothing, &more)).is_none(), "{more}");
        }
    }
}
