//! The gate: what a hook needs, and nothing else.
//!
//! Promise: every event of a host gets an answer that the host obeys. A call that could not be judged is denied, and no
//! answer leaves before it is on record.
//!
//! Against whom: an agent, and a repository that tells the agent what to do. Neither chooses the session's root, the rules,
//! or whether a call is recorded. Not against the person who runs the agent: that is who writes the rules.
//!
//! A program that runs tools itself keeps a [`Gate`] and asks it before each call. Events are those of a host in
//! `toolgate_hosts`; for a program without a page of its own there, that is `generic`, whose manual is `docs/protocol.md`.
//!
//! ```
//! use toolgate_gate::Gate;
//! use toolgate_gate::dirs::Dirs;
//! use toolgate_gate::options::HookOptions;
//! use toolgate_model::{Answer, Decision};
//!
//! # let scratch = tempfile::tempdir()?;
//! # let home = scratch.path();
//! let dirs = Dirs::of_home(home);
//! # let dirs = Dirs { managed: home.join("managed"), ..dirs };
//! let host = toolgate_hosts::host("generic").ok_or("unknown host")?;
//! let gate = Gate::new(host, HookOptions::new(dirs));
//! let event = |command: &str| {
//!     let (cwd, input) = (home.join("project"), format!(r#"{{"command":"{command}"}}"#));
//!     let call = format!(r#""session":"s1","cwd":"{}","tool":"bash","input":{input}"#, cwd.display());
//!     format!(r#"{{"event":"before",{call}}}"#).into_bytes()
//! };
//!
//! // What the hook would print, and what the host makes of it. Both calls are in the ledger now.
//! assert_eq!(gate.answer(&event("ls src")).answer, Answer::Silence);
//! let reply = gate.answer(&event("rm -rf ../other"));
//! assert_eq!(reply.answer, Answer::Deny);
//! assert!(reply.stdout.contains(r#""decision":"deny""#));
//!
//! // The same question, and no record of it.
//! let considered = gate.consider(&event("rm -rf ../other"))?;
//! assert_eq!(considered.verdict.decision(), Decision::Deny);
//! assert!(considered.verdict.explanation().contains("[outside-scope]"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Read [`mod@line`] first: it shows the whole way of a call, and [`Gate`] is no more than that on this machine. Then the
//! steps, in order: [`gather`] (session, settings, team), [`observe`], [`decide`], [`terms`], [`record`]. [`hook`] is the
//! process around it, for hosts whose hooks are commands. Whoever has another [`machine::Machine`] calls [`line::answer`], or
//! [`gather::gather`] and [`line::consider`]. What reads files that people write comes in as a [`machine::Setup`]; the small
//! program does not have it.

mod alive;
pub mod approval;
pub mod canary;
mod change;
pub mod contain;
mod content;
pub mod counter;
mod counting;
pub mod decide;
pub mod dirs;
pub mod disk;
mod doubts;
mod embedded;
pub mod explain;
pub mod failure;
pub mod gather;
pub mod git;
pub mod hook;
pub mod launch;
pub mod line;
pub mod machine;
mod noted;
mod notices;
pub mod observe;
pub mod options;
pub mod pause;
pub mod process;
pub mod record;
pub mod redaction;
pub mod registered;
pub mod sealing;
mod seen;
pub mod self_test;
pub mod session;
pub mod settings;
pub mod store;
mod system;
pub mod team;
pub mod terms;
mod timed_note;
mod withheld;

pub use embedded::Gate;
