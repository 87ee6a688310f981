//! Asks about calls whose effects cannot be named: shell commands, tools that nobody listed.
//!
//! Why: what is not understood is not thereby harmless. It is put to a person, or refused where there is none.
//!
//! Settings: `shell`, `tool`, `mcp` = `allow`, `ask` or `deny`, for shell commands, for tools that the host's
//! page does not list, and for tools of MCP servers (which the user has added himself, and which the host
//! asks about by its own rules: default `allow`, which is no grant).
//!
//! Sees through: a parameter named `command` of any tool counts as a shell command.
//! Does not see: what the command would do; shell commands are not analysed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Decision, Facts, Finding, Kind, Policy, Unknown, shorten};

/// `[policy.unproved-effect]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct UnprovedEffect {
    /// Shell commands.
    shell: Decision,
    /// Tools that their host's page does not list.
    tool: Decision,
    /// Tools of MCP servers without a parameter that looks like a path.
    mcp: Decision,
}

impl Default for UnprovedEffect {
    fn default() -> Self {
        UnprovedEffect { shell: Decision::Ask, tool: Decision::Ask, mcp: Decision::Allow }
    }
}

impl Policy for UnprovedEffect {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        for unknown in &facts.unknown {
            let (decision, reason, instead) = match unknown {
                Unknown::Shell { .. } => (
                    self.shell,
                    "what this command would do is not proved".to_owned(),
                    "use the file tools where they will do, or have a person approve it".to_owned(),
                ),
                Unknown::Tool(name) => (
                    self.tool,
                    format!("the tool {} is not known here", shorten(name, 80)),
                    format!("have a person approve it, or describe it in [tools.{}]", shorten(name, 80)),
                ),
                Unknown::McpTool(name) => (
                    self.mcp,
                    format!("what the tool {} would do is not proved", shorten(name, 80)),
                    format!("have a person approve it, or describe it in [tools.{}]", shorten(name, 80)),
                ),
            };
            if decision != Decision::Allow {
                findings.push(
                    Finding::new("unproved-effect", decision, Kind::Unproved)
                        .because(reason)
                        .instead(instead),
                );
            }
        }
    }
}
