//! Who is told about a verdict.
//!
//! A denied agent reads why and tries another way; its user need not know. toolgate tells the user only if the agent does not
//! get on, or if it denies many calls at once. Denials about secrets or destruction also go to the team's own log.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;
use toolgate_evidence::{DENIED, Draft, LedgerError, SessionCounts};
use toolgate_model::{Finding, FindingKind, Phase, shorten};
use toolgate_policies::{Notices, Settings};
use toolgate_secrets::redact;

use crate::counter::SessionCounter;
use crate::counting::written_directories;
use crate::line::Decided;
use crate::machine::Machine;
use crate::team::{caller, team_directory};

/// What people and the agent are told about a denial.
#[derive(Default)]
pub(crate) struct DenialNotices {
    /// What the agent is urged to do.
    pub(crate) urge: Option<String>,
    /// What the user is told.
    pub(crate) notices: Vec<String>,
}

/// What the user is told of directories that an agent writes to for the first time.
pub(crate) fn of_new_directories(
    decided: &Decided<'_>,
    counter: &mut SessionCounter,
) -> Result<Vec<String>, LedgerError> {
    let Decided { call, surroundings, facts, verdict, .. } = *decided;
    let mut notices = Vec::new();
    if call.phase != Phase::Before || !verdict.decision().may_run() {
        return Ok(notices);
    }
    let agent = caller(call, &surroundings.team.member);
    for directory in written_directories(surroundings, facts) {
        if counter.counts()?.is_some_and(|counts| !counts.knows(&agent, &directory)) {
            let agent = name_in_sentence(decided);
            notices.push(format!("{agent} writes to `{}` for the first time", directory.as_str()));
        }
    }
    Ok(notices)
}

/// What people and the agent are told about a denial.
pub(crate) fn of_denial(
    machine: &dyn Machine,
    decided: &Decided<'_>,
    draft: &Draft,
    counter: &mut SessionCounter,
) -> Result<DenialNotices, LedgerError> {
    let Decided { call, surroundings, verdict, .. } = *decided;
    let denial = verdict.findings().first().filter(|first| first.decision.denies());
    let Some(denial) = denial.filter(|_| call.phase.stops()) else { return Ok(DenialNotices::default()) };
    let counts = counter.counts_with(draft)?.unwrap_or_default();
    let agent = caller(call, &surroundings.team.member);
    let Notices { after, retries, burst, .. } = strictest(decided);
    let turn = counts.denials(&agent, denial.policy).turn;
    let mut notices = Vec::new();
    // Where the host never says that its user has spoken, nobody knows where a turn ends.
    let given_up = retries > 0 && turn > retries && counts.prompts > 0;
    if denial.urgent || (after > 0 && turn == after) || given_up {
        // In a team another agent takes the work over. Elsewhere nobody does, and nothing is routed.
        let routed = surroundings.rules.layers.iter().any(Settings::has_team);
        notices.push(format!(
            "\u{26a0}\u{fe0f} {} attempted {} but was blocked: {}.{}",
            name_in_sentence(decided),
            attempt(decided, denial),
            in_short(denial, turn),
            if routed { " Routing to an alternative." } else { "" },
        ));
    }
    let denied = counts.recently(&agent, DENIED, machine.now());
    if burst > 0 && denied == burst {
        notices.push(format!(
            "\u{26a0}\u{fe0f} {}: {denied} calls were denied within a minute; see `toolgate ledger tail --denied`",
            name_in_sentence(decided)
        ));
    }
    let urge = given_up.then(|| {
        format!(
            "{turn} calls were denied by `{}` in this turn: stop trying, and tell the user what you need.",
            denial.policy
        )
    });
    Ok(DenialNotices { urge, notices })
}

/// Combines the notice settings of all layers. The lowest threshold counts, and 0 means that a layer asks for no notice: no layer
/// can silence what another asks for.
fn strictest(decided: &Decided<'_>) -> Notices {
    let least = |one: u32, other: u32| match (one, other) {
        (0, some) | (some, 0) => some,
        (one, other) => one.min(other),
    };
    let settings = decided.surroundings.rules.layers.iter().map(|layer| layer.notices.clone());
    let both = |one: Notices, other: Notices| Notices {
        after: least(one.after, other.after),
        retries: least(one.retries, other.retries),
        burst: least(one.burst, other.burst),
        new_directories: one.new_directories || other.new_directories,
    };
    settings.reduce(both).unwrap_or_default()
}

/// What to call the agent in a sentence for its user.
fn name_in_sentence(decided: &Decided<'_>) -> String {
    let agent = caller(decided.call, &decided.surroundings.team.member);
    let mut letters = agent.as_str().chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => "The agent".to_owned(),
    }
}

/// Why, for a user whose host shows the reason in full right beside it.
fn in_short(denial: &Finding, times: u32) -> String {
    match (&denial.wording, times) {
        // A profile's own words are said as they are.
        (Some(wording), _) => wording.trim_end_matches('.').to_owned(),
        (None, 0 | 1) => format!("`{}` denies it", denial.policy),
        (None, times) => format!("`{}` has denied {times} calls in this turn", denial.policy),
    }
}

fn attempt(decided: &Decided<'_>, denial: &Finding) -> String {
    let what =
        if denial.path.is_empty() { String::new() } else { format!(" on {}", shorten(&denial.path, 120)) };
    format!("{}{what}", decided.call.tool)
}

/// What a session came to, in a sentence.
pub(crate) fn summary(counts: &SessionCounts) -> String {
    format!(
        "toolgate: {} denied, {} question(s) asked, {} prompt(s) in this session",
        counts.denied, counts.asked, counts.prompts
    )
}

/// Writes a denial that concerns secrets, private data, destruction or another's work to the team's own log. Best effort:
/// the ledger has it in any case.
pub(crate) fn write_team_log(machine: &dyn Machine, decided: &Decided<'_>) {
    let Decided { call, surroundings, verdict, .. } = *decided;
    let is_grave = |finding: &&Finding| {
        finding.decision.denies()
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
    if !call.phase.stops() || !surroundings.rules.layers.iter().any(|layer| layer.team.audit) {
        return;
    }
    // A command that destroys may also lead out of the worktree, and that be said first.
    let grave = verdict.findings().iter().find(is_grave);
    let places = &surroundings.session.places;
    let (Some(grave), Some(team)) = (grave, team_directory(machine.world(), places)) else { return };
    let text = |text: &str| redact(text).into_string();
    let line = serde_json::json!({
        "time": toolgate_evidence::rfc3339(machine.now()),
        "session": text(call.session.as_deref().unwrap_or_default()),
        "agent": caller(call, &surroundings.team.member).as_str(),
        "tool": text(&call.tool),
        "policy": grave.policy,
        "kind": grave.kind.word(),
        "path": text(&grave.path),
        "reason": text(&grave.line()),
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
