//! A gate that a person has switched off for a while, to find out whether it is in the way.
//!
//! Against whom: an agent that would rather work without. Only somebody at a terminal can do it (`toolgate pause`), the note lies
//! where no agent writes, it is for one worktree and ends by itself; the floor holds all the same, and every call that is let through
//! by it is recorded as such.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use toolgate_model::Places;

use crate::dirs::Dirs;
use crate::machine::Machine;
use crate::store::{name_for, remove};
use crate::timed_note;

/// Nobody switches it off for longer and remembers it.
pub const LONGEST: Duration = Duration::from_hours(8);

fn note(dirs: &Dirs, root: &Path) -> PathBuf {
    dirs.state.join("paused").join(name_for(root.as_os_str().as_encoded_bytes(), 64))
}

/// Until when the gate of this session's worktree is switched off. What cannot be read switches nothing off.
pub fn until(machine: &dyn Machine, dirs: &Dirs, places: &Places) -> Option<SystemTime> {
    const LONGEST_NOTE: usize = 64;
    let root = places.root.as_ref()?;
    let (until, more) = timed_note::read(machine, &note(dirs, &root.physical), LONGEST_NOTE, LONGEST)?;
    // We write nothing below the time.
    more.is_empty().then_some(until)
}

/// Switches the gate of this worktree off for so long.
pub fn begin(dirs: &Dirs, root: &Path, now: SystemTime, length: Duration) -> io::Result<()> {
    timed_note::write(&note(dirs, root), now, length.min(LONGEST), &[])
}

/// Switches it on again. Whether it was off.
pub fn end(dirs: &Dirs, root: &Path) -> io::Result<bool> {
    remove(&note(dirs, root))
}
