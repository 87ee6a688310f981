//! What many past calls have come to: counts, and a few examples of each.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use toolgate_model::{Decision, Host, shorten, visible};
use toolgate_secrets::redact;
use toolgate_transcripts::PastCall;

use super::judge::Judged;
use super::recorded::Then;
use crate::cli::Out;

/// So many of each rule are shown.
pub(super) const EXAMPLES: usize = 3;
/// A call is shown in so many letters.
const LONGEST: usize = 160;

/// How sure a verdict is: today's is the one of then.
pub(super) const SAME: &str = "same as then";
/// The call was judged on the disk as it is today, and that is all that is known: no verdict of then is in the log, or it was another one.
pub(super) const TODAY: &str = "today's disk";
/// Nothing can be said about the call.
pub(super) const NOT: &str = "cannot be judged";

/// Counts over many calls.
#[derive(Debug, Default, Serialize)]
pub(super) struct Tally {
    pub(super) calls: u64,
    pub(super) sessions: u64,
    /// What tells each session from all others.
    #[serde(skip)]
    pub(super) each_session: BTreeSet<u64>,
    pub(super) clients: BTreeMap<&'static str, u64>,
    /// How many calls come from where; one that both hold is a transcript's.
    pub(super) sources: BTreeMap<&'static str, u64>,
    pub(super) grades: BTreeMap<&'static str, u64>,
    /// Calls that are among the grades a second time.
    #[serde(skip)]
    regraded: BTreeMap<&'static str, u64>,
    /// Calls that are decided differently today, by both decisions.
    pub(super) since_then: Groups,
    pub(super) decisions: BTreeMap<&'static str, u64>,
    /// Why calls were not judged.
    pub(super) unjudged: BTreeMap<&'static str, u64>,
    pub(super) unread_lines: u64,
    /// By decision, then by rule.
    pub(super) rules: BTreeMap<&'static str, Groups>,
}

impl Tally {
    /// Compares what is decided today with what was decided then.
    pub(super) fn grade(
        &mut self,
        host: &'static dyn Host,
        call: &PastCall,
        then: Option<Then>,
        today: Option<Decision>,
        examples: usize,
    ) {
        let grade = match (today, then) {
            (None, _) => NOT,
            (Some(today), Some(then)) if today == then.decision && !then.is_approved => SAME,
            (Some(_), _) => TODAY,
        };
        *self.grades.entry(grade).or_default() += 1;
        if let (TODAY, Some(today), Some(then)) = (grade, today, then) {
            self.since_then.note(
                &format!("{} -> {}", then.word(), today.word()),
                host.id(),
                call,
                "",
                examples,
            );
        }
    }

    /// Compares again, where a call was judged by its transcript, and graded without its verdict of then.
    pub(super) fn regrade(
        &mut self,
        host: &'static dyn Host,
        call: &PastCall,
        then: Then,
        today: Option<Decision>,
        examples: usize,
    ) {
        if today.is_some() {
            *self.regraded.entry(TODAY).or_default() += 1;
            self.grade(host, call, Some(then), today, examples);
        }
    }

    /// How many calls have this grade.
    pub(super) fn settle_grades(&mut self) {
        for (grade, again) in std::mem::take(&mut self.regraded) {
            let count = self.grades.entry(grade).or_default();
            *count = count.saturating_sub(again);
        }
    }

    pub(super) fn note(&mut self, host: &'static dyn Host, call: &PastCall, judged: Judged, examples: usize) {
        self.calls += 1;
        *self.clients.entry(host.id()).or_default() += 1;
        let (decision, findings) = match judged {
            Judged::Not(why) => {
                *self.unjudged.entry(why).or_default() += 1;
                return;
            }
            Judged::Decided { decision, findings } => (decision, findings),
        };
        *self.decisions.entry(decision.word()).or_default() += 1;
        if decision == Decision::Allow {
            return;
        }
        let groups = self.rules.entry(decision.word()).or_default();
        let mut named = Vec::new();
        // Each rule once a call, and only those that decided.
        for finding in findings.iter().filter(|finding| finding.decision == decision) {
            if !named.contains(&finding.rule.as_str()) {
                named.push(&finding.rule);
                groups.note(&finding.rule, host.id(), call, &finding.message, examples);
            }
        }
        if named.is_empty() {
            groups.note("not proved", host.id(), call, "", examples);
        }
    }

    pub(super) fn add(&mut self, other: Tally, examples: usize) {
        self.calls += other.calls;
        self.each_session.extend(other.each_session);
        self.unread_lines += other.unread_lines;
        for (own, more) in [
            (&mut self.clients, other.clients),
            (&mut self.sources, other.sources),
            (&mut self.grades, other.grades),
            (&mut self.regraded, other.regraded),
            (&mut self.decisions, other.decisions),
            (&mut self.unjudged, other.unjudged),
        ] {
            for (name, count) in more {
                *own.entry(name).or_default() += count;
            }
        }
        self.since_then.add(other.since_then, examples);
        for (decision, groups) in other.rules {
            self.rules.entry(decision).or_default().add(groups, examples);
        }
    }
}

/// Calls by what they have in common.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(super) struct Groups {
    by_name: BTreeMap<String, Group>,
}

#[derive(Debug, Default, Serialize)]
struct Group {
    count: u64,
    examples: Vec<Example>,
}

/// A call, as it may be shown: no secret is in it.
#[derive(Debug, Serialize)]
struct Example {
    host: &'static str,
    session: String,
    call: String,
    time: Option<String>,
    shown: String,
    reason: String,
}

impl Groups {
    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    pub(super) fn note(
        &mut self,
        name: &str,
        host: &'static str,
        call: &PastCall,
        reason: &str,
        examples: usize,
    ) {
        let group = self.by_name.entry(name.to_owned()).or_default();
        group.count += 1;
        if group.examples.len() < examples {
            group.examples.push(Example {
                host,
                session: call.session.clone(),
                call: call.id.clone(),
                time: call.time.clone(),
                shown: shown(call),
                reason: redact(reason).as_str().to_owned(),
            });
        }
    }

    pub(super) fn add(&mut self, other: Groups, examples: usize) {
        for (name, more) in other.by_name {
            let group = self.by_name.entry(name).or_default();
            group.count += more.count;
            let room = examples.saturating_sub(group.examples.len());
            group.examples.extend(more.examples.into_iter().take(room));
        }
    }

    pub(super) fn print(&self, out: &mut Out, title: &str) -> Result<(), String> {
        out.line(format!("{title}:"))?;
        let mut groups: Vec<(&String, &Group)> = self.by_name.iter().collect();
        groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.count));
        for (name, group) in groups {
            out.line(format!("{:>8}  {name}", group.count))?;
            for example in &group.examples {
                let time =
                    example.time.as_deref().and_then(|time| time.get(..16)).unwrap_or("").replace('T', " ");
                out.line(format!("            {time} {} {}", example.host, example.shown))?;
            }
        }
        Ok(())
    }
}

/// The tool and what of its input says most, without secrets.
pub(in crate::cli) fn shown(call: &PastCall) -> String {
    const SAYS_MOST: [&str; 9] =
        ["command", "cmd", "file_path", "path", "filePath", "notebook_path", "pattern", "query", "url"];
    let told = SAYS_MOST.iter().find_map(|name| call.input.get(*name)?.as_str());
    let told = told.map_or_else(|| call.input.to_string(), str::to_owned);
    let whole = format!("{} {}", call.tool, told);
    // Redacted whole: what is cut first may no longer look like a secret.
    shorten(&visible(redact(&whole).as_str()).replace('\n', " "), LONGEST)
}
