//! Facts to findings. One policy a file: why it is there, its settings, one pure function, its table.
//!
//! A newcomer adds a policy here: one file, one line in [`POLICIES`], one field in [`Settings`].

mod append_only;
mod ask_user_limit;
mod command;
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
mod registry_names;
mod response;
mod reviewer_lockout;
mod role_scope;
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
mod worktree_removal;

mod glob;
mod pattern;
mod project;

pub use custom_rule::Rule;
pub use destructive::CommandRule;
pub use gate_tampering::{asked_names, denied_names};
pub use grant::{GRANTEES, Grant};
#[cfg(feature = "files")]
pub use layers::{LayerError, PROFILES, profile, read, stack};
pub use mcp_secret::hard_coded;
pub use outside_scope::{Rights, ScopeEntry};
pub use packs::PACKS;
pub use redaction::{Emails, Marks, OwnPattern, Redaction, Secrets};
pub use response::Response;
pub use reviewer_lockout::locked_out;
pub use settings::{Activation, Boundary, Lists, Relative, Settings, Sought, SteppedBack, Telling};
pub use team::{FileRule, Limit, LimitKind, Role, Roles, RosterEntry, TeamSettings};

/// A policy and its manual, which is the head of its own file.
pub struct Entry {
    /// Its id, as in `[policy.<id>]` and at the end of a message.
    pub id: &'static str,
    /// The floor holds whatever the settings say.
    pub floor: bool,
    source: &'static str,
}

impl Entry {
    /// The manual page: the leading `//!` lines of the policy's file.
    pub fn doc(&self) -> String {
        let lines = self.source.lines().map_while(|line| line.strip_prefix("//!"));
        lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
    }

    /// Its first line.
    pub fn summary(&self) -> &'static str {
        self.source.lines().next().and_then(|line| line.strip_prefix("//! ")).unwrap_or_default()
    }
}

macro_rules! entry {
    ($module:ident, $id:literal, floor: $floor:literal) => {
        Entry { id: $id, floor: $floor, source: include_str!(concat!(stringify!($module), ".rs")) }
    };
}

/// Every policy, by id.
pub const POLICIES: &[Entry] = &[
    entry!(append_only, "append-only", floor: false),
    entry!(ask_user_limit, "ask-user-limit", floor: false),
    entry!(coordinator_write, "coordinator-write", floor: false),
    entry!(create_only_log, "create-only-log", floor: false),
    entry!(custom_rule, "custom-rule", floor: false),
    entry!(decision_inbox, "decision-inbox", floor: false),
    entry!(declared_io, "declared-io", floor: false),
    entry!(destructive, "destructive", floor: false),
    entry!(directory_change, "directory-change", floor: false),
    entry!(directory_read, "directory-read", floor: false),
    entry!(expanded_target, "expanded-target", floor: false),
    entry!(gate_tampering, "gate-tampering", floor: true),
    entry!(git_internals_write, "git-internals-write", floor: false),
    entry!(hooks_off, "hooks-off", floor: true),
    entry!(init_phase, "init-phase", floor: false),
    entry!(invalid_path, "invalid-path", floor: false),
    entry!(mcp_secret, "mcp-secret", floor: false),
    entry!(orchestrator_command, "orchestrator-command", floor: false),
    entry!(outside_scope, "outside-scope", floor: false),
    entry!(own_charter, "own-charter", floor: false),
    entry!(own_command, "own-command", floor: true),
    entry!(ownership, "ownership", floor: false),
    entry!(path_traversal, "path-traversal", floor: false),
    entry!(private_content, "private-content", floor: false),
    entry!(rate_limit, "rate-limit", floor: false),
    entry!(read_only_role, "read-only-role", floor: false),
    entry!(read_scope, "read-scope", floor: false),
    entry!(registry_names, "registry-names", floor: false),
    entry!(reviewer_lockout, "reviewer-lockout", floor: false),
    entry!(role_scope, "role-scope", floor: false),
    entry!(secret_file, "secret-file", floor: true),
    entry!(secret_shown, "secret-shown", floor: false),
    entry!(shared_temporary, "shared-temporary", floor: false),
    entry!(team_settings, "team-settings", floor: true),
    entry!(unlisted_tool, "unlisted-tool", floor: false),
    entry!(unproved_effect, "unproved-effect", floor: false),
    entry!(worktree_removal, "worktree-removal", floor: false),
];

#[cfg(test)]
pub(crate) mod tests {
    use std::borrow::Cow;

    use toolgate_model::{
        Access, ActivationState, Agent, Facts, Finding, Places, Policy, Reach, Resolved, Team, Trouble, Use,
    };

    use super::*;

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
            private: Vec::new(),
            holds_secret: false,
            change: None,
            origin: None,
        }
    }

    /// A place where nothing stands yet, and that no link leads to.
    pub(crate) fn place(path: &str) -> Resolved {
        Resolved { lexical: path.into(), physical: path.into(), node: None }
    }

    /// What a policy objects to a call.
    pub(crate) fn objections(policy: &dyn Policy, facts: &Facts<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        policy.judge(facts, &mut findings);
        findings
    }

    #[test]
    fn every_policy_is_listed_and_has_its_manual() {
        assert!(POLICIES.is_sorted_by_key(|policy| policy.id));
        for policy in POLICIES {
            let doc = policy.doc();
            for heading in ["Why:", "Settings:", "Sees through:", "Does not see:"] {
                assert!(doc.contains(heading), "{} lacks {heading}", policy.id);
            }
            assert!(
                policy.source.contains(&format!("Finding::new(\"{}\"", policy.id)),
                "{} names itself",
                policy.id
            );
        }
    }
}
