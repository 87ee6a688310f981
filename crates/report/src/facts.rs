//! The facts of a report, gathered record by record.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::Serialize;
use toolgate_evidence::{Record, RecordedFinding};
use toolgate_hosts::host;
use toolgate_model::{Decision, Phase, shorten};

use crate::Corrections;

/// So many rows of a kind are kept, the last ones.
const ROWS: usize = 200;
/// So many agents are told apart; those that come later count as one.
const AGENTS: usize = 200;
/// So many sessions of an agent are told apart.
const SESSIONS: usize = 10_000;
/// So many rules are told apart.
pub(crate) const RULES: usize = 1_000;
/// Past so many hours, days are counted instead.
const HOURS: usize = 24 * 31;
/// So much of a command is kept.
const LONGEST: usize = 300;
/// What an agent is called that comes after the last one that is told apart, and a rule likewise.
pub(crate) const OTHERS: &str = "(all others)";

/// What the log says. Its form in JSON is version 1: a later one may add members, and changes none.
#[derive(Debug, Default, Serialize)]
pub struct Facts {
    /// The version of this form.
    pub version: u32,
    /// When the report was made.
    pub made: String,
    /// What was chosen: the names and values of options.
    pub chosen: Vec<(&'static str, String)>,
    /// The times of the first and the last record.
    pub first: String,
    /// The time of the last record.
    pub last: String,
    /// How many records were read.
    pub records: u64,
    /// Whether the log is what was recorded.
    pub proof: Proof,
    /// Calls that were judged.
    pub calls: u64,
    /// Calls by what was decided: `allow`, `contain`, `ask`, `deny`.
    pub decisions: BTreeMap<String, u64>,
    /// Texts that were removed from outputs.
    pub redacted: u64,
    /// Test calls of `toolgate doctor`; they count nowhere else.
    pub canaries: u64,
    /// How agents went on after denials.
    pub corrections: Corrections,
    /// The agents, each in each place.
    pub agents: Vec<AgentFacts>,
    /// Calls and denials by hour, or by day where it is long.
    pub times: BTreeMap<String, (u64, u64)>,
    /// The rules that objected.
    pub rules: Vec<RuleFacts>,
    /// Policies that never did.
    pub silent: Vec<&'static str>,
    /// What was denied.
    pub denied: Kept,
    /// What a person was asked about.
    pub asked: Kept,
    /// What a person approved.
    pub approved: Kept,
    /// What ran in the sandbox.
    pub contained: Kept,
    /// What the sandbox refused.
    pub refused: Kept,
    /// Outputs that secrets were removed from.
    pub cleaned: Kept,
    /// What ran although the rules were against it, since the settings only observe.
    pub observed: Kept,
    /// What persons changed, and what became of registrations.
    pub changes: Kept,
    #[serde(skip)]
    by_agent: BTreeMap<[String; 3], AgentFacts>,
    #[serde(skip)]
    by_rule: BTreeMap<(String, String), RuleFacts>,
    #[serde(skip)]
    sessions: BTreeMap<[String; 3], BTreeSet<String>>,
}

/// Whether the log is what was recorded.
#[derive(Debug, Default, Serialize)]
pub struct Proof {
    /// In one word.
    pub standing: Standing,
    /// Each part: its name, and what was found.
    pub parts: Vec<(&'static str, String)>,
}

/// How sure it is that the log is what was recorded.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// All that was checked is as it should be.
    Good,
    /// Something is wrong.
    Bad,
    /// Something could not be checked, or nobody did.
    #[default]
    CannotTell,
}

/// What an agent did in a place.
#[derive(Debug, Default, Clone, Serialize)]
pub struct AgentFacts {
    /// Its name, empty where its host gives none.
    pub agent: String,
    /// Its host.
    pub host: String,
    /// The directory that it was confined to.
    pub root: String,
    /// How many sessions.
    pub sessions: u64,
    /// How many calls.
    pub calls: u64,
    /// How many of them were denied.
    pub denied: u64,
    /// How many a person was asked about.
    pub asked: u64,
    /// How many ran in the sandbox.
    pub contained: u64,
    /// How many ran by a person's approval.
    pub approved: u64,
    /// Texts that were removed from outputs.
    pub redacted: u64,
    /// The time of its last call.
    pub last: String,
}

/// How often a rule objected.
#[derive(Debug, Default, Clone, Serialize)]
pub struct RuleFacts {
    /// The policy.
    pub policy: String,
    /// The rule; empty where the policy is the rule.
    pub rule: String,
    /// Calls that were denied, and that it objected to.
    pub denied: u64,
    /// Calls that were not denied, and that it objected to.
    pub other: u64,
    /// The number of the last of these records.
    pub last: u64,
}

/// The last rows of a kind, and how many there were.
#[derive(Debug, Default, Serialize)]
pub struct Kept {
    /// All of them.
    pub total: u64,
    /// The last ones, the newest first.
    pub rows: VecDeque<Entry>,
}

/// One record, as it is listed.
#[derive(Debug, Default, Clone, Serialize)]
pub struct Entry {
    /// Its number in the log.
    pub seq: u64,
    /// When it was.
    pub time: String,
    /// The agent, or the host where it has no name.
    pub who: String,
    /// The tool or the event.
    pub tool: String,
    /// What it was about.
    pub what: String,
    /// Why it is listed.
    pub why: String,
    /// The policy and the rule, or who approved it and how.
    pub by: String,
}

impl Kept {
    fn add(&mut self, entry: impl FnOnce() -> Entry) {
        self.total += 1;
        self.rows.push_front(entry());
        self.rows.truncate(ROWS);
    }
}

impl Entry {
    fn of(record: &Record) -> Entry {
        let who = if record.agent.is_empty() { &record.host } else { &record.agent };
        let tool = if record.tool.is_empty() { &record.event } else { &record.tool };
        Entry {
            seq: record.seq,
            time: record.time.clone(),
            who: who.clone(),
            tool: tool.clone(),
            what: about(record),
            ..Entry::default()
        }
    }

    fn found(record: &Record) -> Entry {
        let finding = record.findings.first();
        Entry {
            why: finding.map_or_else(String::new, message),
            by: finding.map_or_else(String::new, named),
            ..Entry::of(record)
        }
    }
}

/// What the agent was told, without the name of the rule at its end, which has a column of its own.
fn message(finding: &RecordedFinding) -> String {
    let name = format!("[{}]", named(finding));
    let message = finding.message.trim_end();
    shorten(message.strip_suffix(&name).unwrap_or(message).trim_end(), LONGEST)
}

/// A policy and its rule, as at the end of a denial.
pub(crate) fn named(finding: &RecordedFinding) -> String {
    if finding.rule.is_empty() {
        finding.policy.clone()
    } else {
        format!("{}: {}", finding.policy, finding.rule)
    }
}

/// What a record is about: a command as it is, or what was named.
fn about(record: &Record) -> String {
    let command = record.args.iter().find(|(name, _)| matches!(name.as_str(), "command" | "cmd"));
    let text = match (command, record.args.as_slice()) {
        (Some((_, command)), _) => command.clone(),
        (None, [(_, only)]) => only.clone(),
        (None, args) => {
            args.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
        }
    };
    shorten(&text, LONGEST)
}

impl Facts {
    /// Nothing yet. `chosen`: the options by which records were chosen, with their values.
    pub fn new(made: String, chosen: Vec<(&'static str, String)>) -> Facts {
        Facts { version: 1, made, chosen, ..Facts::default() }
    }

    /// One record more, in the order of the log.
    pub fn add(&mut self, record: &Record) {
        self.records += 1;
        if self.first.is_empty() {
            self.first.clone_from(&record.time);
        }
        self.last.clone_from(&record.time);
        if record.canary {
            self.canaries += 1;
            return;
        }
        self.corrections.add(record);
        if is_change(record) {
            self.changes.add(|| Entry { by: agreed(record), ..Entry::found(record) });
            return;
        }
        if let Some(contained) = &record.contained
            && let Some(first) = contained.denied.first()
        {
            let more = contained.denied.len() - 1;
            let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
            self.refused.add(|| Entry {
                why: format!("{}{more}", shorten(first, LONGEST)),
                by: format!("level {}", contained.level),
                ..Entry::of(record)
            });
        }
        if record.redacted > 0 {
            self.redacted += record.redacted;
            self.cleaned.add(|| {
                let why = if record.redacted == 1 {
                    "1 text removed".to_owned()
                } else {
                    format!("{} texts removed", record.redacted)
                };
                Entry { why, ..Entry::of(record) }
            });
            self.agent(record).redacted += record.redacted;
        }
        if host(&record.host).is_some_and(|host| host.phase(&record.event) == Phase::Before) {
            self.call(record);
        }
    }

    /// A call that was judged before it ran.
    fn call(&mut self, record: &Record) {
        self.calls += 1;
        let decision = record.decision.known();
        *self.decisions.entry(record.decision.as_str().to_owned()).or_default() += 1;
        let is_denied = record.is_denied();
        self.time(&record.time, is_denied);
        let is_approved = record.approval.as_ref().is_some_and(|approval| approval.number > 0);
        match decision {
            Some(Decision::Deny) => self.denied.add(|| Entry::found(record)),
            Some(Decision::Ask) => self.asked.add(|| Entry::found(record)),
            Some(Decision::Contain) => self.contained.add(|| {
                let unproved = record.unproved.first();
                let why = unproved.map_or_else(String::new, |it| format!("{} ({})", it.text, it.reason));
                Entry { why: shorten(&why, LONGEST), ..Entry::of(record) }
            }),
            Some(Decision::Allow) | None => {}
        }
        if let Some(approval) = &record.approval
            && is_approved
        {
            self.approved.add(|| Entry {
                by: format!("{}, {}", approval.by, strength(&approval.how)),
                why: format!("code {}", approval.code),
                ..Entry::of(record)
            });
        }
        if let Some(would) = &record.would {
            self.observed.add(|| {
                let found = Entry::found(record);
                Entry { why: format!("would be {}: {}", would.as_str(), found.why), ..found }
            });
        }
        for (at, finding) in record.findings.iter().enumerate() {
            // A rule counts once for each call, however many paths it met.
            let is_first = record.findings.iter().take(at).all(|other| named(other) != named(finding));
            if is_first {
                self.rule(finding, record.seq, is_denied);
            }
        }
        let sessions = self.session(record);
        let agent = self.agent(record);
        agent.sessions = sessions;
        agent.calls += 1;
        agent.denied += u64::from(is_denied);
        agent.asked += u64::from(decision == Some(Decision::Ask));
        agent.contained += u64::from(decision == Some(Decision::Contain));
        agent.approved += u64::from(is_approved);
        agent.last.clone_from(&record.time);
    }

    fn rule(&mut self, finding: &RecordedFinding, seq: u64, is_denied: bool) {
        let mut key = (finding.policy.clone(), finding.rule.clone());
        if self.by_rule.len() >= RULES && !self.by_rule.contains_key(&key) {
            key = (OTHERS.to_owned(), String::new());
        }
        let (policy, rule) = key.clone();
        let rule =
            self.by_rule.entry(key).or_insert_with(|| RuleFacts { policy, rule, ..RuleFacts::default() });
        rule.denied += u64::from(is_denied);
        rule.other += u64::from(!is_denied);
        rule.last = seq;
    }

    fn key(&self, record: &Record) -> [String; 3] {
        let key = [record.agent.clone(), record.host.clone(), record.root.clone()];
        if self.by_agent.len() >= AGENTS && !self.by_agent.contains_key(&key) {
            return [OTHERS.to_owned(), String::new(), String::new()];
        }
        key
    }

    fn agent(&mut self, record: &Record) -> &mut AgentFacts {
        let key = self.key(record);
        let [agent, host, root] = key.clone();
        self.by_agent.entry(key).or_insert_with(|| AgentFacts { agent, host, root, ..AgentFacts::default() })
    }

    /// How many sessions the agent of this record has had.
    fn session(&mut self, record: &Record) -> u64 {
        let sessions = self.sessions.entry(self.key(record)).or_default();
        if sessions.len() < SESSIONS {
            sessions.insert(record.session.clone());
        }
        sessions.len() as u64
    }

    fn time(&mut self, time: &str, is_denied: bool) {
        let is_long = self.times.keys().next().is_some_and(|first| first.len() == DAY);
        let length = if is_long { DAY } else { HOUR };
        let counted = self.times.entry(time.get(..length).unwrap_or(time).to_owned()).or_default();
        counted.0 += 1;
        counted.1 += u64::from(is_denied);
        if !is_long && self.times.len() > HOURS {
            let mut days: BTreeMap<String, (u64, u64)> = BTreeMap::new();
            for (hour, (calls, denied)) in std::mem::take(&mut self.times) {
                let day = days.entry(hour.get(..DAY).unwrap_or(&hour).to_owned()).or_default();
                (day.0, day.1) = (day.0 + calls, day.1 + denied);
            }
            self.times = days;
        }
    }

    /// Calls that were decided so.
    pub fn decided(&self, decision: Decision) -> u64 {
        self.decisions.get(decision.word()).copied().unwrap_or_default()
    }

    /// When all records are in. `policies`: all that there are.
    pub fn finish(&mut self, policies: impl Iterator<Item = &'static str>) {
        self.agents = std::mem::take(&mut self.by_agent).into_values().collect();
        self.agents.sort_by_key(|agent| std::cmp::Reverse((agent.denied, agent.calls)));
        let fired: BTreeSet<String> = self.by_rule.keys().map(|(policy, _)| policy.clone()).collect();
        self.silent = policies.filter(|policy| !fired.contains(*policy)).collect();
        self.rules = std::mem::take(&mut self.by_rule).into_values().collect();
        self.rules.sort_by_key(|rule| std::cmp::Reverse((rule.denied, rule.other)));
    }
}

/// The lengths of a day and of an hour in `2026-11-18T05:00:00.000Z`.
const DAY: usize = 10;
const HOUR: usize = 13;

/// Whether a record says what a person changed, or what became of a registration or of the log. That its key goes on is no change.
fn is_change(record: &Record) -> bool {
    let is_config = || host(&record.host).is_some_and(|host| host.phase(&record.event) == Phase::Config);
    (record.is_own() && !record.is_next_key())
        || record.host == "toolgate"
        || record.event.starts_with("security-warning")
        || is_config()
}

/// How well it is known that a person agreed to a change.
fn agreed(record: &Record) -> String {
    let arg = |wanted: &str| record.args.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
    match (arg("approved-by"), arg("how")) {
        (Some(by), Some(how)) => format!("{by}, {}", strength(how)),
        _ => record.findings.first().map_or_else(String::new, named),
    }
}

/// The strength of an approval, with what has to be said of the weakest.
fn strength(how: &str) -> String {
    if how == "terminal" { "terminal (weak)".to_owned() } else { how.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{html, markdown, page};

    /// A call of its own agent, by its own rule, in its own hour.
    fn record(number: u64) -> Record {
        let (day, hour) = (1 + number / 24 % 28, number % 24);
        let month = 1 + number / 24 / 28 % 12;
        serde_json::from_value(serde_json::json!({
            "seq": number, "time": format!("2026-{month:02}-{day:02}T{hour:02}:00:00.000Z"), "host": "claude-code",
            "event": "PreToolUse", "session": format!("s{number}"), "agent": format!("a{number}"), "tool": "Bash", "root": "/w",
            "args": { "command": "x".repeat(2_000) }, "decision": "deny", "prev": "",
            "findings": [{ "policy": "p", "rule": format!("r{number}"), "kind": "outside-scope", "decision": "deny", "message": "m" }],
        }))
        .unwrap()
    }

    #[test]
    fn what_the_log_says_of_itself_is_a_change_unless_its_key_goes_on() {
        let mut facts = Facts::new(String::new(), Vec::new());
        for (seq, event) in [(1, "ledger-key"), (2, "ledger-erased"), (3, "ledger-pruned")] {
            let record = serde_json::json!({ "seq": seq, "time": "", "event": event, "decision": "allow", "prev": "" });
            facts.add(&serde_json::from_value(record).unwrap());
        }
        assert_eq!(facts.changes.total, 2);
    }

    #[test]
    fn a_page_is_bounded_and_says_what_it_leaves_out() {
        const CALLS: u64 = 30_000;
        let mut facts = Facts::new("2026-12-31T00:00:00.000Z".to_owned(), Vec::new());
        for number in 0..CALLS {
            facts.add(&record(number));
        }
        facts.finish(["p", "q"].into_iter());
        assert_eq!((facts.calls, facts.denied.total), (CALLS, CALLS));
        assert_eq!(facts.denied.rows.len(), ROWS);
        assert_eq!(facts.denied.rows.front().unwrap().seq, CALLS - 1, "the newest first");
        assert!(facts.agents.len() == AGENTS + 1 && facts.rules.len() == RULES + 1);
        assert_eq!(facts.agents.iter().map(|agent| agent.calls).sum::<u64>(), CALLS);
        assert_eq!(facts.rules.iter().map(|rule| rule.denied).sum::<u64>(), CALLS);
        assert_eq!(facts.times.values().map(|(calls, _)| calls).sum::<u64>(), CALLS);
        assert!(facts.times.len() <= HOURS && facts.times.keys().all(|day| day.len() == DAY));
        assert_eq!(facts.silent, ["q"]);
        for text in [html(&page(&facts)), markdown(&page(&facts))] {
            assert!(text.len() < 1_000_000, "{}", text.len());
            assert!(text.contains("29,800 earlier ones are left out."), "{text:.2000}");
        }
    }
}
