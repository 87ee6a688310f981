//! A registration that has gone while a session runs: the next call that still reaches us says so.
//!
//! Against whom: a program, or a person by mistake, that takes our hooks out of a host's settings. The host says nothing, and the next
//! session runs unjudged. Or that takes out some of them: those that judge, and leaves those that only tell. Looked at when a session begins, when
//! its user speaks, when a settings file has another time than at the session's last event, and once a minute after an answer is out. What is
//! found then is told with the next call, by a note that every call reads anyway: an ordinary call pays one look at the time of each file.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toolgate_evidence::{Draft, Ledger};
use toolgate_model::{Call, Host, Phase, Places, World};
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
    /// The word by which init has named us there, and how often; notes of earlier versions do not say.
    #[serde(default)]
    mark: String,
    #[serde(default)]
    marks: usize,
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
        Phase::Start | Phase::Prompt => gone(machine.world(), dirs, call.host, places),
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
            "\u{26a0}\u{fe0f} toolgate is no longer registered in `{file}` as `toolgate init` wrote it: calls may run without being judged. Run `toolgate doctor`, and \
             `toolgate init` to register it again."
        )
    });
    told.collect()
}

/// Looks after an answer is out, and leaves what it finds for the next call. `event`: what was answered.
pub fn look_after_answer(machine: &dyn Machine, host: &dyn Host, options: &HookOptions, event: &[u8]) {
    let Ok(call) = decode(machine, host, options, event) else { return };
    let Ok(session) = session_of(machine, host, options, &call) else { return };
    look(machine, &options.dirs, host.id(), &session.places);
}

/// Leaves what it finds for the next call that reads the note.
pub(crate) fn look(machine: &dyn Machine, dirs: &Dirs, host: &'static str, places: &Places) {
    let gone = gone(machine.world(), dirs, host, places);
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
    let draft = Draft::new(machine.now(), host, event).arg(redact("file"), redact(&gone.join(", ")));
    // It is told in any case.
    let _ = Ledger::at(&dirs.state).append(draft, machine.instant() + DEADLINE);
}

/// The files in which this host has our registration no more, or not all of it, as far as they concern a session in these places.
fn gone(world: &dyn World, dirs: &Dirs, host: &str, places: &Places) -> Vec<String> {
    let names_us = |one: &Registered| {
        let text = world.read(&one.file, MAX_SETTINGS).unwrap_or_default();
        let mark = if one.mark.is_empty() { OWN } else { one.mark.as_bytes() };
        text.windows(mark.len()).filter(|part| *part == mark).count() >= one.marks.max(1)
    };
    let gone = noted(world, dirs, host, places).into_iter().filter(|one| !names_us(one));
    gone.map(|one| one.file.display().to_string()).collect()
}

/// The settings files in which this host should have our registration, as far as they concern a session in these places.
pub(crate) fn files(world: &dyn World, dirs: &Dirs, host: &str, places: &Places) -> Vec<PathBuf> {
    noted(world, dirs, host, places).into_iter().map(|one| one.file).collect()
}

fn noted(world: &dyn World, dirs: &Dirs, host: &str, places: &Places) -> Vec<Registered> {
    let note = world.read(&dirs.state.join("registrations.json"), MAX_NOTE).ok();
    let Some(note) = note.and_then(|bytes| serde_json::from_slice::<Note>(&bytes).ok()) else {
        return Vec::new();
    };
    let is_here = |project: &Path| places.root.as_ref().is_some_and(|root| root.holds(project));
    let concerns = |one: &Registered| one.host == host && one.project.as_deref().is_none_or(is_here);
    note.registrations.into_iter().filter(concerns).collect()
}
