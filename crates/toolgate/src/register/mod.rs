//! Registering with an agent host (`init`) and taking the registration back (`uninstall`).
//!
//! A plan is made first and can be shown; nothing is written until [`apply`]. What init did is noted in
//! `registrations.json` in the state directory, with the file as it was before, so that uninstall gives back
//! the very bytes. One host per file; here stands what they share: the line, the plan, the note, the writing.
//!
//! Against whom: ourselves. The file belongs to a person and holds their other settings, so it is replaced in
//! one step, only if it still is what the plan was made from, and never through a link that leads nowhere.

pub mod claude_code;
mod error;
mod files;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use similar::TextDiff;

pub use self::error::RegisterError;
use self::files::{io_error, lock, read, replace};
use crate::dirs::{Dirs, FROM_PASSWD};
use crate::settings::digest;

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

/// The command line that a host is to start. It says everything that the hook must not learn from its
/// environment, since a repository can set that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The hook binary, absolute.
    pub binary: PathBuf,
    /// The host's id, as in `toolgate hook <host>`.
    pub host: &'static str,
    /// Where toolgate keeps its things.
    pub dirs: Dirs,
    /// For everybody on the machine: each person's home is looked up when the hook starts.
    pub everybody: bool,
    /// The profile, where it is not the host's usual one.
    pub profile: Option<String>,
    /// The agent's name, where an orchestrator starts several.
    pub agent: Option<String>,
    /// The root of the agent's work, where it is not the host's word.
    pub root: Option<PathBuf>,
}

impl Line {
    /// The binary, as text.
    pub fn command(&self) -> Result<&str, RegisterError> {
        text_of(&self.binary)
    }

    /// The arguments. The configuration and state directories are named only where they do not follow from
    /// the home.
    pub fn args(&self) -> Result<Vec<String>, RegisterError> {
        let usual = Dirs::of_home(&self.dirs.home);
        let mut args = vec!["hook".to_owned(), self.host.to_owned()];
        let mut flag = |name: &str, value: &str| args.extend([name.to_owned(), value.to_owned()]);
        if self.everybody {
            flag("--home", FROM_PASSWD);
        } else {
            flag("--home", text_of(&self.dirs.home)?);
        }
        if self.dirs.config != usual.config && !self.everybody {
            flag("--config", text_of(&self.dirs.config)?);
        }
        if self.dirs.state != usual.state && !self.everybody {
            flag("--state", text_of(&self.dirs.state)?);
        }
        if let Some(profile) = &self.profile {
            flag("--profile", profile);
        }
        if let Some(agent) = &self.agent {
            flag("--agent", agent);
        }
        if let Some(root) = &self.root {
            flag("--root", text_of(root)?);
        }
        Ok(args)
    }
}

/// What would be done to one settings file. [`apply`] does it.
#[derive(Debug, Clone)]
#[must_use]
pub struct Plan {
    /// The host's id.
    pub host: &'static str,
    /// The settings file by the name that the host uses.
    pub file: PathBuf,
    /// The file that is written: the one behind a link, where `file` is a link.
    pub target: PathBuf,
    /// What it holds now; `None` where it does not exist.
    pub before: Option<String>,
    /// What it will hold; `None` where it is deleted or not created.
    pub after: Option<String>,
    /// What the person should know besides the diff, one sentence each.
    pub warnings: Vec<String>,
    /// Directories that go with a deleted file, if they are empty.
    leftover: Vec<PathBuf>,
    /// The state directory.
    state: PathBuf,
    /// What the note will say about the file; `None` takes it off the note.
    note: Option<Registration>,
}

impl Plan {
    /// Whether the settings file changes.
    pub fn changes(&self) -> bool {
        self.before != self.after
    }

    /// The change as a unified diff, fit for a terminal; empty where nothing changes.
    pub fn diff(&self) -> String {
        if !self.changes() {
            return String::new();
        }
        let name = self.target.to_string_lossy();
        let side =
            |text: &Option<String>| if text.is_some() { name.as_ref() } else { "/dev/null" }.to_owned();
        let (old, new) =
            (self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default());
        let diff = TextDiff::from_lines(old, new);
        visible(&diff.unified_diff().header(&side(&self.before), &side(&self.after)).to_string())
    }
}

/// One file that init wrote, as noted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// The host's id.
    pub host: String,
    /// Whose settings.
    pub scope: Scope,
    /// The settings file.
    pub file: PathBuf,
    /// What it held before; absent where it did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
    /// The digest of what init wrote.
    pub written_sha256: String,
    /// Directories that init made for it, outermost first.
    #[serde(default)]
    pub created_dirs: Vec<PathBuf>,
}

impl Registration {
    /// Whether the file still is what init wrote.
    pub fn wrote(&self, text: &str) -> bool {
        self.written_sha256 == sha256(text)
    }
}

/// The note of what init did: `registrations.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registrations {
    registrations: Vec<Registration>,
}

impl Registrations {
    /// Reads the note. No note is an empty one; a broken one is an error, since it may hold somebody's file.
    pub fn load(state: &Path) -> Result<Registrations, RegisterError> {
        let path = note_path(state);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|_| RegisterError::BrokenNote { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Registrations::default()),
            Err(error) => Err(io_error(&path)(error)),
        }
    }

    /// What is noted about a file, by its name or by another name of the same file.
    pub fn find(&self, host: &str, file: &Path) -> Option<&Registration> {
        let here = |registration: &&Registration| registration.host == host && registration.file == file;
        self.registrations.iter().find(here).or_else(|| {
            let real = fs::canonicalize(file).ok()?;
            self.registrations.iter().find(|registration| {
                registration.host == host
                    && fs::canonicalize(&registration.file).is_ok_and(|other| other == real)
            })
        })
    }

    fn set(&mut self, host: &str, file: &Path, note: Option<Registration>) {
        self.registrations.retain(|old| old.host != host || old.file != file);
        self.registrations.extend(note);
        self.registrations.sort_by(|a, b| (&a.host, &a.file).cmp(&(&b.host, &b.file)));
    }

    fn save(&self, state: &Path) -> Result<(), RegisterError> {
        let path = note_path(state);
        let text = serde_json::to_string_pretty(self)
            .map_err(|_| RegisterError::BrokenNote { path: path.clone() })?;
        replace(&path, &format!("{text}\n"), 0o600)
    }
}

/// Does what was planned.
///
/// The note is written first: a settings file of ours that is not on the note could not be given back, while
/// a note about a file that was not written does no harm.
pub fn apply(plan: &Plan) -> Result<(), RegisterError> {
    let _lock = lock(&plan.state)?;
    if read(&plan.target)? != plan.before {
        return Err(RegisterError::ChangedMeanwhile { file: plan.file.clone() });
    }
    let old = Registrations::load(&plan.state)?;
    let mut new = old.clone();
    new.set(plan.host, &plan.file, plan.note.clone());
    if new != old {
        new.save(&plan.state)?;
    }
    let done = write_target(plan);
    if done.is_err() && new != old {
        // The first error is the one to tell.
        let _ = old.save(&plan.state);
    }
    done
}

fn write_target(plan: &Plan) -> Result<(), RegisterError> {
    if !plan.changes() {
        return Ok(());
    }
    let Some(text) = &plan.after else {
        fs::remove_file(&plan.file).map_err(io_error(&plan.file))?;
        for dir in plan.leftover.iter().rev() {
            // Somebody else's files may have come to live there; then the directory stays.
            let _ = fs::remove_dir(dir);
        }
        return Ok(());
    };
    for dir in plan.note.iter().flat_map(|note| &note.created_dirs) {
        match fs::create_dir(dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(io_error(dir)(error)),
            _ => {}
        }
    }
    replace(&plan.target, text, 0o666)
}

fn note_path(state: &Path) -> PathBuf {
    state.join("registrations.json")
}

fn sha256(text: &str) -> String {
    digest(text.as_bytes())
}

fn text_of(path: &Path) -> Result<&str, RegisterError> {
    if !path.is_absolute() {
        return Err(RegisterError::NotAbsolute { path: path.to_path_buf() });
    }
    path.to_str().ok_or_else(|| RegisterError::NotText { path: path.to_path_buf() })
}

/// A text with every character that a terminal would obey instead of show spelled out: what is shown comes
/// from a repository's files.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' | '\t' => shown.push(c),
            c if c.is_control() || turns => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}
