//! `toolgate why`: a past verdict, explained to the last rule.
//!
//! Three sources, and each part says which it is: the record holds what was decided and what the agent was told; the pages of the policies and
//! rules hold what these mean; the effects are drawn as the call would be judged today, since no record holds them. What the log does not hold
//! of a call is said and never guessed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use toolgate_evidence::proof::index::{Query, search};
use toolgate_evidence::{
    Ending, Ledger, Part, REST, Record, RecordedFinding, RecordedUnproved, Records, Word, last_position,
};
use toolgate_gate::approval::Pending;
use toolgate_gate::options::HookOptions;
use toolgate_hosts::host;
use toolgate_model::{Decision, FindingKind, Phase, visible};
use toolgate_policies::{POLICIES, RulePage, rules};
use toolgate_setup::this_machine;

use super::check::picture;
use super::progress::Shown;
use super::replay::explained_today;
use super::{LineArgs, Out};

/// So many records of one call are named.
const MOST_RELATED: usize = 20;

/// Explain a past verdict: the findings, the effects, the rules, and what would let the call pass
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  toolgate why 1207                   # a record of the log, by its number\n  toolgate why toolu_01AbC            # a call, by its host's id\n  toolgate why 7KQF-2MXD              # a stopped call, by the code in its denial\n\nExit code: 0 explained, 1 there is no such record. The effects are drawn as the call would be judged today."
)]
pub(super) struct Why {
    /// The number of a record, the id of a call, or the code by which a call can be approved
    entry: String,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    line: LineArgs,
}

/// All that is known of one verdict.
#[derive(Serialize)]
struct Account<'a> {
    /// The record, as it is in the log.
    record: &'a Record,
    /// Other records of the same call.
    related: Vec<Related<'a>>,
    objections: Vec<Objection>,
    /// What ran in the sandbox, and what was refused there: of this record, and of those after the call.
    contained: Vec<String>,
    today: Today,
    /// What a person could do about it.
    ways: Vec<String>,
}

#[derive(Serialize)]
struct Related<'a> {
    seq: u64,
    event: &'a str,
    decision: &'a Word<Decision>,
}

/// One objection of then, with what its policy and rule mean.
#[derive(Serialize)]
struct Objection {
    policy: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    rule: String,
    decision: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    path: String,
    message: String,
    /// What the policy is for.
    #[serde(skip_serializing_if = "str::is_empty")]
    about_policy: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    about_rule: Option<AboutRule>,
    /// The command that opens it, or why none does.
    opens: Opens,
}

#[derive(Serialize)]
struct AboutRule {
    pack: &'static str,
    reason: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instead: &'static str,
    example: &'static str,
    default: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Opens {
    /// A person runs this.
    Command(String),
    /// No command does; why, or where it is set.
    No(String),
}

/// What would become of the same call today.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Today {
    /// It was judged again.
    Judged {
        decision: &'static str,
        /// Whether another decision was made then.
        differs: bool,
        /// Whether the rules in force are the same as then; nothing where the record does not name them.
        #[serde(skip_serializing_if = "Option::is_none")]
        same_rules: Option<bool>,
        findings: Vec<TodaysFinding>,
        /// The drawing, in lines.
        drawing: Vec<String>,
    },
    /// Why it cannot be.
    NotJudged(String),
}

#[derive(Serialize)]
struct TodaysFinding {
    policy: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    rule: String,
    decision: &'static str,
    message: String,
}

impl Why {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let options = self.line.options()?;
        let found = Found::of(&options, &self.entry)?;
        let account = found.account(&options, out.colour && !self.json);
        if self.json {
            out.json(&account)?;
        } else {
            account.print(out)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A record, and what else the log has of its call.
struct Found {
    record: Record,
    related: Vec<Record>,
    /// The code under which the call waits now.
    code: Option<String>,
}

impl Found {
    fn of(options: &HookOptions, entry: &str) -> Result<Found, String> {
        let state = &options.dirs.state;
        let record = match entry.trim_start_matches('#').parse::<u64>() {
            // A host may name a call by digits alone.
            Ok(seq) => numbered(state, seq).or_else(|missing| named(options, entry).map_err(|_| missing))?,
            Err(_) => named(options, entry)?,
        };
        let mut related = Vec::new();
        if !record.call.is_empty() && !record.session.is_empty() {
            let query = Query { session: Some(record.session.clone()), ..Query::default() };
            search(state, &query, |other| {
                let is_same = other.call == record.call && other.host == record.host;
                if is_same && other.seq != record.seq {
                    related.push(other);
                }
                related.len() < MOST_RELATED
            })
            .map_err(|error| error.to_string())?;
        }
        let code = if record.input.is_empty() {
            None
        } else {
            let waiting = Pending::all(&this_machine(), &options.dirs).unwrap_or_default();
            let is_it = |pending: &Pending| {
                let subject = &pending.subject;
                (&subject.session, &subject.input) == (&record.session, &record.input)
            };
            waiting.into_iter().find(is_it).map(|pending| pending.code)
        };
        Ok(Found { record, related, code })
    }

    fn account(&self, options: &HookOptions, colour: bool) -> Account<'_> {
        let Found { record, related, code } = self;
        // What is recorded after a call has its input no more than the record before it.
        let decided = std::iter::once(record).chain(related).find(|record| is_before(record));
        let today = match decided {
            Some(decided) => today(options, decided, colour),
            None if record.tool.is_empty() => Today::NotJudged("it is no call of an agent".into()),
            None => Today::NotJudged(
                "the log holds no record of it from before it was made, so there is nothing to judge again"
                    .into(),
            ),
        };
        let objections: Vec<Objection> =
            record.findings.iter().map(|finding| Objection::of(finding, &options.dirs.home)).collect();
        let contained: Vec<String> = std::iter::once(record).chain(related).flat_map(containment).collect();
        let mut ways = Vec::new();
        let stopped = record.would.as_ref().unwrap_or(&record.decision);
        if stopped.known().is_none_or(Decision::objects) {
            for objection in objections.iter().filter(|one| one.decision != "allow") {
                let way = match &objection.opens {
                    Opens::Command(command) => format!("for good: {command}"),
                    Opens::No(why) => why.clone(),
                };
                if !ways.contains(&way) {
                    ways.push(way);
                }
            }
            ways.push(match code {
                Some(code) => format!("this one call: toolgate approve {code}"),
                None => "this one call: it does not wait for an answer now; if the agent makes it again and a person could let it pass, the denial names a code".into(),
            });
        }
        let related = related
            .iter()
            .map(|other| Related { seq: other.seq, event: &other.event, decision: &other.decision })
            .collect();
        Account { record, related, objections, contained, today, ways }
    }
}

fn numbered(state: &Path, seq: u64) -> Result<Record, String> {
    let ledger = Ledger::at(state);
    let mut records = ledger.range(seq..=seq).map_err(|error| error.to_string())?;
    match records.next() {
        Some(Ok(record)) if record.seq == seq => Ok(record),
        Some(Err(error)) => Err(error.to_string()),
        _ => Err(format!("the log has no record {seq}; `toolgate ledger tail` shows the last ones")),
    }
}

/// The last record of a call that has this id, or of the call that this code stands for.
fn named(options: &HookOptions, entry: &str) -> Result<Record, String> {
    let state = &options.dirs.state;
    let code = entry.to_ascii_uppercase();
    let waits = Pending::find(&this_machine(), &options.dirs, entry).map_err(|error| error.to_string())?;
    let mut input = waits.map(|pending| pending.subject.input);
    let (mut of_call, mut approved): (Option<Record>, Option<Record>) = (None, None);
    each_naming(state, &[entry, &code], |record| {
        let named =
            |wanted: &str| record.args.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
        if named("code") == Some(&code) {
            input = input.take().or_else(|| named("input").cloned());
        } else if record.approval.as_ref().is_some_and(|approval| approval.code == code) {
            approved = Some(record);
        } else if record.call == entry && (is_before(&record) || of_call.is_none()) {
            of_call = Some(record);
        }
    })?;
    let input = input.or_else(|| approved.as_ref().map(|record| record.input.clone()));
    let mut stopped = None;
    if let (None, Some(input)) = (&of_call, &input) {
        each_naming(state, &[input], |record| {
            if record.input == *input && is_before(&record) && record.approval.is_none() {
                stopped = Some(record);
            }
        })?;
    }
    of_call.or(stopped).or(approved).ok_or_else(|| {
        format!(
            "the log has no call `{}`; give the number of a record (`seq` in `toolgate ledger tail --json`), the id of a call, or the code in a denial",
            visible(entry)
        )
    })
}

/// Whether it was recorded before the call was made.
fn is_before(record: &Record) -> bool {
    host(&record.host).is_some_and(|host| host.phase(&record.event) == Phase::Before)
}

/// Gives each record whose line holds one of these words.
fn each_naming(state: &Path, words: &[&str], mut each: impl FnMut(Record)) -> Result<(), String> {
    let last = last_position(state).map_err(|error| error.to_string())?.map_or(0, |last| last.seq);
    let progress = Shown::counting("why", "records");
    let ledger = Ledger::at(state);
    let lines = ledger.lines(Part::All).map_err(|error| error.to_string())?;
    for (number, line) in lines.enumerate() {
        let line = line.map_err(|error| error.to_string())?;
        progress.at(number as u64, last);
        let text = std::str::from_utf8(&line.bytes).unwrap_or_default();
        if line.ending == Ending::Whole && words.iter().any(|word| text.contains(word)) {
            // A line that is no record is for `toolgate ledger verify` to tell.
            if let Ok(record) = serde_json::from_slice(&line.bytes) {
                each(record);
            }
        }
    }
    Ok(())
}

impl Objection {
    fn of(finding: &RecordedFinding, home: &Path) -> Objection {
        let policy = POLICIES.iter().find(|policy| policy.id == finding.policy);
        let rule = rules().find(|rule| rule.id == finding.rule);
        let opens = opens(finding, home, rule.as_ref(), policy.is_some_and(|policy| policy.floor));
        Objection {
            policy: finding.policy.clone(),
            rule: finding.rule.clone(),
            decision: finding.would.as_ref().unwrap_or(&finding.decision).to_string(),
            path: finding.path.clone(),
            message: finding.message.clone(),
            about_policy: policy.map_or("", |policy| policy.summary()),
            about_rule: rule.map(|rule| AboutRule {
                pack: rule.pack,
                reason: rule.reason,
                instead: rule.instead,
                example: rule.example,
                default: if rule.floor { "floor" } else { rule.response.word() },
            }),
            opens,
        }
    }
}

/// What opens it: the command that its own message names, or the one for its rule.
fn opens(finding: &RecordedFinding, home: &Path, rule: Option<&RulePage>, is_floor: bool) -> Opens {
    if let Some(command) = told(finding, home) {
        return Opens::Command(command.to_owned());
    }
    match rule {
        Some(rule) if rule.floor => {
            return Opens::No(format!("no setting opens it: the rule `{}` is part of the floor", rule.id));
        }
        Some(rule) => return Opens::Command(format!("toolgate allow rule {}", rule.id)),
        None => {}
    }
    let policy = visible(&finding.policy);
    match finding.kind.known() {
        Some(FindingKind::Failure) => Opens::No("no setting opens it: the call could not be judged".into()),
        Some(FindingKind::Outside) if !finding.path.is_empty() => Opens::Command(format!(
            "toolgate allow read {0}, or toolgate allow write {0}",
            quoted(&finding.path)
        )),
        Some(FindingKind::Rule) => Opens::No(format!(
            "a settings file has the rule{}: `toolgate config show` says which",
            if finding.rule.is_empty() { String::new() } else { format!(" `{}`", visible(&finding.rule)) }
        )),
        _ if is_floor => Opens::No(format!(
            "the policy `{policy}` is part of the floor: `toolgate explain {policy}` says what it leaves to you"
        )),
        _ => Opens::No(format!("set in toolgate.toml: `toolgate explain {policy}` lists the settings")),
    }
}

/// The command that the message of a finding names.
///
/// Against whom: an agent whose path reads like such a command. The message holds the path, so what it names counts only where it opens the rule,
/// the path or the directory around it, and is nothing but plain words.
fn told<'f>(finding: &'f RecordedFinding, home: &Path) -> Option<&'f str> {
    let opens = |command: &str| {
        let mut words = command.strip_prefix("toolgate allow ")?.split(' ');
        let (what, name, None) = (words.next()?, words.next()?, words.next()) else { return None };
        let place = Path::new(&finding.path);
        let is_place = |own: &Path| match name.strip_prefix("~/") {
            Some(below) => own == home.join(below),
            None => own == Path::new(name),
        };
        let is_meant = match what {
            "rule" => !name.is_empty() && name == finding.rule,
            "read" | "write" => is_place(place) || place.parent().is_some_and(is_place),
            _ => false,
        };
        (is_meant && name.chars().all(is_plain)).then_some(())
    };
    finding.message.split('`').find(|part| opens(part).is_some())
}

/// Whether a character is nothing but itself to a shell.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "/._-~+@%=:,".contains(c)
}

/// A text of a record, whose own lines cannot be taken for those around it.
fn shown(text: &str) -> String {
    visible(text).replace('\n', "\n  | ")
}

/// As a word of a shell.
fn quoted(path: &str) -> String {
    let shown = visible(path);
    if shown.chars().all(is_plain) { shown } else { format!("'{}'", shown.replace('\'', r"'\''")) }
}

/// What a record says of the sandbox.
fn containment(record: &Record) -> Vec<String> {
    let Some(contained) = &record.contained else { return Vec::new() };
    let mut said = Vec::new();
    if contained.level.is_empty() {
        said.push(format!("record {}: it did not run in a sandbox", record.seq));
    } else {
        let network = if contained.network.is_empty() { "not recorded" } else { &contained.network };
        said.push(format!("record {}: level {}, network {network}", record.seq, contained.level));
    }
    said.extend(
        contained.denied.iter().map(|denied| format!("record {}: refused inside: {denied}", record.seq)),
    );
    said
}

/// Judges the call of a record again.
fn today(options: &HookOptions, record: &Record, colour: bool) -> Today {
    if record.event == REST {
        return Today::NotJudged("its text was erased on purpose".into());
    }
    if record.canary {
        return Today::NotJudged("`toolgate doctor` made it, and no agent".into());
    }
    let mut options = options.clone();
    // What the registration said of the session, as far as the record holds it.
    if options.session.root.is_none() && !record.root.is_empty() {
        options.session.root = Some(PathBuf::from(&record.root));
    }
    if options.session.agent.is_none() && !record.agent.is_empty() {
        options.session.agent = Some(record.agent.clone());
    }
    let then = record.would.as_ref().unwrap_or(&record.decision).known();
    let judged = explained_today(&options, record.clone(), |call, explanation, surroundings| {
        let verdict = &explanation.verdict;
        let now = verdict.would().unwrap_or(verdict.decision());
        let drawn = picture(call, explanation, Some(&record.root), colour);
        Today::Judged {
            decision: now.word(),
            differs: then != Some(now),
            same_rules: Some(record.rules == surroundings.rules.digest).filter(|_| !record.rules.is_empty()),
            findings: verdict
                .findings()
                .iter()
                .map(|finding| TodaysFinding {
                    policy: finding.policy.to_owned(),
                    rule: finding.rule.to_string(),
                    decision: finding.would.unwrap_or(finding.decision).word(),
                    message: finding.message(),
                })
                .collect(),
            drawing: drawn.lines().map(str::to_owned).collect(),
        }
    });
    judged.unwrap_or_else(|why| Today::NotJudged(why.to_owned()))
}

impl Account<'_> {
    fn print(&self, out: &mut Out) -> Result<(), String> {
        self.print_record(out)?;
        self.print_objections(out)?;
        section(out, "in the sandbox", &self.contained)?;
        self.print_today(out)?;
        section(out, "what would let it pass", &self.ways)
    }

    /// Which call it is, and what was decided.
    fn print_record(&self, out: &mut Out) -> Result<(), String> {
        let record = self.record;
        let by = if record.agent.is_empty() { String::new() } else { format!(" by {}", record.agent) };
        let title = format!(
            "record {}  {}  {} {} {}{by}",
            record.seq, record.time, record.host, record.event, record.tool
        );
        out.line(out.paint("1", shown(&title).trim_end()))?;
        for (name, value) in
            [("session", &record.session), ("root", &record.root), ("directory", &record.cwd)]
        {
            if !value.is_empty() {
                out.line(shown(&format!("{name}: {value}")))?;
            }
        }
        for (name, value) in &record.args {
            out.line(shown(&format!("{name}: {value}")))?;
        }
        if record.shortened {
            out.line("the log holds texts of this call shortened")?;
        }
        for other in &self.related {
            let line = format!("same call: record {} ({}, {})", other.seq, other.event, other.decision);
            out.line(shown(&line))?;
        }
        let would = record.would.as_ref().map(|would| format!(" (only observed, would be {would})"));
        let answer = record.answer.as_ref().map(|answer| format!("; the host was answered: {answer}"));
        let verdict = format!(
            "verdict then: {}{}{}",
            record.decision,
            would.unwrap_or_default(),
            answer.unwrap_or_default()
        );
        let code = match record.decision.known() {
            Some(Decision::Deny) | None => "31",
            Some(Decision::Ask) => "33",
            Some(Decision::Allow | Decision::Contain) => "32",
        };
        out.line(out.paint(code, &shown(&verdict)))?;
        if let Some(approval) = &record.approval {
            let line = format!("approved by {} ({}, code {})", approval.by, approval.how, approval.code);
            out.line(shown(&line))?;
        }
        if record.canary {
            out.line("`toolgate doctor` made this call, to see whether it is stopped")?;
        }
        if record.redacted > 0 {
            out.line(format!("{} secrets were removed from the output", record.redacted))?;
        }
        for RecordedUnproved { reason, text, .. } in &record.unproved {
            out.line(shown(&format!("not proved then: {reason} `{text}`")))?;
        }
        Ok(())
    }

    /// Each objection with its policy and rule.
    fn print_objections(&self, out: &mut Out) -> Result<(), String> {
        heading(out, "objections of then")?;
        if self.objections.is_empty() {
            out.line("  no policy objected")?;
        }
        let mut explained: BTreeSet<(&str, &str)> = BTreeSet::new();
        for one in &self.objections {
            let rule = if one.rule.is_empty() { String::new() } else { format!(": {}", one.rule) };
            // A message ends with the same.
            let tag = format!("[{}{rule}]", one.policy);
            let message = one.message.trim_end().trim_end_matches(&tag).trim_end();
            let line = format!("  {} {tag} {message}", one.decision);
            out.line(visible(&line).replace('\n', " "))?;
            // What many objections have in common is said once.
            if !explained.insert((&one.policy, &one.rule)) {
                continue;
            }
            let summary = if one.about_policy.is_empty() {
                "this version has no such policy".to_owned()
            } else {
                one.about_policy.to_owned()
            };
            out.line(format!("      {}: {summary}", visible(&one.policy)))?;
            if let Some(rule) = &one.about_rule {
                out.line(format!(
                    "      {}: {} (pack {}, default {})",
                    visible(&one.rule),
                    rule.reason,
                    rule.pack,
                    rule.default
                ))?;
                if !rule.instead.is_empty() {
                    out.line(format!("      instead: {}", rule.instead))?;
                }
                out.line(format!("      example: {}", rule.example))?;
            }
        }
        Ok(())
    }

    fn print_today(&self, out: &mut Out) -> Result<(), String> {
        heading(out, "as it would be judged today")?;
        match &self.today {
            Today::NotJudged(why) => out.line(format!("  not judged: {}", visible(why))),
            Today::Judged { decision, differs, same_rules, drawing, .. } => {
                for line in drawing {
                    out.line(line)?;
                }
                let then = self.record.would.as_ref().unwrap_or(&self.record.decision);
                if *differs {
                    let line =
                        format!("today it would be {decision}; then it was {}", visible(&then.to_string()));
                    out.line(out.paint("33", &line))?;
                } else {
                    out.line("the same was decided then")?;
                }
                out.line(match same_rules {
                    Some(true) => "the rules in force are those of then",
                    Some(false) => "the rules in force are not those of then: the settings, the profile or toolgate have changed",
                    None => "the record does not say which rules were in force",
                })
            }
        }
    }
}

fn heading(out: &mut Out, title: &str) -> Result<(), String> {
    out.line("")?;
    out.line(out.paint("1", title))
}

fn section(out: &mut Out, title: &str, lines: &[String]) -> Result<(), String> {
    if lines.is_empty() {
        return Ok(());
    }
    heading(out, title)?;
    lines.iter().try_for_each(|line| out.line(format!("  {}", visible(line).replace('\n', " "))))
}
