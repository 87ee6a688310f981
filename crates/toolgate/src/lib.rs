//! The gate as a library: what the binary runs for every call, for those who embed it.
//!
//! Read [`gate`] first.

#[cfg(feature = "cli")]
pub mod cases;
mod change;
#[cfg(feature = "cli")]
pub mod cli;
mod content;
pub mod dirs;
pub mod disk;
#[cfg(feature = "cli")]
pub mod doctor;
pub mod gate;
pub mod git;
pub mod hook;
pub mod pause;
#[cfg(feature = "cli")]
pub mod prompt;
pub mod record;
pub mod redaction;
#[cfg(feature = "cli")]
pub mod register;
#[cfg(feature = "cli")]
pub mod serve;
pub mod session;
pub mod settings;
pub mod store;
pub mod team;
mod telling;
#[cfg(feature = "cli")]
pub mod workspace;
pub mod wrap;
