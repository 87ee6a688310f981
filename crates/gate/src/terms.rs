//! What is done besides the decision, made in this one place: binding a call to the root, launching it through us,
//! redacting what it gave back, and telling people and models.
//!
//! INVARIANT: terms never change a verdict. A call that is denied is not rewritten; one that is asked about runs as it was
//! judged.

use toolgate_effects::confined;
use toolgate_evidence::Draft;
use toolgate_model::{Action, Call, Facts, Phase, Reach, Terms, Use, Verdict};
use toolgate_secrets::redact;

use crate::counter::SessionCounter;
use crate::failure::Failure;
use crate::gather::Surroundings;
use crate::launch::LaunchLine;
use crate::line::Decided;
use crate::machine::Machine;
use crate::notices;
use crate::observe::{command_member, is_rewritable};
use crate::options::HookOptions;
use crate::redaction::{self, Marker};
use crate::team::introduction;

/// What goes with a verdict. `draft` is what will be recorded of the call.
pub fn terms(
    machine: &dyn Machine,
    options: &HookOptions,
    decided: &Decided<'_>,
    draft: &Draft,
    counter: &mut SessionCounter,
) -> Result<Terms, Failure> {
    let Decided { call, around, .. } = *decided;
    let layers = &around.rules.layers;
    let marker = Marker::new(machine.world(), &options.dirs.state, call.session.as_deref());
    let mut notices = notices::of_new_directories(decided, counter).map_err(Failure::Ledger)?;
    let denial = notices::of_denial(machine, decided, draft, counter).map_err(Failure::Ledger)?;
    notices.extend(denial.notices);
    let context = match call.phase {
        Phase::Start => introduction(&around.team, layers),
        Phase::End => counter.counts().map_err(Failure::Ledger)?.map(|counts| notices::summary(&counts)),
        Phase::Before
        | Phase::Permission
        | Phase::Config
        | Phase::After
        | Phase::Prompt
        | Phase::Error
        | Phase::Other => None,
    };
    let answered = call.phase == Phase::After && matches!(call.action, Action::Question);
    let said = call.said.as_deref().filter(|_| answered);
    Ok(Terms {
        rewrites: rewrites(machine, options, decided),
        output: redaction::redacted(call, layers, &marker),
        notice: (!notices.is_empty()).then(|| redact(&notices.join("\n")).into_string()),
        context,
        said: said.and_then(|said| layers.iter().find_map(|layer| layer.spelled_out(said))),
        urge: denial.urge,
    })
}

/// What is shown of an output where no verdict could be reached: the tool has run, and what it gave back can be looked
/// through by default rules, without anything that failed.
pub fn terms_without_rules(machine: &dyn Machine, options: &HookOptions, call: &Call<'_>) -> Terms {
    let marker = Marker::new(machine.world(), &options.dirs.state, call.session.as_deref());
    Terms { output: redaction::redacted(call, &[], &marker), ..Terms::default() }
}

/// The parameters of a call that are changed before it runs.
fn rewrites(machine: &dyn Machine, options: &HookOptions, decided: &Decided<'_>) -> Vec<(String, String)> {
    let Decided { call, around, facts, verdict, .. } = *decided;
    let bound = bound_to_root(call, around, facts, verdict);
    launched(machine, options, decided, &bound).map_or(bound, |launched| vec![launched])
}

/// The command sent through `toolgate shell`, where the settings want that and the call may run.
fn launched(
    machine: &dyn Machine,
    options: &HookOptions,
    decided: &Decided<'_>,
    bound: &[(String, String)],
) -> Option<(String, String)> {
    let Decided { host, call, around, verdict, .. } = *decided;
    if call.phase != Phase::Before || !host.keeps_failed_output(&call.tool) || !verdict.decision().may_run() {
        return None;
    }
    let wanted = redaction::wanted(&around.rules.layers);
    if !wanted.wrap {
        return None;
    }
    let line = LaunchLine::of_session(machine, &options.dirs.state, call.session.as_deref())?;
    let (param, command) = command_member(call)?;
    // It may have been bound to a directory already.
    let command = bound.iter().find(|(changed, _)| changed == param).map_or(command, |(_, text)| text);
    Some((param.to_owned(), line.around(command, &wanted)?))
}

/// The relative paths and the command of a call that is not denied, made absolute from the root and bound to it, where every layer of
/// the settings wants that. A pattern stays a pattern.
pub(crate) fn bound_to_root(
    call: &Call<'_>,
    around: &Surroundings,
    facts: &[Facts<'_>],
    verdict: &Verdict,
) -> Vec<(String, String)> {
    let Some(facts) = facts.first().filter(|_| around.bound && !verdict.decision().denies()) else {
        return Vec::new();
    };
    let Some(root) = facts.places.root.as_ref().and_then(|root| root.lexical.to_str()) else {
        return Vec::new();
    };
    if let Some((param, command)) = command_member(call) {
        // Another of our hooks may have bound it before.
        let start = confined(":", root);
        let inner = start.strip_suffix(':').and_then(|start| command.strip_prefix(start));
        // Not by its beginning alone: `cd ROOT && : & rest` starts the rest elsewhere.
        let is_bound = inner.is_some_and(|inner| confined(inner, root) == *command);
        return if is_bound { Vec::new() } else { vec![(param.to_owned(), confined(command, root))] };
    }
    let relative = facts.uses.iter().filter(|used| is_rewritable(call, &used.param, &used.text));
    let absolute = |used: &Use<'_>| match &used.place {
        Ok(place) if used.reach == Reach::Exact => place.lexical.to_str().map(str::to_owned),
        _ => Some(format!("{root}/{}", used.text)),
    };
    relative.filter_map(|used| Some((used.param.to_string(), absolute(used)?))).collect()
}
