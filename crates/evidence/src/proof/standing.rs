//! How far the log is sealed and anchored, by what lies beside it: a look, and no verification.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use super::anchor;
use super::log::{Log, LogError};

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// How many records there are.
    pub records: u64,
    /// The last one that the person has sealed; 0 where nothing is.
    pub sealed: u64,
    /// When that was done.
    pub time: Option<SystemTime>,
    /// When the last record was written.
    pub written: Option<SystemTime>,
    /// The last one that somebody else has signed or stamped; 0 where nobody has.
    pub anchored: u64,
}

impl Standing {
    /// Reads it.
    pub fn of(state_dir: &Path) -> Result<Standing, LogError> {
        let records = crate::last_position(state_dir)?.map_or(0, |last| last.seq);
        let modified = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
        let written = modified(&crate::files::current_path(state_dir));
        let Some(log) = Log::open(state_dir)? else {
            return Ok(Standing { records, sealed: 0, time: None, written, anchored: 0 });
        };
        let time = modified(&log.dir.join("checkpoint"));
        let is_anchored = |checkpoint: &&super::Checkpoint| {
            checkpoint.cosignatures() > 0 || anchor::has_stamp(&log.dir.join("anchors"), checkpoint.size)
        };
        let anchored = log.checkpoints.iter().rev().find(is_anchored).map_or(0, |checkpoint| checkpoint.size);
        Ok(Standing { records, sealed: log.size(), time, written, anchored })
    }
}
