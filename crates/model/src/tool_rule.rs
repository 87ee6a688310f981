//! A person's own entry about a tool that no host's page lists.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the user's settings say about a tool that its host's page does not list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolRule {
    /// The parameters that name files.
    #[serde(default)]
    pub paths: Vec<String>,
    /// What the tool does with them.
    #[serde(default)]
    pub access: ToolAccess,
}

/// What a tool does with the files that its parameters name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolAccess {
    /// Makes or changes them.
    #[default]
    Write,
    /// Only reads them.
    Read,
    /// Nothing: what looks like a path is not one.
    None,
}
