//! Systems other than Linux: the same words, without a sandbox behind them. Nothing is run, so nobody takes an uncontained command
//! for a contained one. [`crate::seatbelt`] has what there is on macOS.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::kernel::Kernel;
use crate::outcome::{Attempt, Error, Outcome};
use crate::plan::{Level, Plan};

/// What would be locked while anything of a command is alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alive {
    /// The file, out of reach of every contained command.
    pub file: PathBuf,
    /// The bytes of it that stand for the command.
    pub marks: Vec<u64>,
    /// Those of other commands that may write where this one does.
    pub others: Vec<u64>,
}

/// Whether a contained command is alive. None is started here, so a file of such marks comes from elsewhere, and nobody can tell.
pub fn is_alive(file: &Path, _: &[u64]) -> bool {
    std::fs::symlink_metadata(file).is_ok()
}

/// Whether a file says that a command runs. None does.
pub fn is_mark(_: &Path) -> bool {
    false
}

/// Who would be told what a command tries.
pub struct Observer<'o> {
    _seen: &'o mut dyn FnMut(Attempt),
    /// Why nothing was seen.
    pub unavailable: Option<io::Error>,
    /// How many attempts could not be examined.
    pub missed: u64,
}

impl<'o> Observer<'o> {
    /// One that tells this function of each attempt.
    pub fn new(seen: &'o mut dyn FnMut(Attempt)) -> Observer<'o> {
        Observer { _seen: seen, unavailable: None, missed: 0 }
    }
}

/// Nothing is contained here that could take a directory away.
pub fn keep_reachable(_: &Path) {}

/// There is no such sandbox here.
pub fn run(_: &Plan, _: Level, _: &Kernel, _: &[OsString]) -> Result<Outcome, Error> {
    Err(Error::NoLandlock)
}

/// There is no such sandbox here.
pub fn run_observed(
    plan: &Plan,
    level: Level,
    kernel: &Kernel,
    command: &[OsString],
    _: &mut Observer<'_>,
) -> Result<Outcome, Error> {
    run(plan, level, kernel, command)
}
