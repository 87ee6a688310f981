//! Denies deleting the worktree itself, a directory above it, its git directory, or everything in it.
//!
//! Why: an agent may delete what it may write, and `rm -rf build` is daily work. But the whole worktree is not the
//! agent's to remove, and every commit that was never pushed would be lost with `.git`.
//!
//! Settings: `enabled`.
//!
//! Sees through: `.`, `..`, `$PWD`, links, absolute names, `mv` to elsewhere; globs that name everything (`*`, `./*`); a search or a
//! list of everything that goes to `rm` (`find . -exec rm`, `ls -A | xargs rm`), which toolgate asks about.
//! Does not see: everything deleted one by one, and a search that deletes (`find . -delete`), which `destructive` asks
//! about.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Access, Decision, Facts, Finding, FindingKind, Place, Policy, Use, Via, shorten};

/// `[policy.worktree-removal]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WorktreeRemoval {
    /// Whether it is asked.
    enabled: bool,
}

impl Default for WorktreeRemoval {
    fn default() -> Self {
        WorktreeRemoval { enabled: true }
    }
}

impl Policy for WorktreeRemoval {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let Some(root) = facts.places.root.as_ref().filter(|_| self.enabled) else { return };
        let git = facts.places.git.as_ref();
        for used in facts.uses.iter().filter(|used| used.access == Access::Delete) {
            let Ok(place) = &used.place else { continue };
            let is_over = |worktree: &Place| place.paths().any(|path| is_at_or_over(path, worktree));
            let narrow = names_a_part(&used.text);
            let what = if !narrow && is_over(root) {
                "the worktree itself, or everything in it"
            } else if !narrow && git.is_some_and(is_over) {
                "the git directory, with every commit that was not pushed"
            } else {
                continue;
            };
            let decision = match searched(facts, used) {
                Searched::ByFind => continue,
                Searched::ByList => Decision::Ask,
                Searched::No => Decision::Deny,
            };
            let named = place.lexical.to_string_lossy().into_owned();
            findings.push(
                Finding::new("worktree-removal", decision, FindingKind::Destructive)
                    .because(format!("{} deletes `{}`: {what}", facts.tool, shorten(&named, 100)))
                    .at(&used.param, named)
                    .instead("name the files or directories in it to delete"),
            );
        }
    }
}

/// Whether taking `path` away takes the place away.
pub(crate) fn is_at_or_over(path: &Path, place: &Place) -> bool {
    place.physical.starts_with(path) || place.lexical.starts_with(path)
}

/// Whether the text is a glob that names only some of what is there: `*.o`, `build-*`.
pub(crate) fn names_a_part(text: &str) -> bool {
    let first_special = text.find(['*', '?', '[', '{']);
    let Some(before) = first_special.and_then(|at| text.get(..at)) else { return false };
    let start = before.rfind('/').map_or(0, |slash| slash + 1);
    let names = text.get(start..).unwrap_or_default().trim_end_matches('/');
    // `*`, `.*`, `**`, `.[!.]*`, `{*,.*}` and their like name everything.
    names
        .chars()
        .any(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '~' | '+' | '#' | '@' | '%'))
}

enum Searched {
    /// By `find`, whose own words say what it deletes.
    ByFind,
    /// By a list that only the running command knows: `xargs rm`.
    ByList,
    /// Named by the command itself.
    No,
}

/// Whether a search or a list that only the running command knows names what is deleted.
pub(crate) fn of_a_search(facts: &Facts<'_>, used: &Use<'_>) -> bool {
    !matches!(searched(facts, used), Searched::No)
}

fn searched(facts: &Facts<'_>, used: &Use<'_>) -> Searched {
    let Some(origin) = &used.origin else { return Searched::No };
    let by_find = |run: &toolgate_model::Run| run.program == "find" && run.origin.as_ref() == Some(origin);
    if facts.runs.iter().any(by_find) {
        return Searched::ByFind;
    }
    let mut step = origin.via.as_deref();
    while let Some(Via { step: name, before, .. }) = step {
        let program = name.split(' ').next().unwrap_or_default();
        if matches!(program, "xargs" | "parallel" | "find" | "fd") {
            return Searched::ByList;
        }
        step = before.as_deref();
    }
    Searched::No
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::tests::{facts, objections, place, used};
    use toolgate_model::{Origin, Places, Run, Team};

    #[test]
    fn deleting_the_worktree_is_denied_asked_about_in_xargs_and_left_to_find() {
        let team = Team::default();
        let places = Places {
            root: Some(Place::plain("/work/alpha")),
            git: Some(Place::plain("/repo/.git")),
            ..Places::default()
        };
        let judged = |path: &str, step: Option<&str>, program: &str| {
            let wrapper = |step: &str| {
                let inner = Via { step: step.into(), line: String::new(), before: None };
                Rc::new(Via { step: "sudo".into(), line: String::new(), before: Some(Rc::new(inner)) })
            };
            let origin = Some(Origin { span: (0, 9), via: step.map(wrapper) });
            let uses = vec![Use { origin: origin.clone(), ..used(Access::Delete, Ok(place(path))) }];
            let runs = vec![Run { origin, ..Run::of(vec![program.into()]) }];
            let call = Facts { uses, runs, ..facts("Bash", &places, &team) };
            let found = objections(&WorktreeRemoval { enabled: true }, &call);
            found.first().map(|finding| (finding.decision, finding.reason.clone()))
        };
        let tree = "Bash deletes `/work/alpha`: the worktree itself, or everything in it".to_owned();
        let git = "Bash deletes `/repo/.git`: the git directory, with every commit that was not pushed";
        assert_eq!(judged("/work/alpha", None, "rm"), Some((Decision::Deny, tree.clone())));
        assert_eq!(judged("/work/alpha", Some("bash -c"), "rm"), Some((Decision::Deny, tree.clone())));
        assert_eq!(judged("/work/alpha", Some("xargs -0"), "rm"), Some((Decision::Ask, tree)));
        assert_eq!(judged("/work/alpha", None, "find"), None);
        assert_eq!(judged("/repo/.git", None, "rm"), Some((Decision::Deny, git.to_owned())));
        assert_eq!(judged("/work/alpha/src", None, "rm"), None);
    }

    #[test]
    fn a_glob_names_a_part_if_it_has_a_fixed_letter() {
        for (text, part) in [
            ("*", false),
            ("./*", false),
            ("/work/alpha/*", false),
            (".*", false),
            (".[!.]*", false),
            ("{*,.*}", false),
            ("**", false),
            ("*/", false),
            (".", false),
            ("/work/alpha", false),
            ("*.o", true),
            ("build-*", true),
            ("./*.log", true),
            ("*/build", true),
        ] {
            assert_eq!(names_a_part(text), part, "{text}");
        }
    }

    #[test]
    fn paths_at_or_above_the_worktree_are_recognized() {
        let root = Place::plain("/work/alpha");
        for (path, over) in [
            ("/work/alpha", true),
            ("/work", true),
            ("/", true),
            ("/work/alpha/src", false),
            ("/work/al", false),
        ] {
            assert_eq!(is_at_or_over(Path::new(path), &root), over, "{path}");
        }
    }
}
