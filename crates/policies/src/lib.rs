//! Facts to findings. One policy a file: why it is there, its settings, one pure function, its table.
//!
//! [`Settings`] are the words of `toolgate.toml`. They come from a shipped profile and the layers above it ([`stack`]), and make
//! the rules that a call is judged by ([`Settings::ruleset`]). Nothing here has a disk, a clock or a host within reach.
//!
//! ```
//! # #[cfg(feature = "files")] {
//! use toolgate_model::{ActivationState, Agent, Facts, Phase, Places, Ruleset, Run, Team};
//! use toolgate_policies::{Containable, read, stack};
//!
//! // A profile, and a layer on top of it.
//! let layer = read("[rules]\ngit-clean = \"ask\"").unwrap();
//! let settings = stack(Some("worktree"), "worktree", &[&layer]).unwrap();
//!
//! // What is known of a call that would run `git clean -f`.
//! let (agent, team, places) = (Agent { id: None, kind: None }, Team::default(), Places::default());
//! let words = ["git", "clean", "-f"].map(str::to_owned);
//! let facts = Facts {
//!     tool: "Bash",
//!     agent: &agent,
//!     team: &team,
//!     phase: Phase::Before,
//!     asks_user: false,
//!     command: Some("git clean -f"),
//!     places: &places,
//!     activation: ActivationState::default(),
//!     uses: Vec::new(),
//!     runs: vec![Run::of(words.into())],
//!     connects: false,
//!     unknown: Vec::new(),
//!     changes: Vec::new(),
//!     expanded: Vec::new(),
//!     config: None,
//!     redacts: false,
//! };
//!
//! // Every policy is asked.
//! let judges = settings.judges();
//! let ruleset = settings.ruleset(&facts, &judges, ("generic", false), Containable::default());
//! let verdict = Ruleset::decide(&[ruleset], |_| false);
//! assert_eq!(verdict.decision().word(), "ask");
//! assert!(verdict.explanation().ends_with("[destructive: git-clean]"));
//! # }
//! ```
//!
//! # Adding a policy
//!
//! A policy is its file `src/<policy>.rs` and its row in the table of `src/registry.rs`, which makes the field of
//! `[policy.<id>]`, the order, the page of the manual and the checks. The compiler asks for its `mod` line below, and a test for its
//! file of cases, `cases/policies/<id>.toml`. A rule about commands needs no Rust at all: `packs/README.md`.

mod activation;
mod append_only;
mod ask_user_limit;
mod checks;
mod command;
mod containment;
mod coordinator_write;
mod create_only_log;
mod custom_rule;
mod decision_inbox;
mod declared_io;
mod destructive;
mod directory_change;
mod directory_read;
mod expanded_target;
mod gate_tampering;
mod git_internals_write;
mod grant;
mod hooks_off;
mod init_phase;
mod invalid_path;
#[cfg(feature = "files")]
mod layers;
mod mcp_secret;
mod network;
mod orchestrator_command;
mod outside_scope;
mod own_charter;
mod own_command;
mod ownership;
mod packs;
mod path_traversal;
mod private_content;
mod rate_limit;
mod read_only_role;
mod read_scope;
mod redaction;
mod registry;
mod registry_names;
#[cfg(feature = "files")]
mod renamed;
mod response;
mod reviewer_lockout;
mod role_scope;
mod rules;
mod secret_file;
mod secret_shown;
mod settings;
mod shared_temporary;
#[cfg(feature = "files")]
pub mod squad;
mod team;
mod team_settings;
mod unlisted_tool;
mod unproved_effect;
mod until;
mod worktree_removal;

mod glob;
mod pattern;
mod project;

pub use activation::{Activation, Inactive};
pub use containment::{
    ContainWhen, Containable, Containment, ContainmentLevel, ContainmentSettings, DeniedInside, Entries,
    FoundOutside, Look, MAKE_FIRST, Narrowed, Outside, Wanted, denied_in_output, explain_denied, passed_over,
    scope_entry, unlisted,
};
pub use custom_rule::Rule;
pub use destructive::CommandRule;
pub use gate_tampering::{asked_names, denied_names};
pub use grant::{GRANTEES, Grant};
#[cfg(feature = "files")]
pub use layers::{
    Layer, LayerError, PROFILES, chosen_profile, profile, profile_table, read, read_noting, read_of_project,
    settings_by_default, settings_of, stack,
};
pub use mcp_secret::hard_coded;
pub use network::{HostEntry, NetworkMode, NetworkSettings};
pub use outside_scope::{Rights, ScopeEntry};
pub use packs::PACKS;
pub use pattern::scope_places;
pub use private_content::MARK;
pub use redaction::{Emails, Marks, OwnPattern, Redaction, Secrets};
pub use registry::{Judges, POLICIES, PolicyPage};
pub use response::Response;
pub use reviewer_lockout::locked_out;
pub use rules::{RulePage, RuleSwitches};
#[cfg(feature = "files")]
pub use rules::{rules, rules_about};
pub use secret_file::shows_secrets_in_passing;
pub use settings::{Boundary, ContentSearch, Notices, Relative, Settings};
pub use team::{FileRule, Limit, LimitKind, Role, Roles, RosterEntry, TeamSettings};
pub use until::Until;

#[cfg(test)]
pub(crate) mod tests {
    use std::borrow::Cow;

    use toolgate_model::{
        Access, ActivationState, Agent, Facts, Finding, Places, Policy, Reach, Resolved, Team, Trouble, Use,
    };

    /// A call that does nothing, for a test to add what it is about.
    pub(crate) fn facts<'a>(tool: &'a str, places: &'a Places, team: &'a Team) -> Facts<'a> {
        const NOBODY: &Agent<'static> = &Agent { id: None, kind: None };
        Facts {
            tool,
            agent: NOBODY,
            team,
            phase: toolgate_model::Phase::Before,
            asks_user: false,
            command: None,
            places,
            activation: ActivationState::default(),
            uses: Vec::new(),
            runs: Vec::new(),
            connects: false,
            unknown: Vec::new(),
            changes: Vec::new(),
            expanded: Vec::new(),
            config: None,
            redacts: false,
        }
    }

    /// The use of one file, which `path` names.
    pub(crate) fn used(access: Access, place: Result<Resolved, Trouble>) -> Use<'static> {
        Use {
            access,
            reach: Reach::Exact,
            param: Cow::Borrowed("path"),
            text: Cow::Borrowed(""),
            place,
            alias_of_own: false,
            foreign: false,
            nowhere: false,
            private: Vec::new(),
            holds_secret: false,
            own_lock: false,
            guess: false,
            change: None,
            origin: None,
        }
    }

    /// A place where nothing stands yet, and that no link leads to.
    pub(crate) fn place(path: &str) -> Resolved {
        Resolved { lexical: path.into(), physical: path.into(), node: None, link: None }
    }

    /// What a policy objects to a call.
    pub(crate) fn objections(policy: &dyn Policy, facts: &Facts<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        policy.judge(facts, &mut findings);
        findings
    }
}
