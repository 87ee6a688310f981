//! What a call counts as in its session: for limits, for a team's phases, for what the user is told.

use std::path::{Path, PathBuf};

use toolgate_evidence::{Activity, LedgerError};
use toolgate_model::{Action, Facts, Phase, TeamPhase};
use toolgate_policies::LimitKind;
use toolgate_secrets::{Redacted, redact};

use crate::counter::SessionCounter;
use crate::gather::Surroundings;
use crate::line::Decided;
use crate::team::{affirms, agrees};

/// The words that the record of a call counts by.
pub(crate) fn counted(
    decided: &Decided<'_>,
    counter: &mut SessionCounter,
) -> Result<Vec<Activity>, LedgerError> {
    let Decided { call, surroundings, facts, .. } = *decided;
    let mut words = Vec::new();
    match call.phase {
        Phase::Before => {
            if matches!(call.action, Action::Question)
                && surroundings.rules.layers.iter().any(|layer| layer.asks_history(true))
            {
                words.push(Activity::Question);
            }
            words.extend(limited(surroundings, facts).into_iter().map(counted_as));
            words.extend(written_directories(surroundings, facts).into_iter().map(Activity::In));
        }
        Phase::Prompt => {
            words.push(Activity::Prompt);
            let replies = counter.counts()?.unwrap_or_default().prompts > 0;
            if replies && has_agreed(decided, agrees) {
                words.push(Activity::Phase(TeamPhase::Agreed));
            }
        }
        Phase::After if matches!(call.action, Action::Question) && has_agreed(decided, affirms) => {
            counter.counts()?;
            words.push(Activity::Phase(TeamPhase::Agreed));
        }
        Phase::After
        | Phase::Permission
        | Phase::Config
        | Phase::Start
        | Phase::End
        | Phase::Error
        | Phase::Other => {}
    }
    Ok(words)
}

/// Whether the user has just agreed to a team that was proposed.
fn has_agreed(decided: &Decided<'_>, agrees: fn(&str) -> bool) -> bool {
    decided.surroundings.team.phase == TeamPhase::Proposed && decided.call.said.as_deref().is_some_and(agrees)
}

/// What limits count the call as; empty where there are none.
fn limited(surroundings: &Surroundings, facts: &[Facts<'_>]) -> Vec<LimitKind> {
    let layers = surroundings.rules.layers.iter().zip(facts);
    let mut kinds: Vec<LimitKind> = layers.flat_map(|(layer, facts)| layer.counted(facts)).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

/// The directories that the call writes to; empty where nobody asks.
pub(crate) fn written_directories(surroundings: &Surroundings, facts: &[Facts<'_>]) -> Vec<Redacted> {
    let layers =
        surroundings.rules.layers.iter().zip(facts).filter(|(layer, _)| layer.notices.new_directories);
    let written = layers.flat_map(|(_, facts)| facts.uses.iter().filter(|used| used.writes()));
    let places = written.filter_map(|used| used.place.as_ref().ok());
    let mut directories: Vec<PathBuf> =
        places.filter_map(|place| place.lexical.parent().map(Path::to_path_buf)).collect();
    directories.sort();
    directories.dedup();
    directories.iter().map(|directory| redact(&directory.to_string_lossy())).collect()
}

fn counted_as(kind: LimitKind) -> Activity {
    match kind {
        LimitKind::Call => Activity::Call,
        LimitKind::Read => Activity::Read,
        LimitKind::Write => Activity::Write,
        LimitKind::Run => Activity::Run,
        LimitKind::Connect => Activity::Connect,
    }
}
