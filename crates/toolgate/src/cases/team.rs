//! Cases about a team: who calls in what role, who is locked out of what, how often the user was asked.

use std::path::Path;

use serde::Deserialize;
use toolgate_model::{History, Json, Lockout, Member, Place, Places, Team, TeamPhase, plain_name};
use toolgate_policies::{Settings, locked_out};

use super::{Case, Trouble, expect};

/// Where a team works whose cases do not say it.
const ROOT: &str = "/team";

/// What a case says of the team.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TeamContext {
    agent: Option<String>,
    role: Option<String>,
    phase: Option<String>,
    lockouts: Vec<(String, String)>,
    allowed_write: Option<Vec<String>>,
    allowed_read: Vec<String>,
    /// The agent that started this one.
    /// Why the lockouts cannot be read.
    unreadable: Option<String>,
    prior_ask_user_calls: u32,
    /// Calls of a kind within the last minute.
    recent: std::collections::BTreeMap<String, u32>,
    max: Option<u32>,
    min_len: Option<u32>,
    user_answer: Option<String>,
    #[serde(rename = "allowForceWithLease")]
    allow_force_with_lease: Option<bool>,
    /// What the file holds that `input.path` names.
    pub(super) file: Option<String>,
}

/// The path, or where a team works whose case leaves it out.
pub(super) fn or_of_team<'c>(case: &'c Case<'_>, path: &'c str) -> &'c str {
    const OF_TEAMS: [&str; 4] = ["squad-policy", "reviewer-lockout", "ask-user-limit", "write-paths"];
    if path.is_empty() && OF_TEAMS.contains(&case.context.profile.as_str()) { ROOT } else { path }
}

/// Where the team's files may be: in the worktree and in the main checkout.
pub(super) fn directories(root: &Path, main: Option<&Path>) -> Vec<Place> {
    let of = |top: &Path| [".squad", ".ai-team"].map(|name| Place::plain(top.join(name)));
    std::iter::once(root).chain(main).flat_map(of).collect()
}

/// What is known of the team in this case.
pub(super) fn team(case: &Case<'_>) -> Team {
    let context = &case.context.team;
    let plain = |name: &Option<String>| name.as_deref().map(plain_name).unwrap_or_default();
    let lockout =
        |(artifact, agent): &(String, String)| Lockout { artifact: artifact.clone(), agent: agent.clone() };
    Team {
        member: Member {
            name: plain(&context.agent),
            role: plain(&context.role),
            may_write: context.allowed_write.clone().or(case.context.policy.allowed_write_paths.clone()),
            may_read: context.allowed_read.clone(),
            ..Member::default()
        },
        phase: context.phase.as_deref().and_then(TeamPhase::of).unwrap_or_default(),
        lockouts: context.lockouts.iter().map(lockout).collect(),
        unreadable: context.unreadable.clone(),
        history: History {
            asked: context.prior_ask_user_calls,
            recent: context.recent.iter().map(|(kind, count)| (kind.clone(), *count)).collect(),
        },
    }
}

/// The case's settings in our words.
pub(super) fn settings(case: &Case<'_>) -> String {
    let context = &case.context.team;
    let mut text = String::new();
    let max = context.max.or(case.context.policy.max_ask_user);
    if max.is_some() || context.min_len.is_some() {
        text.push_str("\n[policy.ask-user-limit]\n");
    }
    if let Some(max) = max {
        text.push_str(&format!("max = {max}\n"));
    }
    // A limit in the words of the document is answered, one in those of the product is denied.
    if context.max.is_some() {
        text.push_str("over = \"answer\"\n");
    }
    if let Some(shortest) = context.min_len {
        text.push_str(&format!("shortest = {shortest}\n"));
    }
    if let Some(allowed) = context.allow_force_with_lease {
        text.push_str(&format!("\n[policy.destructive]\nallow_force_with_lease = {allowed}\n"));
    }
    text
}

/// Whether a case asks for a state, or for what becomes of an answer, and not for a verdict on a call.
pub(super) fn is_meant(case: &Case<'_>) -> bool {
    let answered = case.context.team.user_answer.is_some()
        && case.context.team.max.is_none_or(|max| case.context.team.prior_ask_user_calls < max);
    matches!(case.tool.as_str(), "lockout-query" | "lockout-list") || answered
}

pub(super) fn run(case: &Case<'_>, settings: &Settings, places: &Places) -> Result<(), Trouble> {
    let wrong = |what: String| Err(Trouble::Wrong(what));
    let team = team(case);
    if let Some(answer) = &case.context.team.user_answer {
        let said = settings.spelled_out(answer);
        let passed = said.as_deref().unwrap_or(answer);
        if case.detail.answer.as_deref().is_some_and(|wanted| wanted != passed) {
            return wrong(format!("passed on as `{passed}`"));
        }
        // An answer that stays as it is is no objection.
        let word = if said.is_none() && case.expect == "allow" { "allow" } else { "answer" };
        return expect(case, word, passed);
    }
    let text = |name: &str| case.input.get(name).and_then(Json::text).unwrap_or_default();
    let locked = locked_out(&team.lockouts, text("artifact"), places);
    if case.tool == "lockout-list" {
        let mut locked: Vec<String> = locked.into_iter().map(str::to_owned).collect();
        locked.sort();
        if case.detail.agents.as_ref().is_some_and(|wanted| *wanted != locked) {
            return wrong(format!("locked out are {locked:?}"));
        }
        return expect(case, "state", "a list");
    }
    let is_locked = locked.iter().any(|agent| plain_name(agent) == plain_name(text("agent")));
    expect(case, if is_locked { "deny" } else { "allow" }, "the registry")
}
