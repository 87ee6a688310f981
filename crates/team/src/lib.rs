//! What a team of agents leaves between calls: [`Agents`], who is who, and [`Lockouts`], who may not revise what.

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
