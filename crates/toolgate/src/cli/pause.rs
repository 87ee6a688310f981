//! `toolgate pause --no-hooks`: a person lets agents work without the gate for a while, to see whether it is in the way.

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Args;

use super::Out;
use super::people::{Loosened, PlaceArgs, confirmed, record, record_agreed};
use toolgate_gate::pause;

/// Switch the gate off in this worktree for a while; only for a person at a terminal
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(super) struct Pause {
    /// Let calls pass that the gate would stop, except those that the floor denies
    #[arg(long, conflicts_with = "end")]
    no_hooks: bool,
    /// For how many minutes, 480 at most
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=480), requires = "no_hooks")]
    minutes: u64,
    /// Switch the gate on again
    #[arg(long)]
    end: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

impl Pause {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let dirs = self.place.dirs()?;
        let root = self.place.places(&dirs)?.root.ok_or("there is no worktree here; name one with --root")?;
        let shown = root.physical.display().to_string();
        if self.end {
            let was = pause::end(&dirs, &root.physical).map_err(|error| error.to_string())?;
            record(&dirs, "pause-end", &[("directory", &shown)])?;
            out.line(if was { "the gate is on again" } else { "the gate was not off" })?;
            return Ok(ExitCode::SUCCESS);
        }
        if !self.no_hooks {
            return Err("give --no-hooks, or --end".into());
        }
        let minutes = self.minutes;
        let warning = format!(
            "Security warning: for {minutes} minutes every agent in {shown} may run what the gate would stop, except for what the floor denies."
        );
        out.line(&warning)?;
        let question = format!("Switch the gate off in {shown} for {minutes} minutes?");
        let signer = confirmed(out, &dirs, Some(&root.physical), &Loosened::Everything, &warning, &question)?;
        // The record comes first: a gate that is off without anyone knowing is what must not be.
        let length = minutes.to_string();
        let about = [("directory", shown.as_str()), ("minutes", &length)];
        record_agreed(&dirs, "security-warning: pause --no-hooks", &about, &signer)?;
        pause::begin(&dirs, &root.physical, SystemTime::now(), Duration::from_secs(60 * minutes))
            .map_err(|error| error.to_string())?;
        out.line("it is off; `toolgate pause --end` switches it on again")?;
        Ok(ExitCode::SUCCESS)
    }
}
