//! `toolgate lockout`: who may not revise what, after a reviewer's rejection.
//!
//! Adding is open to people, orchestrators and reviewers, since it only closes something; clearing is a person's word.

use std::path::{Component, Path};
use std::process::ExitCode;
use std::time::{Instant, SystemTime};

use clap::{Args, Subcommand};
use serde_json::json;
use toolgate_model::Places;
use toolgate_team::{Lockouts, NewLockout, TeamCopy, Which};

use super::Out;
use super::people::{Loosened, PlaceArgs, confirmed, person, record, record_agreed};
use toolgate_gate::disk::Disk;
use toolgate_gate::failure::DEADLINE;
use toolgate_gate::team::lockout_files;
use toolgate_model::visible;

/// Keep the author of rejected work from revising it
#[derive(Debug, Args)]
pub(super) struct Lockout {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Lock an agent out of an artifact
    Add {
        /// A file or directory, a glob below the worktree (`src/**/*.ts`), or the bare name of an artifact (`auth`)
        artifact: String,
        /// Whose work was rejected
        #[arg(long)]
        agent: String,
        /// Who rejected it [default: you]
        #[arg(long)]
        by: Option<String>,
        /// Why
        #[arg(long, default_value = "")]
        reason: String,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// List who is locked out of what
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Let agents revise an artifact again; only for a person at a terminal
    #[command(arg_required_else_help = true)]
    Clear {
        /// The artifact, as `list` shows it [default: all]
        artifact: Option<String>,
        /// Only this agent
        #[arg(long)]
        agent: Option<String>,
        #[command(flatten)]
        place: PlaceArgs,
    },
}

impl Lockout {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        match self.command {
            Command::Add { artifact, agent, by, reason, place } => {
                add(out, &artifact, &agent, &by.unwrap_or_else(person), &reason, &place)
            }
            Command::List { json, place } => list(out, json, &place),
            Command::Clear { artifact, agent, place } => {
                clear(out, artifact.as_deref(), agent.as_deref(), &place)
            }
        }
    }
}

fn add(
    out: &mut Out,
    artifact: &str,
    agent: &str,
    by: &str,
    reason: &str,
    place: &PlaceArgs,
) -> Result<ExitCode, String> {
    let dirs = place.dirs()?;
    let places = place.places(&dirs)?;
    let artifact = &below_root(artifact, &places)?;
    let files = lockout_files(&Disk::default(), &dirs, &places);
    let new = NewLockout { artifact, agent, by, reason };
    let added = Lockouts::add(&files, &new, SystemTime::now(), Instant::now() + DEADLINE)
        .map_err(|error| error.to_string())?;
    let (artifact, agent) = (&added.locked.lockout.artifact, &added.locked.lockout.agent);
    if added.is_new {
        record(&dirs, "lockout-add", &[("artifact", artifact), ("name", agent), ("by", by)])?;
        out.line(format!("{agent} is locked out of {artifact}; another agent makes the next version"))?;
    } else {
        out.line(format!("{agent} was locked out of {artifact} already"))?;
    }
    about_team(out, &added.team)?;
    Ok(ExitCode::SUCCESS)
}

fn list(out: &mut Out, json: bool, place: &PlaceArgs) -> Result<ExitCode, String> {
    let dirs = place.dirs()?;
    let lockouts = Lockouts::read(&lockout_files(&Disk::default(), &dirs, &place.places(&dirs)?))
        .map_err(|error| error.to_string())?;
    if json {
        out.json(&json!({ "lockouts": lockouts.iter().collect::<Vec<_>>() }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if lockouts.iter().next().is_none() {
        out.line("nobody is locked out of anything")?;
    }
    for locked in &lockouts {
        let by = if locked.by.is_empty() { String::new() } else { format!(", by {}", locked.by) };
        let why = if locked.reason.is_empty() { String::new() } else { format!(": {}", locked.reason) };
        let line = format!("{}  {}{by}{why}", locked.lockout.artifact, locked.lockout.agent);
        out.line(visible(&line))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn clear(
    out: &mut Out,
    artifact: Option<&str>,
    agent: Option<&str>,
    place: &PlaceArgs,
) -> Result<ExitCode, String> {
    let dirs = place.dirs()?;
    let places = place.places(&dirs)?;
    let files = lockout_files(&Disk::default(), &dirs, &places);
    let spelled = artifact.map(|artifact| below_root(artifact, &places)).transpose()?;
    let known = Lockouts::read(&files).map_err(|error| error.to_string())?;
    // As it was written, or as the same place is written from here.
    let is_known = |wanted: &str| known.iter().any(|locked| locked.lockout.artifact == wanted);
    let artifact = artifact.map(|given| match &spelled {
        Some(spelled) if !is_known(given) => spelled.as_str(),
        _ => given,
    });
    let (which, what) = match (artifact, agent) {
        (Some(artifact), Some(agent)) => {
            (Which::Both { artifact, agent }, format!("{agent}'s lockout of {artifact}"))
        }
        (Some(artifact), None) => (Which::Artifact(artifact), format!("all lockouts of {artifact}")),
        (None, Some(agent)) => (Which::Agent(agent), format!("all lockouts of {agent}")),
        (None, None) => return Err("name an artifact, or an agent with --agent".into()),
    };
    let root = places.root.as_ref().map(|root| root.physical.as_path());
    let signer = confirmed(out, &dirs, root, &Loosened::NoRule, "", &format!("Clear {}?", visible(&what)))?;
    let cleared = Lockouts::clear(&files, which, &person(), SystemTime::now(), Instant::now() + DEADLINE)
        .map_err(|error| error.to_string())?;
    if cleared.locked.is_empty() {
        return Err(format!("no lockout matches; `toolgate lockout list` shows all ({})", visible(&what)));
    }
    for locked in &cleared.locked {
        let (artifact, agent) = (&locked.lockout.artifact, &locked.lockout.agent);
        record_agreed(&dirs, "lockout-clear", &[("artifact", artifact), ("name", agent)], &signer)?;
        out.line(visible(&format!("{agent} may revise {artifact} again")))?;
    }
    about_team(out, &cleared.team)?;
    Ok(ExitCode::SUCCESS)
}

/// What became of the team's own file, where that is worth a word.
fn about_team(out: &mut Out, team: &TeamCopy) -> Result<(), String> {
    match team {
        TeamCopy::Written | TeamCopy::Unchanged | TeamCopy::NoTeam => Ok(()),
        TeamCopy::Document => {
            out.line("the team's lockout.json is not a list of lines, and was left as it is")
        }
        TeamCopy::Failed(error) => out.line(format!("the team's file could not be written: {error}")),
    }
}

/// A file or directory that is there by its names below the root; anything else as it was given.
fn below_root(artifact: &str, places: &Places) -> Result<String, String> {
    let Some(root) = &places.root else {
        return Err("there is no worktree here; name one with --root".into());
    };
    let is_pattern = artifact.contains(['*', '?']);
    let here = std::path::absolute(artifact).map_err(|error| error.to_string())?;
    let path = toolgate_model::clean(&here);
    let below = path.strip_prefix(&root.physical).or_else(|_| path.strip_prefix(&root.lexical));
    let (true, Ok(below)) = (!is_pattern && path.exists(), below) else {
        let leads_out = Path::new(artifact).components().any(|part| part == Component::ParentDir);
        return if leads_out {
            Err(format!("{artifact} is not in this worktree"))
        } else {
            Ok(artifact.to_owned())
        };
    };
    let below = below.to_str().filter(|below| !below.is_empty()).ok_or("an artifact must have a name")?;
    // A bare name would stand for every artifact of this name.
    Ok(if below.contains(['/', '.']) { below.to_owned() } else { format!("./{below}") })
}
