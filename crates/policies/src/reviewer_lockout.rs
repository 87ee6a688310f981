//! Denies an agent revising an artifact that a reviewer has rejected: another agent makes the next version.
//!
//! Why: the author of rejected work tends to defend it. The point of a review is that somebody else takes over.
//!
//! Settings: `enabled` switches it on or off, `escalate-after` = once this many agents are locked out of one artifact, toolgate tells the user about
//! each further try. `toolgate lockout add` adds a lockout and `toolgate lockout clear` clears it; they are kept in
//! `lockout.json` of the team's directory and in toolgate's own state. An entry is a path below the root, a directory, a glob, or
//! the bare name of an artifact (`auth` is `src/auth.ts` and `src/auth/`).
//!
//! Sees through: every tool that writes, `sed -i`, `>`, `mv`, `rm -r` of a directory above, links to the artifact, other spellings of
//! its path; restarts of the host; a helper in an agent's own session is that agent.
//! Does not see: what git brings in from another branch, and what a helper of a helper does under a name of its own. Whatever is
//! written over the whole worktree (a patch, an archive, a formatter) and files with a second name are denied to whoever is locked out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

use toolgate_model::{
    Access, Decision, Facts, Finding, FindingKind, Lockout, NodeKind, Policy, Resolved, Use, plain_name,
    shorten,
};

use crate::glob::{self, Names};
use crate::project::{is_built, is_device, is_git_at_work, named, takes_tree};
use crate::settings::Settings;
use crate::team::RosterEntry;

/// `[policy.reviewer-lockout]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct ReviewerLockout {
    /// Whether it is on.
    enabled: bool,
    /// After this many agents are locked out of one artifact, toolgate tells the user.
    escalate_after: usize,
}

impl Default for ReviewerLockout {
    fn default() -> Self {
        ReviewerLockout { enabled: false, escalate_after: 3 }
    }
}

impl ReviewerLockout {
    /// Whether lockouts are asked for at all.
    pub(crate) fn is_on(&self) -> bool {
        self.enabled
    }
}

/// The policy over its settings and the team's roster.
pub(crate) struct Lockouts<'s> {
    settings: &'s ReviewerLockout,
    roster: &'s [RosterEntry],
}

impl<'s> Lockouts<'s> {
    pub(crate) fn of(settings: &'s Settings) -> Lockouts<'s> {
        Lockouts { settings: &settings.policy.reviewer_lockout, roster: &settings.team.roster }
    }
}

/// Whether an artifact is this path, or holds it.
fn covers(artifact: &str, names: &Names) -> bool {
    names.forbidden_by(artifact) || (glob::is_bare(artifact) && names.hold(artifact))
}

/// Whether a use changes the artifact, or makes a way to do so later.
fn revises(used: &Use<'_>, path: &Path, artifact: &str, facts: &Facts<'_>) -> bool {
    let names = Names::of(named(path), facts.places);
    // Git at work on the whole worktree brings in what is committed somewhere; anything else that fills it may fill the artifact.
    let tree = takes_tree(used) && !is_git_at_work(used, path, facts);
    covers(artifact, &names) || (tree && (names.are_above(artifact) || names.are_root()))
}

/// Whether the file has other names, one of which may be the artifact's: hard links are seen in no path.
fn has_other_names(used: &Use<'_>, place: &Resolved) -> bool {
    let is_file = |node: &toolgate_model::Node| node.kind == NodeKind::File && node.names > 1;
    let changes = used.writes() && used.access != Access::Delete && !is_built(used, place);
    changes && place.node.as_ref().is_some_and(is_file)
}

impl Policy for Lockouts<'_> {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let team = facts.team;
        if !self.settings.enabled {
            return;
        }
        let changes = |used: &&Use<'_>| (used.writes() || used.access == Access::Link) && !is_device(used);
        let writes = || facts.uses.iter().filter(changes);
        if let Some(why) = &team.unreadable
            && let Some((used, place)) = writes().find_map(|used| Some((used, used.place.as_ref().ok()?)))
        {
            findings.push(
                Finding::new("reviewer-lockout", Decision::Deny, FindingKind::Failure)
                    .at(&used.param, place.lexical.to_string_lossy())
                    .because(format!("the list of lockouts cannot be read: {why}"))
                    .instead("have a person fix the file")
                    .urgent(),
            );
            return;
        }
        let own = held(facts);
        for used in writes() {
            let Ok(place) = &used.place else { continue };
            let Some(lockout) = own.iter().find(|lockout| {
                place.paths().any(|path| revises(used, path, &lockout.artifact, facts))
                    || has_other_names(used, place)
            }) else {
                continue;
            };
            findings.push(self.finding(used, place, lockout, facts));
        }
    }
}

/// The lockouts of the one who calls. A sub-agent that is on no list goes by what its host calls it.
fn held<'f>(facts: &'f Facts<'_>) -> Vec<&'f Lockout> {
    let member = &facts.team.member;
    let known = [&member.name, &member.role, &member.helper_role].into_iter().cloned();
    let names: Vec<String> = known.chain(facts.agent.words().map(plain_name)).collect();
    let is_own = |lockout: &&Lockout| names.contains(&plain_name(&lockout.agent));
    facts.team.lockouts.iter().filter(is_own).collect()
}

impl Lockouts<'_> {
    /// What the one who calls is locked out of.
    pub(crate) fn artifacts<'f>(&self, facts: &'f Facts<'_>) -> Vec<&'f str> {
        let own = if self.settings.enabled { held(facts) } else { Vec::new() };
        own.into_iter().map(|lockout| lockout.artifact.as_str()).collect()
    }

    fn finding(&self, used: &Use<'_>, place: &Resolved, lockout: &Lockout, facts: &Facts<'_>) -> Finding {
        let names: Vec<Names> = place.paths().map(|path| Names::of(path, facts.places)).collect();
        let about = |other: &&Lockout| {
            other.artifact == lockout.artifact || names.iter().any(|names| covers(&other.artifact, names))
        };
        let mut locked: Vec<String> =
            facts.team.lockouts.iter().filter(about).map(|lockout| plain_name(&lockout.agent)).collect();
        locked.sort();
        locked.dedup();
        let workers =
            self.roster.iter().filter(|entry| plain_name(&entry.role) != toolgate_model::COORDINATOR);
        let mut workers = workers.map(|entry| plain_name(&entry.name)).peekable();
        let deadlock = workers.peek().is_some() && workers.all(|name| locked.contains(&name));
        let path = place.lexical.to_string_lossy();
        let who = facts.team.member.called();
        let finding = Finding::new("reviewer-lockout", Decision::Deny, FindingKind::LockedOut)
            .because(format!(
                "{who} is locked out of `{}`, because a reviewer rejected its version of `{}`",
                shorten(&path, 100),
                shorten(&lockout.artifact, 60)
            ))
            .at(&used.param, path)
            .detail(lockout.artifact.clone());
        if deadlock {
            // Nobody is left who could go on: only the user can.
            return finding
                .instead("every agent is locked out of it; ask the user to run `toolgate lockout clear`")
                .urgent();
        }
        let finding = finding.instead("another agent makes the next version");
        if locked.len() >= self.settings.escalate_after { finding.urgent() } else { finding }
    }
}

/// Whether this agent is locked out of this artifact, and who is.
pub fn locked_out<'l>(
    lockouts: &'l [Lockout],
    artifact: &str,
    places: &toolgate_model::Places,
) -> Vec<&'l str> {
    let root = places.root.as_ref().map_or(Path::new("/"), |root| root.lexical.as_path());
    let names = Names::of(&toolgate_model::clean(&root.join(artifact)), places);
    let about = |lockout: &&Lockout| lockout.artifact == artifact || covers(&lockout.artifact, &names);
    lockouts.iter().filter(about).map(|lockout| lockout.agent.as_str()).collect()
}
