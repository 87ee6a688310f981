//! Where the hosts of a machine keep their settings.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::{REGISTRARS, RegisterError};

/// Where hosts look for settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPlaces {
    /// The person's home.
    pub home: PathBuf,
    /// The directory in which the host is started. In a linked git worktree that is the worktree: the main
    /// checkout has settings of its own.
    pub project: Option<PathBuf>,
    /// `/etc`.
    pub etc: PathBuf,
    /// Each host's directory of the person's settings.
    config: BTreeMap<&'static str, PathBuf>,
    /// Where programs are looked for.
    path: Vec<PathBuf>,
}

impl HostPlaces {
    /// The usual places. `var` is the environment: some hosts have a variable that moves their settings.
    pub fn new(
        home: &Path,
        project: Option<&Path>,
        etc: &Path,
        var: impl Fn(&str) -> Option<OsString>,
    ) -> HostPlaces {
        let absolute = |name: &str| var(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let config = REGISTRARS.iter().map(|host| (host.id(), host.config(home, &absolute))).collect();
        let path = var("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
        HostPlaces {
            home: home.to_path_buf(),
            project: project.map(Path::to_path_buf),
            etc: etc.to_path_buf(),
            config,
            path,
        }
    }

    /// A host's directory of the person's settings.
    pub fn config(&self, host: &str) -> PathBuf {
        self.config.get(host).cloned().unwrap_or_default()
    }

    /// The same machine, with one host's settings and the project elsewhere.
    #[must_use]
    pub(super) fn moved(&self, host: &'static str, config: &Path, project: Option<&Path>) -> HostPlaces {
        let mut moved = self.clone();
        moved.config.insert(host, config.to_path_buf());
        moved.project = project.map(Path::to_path_buf).or(moved.project);
        moved
    }

    /// The project.
    pub fn project(&self) -> Result<&Path, RegisterError> {
        self.project.as_deref().ok_or(RegisterError::NoProject)
    }

    /// A program on `PATH`. Only absolute places outside the project count: nobody is to be taken in by a program
    /// that came with a repository.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let mut programs = self.path.iter().filter(|dir| dir.is_absolute()).map(|dir| dir.join(name));
        programs.find(|program| {
            fs::canonicalize(program).is_ok_and(|real| real.is_file() && !self.is_in_project(&real))
        })
    }

    /// `PATH`, as the host gets it.
    pub fn path(&self) -> Option<OsString> {
        std::env::join_paths(&self.path).ok().filter(|path| !path.is_empty())
    }

    /// Whether a path, with all links followed, lies inside the project.
    pub fn is_in_project(&self, real: &Path) -> bool {
        let project = self.project.as_ref().and_then(|project| fs::canonicalize(project).ok());
        project.is_some_and(|project| real.starts_with(project))
    }
}
