//! Denies an agent writing files that are not its own: by the list it was registered with, and by the team's table.
//!
//! Why: agents that work side by side undo each other's work if nobody says who owns a file.
//!
//! Settings: `enabled` switches it on or off. `[[team.file]]` = the table: a path below the team's directory, `write` = names and
//! roles (`owner` is the agent named by `{name}` in the path, `everyone` any agent). The most specific entry
//! counts, and what no entry covers there belongs to the coordinator. Elsewhere in the project an agent writes everything. An agent
//! that was registered with a list (`toolgate agent add --write`) writes what that covers, in the team's directory too, and
//! nothing else. `also-write` of `[agent.<name>]` opens more. The team's `team.md`, the table of its governance file and its
//! `policies.json` add to these.
//!
//! Sees through: the shell, links, `..`, other letter case, backslashes; a helper in an agent's own session is that agent.
//! Does not see: what git brings in from another branch, or, for an agent without a list, from a patch (`git apply`); what a
//! script of the project writes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

use toolgate_model::{Decision, Facts, Finding, FindingKind, Member, Policy, plain_name, shorten};

use crate::glob::Names;
use crate::project::{changed_in_project, is_built, takes_tree, team_path};
use crate::settings::Settings;
use crate::team::{FileRule, Roles, lists};

/// `[policy.ownership]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Ownership {
    /// Whether it is on.
    enabled: bool,
}

/// The policy over its settings, the team's table and what single agents are given besides.
pub(crate) struct Owners<'s> {
    settings: &'s Ownership,
    files: &'s [FileRule],
    agents: &'s Roles,
}

impl<'s> Owners<'s> {
    pub(crate) fn of(settings: &'s Settings) -> Owners<'s> {
        Owners { settings: &settings.policy.ownership, files: &settings.team.file, agents: &settings.agent }
    }
}

impl Policy for Owners<'_> {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let member = &facts.team.member;
        if !self.settings.enabled || member.is_coordinator() {
            return;
        }
        for (used, place) in changed_in_project(facts) {
            let open = |path: &Path| self.is_open(path, takes_tree(used), facts);
            if place.paths().all(open) || is_built(used, place) {
                continue;
            }
            let allowed = match &member.may_write {
                Some(list) => list.join(", "),
                None => self.own_files(facts).join(", "),
            };
            let path = place.lexical.to_string_lossy();
            findings.push(
                Finding::new("ownership", Decision::Deny, FindingKind::NotOwner)
                    .because(format!(
                        "{} {} `{}`, which is not {}'s to write",
                        facts.tool,
                        used.access.verb(),
                        shorten(&path, 120),
                        member.called()
                    ))
                    .at(&used.param, path)
                    .instead(format!("write to {}, or hand it to its owner", shorten(&allowed, 120)))
                    .detail(shorten(&allowed, 200)),
            );
        }
    }
}

impl Owners<'_> {
    /// What a member may write besides.
    pub(crate) fn also_open<'o>(&'o self, member: &'o Member) -> impl Iterator<Item = &'o String> {
        let given = |name: &str| self.agents.iter().find(|(known, _)| plain_name(known) == name);
        member.names().filter_map(given).flat_map(|(_, agent)| &agent.also_write)
    }

    fn is_open(&self, path: &Path, tree: bool, facts: &Facts<'_>) -> bool {
        let member = &facts.team.member;
        let names = Names::of(path, facts.places);
        if self.also_open(member).any(|glob| names.covered_by(glob)) {
            return true;
        }
        if let Some(list) = &member.may_write {
            return list.iter().any(|glob| names.covered_by(glob));
        }
        let Some(below) = team_path(path, facts.places) else { return true };
        if !member.is_worker() || self.files.is_empty() {
            return true;
        }
        let ruled = self.files.iter().filter_map(|rule| Some((rule, rule.about(&below)?)));
        let most = ruled.max_by_key(|(_, (_, count))| *count);
        let mut inside = self.files.iter().filter(|rule| rule.is_below(&below));
        // A tree is open where nothing in it is closed.
        most.is_some_and(|(rule, (owner, _))| lists(&rule.write, member, owner))
            && (!tree || inside.all(|rule| lists(&rule.write, member, rule.owner_in(&below))))
    }

    /// The paths of the table that this member may write, for people.
    fn own_files(&self, facts: &Facts<'_>) -> Vec<String> {
        let member = &facts.team.member;
        let own = self.files.iter().filter(|rule| lists(&rule.write, member, Some(&member.name)));
        own.map(|rule| rule.path.replace("{name}", &member.name)).collect()
    }
}
