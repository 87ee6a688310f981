//! The doctor's own calls. They are recorded like any other, and marked, so that nobody counts them as attacks.
//!
//! Against whom: an agent that would have its own calls taken for canaries. The note lies in the state directory, which no agent
//! writes; it holds for calls without a session that name the very files of the doctor's probes; and it ends by itself.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use toolgate_model::{Call, Json};

use crate::machine::Machine;
use crate::store::remove;
use crate::timed_note;

/// A diagnosis does not take longer.
const LONGEST: Duration = Duration::from_mins(2);
/// A time in seconds, and a few paths.
const LONGEST_NOTE: usize = 64 * 1024;

fn note(state: &Path) -> PathBuf {
    state.join("canary")
}

/// From now on calls without a session that name one of these files are the doctor's.
pub fn begin(state: &Path, now: SystemTime, probes: &[&Path]) -> io::Result<()> {
    let probes: Vec<String> = probes.iter().map(|probe| probe.display().to_string()).collect();
    timed_note::write(&note(state), now, LONGEST, &probes)
}

/// The doctor has finished.
pub fn end(state: &Path) -> io::Result<()> {
    remove(&note(state)).map(|_| ())
}

/// Whether a call is one of the doctor's.
pub(crate) fn is_canary(machine: &dyn Machine, state: &Path, call: &Call<'_>) -> bool {
    if call.session.is_some() {
        return false;
    }
    let note = timed_note::read(machine, &note(state), LONGEST_NOTE, LONGEST);
    note.is_some_and(|(_, probes)| probes.iter().any(|probe| names(&call.input, probe)))
}

/// Whether a tool's input names this file.
fn names(input: &Json<'_>, file: &str) -> bool {
    match input {
        Json::Text(text) => text == file || text.lines().any(|line| line.ends_with(file)),
        Json::List(values) => values.iter().any(|value| names(value, file)),
        Json::Object(members) => members.iter().any(|(_, value)| names(value, file)),
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::Big(_) | Json::Float(_) => false,
    }
}
