//! `toolgate phase`: how far a team has come, where a person says it instead of the session.

use std::fs;
use std::io::ErrorKind;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;
use toolgate_model::TeamPhase;

use super::Out;
use super::people::{Loosened, PlaceArgs, confirmed, record_agreed};
use toolgate_gate::store::write_private;
use toolgate_gate::team::phase_file;

/// Show or set the phase of this repository's team
#[derive(Debug, Args)]
pub(super) struct Phase {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what a person has set
    Show {
        /// As JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Set the phase; only for a person at a terminal
    Set {
        /// The phase
        #[arg(value_parser = ["init-phase-1", "init-phase-2", "team-mode"])]
        phase: String,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Let each session have its own phase again; only for a person at a terminal
    Clear {
        #[command(flatten)]
        place: PlaceArgs,
    },
}

impl Phase {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let (Command::Show { place, .. } | Command::Set { place, .. } | Command::Clear { place }) =
            &self.command;
        let dirs = place.dirs()?;
        let places = place.places(&dirs)?;
        let file = phase_file(&dirs, &places);
        let root = places.root.as_ref().map(|root| root.physical.as_path());
        let failed = |error: std::io::Error| format!("{}: {error}", file.display());
        match &self.command {
            Command::Show { json, .. } => {
                let set = fs::read_to_string(&file).ok().and_then(|text| TeamPhase::of(text.trim()));
                if *json {
                    out.json(&json!({ "phase": set.map(TeamPhase::word) }))?;
                    return Ok(ExitCode::SUCCESS);
                }
                out.line(set.map_or("not set: each session has its own", TeamPhase::word))?;
            }
            Command::Set { phase, .. } => {
                let question = format!("Set the phase of this repository's team to {phase}?");
                let signer = confirmed(out, &dirs, root, &Loosened::NoRule, "", &question)?;
                write_private(&file, format!("{phase}\n").as_bytes()).map_err(failed)?;
                record_agreed(&dirs, "phase-set", &[("name", phase)], &signer)?;
                out.line(format!("the team is in {phase}"))?;
            }
            Command::Clear { .. } => {
                // Whoever said that a team is still to be agreed to has closed something.
                let signer = confirmed(
                    out,
                    &dirs,
                    root,
                    &Loosened::NoRule,
                    "",
                    "Leave the phase to each session again?",
                )?;
                match fs::remove_file(&file) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
                    _ => {}
                }
                record_agreed(&dirs, "phase-clear", &[], &signer)?;
                out.line("not set any more: each session has its own")?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
