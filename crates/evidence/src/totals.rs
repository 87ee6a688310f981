//! Totals of what was decided and why, over any records.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use toolgate_model::{Decision, FindingKind};

use crate::{LedgerError, Record, Records, Word};

/// How many calls were decided how, and how many met which kind of objection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// All calls of agents.
    pub calls: u64,
    /// Calls by decision; the three words that this version knows are always there.
    pub decisions: BTreeMap<Cow<'static, str>, u64>,
    /// Calls that ran because the settings only observe, by what would have been decided.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub observed: BTreeMap<Cow<'static, str>, u64>,
    /// Calls by kind of objection. A call counts once for each kind that it met, however many findings. The
    /// three names that older tools count by are always there.
    pub kinds: BTreeMap<Cow<'static, str>, u64>,
    /// How often `toolgate doctor` tried the gate. Its calls count nowhere else: they are no attacks.
    #[serde(skip_serializing_if = "crate::record::is_zero")]
    pub canaries: u64,
    /// How often a torn end was repaired.
    pub repairs: u64,
}

impl Totals {
    /// Over these records.
    pub fn of<'r>(records: impl IntoIterator<Item = &'r Record>) -> Totals {
        let mut totals = Totals::default();
        for record in records {
            totals.add(record);
        }
        totals
    }

    /// Over all of these records.
    pub fn over(records: &dyn Records) -> Result<Totals, LedgerError> {
        let mut totals = Totals::default();
        for record in records.all()? {
            totals.add(&record?);
        }
        Ok(totals)
    }

    /// One record more.
    pub fn add(&mut self, record: &Record) {
        if record.is_own() {
            self.repairs += 1;
            return;
        }
        if record.canary {
            self.canaries += 1;
            return;
        }
        self.calls += 1;
        *self.decisions.entry(word(&record.decision)).or_default() += 1;
        if let Some(would) = &record.would {
            *self.observed.entry(word(would)).or_default() += 1;
        }
        let names: BTreeSet<_> = record.findings.iter().map(|finding| name(&finding.kind)).collect();
        for name in names {
            *self.kinds.entry(name).or_default() += 1;
        }
    }
}

impl Default for Totals {
    fn default() -> Totals {
        let decisions = [Decision::Allow, Decision::Contain, Decision::Ask, Decision::Deny];
        Totals {
            calls: 0,
            decisions: decisions.map(|decision| (decision.word().into(), 0)).into(),
            observed: BTreeMap::new(),
            kinds: [TRAVERSAL, OUTSIDE, INVALID].map(|name| (name.into(), 0)).into(),
            canaries: 0,
            repairs: 0,
        }
    }
}

fn word(decision: &Word<Decision>) -> Cow<'static, str> {
    match decision.known() {
        Some(decision) => decision.word().into(),
        None => Cow::Owned(decision.as_str().to_owned()),
    }
}

/// Tools that count violations in the logs of older guards know three names, each for one or several kinds. They find
/// these names here, and nowhere else; any other kind is counted by its own word.
const TRAVERSAL: &str = "path_traversal";
const OUTSIDE: &str = "outside_directory";
const INVALID: &str = "invalid_path";

fn name(kind: &Word<FindingKind>) -> Cow<'static, str> {
    match kind.known() {
        Some(FindingKind::Traversal) => TRAVERSAL.into(),
        Some(
            FindingKind::Outside
            | FindingKind::MainCheckout
            | FindingKind::OtherAgent
            | FindingKind::OtherAgentEntered,
        ) => OUTSIDE.into(),
        Some(FindingKind::InvalidPath) => INVALID.into(),
        Some(kind) => kind.word().into(),
        None => Cow::Owned(kind.as_str().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RecordedFinding, UnknownFields};

    fn record(decision: Decision, kinds: &[FindingKind]) -> Record {
        let finding = |kind: &FindingKind| RecordedFinding {
            policy: "p".to_owned(),
            rule: String::new(),
            kind: (*kind).into(),
            decision: decision.into(),
            would: None,
            path: String::new(),
            message: String::new(),
            unknown: UnknownFields::default(),
        };
        Record {
            decision: decision.into(),
            host: "claude".to_owned(),
            findings: kinds.iter().map(finding).collect(),
            ..Record::blank(String::new(), "PreToolUse".to_owned())
        }
    }

    #[test]
    fn a_call_counts_once_for_each_kind_of_finding() {
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
                r#"{"calls":5,"decisions":{"allow":1,"ask":1,"contain":0,"deny":3},"#,
                r#""kinds":{"invalid_path":0,"outside_directory":2,"path_traversal":1,"secret":1,"unproved":1},"#,
                r#""repairs":1}"#
            )
        );
    }

    #[test]
    fn canaries_and_unknown_words_are_counted_separately() {
        let canary = Record { canary: true, ..record(Decision::Deny, &[FindingKind::Outside]) };
        let mut later = record(Decision::Deny, &[FindingKind::Outside]);
        later.decision = serde_json::from_str("\"contain\"").unwrap();
        later.findings[0].kind = serde_json::from_str("\"leak\"").unwrap();
        let totals = Totals::of(&[canary, later, record(Decision::Allow, &[])]);
        assert_eq!(
            serde_json::to_string(&totals).unwrap(),
            concat!(
                r#"{"calls":2,"decisions":{"allow":1,"ask":0,"contain":1,"deny":0},"#,
                r#""kinds":{"invalid_path":0,"leak":1,"outside_directory":0,"path_traversal":0},"#,
                r#""canaries":1,"repairs":0}"#
            )
        );
    }
}
