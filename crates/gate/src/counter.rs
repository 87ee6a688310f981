//! The counts of a call's session. Once they are read, no other process changes them before this call is recorded.

use std::path::Path;
use std::time::Instant;

use toolgate_evidence::{Draft, Ledger, LedgerError, SessionCounts, Tally};
use toolgate_model::Call;
use toolgate_secrets::{Redacted, redact};

/// What was counted of a session, and the ledger that it is counted from.
pub struct SessionCounter {
    ledger: Ledger,
    session: Option<Redacted>,
    /// Until when to wait for others; `None` for somebody who only looks on.
    deadline: Option<Instant>,
    tally: Option<Tally>,
}

impl SessionCounter {
    /// Of a call that will be recorded.
    pub fn locking(state: &Path, call: &Call<'_>, deadline: Instant) -> SessionCounter {
        SessionCounter { deadline: Some(deadline), ..SessionCounter::looking(state, call) }
    }

    /// Of a call that will not.
    pub fn looking(state: &Path, call: &Call<'_>) -> SessionCounter {
        let session = call.session.as_deref().map(redact);
        SessionCounter { ledger: Ledger::at(state), session, deadline: None, tally: None }
    }

    /// What was counted so far; `None` for a call without a session.
    pub fn counts(&mut self) -> Result<Option<SessionCounts>, LedgerError> {
        let Some(session) = &self.session else { return Ok(None) };
        let Some(deadline) = self.deadline else { return Tally::peek(&self.ledger, session).map(Some) };
        let tally = match self.tally.take() {
            Some(tally) => tally,
            None => Tally::open(&self.ledger, session, deadline)?,
        };
        Ok(Some(self.tally.insert(tally).counts().clone()))
    }

    /// What will have been counted with this record.
    pub fn counts_with(&mut self, draft: &Draft) -> Result<Option<SessionCounts>, LedgerError> {
        self.counts()?;
        self.tally.as_ref().map(|tally| tally.counts_after(draft)).transpose()
    }

    /// Records the call, unless it turns out at the last moment that its answer is not ours to give. Whether it was
    /// recorded.
    pub fn append_unless(
        self,
        draft: Draft,
        deadline: Instant,
        withdrawn: impl Fn() -> bool,
    ) -> Result<bool, LedgerError> {
        let seq = match self.tally {
            Some(tally) => tally.append_unless(draft, deadline, withdrawn)?,
            None => self.ledger.append_unless(draft, deadline, withdrawn)?,
        };
        Ok(seq.is_some())
    }
}
