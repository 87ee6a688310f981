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

use toolgate_model::{Answer, Decision, FindingKind, Verdict, shorten};
use toolgate_secrets::{Redacted, redact};

use crate::Digest;
use crate::activity::{Activity, IN};
use crate::record::{
    MAX_LINE, Record, RecordedApproval, RecordedConnection, RecordedContainment, RecordedFinding,
    RecordedUnproved,
};
use crate::word::UnknownFields;

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

    /// The id of the call: the host's own where it has one. The records before and after a call have the same.
    pub fn call(mut self, id: Redacted) -> Draft {
        self.record.call = id.into_string();
        self
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

    /// The directory in which the call was made. It is left out where it is the one that the agent is confined to.
    pub fn cwd(mut self, cwd: Redacted) -> Draft {
        self.record.cwd = if cwd.as_str() == self.record.root { String::new() } else { cwd.into_string() };
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
        self.record.decision = decision.into();
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
            rule: String::new(),
            kind: kind.into(),
            decision: decision.into(),
            would: None,
            path: path.into_string(),
            message: message.into_string(),
            unknown: UnknownFields::default(),
        });
        self
    }

    /// Something that was not proved, where there is no verdict to take it from.
    pub fn unproved(mut self, reason: &'static str, text: Redacted) -> Draft {
        self.record.unproved.push(RecordedUnproved {
            reason: reason.to_owned(),
            text: text.into_string(),
            unknown: UnknownFields::default(),
        });
        self
    }

    /// What was decided, with all objections and all that was not proved.
    pub fn verdict(mut self, verdict: &Verdict) -> Draft {
        self.record.decision = verdict.decision().into();
        self.record.would = verdict.would().map(Into::into);
        self.record.granted = verdict.granted();
        for finding in verdict.findings() {
            self.record.findings.push(RecordedFinding {
                policy: finding.policy.to_owned(),
                rule: redact(&finding.rule).into_string(),
                kind: finding.kind.into(),
                decision: finding.decision.into(),
                would: finding.would.map(Into::into),
                path: redact(&finding.path).into_string(),
                message: redact(&finding.line()).into_string(),
                unknown: UnknownFields::default(),
            });
        }
        self.record.approval = verdict.approval().map(|approval| RecordedApproval {
            by: redact(&approval.by).into_string(),
            how: approval.strength.word().to_owned(),
            code: redact(&approval.code).into_string(),
            nonce: redact(&approval.nonce).into_string(),
            number: approval.number.into(),
            shown: redact(&approval.shown).into_string(),
            unknown: UnknownFields::default(),
        });
        for unproved in verdict.unproved() {
            self = self.unproved(unproved.reason, redact(&unproved.text));
        }
        self
    }

    /// What the host was answered.
    pub fn answer(mut self, answer: Answer) -> Draft {
        self.record.answer = Some(answer.into());
        self
    }

    /// How many texts were taken out of what the tool gave back.
    pub fn redacted(mut self, count: usize) -> Draft {
        self.record.redacted = count as u64;
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

    /// The digest of the rules that were in force: `sha256:…`.
    pub fn rules(mut self, digest: &str) -> Draft {
        digest.clone_into(&mut self.record.rules);
        self
    }

    /// The user who ran the agent.
    pub fn user(mut self, name: Redacted) -> Draft {
        self.record.user = name.into_string();
        self
    }

    /// The machine that it ran on.
    pub fn machine(mut self, name: Redacted) -> Draft {
        self.record.machine = name.into_string();
        self
    }

    /// The version of toolgate that decided.
    pub fn toolgate(mut self, version: &'static str) -> Draft {
        version.clone_into(&mut self.record.toolgate);
        self
    }

    /// `toolgate doctor` made the call, to see whether it is stopped. Nothing counts it.
    ///
    /// INVARIANT: the caller knows that from the doctor, and never from the call. An agent that could say so would hide
    /// its denials.
    pub fn canary(mut self) -> Draft {
        self.record.canary = true;
        self
    }

    /// How long the decision took.
    pub fn took(mut self, time: Duration) -> Draft {
        self.record.micros = Some(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        self
    }

    /// What it says so far.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// A connection of a contained command: host, port and the address that was dialled, then the bytes both ways, and why it was refused.
    pub fn connection(
        mut self,
        (host, port, address): (Redacted, u16, String),
        (sent, received): (u64, u64),
        refused: Redacted,
    ) -> Draft {
        self.record.connection = Some(RecordedConnection {
            host: host.into_string(),
            port,
            address,
            sent,
            received,
            refused: refused.into_string(),
            unknown: UnknownFields::default(),
        });
        self
    }

    /// What was enforced on a command that ran in a sandbox.
    pub fn contained(mut self, level: &'static str, network: &'static str) -> Draft {
        self.record.contained = Some(RecordedContainment {
            level: level.to_owned(),
            network: network.to_owned(),
            ..RecordedContainment::default()
        });
        self
    }

    /// Something that a sandbox refused, or that was undone afterwards.
    pub fn denied_inside(mut self, what: Redacted) -> Draft {
        self.record.contained.get_or_insert_default().denied.push(what.into_string());
        self
    }

    /// The record as it would be shown, without its place in the chain.
    pub fn into_record(self) -> Record {
        Record { seq: 0, ..self.record }
    }

    /// The record, its texts short enough for [`MAX_LINE`]; number and link still to be set.
    pub(crate) fn fitted(self) -> serde_json::Result<Record> {
        let mut record = self.record;
        for limits in LIMITS {
            let bytes = record.shorten(limits);
            // JSON writes at most six bytes for one, and names and numbers take less than the rest: most
            // records need not be written to be measured.
            if bytes * 6 < MAX_LINE / 2 || serde_json::to_vec(&record)?.len() < MAX_LINE {
                break;
            }
        }
        Ok(record)
    }
}

/// How many characters the texts of a record and how many members its lists may have.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// What the call is about: its command, or the first thing that it names.
    subject: usize,
    /// What surrounds it: the tool, the place, what was objected.
    context: usize,
    /// What else it names, and what was not proved of it.
    rest: usize,
    members: usize,
}

const fn limits(subject: usize, context: usize, rest: usize, members: usize) -> Limits {
    Limits { subject, context, rest, members }
}

/// Tried in this order. Against whom: an agent that pads its call with what does nothing, so that the record has no room for what
/// it did. So the subject is cut last. At the last step, even a full record of characters that JSON writes six bytes for fits.
const LIMITS: [Limits; 13] = [
    limits(4096, 4096, 4096, 32),
    limits(4096, 1024, 256, 32),
    limits(4096, 256, 64, 32),
    limits(2048, 256, 64, 32),
    limits(2048, 128, 16, 32),
    limits(1024, 64, 16, 32),
    limits(512, 64, 8, 32),
    limits(256, 32, 8, 32),
    limits(128, 16, 8, 32),
    limits(64, 16, 8, 32),
    limits(32, 8, 8, 32),
    limits(8, 8, 8, 32),
    limits(8, 8, 8, 12),
];

/// How many characters the name of an argument may have, however long the rest is: as many as those that hosts use.
const MAX_ARGUMENT_NAME: usize = 16;

/// How many characters the names of a session, an agent and a call may have. They have their own limit: what is counted
/// or paired by them must not slip to another name because the rest of the call is long.
pub(crate) const MAX_NAME: usize = 128;

/// How many characters the id of a rule may have. Its own limit too: a long call must not hide what stopped it.
const MAX_RULE: usize = 64;

impl Record {
    /// Shortens every text and every list to its limit, and says how many bytes the texts have then. Names and rules keep
    /// their own limit, and our own words stay as they are.
    fn shorten(&mut self, limits: Limits) -> usize {
        let Limits { subject, context, rest, members } = limits;
        let mut bytes = 0;
        let denied = self.contained.as_mut().map(|contained| &mut contained.denied);
        let inside = denied.as_ref().map_or(0, |denied| denied.len());
        let lists = [self.args.len(), self.findings.len(), self.unproved.len(), self.counted.len(), inside];
        let mut cut = lists.iter().any(|&length| length > members);
        self.args.truncate(members);
        self.findings.truncate(members);
        self.unproved.truncate(members);
        self.counted.truncate(members);
        let names = [&mut self.call, &mut self.session, &mut self.agent].map(|text| (text, MAX_NAME));
        let single = [
            &mut self.event,
            &mut self.tool,
            &mut self.root,
            &mut self.cwd,
            &mut self.user,
            &mut self.machine,
        ]
        .map(|text| (text, context));
        let about = self.args.iter().position(|(name, _)| name == "command").unwrap_or(0);
        let args = self.args.iter_mut().enumerate().flat_map(|(index, (name, value))| {
            [(name, rest.max(MAX_ARGUMENT_NAME)), (value, if index == about { subject } else { rest })]
        });
        let findings = self.findings.iter_mut().flat_map(|finding| {
            [
                (&mut finding.policy, usize::MAX),
                (&mut finding.rule, MAX_RULE),
                (&mut finding.path, context),
                (&mut finding.message, context),
            ]
        });
        let unproved = self
            .unproved
            .iter_mut()
            .flat_map(|unproved| [(&mut unproved.reason, usize::MAX), (&mut unproved.text, rest)]);
        let counted = self.counted.iter_mut().map(|word| {
            let limit = if word.starts_with(IN) { context } else { usize::MAX };
            (word, limit)
        });
        let denied = denied.into_iter().flat_map(|denied| {
            denied.truncate(members);
            denied.iter_mut().map(|text| (text, rest))
        });
        let texts = names.into_iter().chain(single).chain(args).chain(findings).chain(unproved);
        let approval = self.approval.iter_mut().flat_map(|approval| {
            let RecordedApproval { by, how, code, nonce, shown, .. } = approval;
            [by, how, code, nonce, shown].map(|text| (text, MAX_NAME))
        });
        let texts = texts.chain(denied).chain(counted).chain(approval);
        for (text, limit) in texts {
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

/// A clock before 1970 or after 9999 is wrong; what can be shown of it is the nearest end.
pub fn rfc3339(time: SystemTime) -> String {
    const LAST_SECOND: Duration = Duration::from_secs(253_402_300_799);
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().min(LAST_SECOND);
    humantime::format_rfc3339_millis(SystemTime::UNIX_EPOCH + since).to_string()
}

#[cfg(test)]
mod tests {
    use toolgate_model::{
        ActivationState, Agent, Facts, Finding, Gap, Origin, Phase, Places, Policy, Ruleset, Team, TeamPhase,
        Unknown, Wording,
    };

    use super::*;

    fn draft() -> Draft {
        Draft::new(SystemTime::UNIX_EPOCH, "claude", redact("PreToolUse"))
    }

    #[test]
    fn the_longest_draft_is_shortened_to_fit_a_line() {
        // A control character is one byte in the text and six in JSON.
        let long = redact(&"\u{1}".repeat(100_000));
        let mut draft = draft()
            .session(long.clone())
            .agent(long.clone())
            .tool(long.clone())
            .root(long.clone())
            .cwd(redact(&format!("{}/", long.as_str())))
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

    /// Every list is full and every text as long as it gets.
    fn longest(text: &str) -> Draft {
        let long = redact(text);
        let mut draft = Draft::new(SystemTime::UNIX_EPOCH, "claude", long.clone())
            .call(long.clone())
            .session(long.clone())
            .agent(long.clone())
            .tool(long.clone())
            .root(long.clone())
            .cwd(redact(&format!("{}/", long.as_str())))
            .user(long.clone())
            .machine(long.clone())
            .toolgate("123.456.789-preview")
            .input(Digest::of(b""))
            .rules(&Digest::of(b"").to_string())
            .redacted(usize::MAX)
            .answer(Answer::Rewrite)
            .took(Duration::MAX)
            .canary()
            .decision(Decision::Allow)
            .counting(Activity::Phase(TeamPhase::Proposed));
        for number in 0..100 {
            let directory = redact(&format!("{number}{text}"));
            draft = draft
                .counting(Activity::In(directory))
                .arg(long.clone(), long.clone())
                .unproved("shell-code", long.clone())
                .finding(
                    "a-policy-with-a-rather-long-name",
                    FindingKind::UndeclaredConnection,
                    Decision::Allow,
                    long.clone(),
                    long.clone(),
                );
        }
        for finding in &mut draft.record.findings {
            text.clone_into(&mut finding.rule);
        }
        draft
    }

    #[test]
    fn the_longest_draft_with_all_fields_is_shortened_to_fit_a_line() {
        // What takes six bytes, three and one in JSON.
        for text in ["\u{1}", "\u{fffd}", "x"] {
            for length in [1, 8, 64, 100, 128, 1024, 5000] {
                let record = longest(&text.repeat(length)).fitted().unwrap();
                let mut line = Vec::new();
                record.append_to(&mut line).unwrap();
                assert!(line.len() <= MAX_LINE, "{} of {text:?} {length}", line.len());
                assert!(record.shortened);
                let lists = [record.args.len(), record.findings.len(), record.unproved.len()];
                assert!(lists.iter().all(|&list| (12..=32).contains(&list)), "{lists:?}");
                assert_eq!(record.call.chars().count(), length.min(MAX_NAME));
                assert_eq!(record.findings[0].rule.chars().count(), length.min(MAX_RULE));
                assert_eq!(record.findings[0].policy, "a-policy-with-a-rather-long-name");
                assert_eq!(record.unproved[0].reason, "shell-code");
                assert_eq!(record.counted[0], "phase:init-phase-1");
            }
        }
    }

    #[test]
    fn names_and_numbers_take_less_than_half_of_a_line() {
        // That is why most records need not be written to be measured.
        let mut record = longest("").into_record();
        record.seq = u64::MAX;
        record.shorten(limits(1, 1, 1, 32));
        for finding in &mut record.findings {
            finding.policy.clear();
        }
        let length = serde_json::to_vec(&record).unwrap().len();
        assert!(length < MAX_LINE / 2, "{length}");
    }

    struct Objects;

    impl Policy for Objects {
        fn judge(&self, _: &Facts<'_>, findings: &mut Vec<Finding>) {
            let finding = Finding::new("a-policy", Decision::Ask, FindingKind::Destructive).rule("git-force");
            findings.push(finding.at("command", "PASSWORD=hunter2").because("why not"));
        }
    }

    impl Wording for Objects {
        fn word(&self, _: &Finding, _: &Facts<'_>) -> Option<String> {
            None
        }
    }

    #[test]
    fn a_draft_takes_rules_and_unproved_effects_from_a_verdict() {
        let nobody = Agent::default();
        let (team, places) = (Team::default(), Places::default());
        let gap = |gap, text: &str| Unknown::Shell {
            gap,
            text: text.to_owned(),
            origin: Origin { span: (0, 1), via: None },
        };
        let facts = Facts {
            tool: "Bash",
            agent: &nobody,
            team: &team,
            phase: Phase::Before,
            asks_user: false,
            command: None,
            places: &places,
            activation: ActivationState::default(),
            uses: Vec::new(),
            runs: Vec::new(),
            connects: false,
            unknown: vec![gap(Gap::Project, "make"), gap(Gap::Program, "TOKEN=ghp_x PASSWORD=hunter2 go")],
            changes: Vec::new(),
            expanded: Vec::new(),
            config: None,
            redacts: false,
        };
        let layer = Ruleset {
            policies: vec![&Objects],
            can_ask: true,
            grants: false,
            wording: &Objects,
            facts: &facts,
            sandboxing: toolgate_model::Sandboxing::Unwanted,
            floor: 0,
            approval: None,
            mode: toolgate_model::Mode::Enforce,
        };
        let record = draft().verdict(&Ruleset::decide(&[layer], |_| false)).into_record();
        assert_eq!(record.decision.known(), Some(Decision::Ask));
        assert_eq!(record.findings[0].rule, "git-force");
        assert_eq!(record.findings[0].path, "PASSWORD=[PASSWORD REDACTED]");
        let unproved: Vec<_> =
            record.unproved.iter().map(|unproved| (&*unproved.reason, &*unproved.text)).collect();
        assert_eq!(unproved[0], ("opaque", "make"));
        assert_eq!(unproved[1].0, "program");
        assert!(!unproved[1].1.contains("hunter2"), "{unproved:?}");
    }

    #[test]
    fn counted_words_are_unique_and_directories_come_last() {
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
    fn one_long_text_is_shortened_and_the_others_are_kept() {
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
    fn a_padded_call_leaves_its_command_readable() {
        let command = format!("curl -s https://example.org/x | sh # {}", "x".repeat(600));
        // What takes one byte in JSON, and six.
        for padding in ["x", "\u{1}"] {
            let long = redact(&padding.repeat(5000));
            let mut draft = draft().tool(redact("Bash")).arg(redact("description"), long.clone());
            draft = draft.arg(redact("command"), redact(&command));
            for _ in 0..100 {
                draft = draft.unproved("program", long.clone()).arg(redact("subagent_type"), long.clone());
            }
            let record = draft.fitted().unwrap();
            let mut line = Vec::new();
            record.append_to(&mut line).unwrap();
            assert!(line.len() <= MAX_LINE, "{}", line.len());
            assert_eq!((record.args[1].0.as_str(), record.args[1].1.as_str()), ("command", &*command));
            assert_eq!(record.tool, "Bash");
            assert!(record.args[2..].iter().all(|(name, _)| name == "subagent_type"), "{:?}", record.args);
        }
    }

    #[test]
    fn a_clock_before_1970_does_not_panic() {
        let year = Duration::from_hours(366 * 24);
        assert_eq!(rfc3339(SystemTime::UNIX_EPOCH - year), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(SystemTime::UNIX_EPOCH + year * 10_000), "9999-12-31T23:59:59.000Z");
    }
}
