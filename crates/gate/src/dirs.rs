//! Where toolgate keeps its own things.
//!
//! Against whom: a repository can set environment variables for its agent's hooks (Claude Code's
//! `settings.json` has `env`), so the registration line names the home, and with it given the environment
//! has no say.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The administrator's directory.
pub const MANAGED: &str = "/etc/toolgate";

/// In place of a home on the registration line: the one that the system's list of people names.
pub const FROM_PASSWD: &str = "passwd";

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

    /// The home that the system's list of people has for this process's user; the environment's where the list
    /// does not know the user.
    pub fn from_passwd(list: &str, uid: u32, var: impl Fn(&str) -> Option<OsString>) -> Option<Dirs> {
        let home = list.lines().find_map(|line| {
            let mut fields = line.split(':').skip(2);
            let known = fields.next()?.parse::<u32>().ok()? == uid;
            fields.nth(2).filter(|home| known && home.starts_with('/'))
        });
        match home {
            Some(home) => Some(Dirs::of_home(Path::new(home))),
            None => Dirs::from_env(var),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_is_the_one_in_the_list() {
        let list = "root:x:0:0:root:/root:/bin/sh\nu:x:1000:1000::/home/u:/bin/bash\n";
        let home = |uid| Dirs::from_passwd(list, uid, |_| Some("/from/env".into())).unwrap().home;
        assert_eq!(home(0), Path::new("/root"));
        assert_eq!(home(1000), Path::new("/home/u"));
        assert_eq!(home(7), Path::new("/from/env"), "somebody whom the list does not know");
    }
}
