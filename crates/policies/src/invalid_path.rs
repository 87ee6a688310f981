//! Denies paths that cannot be judged: none at all, not a string, NUL or control characters, too long, link loops.
//!
//! Why: if the gate and the kernel read a name differently, the gate has judged another file. toolgate denies what it
//! cannot judge; it does not guess.
//!
//! Settings: `enabled` (profiles that look at tools and roles only switch it off).
//!
//! Sees through: characters that are invisible or change the writing direction, link loops,
//! directories that cannot be read.
//! Does not see: look-alike letters of other alphabets. Such a name is another file for the kernel too, so it
//! is judged as that file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Decision, Facts, Finding, FindingKind, Policy, Trouble, shorten};

/// `[policy.invalid-path]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct InvalidPath {
    /// Whether paths are judged at all.
    enabled: bool,
}

impl Default for InvalidPath {
    fn default() -> Self {
        InvalidPath { enabled: true }
    }
}

impl Policy for InvalidPath {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        if !self.enabled {
            return;
        }
        for used in &facts.uses {
            let Err(trouble) = &used.place else { continue };
            let (what, instead) = match trouble {
                Trouble::Missing => ("is missing".to_owned(), "name the file"),
                Trouble::NotText(kind) => (format!("is {kind}, not a string"), "give the path as one string"),
                Trouble::Empty => ("is empty".to_owned(), "name the file"),
                Trouble::Nul => ("holds a NUL byte".to_owned(), "leave it out"),
                Trouble::Control(c) => {
                    (format!("holds the invisible character U+{:04X}", u32::from(*c)), "leave it out")
                }
                Trouble::Blank => ("begins or ends with a blank".to_owned(), "leave the blank out"),
                Trouble::TooLong => ("is longer than the system takes".to_owned(), "use a shorter path"),
                Trouble::NoDirectory => (
                    "is relative, and the event names no working directory".to_owned(),
                    "give an absolute path",
                ),
                Trouble::LinkLoop => {
                    ("leads through links in a circle".to_owned(), "name the file that is meant")
                }
                Trouble::Unreadable(at) => (
                    format!(
                        "cannot be followed: `{}` may not be looked into",
                        shorten(&at.to_string_lossy(), 120)
                    ),
                    "use a path that can be followed",
                ),
            };
            findings.push(
                Finding::new("invalid-path", Decision::Deny, FindingKind::InvalidPath)
                    .at(&used.param, used.text.escape_debug().to_string())
                    .because(format!("`{}` of {} {what}", used.param, facts.tool))
                    .instead(instead),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{facts, objections, used};
    use toolgate_model::{Access, Places, Team};

    #[test]
    fn every_trouble_with_a_path_is_denied_with_a_reason_and_advice() {
        let (places, team) = (Places::default(), Team::default());
        let told = |enabled, trouble: Trouble| {
            let uses = vec![used(Access::Read, Err(trouble))];
            let found =
                objections(&InvalidPath { enabled }, &Facts { uses, ..facts("Read", &places, &team) });
            found.first().map(Finding::line)
        };
        for (trouble, what) in [
            (Trouble::Missing, "is missing; name the file"),
            (Trouble::NotText("a number"), "is a number, not a string; give the path as one string"),
            (Trouble::Empty, "is empty; name the file"),
            (Trouble::Nul, "holds a NUL byte; leave it out"),
            (Trouble::Control('\u{202e}'), "holds the invisible character U+202E; leave it out"),
            (Trouble::Blank, "begins or ends with a blank; leave the blank out"),
            (Trouble::TooLong, "is longer than the system takes; use a shorter path"),
            (
                Trouble::NoDirectory,
                "is relative, and the event names no working directory; give an absolute path",
            ),
            (Trouble::LinkLoop, "leads through links in a circle; name the file that is meant"),
            (
                Trouble::Unreadable("/root".into()),
                "cannot be followed: `/root` may not be looked into; use a path that can be followed",
            ),
        ] {
            assert_eq!(told(false, trouble.clone()), None);
            assert_eq!(told(true, trouble), Some(format!("`path` of Read {what} [invalid-path]")));
        }
    }
}
