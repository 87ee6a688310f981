//! The ground a session stands on: its root and the places around it that rules speak of.

use std::path::{Path, PathBuf};

/// A place with both of its names: as people write it, and with all links resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// As it was named, made absolute and clean.
    pub lexical: PathBuf,
    /// With every link resolved.
    pub physical: PathBuf,
}

impl Spot {
    /// A place that has one name only.
    pub fn plain(path: impl Into<PathBuf>) -> Spot {
        let path = path.into();
        Spot { lexical: path.clone(), physical: path }
    }

    /// What is left of `path` below this place, by either of its names; component-wise, so that `/repo2`
    /// is not in `/repo`.
    pub fn below<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        path.strip_prefix(&self.physical).or_else(|_| path.strip_prefix(&self.lexical)).ok()
    }
}

/// Where a session may work, and what lies around it. Pinned when the session starts.
#[derive(Debug, Clone, Default)]
pub struct Ground {
    /// The directory that the agent is confined to: its worktree.
    pub root: Option<Spot>,
    /// The main checkout, where the root is a linked worktree.
    pub main: Option<Spot>,
    /// The git directory that all worktrees share.
    pub git: Option<Spot>,
    /// The other worktrees of the same repository.
    pub siblings: Vec<Spot>,
    /// The person's home.
    pub home: Option<Spot>,
    /// The directory that holds all agents' directories (an orchestrator's).
    pub agents: Option<Spot>,
    /// This agent's own directory there.
    pub agent_dir: Option<Spot>,
    /// Where the host keeps this session's transcript.
    pub transcripts: Option<Spot>,
    /// toolgate's own files: settings, state, binary. No agent writes them.
    pub own: Vec<Spot>,
}
