//! `toolgate init`, `uninstall` and `doctor`.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::{LineArgs, Out};
use crate::disk::Disk;
use crate::doctor::{self, Subject};
use crate::git;
use crate::register::claude_code::{self, Places};
use crate::register::{self, Plan};

/// The hosts that the hook can be registered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum HostName {
    /// Claude Code
    ClaudeCode,
}

/// Whose settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scope {
    /// The person's, for all projects
    User,
    /// The project's, shared through the repository
    Project,
    /// The person's, for this checkout of the project
    Local,
}

#[derive(Debug, Args)]
struct Where {
    /// The host
    #[arg(long, value_enum, default_value_t = HostName::ClaudeCode)]
    host: HostName,
    /// Whose settings
    #[arg(long, value_enum, default_value_t = Scope::User)]
    scope: Scope,
    /// The administrator's settings, which no repository and no agent can switch off
    #[arg(long, conflicts_with = "scope")]
    managed: bool,
    /// Where /etc is
    #[arg(long, hide = true, default_value = "/etc")]
    etc: PathBuf,
    #[command(flatten)]
    line: LineArgs,
}

impl Where {
    fn scope(&self) -> register::Scope {
        match (self.managed, self.scope) {
            (true, _) => register::Scope::Managed,
            (false, Scope::User) => register::Scope::User,
            (false, Scope::Project) => register::Scope::Project,
            (false, Scope::Local) => register::Scope::Local,
        }
    }

    /// The project is the worktree that the person stands in: a linked one has settings of its own.
    fn places(&self) -> Result<Places, String> {
        let dirs = self.line.dirs()?;
        let here = std::env::current_dir().map_err(|error| error.to_string())?;
        let project = git::layout(&Disk::default(), &here, Some(&dirs.home)).top;
        let config =
            std::env::var_os("CLAUDE_CONFIG_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
        Ok(Places::new(&dirs.home, config.as_deref(), Some(&project), &self.etc))
    }

    fn host_id(&self) -> &'static str {
        match self.host {
            HostName::ClaudeCode => "claude-code",
        }
    }

    fn line(&self) -> Result<register::Line, String> {
        let line = self.line.line()?;
        let binary = super::hook_binary()?;
        Ok(register::Line {
            binary,
            host: self.host_id(),
            dirs: line.dirs,
            everybody: self.managed && self.line.home.is_none(),
            profile: line.profile,
            agent: line.registered.agent,
            root: line.registered.root,
        })
    }
}

/// Register the hook with a host; shows what changes first
#[derive(Debug, Args)]
pub(super) struct Init {
    #[command(flatten)]
    place: Where,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print the settings instead, for orchestrators that write one file for each agent
    #[arg(long, conflicts_with_all = ["dry_run", "yes"])]
    print: bool,
}

impl Init {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let line = self.place.line()?;
        if let Some(profile) = &line.profile
            && toolgate_policies::profile(profile).is_none()
        {
            let names =
                toolgate_policies::PROFILES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            return Err(format!("there is no profile `{profile}`; there are {names}"));
        }
        if self.print {
            let text = claude_code::print(&line).map_err(|error| error.to_string())?;
            out.line(text.trim_end())?;
            return Ok(ExitCode::SUCCESS);
        }
        let places = self.place.places()?;
        let plan = claude_code::plan_init(&places, self.place.scope(), &line, &line.dirs.state)
            .map_err(|error| error.to_string())?;
        carry_out(
            out,
            &plan,
            self.dry_run,
            self.yes,
            "is registered already",
            "registered; `toolgate doctor` proves that it works",
        )
    }
}

/// Take the registration out again
#[derive(Debug, Args)]
pub(super) struct Uninstall {
    #[command(flatten)]
    place: Where,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl Uninstall {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let places = self.place.places()?;
        let state = self.place.line.dirs()?.state;
        let plan = claude_code::plan_uninstall(&places, self.place.scope(), &state)
            .map_err(|error| error.to_string())?;
        carry_out(out, &plan, self.dry_run, self.yes, "holds no registration", "taken out")
    }
}

fn carry_out(
    out: &mut Out,
    plan: &Plan,
    dry_run: bool,
    yes: bool,
    nothing: &str,
    done: &str,
) -> Result<ExitCode, String> {
    for warning in &plan.warnings {
        out.line(format!("{} {warning}", out.paint("33", "warning:")))?;
    }
    if plan.changes() {
        for line in plan.diff().lines() {
            let code = match line.chars().next() {
                Some('+') => "32",
                Some('-') => "31",
                _ => "0",
            };
            out.line(out.paint(code, line))?;
        }
        if dry_run {
            return Ok(ExitCode::SUCCESS);
        }
        if !yes && io::stdin().is_terminal() && io::stdout().is_terminal() && !agrees(out)? {
            return Err("nothing was changed".into());
        }
    } else {
        out.line(format!("{} {nothing}", plan.file.display()))?;
    }
    register::apply(plan).map_err(|error| error.to_string())?;
    if plan.changes() {
        out.line(format!("{}: {done}", plan.file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn agrees(out: &mut Out) -> Result<bool, String> {
    let _ = write!(out.stdout, "Write this? [Y/n] ");
    let _ = out.stdout.flush();
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(|error| error.to_string())?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes"))
}

/// Prove that the gate is active: registration, canary call, what would switch it off
#[derive(Debug, Args)]
pub(super) struct Doctor {
    #[command(flatten)]
    place: Where,
    /// As JSON
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let places = self.place.places()?;
        let dirs = self.place.line.dirs()?;
        let path = std::env::var_os("PATH");
        let diagnosis = doctor::examine(&Subject { places: &places, dirs: &dirs, path: path.as_deref() });
        if self.json {
            out.json(&diagnosis)?;
        } else {
            let colour = out.colour;
            diagnosis.render(&mut out.stdout, colour).map_err(|error| error.to_string())?;
        }
        Ok(if diagnosis.active { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
