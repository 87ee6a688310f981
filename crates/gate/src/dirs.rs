//! Where toolgate keeps its own things.
//!
//! Against whom: a repository can set environment variables for its agent's hooks (Claude Code's
//! `settings.json` has `env`), so the registration line names the home, and then the environment
//! has no say.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::machine::Machine;

/// The administrator's directory.
pub const MANAGED: &str = "/etc/toolgate";

/// In place of a home on the registration line: the one that the system's list of people names.
pub const FROM_PASSWD: &str = "passwd";

/// Large machines have long lists of people.
const MAX_PASSWD: usize = 16 * 1024 * 1024;

/// toolgate's own directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirs {
    /// The person's home.
    pub home: PathBuf,
    /// The person's settings: `toolgate.toml`.
    pub config: PathBuf,
    /// The ledger, pinned sessions, trusted files, compiled settings.
    pub state: PathBuf,
    /// The administrator's settings.
    pub managed: PathBuf,
}

impl Dirs {
    /// The directories below a home, by the usual names.
    pub fn of_home(home: &Path) -> Dirs {
        Dirs {
            home: home.to_path_buf(),
            config: home.join(".config/toolgate"),
            state: home.join(".local/state/toolgate"),
            managed: PathBuf::from(MANAGED),
        }
    }

    /// The directories that the environment names: `HOME`, `XDG_CONFIG_HOME`, `XDG_STATE_HOME`.
    /// `None` without a usable home: there is then no place for the log.
    pub fn from_env(var: impl Fn(&str) -> Option<OsString>) -> Option<Dirs> {
        let absolute = |name: &str| var(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let mut dirs = Dirs::of_home(&absolute("HOME")?);
        if let Some(config) = absolute("XDG_CONFIG_HOME") {
            dirs.config = config.join("toolgate");
        }
        if let Some(state) = absolute("XDG_STATE_HOME") {
            dirs.state = state.join("toolgate");
        }
        Some(dirs)
    }

    /// The home that the system's list of people has for this process's user; the environment's where the list
    /// does not know the user.
    pub fn from_passwd(machine: &dyn Machine) -> Option<Dirs> {
        match of_person(machine, |person| person.home) {
            Some(home) if home.starts_with('/') => Some(Dirs::of_home(Path::new(&home))),
            _ => Dirs::from_env(|name| machine.variable(name)),
        }
    }
}

/// A person's line in the system's list.
struct Person<'l> {
    name: &'l str,
    home: &'l str,
}

/// The name of the user who runs this process: the number where the list has none.
pub fn user_name(machine: &dyn Machine) -> String {
    of_person(machine, |person| person.name).unwrap_or_else(|| machine.user_id().to_string())
}

fn of_person(machine: &dyn Machine, of: impl Fn(Person<'_>) -> &str) -> Option<String> {
    let list = machine.world().read(Path::new("/etc/passwd"), MAX_PASSWD).ok()?;
    let (list, own) = (String::from_utf8_lossy(&list), machine.user_id());
    list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let id = fields.nth(1)?;
        let home = fields.nth(2)?;
        (id.parse() == Ok(own)).then(|| of(Person { name, home }).to_owned())
    })
}
