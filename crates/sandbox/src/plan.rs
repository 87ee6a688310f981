//! What a contained command may do, as data that is made before it runs.

use std::ffi::OsString;
#[cfg(target_os = "linux")]
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::Arc;
use std::time::Duration;

use crate::Alive;
use crate::compiled::CompiledPlan;
#[cfg(target_os = "linux")]
use crate::path::open_or_make;

/// What may be done in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rights {
    /// Nothing.
    None,
    /// Reading and executing.
    Read,
    /// Reading, executing and writing.
    Write,
}

/// A place and the rights there and below. The most specific grant decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// An absolute path with every link resolved.
    pub path: PathBuf,
    /// What may be done there.
    pub rights: Rights,
}

impl Grant {
    /// A grant of these rights.
    pub fn new(path: impl Into<PathBuf>, rights: Rights) -> Grant {
        Grant { path: path.into(), rights }
    }
}

/// How much is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Landlock and seccomp.
    Landlock,
    /// Landlock, seccomp and namespaces.
    Full,
}

impl Level {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Level::Landlock => "landlock",
            Level::Full => "full",
        }
    }
}

/// What may be reached over the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Nothing outside of the sandbox.
    None,
    /// What [`Plan::egress`] leads to; without it nothing. Needs level `full`.
    Listed,
    /// Everything.
    All,
}

/// Who takes the connections of a sandbox whose network is [`Network::Listed`].
///
/// They get the listeners of its network over a socket, in one message: the byte [`HANDED_OVER`], and with it the descriptors of a UDP socket at
/// port 53, a TCP listener there, and one listener for each of the ports, in their order. In that network every address is the
/// sandbox's own, so what comes to a listener was sent to whatever address its own end has. The socket is at its end when the last process
/// of the sandbox has ended.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone)]
pub struct Egress {
    /// Ports that are taken; [`MOST_PORTS`] at most.
    pub ports: Vec<u16>,
    /// One end of a stream socket, whose other end nobody has but them.
    pub socket: Arc<OwnedFd>,
}

#[cfg(target_os = "linux")]
impl PartialEq for Egress {
    fn eq(&self, other: &Egress) -> bool {
        self.ports == other.ports && Arc::ptr_eq(&self.socket, &other.socket)
    }
}

#[cfg(target_os = "linux")]
impl Eq for Egress {}

/// What comes with the descriptors.
pub const HANDED_OVER: u8 = b'L';
/// Each is a listener.
pub const MOST_PORTS: usize = 64;
/// Where names are asked for.
pub const PORT_OF_NAMES: u16 = 53;

/// The git repository of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The directory that all worktrees share.
    pub common: PathBuf,
    /// This worktree's own directory in it: `worktrees/NAME`. In a plain clone, whose `.git` is the repository, the same again.
    pub own: PathBuf,
}

impl Repository {
    /// Whether it is a plain clone.
    pub fn is_plain(&self) -> bool {
        self.common == self.own
    }
}

/// What a command may use up. `None`: as much as the person may.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// How long it may run.
    pub wall_time: Option<Duration>,
    /// How many processes this user may have, threads counted each. The kernel lets root have more, so there the command's own are counted while it
    /// runs, and it is ended.
    pub processes: Option<u64>,
    /// How much memory one process may map, in bytes.
    pub memory: Option<u64>,
    /// How large a file may become, in bytes.
    pub file_size: Option<u64>,
    /// How much it may write to the disk in all, in bytes. Looked at a few times a second while it runs.
    pub disk: Option<u64>,
}

/// Names that must neither change nor appear in any directory of a tree. What is there is pinned; what appears is moved away when the command
/// has ended. A tree with several thousand directories is not looked after to its end, which is said once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nested {
    /// The tree. In its top itself such names are for [`Plan::pinned`].
    pub top: PathBuf,
    /// The names, relative to any directory: `.agent/settings.json`.
    pub names: Vec<PathBuf>,
    /// Directories of these names are not looked into.
    pub passed_over: Vec<OsString>,
}

/// What a contained command may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Where the command starts.
    pub directory: PathBuf,
    /// Places and their rights.
    pub grants: Vec<Grant>,
    /// Paths in writable places that must neither change nor appear.
    pub pinned: Vec<PathBuf>,
    /// The same for names in all directories of a tree.
    pub nested: Option<Nested>,
    /// Places in writable ones that are only read, but for grants of writing below them. At level `landlock` no kernel holds that, so they are
    /// compared when the command has ended, and put back. What is too large for that is not run.
    pub kept: Vec<PathBuf>,
    /// Files outside of what the command may write, without links on their way, whose modes must stay as they are, as those of what they lie in. At
    /// level `landlock` no kernel holds that, so they are put back.
    pub unclosed: Vec<PathBuf>,
    /// The directory in which a host starts its hooks. It is put back if the command or what it leaves running moves, removes or closes it or one
    /// above it: most hosts run a call whose hook cannot be started.
    pub start: Option<PathBuf>,
    /// Directories that are made first where nothing is: only what is there can be granted.
    pub made: Vec<PathBuf>,
    /// Directories that are read as they are. What is written there goes to a private layer and stays with this plan.
    pub caches: Vec<PathBuf>,
    /// Variables that name a program's cache. Where there are no layers, they lead to a directory of the command's own, since the programs
    /// fail when they cannot write their cache.
    pub cache_variables: Vec<OsString>,
    /// A directory that is ours: temporary files and private layers lie in it. No grant may open it.
    pub private: PathBuf,
    /// What stays locked while anything of the command is alive; see [`is_alive`](crate::is_alive).
    pub alive: Option<Alive>,
    /// The repository of the worktree.
    pub repository: Option<Repository>,
    /// What may be reached over the network.
    pub network: Network,
    /// Where it goes, if it goes to somebody.
    #[cfg(target_os = "linux")]
    pub egress: Option<Egress>,
    /// What may be used up.
    pub limits: Limits,
    /// All variables of the command.
    pub environment: Vec<(OsString, OsString)>,
}

impl Plan {
    /// A plan for a command that may write below `worktree` and nothing else.
    pub fn new(worktree: impl Into<PathBuf>, private: impl Into<PathBuf>) -> Plan {
        let worktree = worktree.into();
        Plan {
            grants: vec![Grant::new(&worktree, Rights::Write)],
            directory: worktree,
            pinned: Vec::new(),
            nested: None,
            kept: Vec::new(),
            unclosed: Vec::new(),
            start: None,
            made: Vec::new(),
            caches: Vec::new(),
            cache_variables: Vec::new(),
            private: private.into(),
            alive: None,
            repository: None,
            network: Network::None,
            #[cfg(target_os = "linux")]
            egress: None,
            limits: Limits::default(),
            environment: Vec::new(),
        }
    }

    /// The rights at a path: those of the most specific grant; of two equally specific ones, the later.
    pub fn rights_at(&self, path: &Path) -> Rights {
        CompiledPlan::of(self.clone()).rights_at(path)
    }

    /// The private directory for temporary files.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.private.join("tmp")
    }

    /// The private directory for caches where there are no layers, if a variable leads there.
    pub(crate) fn own_caches(&self) -> Option<PathBuf> {
        (!self.cache_variables.is_empty()).then(|| self.private.join("caches"))
    }

    /// Where what a command should not have left is moved to.
    #[cfg(target_os = "linux")]
    pub(crate) fn quarantine(&self) -> io::Result<OwnedFd> {
        open_or_make(&self.private.join("quarantine"))
    }
}
