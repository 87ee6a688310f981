//! What the commands have in common that only people run: where they are about, who runs them, and that somebody is there.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use clap::Args;
use toolgate_evidence::{Draft, Ledger};
use toolgate_model::{Call, Phase, Places};
use toolgate_secrets::redact;

use super::Out;
use toolgate_gate::dirs::Dirs;
use toolgate_gate::failure::DEADLINE;
use toolgate_gate::{options::SessionOptions, session};
use toolgate_setup::this_machine;

/// Where a command is about.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct PlaceArgs {
    /// The worktree; the one of the working directory where left out
    #[arg(long, value_name = "DIR")]
    pub(super) root: Option<PathBuf>,
    #[command(flatten)]
    pub(super) home: HomeArgs,
}

/// Whose settings and record.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct HomeArgs {
    /// The person's home
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    home: Option<PathBuf>,
    /// The directory of the record
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    state: Option<PathBuf>,
}

impl HomeArgs {
    pub(super) fn dirs(&self) -> Result<Dirs, String> {
        let mut dirs = match &self.home {
            Some(home) => Dirs::of_home(home),
            None => Dirs::from_env(|name| std::env::var_os(name)).ok_or("HOME is not set")?,
        };
        dirs.state = self.state.clone().unwrap_or(dirs.state);
        Ok(dirs)
    }
}

impl PlaceArgs {
    /// This worktree, with everything else as usual.
    pub(super) fn at(root: &Path) -> PlaceArgs {
        PlaceArgs { root: Some(root.to_path_buf()), ..PlaceArgs::default() }
    }

    pub(super) fn dirs(&self) -> Result<Dirs, String> {
        self.home.dirs()
    }

    /// The places that a session in this worktree would know.
    pub(super) fn places(&self, dirs: &Dirs) -> Result<Places, String> {
        let root =
            self.root.as_ref().map(std::path::absolute).transpose().map_err(|error| error.to_string())?;
        let here = std::env::current_dir().map_err(|error| error.to_string())?;
        let cwd = root.unwrap_or(here);
        let call = Call {
            cwd: cwd.to_str().map(Into::into),
            ..Call::event("toolgate", "command".into(), Phase::Other)
        };
        session::session(&this_machine(), dirs, &SessionOptions::default(), &call, None)
            .map(|session| session.places)
            .map_err(|error| error.to_string())
    }
}

/// Who runs the command, as the system knows it.
pub(super) fn person() -> String {
    let name = ["SUDO_USER", "USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    name.filter(|name| !name.is_empty())
        .unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()))
}

/// Has somebody at the terminal say yes. An agent has no terminal to answer from.
pub(super) fn confirmed(out: &mut Out, question: &str) -> Result<(), String> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err("only a person can do this: run it in a terminal".into());
    }
    let _ = write!(out.stdout, "{question} Type yes: ");
    let _ = out.stdout.flush();
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(|error| error.to_string())?;
    if answer.trim() == "yes" { Ok(()) } else { Err("nothing was changed".into()) }
}

/// Records what a person has done, with what it was about.
pub(super) fn record(dirs: &Dirs, event: &str, about: &[(&str, &str)]) -> Result<(), String> {
    let draft = Draft::new(SystemTime::now(), "toolgate", redact(event)).agent(redact(&person()));
    let draft = about.iter().fold(draft, |draft, (name, value)| draft.arg(redact(name), redact(value)));
    let deadline = Instant::now() + DEADLINE;
    Ledger::at(&dirs.state).append(draft, deadline).map(|_| ()).map_err(|error| error.to_string())
}
