//! Denies tools that are not on the list of allowed ones, or are on the list of denied ones.
//!
//! Why: an orchestrator gives each agent the tools that its job needs, and no prompt can widen that.
//!
//! Settings: `allow` = the only tools that may be used (`Read`, or `Bash(git:*)` for a shell command whose parts
//! all begin with these words); without it, every tool may be used. `deny` = tools that may not be used, whatever `allow`
//! says; `Bash(rm:*)` denies a command if any part of it begins so. `safe` = tools that the verdict's explanation calls
//! harmless.
//!
//! Sees through: `git status; curl x`, pipes, wrappers, substitutions: each simple command is compared on its own. `cd`,
//! `echo`, `test` and the like may come between them.
//! Does not see: what a listed command does. Other policies judge that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Decision, Facts, Finding, FindingKind, Gap, Policy, Run, Unknown};

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
        Finding::new("unlisted-tool", decision, FindingKind::Tool).because(reason).instead(instead)
    }
}

impl Policy for UnlistedTool {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let tool = facts.tool;
        if tool.is_empty() {
            return;
        }
        if self.deny.iter().any(|name| denies(name, facts)) {
            findings.push(Self::object(
                Decision::Deny,
                format!("the tool `{tool}` is not available here"),
                "use another tool",
            ));
        } else if let Some(allow) = &self.allow
            && !covers(allow, facts)
        {
            findings.push(Self::object(
                Decision::Deny,
                format!("tool not in allow list: `{tool}`"),
                "use a listed tool, or have a person add it to `allow`",
            ));
        } else if covers(&self.safe, facts) {
            findings.push(Self::object(
                Decision::Allow,
                format!("`{tool}` is in the safe-tool allowlist"),
                "",
            ));
        }
    }
}

/// The tool and the first words that `Bash(git push:*)` names.
fn parts(pattern: &str) -> Option<(&str, &str)> {
    pattern.strip_suffix(":*)")?.split_once('(')
}

/// Whether the entry is about this call, or about any part of its command.
fn denies(pattern: &str, facts: &Facts<'_>) -> bool {
    match parts(pattern) {
        None => pattern == facts.tool,
        Some((name, words)) => {
            name == facts.tool
                && (facts.runs.iter().any(|run| begins(run, words))
                    || facts.command.is_some_and(|text| starts(text, words)))
        }
    }
}

/// Whether the list covers the call: by the tool's name, or by the first words of every single command.
fn covers(list: &[String], facts: &Facts<'_>) -> bool {
    let listed = || list.iter().filter_map(|pattern| parts(pattern)).filter(|(name, _)| *name == facts.tool);
    if list.iter().any(|pattern| pattern == facts.tool) {
        return true;
    }
    let mut told = facts.runs.iter().filter(|run| !is_harmless(run)).peekable();
    if told.peek().is_none() {
        // Nothing but words of the shell itself, or nothing known: the text is all there is.
        return !has_hidden_runs(facts)
            && facts.command.is_some_and(|text| listed().any(|(_, words)| starts(text, words)));
    }
    told.all(|run| listed().any(|(_, words)| begins(run, words))) && !has_hidden_runs(facts)
}

/// Whether programs may be started whose names are not known. Where no command was looked into at all, its text counts.
fn has_hidden_runs(facts: &Facts<'_>) -> bool {
    let hides = |unknown: &Unknown<'_>| match unknown {
        Unknown::Shell { gap, .. } => match gap {
            Gap::Syntax | Gap::Name | Gap::Bounds => true,
            Gap::ShellCode => !facts.runs.is_empty(),
            Gap::Missing
            | Gap::Path(_)
            | Gap::Program
            | Gap::Option
            | Gap::Project
            | Gap::Code
            | Gap::Doubt(_) => false,
        },
        Unknown::Tool(_) | Unknown::McpTool(_) => false,
    };
    facts.unknown.iter().any(hides)
}

/// Words of the shell that start nothing. What they do with files is an effect, and judged as one.
fn is_harmless(run: &Run) -> bool {
    const HARMLESS: &[&str] = &[
        ":", "[", "[[", "break", "cd", "continue", "declare", "echo", "exit", "export", "false", "let",
        "local", "popd", "printf", "pushd", "pwd", "read", "readonly", "return", "set", "shift", "shopt",
        "test", "times", "trap", "true", "type", "typeset", "ulimit", "umask", "unset", "wait",
    ];
    run.program.is_empty() || (HARMLESS.contains(&run.program.as_str()) && run.outputs.is_empty())
}

/// Whether the run's first words are these, as it is written or as its spec reads it.
fn begins(run: &Run, words: &str) -> bool {
    let as_written = run.words.iter().skip(1).map(String::as_str);
    let as_read = run.sub.iter().map(String::as_str).chain(run.operands.iter().flatten().map(String::as_str));
    let program = || std::iter::once(run.program.as_str());
    let fits = |given: &mut dyn Iterator<Item = &str>| {
        words.split_whitespace().all(|word| given.next() == Some(word))
    };
    fits(&mut program().chain(as_written)) || fits(&mut program().chain(as_read))
}

fn starts(text: &str, words: &str) -> bool {
    text.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::tests::runs;
    use crate::tests::facts;
    use toolgate_model::{Places, Team};

    #[test]
    fn every_program_of_a_command_has_to_be_listed() {
        let (places, team) = (Places::default(), Team::default());
        let call = |command: &'static str| Facts {
            command: Some(command),
            runs: command.split("; ").flat_map(runs).collect(),
            ..facts("Bash", &places, &team)
        };
        let list = ["Bash(git:*)", "Bash(cargo test:*)"].map(str::to_owned);
        for (command, covered) in [
            ("git status", true),
            ("git status; curl x", false),
            ("cd src && git log | git hash-object --stdin", true),
            ("git log | sh", false),
            ("cargo test --all", true),
            ("cargo build", false),
            ("cd src", false),
            ("echo hi", false),
            ("gitk", false),
        ] {
            assert_eq!(covers(&list, &call(command)), covered, "{command}");
        }
        assert!(denies("Bash(curl:*)", &call("git status; curl x")));
        assert!(!denies("Bash(curl:*)", &call("echo curl")));
    }

    #[test]
    fn a_command_with_an_unknown_program_is_not_covered_by_a_list() {
        let (places, team) = (Places::default(), Team::default());
        let list = ["Bash(git:*)".to_owned()];
        let covered = |command: &'static str, gap| {
            let origin = toolgate_model::Origin { span: (0, 1), via: None };
            let call = Facts {
                command: Some(command),
                runs: runs(command),
                unknown: vec![Unknown::Shell { gap, text: String::new(), origin }],
                ..facts("Bash", &places, &team)
            };
            covers(&list, &call)
        };
        for gap in [Gap::Syntax, Gap::Name, Gap::Bounds, Gap::ShellCode] {
            assert!(!covered("git status", gap), "{gap:?}");
        }
        for gap in [Gap::Program, Gap::Option, Gap::Project] {
            assert!(covered("git status", gap), "{gap:?}");
        }
    }
}
