//! A registration that has gone while a session runs: whoever still hears from the session says so.
//!
//! Against whom: a program, or a person by mistake, that takes our hooks out of a host's settings. The host says nothing, and the next
//! session runs unjudged. Looked at when a session begins and when its user speaks, never for a call.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toolgate_model::{Call, Phase, Places};

use crate::machine::Machine;

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
pub(crate) fn lost(machine: &dyn Machine, state: &Path, call: &Call<'_>, places: &Places) -> Vec<String> {
    if !matches!(call.phase, Phase::Start | Phase::Prompt) {
        return Vec::new();
    }
    let world = machine.world();
    let note = world.read(&state.join("registrations.json"), MAX_NOTE).ok();
    let Some(note) = note.and_then(|bytes| serde_json::from_slice::<Note>(&bytes).ok()) else {
        return Vec::new();
    };
    let is_here = |project: &Path| places.root.as_ref().is_some_and(|root| root.holds(project));
    let concerns = |one: &&Registered| one.host == call.host && one.project.as_deref().is_none_or(is_here);
    let names_us = |file: &Path| {
        world.read(file, MAX_SETTINGS).is_ok_and(|text| text.windows(OWN.len()).any(|part| part == OWN))
    };
    let gone = note.registrations.iter().filter(concerns).filter(|one| !names_us(&one.file));
    gone.map(|one| {
        format!(
            "\u{26a0}\u{fe0f} toolgate is no longer registered in `{}`: calls may run without being judged. Run `toolgate doctor`, and \
             `toolgate init` to register it again.",
            one.file.display()
        )
    })
    .collect()
}
