//! What a team of agents leaves between calls: [`Agents`], who is who, and [`Lockouts`], who may not revise what.
//!
//! **Promise.** An agent is who a person has registered. A lockout holds until somebody clears it, whatever becomes of the
//! repository. Many processes may write at once, and any of them may be killed: nothing is lost, and nothing is half
//! there. What cannot be read is an error, on which the caller denies. It is never taken for an empty list: that would let
//! everybody through.
//!
//! **Against whom.** An agent that says it is another; an author who would rather change the list than leave the work to
//! another; and whoever puts a link, a pipe or a gigabyte where a file should be.
//!
//! ```
//! use std::time::{Duration, Instant, SystemTime};
//!
//! use toolgate_team::{Agents, LockoutFiles, Lockouts, NewLockout, RegisteredAgent};
//!
//! let state = tempfile::tempdir()?;
//! let deadline = Instant::now() + Duration::from_secs(1);
//!
//! let ripley = RegisteredAgent {
//!     name: "ripley".into(),
//!     root: Some("/work/ripley".into()),
//!     ..RegisteredAgent::default()
//! };
//! Agents::update(state.path(), deadline, |agents| agents.add(ripley))?;
//! let agents = Agents::read(state.path())?;
//! let caller = agents.of_root("/work/ripley".as_ref()).expect("a registered worktree");
//! assert_eq!(caller.name, "ripley");
//!
//! let files = LockoutFiles { own: state.path().join("lockouts.jsonl"), team: Vec::new() };
//! let rejected = NewLockout { artifact: "src/auth.ts", agent: "ripley", by: "dallas", reason: "tests missing" };
//! Lockouts::add(&files, &rejected, SystemTime::now(), deadline)?;
//! let held = Lockouts::read(&files)?.into_lockouts();
//! assert_eq!((held[0].agent.as_str(), held[0].artifact.as_str()), ("ripley", "src/auth.ts"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What happened in a session is counted from the ledger, by the tally of `toolgate-evidence`.

mod agents;
mod lockouts;
mod state_file;
mod text;

pub use agents::{Agents, AgentsError, RegisteredAgent};
pub use lockouts::{
    Added, Cleared, Locked, LockoutError, LockoutFiles, Lockouts, NewLockout, TeamCopy, Which,
};
pub use state_file::FileError;
pub use text::{MAX_TEXT, TextError};
