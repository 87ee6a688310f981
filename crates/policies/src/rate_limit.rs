//! Limits how many calls of a kind each agent makes in a minute.
//!
//! Why: an agent in a loop, or one that was manipulated, does the same thing again and again. A limit turns hours of that into
//! a minute.
//!
//! Settings: each `[[limit]]` has a `kind` (`call`, `read`, `write`, `run`, `connect`), `per-minute`, and `agents` (names and roles;
//! left out: each agent by itself), and an `id` if you like, for `[rules]` and the end of its messages. Without an entry,
//! nothing is counted.
//!
//! Sees through: calls of one session that come at the same time, and restarts of the host.
//! Does not see: the same agent in another session.

use toolgate_model::{Access, Facts, Finding, FindingKind, Phase, Policy};

use crate::response::Response;
use crate::rules::{OwnRule, RuleSwitches};
use crate::settings::Settings;
use crate::team::{Limit, LimitKind, lists};

pub(crate) struct RateLimits<'s> {
    limits: &'s [Limit],
    switches: &'s RuleSwitches,
}

impl<'s> RateLimits<'s> {
    pub(crate) fn of(settings: &'s Settings) -> RateLimits<'s> {
        RateLimits { limits: &settings.limit, switches: &settings.rules }
    }
}

/// What a call counts as.
pub(crate) fn kinds(facts: &Facts<'_>) -> Vec<LimitKind> {
    let mut kinds = vec![LimitKind::Call];
    let reads = |access: Access| matches!(access, Access::Read | Access::Search);
    if facts.uses.iter().any(|used| reads(used.access)) {
        kinds.push(LimitKind::Read);
    }
    if facts.uses.iter().any(|used| used.writes() && !crate::project::is_device(used)) {
        kinds.push(LimitKind::Write);
    }
    if !facts.runs.is_empty() {
        kinds.push(LimitKind::Run);
    }
    if facts.connects {
        kinds.push(LimitKind::Connect);
    }
    kinds
}

impl Policy for RateLimits<'_> {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        // A call is counted once, and what is no call not at all.
        if self.limits.is_empty() || facts.phase != Phase::Before {
            return;
        }
        let kinds = kinds(facts);
        for (index, limit) in self.limits.iter().enumerate().filter(|(_, limit)| kinds.contains(&limit.kind))
        {
            let id = limit.id_at(index);
            let response = self.switches.get(&id).unwrap_or(Response::Deny);
            let Some(decision) = response.objection() else { continue };
            let meant = limit.agents.is_empty() || lists(&limit.agents, &facts.team.member, None);
            let word = limit.kind.word();
            let count = facts.team.history.recently(word);
            if meant && count >= limit.per_minute {
                let what = if word == "call" { "calls".to_owned() } else { format!("calls that {word}") };
                findings.push(
                    Finding::new("rate-limit", decision, FindingKind::Limit)
                        .rule(id.into_owned())
                        .because(format!(
                            "{} has made {count} {what} within a minute, and the limit is {}",
                            facts.team.member.called(),
                            limit.per_minute
                        ))
                        .instead("wait a minute, and do more with each call")
                        .detail(format!("{count}/{}", limit.per_minute)),
                );
            }
        }
    }
}
