//! A note that expires: its first line says until when it holds, in seconds since 1970.
//!
//! Against whom: a note that is forgotten, and one that somebody else made to hold for ever. It holds no longer than
//! the longest time that one can ask for, whatever it says.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::machine::Machine;
use crate::store::write_private;

/// Writes a note that holds for so long, with these lines below the time.
pub(crate) fn write(note: &Path, now: SystemTime, length: Duration, lines: &[String]) -> io::Result<()> {
    let until = now.checked_add(length).ok_or(ErrorKind::InvalidInput)?;
    let seconds = until.duration_since(SystemTime::UNIX_EPOCH).map_err(io::Error::other)?.as_secs();
    let first = seconds.to_string();
    let text: String = std::iter::once(&first).chain(lines).flat_map(|line| [line, "\n"]).collect();
    write_private(note, text.as_bytes())
}

/// Until when a note holds, and the lines below the time. `None` where it does not hold: what cannot be read holds for
/// nothing, and nobody asks for more than `longest`, so the clock was set back or the note is not ours.
pub(crate) fn read(
    machine: &dyn Machine,
    note: &Path,
    limit: usize,
    longest: Duration,
) -> Option<(SystemTime, Vec<String>)> {
    holds(machine, &machine.world().read(note, limit).ok()?, longest)
}

/// The same of what was read.
pub(crate) fn holds(
    machine: &dyn Machine,
    bytes: &[u8],
    longest: Duration,
) -> Option<(SystemTime, Vec<String>)> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    let seconds = lines.next()?.parse().ok()?;
    let until = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?;
    let now = machine.now();
    let holds = until > now && until <= now.checked_add(longest)?;
    holds.then(|| (until, lines.map(str::to_owned).collect()))
}
