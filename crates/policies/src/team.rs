//! The words of `[team]`, `[role.*]`, `[agent.*]` and `[[limit]]`: who works here, in what role, and what is whose.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Member, plain_name};

use crate::glob;
use crate::rules::OwnRule;

/// `[team]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct TeamSettings {
    /// The role of a session that nobody registered, and that is no sub-agent's. Empty: none.
    pub main: String,
    /// Names and roles of those who may lock an author out with `toolgate lockout add`.
    pub reviewers: Vec<String>,
    /// Whether the user must first agree to a team that has no roster; until then nothing is written.
    pub init: bool,
    /// Whether grave denials (secrets, private data, destructive commands, tampering, another's work) are also written to
    /// `security-audit.log` in the team's directory.
    pub audit: bool,
    /// Who owns the team's files; the most specific entry counts.
    pub file: Vec<FileRule>,
    /// Who is on the team, beside those that its `team.md` lists.
    pub roster: Vec<RosterEntry>,
}

/// One `[[team.roster]]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RosterEntry {
    /// The agent's name.
    pub name: String,
    /// Its role.
    #[serde(default)]
    pub role: String,
}

/// One `[[team.file]]`: who owns a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct FileRule {
    /// The file or directory, by names below the team's directory: `agents/{name}/history.md`. `{name}` is its owner's
    /// name, `*` stands for any part of a name.
    pub path: String,
    /// Names and roles of those who may write it; `owner` is the one in its path, `everyone` any agent.
    pub write: Vec<String>,
    /// Those who may read it; left out: everyone.
    pub read: Option<Vec<String>>,
    /// Whether it may only grow.
    pub append_only: bool,
}

/// One `[role.<name>]` or `[agent.<name>]`: what is left out is not limited.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Role {
    /// The role of this agent. Only for `[agent.<name>]`.
    pub role: String,
    /// All that may be written: globs below the root.
    pub write: Option<Vec<String>>,
    /// What may also be written, even if it belongs to another agent.
    pub also_write: Vec<String>,
    /// All that may be read, in the same form. Places outside of the root are judged by `[[scope]]`.
    pub read: Option<Vec<String>>,
    /// All tools that may be used; a `*` at a name's end stands for any rest.
    pub tools: Option<Vec<String>>,
    /// All commands that may be run: a program, or a program and its sub-command (`git diff`).
    pub commands: Option<Vec<String>>,
    /// What may not be written, whatever else says so.
    pub not_write: Vec<String>,
    /// What may not be read.
    pub not_read: Vec<String>,
    /// Tools that may not be used.
    pub not_tools: Vec<String>,
    /// Commands that may not be run.
    pub not_commands: Vec<String>,
}

/// Roles or agents by name.
pub type Roles = BTreeMap<String, Role>;

/// One `[[limit]]`: no more than so many in a minute, for each agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limit {
    /// Its id, for `[rules]` and the end of its messages; left out: `limit-` and its place among these entries.
    #[serde(default)]
    pub id: String,
    /// What is counted: `call` (any), `read`, `write`, `run` or `connect`.
    pub kind: LimitKind,
    /// How many in one minute.
    pub per_minute: u32,
    /// Names and roles that it is for; empty: everyone.
    #[serde(default)]
    pub agents: Vec<String>,
}

impl OwnRule for Limit {
    const KIND: &'static str = "limit";
    fn id(&self) -> &str {
        &self.id
    }
}

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LimitKind {
    /// Any call.
    Call,
    /// Calls that read files.
    Read,
    /// Calls that make, change or delete files.
    Write,
    /// Calls that start programs.
    Run,
    /// Calls that connect to other machines.
    Connect,
}

impl LimitKind {
    /// The word for it in settings and in the log.
    pub fn word(self) -> &'static str {
        match self {
            LimitKind::Call => "call",
            LimitKind::Read => "read",
            LimitKind::Write => "write",
            LimitKind::Run => "run",
            LimitKind::Connect => "connect",
        }
    }
}

impl FileRule {
    /// The owner's name in this path below the team's directory and how many names the rule has, if it is about it.
    pub(crate) fn about<'p>(&self, below: &'p str) -> Option<(Option<&'p str>, usize)> {
        let mut parts = below.split('/').filter(|name| !name.is_empty());
        let mut owner = None;
        let mut count = 0;
        for wanted in self.path.split('/').filter(|name| !name.is_empty()) {
            let part = parts.next()?;
            if !is_called(wanted, part) {
                return None;
            }
            if wanted == OWNER {
                owner = Some(part);
            }
            count += 1;
        }
        Some((owner, count))
    }

    /// Whether a directory of this path below the team's may hold what the rule is about.
    pub(crate) fn is_below(&self, below: &str) -> bool {
        let mut wanted = self.path.split('/').filter(|name| !name.is_empty());
        let mut parts = below.split('/').filter(|name| !name.is_empty());
        parts.all(|part| wanted.next().is_some_and(|wanted| is_called(wanted, part)))
            && wanted.next().is_some()
    }

    /// The owner's name in such a path, as far as it goes.
    pub(crate) fn owner_in<'p>(&self, below: &'p str) -> Option<&'p str> {
        let mut pairs = self.path.split('/').zip(below.split('/'));
        pairs.find(|(wanted, _)| *wanted == OWNER).map(|(_, name)| name)
    }

    /// Whether its path names an owner.
    pub(crate) fn has_owner(&self) -> bool {
        self.path.split('/').any(|name| name == OWNER)
    }

    fn check(&self) -> Result<(), String> {
        let odd = |name: &str| matches!(name, "" | "." | ".." | "**");
        if self.path.is_empty() || self.path.trim_end_matches('/').split('/').any(odd) {
            return Err(format!("`{}` must be names below the team's directory", self.path));
        }
        Ok(())
    }
}

/// Stands for the owner's name in a path.
const OWNER: &str = "{name}";

fn is_called(wanted: &str, name: &str) -> bool {
    let (wanted, name) = (wanted.to_lowercase(), name.to_lowercase());
    wanted == OWNER || crate::pattern::wildcard(wanted.as_bytes(), name.as_bytes())
}

/// Whether one of these names and roles is the member's.
pub(crate) fn lists(list: &[String], member: &Member, owner: Option<&str>) -> bool {
    list.iter().any(|word| match word.as_str() {
        "everyone" => true,
        "owner" => owner.is_some_and(|owner| plain_name(owner) == member.name),
        word => member.is(word),
    })
}

impl TeamSettings {
    /// The role that the roster gives this name.
    pub fn role_of(&self, name: &str) -> Option<&str> {
        self.roster.iter().find(|entry| plain_name(&entry.name) == name).map(|entry| entry.role.as_str())
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        self.file.iter().try_for_each(FileRule::check)
    }

    pub(crate) fn len(&self) -> usize {
        self.file.len().max(self.roster.len())
    }
}

impl Role {
    pub(crate) fn check(&self) -> Result<(), String> {
        const MOST: usize = 1000;
        let lists = [
            self.write.as_deref(),
            self.read.as_deref(),
            Some(&self.also_write),
            Some(&self.not_write),
            Some(&self.not_read),
        ];
        let words = [
            self.tools.as_deref(),
            self.commands.as_deref(),
            Some(&self.not_tools),
            Some(&self.not_commands),
        ];
        if lists.iter().chain(&words).flatten().any(|list| list.len() > MOST) {
            return Err(format!("more than {MOST} entries of one kind"));
        }
        lists.into_iter().flatten().flatten().try_for_each(|glob| glob::check(glob))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_rule_reads_the_owner_from_the_path() {
        let rule = |path: &str| FileRule { path: path.into(), ..FileRule::default() };
        let history = rule("agents/{name}/history.md");
        assert_eq!(history.about("agents/ripley/history.md"), Some((Some("ripley"), 3)));
        assert_eq!(history.about("agents/ripley/History.MD"), Some((Some("ripley"), 3)));
        assert_eq!(history.about("agents/ripley/charter.md"), None);
        assert_eq!(history.about("agents"), None);
        assert_eq!(rule("log").about("log/a/b.md"), Some((None, 1)));
        assert!(history.is_below("agents/Ripley") && history.is_below("agents") && history.is_below(""));
        assert!(!history.is_below("agents/ripley/history.md") && !history.is_below("log"));
        assert_eq!(history.owner_in("agents/Ripley"), Some("Ripley"));
        assert_eq!(history.owner_in("agents"), None);
        assert!(rule("").check().is_err() && rule("a/../b").check().is_err());
    }

    #[test]
    fn malformed_roles_and_teams_are_refused() {
        let many = |count: usize| vec!["x".to_owned(); count];
        assert!(Role { not_tools: many(1000), ..Role::default() }.check().is_ok());
        assert!(Role { not_tools: many(1001), ..Role::default() }.check().is_err());
        assert!(Role { commands: Some(many(1001)), ..Role::default() }.check().is_err());
        assert!(Role { write: Some(vec!["../x".into()]), ..Role::default() }.check().is_err());
        assert!(Role { also_write: vec![" ".into()], ..Role::default() }.check().is_err());
        let team = TeamSettings {
            file: vec![FileRule { path: "**".into(), ..FileRule::default() }],
            roster: vec![
                RosterEntry { name: "Backend Dev".into(), role: "lead".into() },
                RosterEntry { name: "x".into(), role: String::new() },
            ],
            ..TeamSettings::default()
        };
        assert!(team.check().is_err());
        assert_eq!(
            (team.len(), team.role_of("backend-dev"), team.role_of("nobody")),
            (2, Some("lead"), None)
        );
    }

    /// The sentences that a squad's agents and its manual know, to the letter.
    #[test]
    #[cfg(feature = "files")]
    fn the_squad_profile_holds_the_squads_own_sentences() {
        let squad = crate::profile("squad").unwrap();
        for sentence in [
            "Coordinator cannot write domain artifacts. Route to an agent via task tool.",
            "{agent} is not authorized to write to {path}. Allowed paths: {detail}",
            "Agents cannot modify their own charter. Request changes via the coordinator.",
            "Orchestration logs and session logs are append-only. Use create, not edit.",
            "{agent} is locked out from revising {path} due to a reviewer rejection. A different agent must produce the \
             revision.",
            "Init Phase 1: File creation blocked until user confirms the team roster.",
            "{path} is append-only. Edits must only add content, not modify or remove existing entries.",
            "Write to decisions/inbox/ instead.",
            "Email address detected in content being written to .squad/. PII must not be committed to repository files. \
             Remove the email and retry.",
        ] {
            assert!(squad.contains(sentence), "{sentence}");
        }
    }
}
