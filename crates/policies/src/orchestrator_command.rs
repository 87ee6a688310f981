//! Denies an agent those commands of its orchestrator that change the guard itself.
//!
//! Why: an agent may talk to its orchestrator (`ib send`), but must not have it remove the hooks.
//!
//! Settings: `program` = the orchestrator's command; `forbidden` = sub-commands that agents may not run
//! (`hooks install`); a `*` at the end of a word matches any rest; `unless` = exceptions among them.
//!
//! Sees through: more words after the forbidden ones.
//! Does not see: the same through a shell line; there the effects of the line are judged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Decision, Facts, Finding, FindingKind, Policy};

/// `[policy.orchestrator-command]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OrchestratorCommand {
    /// The orchestrator's command.
    pub program: String,
    /// Sub-commands that agents may not run.
    pub forbidden: Vec<String>,
    /// Exceptions among them.
    pub unless: Vec<String>,
}

impl Policy for OrchestratorCommand {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        for run in &facts.runs {
            let Some((_, rest)) = run.words.split_first() else { continue };
            if self.program.is_empty() || run.program != self.program {
                continue;
            }
            let hit = |list: &[String]| list.iter().any(|command| begins(rest, command));
            if hit(&self.forbidden) && !hit(&self.unless) {
                findings.push(
                    Finding::new("orchestrator-command", Decision::Deny, FindingKind::Tampering)
                        .because(format!("`{}` is not available to agents", run.words.join(" ")))
                        .instead("have a person run it"),
                );
            }
        }
    }
}

fn begins(words: &[String], command: &str) -> bool {
    let mut words = words.iter();
    command.split(' ').all(|expected| {
        words.next().is_some_and(|word| match expected.strip_suffix('*') {
            Some(start) => word.starts_with(start),
            None => word == expected,
        })
    })
}
