//! Runs a command in a kernel sandbox made for a git worktree.
//!
//! A [`Plan`] says what a command may do: the places that it may read and write, the files that must stay as they are, the
//! network. [`Kernel::probe`] says what this kernel can enforce. [`run`] runs the command, and [`Outcome`] says how it
//! ended and what was enforced. It needs no privilege, no helper and no daemon: an ordinary user is enough, and one process stays
//! until the command ends.
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
//! Systems other than Linux have neither level: [`run`] says so, and runs nothing. [`seatbelt`] makes a profile for macOS from the same
//! plan. Nobody has tested it there yet.
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

#[cfg(target_os = "linux")]
mod ahead;
#[cfg(target_os = "linux")]
mod alive;
mod compiled;
#[cfg(target_os = "linux")]
mod egress;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod git;
#[cfg(target_os = "linux")]
mod handed;
#[cfg(target_os = "linux")]
mod heir;
#[cfg(target_os = "linux")]
mod keeper;
mod kernel;
#[cfg(target_os = "linux")]
mod limits;
mod names;
#[cfg(target_os = "linux")]
mod observe;
mod outcome;
#[cfg(target_os = "linux")]
mod path;
#[cfg(target_os = "linux")]
mod pins;
mod plan;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod processes;
#[cfg(target_os = "linux")]
mod reachable;
#[cfg(target_os = "linux")]
mod rules;
#[cfg(target_os = "linux")]
mod run;
pub mod seatbelt;
mod self_test;
#[allow(unsafe_code)]
mod signals;
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod sys;
#[cfg(target_os = "linux")]
mod view;

#[cfg(target_os = "linux")]
pub use alive::{Alive, is_alive};
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Alive, Observer, is_alive, is_mark, keep_reachable, run, run_observed};
pub use kernel::{Kernel, Missing};
#[cfg(target_os = "linux")]
pub use observe::Observer;
pub use outcome::{
    Attempt, CONTAINED, Disturbed, Ended, Error, Limit, Moved, Outcome, Refused, Repair, Taken,
};
#[cfg(target_os = "linux")]
pub use pins::is_mark;
#[cfg(target_os = "linux")]
pub use plan::Egress;
pub use plan::{
    Grant, HANDED_OVER, Level, Limits, MOST_PORTS, Nested, Network, PORT_OF_NAMES, Plan, Repository, Rights,
};
#[cfg(target_os = "linux")]
pub use reachable::keep_reachable;
#[cfg(target_os = "linux")]
pub use run::{run, run_observed};
pub use self_test::{Leak, Untrusted, probe, self_test};
pub use signals::{outlive_closed_pipes, outlive_file_limit};
