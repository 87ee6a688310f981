//! The line. A call goes one way, once:
//!
//! ```text
//! host JSON ─decode─▶ Call ─gather─▶ Surroundings ─observe─▶ Facts ─decide─▶ Verdict ─terms─▶ Terms ─encode─▶ Reply ─record─▶ ledger
//! ```
//!
//! Everything that comes from the process is in the [`Machine`]. What keeps a call from its verdict is a [`Failure`], and
//! every failure is a denial. The reply is encoded before it is recorded, and leaves after: so the log says what the host
//! heard.

use std::time::Instant;

use toolgate_evidence::{LedgerError, due};
use toolgate_model::{
    Action, Call, DecodeError, Facts, HooksStart, Host, Json, MAX_MESSAGE, Phase, Reply, Terms,
    UNASKED_ABOUT_ALL, Verdict, shorten,
};

use crate::approval::{self, heard};
use crate::counter::SessionCounter;
use crate::decide::decide;
use crate::failure::{DEADLINE, Failure, MAX_CALL, PATIENCE_WITH_LEDGER};
use crate::gather::{Surroundings, gather};
use crate::launch::LaunchLine;
use crate::machine::Machine;
use crate::noted::NOTES;
use crate::observe::observe;
use crate::options::HookOptions;
use crate::record;
use crate::redaction;
use crate::store::forget_old;
use crate::terms::{bound_to_root, terms, terms_after_failure, terms_without_options};
use crate::withheld;

/// Only the whole program can answer this event: settings have to be compiled, or a host's settings read.
#[derive(Debug)]
pub struct NeedsSetup;

/// A call that has been decided.
#[derive(Clone, Copy)]
pub struct Decided<'d> {
    /// The host that it came from.
    pub host: &'d dyn Host,
    /// The call.
    pub call: &'d Call<'d>,
    /// What surrounds it.
    pub surroundings: &'d Surroundings,
    /// What is known of it under each layer of settings.
    pub facts: &'d [Facts<'d>],
    /// What was decided.
    pub verdict: &'d Verdict,
}

/// Answers one event. `started` is when we were asked; from then on the deadline runs.
pub fn answer(
    machine: &dyn Machine,
    host: &dyn Host,
    options: &HookOptions,
    event: &[u8],
    started: Instant,
) -> Result<Reply, NeedsSetup> {
    let call = match decode(machine, host, options, event) {
        Ok(call) => call,
        Err(failure) => {
            return Ok(refuse_unread(machine, host, options, event, &failure, started + DEADLINE));
        }
    };
    if let Err(failure) = check_size(&call, event) {
        // Its texts are not kept: looking through them is what would take too long.
        let call = Call { action: Action::Nothing, input: Json::Null, ..call };
        return Ok(refuse(machine, host, options, Some(&call), &failure, started + DEADLINE));
    }
    match judge(machine, host, options, &call, event, started) {
        Ok(reply) => Ok(reply),
        Err(Failure::NeedsSetup) => Err(NeedsSetup),
        Err(failure) => Ok(refuse(machine, host, options, Some(&call), &failure, started + DEADLINE)),
    }
}

/// What comes before a call is judged only where that can be done in time.
pub fn check_size(call: &Call<'_>, event: &[u8]) -> Result<(), Failure> {
    if call.phase.stops() && event.len() > MAX_CALL { Err(Failure::TooLarge(MAX_CALL)) } else { Ok(()) }
}

/// Directories of our state whose files nobody needs after a month.
const KEPT_A_MONTH: [&str; 10] = [
    "sessions",
    "compiled",
    "tallies",
    "calls",
    redaction::MARKED,
    "contained/terms",
    NOTES,
    approval::PENDING,
    approval::ANSWERS,
    approval::USED,
];

/// From a call to its answer, in the order in which things happen.
fn judge(
    machine: &dyn Machine,
    host: &dyn Host,
    options: &HookOptions,
    call: &Call<'_>,
    event: &[u8],
    started: Instant,
) -> Result<Reply, Failure> {
    let mut counter = SessionCounter::locking(&options.dirs.state, call, started + PATIENCE_WITH_LEDGER);
    let surroundings = gather(machine, host, options, call, &mut counter)?;
    let facts = observe(machine, call, &surroundings);
    let verdict = decide(call, &surroundings, &facts, None);
    let verdict = heard(machine, options, call, &surroundings, &facts, verdict)?;
    let decided = Decided { host, call, surroundings: &surroundings, facts: &facts, verdict: &verdict };
    let draft = record::draft(machine, options, &decided, &mut counter)?;
    let code = approval::offer(machine, options, &decided, event);
    let terms = terms(machine, options, &decided, &draft, code.as_deref(), &mut counter)?;
    let reply = encode(&decided, &terms);
    if call.phase == Phase::Start {
        for name in KEPT_A_MONTH {
            forget_old(machine, &options.dirs.state.join(name));
        }
    }
    record::record(machine, &decided, draft, &terms, &reply, started, counter)?;
    // What a person has let through is sealed at once, and the key that could sign it otherwise is erased.
    if call.phase == Phase::End || verdict.approval().is_some() {
        due::hurry(&options.dirs.state);
    }
    Ok(reply)
}

/// What was decided about a call, and the parameters that would be changed before it runs.
#[derive(Debug)]
pub struct Considered {
    /// What was decided.
    pub verdict: Verdict,
    /// Each changed parameter with its new text.
    pub rewrites: Vec<(String, String)>,
}

/// Decides a call whose surroundings are known, and records nothing.
pub fn consider(machine: &dyn Machine, call: &Call<'_>, surroundings: &Surroundings) -> Considered {
    let facts = observe(machine, call, surroundings);
    let verdict = decide(call, surroundings, &facts, None);
    let rewrites = bound_to_root(call, surroundings, &facts, &verdict);
    Considered { verdict, rewrites }
}

/// Reads an event into a call, as it was before we changed it.
pub fn decode<'a>(
    machine: &dyn Machine,
    host: &dyn Host,
    options: &'a HookOptions,
    event: &'a [u8],
) -> Result<Call<'a>, Failure> {
    let mut call = host.decode(options.event.as_deref(), event).map_err(Failure::Decode)?;
    call.shortened = call.phase == Phase::After && withheld::is_shortened(event);
    if call.cwd.is_none() && host.hooks_start() == HooksStart::WithTheCall {
        let directory = machine.directory();
        call.cwd = directory.and_then(|directory| directory.to_str().map(|cwd| cwd.to_owned().into()));
    }
    if call.phase == Phase::Before && host.needs_terminal_to_ask() && !machine.has_terminal() {
        call.unasked = UNASKED_ABOUT_ALL;
    }
    Ok(LaunchLine::as_first_sent(&options.dirs.state, &call).unwrap_or(call))
}

/// Says it in the host's words: a verdict where something can still be stopped, and what is said besides where not.
fn encode(decided: &Decided<'_>, terms: &Terms) -> Reply {
    let Decided { host, call, verdict, .. } = *decided;
    if call.phase.stops() { host.encode(call, verdict, terms) } else { host.tell(call, terms) }
}

/// Refuses an event that cannot be judged, and says so in the log where that can still be done: the refusal stands either
/// way. `call` is `None` where not even the event could be read.
pub fn refuse(
    machine: &dyn Machine,
    host: &dyn Host,
    options: &HookOptions,
    call: Option<&Call<'_>>,
    failure: &Failure,
    deadline: Instant,
) -> Reply {
    let told = call.filter(|call| call.output.is_some());
    let told = told.map(|call| (call, terms_after_failure(machine, host, options, call)));
    refuse_with(machine, host, options, (call, told), failure, deadline)
}

/// Refuses an event that cannot be read. What a tool gave back is withheld in the shape in which it came, as far as that can be told from
/// what came of the event.
pub fn refuse_unread(
    machine: &dyn Machine,
    host: &dyn Host,
    options: &HookOptions,
    event: &[u8],
    failure: &Failure,
    deadline: Instant,
) -> Reply {
    let small = withheld::small(event).unwrap_or_default();
    let call = withheld::call(host, options.event.as_deref(), &small);
    let told = call.as_ref().and_then(|call| Some((call, withheld::terms(call, failure)?)));
    refuse_with(machine, host, options, (call.as_ref(), told), failure, deadline)
}

fn refuse_with(
    machine: &dyn Machine,
    host: &dyn Host,
    options: &HookOptions,
    (call, told): (Option<&Call<'_>>, Option<(&Call<'_>, Terms)>),
    failure: &Failure,
    deadline: Instant,
) -> Reply {
    let (reply, redacted) = match told {
        Some((call, terms)) => (host.tell(call, &terms), terms.output.map_or(0, |output| output.count)),
        None => {
            // An event that is about a tool under a name that we do not know may be the one that stops it.
            let is_strange = matches!(failure, Failure::Decode(DecodeError::UnknownEvent));
            let named = options.event.as_deref().filter(|_| !is_strange);
            let named = || named.map(|event| host.phase(event));
            (refusal(host, call.map(|call| call.phase).or_else(named), failure), 0)
        }
    };
    let is_busy = matches!(failure, Failure::Ledger(LedgerError::Busy { .. }));
    // Where others held the lock too long, they may be done by now; a ledger that is broken stays broken.
    if is_busy || !matches!(failure, Failure::Ledger(_)) {
        let deadline = if is_busy { machine.instant() } else { deadline };
        let draft = record::failure(machine, options, host.id(), call, failure, (&reply, redacted));
        record::refusal(machine, &options.dirs.state, call, draft, deadline);
    }
    reply
}

/// Refuses an event whose registered line cannot be used, so that nothing can be recorded. What a tool gave back is looked
/// through by default rules.
pub fn refuse_unrecorded(host: &dyn Host, named: Option<&str>, event: &[u8], failure: &Failure) -> Reply {
    let call = host.decode(named, event).ok();
    let call = call.map(|call| Call { shortened: withheld::is_shortened(event), ..call });
    match call.as_ref().filter(|call| call.output.is_some()) {
        Some(call) => host.tell(call, &terms_without_options(call)),
        None => {
            if let Some(reply) = withheld::reply(host, named, event, failure) {
                return reply;
            }
            let named = || named.map(|event| host.phase(event));
            refusal(host, call.as_ref().map(|call| call.phase).or_else(named), failure)
        }
    }
}

/// The last answer to an event of which there is no more to be had than this: what a tool gave back is withheld, all else is refused.
pub fn last_words(
    host: &dyn Host,
    named: Option<&str>,
    phase: Option<Phase>,
    event: &[u8],
    failure: &Failure,
) -> Reply {
    let withheld = if phase.is_none_or(|phase| phase == Phase::After) {
        withheld::reply(host, named, event, failure)
    } else {
        None
    };
    withheld.unwrap_or_else(|| refusal(host, phase, failure))
}

/// The refusal alone, for somebody who has no record to write to.
pub fn refusal(host: &dyn Host, phase: Option<Phase>, failure: &Failure) -> Reply {
    host.refuse(phase, &shorten(&denial(failure), MAX_MESSAGE))
}

/// What a refusal says.
pub fn denial(why: impl std::fmt::Display) -> String {
    format!("toolgate cannot judge this call, so it is denied: {why}")
}
