//! The words of toolgate: what a call is, what it would do, what is known about it, and what is decided.
//!
//! Nothing here touches the machine. Questions to the disk go through [`World`], so the same code judges a real call, a case
//! from a file, and a call that a test made up.
//!
//! Reading order: [`Call`] → [`Effect`] → [`Facts`] → [`Finding`] → [`Verdict`].

// Here, since every other crate needs this one: the first error says what to do, and no other one follows.
#[cfg(not(unix))]
compile_error!("toolgate does not run on Windows itself; build and run it in WSL2, which is Linux");

mod approval;
mod call;
mod effect;
mod facts;
mod host;
mod json;
mod patch;
mod places;
mod resolve;
mod secret_name;
mod team;
mod terms;
mod text;
mod tool_rule;
mod verdict;
pub mod work;
mod world;

pub use approval::{Approval, ApprovalSettings, Objection, PersonsWord, Require, Strength};
pub use call::{
    Access, Action, Agent, Call, FileUse, PathArg, Phase, Stoppable, UNASKED_ABOUT_ALL, Unstoppable, quoted,
};
pub use effect::{
    Doubt, Effect, Elsewhere, Gap, Origin, Reach, Run, Target, Unknown, Unproved, Via, base_name,
};
pub use facts::{
    ActivationState, After, Change, ConfigChange, DirectoryChange, ExpandedTarget, Facts, Private, Use,
};
pub use host::{Answer, DecodeError, HooksStart, Host, Kept, KeptFrom, Reply};
pub use json::{Json, MAX_DEPTH};
pub use patch::{added, patched};
pub use places::{InShared, Place, Places, SHARED_MEMORY, TEMPORARY, below};
pub use resolve::{Passed, Resolved, Resolver, Trouble, clean, has_dotdot};
pub use secret_name::{SECRET_LOOK, SecretName, holds_secret, may_hold_secrets, secret_name, secret_pattern};
pub use team::{COORDINATOR, History, Lockout, Member, TEAM_DIRECTORIES, Team, TeamPhase, plain_name};
pub use terms::{DENIED, RedactedOutput, Terms};
pub use text::{is_hidden, shorten, visible};
pub use tool_rule::{ToolAccess, ToolRule};
pub use verdict::{
    Decision, Finding, FindingKind, MAX_MESSAGE, Mode, Policy, Ruleset, Sandboxing, Verdict, Wording,
};
pub use world::{EmptyWorld, Entry, EntryKind, FileStamp, LookError, Node, NodeId, NodeKind, World};
