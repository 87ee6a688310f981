//! Denies tools that are not on the list of allowed ones, or are on the list of denied ones.
//!
//! Why: an orchestrator gives each agent the tools that its job needs, and no prompt can widen that.
//!
//! Settings: `allow` = the only tools that may be used (`Read`, or `Bash(git:*)` for shell commands that
//! begin with a word); without it every tool may be. `deny` = tools that may not, whatever `allow` says.
//! `safe` = tools that are called harmless in the verdict's explanation.
//!
//! Sees through: nothing needs to be; names are compared exactly, and a prefix ends at a space.
//! Does not see: what the command does behind its first words. `unproved-effect` asks about that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Decision, Facts, Finding, Kind, Policy};

/// `[policy.unlisted-tool]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct UnlistedTool {
    /// The only tools that may be used: `Read`, `Bash(git:*)`.
    pub allow: Option<Vec<String>>,
    /// Tools that may not be used.
    pub deny: Vec<String>,
    /// Tools that the explanation calls harmless.
    pub safe: Vec<String>,
}

impl UnlistedTool {
    fn object(decision: Decision, reason: String, instead: &str) -> Finding {
        Finding::new("unlisted-tool", decision, Kind::Tool).because(reason).instead(instead)
    }
}

impl Policy for UnlistedTool {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let tool = facts.tool;
        if tool.is_empty() {
            return;
        }
        let command = facts.command;
        if self.deny.iter().any(|name| names(name, tool, command)) {
            findings.push(Self::object(
                Decision::Deny,
                format!("the tool `{tool}` is not available here"),
                "use another tool",
            ));
        } else if let Some(allow) = &self.allow
            && !allow.iter().any(|name| names(name, tool, command))
        {
            findings.push(Self::object(
                Decision::Deny,
                format!("tool not in allow list: `{tool}`"),
                "use a listed tool, or have a person add it to `allow`",
            ));
        } else if self.safe.iter().any(|name| names(name, tool, command)) {
            findings.push(Self::object(
                Decision::Allow,
                format!("`{tool}` is in the safe-tool allowlist"),
                "",
            ));
        }
    }
}

/// `Read` is the tool of that name; `Bash(git:*)` is that tool with a command whose first words are these.
fn names(pattern: &str, tool: &str, command: Option<&str>) -> bool {
    let Some((name, prefix)) = pattern.strip_suffix(":*)").and_then(|pattern| pattern.split_once('(')) else {
        return pattern == tool;
    };
    let begins = |command: &str| {
        command.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    name == tool && command.is_some_and(begins)
}
