//! Where toolgate keeps its own things.
//!
//! Against whom: a repository can set environment variables for its agent's hooks (Claude Code's
//! `settings.json` has `env`), so the registration line names the home, and with it given the environment
//! has no say.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The administrator's directory.
pub const MANAGED: &str = "/etc/toolgate";

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
    /// `None` without a usable home: there is then no place for the record.
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
}
