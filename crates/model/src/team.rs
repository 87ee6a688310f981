//! Who is calling, in what role, and the state of the team and the session: from what people registered and from the
//! log, never from the agent's own word.

use serde::{Deserialize, Serialize};

/// The role of the agent that hands out work and writes none itself.
pub const COORDINATOR: &str = "coordinator";

/// Where a team of agents keeps its files: one of these, at the top of a worktree.
pub const TEAM_DIRECTORIES: [&str; 2] = [".squad", ".ai-team"];

/// A name or a role as it is compared: `Backend Dev`, `backend_dev` and `@backend-dev` are the same.
pub fn plain_name(name: &str) -> String {
    let name = name.trim().trim_start_matches('@').to_lowercase();
    let words = name.split(|letter: char| letter.is_whitespace() || matches!(letter, '_' | '-'));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

/// An agent as people know it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its name, as [`plain_name`] gives it; empty where nobody named it.
    pub name: String,
    /// Its role, likewise; empty where it has none.
    pub role: String,
    /// The role that it has as a helper of that one, which limits it besides and gives it no rights; empty where it has none.
    pub helper_role: String,
    /// Globs below the root, all that it may write; `None` where that is left to its role.
    pub may_write: Option<Vec<String>>,
    /// Globs below the root that it may read although they are another's: what it was handed with its work.
    pub may_read: Vec<String>,
}

impl Member {
    /// Whether it hands out work and writes none itself.
    pub fn is_coordinator(&self) -> bool {
        self.role == COORDINATOR
    }

    /// Whether it is one of those who do the work.
    pub fn is_worker(&self) -> bool {
        let is_known = !self.name.is_empty() || !self.role.is_empty();
        is_known && !self.is_coordinator()
    }

    /// Whether this name or role is its own.
    pub fn is(&self, name_or_role: &str) -> bool {
        let wanted = plain_name(name_or_role);
        !wanted.is_empty() && (wanted == self.name || wanted == self.role)
    }

    /// Its name; none where nobody named it.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        Some(self.name.as_str()).filter(|name| !name.is_empty()).into_iter()
    }

    /// What to call it in a message.
    pub fn called(&self) -> &str {
        [&self.name, &self.role]
            .into_iter()
            .find(|word| !word.is_empty())
            .map_or("this agent", String::as_str)
    }
}

/// An agent may not revise an artifact, since a reviewer has rejected what it made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lockout {
    /// A path below the root, a directory, a glob, or the bare name of an artifact.
    pub artifact: String,
    /// The agent's name.
    pub agent: String,
}

/// How far a team has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TeamPhase {
    /// A team has been proposed; its user has not agreed.
    #[serde(rename = "init-phase-1")]
    Proposed,
    /// The user has agreed, and it is being set up.
    #[serde(rename = "init-phase-2")]
    Agreed,
    /// It works.
    #[default]
    #[serde(rename = "team-mode")]
    Working,
}

impl TeamPhase {
    /// The word for it in records and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            TeamPhase::Proposed => "init-phase-1",
            TeamPhase::Agreed => "init-phase-2",
            TeamPhase::Working => "team-mode",
        }
    }

    /// The phase of this word.
    pub fn of(word: &str) -> Option<TeamPhase> {
        [TeamPhase::Proposed, TeamPhase::Agreed, TeamPhase::Working]
            .into_iter()
            .find(|phase| phase.word() == word)
    }
}

/// What is known of the team when a call comes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Team {
    /// Who is calling.
    pub member: Member,
    /// How far the team has come.
    pub phase: TeamPhase,
    /// Who may not revise what.
    pub lockouts: Vec<Lockout>,
    /// Why the list of lockouts cannot be read, where it cannot.
    pub unreadable: Option<String>,
    /// What has happened in the session.
    pub history: History,
}

/// What has happened in a session before a call, as the log has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// Questions that its user was asked.
    pub asked: u32,
    /// What this agent has done within the last minute, by kind.
    pub recent: Vec<(String, u32)>,
}

impl History {
    /// How often this agent has done something of this kind within the last minute.
    pub fn recently(&self, kind: &str) -> u32 {
        self.recent.iter().find(|(known, _)| known == kind).map_or(0, |(_, count)| *count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_case_and_separators() {
        for name in ["backend-dev", "Backend Dev", " backend_dev ", "@Backend--Dev"] {
            assert_eq!(plain_name(name), "backend-dev", "{name}");
        }
        assert_eq!(plain_name("@"), "");
    }

    #[test]
    fn a_member_without_a_name_is_neither_coordinator_nor_worker() {
        let nobody = Member::default();
        assert!(!nobody.is_coordinator() && !nobody.is_worker() && !nobody.is(""));
        let named = Member { name: "ripley".into(), ..Member::default() };
        assert!(named.is_worker() && named.is("Ripley"));
        assert!(Member { role: COORDINATOR.into(), ..named }.is_coordinator());
    }
}
