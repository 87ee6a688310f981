//! What is on the screen, and what keys do to it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use toolgate_evidence::Record;
use toolgate_hosts::host;
use toolgate_model::{Decision, Phase};

use crate::{Filter, Key};

/// So many calls are kept, the last ones.
pub(crate) const CALLS: usize = 2_000;
/// So many agents are shown; those that have been still the longest are given up.
pub(crate) const AGENTS: usize = 200;
/// So many denials in a row, and an agent is told to be blocked.
const BLOCKED: u64 = 3;
/// After so many seconds without an event, an agent is idle.
const IDLE: u64 = 60;

/// A call that waits for a person's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// What a person names it by.
    pub code: String,
    /// The host's id of the session.
    pub session: String,
    /// The digest of the tool's input.
    pub input: String,
}

/// What a person wants to be done, by the command that proves that it is a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// To look at a call that waits, and let it through.
    Approve {
        /// Its code.
        code: String,
    },
    /// To refuse a call that waits.
    Reject {
        /// Its code.
        code: String,
        /// Why, for the agent.
        note: String,
    },
    /// To keep an agent from a file.
    LockOut {
        /// The agent.
        agent: String,
        /// The file.
        path: String,
        /// The directory of its team.
        root: String,
        /// Why.
        note: String,
    },
    /// To draw the command of a call.
    Explain {
        /// The number of its record.
        seq: u64,
    },
    /// To stop watching.
    Quit,
}

/// Who an agent is: its name, its host, its place.
pub(crate) type Name = [String; 3];

/// What an agent is about.
#[derive(Debug, Default, Clone)]
pub(crate) struct Agent {
    /// When it was heard of last, in seconds since 1970.
    pub(crate) heard: u64,
    pub(crate) calls: u64,
    pub(crate) denied: u64,
    /// Denials since the last call that passed.
    pub(crate) in_a_row: u64,
    pub(crate) session: String,
    /// Its last call was asked about, and nothing has come since.
    pub(crate) is_asked: bool,
    pub(crate) last: String,
}

/// What an agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    /// Its last call waits for a person.
    Waits,
    /// It was denied several times in a row.
    Blocked,
    /// It was heard of lately.
    Works,
    /// It was not.
    Idle,
}

/// An agent, as it is shown.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'w> {
    /// Its name, which may be empty.
    pub agent: &'w str,
    /// Its host.
    pub host: &'w str,
    /// The directory that it is confined to.
    pub root: &'w str,
    /// The host's id of its session.
    pub session: &'w str,
    /// What it does.
    pub doing: Doing,
    /// When it was heard of last, in seconds since 1970.
    pub heard: u64,
    /// How many calls it made.
    pub calls: u64,
    /// How many of them were denied.
    pub denied: u64,
    /// Its last call.
    pub last: &'w str,
}

/// What is typed at the bottom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Typing {
    Filter,
    /// A note, for the wish that it completes.
    Note(Wish),
}

/// Everything that is shown.
#[derive(Debug, Default)]
pub struct Watch {
    pub(crate) calls: VecDeque<Record>,
    pub(crate) agents: BTreeMap<Name, Agent>,
    pub(crate) counts: BTreeMap<&'static str, u64>,
    pub(crate) waiting: Vec<Waiting>,
    pub(crate) filter: Filter,
    pub(crate) muted: BTreeSet<Name>,
    /// The number of the selected record; the last one where there is none.
    pub(crate) selected: Option<u64>,
    pub(crate) typing: Option<(Typing, String)>,
    pub(crate) shows_details: bool,
    pub(crate) shows_help: bool,
    /// How the command of a record was drawn.
    pub(crate) drawn: Option<(u64, String)>,
    /// What became of the last wish.
    pub(crate) notice: String,
    /// The time, in seconds since 1970.
    pub(crate) now: u64,
}

impl Watch {
    /// Nothing yet; what comes is shown if this filter wants it.
    pub fn showing(filter: Filter) -> Watch {
        Watch { filter, ..Watch::default() }
    }

    /// One record more, in the order of the log. `at`: when it was made, in seconds since 1970.
    pub fn add(&mut self, record: Record, at: u64) {
        let phase = host(&record.host).map(|host| host.phase(&record.event));
        if record.canary || record.is_own() {
            return;
        }
        if phase.is_some() {
            self.hear(&record, phase, at);
        }
        if is_notable(&record) {
            if phase == Some(Phase::Before) {
                *self.counts.entry(word(&record)).or_default() += 1;
            }
            self.calls.push_back(record);
            if self.calls.len() > CALLS {
                self.calls.pop_front();
            }
        }
    }

    fn hear(&mut self, record: &Record, phase: Option<Phase>, at: u64) {
        let name = name(record);
        if self.agents.len() >= AGENTS && !self.agents.contains_key(&name) {
            let oldest =
                self.agents.iter().min_by_key(|(_, agent)| agent.heard).map(|(name, _)| name.clone());
            oldest.map(|name| self.agents.remove(&name));
        }
        let agent = self.agents.entry(name).or_default();
        agent.heard = agent.heard.max(at);
        agent.session.clone_from(&record.session);
        agent.is_asked = false;
        if phase != Some(Phase::Before) {
            return;
        }
        agent.calls += 1;
        agent.is_asked = record.decision.known() == Some(Decision::Ask);
        agent.last = about(record);
        if record.is_denied() {
            agent.denied += 1;
            agent.in_a_row += 1;
        } else {
            agent.in_a_row = 0;
        }
    }

    /// Which calls wait for a person now.
    pub fn waits(&mut self, waiting: Vec<Waiting>) {
        self.waiting = waiting;
    }

    /// What time it is, in seconds since 1970.
    pub fn tick(&mut self, now: u64) {
        self.now = now;
    }

    /// What became of a wish, in a line.
    pub fn tell(&mut self, notice: &str) {
        notice.clone_into(&mut self.notice);
    }

    /// How the command of a record was drawn.
    pub fn draw_call(&mut self, seq: u64, drawn: String) {
        self.drawn = Some((seq, drawn));
    }

    /// The agents: who waits comes first, then who was heard of last.
    pub fn agents(&self) -> Vec<Seen<'_>> {
        let seen = |(name, found)| {
            let ([agent, host, root], found): (&Name, &Agent) = (name, found);
            let Agent { heard, calls, denied, session, last, .. } = found;
            let (heard, calls, denied, doing) = (*heard, *calls, *denied, self.doing(found));
            Seen { agent, host, root, session, doing, heard, calls, denied, last }
        };
        let mut agents: Vec<Seen<'_>> = self.agents.iter().map(seen).collect();
        agents.sort_by_key(|seen| (seen.doing, std::cmp::Reverse(seen.heard)));
        agents
    }

    /// The calls that are kept, the oldest first.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = &Record> + ExactSizeIterator {
        self.calls.iter()
    }

    /// How many calls got this verdict since the page began.
    pub fn count(&self, verdict: &str) -> u64 {
        self.counts.get(verdict).copied().unwrap_or_default()
    }

    /// The calls that wait for a person.
    pub fn waiting(&self) -> &[Waiting] {
        &self.waiting
    }

    /// The record with this number, if it is still kept.
    pub fn record(&self, seq: u64) -> Option<&Record> {
        self.calls.iter().rev().find(|record| record.seq == seq)
    }

    pub(crate) fn doing(&self, agent: &Agent) -> Doing {
        let waits = self.waiting.iter().any(|waiting| waiting.session == agent.session);
        let is_idle = self.now.saturating_sub(agent.heard) > IDLE;
        if agent.is_asked || (waits && !is_idle) {
            Doing::Waits
        } else if agent.in_a_row >= BLOCKED && !is_idle {
            Doing::Blocked
        } else if is_idle {
            Doing::Idle
        } else {
            Doing::Works
        }
    }

    /// The calls that the filter lets through, the oldest first.
    pub(crate) fn shown(&self) -> impl DoubleEndedIterator<Item = &Record> {
        self.calls.iter().filter(|record| !self.muted.contains(&name(record)) && self.filter.wants(record))
    }

    pub(crate) fn current(&self) -> Option<&Record> {
        match self.selected {
            Some(seq) => self.shown().find(|record| record.seq == seq).or_else(|| self.shown().next_back()),
            None => self.shown().next_back(),
        }
    }

    /// The code by which a person can answer to this call.
    pub fn code(&self, record: &Record) -> Option<&str> {
        let is_it = |waiting: &&Waiting| waiting.session == record.session && waiting.input == record.input;
        self.waiting.iter().find(is_it).map(|waiting| waiting.code.as_str())
    }

    /// Does what a key is for. What it asks for is for the caller to do.
    pub fn key(&mut self, key: Key, page: usize) -> Option<Wish> {
        if key == Key::Interrupt {
            return Some(Wish::Quit);
        }
        if self.typing.is_some() {
            return self.typed(key);
        }
        self.notice.clear();
        if self.shows_help {
            self.shows_help = false;
            return None;
        }
        match key {
            Key::Char('q') => return Some(Wish::Quit),
            Key::Escape if self.shows_details => self.shows_details = false,
            Key::Escape => {
                self.filter = Filter::default();
                self.muted.clear();
                self.selected = None;
            }
            Key::Char('?') => self.shows_help = true,
            Key::Char('/') => self.typing = Some((Typing::Filter, self.filter.text().to_owned())),
            Key::Char('j') | Key::Down => self.step(1),
            Key::Char('k') | Key::Up => self.step(-1),
            Key::PageDown | Key::Char(' ') => self.step(signed(page)),
            Key::PageUp => self.step(-signed(page)),
            Key::Char('g') | Key::Home => {
                let first = self.shown().next().map(|record| record.seq);
                self.selected = first;
            }
            Key::Char('G') | Key::End => self.selected = None,
            Key::Char('n') => self.denial(true),
            Key::Char('N') => self.denial(false),
            Key::Enter => return self.details(),
            Key::Char('m') => self.mute(),
            Key::Char('a') => {
                let code = self.answerable()?;
                return Some(Wish::Approve { code });
            }
            Key::Char('r') => {
                let code = self.answerable()?;
                self.typing = Some((Typing::Note(Wish::Reject { code, note: String::new() }), String::new()));
            }
            Key::Char('l') => self.lock_out(),
            Key::Char(_) | Key::Backspace | Key::Interrupt => {}
        }
        None
    }

    fn typed(&mut self, key: Key) -> Option<Wish> {
        let (what, mut text) = self.typing.take()?;
        match key {
            Key::Escape => return None,
            Key::Enter => {
                return match what {
                    Typing::Filter => {
                        self.filter = Filter::parse(&text);
                        self.selected = None;
                        None
                    }
                    Typing::Note(_) if text.trim().is_empty() => None,
                    Typing::Note(Wish::Reject { code, .. }) => Some(Wish::Reject { code, note: text }),
                    Typing::Note(Wish::LockOut { agent, path, root, .. }) => {
                        Some(Wish::LockOut { agent, path, root, note: text })
                    }
                    Typing::Note(wish) => Some(wish),
                };
            }
            Key::Backspace => {
                text.pop();
            }
            Key::Char(c) if text.chars().count() < 500 => text.push(c),
            _ => {}
        }
        self.typing = Some((what, text));
        None
    }

    fn step(&mut self, by: isize) {
        let shown: Vec<u64> = self.shown().map(|record| record.seq).collect();
        let last = shown.len().saturating_sub(1);
        let at = self.selected.and_then(|seq| shown.iter().position(|other| *other == seq)).unwrap_or(last);
        let to = at.saturating_add_signed(by).min(last);
        // At the end the newest one is followed.
        self.selected = shown.get(to).copied().filter(|_| to < last);
    }

    fn denial(&mut self, is_next: bool) {
        let from = self.current().map_or(0, |record| record.seq);
        let is_stopped = |record: &&Record| matches!(word(record), "deny" | "ask");
        let found = if is_next {
            self.shown().filter(is_stopped).find(|record| record.seq > from)
        } else {
            self.shown().rev().filter(is_stopped).find(|record| record.seq < from)
        };
        match found.map(|record| record.seq) {
            Some(seq) => self.selected = Some(seq),
            None => self.tell(if is_next { "no later denial" } else { "no earlier denial" }),
        }
    }

    fn details(&mut self) -> Option<Wish> {
        self.shows_details = !self.shows_details;
        let seq = self.current()?.seq;
        self.selected = Some(seq);
        let is_drawn = self.drawn.as_ref().is_some_and(|(drawn, _)| *drawn == seq);
        (self.shows_details && !is_drawn).then_some(Wish::Explain { seq })
    }

    fn mute(&mut self) {
        if let Some(name) = self.current().map(name) {
            self.muted.insert(name);
            self.selected = None;
            self.tell("muted; escape shows everything again");
        }
    }

    /// The code of the selected call, or why there is none.
    fn answerable(&mut self) -> Option<String> {
        let code = self.current().and_then(|record| self.code(record)).map(str::to_owned);
        if code.is_none() {
            self.tell("this call does not wait for an answer");
        }
        code
    }

    fn lock_out(&mut self) {
        let found = self.current().and_then(|record| {
            let path = record.findings.iter().map(|finding| &finding.path).find(|path| !path.is_empty());
            let named = record.args.iter().find(|(name, _)| name.ends_with("path")).map(|(_, value)| value);
            Some((record.agent.clone(), path.or(named)?.clone(), record.root.clone()))
        });
        match found {
            Some((agent, path, root)) if !agent.is_empty() => {
                let wish = Wish::LockOut { agent, path, root, note: String::new() };
                self.typing = Some((Typing::Note(wish), String::new()));
            }
            _ => self.tell("only a named agent can be locked out, and of a file that its call names"),
        }
    }
}

/// Whether a record is shown as a call: it is one, or says what became of one, or what a person did.
pub fn is_notable(record: &Record) -> bool {
    let phase = host(&record.host).map(|host| host.phase(&record.event));
    let is_refused = record.contained.as_ref().is_some_and(|contained| !contained.denied.is_empty());
    let is_event = record.event.starts_with("security-warning") || record.host == "toolgate";
    let is_call = phase == Some(Phase::Before) || is_refused || record.redacted > 0 || is_event;
    is_call && !record.canary && !record.is_own()
}

fn signed(page: usize) -> isize {
    isize::try_from(page.max(1)).unwrap_or(isize::MAX)
}

pub(crate) fn name(record: &Record) -> Name {
    [record.agent.clone(), record.host.clone(), record.root.clone()]
}

/// The verdict in a word. A word of a later version is no verdict that this one knows.
pub(crate) fn word(record: &Record) -> &'static str {
    record.decision.known().map_or("other", Decision::word)
}

/// What a call is about: its command, or what it names.
pub fn about(record: &Record) -> String {
    let command = record.args.iter().find(|(name, _)| matches!(name.as_str(), "command" | "cmd"));
    let rest = || record.args.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(" ");
    let text = command.map_or_else(rest, |(_, command)| command.clone());
    let subject = if record.tool.is_empty() { &record.event } else { &record.tool };
    format!("{subject} {text}")
}
