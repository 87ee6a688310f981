//! Denies an agent reading what another agent keeps for itself: its charter and its notes.
//!
//! Why: an agent that reads everybody's notes mixes up their tasks and mistakes with its own, and every turn costs more
//! tokens.
//!
//! Settings: `enabled` switches it on or off. `read` of `[[team.file]]` entries whose path has a `{name}`: names and roles that
//! may read it, besides its owner and the coordinator; without it everyone may. Files that an agent was given for its work are
//! open (`toolgate agent add --read`).
//!
//! Sees through: the shell, links, `..`, searches that start in the team's directory.
//! Does not see: a search of the whole worktree, which it would stop far too often; what git shows of its history
//! (`git show HEAD:FILE`, `git log -p`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Access, Decision, Facts, Finding, FindingKind, Policy, Reach, plain_name, shorten};

use crate::glob::Names;
use crate::project::team_path;
use crate::settings::Settings;
use crate::team::{FileRule, lists};

/// `[policy.read-scope]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ReadScope {
    /// Whether it is on.
    enabled: bool,
}

/// The policy over its settings and the team's table.
pub(crate) struct Readers<'s> {
    settings: &'s ReadScope,
    files: &'s [FileRule],
}

impl<'s> Readers<'s> {
    pub(crate) fn of(settings: &'s Settings) -> Readers<'s> {
        Readers { settings: &settings.policy.read_scope, files: &settings.team.file }
    }
}

impl Policy for Readers<'_> {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let member = &facts.team.member;
        if !self.settings.enabled || !member.is_worker() {
            return;
        }
        let reads = |access: Access| matches!(access, Access::Read | Access::Search | Access::Link);
        for used in facts.uses.iter().filter(|used| reads(used.access)) {
            let Ok(place) = &used.place else { continue };
            let closed = place.paths().find_map(|path| {
                let names = Names::of(path, facts.places);
                let handed = member.may_read.iter().any(|glob| names.covered_by(glob));
                let below = team_path(path, facts.places).filter(|_| !handed)?;
                self.closed(&below, used.reach, facts)
            });
            if let Some(whose) = closed {
                let path = place.lexical.to_string_lossy();
                findings.push(
                    Finding::new("read-scope", Decision::Deny, FindingKind::NotReader)
                        .because(format!(
                            "{} {} `{}`, which is private to {whose}",
                            facts.tool,
                            used.access.verb(),
                            shorten(&path, 120)
                        ))
                        .at(&used.param, path)
                        .instead("read your own files and decisions.md, or ask for what you need"),
                );
            }
        }
    }
}

impl Readers<'_> {
    /// Whose it is, where that is another's.
    fn closed(&self, below: &str, reach: Reach, facts: &Facts<'_>) -> Option<String> {
        let member = &facts.team.member;
        let is_own = |owner: &str| member.names().any(|name| name == plain_name(owner));
        for rule in self.files {
            let Some(readers) = &rule.read else { continue };
            if let Some((Some(owner), _)) = rule.about(below) {
                let may = is_own(owner) || lists(readers, member, Some(owner));
                if !may {
                    return Some(owner.to_owned());
                }
            } else if reach == Reach::Below && rule.has_owner() && rule.is_below(below) {
                let owner = rule.owner_in(below);
                let may = owner.is_some_and(is_own) || lists(readers, member, owner);
                if !may {
                    return Some(owner.unwrap_or("another agent").to_owned());
                }
            }
        }
        None
    }
}
