//! Everything besides the decision, in one place: binding a call to the root, launching it through toolgate,
//! redacting its output, and telling people and models.
//!
//! INVARIANT: terms never change a verdict. A call that is denied is not rewritten; one that is asked about runs as it was
//! judged.

use std::io;
use std::path::Path;

use toolgate_effects::confined;
use toolgate_evidence::Draft;
use toolgate_model::{Action, Call, Facts, Host, Json, Phase, Reach, Terms, Use, Verdict};
use toolgate_policies::{explain_denied, shows_secrets_in_passing};
use toolgate_secrets::redact;

use crate::contain::{denied_inside, kept_terms};
use crate::counter::SessionCounter;
use crate::failure::Failure;
use crate::gather::{Surroundings, rules_in_force};
use crate::launch::{Caller, Launch, shared};
use crate::line::Decided;
use crate::machine::Machine;
use crate::notices;
use crate::observe::{command_member, is_rewritable};
use crate::options::HookOptions;
use crate::redaction::{self, Marker};
use crate::registered;
use crate::team::introduction;

/// What goes with a verdict. `draft` is what will be recorded of the call, `code` that by which a person can let it through.
pub fn terms(
    machine: &dyn Machine,
    options: &HookOptions,
    decided: &Decided<'_>,
    draft: &Draft,
    code: Option<&str>,
    counter: &mut SessionCounter,
) -> Result<Terms, Failure> {
    let Decided { call, surroundings, verdict, .. } = *decided;
    let layers = &surroundings.rules.layers;
    let marker = Marker::new(machine.world(), &options.dirs.state, call.session.as_deref());
    let mut notices = notices::of_new_directories(decided, counter).map_err(Failure::Ledger)?;
    let denial = notices::of_denial(machine, decided, draft, counter).map_err(Failure::Ledger)?;
    notices.extend(denial.notices);
    notices.extend(registered::lost(machine, &options.dirs, call, surroundings));
    let context = match call.phase {
        Phase::Start => introduction(&surroundings.team, layers),
        Phase::End => counter.counts().map_err(Failure::Ledger)?.map(|counts| notices::summary(&counts)),
        Phase::Before
        | Phase::Permission
        | Phase::Config
        | Phase::After
        | Phase::Prompt
        | Phase::Error
        | Phase::Other => None,
    };
    let denied = denied_inside(machine, call);
    let context =
        if denied.is_empty() { context } else { Some(redact(&explain_denied(&denied)).into_string()) };
    let answered = call.phase == Phase::After && matches!(call.action, Action::Question);
    let said = call.said.as_deref().filter(|_| answered);
    Ok(Terms {
        rewrites: rewrites(machine, options, decided, draft)?,
        output: redaction::redacted(call, layers, &marker),
        notice: (!notices.is_empty()).then(|| redact(&notices.join("\n")).into_string()),
        context,
        said: said.and_then(|said| layers.iter().find_map(|layer| layer.spelled_out(said))),
        urge: urged(denial.urge, code.filter(|_| !is_worded(verdict)), names_opening(verdict)),
        denied_inside: denied.iter().map(ToString::to_string).collect(),
    })
}

/// Whether a profile words the objection itself. Nothing is added to its words: `toolgate pending` shows the code.
fn is_worded(verdict: &Verdict) -> bool {
    verdict.findings().first().is_some_and(|finding| finding.wording.is_some())
}

/// Whether the objection ends with the command by which a person opens what is denied.
fn names_opening(verdict: &Verdict) -> bool {
    let last =
        |text: &str| text.rsplit('`').nth(1).is_some_and(|quoted| quoted.starts_with("toolgate allow "));
    verdict.findings().first().is_some_and(|finding| finding.instead.ends_with('`') && last(&finding.instead))
}

/// What the agent is told besides: what it is urged to do, and how a person lets the call through. `goes_on`: the sentence before it has
/// said already what a person can run.
fn urged(urge: Option<String>, code: Option<&str>, goes_on: bool) -> Option<String> {
    let (parts, between): ([Option<String>; 2], &str) = if goes_on {
        ([code.map(|code| format!(", or `toolgate approve {code}` for this call alone")), urge], ". ")
    } else {
        ([urge, code.map(|code| format!("A person can let it through: `toolgate approve {code}`"))], " ")
    };
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(between))
}

/// What is shown of an output where no verdict could be reached: the tool has run, and what it gave back can be looked
/// through without anything that failed. By the rules in force where these can be read, else by default rules.
pub fn terms_after_failure(
    machine: &dyn Machine,
    host: &dyn Host,
    options: &HookOptions,
    call: &Call<'_>,
) -> Terms {
    let marker = Marker::new(machine.world(), &options.dirs.state, call.session.as_deref());
    let layers = rules_in_force(machine, host, options, call).map_or_else(Vec::new, |rules| rules.layers);
    Terms { output: redaction::redacted(call, &layers, &marker), ..Terms::default() }
}

/// The same where not even our own directories are known: by default rules, with marks that need no key.
pub fn terms_without_options(call: &Call<'_>) -> Terms {
    Terms { output: redaction::redacted_plainly(call), ..Terms::default() }
}

/// The parameters of a call that are changed before it runs.
fn rewrites(
    machine: &dyn Machine,
    options: &HookOptions,
    decided: &Decided<'_>,
    draft: &Draft,
) -> Result<Vec<(String, String)>, Failure> {
    let Decided { call, surroundings, facts, verdict, .. } = *decided;
    let mut bound = bound_to_root(call, surroundings, facts, verdict);
    bound.extend(narrowed_search(decided));
    let launched = launched(machine, options, decided, draft, &bound).map_err(Failure::Launch)?;
    Ok(launched.map_or(bound, |launched| vec![launched]))
}

/// The command sent through `toolgate shell`, where it has to be contained, or where the settings want its output redacted on the
/// way.
fn launched(
    machine: &dyn Machine,
    options: &HookOptions,
    decided: &Decided<'_>,
    draft: &Draft,
    bound: &[(String, String)],
) -> io::Result<Option<(String, String)>> {
    let Decided { host, call, surroundings, facts, verdict } = *decided;
    let state = &options.dirs.state;
    if call.phase != Phase::Before || !verdict.decision().may_run() {
        return Ok(None);
    }
    let contained = if verdict.decision().contains() {
        Some(kept_terms(machine, &options.dirs, surroundings, &call.agent)?)
    } else {
        None
    };
    let wanted = redaction::wanted(&surroundings.rules.layers);
    // It was let run because its output is looked through, so it is, whatever the settings say of other commands.
    let shows = facts.iter().any(|facts| facts.redacts && shows_secrets_in_passing(facts));
    // A command that is contained is sent through us already; where nobody is asked about one, nobody has to read it. In a worktree that
    // Claude Code has made for a helper, it runs nothing that is sent through a file.
    let unasked = call.unattended && !is_of_isolated_helper(call, surroundings);
    let goes_by_itself = contained.is_some() || unasked;
    let late = host.spoils_changed_output(&call.tool) || host.keeps_failed_output(&call.tool);
    let redaction = ((wanted.wrap || shows || goes_by_itself) && late).then_some(wanted);
    let Some((param, command)) = command_member(call) else { return Ok(None) };
    if contained.is_none() && redaction.is_none() {
        return Ok(None);
    }
    // It may have been bound to a directory already.
    let command = bound.iter().find(|(changed, _)| changed == param).map_or(command, |(_, text)| text);
    let caller = Caller::of(draft.record());
    // The same for all calls of a session, where it is not for one alone.
    let caller = if contained.is_some() { caller } else { Caller { call: String::new(), ..caller } };
    let shared = facts.first().filter(|_| contained.is_some()).map(shared).unwrap_or_default();
    let start = surroundings.session.places.start.as_ref().filter(|_| contained.is_some());
    // Elsewhere no command can have moved it. By the name that has no links, since none is followed there.
    let root = surroundings.session.places.root.as_ref();
    let is_inside = |start: &Path| root.is_some_and(|root| start.starts_with(&root.physical));
    let start = start.map(|start| start.physical.clone()).filter(|start| is_inside(start));
    let line = match (Launch { contained, shared, start, redaction, caller }).line(machine, state) {
        // Without it the command runs as it stands, its output redacted where its host lets that be done.
        Err(_) if !verdict.decision().contains() && !shows => return Ok(None),
        line => line?,
    };
    Ok(Some((param.to_owned(), line.put_before(command))))
}

/// A search that names no directory is given the session's own, on a host that would go through others besides.
fn narrowed_search(decided: &Decided<'_>) -> Option<(String, String)> {
    let Decided { host, call, surroundings, verdict, .. } = *decided;
    let param = host.narrows_search(&call.tool)?;
    let is_named = call.input.get(param).is_some_and(|given| !matches!(given, Json::Null));
    if call.phase != Phase::Before || !verdict.decision().may_run() || is_named {
        return None;
    }
    let root = surroundings.session.places.root.as_ref()?;
    let cwd = call.cwd.as_deref().filter(|cwd| root.holds(Path::new(cwd)));
    Some((param.to_owned(), cwd.or(root.lexical.to_str())?.to_owned()))
}

/// Whether a helper calls to which the host has given a worktree of its own.
fn is_of_isolated_helper(call: &Call<'_>, surroundings: &Surroundings) -> bool {
    let cwd = call.cwd.as_deref().map(Path::new);
    let own = |cwd: &Path| surroundings.session.places.inner.iter().any(|place| place.holds(cwd));
    call.agent.id.is_some() && cwd.is_some_and(own)
}

/// The relative paths and the command of a call that is not denied, made absolute from the root and bound to it, where every layer of
/// the settings wants that. A pattern stays a pattern.
pub(crate) fn bound_to_root(
    call: &Call<'_>,
    surroundings: &Surroundings,
    facts: &[Facts<'_>],
    verdict: &Verdict,
) -> Vec<(String, String)> {
    // Who only observes changes nothing about a call.
    let is_bound = surroundings.binds_to_root && !verdict.decision().denies() && verdict.would().is_none();
    let Some(facts) = facts.first().filter(|_| is_bound) else {
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
