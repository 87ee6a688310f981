//! Denies reading or writing outside of the places that the settings open.
//!
//! Why: an agent that edits the main checkout, another agent's worktree or a file of the home undoes the
//! isolation that its worktree was made for, and a line added to `~/.bashrc` keeps acting after the session.
//!
//! Settings: `[[scope]]` entries, each a place and the rights there (`none`, `read`, `write`). The most
//! specific entry wins; of two equally specific ones, the later. What no entry covers is closed. An entry may have
//! an `id`, which is then named at the end of the messages that it causes; `ask = true`: toolgate asks a person about what `rights`
//! gives, and everything else there is closed; a sandbox keeps the whole place closed; a `reason`; and an end (`until = "2026-12-31"`, the last day).
//! `toolgate allow read PLACE` writes an entry.
//! `[policy.outside-scope]`: `links` = the rights that are needed where a link leads (`read`; `write` for a guard that
//! lets none lead out), `shell-reads` = the rights that reading and listing by a shell command need (`read`; `none`
//! for a guard of writes and directories only), `above` = whether a directory above the root may be changed into
//! (`true`: what is then used there is judged by its own name).
//!
//! Sees through: `..`, symbolic links in any part of the path, a missing directory that would be made on the
//! way, a repository whose name begins like another's (`/repo2`), globs, searches from above, links that a shell command
//! meets below a directory that it goes through, links that a listing goes into.
//! Does not see: hard links, and what changes between the check and the use. That is the sandbox's job.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{
    Access, Decision, Facts, Finding, FindingKind, NodeKind, Place, Places, Policy, Reach, Resolved, Use,
    shorten,
};

use crate::pattern::{self, Probe};
use crate::settings::Settings;
use crate::until::Until;

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
    /// Whether a person is asked each time.
    #[serde(default)]
    pub ask: bool,
    /// Why, for whoever reads the file.
    #[serde(default)]
    pub reason: String,
    /// The last day on which it holds, or the moment at which it ends.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub until: Option<Until>,
}

impl ScopeEntry {
    /// A place and the rights there, without end and without asking.
    pub fn new(path: impl Into<String>, rights: Rights) -> ScopeEntry {
        ScopeEntry {
            id: String::new(),
            path: path.into(),
            rights,
            ask: false,
            reason: String::new(),
            until: None,
        }
    }

    /// What may be done there without asking anybody.
    pub(crate) fn unasked(&self) -> Rights {
        if self.ask { Rights::None } else { self.rights }
    }
}

/// `[policy.outside-scope]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct Needs {
    /// The right that is needed where a new link leads.
    links: Rights,
    /// The right that a shell command needs to read, list and search.
    shell_reads: Rights,
    /// Whether a directory above the root may be changed into: what is then used there is judged by its own name.
    above: bool,
}

impl Default for Needs {
    fn default() -> Self {
        Needs { links: Rights::Read, shell_reads: Rights::Read, above: true }
    }
}

/// Whether volumes of this system usually take `A` and `a` for one name.
const FOLDS_CASE: bool = cfg!(target_os = "macos");

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
            // A link of one's own tree may be looked at wherever it leads; what is behind it may not.
            let link = place.link.as_deref().filter(|_| shows_link(used));
            let other = place.paths().filter(|path| link.is_none() || *path == place.lexical);
            let paths = link.into_iter().chain(other);
            let mut closed = paths.filter(|path| self.rights(path, facts.places) < needed);
            // What no person may approve is said before what one may.
            let is_denied = |path: &&Path| !self.asks(path, facts.places, needed);
            let found = closed.clone().find(is_denied).or_else(|| closed.next());
            if let Some(path) = found {
                findings.push(self.finding(used, place, path, facts, needed));
            } else if used.reach == Reach::Below
                && let Some(path) = self.closed_below(place, facts.places)
            {
                findings.push(self.finding(used, place, &path, facts, needed));
            }
        }
    }
}

/// Whether a shell command looks at the last name of a path alone, and does not go in: `d/` is what is in it.
fn shows_link(used: &Use<'_>) -> bool {
    let last = used.text.rsplit('/').next().unwrap_or_default();
    used.access == Access::List && used.origin.is_some() && !matches!(last, "" | "." | "..")
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
        self.entry(path, places).map_or(Rights::None, ScopeEntry::unasked)
    }

    /// Whether a person is asked about needing these rights here.
    fn asks(&self, path: &Path, places: &Places, needed: Rights) -> bool {
        self.entry(path, places).is_some_and(|entry| entry.ask && entry.rights >= needed)
    }

    /// The entry that counts for a path.
    pub(crate) fn entry(&self, path: &Path, places: &Places) -> Option<&'s ScopeEntry> {
        self.entry_where(path, places, FOLDS_CASE)
    }

    /// The same on a system whose volumes fold case, or not. There `Private/x` is a file of `private`: an entry that takes rights away
    /// counts in either case, and one that gives some only as it is written.
    fn entry_where(&self, path: &Path, places: &Places, folds_case: bool) -> Option<&'s ScopeEntry> {
        let probe = Probe::new(path, places);
        let mut best: (usize, Option<&ScopeEntry>) = (0, None);
        for entry in self.entries {
            if let Some(depth) = probe.covered_by(&entry.path)
                && depth >= best.0
            {
                best = (depth, Some(entry));
            }
        }
        for entry in self.entries.iter().filter(|_| folds_case) {
            let takes = best.1.is_some_and(|known| entry.unasked() < known.unasked());
            if takes && probe.covered_in_either_case_by(&entry.path).is_some_and(|depth| depth >= best.0) {
                best.1 = Some(entry);
            }
        }
        best.1
    }

    fn finding(
        &self,
        used: &Use<'_>,
        place: &Resolved,
        path: &Path,
        facts: &Facts<'_>,
        needed: Rights,
    ) -> Finding {
        let entry = self.entry(path, facts.places).map(|entry| entry.id.clone());
        let held = used.is_held() || used.is_guessed();
        let mut finding =
            finding(used, place, path, facts, needed).rule(entry.unwrap_or_default()).held(held);
        if let Some(misspelt) = self.misspelt(path, facts.places, needed) {
            let named = shorten(misspelt, 80);
            finding.instead =
                format!("is the [[scope]] entry `{named}` misspelt? Otherwise, {}", finding.instead);
        }
        if self.asks(path, facts.places, needed) {
            finding.decision = Decision::Ask;
        }
        finding
    }

    /// An entry that would open this place if it were not for one letter too many, too few, or two that changed places: a person who
    /// has written it believes that the place is open.
    fn misspelt(&self, path: &Path, places: &Places, needed: Rights) -> Option<&'s str> {
        let gives = self.entries.iter().filter(|entry| entry.rights >= needed);
        let mut fits = gives.filter(|entry| {
            let meant = pattern::literal_places(&entry.path, places);
            meant.iter().any(|place| is_nearly(&place.lexical, path) || is_nearly(&place.physical, path))
        });
        fits.next().map(|entry| entry.path.as_str())
    }

    /// A search from above reaches closed places too. One inside the worktree does not count: what is
    /// nested there was put there, and searching one's own tree must not fail for it.
    fn closed_below(&self, place: &Resolved, places: &Places) -> Option<std::path::PathBuf> {
        if places.root.as_ref().is_some_and(|root| root.holds(&place.physical)) {
            return None;
        }
        let closed = self.entries.iter().filter(|entry| entry.unasked() == Rights::None);
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

/// Whether a path lies in this place but for a slip in one of the place's names.
fn is_nearly(place: &Path, path: &Path) -> bool {
    let mut slips = 0;
    let mut names = path.components();
    for written in place.components() {
        let Some(meant) = names.next() else { return false };
        if written != meant {
            slips += 1;
            let (written, meant) =
                (written.as_os_str().to_string_lossy(), meant.as_os_str().to_string_lossy());
            if slips > 1 || !is_slip(&written, &meant) {
                return false;
            }
        }
    }
    slips == 1
}

/// Whether two long names differ by one letter too many or by two letters that changed places. Another letter in the same place is
/// another name: `project-a`, `project-b`.
fn is_slip(one: &str, other: &str) -> bool {
    const SHORTEST: usize = 5;
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len().min(other.len()) < SHORTEST {
        return false;
    }
    let same = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
    let rest = |name: &[char], skip: usize| name.get(same + skip..).map(<[char]>::to_vec);
    let letters = |name: &[char]| name.get(same).is_some_and(|letter| letter.is_alphabetic());
    match one.len().cmp(&other.len()) {
        std::cmp::Ordering::Less => {
            letters(&other) && rest(&other, 1).is_some() && rest(&one, 0) == rest(&other, 1)
        }
        std::cmp::Ordering::Greater => {
            letters(&one) && rest(&one, 1).is_some() && rest(&other, 0) == rest(&one, 1)
        }
        std::cmp::Ordering::Equal => {
            let swapped = one.get(same) == other.get(same + 1) && one.get(same + 1) == other.get(same);
            swapped
                && letters(&one)
                && letters(&other)
                && rest(&one, 2).is_some()
                && rest(&one, 2) == rest(&other, 2)
        }
    }
}

fn finding(used: &Use<'_>, place: &Resolved, path: &Path, facts: &Facts<'_>, needed: Rights) -> Finding {
    let places = facts.places;
    let inside =
        |place: &Option<toolgate_model::Place>| place.as_ref().is_some_and(|place| place.holds(path));
    let (kind, whose) = if inside(&places.agents) || places.siblings.iter().any(|place| place.holds(path)) {
        let entered = used.access == Access::Enter;
        (
            if entered { FindingKind::OtherAgentEntered } else { FindingKind::OtherAgent },
            "which belongs to another agent",
        )
    } else if inside(&places.main) {
        (FindingKind::MainCheckout, "in the main checkout")
    } else {
        (FindingKind::Outside, "outside what this session may use")
    };
    let verb = used.access.verb();
    let named = shorten(&place.lexical.to_string_lossy(), 100);
    let leads = if path == place.lexical {
        String::new()
    } else {
        format!(" (it leads to `{}`)", shorten(&path.to_string_lossy(), 100))
    };
    let instead = match &places.root {
        Some(root) => {
            let root = shorten(&root.lexical.to_string_lossy(), 80);
            match opening(place, path, places, needed) {
                Some(line) => format!("use a path below `{root}`, or have a person run `{line}`"),
                None => {
                    format!(
                        "use a path below `{root}`, or have a person open this place with a [[scope]] entry"
                    )
                }
            }
        }
        None => "have a person register the session's directory with --root".to_owned(),
    };
    Finding::new("outside-scope", Decision::Deny, kind)
        .at(&used.param, place.lexical.to_string_lossy().into_owned())
        .because(format!("{} {verb} `{named}`{leads}, {whose}", facts.tool))
        .instead(instead)
}

/// The line by which a person opens a place: the directory that a file lies in, unless that holds more than a person would mean: the
/// home, a worktree, or what the system keeps for everyone.
fn opening(place: &Resolved, path: &Path, places: &Places, needed: Rights) -> Option<String> {
    let word = match needed {
        Rights::None => return None,
        Rights::Read => "read",
        Rights::Write => "write",
    };
    let home = places.home.as_ref();
    let own = [&places.home, &places.root].into_iter().flatten();
    let others = || places.siblings.iter().chain(&places.main).chain(&places.agents);
    let holds = |dir: &Path, place: &Place| place.lexical.starts_with(dir) || place.physical.starts_with(dir);
    let is_wide = |dir: &Path| {
        let is_it = |place: &&Place| place.lexical == dir || place.physical == dir;
        dir.parent().is_none()
            || own.clone().any(|place| holds(dir, place))
            || others().any(|place| holds(dir, place) && !is_it(&place))
    };
    let is_dir = place.node.as_ref().is_some_and(|node| node.kind == NodeKind::Directory);
    let dir = if is_dir { Some(path) } else { path.parent() };
    let dir = dir.filter(|dir| !is_wide(dir) && (is_dir || !is_systems(dir))).unwrap_or(path);
    let below = home
        .and_then(|home| dir.strip_prefix(&home.lexical).or_else(|_| dir.strip_prefix(&home.physical)).ok());
    let (front, rest) = match below {
        Some(below) => ("~/", below.to_str()?),
        None => ("", dir.to_str()?),
    };
    // A name with other letters is for a person to spell.
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@,".contains(c);
    (!rest.is_empty() && rest.len() <= 120 && rest.chars().all(is_plain) && !is_wide(dir))
        .then(|| format!("toolgate allow {word} {front}{rest}"))
}

/// Whether a directory is the system's or git's, or holds the directories of others (`/home`, `/srv`): who needs one file there does not
/// need all.
fn is_systems(dir: &Path) -> bool {
    let systems =
        ["/bin", "/boot", "/dev", "/etc", "/lib", "/proc", "/root", "/run", "/sbin", "/sys", "/usr", "/var"];
    dir.components().count() <= 2
        || systems.iter().any(|system| dir.starts_with(system))
        || dir.components().any(|name| name.as_os_str() == ".git")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_told_from_another_name() {
        for (written, path) in [
            ("/h/Downlods", "/h/Downloads"),
            ("/h/Donwloads", "/h/Downloads/a.csv"),
            ("/h/Downloadss/x", "/h/Downloads/x/y"),
        ] {
            assert!(is_nearly(Path::new(written), Path::new(path)), "{written} {path}");
        }
        for (written, path) in [
            ("/h/Downloads", "/h/Downloads/x"),
            ("/h/project-a", "/h/project-b"),
            ("/h/worktree1", "/h/worktree12"),
            ("/h/worktree", "/h/worktree2"),
            ("/h/bin", "/h/bins"),
            ("/h/Downlods/Pitcures", "/h/Downloads/Pictures"),
            ("/h/Downloads/x", "/h/Dowloads"),
        ] {
            assert!(!is_nearly(Path::new(written), Path::new(path)), "{written} {path}");
        }
    }

    #[test]
    fn where_volumes_fold_case_an_entry_that_closes_counts_in_either_case() {
        let entries = [
            ScopeEntry::new("/work", Rights::Write),
            ScopeEntry::new("/work/Private", Rights::None),
            ScopeEntry::new("/work/logs", Rights::Read),
            ScopeEntry::new("/work/logs/open", Rights::Write),
        ];
        let (needs, places) = (Needs::default(), Places::default());
        let policy = OutsideScope { entries: &entries, needs: &needs };
        let rights = |path: &str, folds_case| {
            let entry = policy.entry_where(Path::new(path), &places, folds_case);
            entry.map_or(Rights::None, ScopeEntry::unasked)
        };
        for (path, folded, as_written) in [
            ("/work/a", Rights::Write, Rights::Write),
            ("/work/Private/a", Rights::None, Rights::None),
            ("/work/PRIVATE/a", Rights::None, Rights::Write),
            ("/work/LOGS/a", Rights::Read, Rights::Write),
            ("/work/logs/open/a", Rights::Write, Rights::Write),
            ("/work/logs/OPEN/a", Rights::Read, Rights::Read),
            ("/WORK/a", Rights::None, Rights::None),
        ] {
            assert_eq!(rights(path, true), folded, "{path}");
            assert_eq!(rights(path, false), as_written, "{path}");
        }
    }
}
