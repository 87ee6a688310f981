//! What can go wrong, by name: each is a refusal, none a warning.

use std::path::PathBuf;
use std::{fmt, io};

use toolgate_declaration::{Fault, Invalid, Pattern};

use crate::agent::{AgentFault, AgentId};
use crate::digest::Digest;

/// Why something was not done.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A path is read that is not declared.
    UndeclaredRead {
        /// The path as it was given.
        path: String,
    },
    /// A path is written that is not declared.
    UndeclaredWrite {
        /// The path as it was given.
        path: String,
    },
    /// A path leads out of the workspace, declared or not.
    PathTraversal {
        /// The path as it was given.
        path: String,
        /// How.
        why: Leaves,
    },
    /// There is no such workspace, or it is gone.
    WorkspaceNotFound {
        /// Whose.
        agent: String,
    },
    /// What was given is not a name of an agent.
    InvalidAgent {
        /// What was given.
        agent: String,
        /// What is wrong with it.
        why: AgentFault,
    },
    /// The agent has a workspace already.
    AgentInUse {
        /// The agent.
        agent: AgentId,
    },
    /// A declaration that cannot be used.
    InvalidDeclaration(Invalid),
    /// A declaration overlaps what another agent writes.
    Conflict {
        /// The agent that was to begin.
        agent: AgentId,
        /// Its entry.
        pattern: Pattern,
        /// The agent that is there.
        other: AgentId,
        /// That one's output.
        theirs: Pattern,
    },
    /// The workspace would hold more than it may. What was there stays.
    QuotaExceeded {
        /// The path that was to be written.
        path: String,
        /// What it may not exceed.
        limit: Limit,
    },
    /// A directory, a device or a pipe stands where a file should be.
    NotAFile {
        /// Its path.
        path: String,
    },
    /// A directory that others can reach is no base for workspaces.
    UnsafeBase {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// What is kept about a workspace cannot be read.
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The store lacks a content.
    NotStored {
        /// Its digest.
        digest: Digest,
    },
    /// A content is not what its name says.
    Corrupt {
        /// Its name.
        digest: Digest,
    },
    /// An input is not what it was when the workspace was made, and nobody was to write it: no receipt is true.
    InputChanged {
        /// Its path.
        path: String,
    },
    /// A receipt that cannot be relied on.
    BadReceipt {
        /// What is wrong with it, to follow on `the receipt`.
        why: &'static str,
    },
    /// The system does not let us.
    Io {
        /// The path.
        path: String,
        /// The system's answer.
        source: io::Error,
    },
}

/// How a path leads out of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaves {
    /// By what stands in it.
    Text(Fault),
    /// Through a symbolic link, wherever that leads: what it leads to is not what was declared.
    Link,
    /// Through a mount.
    Mount,
}

impl fmt::Display for Leaves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Leaves::Text(fault) => fault.fmt(f),
            Leaves::Link => f.write_str("leads through a symbolic link; declare the file that it leads to"),
            Leaves::Mount => f.write_str("leads into another file system; copy the file into the workspace"),
        }
    }
}

/// What a workspace may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// So many bytes.
    Bytes(u64),
    /// So many files.
    Files(u64),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Bytes(most) => write!(f, "{most} bytes"),
            Limit::Files(most) => write!(f, "{most} files"),
        }
    }
}

impl Error {
    /// The name that the design gives the error; for the ones that it does not name, one in its manner.
    pub fn name(&self) -> &'static str {
        match self {
            Error::UndeclaredRead { .. } => "ErrUndeclaredRead",
            Error::UndeclaredWrite { .. } => "ErrUndeclaredWrite",
            Error::PathTraversal { .. } => "ErrPathTraversal",
            Error::WorkspaceNotFound { .. } => "ErrWorkspaceNotFound",
            Error::InvalidAgent { .. } => "ErrInvalidAgent",
            Error::AgentInUse { .. } => "ErrAgentInUse",
            Error::InvalidDeclaration(_) => "ErrInvalidDeclaration",
            Error::Conflict { .. } => "ErrConflict",
            Error::QuotaExceeded { .. } => "ErrQuotaExceeded",
            Error::NotAFile { .. } => "ErrNotAFile",
            Error::UnsafeBase { .. } => "ErrUnsafeBase",
            Error::Damaged { .. } => "ErrDamaged",
            Error::NotStored { .. } => "ErrNotStored",
            Error::Corrupt { .. } => "ErrCorrupt",
            Error::InputChanged { .. } => "ErrInputChanged",
            Error::BadReceipt { .. } => "ErrBadReceipt",
            Error::Io { .. } => "ErrIO",
        }
    }

    /// Whether the path was refused: by its text, by the declaration, or since a link or a mount stands in its way.
    pub fn is_denial(&self) -> bool {
        matches!(
            self,
            Error::UndeclaredRead { .. } | Error::UndeclaredWrite { .. } | Error::PathTraversal { .. }
        )
    }

    /// The same about the whole path, where it was met on the way there.
    pub(crate) fn on_the_way_to(self, whole: &str) -> Error {
        let path = whole.to_owned();
        match self {
            Error::PathTraversal { why, .. } => Error::PathTraversal { path, why },
            Error::Io { source, .. } => Error::Io { path, source },
            other => other,
        }
    }

    /// The system's answer about this path.
    pub(crate) fn about(path: &str, source: impl Into<io::Error>) -> Error {
        Error::Io { path: path.to_owned(), source: source.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UndeclaredRead { path } => {
                write!(f, "`{}` is not declared as an input", path.escape_debug())
            }
            Error::UndeclaredWrite { path } => {
                write!(f, "`{}` is not declared as an output", path.escape_debug())
            }
            Error::PathTraversal { path, why } => write!(f, "`{}` {why}", path.escape_debug()),
            Error::WorkspaceNotFound { agent } => {
                write!(f, "there is no workspace of `{}`", agent.escape_debug())
            }
            Error::InvalidAgent { agent, why } => {
                write!(f, "the agent's name `{}` {why}", agent.escape_debug())
            }
            Error::AgentInUse { agent } => {
                write!(f, "`{agent}` has a workspace already; clean it up first, or use another name")
            }
            Error::InvalidDeclaration(invalid) => invalid.fmt(f),
            Error::Conflict { agent, pattern, other, theirs } => {
                write!(
                    f,
                    "`{agent}` declares `{pattern}`, which overlaps `{theirs}`, an output of `{other}`; \
                     declare another path, or begin after `{other}` is cleaned up"
                )
            }
            Error::QuotaExceeded { path, limit } => {
                write!(f, "with `{}` the workspace would hold more than {limit}", path.escape_debug())
            }
            Error::NotAFile { path } => write!(f, "`{}` is not a regular file", path.escape_debug()),
            Error::UnsafeBase { path, why } => write!(f, "`{}` {why}", path.display()),
            Error::Damaged { path } => write!(f, "`{}` cannot be read", path.display()),
            Error::NotStored { digest } => write!(f, "the store does not hold `{digest}`"),
            Error::Corrupt { digest } => {
                write!(f, "the store's `{digest}` holds something else, so it was changed")
            }
            Error::InputChanged { path } => {
                write!(
                    f,
                    "the input `{}` has changed since the workspace was made, so no receipt would be true; \
                     make the workspace again",
                    path.escape_debug()
                )
            }
            Error::BadReceipt { why } => write!(f, "the receipt {why}"),
            Error::Io { path, source } => write!(f, "cannot use `{}`: {source}", path.escape_debug()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            Error::InvalidAgent { why, .. } => Some(why),
            Error::InvalidDeclaration(invalid) => Some(invalid),
            _ => None,
        }
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Error {
        Error::InvalidDeclaration(invalid)
    }
}
