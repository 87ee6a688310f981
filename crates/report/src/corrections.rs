//! How agents get on after a denial: whether a call of the same purpose passes later, and no person had to step in.
//!
//! An estimate, made from names: a purpose is the program that a command starts with, or the name of a file. A person steps in by speaking,
//! or by approving a call.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use toolgate_evidence::Record;
use toolgate_hosts::host;
use toolgate_model::{Decision, Phase};

use crate::facts::{OTHERS, RULES};

/// So many denials of one agent wait for a call that passes.
const WAITING: usize = 64;
/// So many agents are watched at once. Where there are more, those whose names come first are given up.
const WATCHED: usize = 4096;

/// Denials, and how many of them their agents got over by themselves.
#[derive(Debug, Default, Serialize)]
pub struct Corrections {
    /// Calls that were denied.
    pub denied: u64,
    /// Those of them whose agents found a way that passes, without a person.
    pub corrected: u64,
    /// By the policy and the rule that denied first.
    by_rule: BTreeMap<String, Counted>,
    #[serde(skip)]
    waiting: BTreeMap<[String; 3], Vec<Denial>>,
}

#[derive(Debug, Default, Serialize)]
struct Counted {
    denied: u64,
    corrected: u64,
}

/// A denial that its agent has not got over yet.
#[derive(Debug)]
struct Denial {
    rule: String,
    purposes: BTreeSet<String>,
}

impl Corrections {
    /// One record more, in the order of the log.
    pub fn add(&mut self, record: &Record) {
        let Some(phase) = host(&record.host).map(|host| host.phase(&record.event)) else { return };
        if record.canary || record.session.is_empty() {
            return;
        }
        let agent = [record.host.clone(), record.session.clone(), record.agent.clone()];
        match phase {
            // The person has spoken: whatever comes now may be what they said, to any agent of the session.
            Phase::Prompt => self
                .waiting
                .retain(|[host, session, _], _| (host, session) != (&record.host, &record.session)),
            Phase::Before => match record.decision.known() {
                Some(Decision::Deny) => self.denied(agent, record),
                Some(Decision::Allow | Decision::Contain) if record.approval.is_none() => {
                    self.passed(&agent, record);
                }
                Some(Decision::Allow | Decision::Contain | Decision::Ask) | None => {}
            },
            Phase::Start
            | Phase::Permission
            | Phase::Config
            | Phase::After
            | Phase::Error
            | Phase::End
            | Phase::Other => {}
        }
    }

    fn denied(&mut self, agent: [String; 3], record: &Record) {
        let finding = record.findings.first();
        let rule = finding.map_or_else(String::new, |finding| match finding.rule.as_str() {
            "" => finding.policy.clone(),
            rule => format!("{}: {rule}", finding.policy),
        });
        // A log that somebody else wrote may name as many as it likes.
        let rule = if self.by_rule.len() >= RULES && !self.by_rule.contains_key(&rule) {
            OTHERS.to_owned()
        } else {
            rule
        };
        self.denied += 1;
        self.by_rule.entry(rule.clone()).or_default().denied += 1;
        while self.waiting.len() >= WATCHED && !self.waiting.contains_key(&agent) {
            self.waiting.pop_first();
        }
        let waiting = self.waiting.entry(agent).or_default();
        if waiting.len() < WAITING {
            waiting.push(Denial { rule, purposes: purposes(record) });
        }
    }

    fn passed(&mut self, agent: &[String; 3], record: &Record) {
        let Some(waiting) = self.waiting.get_mut(agent) else { return };
        let purposes = purposes(record);
        let (mut corrected, by_rule) = (0, &mut self.by_rule);
        waiting.retain(|denial| {
            let is_same = !denial.purposes.is_disjoint(&purposes);
            if is_same {
                corrected += 1;
                by_rule.entry(denial.rule.clone()).or_default().corrected += 1;
            }
            !is_same
        });
        self.corrected += corrected;
    }

    /// Lines for a person; none where nothing was denied.
    pub fn lines(&self) -> Vec<String> {
        if self.denied == 0 {
            return Vec::new();
        }
        let share = |corrected: u64, denied: u64| {
            format!("{corrected} of {denied} ({} %)", corrected * 100 / denied.max(1))
        };
        let mut lines = vec![format!(
            "denials after which the agent found a way that passes, without a person: {}",
            share(self.corrected, self.denied)
        )];
        let mut rules: Vec<(&String, &Counted)> = self.by_rule.iter().collect();
        rules.sort_by_key(|(_, counted)| std::cmp::Reverse(counted.denied));
        lines.extend(
            rules
                .iter()
                .map(|(rule, counted)| format!("{:>18}  {rule}", share(counted.corrected, counted.denied))),
        );
        lines
    }
}

/// What a call is for, as far as its names tell.
fn purposes(record: &Record) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (name, value) in &record.args {
        match name.as_str() {
            "command" | "cmd" => {
                found.extend(program(value).map(|program| format!("runs {program}")));
                found
                    .extend(value.split_whitespace().filter(|word| word.contains('/')).filter_map(file_name));
            }
            "file_path" | "path" | "filePath" | "notebook_path" | "target_file" | "filename" => {
                found.extend(file_name(value));
            }
            _ => {}
        }
    }
    if found.is_empty() {
        found.insert(format!("uses {}", record.tool));
    }
    found
}

/// The first program of a command, past changes of directory and variables.
fn program(command: &str) -> Option<&str> {
    let mut parts = command.split(['\n', ';', '|', '&']).map(str::trim).filter(|part| !part.is_empty());
    let part = parts.find(|part| !part.starts_with("cd "))?;
    let word = part.split_whitespace().find(|word| !word.contains('='))?;
    word.rsplit('/').next()
}

fn file_name(path: &str) -> Option<String> {
    let name = path.trim_matches(['"', '\'']).trim_end_matches('/').rsplit('/').next()?;
    (!name.is_empty()).then(|| format!("file {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(event: &str, tool: &str, args: &serde_json::Value, decision: &str) -> Record {
        let finding =
            serde_json::json!({ "policy": "outside-scope", "kind": "outside-scope", "decision": decision });
        let findings = if decision == "deny" { vec![finding] } else { Vec::new() };
        serde_json::from_value(serde_json::json!({
            "seq": 1, "time": "2026-11-18T05:00:00.000Z", "host": "claude-code", "event": event, "session": "s", "tool": tool,
            "args": args, "decision": decision, "findings": findings, "prev": "",
        }))
        .unwrap()
    }

    fn counted(calls: &[(&str, &str, &str, &str, &str)]) -> (u64, u64) {
        let mut corrections = Corrections::default();
        for (event, tool, name, value, decision) in calls {
            corrections.add(&record(event, tool, &serde_json::json!({ *name: value }), decision));
        }
        assert_eq!(corrections.lines().is_empty(), corrections.denied == 0);
        (corrections.denied, corrections.corrected)
    }

    #[test]
    fn a_denial_is_got_over_by_a_call_of_the_same_purpose_without_a_person() {
        let before = "PreToolUse";
        let denied = (before, "Write", "file_path", "/main/a.rs", "deny");
        let allowed = (before, "Write", "file_path", "/top/a.rs", "allow");
        assert_eq!(counted(&[denied, allowed]), (1, 1));
        assert_eq!(counted(&[denied, denied, allowed, allowed]), (2, 2), "each once");
        assert_eq!(counted(&[allowed, denied]), (1, 0), "what came before is no correction");
        let other = (before, "Write", "file_path", "/top/b.rs", "allow");
        assert_eq!(counted(&[denied, other]), (1, 0), "another file");
        let ran = ("PostToolUse", "Write", "file_path", "/top/a.rs", "allow");
        assert_eq!(counted(&[denied, ran]), (1, 0), "the end of an earlier call");
        let spoken = ("UserPromptSubmit", "", "x", "", "allow");
        assert_eq!(counted(&[denied, spoken, allowed]), (1, 0), "a person has stepped in");
        let asked = (before, "Write", "file_path", "/top/a.rs", "ask");
        assert_eq!(counted(&[denied, asked]), (1, 0), "a person is asked");
        let reset = (before, "Bash", "command", "cd x && git reset --hard", "deny");
        assert_eq!(counted(&[reset, (before, "Bash", "command", "git stash", "allow")]), (1, 1));
        assert_eq!(counted(&[reset, (before, "Bash", "command", "ls", "allow")]), (1, 0));
        let copy = (before, "Bash", "command", "cp a /main/a.rs", "deny");
        assert_eq!(counted(&[copy, allowed]), (1, 1), "the same file by another tool");
    }
}
