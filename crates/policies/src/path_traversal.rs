//! Denies `..` and absolute paths where the settings forbid them on sight.
//!
//! Why: some teams want no path that climbs, wherever it would end. By default toolgate resolves `..` and judges
//! the place that it leads to, so this policy is quiet.
//!
//! Settings: `dotdot` = `resolve` (default: judged where it leads), `reject` (a component `..` is refused) or
//! `substring` (two dots anywhere in the text are refused, as the oldest guards did); `absolute` = `inside`
//! (default: judged where it leads) or `never`; `reads` = whether this holds for reads too.
//!
//! Sees through: `..` behind either separator. `[...slug].tsx` and `a..b` hold no component `..` and pass.
//! Does not see: where the path leads. `outside-scope` does, always. Whether a path in a shell command is
//! written as an absolute one: by then toolgate has resolved it from the working directory, and judges where it leads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Decision, Facts, Finding, FindingKind, Policy, has_dotdot, shorten};

/// `[policy.path-traversal]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PathTraversal {
    /// What `..` means.
    dotdot: DotDot,
    /// What an absolute path means.
    absolute: Absolute,
    /// Whether this holds for reads too.
    reads: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum DotDot {
    /// Resolved; the place that it leads to is judged.
    #[default]
    Resolve,
    /// A component `..` is refused.
    Reject,
    /// Two dots anywhere in the text are refused.
    Substring,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Absolute {
    /// Judged where it leads.
    #[default]
    Inside,
    /// Refused.
    Never,
}

impl Policy for PathTraversal {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        for used in facts.uses.iter().filter(|used| self.reads || used.writes()) {
            let climbs = match self.dotdot {
                DotDot::Resolve => false,
                DotDot::Reject => has_dotdot(&used.text),
                DotDot::Substring => used.text.contains(".."),
            };
            // A shell command's paths are all absolute by now, however they are written.
            let given = used.origin.is_none();
            let absolute = self.absolute == Absolute::Never && given && used.text.starts_with('/');
            let (what, instead) = if climbs {
                ("holds `..`", "write the path without it")
            } else if absolute {
                (
                    "is absolute",
                    "give it relative to the working directory, or have a person set `absolute = \"inside\"` in \
                     [policy.path-traversal]",
                )
            } else {
                continue;
            };
            findings.push(
                Finding::new("path-traversal", Decision::Deny, FindingKind::Traversal)
                    .at(&used.param, used.text.escape_debug().to_string())
                    .because(format!(
                        "`{}` of {}, `{}`, {what}",
                        used.param,
                        facts.tool,
                        shorten(&used.text.escape_debug().to_string(), 120)
                    ))
                    .instead(instead),
            );
        }
    }
}
