//! `toolgate exec` on macOS: level `seatbelt`, the only one there is, and untested.

use std::ffi::OsString;
use std::process::ExitCode;

use toolgate_gate::contain::Contained;
use toolgate_sandbox::{Level, seatbelt};

use crate::launcher::{complain, refused};

/// Runs a command by Seatbelt and ends as it has; `None` on other systems. Nothing that was asked for is silently left out.
pub(crate) fn run_by_seatbelt(
    made: &Contained,
    level: Option<Level>,
    is_observed: bool,
    command: &[OsString],
) -> Option<ExitCode> {
    if !cfg!(target_os = "macos") {
        return None;
    }
    if let Some(level) = level {
        let told = format!(
            "macOS has no level {}; without --level it is level seatbelt, which is untested",
            level.word()
        );
        return Some(refused(&told));
    }
    if made.require == Level::Full {
        return Some(refused(
            "the settings require level full ([containment] require), which macOS does not have",
        ));
    }
    if is_observed {
        return Some(refused("level seatbelt cannot watch a command; leave out --explain and --learn"));
    }
    complain("contained at level seatbelt, which is untested");
    Some(match seatbelt::run(&made.plan, command) {
        Ok(status) => ExitCode::from(status.end_alike()),
        Err(error) => refused(&error.to_string()),
    })
}
