//! The places that a session knows: its root, and the places around it that rules are about.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::clean;

/// A place with both of its names: as people write it, and with all links resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// As it was named, made absolute and clean.
    pub lexical: PathBuf,
    /// With every link resolved.
    pub physical: PathBuf,
}

impl Place {
    /// A place that has one name only.
    pub fn plain(path: impl Into<PathBuf>) -> Place {
        let path = clean(&path.into());
        Place { lexical: path.clone(), physical: path }
    }

    /// Whether `path` is this place or below it, by either of its names.
    pub fn holds(&self, path: &Path) -> bool {
        let path = path.as_os_str().as_encoded_bytes();
        [&self.physical, &self.lexical]
            .iter()
            .any(|base| below(base.as_os_str().as_encoded_bytes(), path).is_some())
    }
}

/// What is left of `path` below `base`, both absolute and clean; by whole names, so that `/repo2` is not in
/// `/repo`.
pub fn below<'p>(base: &[u8], path: &'p [u8]) -> Option<&'p [u8]> {
    let rest = path.strip_prefix(base)?;
    match rest.split_first() {
        None => Some(rest),
        Some((b'/', rest)) => Some(rest),
        Some(_) if base.ends_with(b"/") => Some(rest),
        Some(_) => None,
    }
}

/// Temporary directories that everybody shares, and of which a contained command has its own.
pub const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];
/// Names that programs look for in the directory that they are started in and in all above it, and obey: in a temporary directory they count for
/// whatever anybody builds or unpacks there. With any ending, too: `.eslintrc.js`.
const HEEDED_BELOW: [&str; 36] = [
    ".babelrc",
    ".bazelrc",
    ".bundle",
    ".cargo",
    ".config",
    ".eslintrc",
    ".git",
    ".hg",
    ".jj",
    ".mise",
    ".mocharc",
    ".mvn",
    ".npmrc",
    ".pnpmfile",
    ".prettierrc",
    ".rspec",
    ".yarnrc",
    "Cargo.toml",
    "Gemfile",
    "Justfile",
    "Rakefile",
    "babel.config",
    "conftest.py",
    "eslint.config",
    "go.work",
    "jest.config",
    "justfile",
    "mise.toml",
    "node_modules",
    "package.json",
    "pnpm-workspace.yaml",
    "prettier.config",
    "pyproject.toml",
    "pytest.ini",
    "rust-toolchain",
    "setup.cfg",
];
/// Where everybody shares memory by names.
pub const SHARED_MEMORY: &str = "/dev/shm";

/// A path in a directory that everybody shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InShared<'p> {
    /// The directory.
    pub directory: &'static str,
    /// What is left of the path below it.
    pub rest: &'p Path,
}

impl<'p> InShared<'p> {
    /// The path, if it lies in one of the temporary directories or is one of them.
    pub fn temporary(path: &'p Path) -> Option<InShared<'p>> {
        TEMPORARY.into_iter().find_map(|directory| InShared::below(directory, path))
    }

    /// The same, where shared memory counts as one.
    pub fn of(path: &'p Path) -> Option<InShared<'p>> {
        InShared::temporary(path).or_else(|| InShared::below(SHARED_MEMORY, path))
    }

    fn below(directory: &'static str, path: &'p Path) -> Option<InShared<'p>> {
        path.strip_prefix(directory).ok().map(|rest| InShared { directory, rest })
    }

    /// Whether programs that are started anywhere below the directory obey what has the first name.
    pub fn is_heeded_below(&self) -> bool {
        let name =
            self.rest.components().next().and_then(|first| first.as_os_str().to_str()).unwrap_or_default();
        HEEDED_BELOW.iter().any(|heeded| {
            name.strip_prefix(heeded).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    /// The first name below the directory, which is somebody's; `None` for the directory itself.
    pub fn top(&self) -> Option<PathBuf> {
        self.rest.components().next().map(|first| Path::new(self.directory).join(first))
    }
}

/// Where a session may work, and what lies around it. Pinned when the session starts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    /// The directory that the agent is confined to: its worktree.
    pub root: Option<Place>,
    /// The directory that the session was started in, where its host starts a process there for every call: without it the host
    /// starts none, and most run the call then.
    pub start: Option<Place>,
    /// The directory that the project's own settings lie in: the root of the session, whatever a profile takes
    /// for the root.
    pub project: Option<Place>,
    /// The main checkout, where the root is a linked worktree.
    pub main: Option<Place>,
    /// The git directory that all worktrees share.
    pub git: Option<Place>,
    /// The other worktrees of the same repository.
    pub siblings: Vec<Place>,
    /// Worktrees of the same repository that the host has made for this session or for a helper of it.
    pub inner: Vec<Place>,
    /// The person's home.
    pub home: Option<Place>,
    /// The directory that holds all agents' directories (an orchestrator's).
    pub agents: Option<Place>,
    /// This agent's own directory there.
    pub agent_dir: Option<Place>,
    /// Where the host keeps this session's transcript.
    pub transcripts: Option<Place>,
    /// What the host keeps for this session and tells its agent to read: outputs that were too long to show.
    pub kept: Vec<Place>,
    /// What the host has its agent write there: plans, notes for later sessions.
    pub drafts: Vec<Place>,
    /// Where a team of agents keeps its files: `.squad` or `.ai-team`, in the worktree and in the main checkout, whether
    /// they are there yet or not.
    pub team: Vec<Place>,
    /// toolgate's own files: settings, state, binary. No agent writes them.
    pub own: Vec<Place>,
    /// When the session began, in seconds and nanoseconds; `None` where that is not known.
    pub since: Option<(i64, i64)>,
}
