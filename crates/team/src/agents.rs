//! Which agents there are: whose sessions are whose, in what role, and what each may read and write.
//!
//! Promise: an agent is who a person has registered, and one worktree or one session has one agent. A registry
//! that cannot be read, or that holds something which this version does not know, is an error: without its entry
//! an agent would be a stranger without limits.
//!
//! Against whom: an agent that says it is another. The file is in the state directory, where no agent writes.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use toolgate_model::plain_name;

use crate::state_file::{self, FileError, Whose};
use crate::text::{self, TextError};

/// The registry may be this large: thousands of agents.
const MAX_FILE: usize = 1024 * 1024;

/// One agent, as it was registered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisteredAgent {
    /// Its name, as people write it.
    pub name: String,
    /// Its role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The worktree whose sessions are this agent, or, with `session`, the one that the globs are below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    /// What it may read beside what all may: globs below the root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// What it may write, likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// The host's id of the one session that is this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// By what a call is known to be an agent's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seat<'a> {
    /// This session, wherever it is.
    Session(&'a str),
    /// Every session in this worktree.
    Root(&'a Path),
    /// Nothing but the name that the host gives it.
    Name,
}

impl RegisteredAgent {
    fn seat(&self) -> Seat<'_> {
        match (&self.session, &self.root) {
            (Some(session), _) => Seat::Session(session),
            (None, Some(root)) => Seat::Root(root),
            (None, None) => Seat::Name,
        }
    }

    fn is_named(&self, name: &str) -> bool {
        plain_name(&self.name) == plain_name(name)
    }

    fn check(&self) -> Result<(), AgentsError> {
        text::check_name("name", &self.name)?;
        text::check_name("name", &plain_name(&self.name))?;
        if let Some(role) = &self.role {
            text::check_name("role", role)?;
        }
        if let Some(session) = &self.session {
            text::check_name("session", session)?;
        }
        if let Some(root) = self.root.as_ref().filter(|root| !is_plain_root(root)) {
            return Err(AgentsError::Root { root: root.clone() });
        }
        for glob in self.read.iter().chain(&self.write) {
            text::check_name("glob", glob)?;
            let is_below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
            if !Path::new(glob).components().all(is_below) {
                return Err(AgentsError::NotBelow { glob: glob.clone() });
            }
        }
        Ok(())
    }
}

/// Whether a path says where it is without a look at the disk, and can be written as JSON.
fn is_plain_root(root: &Path) -> bool {
    let leads_down = |part| matches!(part, Component::RootDir | Component::Normal(_));
    root.is_absolute() && root.components().all(leads_down) && root.to_str().is_some_and(text::is_plain)
}

/// All agents of a state directory, in the order in which they were registered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agents {
    agents: Vec<RegisteredAgent>,
}

/// The file, as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RegistryFile {
    agents: Vec<RegisteredAgent>,
}

impl Agents {
    /// Reads the registry. Where there is none, nobody is registered.
    pub fn read(state_dir: &Path) -> Result<Agents, AgentsError> {
        let path = registry_path(state_dir);
        let Some(text) = state_file::read_whole(&path, MAX_FILE)? else {
            return Ok(Agents::default());
        };
        let registry: RegistryFile = serde_json::from_slice(&text)
            .map_err(|error| FileError::Malformed { path: path.clone(), line: error.line().max(1) })?;
        // What could not have been registered was not written by us.
        let broken = |why| AgentsError::Broken { path: path.clone(), why: Box::new(why) };
        let mut taken = BTreeMap::new();
        for agent in &registry.agents {
            agent.check().map_err(broken)?;
            let seat = match agent.seat() {
                Seat::Session(session) => (true, Path::new(session)),
                Seat::Root(root) => (false, root),
                Seat::Name => continue,
            };
            if let Some(by) = taken.insert(seat, &agent.name) {
                return Err(broken(AgentsError::Taken { by: by.clone() }));
            }
        }
        Ok(Agents { agents: registry.agents })
    }

    /// Changes the registry: reads it, has it changed and writes it as a whole, while nobody else does. Where
    /// `change` fails, the file is as it was.
    pub fn update<T>(
        state_dir: &Path,
        deadline: Instant,
        change: impl FnOnce(&mut Agents) -> Result<T, AgentsError>,
    ) -> Result<T, AgentsError> {
        // A lock of its own: the registry itself is replaced.
        let _lock = state_file::open_locked(&state_dir.join("agents.lock"), Whose::Ours, deadline)?;
        let before = Agents::read(state_dir)?;
        let mut agents = before.clone();
        let outcome = change(&mut agents)?;
        if agents != before {
            agents.save(&registry_path(state_dir))?;
        }
        Ok(outcome)
    }

    fn save(self, path: &Path) -> Result<(), AgentsError> {
        let failed = |error| FileError::about(path, error);
        let registry = RegistryFile { agents: self.agents };
        let mut text =
            serde_json::to_vec_pretty(&registry).map_err(|error| failed(std::io::Error::other(error)))?;
        text.push(b'\n');
        if text.len() > MAX_FILE {
            return Err(FileError::TooLarge { path: path.to_path_buf(), bytes: MAX_FILE }.into());
        }
        // What a writer that was killed left here is written over: there is one writer at a time.
        let new = path.with_extension("json.new");
        let write = || {
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&new, path)
        };
        if let Err(error) = write() {
            let _ = fs::remove_file(&new);
            return Err(failed(error).into());
        }
        state_file::sync_parent(path)?;
        Ok(())
    }

    /// Registers an agent, in place of its own entry for the same session or worktree, which is returned.
    pub fn add(&mut self, agent: RegisteredAgent) -> Result<Option<RegisteredAgent>, AgentsError> {
        agent.check()?;
        let mut same_seat = self.agents.iter_mut().filter(|known| known.seat() == agent.seat());
        match agent.seat() {
            Seat::Name => {
                if let Some(known) = same_seat.find(|known| known.is_named(&agent.name)) {
                    return Ok(Some(std::mem::replace(known, agent)));
                }
            }
            Seat::Session(_) | Seat::Root(_) => match same_seat.next() {
                Some(known) if known.is_named(&agent.name) => {
                    return Ok(Some(std::mem::replace(known, agent)));
                }
                Some(known) => return Err(AgentsError::Taken { by: known.name.clone() }),
                None => {}
            },
        }
        self.agents.push(agent);
        Ok(None)
    }

    /// Takes out all entries of this name, and returns them.
    pub fn remove(&mut self, name: &str) -> Vec<RegisteredAgent> {
        self.agents.extract_if(.., |agent| agent.is_named(name)).collect()
    }

    /// The agent that this session was registered for.
    pub fn of_session(&self, session: &str) -> Option<&RegisteredAgent> {
        self.agents.iter().find(|agent| agent.seat() == Seat::Session(session))
    }

    /// The agent that all sessions in exactly this worktree are.
    pub fn of_root(&self, root: &Path) -> Option<&RegisteredAgent> {
        self.agents.iter().find(|agent| agent.seat() == Seat::Root(root))
    }

    /// The entries of this name: an agent may have several worktrees.
    pub fn named<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a RegisteredAgent> + use<'a> {
        let name = plain_name(name);
        self.agents.iter().filter(move |agent| plain_name(&agent.name) == name)
    }

    /// All entries.
    pub fn iter(&self) -> std::slice::Iter<'_, RegisteredAgent> {
        self.agents.iter()
    }
}

impl<'a> IntoIterator for &'a Agents {
    type Item = &'a RegisteredAgent;
    type IntoIter = std::slice::Iter<'a, RegisteredAgent>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

fn registry_path(state_dir: &Path) -> PathBuf {
    state_dir.join("agents.json")
}

/// Why the registry could not be read or changed.
#[derive(Debug)]
pub enum AgentsError {
    /// A file.
    File(FileError),
    /// A text that cannot be kept.
    Text(TextError),
    /// A root that does not say where it is.
    Root {
        /// The root.
        root: PathBuf,
    },
    /// A glob that leads out of the root.
    NotBelow {
        /// The glob.
        glob: String,
    },
    /// The worktree or the session is another agent's.
    Taken {
        /// That agent's name.
        by: String,
    },
    /// The registry holds an entry that could not have been registered.
    Broken {
        /// The registry.
        path: PathBuf,
        /// What is wrong with the entry.
        why: Box<AgentsError>,
    },
}

impl From<FileError> for AgentsError {
    fn from(error: FileError) -> AgentsError {
        AgentsError::File(error)
    }
}

impl From<TextError> for AgentsError {
    fn from(error: TextError) -> AgentsError {
        AgentsError::Text(error)
    }
}

impl fmt::Display for AgentsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AgentsError::File(error) => error.fmt(f),
            AgentsError::Text(error) => error.fmt(f),
            AgentsError::Root { root } => {
                let root = root.to_string_lossy();
                write!(
                    f,
                    "the root `{}` is not a plain absolute path; write it without `..`",
                    root.escape_debug()
                )
            }
            AgentsError::NotBelow { glob } => {
                write!(
                    f,
                    "the glob `{glob}` leads out of the root; write it relative to the root, without `..`"
                )
            }
            AgentsError::Taken { by } => {
                write!(f, "this worktree or session already belongs to `{by}`; remove that agent first")
            }
            AgentsError::Broken { path, why } => {
                write!(f, "an entry of `{}` is broken: {why}", path.display())
            }
        }
    }
}

impl std::error::Error for AgentsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            AgentsError::File(error) => error.source(),
            AgentsError::Broken { why, .. } => Some(why),
            AgentsError::Text(_)
            | AgentsError::Root { .. }
            | AgentsError::NotBelow { .. }
            | AgentsError::Taken { .. } => None,
        }
    }
}
