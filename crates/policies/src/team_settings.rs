//! Denies agents the files that say who is on the team, in what role, and which rules it has; only its coordinator keeps them.
//!
//! Why: an agent that can write the roster or the rules can make itself anyone and allow itself anything.
//!
//! Settings: none. This is the floor; no file opens it. It holds for agents that have a name or a role. The roster, and none
//! of the other files, is open to an agent that a person has registered with a list that covers it (`toolgate agent add --write`).
//!
//! Sees through: the shell, links, other letter case, deleting a directory above.
//! Does not see: what git brings in from another branch or a patch (`git merge`, `git apply`); what project code
//! writes; what a program does to the whole worktree (a formatter, `tar x`).

use std::path::Path;

use toolgate_model::{Decision, Facts, Finding, FindingKind, Policy, shorten};

use crate::glob::Names;
use crate::project::{changed_in_project, takes_tree, team_path};

pub(crate) struct TeamFiles;

/// By names below the team's directory.
const RULES: &str = "config";
const ROSTER: &str = "team.md";

impl Policy for TeamFiles {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let member = &facts.team.member;
        if !member.is_worker() {
            return;
        }
        for (used, place) in changed_in_project(facts) {
            let handed = |path: &Path| {
                let names = Names::of(path, facts.places);
                member.may_write.iter().flatten().any(|glob| names.covered_by(glob))
            };
            let meant = |path: &Path| {
                team_path(path, facts.places).is_some_and(|below| match below.as_str() {
                    "" => takes_tree(used),
                    ROSTER => !handed(path),
                    below => below.split('/').next() == Some(RULES),
                })
            };
            if place.paths().any(meant) {
                let path = place.lexical.to_string_lossy();
                findings.push(
                    Finding::new("team-settings", Decision::Deny, FindingKind::Tampering)
                        .because(format!(
                            "{} {} `{}`, which defines the team and its rules",
                            facts.tool,
                            used.access.verb(),
                            shorten(&path, 120)
                        ))
                        .at(&used.param, path)
                        .instead("ask the coordinator, or a person"),
                );
            }
        }
    }
}
