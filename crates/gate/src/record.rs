//! What of a call goes into the log: what it named, never what it carried.

use std::borrow::Cow;
use std::path::Path;
use std::time::{Duration, Instant};

use toolgate_evidence::{Digest, Draft, Ledger};
use toolgate_model::{
    Call, Decision, FindingKind, Json, MAX_MESSAGE, Places, Reply, Terms, Verdict, shorten,
};
use toolgate_secrets::redact;

use crate::canary::is_canary;
use crate::counter::SessionCounter;
use crate::counting::counted;
use crate::dirs::user_name;
use crate::failure::{DEADLINE, Failure, PATIENCE_WITH_LEDGER};
use crate::line::Decided;
use crate::machine::Machine;
use crate::notices::write_team_log;
use crate::options::HookOptions;
use crate::team::caller;

/// Parameters that say what a call is about. Contents, prompts and answers are not among them: they are in the
/// digest of the input, and nowhere else.
const NAMING: &[&str] = &[
    "agent",
    "cell_id",
    "cmd",
    "command",
    "cron",
    "cwd",
    "description",
    "dest",
    "destination",
    "dir_path",
    "directory",
    "file",
    "filePath",
    "file_path",
    "filename",
    "glob",
    "name",
    "notebook_path",
    "path",
    "pattern",
    "query",
    "scriptPath",
    "skill",
    "source",
    "subagent_type",
    "target_file",
    "uri",
    "url",
    "workdir",
];

/// What will be recorded of a decided call, but for its answer.
pub fn draft(
    machine: &dyn Machine,
    options: &HookOptions,
    decided: &Decided<'_>,
    counter: &mut SessionCounter,
) -> Result<Draft, Failure> {
    let Decided { call, surroundings, verdict, .. } = *decided;
    let draft = of_verdict(machine, &options.dirs.state, call, verdict, &surroundings.session.places)
        .agent(caller(call, &surroundings.team.member))
        .user(redact(&surroundings.session.user))
        .rules(&surroundings.rules.digest);
    let words = counted(decided, counter).map_err(Failure::Ledger)?;
    Ok(words.into_iter().fold(draft, Draft::counting))
}

/// What is recorded of a call and its verdict, whoever made it and whatever was answered.
pub fn of_verdict(
    machine: &dyn Machine,
    state: &Path,
    call: &Call<'_>,
    verdict: &Verdict,
    places: &Places,
) -> Draft {
    let mut draft = about(machine, state, call).verdict(verdict);
    if let Some(root) = &places.root {
        draft = draft.root(redact(&root.lexical.to_string_lossy()));
    }
    match &call.cwd {
        Some(cwd) => draft.cwd(redact(cwd)),
        None => draft,
    }
}

/// Records a decided call with its answer, before that leaves. A call that is late is not recorded as decided: its answer
/// is a refusal.
pub fn record(
    machine: &dyn Machine,
    decided: &Decided<'_>,
    draft: Draft,
    terms: &Terms,
    reply: &Reply,
    started: Instant,
    counter: SessionCounter,
) -> Result<(), Failure> {
    let redacted = terms.output.as_ref().map_or(0, |output| output.count);
    let took = machine.instant().saturating_duration_since(started);
    let draft = draft.answer(reply.answer).redacted(redacted).took(took);
    let denied = terms.denied_inside.iter();
    let draft = denied.fold(draft, |draft, denied| draft.denied_inside(redact(denied)));
    // Nothing that can hang comes between the record and the answer.
    write_team_log(machine, decided);
    let deadline = started + DEADLINE;
    let withdrawn = || machine.instant() > deadline || !machine.claim_answer();
    let patience = started + PATIENCE_WITH_LEDGER;
    if !counter.append_unless(draft, patience, withdrawn).map_err(Failure::Ledger)? {
        return Err(Failure::Deadline);
    }
    Ok(())
}

/// Records a refusal, where that can be done. The refusal itself does not depend on it.
///
/// Through the session's tally, so that it counts; past it where the tally cannot be had. A refusal often comes late, so it has
/// a moment of its own to wait for others: less than the host waits for us.
pub(crate) fn refusal(
    machine: &dyn Machine,
    state: &Path,
    call: Option<&Call<'_>>,
    draft: Draft,
    deadline: Instant,
) {
    const PATIENCE: Duration = Duration::from_millis(300);
    let until = || deadline.max(machine.instant() + PATIENCE);
    if let Some(call) = call {
        let mut counter = SessionCounter::locking(state, call, until());
        if counter.counts().is_ok() && counter.append_unless(draft.clone(), until(), || false).is_ok() {
            return;
        }
    }
    let _ = Ledger::at(state).append(draft, until());
}

/// The record of a call that could not be judged; `None` where not even the event could be read.
pub fn failure(
    machine: &dyn Machine,
    options: &HookOptions,
    host: &'static str,
    call: Option<&Call<'_>>,
    failure: &Failure,
    (reply, redacted): (&Reply, usize),
) -> Draft {
    let draft = match call {
        Some(call) => about(machine, &options.dirs.state, call),
        None => by_whom(machine, Draft::new(machine.now(), host, redact("unreadable"))),
    };
    let message = redact(&shorten(&failure.to_string(), MAX_MESSAGE));
    draft
        .user(redact(&user_name(machine)))
        .decision(Decision::Deny)
        .finding("failure", FindingKind::Failure, Decision::Deny, redact(""), message)
        .answer(reply.answer)
        .redacted(redacted)
}

fn by_whom(machine: &dyn Machine, draft: Draft) -> Draft {
    draft.machine(redact(&machine.name())).toolgate(env!("CARGO_PKG_VERSION"))
}

/// What the call itself says.
fn about(machine: &dyn Machine, state: &Path, call: &Call<'_>) -> Draft {
    let text = |text: Option<&str>| redact(text.unwrap_or_default());
    let mut draft = by_whom(machine, Draft::new(machine.now(), call.host, redact(&call.event)))
        .session(text(call.session.as_deref()))
        .agent(text(call.agent.id.as_deref().or(call.agent.kind.as_deref())))
        .tool(redact(&call.tool));
    if is_canary(machine, state, call) {
        draft = draft.canary();
    }
    let mut digest = None;
    if let Json::Object(members) = &call.input {
        for (name, value) in members {
            if let (true, Json::Text(value)) = (NAMING.contains(&&**name), value) {
                draft = draft.arg(redact(name), redact(value));
            }
        }
        digest = serde_json::to_vec(&call.input).ok().map(|input| Digest::of(&input));
    }
    if let Some(id) = id_of(call, digest.as_ref()) {
        draft = draft.call(redact(&id));
    }
    match digest {
        Some(digest) => draft.input(digest),
        None => draft,
    }
}

/// The call's id: the host's own, or one that stands for the tool's input, which is the same before and after the call.
fn id_of<'c>(call: &'c Call<'_>, input: Option<&Digest>) -> Option<Cow<'c, str>> {
    /// Enough to tell a session's calls apart.
    const DIGITS: usize = 16;
    let own = call.id.as_deref().map(Cow::Borrowed);
    own.or_else(|| input.map(|input| Cow::Owned(input.hex().chars().take(DIGITS).collect())))
}
