//! What of a verdict is counted, and who is told of it.
//!
//! An agent that is denied reads why and tries another way; its user need not know. Only where it does not get on, or where
//! much is denied at once, is the user told; and what concerns secrets or destroys is also written to the team's own log.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use rustix::fs::OFlags;
use toolgate_evidence::{Counted, DENIED, Draft, Ledger, LedgerError, SessionCounts, Tally};
use toolgate_model::{
    Action, Call, Decision, Finding, FindingKind, Phase, Places, Team, TeamPhase, Verdict, shorten,
};
use toolgate_policies::{LimitKind, Settings, Telling};
use toolgate_secrets::{Redacted, redact};

use crate::team::{affirms, agrees, caller, introduction, team_directory};

/// The counts of a call's session. Once they were asked for, no other process changes them before this call is recorded.
pub(crate) struct Books {
    ledger: Ledger,
    session: Option<Redacted>,
    /// Until when to wait for others; `None` for somebody who only looks on.
    deadline: Option<Instant>,
    tally: Option<Tally>,
}

impl Books {
    /// Of a call that will be recorded.
    pub(crate) fn held(state: &Path, call: &Call<'_>, deadline: Instant) -> Books {
        Books { deadline: Some(deadline), ..Books::seen(state, call) }
    }

    /// Of a call that will not.
    pub(crate) fn seen(state: &Path, call: &Call<'_>) -> Books {
        let session = call.session.as_deref().map(redact);
        Books { ledger: Ledger::at(state), session, deadline: None, tally: None }
    }

    /// What was counted so far; `None` for a call without a session.
    pub(crate) fn counts(&mut self) -> Result<Option<SessionCounts>, LedgerError> {
        let Some(session) = &self.session else { return Ok(None) };
        let Some(deadline) = self.deadline else { return Tally::peek(&self.ledger, session).map(Some) };
        let tally = match self.tally.take() {
            Some(tally) => tally,
            None => Tally::open(&self.ledger, session, deadline)?,
        };
        Ok(Some(self.tally.insert(tally).counts().clone()))
    }

    /// What will have been counted with this record.
    fn counts_with(&mut self, draft: &Draft) -> Result<Option<SessionCounts>, LedgerError> {
        self.counts()?;
        self.tally.as_ref().map(|tally| tally.counts_after(draft)).transpose()
    }

    /// Records the call.
    pub(crate) fn append(self, draft: Draft, deadline: Instant) -> Result<(), LedgerError> {
        match self.tally {
            Some(tally) => tally.append(draft, deadline)?,
            None => self.ledger.append(draft, deadline)?,
        };
        Ok(())
    }
}

/// A verdict with all that is counted and told of it.
pub(crate) struct Heard<'h> {
    pub(crate) call: &'h Call<'h>,
    pub(crate) layers: Vec<Settings>,
    pub(crate) places: Places,
    pub(crate) team: Team,
    pub(crate) verdict: Verdict,
    pub(crate) counted: Vec<LimitKind>,
    pub(crate) directories: Vec<PathBuf>,
}

impl Heard<'_> {
    /// The record with what is counted in it, and the verdict with what is told.
    pub(crate) fn told(self, books: &mut Books, draft: Draft) -> Result<(Draft, Verdict), LedgerError> {
        let agent = caller(self.call, &self.team.member);
        let mut draft = draft.agent(agent.clone());
        let mut verdict = self.verdict.clone();
        let mut notices = Vec::new();
        match self.call.phase {
            Phase::Before => {
                if matches!(self.call.action, Action::Question)
                    && self.layers.iter().any(|layer| layer.asks_history(true))
                {
                    draft = draft.counting(Counted::Question);
                }
                for kind in &self.counted {
                    draft = draft.counting(counted(*kind));
                }
                for directory in &self.directories {
                    let directory = redact(&directory.to_string_lossy());
                    let new = books.counts()?.is_some_and(|counts| !counts.knows(&agent, &directory));
                    if new && verdict.decision() == Decision::Allow {
                        notices.push(format!(
                            "{} writes to `{}` for the first time",
                            self.called(),
                            directory.as_str()
                        ));
                    }
                    draft = draft.counting(Counted::In(directory));
                }
            }
            Phase::Prompt => {
                draft = draft.counting(Counted::Prompt);
                let counts = books.counts()?.unwrap_or_default();
                let replies = counts.prompts > 0;
                if replies && self.agrees(agrees) {
                    draft = draft.counting(Counted::Phase(TeamPhase::Agreed));
                }
            }
            Phase::After if matches!(self.call.action, Action::Question) => {
                if self.agrees(affirms) {
                    books.counts()?;
                    draft = draft.counting(Counted::Phase(TeamPhase::Agreed));
                }
                let said = self.call.said.as_deref();
                let spelled =
                    said.and_then(|said| self.layers.iter().find_map(|layer| layer.spelled_out(said)));
                verdict = verdict.saying(spelled);
            }
            Phase::Start => verdict = verdict.telling(introduction(&self.team, &self.layers)),
            Phase::End => {
                let summary = books.counts()?.map(|counts| summary(&counts));
                verdict = verdict.telling(summary);
            }
            Phase::Permission | Phase::Config | Phase::After | Phase::Error | Phase::Other => {}
        }
        let denied = verdict.findings().first().filter(|first| first.decision == Decision::Deny).cloned();
        if let (Some(first), true) = (denied, self.call.phase.stops()) {
            let counts = books.counts_with(&draft)?.unwrap_or_default();
            let (pressing, notice) = self.about_denial(&first, &counts, &agent);
            notices.extend(notice);
            if let Some(pressing) = pressing {
                verdict = verdict.pressing(&pressing);
            }
            self.audit(&agent);
        }
        let notice = (!notices.is_empty()).then(|| redact(&notices.join("\n")).into_string());
        Ok((draft, verdict.noticing(notice)))
    }

    /// What the agent is told besides, and what the user is told.
    fn about_denial(
        &self,
        first: &Finding,
        counts: &SessionCounts,
        agent: &Redacted,
    ) -> (Option<String>, Vec<String>) {
        let Telling { after, retries, burst, .. } = self.telling();
        let turn = counts.denials(agent, first.policy).turn;
        let mut notices = Vec::new();
        // Where the host never says that its user has spoken, nobody knows where a turn ends.
        let given_up = retries > 0 && turn > retries && counts.prompts > 0;
        if first.urgent || (after > 0 && turn == after) || given_up {
            notices.push(format!(
                "\u{26a0}\u{fe0f} {} attempted {} but was blocked: {}. Routing to an alternative.",
                self.called(),
                self.attempt(first),
                first.message().trim_end_matches('.')
            ));
        }
        let denied = counts.recently(agent, DENIED, SystemTime::now());
        if burst > 0 && denied == burst {
            notices.push(format!(
                "\u{26a0}\u{fe0f} {denied} calls of {} were denied within a minute; see `toolgate ledger tail --denied`",
                self.called()
            ));
        }
        let pressing = given_up.then(|| {
            format!("This was denied {turn} times in this turn: do not try it again, and tell the user what you need.")
        });
        (pressing, notices)
    }

    /// The mildest wish of all layers is not to be told: the strictest counts.
    fn telling(&self) -> Telling {
        let least = |one: u32, other: u32| match (one, other) {
            (0, some) | (some, 0) => some,
            (one, other) => one.min(other),
        };
        self.layers
            .iter()
            .map(|layer| layer.telling.clone())
            .reduce(|one, other| Telling {
                after: least(one.after, other.after),
                retries: least(one.retries, other.retries),
                burst: least(one.burst, other.burst),
                new_directories: one.new_directories || other.new_directories,
            })
            .unwrap_or_default()
    }

    /// What to call the agent in a sentence for its user.
    fn called(&self) -> String {
        let agent = caller(self.call, &self.team.member);
        let mut letters = agent.as_str().chars();
        match letters.next() {
            Some(first) => first.to_uppercase().chain(letters).collect(),
            None => "The agent".to_owned(),
        }
    }

    fn attempt(&self, first: &Finding) -> String {
        let what =
            if first.path.is_empty() { String::new() } else { format!(" on {}", shorten(&first.path, 120)) };
        format!("{}{what}", self.call.tool)
    }

    /// Whether the user has just agreed to a team that was proposed.
    fn agrees(&self, agrees: fn(&str) -> bool) -> bool {
        self.team.phase == TeamPhase::Proposed && self.call.said.as_deref().is_some_and(agrees)
    }

    /// Writes a denial that concerns secrets, private data, destruction or another's work to the team's own log. Best effort:
    /// the ledger has it in any case.
    fn audit(&self, agent: &Redacted) {
        let is_grave = |finding: &&Finding| {
            finding.decision == Decision::Deny
                && matches!(
                    finding.kind,
                    FindingKind::Secret
                        | FindingKind::Destructive
                        | FindingKind::Tampering
                        | FindingKind::Coordinator
                        | FindingKind::LockedOut
                        | FindingKind::NotOwner
                )
        };
        if !self.layers.iter().any(|layer| layer.team.audit) {
            return;
        }
        // A command that destroys may also lead out of the worktree, and that be said first.
        let grave = self.verdict.findings().iter().find(is_grave);
        let (Some(grave), Some(team)) = (grave, team_directory(&self.places)) else { return };
        let text = |text: &str| redact(text).into_string();
        let line = serde_json::json!({
            "time": toolgate_evidence::rfc3339(SystemTime::now()),
            "session": text(self.call.session.as_deref().unwrap_or_default()),
            "agent": agent.as_str(),
            "tool": text(&self.call.tool),
            "policy": grave.policy,
            "kind": grave.kind.word(),
            "path": text(&grave.path),
            "reason": text(&grave.message()),
        });
        // A link that somebody put there would make us write elsewhere, and a pipe wait for ever.
        let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default();
        let log = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o644)
            .custom_flags(flags)
            .open(team.join("security-audit.log"));
        if let Ok(mut log) = log {
            let _ = log.write_all(format!("{line}\n").as_bytes());
        }
    }
}

fn counted(kind: LimitKind) -> Counted {
    match kind {
        LimitKind::Call => Counted::Call,
        LimitKind::Read => Counted::Read,
        LimitKind::Write => Counted::Write,
        LimitKind::Run => Counted::Run,
        LimitKind::Connect => Counted::Connect,
    }
}

/// What a session came to, in a sentence.
fn summary(counts: &SessionCounts) -> String {
    format!(
        "toolgate: {} denied, {} question(s) asked, {} prompt(s) in this session",
        counts.denied, counts.asked, counts.prompts
    )
}
