//! What a team of agents leaves between calls: [`Agents`], who is who, and [`Lockouts`], who may not revise what.

mod agents;
mod kept;
mod lockout;

pub use agents::{Agent, Agents, AgentsError};
pub use kept::{FileError, MAX_TEXT, TextError};
pub use lockout::{
    Added, Cleared, Locked, LockoutError, LockoutFiles, Lockouts, NewLockout, TeamCopy, Which,
};
