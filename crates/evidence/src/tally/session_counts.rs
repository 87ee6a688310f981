//! What a session has come to, as a fold over its records.
//!
//! Promise: a function of the records alone. Whoever adds the same records in the same order has the same counts, on
//! any machine and at any time.
//!
//! Bounds: a session may go on for weeks and start agents without end. Of denials, paces and directories, the
//! newest are kept; see the limits below. No text is kept: agents, policies and directories are distinguished by 64
//! bits of a digest, which nobody can aim at.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use toolgate_model::{TeamPhase, shorten};
use toolgate_secrets::Redacted;

use crate::activity::{IN, PHASE};
use crate::draft::MAX_NAME;
use crate::{Digest, Record};

/// The word that denials are counted under in [`SessionCounts::recently`], beside those of [`crate::Activity`].
pub const DENIED: &str = "denied";

/// How many pairs of an agent and a policy have their denials counted.
const MAX_DENIALS: usize = 64;
/// How many pairs of an agent and a word have their pace measured.
const MAX_PACES: usize = 64;
/// How many pairs of an agent and a directory are known.
const MAX_DIRECTORIES: usize = 512;

/// What has happened in a session, as its records have it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCounts {
    /// Questions that the user was asked; those that were denied do not count.
    pub asked: u32,
    /// How often the user spoke.
    pub prompts: u32,
    /// How often something was denied.
    pub denied: u32,
    /// The team's phase, where it was set.
    pub phase: Option<TeamPhase>,
    denials: Newest<Denials>,
    paces: Newest<Pace>,
    #[serde(with = "keys_alone")]
    directories: Newest<()>,
}

/// How often an agent was denied something by one policy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denials {
    /// Since the user spoke last.
    pub turn: u32,
    /// In the whole session.
    pub session: u32,
}

impl SessionCounts {
    /// Over these records, which are those of one session.
    pub fn of<'e>(entries: impl IntoIterator<Item = &'e Record>) -> SessionCounts {
        let mut counts = SessionCounts::default();
        for record in entries {
            counts.add(record);
        }
        counts
    }

    /// One record more. Words that this version does not know count nothing, and neither do the doctor's canaries.
    pub fn add(&mut self, record: &Record) {
        if record.canary {
            return;
        }
        let second = humantime::parse_rfc3339(&record.time).map_or(0, second_of);
        let denied = record.is_denied();
        for word in &record.counted {
            match word.as_str() {
                "prompt" => {
                    self.prompts = self.prompts.saturating_add(1);
                    self.denials.each(|denials| denials.turn = 0);
                }
                "read" | "write" | "run" | "connect" | "call" => self.count_pace(&record.agent, word, second),
                // What was denied has not happened.
                _ if denied => {}
                "question" => self.asked = self.asked.saturating_add(1),
                word => {
                    if let Some(directory) = word.strip_prefix(IN) {
                        self.directories.renew(key(&record.agent, directory), MAX_DIRECTORIES, |()| {});
                    } else if let Some(phase) = word.strip_prefix(PHASE).and_then(TeamPhase::of) {
                        self.phase = Some(phase);
                    }
                }
            }
        }
        if denied {
            self.denied = self.denied.saturating_add(1);
            let first = record.findings.iter().find(|finding| finding.denies());
            let policy = first.map_or("", |finding| finding.policy.as_str());
            self.denials.renew(key(&record.agent, policy), MAX_DENIALS, |denials| {
                denials.turn = denials.turn.saturating_add(1);
                denials.session = denials.session.saturating_add(1);
            });
            self.count_pace(&record.agent, DENIED, second);
        }
    }

    /// How often this policy was the first to deny this agent something.
    pub fn denials(&self, agent: &Redacted, policy: &str) -> Denials {
        self.denials.get(key_of(agent, policy)).copied().unwrap_or_default()
    }

    /// How often this agent has done this within the last minute: a word of [`crate::Activity`] that can be done too
    /// often (`read`, `write`, `run`, `connect`, `call`), or [`DENIED`].
    ///
    /// Whole seconds are counted: all of the last 60 s, and what is less than a second older. A record from the
    /// minute to come counts too: its process may have looked at the clock after this one.
    pub fn recently(&self, agent: &Redacted, word: &str, now: SystemTime) -> u32 {
        self.paces.get(key_of(agent, word)).map_or(0, |pace| pace.around(second_of(now)))
    }

    /// Whether this agent has written in this directory before.
    pub fn knows(&self, agent: &Redacted, directory: &Redacted) -> bool {
        self.directories.get(key_of(agent, directory.as_str())).is_some()
    }

    fn count_pace(&mut self, agent: &str, word: &str, second: u64) {
        self.paces.renew(key(agent, word), MAX_PACES, |pace| pace.count(second));
    }
}

/// How often something was done in which second, the last minute long.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Pace(Vec<(u64, u32)>);

impl Pace {
    fn count(&mut self, second: u64) {
        // Also forgets what seems to come later: the clock was set back, and would not catch up for long.
        self.0.retain(|(at, _)| is_near(*at, second));
        match self.0.iter_mut().find(|(at, _)| *at == second) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => self.0.push((second, 1)),
        }
    }

    fn around(&self, second: u64) -> u32 {
        let near = self.0.iter().filter(|(at, _)| is_near(*at, second));
        near.fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }
}

fn is_near(second: u64, other: u64) -> bool {
    second.abs_diff(other) <= 60
}

fn second_of(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

type Key = [u8; 8];

/// Of an agent as records name it.
fn key(agent: &str, what: &str) -> Key {
    let mut bytes = Vec::with_capacity(8 + agent.len() + what.len());
    // So that no two pairs are the same bytes.
    bytes.extend((agent.len() as u64).to_le_bytes());
    bytes.extend(agent.as_bytes());
    bytes.extend(what.as_bytes());
    Digest::of(&bytes).short()
}

fn key_of(agent: &Redacted, what: &str) -> Key {
    key(&shorten(agent.as_str(), MAX_NAME), what)
}

/// Values by key, the one that was changed last at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Newest<T>(Vec<(Key, T)>);

impl<T> Default for Newest<T> {
    fn default() -> Newest<T> {
        Newest(Vec::new())
    }
}

impl<T: Default> Newest<T> {
    /// Changes the value of this key and makes it the newest. Where it is one too many, the oldest goes.
    fn renew(&mut self, key: Key, limit: usize, change: impl FnOnce(&mut T)) {
        let mut value = match self.0.iter().position(|(known, _)| *known == key) {
            Some(at) => self.0.remove(at).1,
            None => T::default(),
        };
        if self.0.len() >= limit {
            self.0.remove(0);
        }
        change(&mut value);
        self.0.push((key, value));
    }

    fn get(&self, key: Key) -> Option<&T> {
        self.0.iter().find(|(known, _)| *known == key).map(|(_, value)| value)
    }

    fn each(&mut self, mut change: impl FnMut(&mut T)) {
        self.0.iter_mut().for_each(|(_, value)| change(value));
    }
}

/// Keys without values, as one piece of bytes: they are the largest part of full counts, and each call reads and
/// writes them.
mod keys_alone {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Newest;

    pub(super) fn serialize<S: Serializer>(keys: &Newest<()>, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = keys.0.iter().flat_map(|(key, ())| *key).collect();
        serializer.serialize_bytes(&bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Newest<()>, D::Error> {
        let (keys, _) = <&[u8]>::deserialize(deserializer)?.as_chunks();
        Ok(Newest(keys.iter().map(|key| (*key, ())).collect()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use toolgate_model::{Decision, FindingKind};
    use toolgate_secrets::redact;

    use super::*;
    use crate::{Activity, Draft};

    const RATED: [Activity; 5] =
        [Activity::Read, Activity::Write, Activity::Run, Activity::Connect, Activity::Call];

    fn at(second: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000) + Duration::from_secs(second)
    }

    fn draft(agent: &str, second: u64) -> Draft {
        Draft::new(at(second), "claude", redact("PreToolUse")).agent(redact(agent))
    }

    fn denied(agent: &str, policy: &'static str) -> Draft {
        draft(agent, 0)
            .decision(Decision::Deny)
            .finding("another", FindingKind::Rule, Decision::Ask, redact(""), redact(""))
            .finding(policy, FindingKind::Rule, Decision::Deny, redact(""), redact(""))
            .finding("a-third", FindingKind::Rule, Decision::Deny, redact(""), redact(""))
    }

    fn counts(drafts: impl IntoIterator<Item = Draft>) -> SessionCounts {
        let entries: Vec<_> = drafts.into_iter().map(|draft| draft.fitted().unwrap()).collect();
        SessionCounts::of(&entries)
    }

    #[test]
    fn a_denied_call_counts_as_not_done() {
        let all = |draft: Draft| {
            let draft = draft.counting(Activity::Question).counting(Activity::Phase(TeamPhase::Agreed));
            draft.counting(Activity::In(redact("/w"))).counting(Activity::Prompt)
        };
        let done = counts([all(draft("a", 0)), all(draft("a", 0).decision(Decision::Ask))]);
        assert_eq!((done.asked, done.prompts, done.phase), (2, 2, Some(TeamPhase::Agreed)));
        assert!(done.knows(&redact("a"), &redact("/w")));
        assert!(!done.knows(&redact("b"), &redact("/w")) && !done.knows(&redact("a"), &redact("/w/x")));
        let refused = counts([all(denied("a", "p"))]);
        assert_eq!((refused.asked, refused.prompts, refused.phase), (0, 1, None));
        assert!(!refused.knows(&redact("a"), &redact("/w")));
    }

    #[test]
    fn a_canary_counts_nothing() {
        let all = |draft: Draft| RATED.into_iter().fold(draft, Draft::counting).counting(Activity::Prompt);
        assert_eq!(counts([all(denied("a", "p")).canary()]), SessionCounts::default());
        assert_ne!(counts([all(denied("a", "p"))]), SessionCounts::default());
    }

    #[test]
    fn denials_of_a_turn_are_reset_by_the_next_prompt() {
        let prompt = || draft("", 0).counting(Activity::Prompt);
        let counts =
            counts([denied("a", "p"), prompt(), denied("a", "p"), denied("b", "p"), denied("a", "q")]);
        let of = |agent, policy| counts.denials(&redact(agent), policy);
        assert_eq!(of("a", "p"), Denials { turn: 1, session: 2 });
        assert_eq!(of("b", "p"), Denials { turn: 1, session: 1 });
        assert_eq!(of("a", "q"), Denials { turn: 1, session: 1 });
        assert_eq!(of("a", "another"), Denials::default());
        assert_eq!(of("a", "a-third"), Denials::default());
        assert_eq!(counts.recently(&redact("a"), DENIED, at(30)), 3);
    }

    #[test]
    fn only_the_last_minute_is_counted() {
        let counts = counts([0, 30, 30, 59, 60].map(|second| draft("a", second).counting(Activity::Run)));
        let recently = |second| counts.recently(&redact("a"), "run", at(second));
        assert_eq!([60, 61, 90, 91, 119, 120, 121].map(recently), [5, 4, 4, 2, 2, 1, 0]);
        assert_eq!(counts.recently(&redact("b"), "run", at(60)), 0);
        assert_eq!(counts.recently(&redact("a"), "read", at(60)), 0);
    }

    #[test]
    fn records_out_of_order_are_counted() {
        let counts = counts([10, 12, 9, 12, 8].map(|second| draft("a", second).counting(Activity::Call)));
        assert_eq!(counts.recently(&redact("a"), "call", at(8)), 5);
        assert_eq!(counts.recently(&redact("a"), "call", at(70)), 3);
    }

    #[test]
    fn a_clock_that_is_set_back_restarts_the_count() {
        let counts = counts([90_000, 90_000, 5].map(|second| draft("a", second).counting(Activity::Call)));
        assert_eq!(counts.recently(&redact("a"), "call", at(6)), 1);
        assert_eq!(counts.recently(&redact("a"), "call", at(90_000)), 0);
    }

    #[test]
    fn a_shortened_record_counts_for_the_same_agent() {
        let (agent, long) = ("a".repeat(300), "\u{1}".repeat(5000));
        let mut draft = denied(&agent, "a-policy-with-a-long-name").counting(Activity::Call);
        for _ in 0..40 {
            draft = draft.arg(redact(&long), redact(&long));
        }
        let counts = counts([draft]);
        assert_eq!(counts.denials(&redact(&agent), "a-policy-with-a-long-name").session, 1);
        assert_eq!(counts.recently(&redact(&agent), "call", at(0)), 1);
    }

    #[test]
    fn counts_are_bounded_and_drop_the_oldest_first() {
        let name = |number: u64| format!("agent-{number}");
        let drafts = (0..2000).map(|number| {
            let draft = denied(&name(number), "p").decision(Decision::Allow);
            RATED.into_iter().fold(draft, Draft::counting).counting(Activity::In(redact("/w")))
        });
        let denials = (0..2000).map(|number| denied(&name(number), "p"));
        let counts = counts(drafts.chain(denials));
        assert!(!counts.knows(&redact(&name(1999 - 512)), &redact("/w")));
        assert!((2000 - 512..2000).all(|number| counts.knows(&redact(&name(number)), &redact("/w"))));
        let session = |number| counts.denials(&redact(&name(number)), "p").session;
        assert_eq!((session(1999 - 64), session(2000 - 64), session(1999)), (0, 1, 1));
    }

    #[test]
    fn the_largest_counts_fit_a_page() {
        let mut counts = SessionCounts { asked: u32::MAX, prompts: u32::MAX, ..SessionCounts::default() };
        let last = 253_402_300_799;
        for number in 0..1000_u32 {
            let key = Digest::of(&number.to_le_bytes()).short();
            counts.directories.renew(key, MAX_DIRECTORIES, |()| {});
            counts.denials.renew(key, MAX_DENIALS, |denials| {
                *denials = Denials { turn: u32::MAX, session: u32::MAX };
            });
            counts.paces.renew(key, MAX_PACES, |pace| {
                (last - 60..=last).for_each(|second| pace.count(second));
                (last - 120..last - 60).rev().for_each(|second| pace.0.push((second, 1)));
                pace.0.iter_mut().for_each(|(_, count)| *count = u32::MAX);
            });
        }
        let size = postcard::to_allocvec(&counts).unwrap().len();
        assert!(size < crate::tally::pages::LARGEST, "{size}");
    }
}
