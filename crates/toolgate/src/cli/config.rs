//! `toolgate config show`: every setting in force, and the file that it comes from.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use toolgate_gate::machine::Machine as _;
use toolgate_gate::options::HookOptions;
use toolgate_gate::settings::SettingsSources;
use toolgate_model::visible;
use toolgate_setup::config::{InForce, in_force, shown};
use toolgate_setup::this_machine;

use super::people::PlaceArgs;
use super::{LineArgs, Out};

/// Say which settings are in force
#[derive(Debug, Args)]
pub(super) struct Config {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print every setting in force with the file that it comes from, and the settings that have no effect
    Show(Show),
}

#[derive(Debug, Args)]
struct Show {
    /// Also print defaults, which hold because no file sets them
    #[arg(long)]
    all: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    line: LineArgs,
}

impl Config {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let Command::Show(show) = self.command;
        let found = settings_in_force(&show.line.options()?, "worktree", show.all)?;
        if show.json {
            out.json(&found)?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut from = "";
        for setting in &found.settings {
            if setting.from != from {
                from = &setting.from;
                out.line(out.paint("1", &visible(&format!("# {from}"))))?;
            }
            out.line(visible(&shown(&setting.key, &setting.value)))?;
        }
        if !found.without_effect.is_empty() {
            out.line(out.paint("1", "# without effect"))?;
        }
        for setting in &found.without_effect {
            out.line(format!("{}; {}", setting.line(), setting.help))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The settings that a session here would be judged by.
pub(super) fn settings_in_force(options: &HookOptions, default: &str, all: bool) -> Result<InForce, String> {
    let machine = this_machine();
    let place = PlaceArgs { root: options.session.root.clone(), ..PlaceArgs::default() };
    let places = place.places(&options.dirs)?;
    let sources = SettingsSources::of(&options.dirs, &places, options.profile.as_deref(), default);
    in_force(machine.world(), &sources, &places, machine.now(), all).map_err(|error| error.to_string())
}
