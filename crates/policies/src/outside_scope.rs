//! Denies reading or writing outside of the places that the settings open.
//!
//! Why: an agent that edits the main checkout, another agent's worktree or a file of the home undoes the
//! isolation that its worktree was made for, and a line added to `~/.bashrc` keeps acting after the session.
//!
//! Settings: `[[scope]]` entries, each a place and the rights there (`none`, `read`, `write`). The entry that
//! names the most of a path wins; of two that name as much, the later one. What no entry covers is closed. An entry may have
//! an `id`, which is then named at the end of the messages that it causes.
//! `[policy.outside-scope]`: `links` = the rights that are needed where a link leads (`read`; `write` for a guard that
//! lets none lead out), `shell-reads` = the rights that reading and listing by a shell command need (`read`; `none`
//! for a guard of writes and directories only), `above` = whether a directory above the root may be changed into
//! (`true`: what is then used there is judged by its own name).
//!
//! Sees through: `..`, symbolic links in any part of the path, a missing directory that would be made on the
//! way, a repository that is named like the beginning of another (`/repo2`), globs, searches from above, links that a shell command
//! meets below a directory that it goes through.
//! Does not see: hard links, and what changes between the look and the use. That is the sandbox's job.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{
    Access, Decision, Facts, Finding, FindingKind, Places, Policy, Reach, Resolved, Use, shorten,
};

use crate::pattern::{self, Probe};
use crate::settings::Settings;

/// What may be done in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rights {
    /// Nothing.
    None,
    /// Reading.
    Read,
    /// Reading and writing.
    Write,
}

/// A place and the rights there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScopeEntry {
    /// A name for the end of the messages that it causes; left out: none, as most places are closed by no entry at all.
    #[serde(default)]
    pub id: String,
    /// The place: `/usr`, `~/.cargo`, `{worktree}`, `{main}/logs`, `**/node_modules`.
    pub path: String,
    /// What may be done there and below.
    pub rights: Rights,
}

/// `[policy.outside-scope]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct Needs {
    /// What is needed where a link leads that a command makes.
    links: Rights,
    /// What reading, listing and searching by a shell command need.
    shell_reads: Rights,
    /// Whether a directory above the root may be changed into: what is then used there is judged by its own name.
    above: bool,
}

impl Default for Needs {
    fn default() -> Self {
        Needs { links: Rights::Read, shell_reads: Rights::Read, above: true }
    }
}

/// The policy over a list of entries.
pub(crate) struct OutsideScope<'s> {
    entries: &'s [ScopeEntry],
    needs: &'s Needs,
}

impl<'s> OutsideScope<'s> {
    pub(crate) fn of(settings: &'s Settings) -> OutsideScope<'s> {
        OutsideScope { entries: &settings.scope, needs: &settings.policy.outside_scope }
    }
}

impl Policy for OutsideScope<'_> {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        for used in &facts.uses {
            let Ok(place) = &used.place else { continue };
            let needed = match used.access {
                Access::List | Access::Read | Access::Search if used.origin.is_some() => {
                    self.needs.shell_reads
                }
                Access::Enter | Access::List | Access::Read | Access::Search => Rights::Read,
                Access::Link => self.needs.links,
                Access::Append | Access::Write | Access::Delete => Rights::Write,
            };
            if needed == Rights::None || used.own_lock {
                continue;
            }
            if used.access == Access::Enter && self.needs.above && is_above_root(place, facts.places) {
                continue;
            }
            let closed = match used.access {
                // Names behind a link of one's own tree are no more than names.
                Access::List if used.origin.is_some() => {
                    Some(place.lexical.as_path()).filter(|path| self.rights(path, facts.places) < needed)
                }
                _ => place.paths().find(|path| self.rights(path, facts.places) < needed),
            };
            if let Some(path) = closed {
                findings.push(self.finding(used, place, path, facts));
            } else if used.reach == Reach::Below
                && let Some(path) = self.closed_below(place, facts.places)
            {
                findings.push(self.finding(used, place, &path, facts));
            }
        }
    }
}

/// `cd ..`, `cd /`, `cd ~`: a directory above the root is only a way. What is then used there is judged by its own name.
fn is_above_root(place: &Resolved, places: &Places) -> bool {
    let above = places.root.as_ref().is_some_and(|root| root.physical.starts_with(&place.physical));
    let closed =
        [&places.main, &places.agents].into_iter().flatten().any(|closed| closed.holds(&place.physical));
    above && !closed
}

impl<'s> OutsideScope<'s> {
    pub(crate) fn rights(&self, path: &Path, places: &Places) -> Rights {
        self.entry(path, places).map_or(Rights::None, |entry| entry.rights)
    }

    /// The entry that counts for a path.
    pub(crate) fn entry(&self, path: &Path, places: &Places) -> Option<&'s ScopeEntry> {
        let probe = Probe::new(path, places);
        let mut best = (0, None);
        for entry in self.entries {
            if let Some(depth) = probe.covered_by(&entry.path)
                && depth >= best.0
            {
                best = (depth, Some(entry));
            }
        }
        best.1
    }

    fn finding(&self, used: &Use<'_>, place: &Resolved, path: &Path, facts: &Facts<'_>) -> Finding {
        let entry = self.entry(path, facts.places).map(|entry| entry.id.clone());
        let held = used.is_held() || used.is_guessed();
        finding(used, place, path, facts).rule(entry.unwrap_or_default()).held(held)
    }

    /// A search from above reaches closed places too. One inside the worktree does not count: what is
    /// nested there was put there, and searching one's own tree must not fail for it.
    fn closed_below(&self, place: &Resolved, places: &Places) -> Option<std::path::PathBuf> {
        if places.root.as_ref().is_some_and(|root| root.holds(&place.physical)) {
            return None;
        }
        let closed = self.entries.iter().filter(|entry| entry.rights == Rights::None);
        closed
            .flat_map(|entry| pattern::literal_places(&entry.path, places))
            .map(|place| place.physical)
            .find(|path| {
                path != &place.physical
                    && path.starts_with(&place.physical)
                    && self.rights(path, places) == Rights::None
            })
    }
}

fn finding(used: &Use<'_>, place: &Resolved, path: &Path, facts: &Facts<'_>) -> Finding {
    let places = facts.places;
    let inside =
        |place: &Option<toolgate_model::Place>| place.as_ref().is_some_and(|place| place.holds(path));
    let (kind, whose) = if inside(&places.agents) || places.siblings.iter().any(|place| place.holds(path)) {
        let entered = used.access == Access::Enter;
        (
            if entered { FindingKind::OtherAgentEntered } else { FindingKind::OtherAgent },
            "in another agent's place",
        )
    } else if inside(&places.main) {
        (FindingKind::MainCheckout, "in the main checkout")
    } else {
        (FindingKind::Outside, "outside of what this session may use")
    };
    let verb = used.access.verb();
    let named = shorten(&place.lexical.to_string_lossy(), 100);
    let leads = if path == place.lexical {
        String::new()
    } else {
        format!(" (it leads to `{}`)", shorten(&path.to_string_lossy(), 100))
    };
    let instead = match &places.root {
        Some(root) => format!(
            "use a path below `{}`, or have a person open this place with a [[scope]] entry",
            shorten(&root.lexical.to_string_lossy(), 80)
        ),
        None => "have a person register the session's directory with --root".to_owned(),
    };
    Finding::new("outside-scope", Decision::Deny, kind)
        .at(&used.param, place.lexical.to_string_lossy().into_owned())
        .because(format!("{} {verb} `{named}`{leads}, {whose}", facts.tool))
        .instead(instead)
}
