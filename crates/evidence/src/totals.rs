//! Totals of what was decided and why, over any records.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use toolgate_model::{Decision, FindingKind};

use crate::Record;

/// How many calls were decided how, and how many met which kind of objection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// All calls.
    pub calls: u64,
    /// Calls by decision; the three words are always there.
    pub decisions: BTreeMap<&'static str, u64>,
    /// Calls by kind of objection. A call counts once for each kind that it met, however many findings. The
    /// three names that older tools count by are always there.
    pub kinds: BTreeMap<&'static str, u64>,
    /// How often a torn end was repaired.
    pub repairs: u64,
}

impl Totals {
    /// Over these records.
    pub fn of<'e>(entries: impl IntoIterator<Item = &'e Record>) -> Totals {
        let mut counts = Totals::default();
        for record in entries {
            counts.add(record);
        }
        counts
    }

    /// One record more.
    pub fn add(&mut self, record: &Record) {
        if record.is_repair() {
            self.repairs += 1;
            return;
        }
        self.calls += 1;
        *self.decisions.entry(record.decision.word()).or_default() += 1;
        let names: BTreeSet<_> = record.findings.iter().map(|finding| name(finding.kind)).collect();
        for name in names {
            *self.kinds.entry(name).or_default() += 1;
        }
    }
}

impl Default for Totals {
    fn default() -> Totals {
        let decisions = [Decision::Allow, Decision::Ask, Decision::Deny];
        let kinds = [FindingKind::Traversal, FindingKind::Outside, FindingKind::InvalidPath];
        Totals {
            calls: 0,
            decisions: decisions.map(|decision| (decision.word(), 0)).into(),
            kinds: kinds.map(|kind| (name(kind), 0)).into(),
            repairs: 0,
        }
    }
}

/// Older tools count by three names of their own; whatever they do not know keeps our word.
fn name(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Traversal => "path_traversal",
        FindingKind::Outside
        | FindingKind::MainCheckout
        | FindingKind::OtherAgent
        | FindingKind::OtherAgentEntered => "outside_directory",
        FindingKind::InvalidPath => "invalid_path",
        _ => kind.word(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordedFinding;

    fn record(decision: Decision, kinds: &[FindingKind]) -> Record {
        let finding = |kind: &FindingKind| RecordedFinding {
            policy: "p".to_owned(),
            kind: *kind,
            decision,
            path: String::new(),
            message: String::new(),
        };
        Record {
            decision,
            host: "claude".to_owned(),
            findings: kinds.iter().map(finding).collect(),
            ..Record::blank(String::new(), "PreToolUse".to_owned())
        }
    }

    #[test]
    fn a_call_counts_once_for_each_name() {
        let repair = Record::blank(String::new(), crate::REPAIR.to_owned());
        let counts = Totals::of(&[
            record(Decision::Allow, &[]),
            record(Decision::Deny, &[FindingKind::Outside, FindingKind::MainCheckout, FindingKind::Secret]),
            record(Decision::Deny, &[FindingKind::OtherAgent]),
            record(Decision::Ask, &[FindingKind::Unproved]),
            record(Decision::Deny, &[FindingKind::Traversal]),
            repair,
        ]);
        assert_eq!(
            serde_json::to_string(&counts).unwrap(),
            concat!(
                r#"{"calls":5,"decisions":{"allow":1,"ask":1,"deny":3},"#,
                r#""kinds":{"invalid_path":0,"outside_directory":2,"path_traversal":1,"secret":1,"unproved":1},"#,
                r#""repairs":1}"#
            )
        );
    }
}
