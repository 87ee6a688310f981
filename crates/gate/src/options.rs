//! What follows `toolgate hook <host>`: the words of the registered command line.
//!
//! Against whom: a repository can set the environment of its agent's hooks. What the line says counts before the environment, and
//! the registration says all that matters.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toolgate_model::{ActivationState, TeamPhase};

use crate::dirs::{Dirs, FROM_PASSWD};
use crate::failure::Failure;
use crate::machine::Machine;

/// What the registered command line says.
#[derive(Debug, Clone)]
pub struct HookOptions {
    /// toolgate's own directories.
    pub dirs: Dirs,
    /// The profile that it fixes.
    pub profile: Option<String>,
    /// The session's root and agent.
    pub session: SessionOptions,
    /// What the host's own code says of its mode and of trust, where it starts the hook itself.
    pub activation: ActivationState,
    /// The event that this line is registered for, where the host does not say it.
    pub event: Option<String>,
}

/// What the registered command line says of the session.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    /// The root.
    pub root: Option<PathBuf>,
    /// The agent's name: the orchestrator's id of it.
    pub agent: Option<String>,
    /// The agent's role.
    pub role: Option<String>,
    /// How far the team has come.
    pub phase: Option<TeamPhase>,
}

impl HookOptions {
    /// Nothing but toolgate's own directories: the host's own profile, and a session that stands where its first event says.
    pub fn new(dirs: Dirs) -> HookOptions {
        let (session, activation) = (SessionOptions::default(), ActivationState::default());
        HookOptions { dirs, profile: None, session, activation, event: None }
    }

    /// Reads what follows `toolgate hook <host>`. By hand: an argument parser would cost as much as the call.
    pub fn parse(
        machine: &dyn Machine,
        mut args: impl Iterator<Item = OsString>,
    ) -> Result<HookOptions, Failure> {
        let mut words = Words::default();
        while let Some(name) = args.next() {
            let slot = words.slot(&name)?;
            let value = args.next();
            *slot = Some(
                value
                    .ok_or_else(|| Failure::Options(format!("`{}` has no value", name.to_string_lossy())))?,
            );
        }
        words.into_options(machine)
    }
}

/// The words as they came.
#[derive(Default)]
struct Words {
    home: Option<OsString>,
    config: Option<OsString>,
    state: Option<OsString>,
    profile: Option<OsString>,
    agent: Option<OsString>,
    role: Option<OsString>,
    phase: Option<OsString>,
    root: Option<OsString>,
    mode: Option<OsString>,
    trusted: Option<OsString>,
    event: Option<OsString>,
    /// How the process ends; [`crate::hook`] reads it itself, since it may end before there are options.
    codes: Option<OsString>,
}

impl Words {
    fn slot(&mut self, name: &OsString) -> Result<&mut Option<OsString>, Failure> {
        Ok(match name.to_str() {
            Some("--home") => &mut self.home,
            Some("--config") => &mut self.config,
            Some("--state") => &mut self.state,
            Some("--profile") => &mut self.profile,
            Some("--agent") => &mut self.agent,
            Some("--role") => &mut self.role,
            Some("--phase") => &mut self.phase,
            Some("--root") => &mut self.root,
            Some("--mode") => &mut self.mode,
            Some("--trusted") => &mut self.trusted,
            Some("--event") => &mut self.event,
            Some("--codes") => &mut self.codes,
            #[cfg(debug_assertions)]
            #[expect(clippy::panic, reason = "so that a test can see what the host gets when we panic")]
            Some("--panic") => panic!("asked to"),
            _ => return Err(Failure::Options(format!("unknown option `{}`", name.to_string_lossy()))),
        })
    }

    fn into_options(self, machine: &dyn Machine) -> Result<HookOptions, Failure> {
        let trusted = match text(self.trusted).as_deref() {
            None => None,
            Some("yes") => Some(true),
            Some("no") => Some(false),
            Some(_) => return Err(Failure::Options("`--trusted` takes yes or no".into())),
        };
        let phase = match text(self.phase).as_deref() {
            None => None,
            Some(word) => Some(TeamPhase::of(word).ok_or_else(|| {
                Failure::Options("`--phase` takes init-phase-1, init-phase-2 or team-mode".into())
            })?),
        };
        let var = |name: &str| machine.variable(name);
        let mut dirs = if self.home.as_ref().is_some_and(|home| home == FROM_PASSWD) {
            Dirs::from_passwd(machine).ok_or(Failure::NoHome)?
        } else {
            match absolute(self.home)? {
                Some(home) => Dirs::of_home(&home),
                None => Dirs::from_env(var).ok_or(Failure::NoHome)?,
            }
        };
        if let Some(config) = absolute(self.config)? {
            dirs.config = config;
        }
        if let Some(state) = absolute(self.state)? {
            dirs.state = state;
        }
        Ok(HookOptions {
            dirs,
            profile: text(self.profile),
            session: SessionOptions {
                root: absolute(self.root)?,
                agent: text(self.agent),
                role: text(self.role),
                phase,
            },
            activation: ActivationState { trusted, mode: text(self.mode), paused: false },
            event: text(self.event),
        })
    }
}

fn text(value: Option<OsString>) -> Option<String> {
    value.map(|value| value.to_string_lossy().into_owned())
}

fn absolute(value: Option<OsString>) -> Result<Option<PathBuf>, Failure> {
    match value.map(PathBuf::from) {
        Some(path) if !Path::is_absolute(&path) => {
            Err(Failure::Options(format!("`{}` is not an absolute path", path.display())))
        }
        path => Ok(path),
    }
}
