//! What past calls needed that today's settings stop, for `toolgate suggest`.

use std::collections::{BTreeMap, BTreeSet};

use toolgate_model::{Decision, FindingKind};
use toolgate_transcripts::PastCall;

use super::judge::Judged;

/// So many stopped calls are kept, to be judged again.
const KEPT: usize = 20_000;

/// Calls that are stopped today, and what people have said about them.
#[derive(Debug, Default)]
pub(in crate::cli) struct Needs {
    /// Each with what would let it through.
    pub(in crate::cli) calls: Vec<Need>,
    /// Calls that no place and no rule would let through, by what stops them.
    pub(in crate::cli) beyond: BTreeMap<String, u64>,
    /// What tells calls from all others that a person approved.
    approved: BTreeSet<u64>,
    /// Calls that a person was asked about, and calls that ran.
    asked: BTreeSet<u64>,
    ran: BTreeSet<u64>,
}

/// A call that is stopped today.
#[derive(Debug)]
pub(in crate::cli) struct Need {
    pub(in crate::cli) host: &'static str,
    pub(in crate::cli) call: PastCall,
    pub(in crate::cli) start: String,
    pub(in crate::cli) key: u64,
    pub(in crate::cli) session: u64,
    /// Places outside of what may be used.
    pub(in crate::cli) places: BTreeSet<String>,
    /// Rules, and what each decides today.
    pub(in crate::cli) rules: BTreeMap<String, Decision>,
}

/// What a stopped call would need: places and rules. `None` where something stops it that neither opens.
pub(in crate::cli) type Wanted = (BTreeSet<String>, BTreeMap<String, Decision>);

/// What objects to a call, as something that a person could set.
pub(super) fn wanted(judged: &Judged) -> Result<Option<Wanted>, String> {
    let Judged::Decided { decision, findings } = judged else { return Ok(None) };
    if decision.may_run() {
        return Ok(None);
    }
    let (mut places, mut rules) = (BTreeSet::new(), BTreeMap::new());
    for finding in findings.iter().filter(|finding| finding.decision.objects()) {
        match finding.rule.split_once(": ") {
            _ if finding.is_final => return Err(finding.rule.clone()),
            // Another agent's place and the main checkout are not the agent's to need.
            None if finding.kind == FindingKind::Outside && !finding.path.is_empty() => {
                places.insert(finding.path.clone());
            }
            Some(("destructive", rule)) => {
                rules.insert(rule.to_owned(), finding.decision);
            }
            _ => return Err(finding.rule.clone()),
        }
    }
    if places.is_empty() && rules.is_empty() {
        Err("not proved".to_owned())
    } else {
        Ok(Some((places, rules)))
    }
}

impl Needs {
    /// A call that was judged today. `key` and `session` tell it from all others.
    pub(super) fn note(
        &mut self,
        host: &'static str,
        call: &PastCall,
        start: &str,
        judged: &Judged,
        (key, session): (u64, u64),
    ) {
        match wanted(judged) {
            Ok(None) => {}
            Ok(Some((places, rules))) if self.calls.len() < KEPT => {
                let (call, start) = (call.clone(), start.to_owned());
                self.calls.push(Need { host, call, start, key, session, places, rules });
            }
            Ok(Some(_)) => *self.beyond.entry("too many to be looked at".to_owned()).or_default() += 1,
            Err(why) => *self.beyond.entry(why).or_default() += 1,
        }
    }

    /// What the log says of a call when it was made.
    pub(super) fn hear(&mut self, key: u64, is_approved: bool, decision: Decision) {
        if is_approved {
            self.approved.insert(key);
        }
        if decision == Decision::Ask {
            self.asked.insert(key);
        }
    }

    /// A call that has run.
    pub(super) fn ran(&mut self, key: u64) {
        self.ran.insert(key);
    }

    pub(super) fn add(&mut self, more: Needs) {
        let room = KEPT.saturating_sub(self.calls.len());
        self.calls.extend(more.calls.into_iter().take(room));
        for (why, count) in more.beyond {
            *self.beyond.entry(why).or_default() += count;
        }
        self.approved.extend(more.approved);
        self.asked.extend(more.asked);
        self.ran.extend(more.ran);
    }

    /// Whether a person let this call through: by our own means, or by their client's when it asked them.
    pub(in crate::cli) fn is_approved(&self, need: &Need) -> bool {
        self.approved.contains(&need.key) || (self.asked.contains(&need.key) && self.ran.contains(&need.key))
    }
}
