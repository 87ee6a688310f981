//! `toolgate agent`: who works where, in what role. For people and orchestrators, before an agent is started.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, Subcommand};
use serde_json::json;
use toolgate_team::{Agents, RegisteredAgent};

use super::Out;
use super::people::{PlaceArgs, record};
use toolgate_gate::failure::DEADLINE;
use toolgate_model::visible;

/// Register who works where, and in what role
#[derive(Debug, Args)]
pub(super) struct Agent {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Register an agent, or change its registration
    Add {
        /// Its name, as in the team's roster
        name: String,
        /// Its role: coordinator, reviewer, or one that your settings or the roster know
        #[arg(long)]
        role: Option<String>,
        /// The host's id of the one session that is this agent
        #[arg(long)]
        session: Option<String>,
        /// Know the agent in any worktree, only by the name that its host gives a sub-agent
        #[arg(long, conflicts_with_all = ["session", "root"])]
        anywhere: bool,
        /// What it may write: globs below the worktree [default: everything of its own]
        #[arg(long, value_name = "GLOB")]
        write: Vec<String>,
        /// What it may read of another agent's files
        #[arg(long, value_name = "GLOB")]
        read: Vec<String>,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// List the registered agents
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Forget an agent
    Remove {
        /// Its name
        name: String,
        #[command(flatten)]
        place: PlaceArgs,
    },
}

impl Agent {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        match self.command {
            Command::Add { name, role, session, anywhere, write, read, place } => {
                let dirs = place.dirs()?;
                let root = if anywhere || session.is_some() { None } else { Some(worktree(&place)?) };
                let shown = root.as_ref().map(|root| root.display().to_string());
                let agent =
                    RegisteredAgent { name: name.clone(), role: role.clone(), root, read, write, session };
                Agents::update(&dirs.state, Instant::now() + DEADLINE, |agents| agents.add(agent))
                    .map_err(|error| error.to_string())?;
                let role = role.unwrap_or_default();
                let place = shown.unwrap_or_else(|| "wherever its host names it".to_owned());
                record(&dirs, "agent-add", &[("name", &name), ("role", &role), ("directory", &place)])?;
                let role = if role.is_empty() { String::new() } else { format!(" as {role}") };
                out.line(visible(&format!("{name} is registered{role}: {place}")))?;
            }
            Command::List { json, place } => {
                let agents = Agents::read(&place.dirs()?.state).map_err(|error| error.to_string())?;
                if json {
                    out.json(&json!({ "agents": agents.iter().collect::<Vec<_>>() }))?;
                    return Ok(ExitCode::SUCCESS);
                }
                if agents.iter().next().is_none() {
                    out.line("no agent is registered; `toolgate agent add NAME --role ROLE` registers one")?;
                }
                for agent in &agents {
                    out.line(visible(&line(agent)))?;
                }
            }
            Command::Remove { name, place } => {
                let dirs = place.dirs()?;
                let gone =
                    Agents::update(&dirs.state, Instant::now() + DEADLINE, |agents| Ok(agents.remove(&name)))
                        .map_err(|error| error.to_string())?;
                if gone.is_empty() {
                    return Err(format!("no agent `{}` is registered", visible(&name)));
                }
                record(&dirs, "agent-remove", &[("name", &name)])?;
                out.line(visible(&format!("{name} is no longer registered")))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn worktree(place: &PlaceArgs) -> Result<PathBuf, String> {
    let places = place.places(&place.dirs()?)?;
    places
        .root
        .map(|root| root.physical)
        .ok_or_else(|| "there is no worktree here; name one with --root".to_owned())
}

fn line(agent: &RegisteredAgent) -> String {
    let role = agent.role.as_deref().map(|role| format!(" ({role})")).unwrap_or_default();
    let place = match (&agent.session, &agent.root) {
        (Some(session), _) => format!("session {session}"),
        (None, Some(root)) => root.display().to_string(),
        (None, None) => "wherever its host names it".to_owned(),
    };
    let list = |word: &str, list: &[String]| {
        if list.is_empty() { String::new() } else { format!("  {word} {}", list.join(", ")) }
    };
    format!("{}{role}  {place}{}{}", agent.name, list("writes", &agent.write), list("reads", &agent.read))
}
