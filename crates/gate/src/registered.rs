//! A registration that has gone while a session runs: the next call that still reaches us says so.
//!
//! Against whom: a program, or a person by mistake, that takes our hooks out of a host's settings. The host says nothing, and the next
//! session runs unjudged. Looked at when a session begins, when its user speaks, and once a minute after an answer is out. What is found then
//! is told with the next call, by a note that every call reads anyway: an ordinary call pays nothing for it.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toolgate_evidence::{Draft, Ledger};
use toolgate_model::{Call, Host, Phase, Places};
use toolgate_secrets::redact;

use crate::dirs::Dirs;
use crate::failure::DEADLINE;
use crate::gather::{Surroundings, session_of};
use crate::line::decode;
use crate::machine::Machine;
use crate::options::HookOptions;
use crate::pause;

/// The note of registrations holds every file as it was before.
const MAX_NOTE: usize = 64 * 1024 * 1024;
/// Nobody has settings of this size.
const MAX_SETTINGS: usize = 16 * 1024 * 1024;

/// What every registration of ours names.
const OWN: &[u8] = b"toolgate";

/// As far as it is needed here of what `toolgate init` has noted.
#[derive(Deserialize)]
struct Note {
    registrations: Vec<Registered>,
}

#[derive(Deserialize)]
struct Registered {
    host: String,
    #[serde(default)]
    project: Option<PathBuf>,
    file: PathBuf,
}

/// What the user is told of the files in which we are not registered any more.
pub(crate) fn lost(
    machine: &dyn Machine,
    dirs: &Dirs,
    call: &Call<'_>,
    surroundings: &Surroundings,
) -> Vec<String> {
    let places = &surroundings.session.places;
    let found = match call.phase {
        Phase::Start | Phase::Prompt => gone(machine, dirs, call.host, places),
        Phase::Before
        | Phase::Permission
        | Phase::After
        | Phase::Config
        | Phase::End
        | Phase::Error
        | Phase::Other => surroundings.lost.clone(),
    };
    if !surroundings.lost.is_empty() {
        // The next look leaves it again, while it holds.
        pause::forget_lost(dirs, places);
    }
    let told = found.iter().map(|file| {
        format!(
            "\u{26a0}\u{fe0f} toolgate is no longer registered in `{file}`: calls may run without being judged. Run `toolgate doctor`, and \
             `toolgate init` to register it again."
        )
    });
    told.collect()
}

/// Looks after an answer is out, and leaves what it finds for the next call. `event`: what was answered.
pub fn look_after_answer(machine: &dyn Machine, host: &dyn Host, options: &HookOptions, event: &[u8]) {
    let Ok(call) = decode(machine, host, options, event) else { return };
    let Ok(session) = session_of(machine, host, options, &call) else { return };
    let (dirs, places) = (&options.dirs, &session.places);
    let gone = gone(machine, dirs, host.id(), places);
    let known = pause::note_of(machine, dirs, places).lost;
    if gone.is_empty() {
        if !known.is_empty() {
            pause::forget_lost(dirs, places);
        }
        return;
    }
    if known == gone || pause::note_lost(machine, dirs, places, &gone).is_err() {
        return;
    }
    let event = redact("security-warning: registration lost");
    let draft = Draft::new(machine.now(), host.id(), event).arg(redact("file"), redact(&gone.join(", ")));
    // It is told in any case.
    let _ = Ledger::at(&dirs.state).append(draft, machine.instant() + DEADLINE);
}

/// The files in which this host has our registration no more, as far as they concern a session in these places.
fn gone(machine: &dyn Machine, dirs: &Dirs, host: &str, places: &Places) -> Vec<String> {
    let world = machine.world();
    let note = world.read(&dirs.state.join("registrations.json"), MAX_NOTE).ok();
    let Some(note) = note.and_then(|bytes| serde_json::from_slice::<Note>(&bytes).ok()) else {
        return Vec::new();
    };
    let is_here = |project: &Path| places.root.as_ref().is_some_and(|root| root.holds(project));
    let concerns = |one: &&Registered| one.host == host && one.project.as_deref().is_none_or(is_here);
    let names_us = |file: &Path| {
        world.read(file, MAX_SETTINGS).is_ok_and(|text| text.windows(OWN.len()).any(|part| part == OWN))
    };
    let gone = note.registrations.iter().filter(concerns).filter(|one| !names_us(&one.file));
    gone.map(|one| one.file.display().to_string()).collect()
}
