//! The doctor's own calls. They are recorded like any other, and marked, so that nobody counts them as attacks.
//!
//! Against whom: an agent that would have its own calls taken for canaries. The note lies in the state directory, which no agent
//! writes; it holds for calls without a session only, which the doctor's are and an agent's are not; and it ends by itself.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use toolgate_model::Call;

use crate::machine::Machine;
use crate::store::{remove, write_private};

/// A diagnosis does not take longer.
const LONGEST: Duration = Duration::from_mins(2);
/// A time in seconds.
const LONGEST_NOTE: usize = 64;

fn note(state: &Path) -> PathBuf {
    state.join("canary")
}

/// From now on calls without a session are the doctor's.
pub fn begin(state: &Path, now: SystemTime) -> io::Result<()> {
    let until = now.checked_add(LONGEST).ok_or(io::ErrorKind::InvalidInput)?;
    let seconds = until.duration_since(SystemTime::UNIX_EPOCH).map_err(io::Error::other)?.as_secs();
    write_private(&note(state), format!("{seconds}\n").as_bytes())
}

/// The doctor has finished.
pub fn end(state: &Path) -> io::Result<()> {
    remove(&note(state)).map(|_| ())
}

/// Whether a call is one of the doctor's.
pub(crate) fn is_canary(machine: &dyn Machine, state: &Path, call: &Call<'_>) -> bool {
    let until = || {
        let text = machine.world().read(&note(state), LONGEST_NOTE).ok()?;
        let seconds = std::str::from_utf8(&text).ok()?.trim().parse().ok()?;
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
    };
    let is_on = |until: SystemTime| {
        let now = machine.now();
        until > now && now.checked_add(LONGEST).is_some_and(|latest| until <= latest)
    };
    call.session.is_none() && until().is_some_and(is_on)
}
