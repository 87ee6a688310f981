//! The log as pages are made of it: from the end backwards, so many calls at a time.

use std::path::Path;
use std::time::Duration;

use toolgate_evidence::proof::index::{Query, search_back};
use toolgate_evidence::{Ledger, LedgerError, Record, Records};
use toolgate_watch::{Filter, is_notable};

/// So long is searched for a page; then it offers to go on.
const LONGEST: Duration = Duration::from_secs(2);
/// So many records around one are looked through for what belongs to it.
const AROUND: u64 = 256;

/// Some calls, the newest first.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) calls: Vec<Record>,
    /// How many calls got which verdict, before the filter, among those that were looked at.
    pub(crate) counts: Counts,
    /// Everything before this number was not looked at; `None` at the beginning of the log.
    pub(crate) next: Option<u64>,
    /// Lines that are no records.
    pub(crate) unreadable: u64,
}

/// Calls by their verdict.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) deny: u64,
    pub(crate) ask: u64,
    pub(crate) contain: u64,
    pub(crate) allow: u64,
    pub(crate) other: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, record: &Record) {
        use toolgate_model::Decision::{Allow, Ask, Contain, Deny};
        match record.decision.known() {
            Some(Deny) => self.deny += 1,
            Some(Ask) => self.ask += 1,
            Some(Contain) => self.contain += 1,
            Some(Allow) => self.allow += 1,
            None => self.other += 1,
        }
    }

    pub(crate) fn all(&self) -> u64 {
        self.deny + self.ask + self.contain + self.allow + self.other
    }
}

/// What is looked for.
#[derive(Debug, Default, Clone)]
pub(crate) struct Wanted {
    pub(crate) filter: Filter,
    /// Exactly this session.
    pub(crate) session: Option<String>,
    /// Only records with lower numbers.
    pub(crate) before: Option<u64>,
}

/// Up to `most` calls that are wanted.
pub(crate) fn calls(state: &Path, wanted: &Wanted, most: usize) -> Result<Part, LedgerError> {
    let query = Query {
        session: wanted.session.clone(),
        denied: wanted.filter.is_about_denials(),
        ..Query::default()
    };
    let mut part = Part::default();
    let looked = search_back(state, &query, wanted.before.unwrap_or(u64::MAX), LONGEST, |record| {
        if is_notable(&record) {
            if part.calls.len() == most {
                // This one is the first of the next page.
                part.next = Some(record.seq + 1);
                return false;
            }
            part.counts.add(&record);
            if wanted.filter.wants(&record) {
                part.calls.push(record);
            }
        }
        true
    })?;
    part.unreadable = looked.unreadable;
    part.next = part.next.or(looked.next);
    Ok(part)
}

/// One record, and the others that speak of the same call, the oldest first.
pub(crate) fn record(state: &Path, seq: u64) -> Result<Option<(Record, Vec<Record>)>, LedgerError> {
    let numbers = seq.saturating_sub(AROUND)..=seq.saturating_add(AROUND);
    // A line that is no record is none of these; the pages that list calls say that there is one.
    let mut near: Vec<Record> = Ledger::at(state).range(numbers)?.flatten().collect();
    let Some(at) = near.iter().position(|record| record.seq == seq) else { return Ok(None) };
    let found = near.remove(at);
    let is_same = |other: &Record| {
        !found.call.is_empty()
            && other.call == found.call
            && other.session == found.session
            && other.host == found.host
    };
    near.retain(is_same);
    Ok(Some((found, near)))
}
