//! Declared I/O: an agent reads and writes what was declared before it began, and nothing else.
//!
//! Promise: a [`Workspace`] has two ways to a file, [`Workspace::input`] and [`Workspace::output`]. Each gives a
//! capability for a path that is declared, or an error before anything is touched; neither capability can be made in any
//! other way. What is written is there whole or not at all. Declarations do not change, and no two workspaces of a base
//! may write the same path.
//!
//! ```
//! use toolgate_workspace::{Declaration, Pattern, Workspaces};
//!
//! # let scratch = tempfile::tempdir()?;
//! # let base = scratch.path().join("workspaces");
//! let declaration = Declaration {
//!     inputs: vec![Pattern::parse("input/data.txt")?],
//!     outputs: vec![Pattern::parse("output/")?],
//!     temp: true,
//!     ..Declaration::default()
//! };
//! let workspace = Workspaces::open(&base)?.create("agent-5", declaration)?;
//! std::fs::create_dir_all(workspace.path().join("input"))?;
//! std::fs::write(workspace.path().join("input/data.txt"), "for the agent")?;
//!
//! let data = workspace.read("input/data.txt")?;
//! workspace.write("output/result.txt", &data)?;
//! assert!(workspace.read("/etc/passwd").is_err());
//! assert!(workspace.write("input/data.txt", b"").is_err());
//! workspace.cleanup()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A capability cannot be made by hand, and does not outlive its workspace:
//!
//! ```compile_fail,E0451
//! # use toolgate_workspace::{Input, Workspace};
//! fn forge<'w>(workspace: &'w Workspace) -> Input<'w, 'static> {
//!     Input { workspace, path: todo!() }
//! }
//! ```
//! ```compile_fail,E0505
//! # use toolgate_workspace::Workspace;
//! fn keep(workspace: Workspace) {
//!     let input = workspace.input("a").unwrap();
//!     workspace.cleanup().unwrap();
//!     input.read().unwrap();
//! }
//! ```
//!
//! Against whom: an agent that names a path which leads elsewhere, and programs that exchange directories for links while
//! it is being followed. Every file is opened by the kernel from the workspace's own directory handle, beneath it, through
//! no link and no mount. Not against whoever may write below the base with other tools: they can change a file there. They
//! cannot make this library touch another one.
//!
//! Reading order: [`Workspace`] → [`Workspaces`] → [`Error`] → [`Snapshot`] → [`Store`] → [`Receipt`] → [`WorkspaceFile`].

mod agent;
mod atomic;
mod beneath;
mod digest;
mod error;
mod file;
mod key;
mod listing;
mod metrics;
mod quota;
mod receipt;
mod removal;
mod replay;
mod snapshot;
mod store;
mod system;
mod walk;
mod workspace;
mod workspaces;

pub use agent::{AgentFault, AgentId};
pub use atomic::Durability;
pub use digest::{Algorithm, Digest, NoDigest};
pub use error::{Error, Leaves, Limit};
pub use file::{FileError, WorkspaceFile};
pub use key::{PublicKey, SigningKey};
pub use listing::{Listed, Listing};
pub use metrics::{Metrics, SideMetrics};
pub use receipt::{About, Envelope, LedgerPosition, Predicate, Receipt, Statement, Subject, dsse};
pub use replay::Moment;
pub use snapshot::{Difference, Formula, Progress, Snapshot, State};
pub use store::{Collected, Store};
pub use toolgate_declaration::{
    CleanPath, Declaration, Declared, Dots, Fault, Invalid, Pattern, Quota, Side, TEMP,
};
pub use workspace::{Input, Output, Workspace};
pub use workspaces::{DEFAULT_BASE, Workspaces};
