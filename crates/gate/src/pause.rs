//! A gate that a person has switched off for a while, to find out whether it is in the way.
//!
//! Against whom: an agent that would rather work without a gate. Only a person at a terminal can pause it (`toolgate pause`). The note
//! lies where no agent may write, is for one worktree, and expires. The floor still holds, and the log marks every call that passes
//! because of the pause.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use toolgate_model::Places;

use crate::dirs::Dirs;
use crate::machine::Machine;
use crate::store::{name_for, remove, write_private};
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

/// What the note of a worktree says of its gate. One look for both: a call pays no other for it.
#[derive(Debug, Default)]
pub(crate) struct Note {
    /// A person has switched it off.
    pub(crate) paused: bool,
    /// Files of hosts' settings from which our registration has gone.
    pub(crate) lost: Vec<String>,
}

/// The first line of a note about lost registrations. It is no number, so the note is never one of a pause.
const LOST: &str = "lost";

/// What the note of this session's worktree says. What cannot be read says nothing.
pub(crate) fn note_of(machine: &dyn Machine, dirs: &Dirs, places: &Places) -> Note {
    const LONGEST_NOTE: usize = 16 * 1024;
    let Some(root) = &places.root else { return Note::default() };
    let Ok(bytes) = machine.world().read(&note(dirs, &root.physical), LONGEST_NOTE) else {
        return Note::default();
    };
    if let Some(files) =
        String::from_utf8_lossy(&bytes).strip_prefix(LOST).and_then(|rest| rest.strip_prefix('\n'))
    {
        return Note { paused: false, lost: files.lines().map(str::to_owned).collect() };
    }
    let holds = timed_note::holds(machine, &bytes, LONGEST);
    // We write nothing below the time.
    Note { paused: holds.is_some_and(|(_, more)| more.is_empty()), lost: Vec::new() }
}

/// Leaves a note about lost registrations for the next call. A pause that is under way stays.
pub(crate) fn note_lost(
    machine: &dyn Machine,
    dirs: &Dirs,
    places: &Places,
    files: &[String],
) -> io::Result<()> {
    let Some(root) = &places.root else { return Ok(()) };
    if until(machine, dirs, places).is_some() {
        return Ok(());
    }
    let text: String =
        std::iter::once(LOST).chain(files.iter().map(String::as_str)).flat_map(|line| [line, "\n"]).collect();
    write_private(&note(dirs, &root.physical), text.as_bytes())
}

/// Takes such a note away, once it was told.
pub(crate) fn forget_lost(dirs: &Dirs, places: &Places) {
    if let Some(root) = &places.root {
        let _ = remove(&note(dirs, &root.physical));
    }
}

/// Switches the gate of this worktree off for so long.
pub fn begin(dirs: &Dirs, root: &Path, now: SystemTime, length: Duration) -> io::Result<()> {
    timed_note::write(&note(dirs, root), now, length.min(LONGEST), &[])
}

/// Switches it on again. Whether it was off.
pub fn end(dirs: &Dirs, root: &Path) -> io::Result<bool> {
    remove(&note(dirs, root))
}
