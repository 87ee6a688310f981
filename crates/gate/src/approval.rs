//! What a person has said about a call that was stopped: how the hook asks for it, and how it hears it.
//!
//! Against whom: an agent that would approve its own calls. It only gets a code, with which it can do nothing: an approval is a
//! signed statement in the state directory, which no agent may write. It is for one call: the same session, agent, tool, directory and
//! input, to the byte. It lets pass what the person was shown, and nothing else.
//!
//! A call without an objection costs nothing here. A stopped call costs one lookup, and the note by which a person finds it.
//! The note holds the whole event, since a person must see what would run. Only its owner can read it, it is short-lived, and toolgate makes
//! none if the event holds a secret.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use toolgate_evidence::Digest;
use toolgate_model::{
    Action, ActivationState, Approval, Call, Facts, Json, Objection, PersonsWord, Phase, Require, TeamPhase,
    Verdict,
};
use toolgate_secrets::redact;

use crate::decide::decide;
use crate::dirs::Dirs;
use crate::failure::Failure;
use crate::gather::Surroundings;
use crate::line::Decided;
use crate::machine::Machine;
use crate::options::{HookOptions, SessionOptions};
use crate::store::{keep_newest, name_for, take, write_private};
use crate::team::caller;

/// A call waits so long for a person's word; a rejection holds so long.
pub const LONGEST: Duration = Duration::from_hours(8);
/// So many calls wait at most; the oldest goes first.
pub const MOST_PENDING: usize = 64;
/// An approval is for so many calls at most.
pub const MOST_USES: u32 = 20;
/// A larger event is not kept, and has no code: nobody would read it.
const LONGEST_EVENT: usize = 256 * 1024;
/// The event, its objections, and what JSON makes of them.
const LONGEST_NOTE: usize = 4 * LONGEST_EVENT;
/// A person's answer: the objections, signed.
const LONGEST_ANSWER: usize = 256 * 1024;

/// Below the state directory: calls that wait.
pub const PENDING: &str = "approvals/pending";
/// Below the state directory: what people have said.
pub const ANSWERS: &str = "approvals/answers";
/// Below the state directory: the uses of approvals.
pub const USED: &str = "approvals/used";
/// Below the state directory: calls that an approval has let through, by what their hosts may ask permission for next.
const PASSING: &str = "approvals/passing";
/// So many of these are kept; the oldest goes first.
const MOST_PASSING: usize = 256;

/// What an approval is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// The host's id.
    pub host: String,
    /// The host's id of the session.
    pub session: String,
    /// Who calls.
    pub agent: String,
    /// The tool.
    pub tool: String,
    /// The directory in which the call starts.
    pub cwd: String,
    /// The directory that the session is confined to.
    pub root: String,
    /// The digest of the tool's input: `sha256:…`.
    pub input: String,
    /// The digest of what the host says that the call does, which need not be in its input: `sha256:…`.
    pub action: String,
}

impl Subject {
    /// What this call is; `None` where it cannot be told from others.
    pub fn of(call: &Call<'_>, surroundings: &Surroundings) -> Option<Subject> {
        let input = serde_json::to_vec(&call.input).ok()?;
        let root = surroundings.session.places.root.as_ref();
        Some(Subject {
            host: call.host.to_owned(),
            session: call.session.as_deref().filter(|session| !session.is_empty())?.to_owned(),
            agent: caller(call, &surroundings.team.member).as_str().to_owned(),
            tool: call.tool.to_string(),
            cwd: call.cwd.as_deref().unwrap_or_default().to_owned(),
            root: root.and_then(|root| root.lexical.to_str()).unwrap_or_default().to_owned(),
            input: Digest::of(&input).to_string(),
            action: action_of(call),
        })
    }

    /// The name of its files: one for each subject, and no other has it.
    pub fn name(&self) -> Option<String> {
        serde_json::to_vec(self).ok().map(|bytes| name_for(&bytes, 64))
    }
}

/// The digest of what a call does by its host's word.
pub fn action_of(call: &Call<'_>) -> String {
    Digest::of(action_text(call).as_bytes()).to_string()
}

/// What a call does by its host's word, as a text.
pub fn action_text(call: &Call<'_>) -> String {
    format!("{:?}", call.action)
}

/// What a host may ask permission for once this call was announced. Some ask in other words than they announced it, and file by file: the
/// tool and its parameters have other names then.
fn permissions(subject: &Subject, call: &Call<'_>) -> Vec<String> {
    let texts = match &call.action {
        Action::Shell { command: Some(command), .. } => vec![format!("shell {command}")],
        Action::Files(files) => files.iter().map(|file| format!("file {:?}", file.path)).collect(),
        _ => vec![format!("input {}", subject.input)],
    };
    let Subject { host, session, agent, root, .. } = subject;
    let name = |text: String| name_for(format!("{:?}", [host, session, agent, root, &text]).as_bytes(), 64);
    texts.into_iter().map(name).collect()
}

/// Notes that an approval has let this call through, for when its host asks permission for it.
fn note_passing(state: &Path, subject: &Subject, call: &Call<'_>) {
    let directory = state.join(PASSING);
    // Without the note the permission is denied, and the person is asked again.
    let Ok(bytes) = serde_json::to_vec(subject) else { return };
    for name in permissions(subject, call) {
        let _ = write_private(&directory.join(name), &bytes);
    }
    keep_newest(&directory, MOST_PASSING);
}

/// The call that was announced and approved, and that its host now asks permission for in these words.
fn announced(machine: &dyn Machine, state: &Path, subject: &Subject, call: &Call<'_>) -> Option<Subject> {
    let read = |name: String| {
        let bytes = machine.world().read(&state.join(PASSING).join(name), LONGEST_NOTE).ok()?;
        serde_json::from_slice::<Subject>(&bytes).ok()
    };
    let mut subjects = permissions(subject, call).into_iter().map(read);
    let first = subjects.next()??;
    subjects.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

/// A call that waits for a person's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    /// What a person names it by.
    pub code: String,
    /// When it was stopped, in seconds since 1970.
    pub time: u64,
    /// What it is.
    pub subject: Subject,
    /// What was objected to it.
    pub objections: Vec<Objection>,
    /// The strictest objection, as the agent read it.
    pub message: String,
    /// The host's event, as it came.
    event: String,
    /// What the registration said.
    line: Line,
}

/// What the registered command line said, as far as it decides how a call is judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    profile: Option<String>,
    agent: Option<String>,
    role: Option<String>,
    phase: Option<String>,
    event: Option<String>,
    mode: Option<String>,
    trusted: Option<bool>,
}

impl Pending {
    /// The event, as the host sent it.
    pub fn event(&self) -> &[u8] {
        self.event.as_bytes()
    }

    /// The options that it was judged with, in these directories.
    pub fn options(&self, dirs: &Dirs) -> HookOptions {
        let line = self.line.clone();
        let root = Some(&self.subject.root).filter(|root| !root.is_empty());
        HookOptions {
            dirs: dirs.clone(),
            profile: line.profile,
            session: SessionOptions {
                root: root.map(PathBuf::from),
                agent: line.agent,
                role: line.role,
                phase: line.phase.as_deref().and_then(TeamPhase::of),
            },
            activation: ActivationState { trusted: line.trusted, mode: line.mode, paused: false },
            event: line.event,
        }
    }

    fn is_over(&self, now: SystemTime) -> bool {
        let age = seconds(now).checked_sub(self.time);
        // A note from the future is none of ours.
        age.is_none_or(|age| age > LONGEST.as_secs())
    }

    /// All that wait, the newest first. What cannot be read waits for nobody.
    pub fn all(machine: &dyn Machine, dirs: &Dirs) -> io::Result<Vec<Pending>> {
        let directory = dirs.state.join(PENDING);
        let entries = match machine.world().entries(&directory, 4 * MOST_PENDING) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?.unwrap_or_default(),
        };
        let read = |path: &Path| machine.world().read(path, LONGEST_NOTE).ok();
        let notes = entries.iter().filter_map(|entry| read(&entry.path));
        let pending = notes.filter_map(|bytes| serde_json::from_slice::<Pending>(&bytes).ok());
        let mut pending: Vec<Pending> = pending.filter(|pending| !pending.is_over(machine.now())).collect();
        pending.sort_by(|one, other| (other.time, &other.code).cmp(&(one.time, &one.code)));
        pending.truncate(MOST_PENDING);
        Ok(pending)
    }

    /// The one with this code, however it is written.
    pub fn find(machine: &dyn Machine, dirs: &Dirs, code: &str) -> io::Result<Option<Pending>> {
        let plain = |code: &str| code.replace(['-', ' '], "").to_ascii_uppercase();
        let wanted = plain(code);
        Ok(Pending::all(machine, dirs)?.into_iter().find(|pending| plain(&pending.code) == wanted))
    }
}

/// A call that a person does not want.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rejection {
    rejected_by: String,
    note: String,
    until: u64,
}

/// An approval that was verified, before a use of it is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The approval, its use not taken.
    pub approval: Approval,
    /// For how many calls it is.
    pub uses: u32,
}

/// Puts down what a person has said about a call, and that it does not wait any more.
pub fn answer(dirs: &Dirs, pending: &Pending, bytes: &[u8]) -> io::Result<()> {
    let name = pending.subject.name().ok_or(io::ErrorKind::InvalidData)?;
    write_private(&dirs.state.join(ANSWERS).join(&name), bytes)?;
    crate::store::remove(&dirs.state.join(PENDING).join(name)).map(|_| ())
}

/// Rejects a call: `note` is what the agent reads when it tries again.
pub fn reject(dirs: &Dirs, pending: &Pending, by: &str, note: &str, now: SystemTime) -> io::Result<()> {
    let until = seconds(now).saturating_add(LONGEST.as_secs());
    let rejection = Rejection { rejected_by: by.to_owned(), note: note.to_owned(), until };
    answer(dirs, pending, &serde_json::to_vec(&rejection).map_err(io::Error::other)?)
}

/// The verdict, once a person's word about this very call has been heard. Asks for one only where something is objected that a person
/// could let pass.
///
/// INVARIANT: a use is taken before anybody hears that the call may run, and each once. Of two identical calls at once, one has it.
pub(crate) fn heard(
    machine: &dyn Machine,
    options: &HookOptions,
    call: &Call<'_>,
    surroundings: &Surroundings,
    facts: &[Facts<'_>],
    verdict: Verdict,
) -> Result<Verdict, Failure> {
    let is_asked = matches!(call.phase, Phase::Before | Phase::Permission);
    if !is_asked || !verdict.is_approvable() {
        return Ok(verdict);
    }
    let Some(mut subject) = Subject::of(call, surroundings) else { return Ok(verdict) };
    let state = &options.dirs.state;
    let answer = |subject: &Subject| {
        machine.world().read(&state.join(ANSWERS).join(subject.name()?), LONGEST_ANSWER).ok()
    };
    // The one look. What is not there or cannot be read lets nothing pass.
    let mut answered = answer(&subject);
    if answered.is_none()
        && call.phase == Phase::Permission
        && let Some(announced) = announced(machine, state, &subject, call)
    {
        answered = answer(&announced);
        subject = announced;
    }
    let Some(bytes) = answered else { return Ok(verdict) };
    let hearing = |word: &PersonsWord| decide(call, surroundings, facts, Some(word));
    if let Ok(rejection) = serde_json::from_slice::<Rejection>(&bytes) {
        let Rejection { rejected_by: by, note, until } = rejection;
        let holds = until > seconds(machine.now());
        return Ok(if holds { hearing(&PersonsWord::Rejected { by, note }) } else { verdict });
    }
    let setup = machine.setup().ok_or(Failure::NeedsSetup)?;
    let Some(Verified { mut approval, uses }) = setup.approval(machine, &options.dirs, &subject, &bytes)
    else {
        return Ok(verdict);
    };
    if call.phase == Phase::Permission {
        // The parameters of a permission have other names, and what is objected to is the same.
        let objected = verdict.findings().iter().map(Objection::of);
        let renamed = objected.filter(|own| approval.objections.iter().any(|shown| shown.is_about(own)));
        let renamed: Vec<Objection> = renamed.collect();
        approval.objections.extend(renamed);
    }
    let mut word = PersonsWord::Approved(approval.clone());
    if hearing(&word).approval().is_none() {
        return Ok(verdict);
    }
    // The host asks for permission after the call was announced, and that took the use.
    if call.phase == Phase::Before {
        let Some(number) = taken(state, &approval.nonce, uses) else { return Ok(verdict) };
        note_passing(state, &subject, call);
        word = PersonsWord::Approved(Approval { number, ..approval });
    }
    Ok(hearing(&word))
}

/// Takes a use of an approval, and says which. `None` where none is left, or where nobody could tell later that it was taken.
fn taken(state: &Path, nonce: &str, uses: u32) -> Option<u32> {
    let directory = state.join(USED);
    let is_taken_by_us = |number: &u32| take(&directory.join(format!("{nonce}.{number}"))).unwrap_or(false);
    (1..=uses.min(MOST_USES)).find(is_taken_by_us)
}

/// Notes a call that was stopped and that a person could let through, and gives the code for it.
pub(crate) fn offer(
    machine: &dyn Machine,
    options: &HookOptions,
    decided: &Decided<'_>,
    event: &[u8],
) -> Option<String> {
    let Decided { call, surroundings, verdict, .. } = *decided;
    let is_asked = matches!(call.phase, Phase::Before | Phase::Permission);
    if !is_asked || !verdict.is_approvable() || event.len() > LONGEST_EVENT {
        return None;
    }
    let objecting = verdict.findings().iter().filter(|finding| finding.decision.objects());
    let objections: Vec<Objection> = objecting.map(Objection::of).collect();
    if required(surroundings, &objections) == Require::Nobody {
        return None;
    }
    let event = std::str::from_utf8(event).ok()?;
    // INVARIANT: no secret reaches the disk. What is kept has to be what was sent, so a call that holds one is not kept.
    if redact(event).as_str() != event || holds_secret("", &call.input) {
        return None;
    }
    let subject = Subject::of(call, surroundings)?;
    let directory = options.dirs.state.join(PENDING);
    let file = directory.join(subject.name()?);
    let known = machine.world().read(&file, LONGEST_NOTE).ok();
    let known = known.and_then(|bytes| serde_json::from_slice::<Pending>(&bytes).ok());
    let is_same = |known: &Pending| known.objections == objections && !known.is_over(machine.now());
    if let Some(known) = known.filter(is_same) {
        return Some(known.code);
    }
    let HookOptions { profile, session, activation, event: named, .. } = options;
    let pending = Pending {
        code: code()?,
        time: seconds(machine.now()),
        subject,
        objections,
        message: redact(&verdict.message().unwrap_or_default()).into_string(),
        event: event.to_owned(),
        line: Line {
            profile: profile.clone(),
            agent: session.agent.clone(),
            role: session.role.clone(),
            phase: session.phase.map(|phase| phase.word().to_owned()),
            event: named.clone(),
            mode: activation.mode.clone(),
            trusted: activation.trusted,
        },
    };
    write_private(&file, &serde_json::to_vec(&pending).ok()?).ok()?;
    keep_newest(&directory, MOST_PENDING);
    Some(pending.code)
}

/// Whether a value of a tool's input looks like a secret, or has the name of one.
fn holds_secret(name: &str, value: &Json<'_>) -> bool {
    match value {
        Json::Text(text) => redact(text).named(name).as_str() != &**text,
        Json::List(values) => values.iter().any(|value| holds_secret(name, value)),
        Json::Object(members) => members.iter().any(|(name, value)| holds_secret(name, value)),
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::Big(_) | Json::Float(_) => false,
    }
}

/// What it takes to let all of these pass under every layer of the settings.
pub fn required(surroundings: &Surroundings, objections: &[Objection]) -> Require {
    let layers = surroundings.rules.layers.iter();
    let each = layers.flat_map(|layer| {
        objections.iter().map(|objection| layer.approval.required_for(&objection.policy, &objection.rule))
    });
    each.max().unwrap_or(Require::Nobody)
}

/// Forty random bits, in letters and digits that nobody mistakes for others.
fn code() -> Option<String> {
    const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let mut random = [0; 8];
    toolgate_evidence::random::fill_with_random(&mut random).ok()?;
    let letter = |byte: &u8| LETTERS.get(usize::from(byte % 32)).copied().map(char::from);
    let letters: String = random.iter().filter_map(letter).collect();
    let (start, end) = letters.split_at_checked(4)?;
    Some(format!("{start}-{end}"))
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
