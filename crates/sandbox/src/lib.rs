//! Runs a command in a kernel sandbox made for a git worktree.
//!
//! A [`Plan`] says what a command may do: the places that it may read and write, the files that must stay as they are, the
//! network. [`Kernel::probe`] says what this kernel can enforce. [`run`] runs the command, and [`Outcome`] says how it
//! ended and what was enforced. There is no privilege, no helper and no daemon in it: an ordinary user, one process that
//! stays until the command ends.
//!
//! Two levels, and never a silent step down from one to the other:
//!
//! - [`Level::Landlock`]: Landlock decides what can be opened, seccomp which system calls there are.
//! - [`Level::Full`]: that, and a view of its own. The command sees a file system in which only the granted places exist,
//!   only its own processes, and its own loopback, in user, mount, pid, IPC and network namespaces.
//!
//! A plan that names a [`Repository`] lets the command commit in a plain clone of git or a linked worktree. New objects and branches are checked
//! and taken over when the command has ended; [`Outcome::repository`] says what was and what was not. Paths in
//! [`Plan::pinned`] are as before when it has ended; [`Outcome::pins`] says which had changed. [`run_observed`] also tells an
//! [`Observer`] which files and addresses the command tries.
//!
//! ```no_run
//! use toolgate_sandbox::{Grant, Kernel, Level, Network, Plan, Rights, run};
//!
//! let mut plan = Plan::new("/home/me/work/feature", "/home/me/.local/state/feature");
//! plan.grants.push(Grant::new("/usr", Rights::Read));
//! plan.network = Network::None;
//! let kernel = Kernel::probe();
//! let outcome = run(&plan, Level::Full, &kernel, &["make".into(), "test".into()])?;
//! println!("{:?}", outcome.status);
//! # Ok::<(), toolgate_sandbox::Error>(())
//! ```

mod alive;
mod compiled;
mod filter;
mod git;
mod keeper;
mod kernel;
mod limits;
mod observe;
mod path;
mod pins;
mod plan;
mod privileges;
mod processes;
mod rules;
mod run;
mod self_test;
#[allow(unsafe_code)]
mod sys;
mod view;

pub use alive::{Alive, is_alive};
pub use git::{Moved, Refused, Taken};
pub use kernel::{Kernel, Missing};
pub use limits::Limit;
pub use observe::{Attempt, Observer};
pub use pins::{Disturbed, Repair, is_mark};
pub use plan::{Grant, Level, Limits, Nested, Network, Plan, Repository, Rights};
pub use run::{CONTAINED, Ended, Error, Outcome, run, run_observed};
pub use self_test::{Leak, Untrusted, probe, self_test};
pub use sys::{outlive_closed_pipes, outlive_file_limit};
