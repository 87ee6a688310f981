//! Whether anything of a contained command is alive.
//!
//! The supervisor holds a shared lock on each file of [`Plan::alive`]. The process that stays with background jobs has the same
//! descriptor, so the lock ends with the last of them. No contained process has it: none could give it up.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::plan::Plan;

/// Locks the files of a plan, until the last copy of what comes back is closed.
pub(crate) fn lock(plan: &Plan) -> io::Result<Vec<OwnedFd>> {
    let locked = |path: &Path| {
        if let Some(directory) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        let file = fs::OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
        // Whoever asks holds it for a moment.
        flock(&file, FlockOperation::LockShared)?;
        Ok(file.into())
    };
    plan.alive.iter().map(|path| locked(path)).collect()
}

/// Whether a command is alive that was run by a plan with this file in [`Plan::alive`]. A file that cannot be looked at says yes.
pub fn is_alive(file: &Path) -> bool {
    /// Two who ask at the same time stand in each other's way for a moment.
    const LOOKS: usize = 3;
    let file = match fs::File::open(file) {
        Ok(file) => file,
        Err(error) => return !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    };
    (0..LOOKS).all(|look| {
        if look > 0 {
            std::thread::yield_now();
        }
        flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
    })
}
