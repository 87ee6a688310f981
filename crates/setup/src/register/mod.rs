//! Registering with agent hosts (`init`) and taking the registration back (`uninstall`).
//!
//! A plan is made first and can be shown; nothing is written until [`Plan::apply`]. What init did is noted in
//! `registrations.json` in the state directory, with each file as it was before, so that uninstall gives back the
//! very bytes. One host per file; here stands what they share.
//!
//! A newcomer adds a host here: one file, one line in [`REGISTRARS`].

pub mod claude_code;
pub mod codex;
mod content;
pub mod copilot;
pub mod cursor;
mod error;
mod files;
pub mod gemini;
pub mod handler;
pub mod hook_line;
mod json;
mod note;
pub mod opencode;
pub mod pi;
mod places;
mod plan;
pub mod qwen;
mod toml;

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolgate_model::{ConfigChange, World};

use self::content::Script;

pub use self::content::{Content, EditError, Noted, WantedFile, Whose, script};
pub use self::error::RegisterError;
pub(crate) use self::files::{locate, read, replace};
pub use self::hook_line::{HookLine, Start};
pub use self::json::{Members, Setting, Shape, tolerant};
pub use self::note::{Registration, Registrations};
pub use self::places::HostPlaces;
pub use self::plan::{Change, Plan};

/// Every host that init can register with.
pub const REGISTRARS: &[&dyn Registrar] = &[
    &claude_code::ClaudeCode,
    &copilot::Copilot,
    &codex::Codex,
    &gemini::Gemini,
    &opencode::OpenCode,
    &pi::Pi,
    &qwen::Qwen,
    &cursor::Cursor,
];

/// The host of this id.
pub fn registrar(id: &str) -> Option<&'static dyn Registrar> {
    REGISTRARS.iter().copied().find(|host| host.id() == id)
}

/// What a change of a host's settings file would do to our hooks.
pub fn config_change(world: &dyn World, state: &Path, host: &str, file: &Path) -> ConfigChange {
    const MAX_SETTINGS: usize = 4 * 1024 * 1024;
    let registered =
        Registrations::load(state).map_or(true, |registrations| registrations.find(host, file).is_some());
    match world.read(file, MAX_SETTINGS + 1) {
        // Nobody has settings of this size; what stands behind the point where we stop could be anything.
        Ok(bytes) if bytes.len() > MAX_SETTINGS => ConfigChange::HooksOff,
        Ok(bytes) => claude_code::config_change(&bytes, registered),
        Err(error) if error.kind() == ErrorKind::NotFound && registered => ConfigChange::RegistrationGone,
        Err(error) if error.kind() == ErrorKind::NotFound => ConfigChange::Harmless,
        Err(_) => ConfigChange::Unreadable,
    }
}

/// How a host is found, and what it wants to have written where.
pub trait Registrar: Sync {
    /// Who it is, and where its files are.
    fn identity(&self) -> &'static HostIdentity;

    /// Its id, as in `toolgate hook <host>`.
    fn id(&self) -> &'static str {
        self.identity().id
    }

    /// What people call it.
    fn name(&self) -> &'static str {
        self.identity().name
    }

    /// The programs that it may be started by.
    fn programs(&self) -> &'static [&'static str] {
        self.identity().programs
    }

    /// Where it keeps the person's settings. `var` gives variables of the environment that hold an absolute path.
    fn config(&self, home: &Path, var: &dyn Fn(&str) -> Option<PathBuf>) -> PathBuf {
        let HostIdentity { config_variable, config, .. } = self.identity();
        config_variable.and_then(var).unwrap_or_else(|| home.join(config))
    }

    /// The file by which it starts us, for a scope that it has.
    fn file(&self, places: &HostPlaces, scope: Scope) -> Result<PathBuf, RegisterError> {
        let ScopeFiles { user, project, local, managed } = self.identity().files;
        let lacking = || self.has_no(scope);
        match scope {
            Scope::User => Ok(places.config(self.id()).join(user)),
            Scope::Project => Ok(places.project()?.join(project)),
            Scope::Local => {
                let local = local.ok_or_else(lacking)?;
                Ok(places.project()?.join(local))
            }
            Scope::Managed => Ok(places.etc.join(managed.ok_or_else(lacking)?)),
        }
    }

    /// All files of a registration, in the order in which they are written. [`Registrar::file`] is the last one.
    fn wanted(
        &self,
        places: &HostPlaces,
        scope: Scope,
        line: &HookLine,
    ) -> Result<Vec<WantedFile>, RegisterError>;
    /// What in a file keeps the host from starting us, one sentence each.
    fn warnings(&self, _file: &Path, _before: &str, _after: &str) -> Vec<String> {
        Vec::new()
    }

    /// Whether it is on this machine.
    fn is_installed(&self, places: &HostPlaces) -> bool {
        self.programs().iter().any(|program| places.program(program).is_some())
            || places.config(self.id()).is_dir()
    }

    /// That it does not have a scope.
    fn has_no(&self, scope: Scope) -> RegisterError {
        RegisterError::NoScope { host: self.name(), scope }
    }
}

/// Who a host is, and where its files are.
pub struct HostIdentity {
    /// Its id, as in `toolgate hook <host>`.
    pub id: &'static str,
    /// What people call it.
    pub name: &'static str,
    /// The programs that it may be started by.
    pub programs: &'static [&'static str],
    /// The variable of the environment that moves the person's settings elsewhere, where there is one.
    pub config_variable: Option<&'static str>,
    /// Where the person's settings are otherwise, below the home.
    pub config: &'static str,
    /// The files by which it starts us.
    pub files: ScopeFiles,
}

/// The file by which a host starts us, for each scope.
#[derive(Clone, Copy)]
pub struct ScopeFiles {
    /// Below the directory of the person's settings.
    pub user: &'static str,
    /// Below the project.
    pub project: &'static str,
    /// Below the project, for this person alone, where the host has that.
    pub local: Option<&'static str>,
    /// Below `/etc`, where the host has that.
    pub managed: Option<&'static str>,
}

/// How a host whose hooks are commands writes them down.
pub struct HookForm {
    /// The host's id.
    pub host: &'static str,
    /// The events that we hear, and what becomes of each where we fail.
    pub events: &'static [(&'static str, Role)],
    /// How handlers stand in the file.
    pub shape: Shape,
    /// Whether every line has to name its event, since the event itself does not.
    pub names_event: bool,
    /// The handler for an event.
    pub handler: fn(event: &str, role: Role, start: &Start) -> Members,
}

/// What becomes of an event where we fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It is denied: a call that nobody judged must not run. Without these events there is no gate.
    FailsClosed,
    /// The tool has run, and what it gave back is not shown: nobody has looked through it.
    Withholds,
    /// It passes: the host does not heed a failure there.
    FailsOpen,
    /// It passes, and soon, since a person waits: it tells of what the user said, or of a session's beginning or end. Its line
    /// names it, so that even what cannot be read is known to stop nothing.
    Tells,
}

impl HookForm {
    /// What is to stand in a file of settings.
    fn content(&self, line: &HookLine, settings: Vec<Setting>) -> Result<json::Hooks, RegisterError> {
        Ok(json::Hooks { host: self.host, shape: self.shape, handlers: self.handlers(line)?, settings })
    }

    fn handlers(&self, line: &HookLine) -> Result<Vec<(&'static str, Members)>, RegisterError> {
        let handler = |&(event, role): &(&'static str, Role)| {
            let named = self.names_event || role == Role::Tells;
            let start = line.hook(self.host, named.then_some(event))?;
            Ok((event, (self.handler)(event, role, &start)))
        };
        self.events.iter().map(handler).collect()
    }
}

/// Seconds for an event that only tells: more than our own deadline, and not so long that a person would give up.
const TIMEOUT_TELLING: u32 = 15;

/// A handler whose line is text for a shell, which answers in our place where we cannot. `timeout` is in the host's
/// unit.
fn shell_handler(role: Role, start: &Start, timeout: u32) -> Members {
    let line = match role {
        Role::FailsClosed => start.coded_shell() + hook_line::OR_DENY,
        Role::Withholds => start.coded_shell() + hook_line::OR_WITHHOLD,
        Role::FailsOpen | Role::Tells => start.shell() + hook_line::OR_PASS,
    };
    vec![("type", Value::from("command")), ("command", Value::from(line)), ("timeout", Value::from(timeout))]
}

/// A [`shell_handler`] for a host that counts in milliseconds. Running out of time lets the call run there, so a hook that
/// hangs has to mean waiting.
fn handler_in_milliseconds(_: &str, role: Role, start: &Start) -> Members {
    const HOUR: u32 = 3_600_000;
    shell_handler(role, start, if role == Role::Tells { TIMEOUT_TELLING * 1000 } else { HOUR })
}

/// A program and its arguments as an array of a script, which JSON's are.
fn script_array(start: &Start) -> String {
    let words: Vec<_> = std::iter::once(&start.program).chain(&start.args).map(String::as_str).collect();
    Value::from(words).to_string()
}

/// The command that a script of ours hands to its adapter.
pub fn command_in_script(script: &str) -> Option<Start> {
    let (_, rest) = script.split_once("toolgate({ command: ")?;
    let (array, _) = rest.split_once(" })")?;
    let mut words = serde_json::from_str::<Vec<String>>(array).ok()?.into_iter();
    Some(Start { program: words.next()?, args: words.collect() })
}

/// The files of a registration by script: what the script needs, then the script.
fn with_beside(beside: &[(&str, &str)], dir: &Path, file: PathBuf, body: &str) -> Vec<WantedFile> {
    let files = beside.iter().map(|(name, body)| (dir.join(name), *body)).chain([(file, body)]);
    files.map(|(file, body)| WantedFile::new(file, Script::new(body))).collect()
}

/// What a file of settings says, JSON with comments or TOML; `None` where it cannot be made out.
pub fn settings_of(file: &Path, text: &str) -> Option<Value> {
    if file.extension().is_some_and(|end| end == "toml") { toml::as_json(text).ok() } else { tolerant(text) }
}

/// A warning about a file that is not plain JSON, for a host that drops such a file and says nothing.
fn not_plain_json(after: &str) -> Option<String> {
    let error = serde_json::from_str::<Value>(after).err()?;
    Some(format!("the client drops this file, and our hooks with it: not plain JSON (line {})", error.line()))
}

/// Whose settings the registration goes into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The person's, for all their projects.
    User,
    /// The project's, shared through the repository.
    Project,
    /// The person's, for this checkout of the project.
    Local,
    /// The administrator's, for the machine. The only one that no repository and no agent can switch off.
    Managed,
}

impl Scope {
    /// All of them, the strongest first.
    pub const ALL: [Scope; 4] = [Scope::Managed, Scope::User, Scope::Project, Scope::Local];
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scope::User => "user",
            Scope::Project => "project",
            Scope::Local => "local",
            Scope::Managed => "managed",
        })
    }
}
