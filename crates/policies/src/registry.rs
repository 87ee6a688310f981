//! All policies in one table, in the order in which they are asked.
//!
//! A row makes the field of `[policy.<id>]`, the page of the manual, the place in the order, and what is said of a
//! policy's settings besides. A policy that is added needs its file, its `mod` line, a row here, and its file of cases.
//!
//! A row is `module: "id"`, and then what judges:
//!
//! - `[Settings]`: the struct of its `[policy.<id>]` judges by itself;
//! - `[Settings] by Judge`: a judge that sees all settings, made by `Judge::of`;
//! - `by Judge`: the same without settings of its own;
//! - `is Judge`: a judge that no setting reaches.
//!
//! What follows in parentheses are marks:
//!
//! - `team`: once it is set, it has to be known who is calling;
//! - `checked`: its settings can be wrong, and have a `check`;
//! - `counted`: its settings are lists that every call pays for, and have a `len`.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::Policy;

use crate::destructive::DiskFloor;
use crate::settings::Settings;

/// A policy and its manual, which is the head of its own file.
#[derive(Debug, Clone, Copy)]
pub struct PolicyPage {
    /// Its id, as in `[policy.<id>]` and at the end of a message.
    pub id: &'static str,
    /// The floor holds whatever the settings say.
    pub floor: bool,
    source: &'static str,
}

impl PolicyPage {
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

/// The type of what judges, how it is made, and how it is asked, for each of the four kinds of row.
macro_rules! judge {
    (type $life:lifetime $module:ident [$settings:ident] [] []) => { &$life crate::$module::$settings };
    (type $life:lifetime $module:ident [$($settings:ident)?] [$judge:ident] []) => { crate::$module::$judge<$life> };
    (type $life:lifetime $module:ident [] [] [$judge:ident]) => { crate::$module::$judge };
    (make $from:ident $module:ident [$settings:ident] [] []) => { &$from.policy.$module };
    (make $from:ident $module:ident [$($settings:ident)?] [$judge:ident] []) => { crate::$module::$judge::of($from) };
    (make $from:ident $module:ident [] [] [$judge:ident]) => { crate::$module::$judge };
    (ask $judges:ident $module:ident [$settings:ident] [] []) => { $judges.$module };
    (ask $judges:ident $module:ident $($rest:tt)*) => { &$judges.$module };
}

/// The code, where the mark is the one that is wanted.
macro_rules! marked {
    (team team $($code:tt)*) => { $($code)* };
    (checked checked $($code:tt)*) => { $($code)* };
    (counted counted $($code:tt)*) => { $($code)* };
    ($wanted:ident $mark:ident $($code:tt)*) => {};
}

macro_rules! policies {
    (
        floor { $($floor:ident: $floor_id:literal
            $([$floor_settings:ident])? $(by $floor_judge:ident)? $(is $floor_unit:ident)? $(($($floor_mark:ident),*))?;)* }
        settable { $($module:ident: $id:literal
            $([$settings:ident])? $(by $judge:ident)? $(is $unit:ident)? $(($($mark:ident),*))?;)* }
    ) => {
        /// `[policy.*]`
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
        pub(crate) struct Policies {
            $($(pub(crate) $floor: crate::$floor::$floor_settings,)?)*
            $($(pub(crate) $module: crate::$module::$settings,)?)*
        }

        impl Policies {
            /// Whether a policy is set that asks who is calling.
            pub(crate) fn ask_who_calls(&self) -> bool {
                let mut asks = false;
                $($($(marked!(team $mark asks |= self.$module != Default::default(););)*)?)*
                asks
            }

            /// Says what in these settings cannot be used.
            pub(crate) fn check(&self) -> Result<(), String> {
                $($($(marked!(checked $floor_mark self.$floor.check()?;);)*)?)*
                $($($(marked!(checked $mark self.$module.check()?;);)*)?)*
                Ok(())
            }

            /// The length of the longest list.
            pub(crate) fn len(&self) -> usize {
                let mut longest = 0;
                $($($(marked!(counted $mark longest = longest.max(self.$module.len()););)*)?)*
                longest
            }
        }

        /// What judges by some settings, ready to be asked.
        pub struct Judges<'s> {
            $($floor: judge!(type 's $floor [$($floor_settings)?] [$($floor_judge)?] [$($floor_unit)?]),)*
            $($module: judge!(type 's $module [$($settings)?] [$($judge)?] [$($unit)?]),)*
        }

        impl<'s> Judges<'s> {
            /// What judges by these settings.
            pub(crate) fn of(settings: &'s Settings) -> Judges<'s> {
                Judges {
                    $($floor: judge!(make settings $floor [$($floor_settings)?] [$($floor_judge)?] [$($floor_unit)?]),)*
                    $($module: judge!(make settings $module [$($settings)?] [$($judge)?] [$($unit)?]),)*
                }
            }

            /// The policies that hold whatever the settings say, in their order.
            pub(crate) fn floor(&self) -> Vec<&dyn Policy> {
                let judges = self;
                // The packs' rules on disks are the floor of a policy that is settable otherwise.
                vec![$(judge!(ask judges $floor [$($floor_settings)?] [$($floor_judge)?] [$($floor_unit)?]),)* &DiskFloor]
            }

            /// The other policies, in their order.
            pub(crate) fn settable(&self) -> impl Iterator<Item = &dyn Policy> {
                let judges = self;
                let all: [&dyn Policy; _] =
                    [$(judge!(ask judges $module [$($settings)?] [$($judge)?] [$($unit)?])),*];
                all.into_iter()
            }
        }

        /// Every policy, by id.
        pub static POLICIES: LazyLock<Vec<PolicyPage>> = LazyLock::new(|| {
            let mut pages = vec![
                $(PolicyPage { id: $floor_id, floor: true, source: include_str!(concat!(stringify!($floor), ".rs")) },)*
                $(PolicyPage { id: $id, floor: false, source: include_str!(concat!(stringify!($module), ".rs")) },)*
            ];
            pages.sort_by_key(|page| page.id);
            pages
        });

        /// The modules and ids of the table, to be compared.
        #[cfg(test)]
        const ROWS: &[(&str, &str)] =
            &[$((stringify!($floor), $floor_id),)* $((stringify!($module), $id),)*];
    };
}

policies! {
    floor {
        gate_tampering: "gate-tampering" is GateTampering;
        team_settings: "team-settings" is TeamFiles;
        secret_file: "secret-file" [SecretFile] (checked);
        hooks_off: "hooks-off" is HooksOff;
        own_command: "own-command" by OwnCommand;
    }
    settable {
        // Of the team's policies the one that says most about a file comes first: its message is the one that the agent
        // reads.
        init_phase: "init-phase" [InitPhase] (team);
        coordinator_write: "coordinator-write" [CoordinatorWrite] (team);
        own_charter: "own-charter" [OwnCharter] (team);
        decision_inbox: "decision-inbox" [DecisionInbox] (team);
        create_only_log: "create-only-log" [CreateOnlyLog] (team);
        append_only: "append-only" [AppendOnly] by GrowingFiles (team);
        registry_names: "registry-names" [RegistryNames] (team);
        ownership: "ownership" [Ownership] by Owners (team);
        reviewer_lockout: "reviewer-lockout" [ReviewerLockout] by Lockouts (team);
        read_scope: "read-scope" [ReadScope] by Readers (team);
        ask_user_limit: "ask-user-limit" [AskUserLimit] (team);
        role_scope: "role-scope" by RoleScope;
        rate_limit: "rate-limit" by RateLimits;
        invalid_path: "invalid-path" [InvalidPath];
        path_traversal: "path-traversal" [PathTraversal];
        // Before the scope: an agent reads that a file is not declared, wherever it lies.
        declared_io: "declared-io" [DeclaredIo] (counted);
        outside_scope: "outside-scope" [Needs] by OutsideScope;
        git_internals_write: "git-internals-write" [GitInternalsWrite];
        worktree_removal: "worktree-removal" [WorktreeRemoval];
        directory_change: "directory-change" [DirectoryChange];
        expanded_target: "expanded-target" [ExpandedTarget];
        destructive: "destructive" [Destructive] by CommandRules (checked);
        unlisted_tool: "unlisted-tool" [UnlistedTool];
        read_only_role: "read-only-role" [ReadOnlyRole] (team);
        directory_read: "directory-read" [DirectoryRead];
        orchestrator_command: "orchestrator-command" [OrchestratorCommand];
        custom_rule: "custom-rule" by CustomRules;
        unproved_effect: "unproved-effect" [UnprovedEffect];
        shared_temporary: "shared-temporary" [SharedTemporary];
        private_content: "private-content" [PrivateContent] (checked, counted);
        mcp_secret: "mcp-secret" [McpSecret];
        secret_shown: "secret-shown" [SecretShown];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_has_a_manual_and_finds_under_its_own_id() {
        assert!(POLICIES.is_sorted_by_key(|policy| policy.id));
        for policy in POLICIES.iter() {
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

    #[test]
    fn every_policy_is_named_after_its_file() {
        for (module, id) in ROWS {
            assert_eq!(module.replace('_', "-"), *id);
        }
    }
}
