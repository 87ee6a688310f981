//! Starts the sealer, once the answer is out: a process of its own, which nobody waits for.
//!
//! Promise: a call pays for one look at one file's time, and only after its host has the answer. Against whom: a repository that sets
//! variables for its agent's hooks. The sealer gets none of them, and the directories by name.

#![expect(clippy::disallowed_methods, reason = "this is the process: it starts another one")]

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::SystemTime;

use toolgate_evidence::due::{self, Due};

use crate::dirs::Dirs;

/// Starts the sealer if it is due. `is_whole`: this program can seal, and is not the small one that has it beside it.
pub fn start_if_due(dirs: &Dirs, is_whole: bool) -> Option<Child> {
    let now = SystemTime::now();
    let more: &[&str] = match due::look(&dirs.state, now) {
        Due::Nothing => return None,
        Due::Seal => &[],
        Due::SealAndNextKey => &["--next-key"],
    };
    // Of those who come at once, most see that somebody has begun. The others find the sealer's lock taken.
    due::begin(&dirs.state, now).ok()?;
    let own = std::env::current_exe().ok()?;
    let program: PathBuf = if is_whole { own } else { own.with_file_name("toolgate-cli") };
    Command::new(program)
        .args(["ledger", "seal", "--quiet", "--home"])
        .arg(&dirs.home)
        .arg("--state")
        .arg(&dirs.state)
        .args(more)
        .env_clear()
        .current_dir(&dirs.state)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // What ends the host's group does not end it.
        .process_group(0)
        .spawn()
        .ok()
}
