//! Names of agents, which are names of directories.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of an agent: letters, digits, `.`, `_` and `-`, the first one a letter or a digit. It names one directory and
/// can name nothing else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentId(String);

/// What is wrong with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentFault {
    /// It is empty.
    Empty,
    /// It has more than 64 bytes.
    TooLong,
    /// It holds something else than letters, digits, `.`, `_` and `-`, or begins with one of the last three.
    NotAName,
}

impl fmt::Display for AgentFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AgentFault::Empty => "is empty",
            AgentFault::TooLong => "has more than 64 bytes",
            AgentFault::NotAName => {
                "is not a name; use letters, digits, `.`, `_` and `-`, and begin with a letter or a digit"
            }
        })
    }
}

impl std::error::Error for AgentFault {}

impl AgentId {
    const LONGEST: usize = 64;

    /// Checks a name.
    pub fn parse(text: &str) -> Result<AgentId, AgentFault> {
        if text.is_empty() {
            return Err(AgentFault::Empty);
        }
        if text.len() > Self::LONGEST {
            return Err(AgentFault::TooLong);
        }
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if !begins || !text.bytes().all(is_name) || text.contains("..") {
            return Err(AgentFault::NotAName);
        }
        Ok(AgentId(text.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for AgentId {
    type Error = AgentFault;

    fn try_from(text: String) -> Result<AgentId, AgentFault> {
        AgentId::parse(&text)
    }
}

impl From<AgentId> for String {
    fn from(id: AgentId) -> String {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_names_are_plain_names_of_directories() {
        for text in ["agent-5", "a", "A.b_c-d", "7"] {
            assert!(AgentId::parse(text).is_ok(), "{text}");
        }
        let long = "a".repeat(65);
        for (text, fault) in [
            ("", AgentFault::Empty),
            (long.as_str(), AgentFault::TooLong),
            ("../../home/u", AgentFault::NotAName),
            ("/etc", AgentFault::NotAName),
            ("a/b", AgentFault::NotAName),
            (".", AgentFault::NotAName),
            ("..", AgentFault::NotAName),
            (".toolgate", AgentFault::NotAName),
            ("-rf", AgentFault::NotAName),
            ("a..b", AgentFault::NotAName),
            ("a b", AgentFault::NotAName),
            ("a\0b", AgentFault::NotAName),
            ("a\n", AgentFault::NotAName),
            ("é", AgentFault::NotAName),
        ] {
            assert_eq!(AgentId::parse(text), Err(fault), "{text:?}");
        }
    }
}
