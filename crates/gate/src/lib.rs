//! The gate: what a hook needs, and nothing else.
//!
//! Read [`line`] first: it shows the whole way of a call. Then what stands on it, in order: [`gather`] (session, settings, team),
//! [`observe`], [`decide`], [`terms`], [`record`]. [`hook`] is the process around it, for hosts whose hooks are commands. What
//! reads files that people write comes in as a [`machine::Setup`]; the small program does not have it.

pub mod canary;
mod change;
mod content;
pub mod counter;
mod counting;
pub mod decide;
pub mod dirs;
pub mod disk;
pub mod explain;
pub mod failure;
pub mod gather;
pub mod git;
pub mod hook;
pub mod launch;
pub mod line;
pub mod machine;
mod notices;
pub mod observe;
pub mod options;
pub mod pause;
pub mod record;
pub mod redaction;
pub mod session;
pub mod settings;
pub mod store;
pub mod team;
pub mod terms;
