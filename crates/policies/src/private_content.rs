//! Denies or asks about secrets and email addresses in what is written to guarded places. Denies toolgate's own marks everywhere.
//!
//! A mark (`[EMAIL REDACTED]#22a0`) in a file would overwrite the value that it stands for.
//!
//! Why: what is written into a repository is committed, pushed and read by everybody, and a history does not forget.
//!
//! Settings: each `[[policy.private-content.guard]]` has `paths` (patterns as in `[[scope]]`), `secrets` and `emails`
//! (whether it is about these; both, unless one is `false`), `decision` = `deny` (default) or `ask`, and a `message`
//! of your own. `safe-emails` = addresses (`team@corp.com`) and domains (`@corp.com`) that may be written, beside those
//! that always may: `noreply@…`, all of `users.noreply.github.com` and of `example.com`. The `safe-emails` of `[redaction]`
//! are for reading and do not count here. `[redaction]` says what counts as a secret. Without a guard, toolgate looks
//! at nothing.
//!
//! Sees through: edits, patches, notebooks, MCP tools; in shell commands heredocs, here-strings, `echo`, `tee`, `sed -i`
//! and texts that are assembled from pieces: the whole text of a command that writes there counts.
//! Removed text (`old_string`, the removed lines of a patch) does not count, so an agent can remove a secret.
//! Does not see: what is copied or moved there, a patch that a command applies (`git apply`), what a program writes that
//! gets its text from elsewhere, and what is encoded.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Decision, Facts, Finding, FindingKind, Places, Policy, Private, Resolved, shorten};

use crate::pattern::{self, Probe};
use crate::response::{Response, deny};

/// What a mark of ours is called among private things. It is none itself: it stands where one stood.
pub const MARK: &str = "MARK";

/// `[policy.private-content]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct PrivateContent {
    /// Places, and what may not be written there.
    guard: Vec<Guard>,
    /// Addresses (`team@corp.com`) and domains (`@corp.com`) that may be written, beside those that always may.
    pub(crate) safe_emails: Vec<String>,
}

/// One `[[policy.private-content.guard]]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Guard {
    /// Places, as in `[[scope]]`.
    paths: Vec<String>,
    /// Whether the guard is about secrets.
    #[serde(default = "yes")]
    secrets: bool,
    /// Whether the guard is about email addresses that are on no safe list.
    #[serde(default = "yes")]
    emails: bool,
    /// `deny` or `ask`.
    #[serde(default = "deny")]
    decision: Response,
    /// What the agent is told; empty: what was found, and where.
    #[serde(default)]
    message: String,
}

fn yes() -> bool {
    true
}

impl Guard {
    fn covers(&self, place: &Resolved, places: &Places) -> bool {
        place.paths().any(|path| {
            let probe = Probe::new(path, places);
            self.paths
                .iter()
                .any(|pattern| probe.covered_by(pattern).is_some() || probe.forbidden_by(pattern))
        })
    }

    fn means(&self, private: &Private) -> bool {
        if private.email { self.emails } else { self.secrets && private.mark != MARK }
    }
}

impl PrivateContent {
    /// Says what in these settings cannot be used.
    pub(crate) fn check(&self) -> Result<(), String> {
        for guard in &self.guard {
            guard.paths.iter().try_for_each(|path| pattern::check(path))?;
            let first = guard.paths.first().map(String::as_str).unwrap_or_default();
            if first.is_empty() {
                return Err("a guard of private-content needs `paths`".to_owned());
            }
            if !guard.secrets && !guard.emails {
                return Err(format!("the guard of `{first}` means neither `secrets` nor `emails`"));
            }
            if guard.decision.is_silent() {
                return Err(format!("the guard of `{first}` can `deny` or `ask`, not `allow`"));
            }
        }
        Ok(())
    }

    /// How many things it names.
    pub(crate) fn len(&self) -> usize {
        self.safe_emails.len() + self.guard.iter().map(|guard| guard.paths.len()).sum::<usize>()
    }

    /// Whether secrets, and whether email addresses, are to be looked for in what is written to this place.
    pub(crate) fn seeks(&self, place: &Resolved, places: &Places) -> (bool, bool) {
        let guards = self.guard.iter().filter(|guard| guard.covers(place, places));
        guards.fold((false, false), |(secrets, emails), guard| {
            (secrets || guard.secrets, emails || guard.emails)
        })
    }
}

impl Policy for PrivateContent {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let written = facts.uses.iter().filter(|used| used.access.fills());
        for used in written.filter(|used| !used.private.is_empty()) {
            let Ok(place) = &used.place else { continue };
            if let Some(mark) = used.private.iter().find(|private| private.mark == MARK) {
                let path = place.lexical.to_string_lossy();
                let reason = format!(
                    "{} writes {} to `{}`: toolgate shows that mark in place of a secret or an address, and it would overwrite the \
                     real one",
                    facts.tool,
                    mark.about,
                    shorten(&path, 120)
                );
                findings.push(
                    Finding::new("private-content", Decision::Deny, FindingKind::Secret)
                        .at(&used.param, path)
                        .because(reason)
                        .instead("edit only the lines around it, or take the value from the environment"),
                );
            }
            for guard in self.guard.iter().filter(|guard| guard.covers(place, facts.places)) {
                let Some(private) = used.private.iter().find(|private| guard.means(private)) else {
                    continue;
                };
                let Some(decision) = guard.decision.objection() else { continue };
                let path = place.lexical.to_string_lossy();
                let (reason, instead) = if guard.message.is_empty() {
                    let reason = format!(
                        "{} writes {} to `{}`, where nothing private may be",
                        facts.tool,
                        private.about,
                        shorten(&path, 120)
                    );
                    (Cow::Owned(reason), "leave it out, or write a placeholder, and try again")
                } else {
                    (Cow::Borrowed(guard.message.as_str()), "")
                };
                findings.push(
                    Finding::new("private-content", decision, FindingKind::Secret)
                        .at(&used.param, path)
                        .because(reason)
                        .instead(instead),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolgate_model::Place;

    fn guard(paths: &[&str]) -> Guard {
        Guard {
            paths: paths.iter().map(ToString::to_string).collect(),
            secrets: true,
            emails: true,
            decision: Response::Deny,
            message: String::new(),
        }
    }

    #[test]
    fn only_guarded_places_are_searched() {
        let places = Places { root: Some(Place::plain("/r")), ..Places::default() };
        let guards = PrivateContent {
            guard: vec![
                Guard { secrets: false, ..guard(&["{worktree}/.squad"]) },
                Guard { emails: false, ..guard(&["**/Notes"]) },
            ],
            safe_emails: Vec::new(),
        };
        for (path, seeks) in [
            ("/r/.squad/team.md", (false, true)),
            ("/r/.SQUAD/team.md", (false, true)),
            ("/r/.squad/Notes/x", (true, true)),
            ("/r/Notes/x", (true, false)),
            ("/r/.squadron/x", (false, false)),
            ("/elsewhere/.squad/x", (false, false)),
        ] {
            let place = Resolved { lexical: path.into(), physical: path.into(), node: None, link: None };
            assert_eq!(guards.seeks(&place, &places), seeks, "{path}");
        }
        let linked =
            Resolved { lexical: "/r/docs/x".into(), physical: "/r/.squad/x".into(), node: None, link: None };
        assert_eq!(guards.seeks(&linked, &places), (false, true), "through a link");
    }

    #[test]
    fn a_guard_that_guards_nothing_is_an_error() {
        let checked = |guard| PrivateContent { guard: vec![guard], safe_emails: Vec::new() }.check();
        assert_eq!(checked(guard(&["**/.squad"])), Ok(()));
        assert!(checked(guard(&[])).is_err());
        assert!(checked(guard(&["squad"])).is_err());
        assert!(checked(Guard { secrets: false, emails: false, ..guard(&["**/x"]) }).is_err());
        assert!(checked(Guard { decision: Response::Allow, ..guard(&["**/x"]) }).is_err());
    }
}
