//! Why something fails in a sandbox: what the terms say about one path or one address, and a form that passes.
//!
//! The kernel only answers `Permission denied`. Whoever reads that, a model or a person, tries the same again in other
//! words. So toolgate says what the terms deny, and by which rule. What they allow has failed for another reason, and
//! toolgate says nothing about it: a wrong explanation is worse than none.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use toolgate_egress::{Host, Request, Unlisted};
use toolgate_model::{InShared, Places, clean, shorten, visible};

use super::narrowed::AgentRule;
use super::{Containment, ContainmentLevel, NetworkMode};
use crate::outside_scope::Rights;

/// What a program wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wanted {
    /// To read, list or run what is at a path.
    Read,
    /// To make, change, rename or remove what is at a path.
    Write,
    /// To reach an address.
    Connect,
}

/// Something that the terms of a containment deny.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeniedInside {
    /// The path or the address.
    pub target: String,
    /// What was wanted of it.
    pub wanted: Wanted,
    /// The rule: a policy, or `containment`, and what part of it counts.
    pub rule: String,
    /// What is denied, why, and a form that passes.
    pub message: String,
    /// The settings that would open it, as TOML; `None` where no setting does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
}

impl fmt::Display for DeniedInside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.message, self.rule)?;
        let setting = self.setting.iter().flat_map(|setting| setting.lines());
        setting.into_iter().try_for_each(|line| write!(f, "\n    {line}"))
    }
}

/// What is at a path outside of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundOutside {
    /// Where it leads, as written in it, if it is a link.
    pub leads_to: Option<PathBuf>,
    /// Whether the person could write it.
    pub is_writable: bool,
}

/// Looks at one name outside of the sandbox, and follows no link. `None` where nothing is.
pub type Outside<'o> = &'o dyn Fn(&Path) -> Option<FoundOutside>;

/// Why a place has the rights that it has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Why {
    /// An entry of `[[scope]]` without an id, or none at all.
    #[default]
    Scope,
    /// The entry of `[[scope]]` with this id.
    Entry(String),
    /// It is a place of keys and credentials.
    Secret,
    /// A rule about the calling agent leaves no more.
    Agent(AgentRule),
}

/// What is needed to explain terms, beside the terms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reasons {
    /// INVARIANT: as many as there are places, in their order.
    pub(super) why: Vec<Why>,
    root: Option<PathBuf>,
    main: Option<PathBuf>,
    /// The git directory that worktrees share, where this is one of them.
    shared: Option<PathBuf>,
    /// The git directory of a plain clone.
    clone: Option<PathBuf>,
    others: Vec<PathBuf>,
    own: Vec<PathBuf>,
}

impl Reasons {
    pub(super) fn new(places: Option<&Places>, why: Vec<Why>, commits: bool) -> Reasons {
        let Some(places) = places else { return Reasons { why, ..Reasons::default() } };
        let physical = |place: &toolgate_model::Place| place.physical.clone();
        let main = places.main.as_ref().map(physical);
        Reasons {
            why,
            root: places.root.as_ref().map(physical),
            clone: places.git.as_ref().map(physical).filter(|git| {
                let root = places.root.as_ref().map(|root| root.physical.join(".git"));
                commits && main.is_none() && root.as_ref() == Some(git)
            }),
            shared: places.git.as_ref().filter(|_| main.is_some() && commits).map(physical),
            main,
            others: places.siblings.iter().chain(&places.agents).map(physical).collect(),
            own: places.own.iter().map(physical).collect(),
        }
    }
}

/// Devices that a contained command has.
const DEVICES: [&str; 10] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/fd",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
];
/// Devices that it has of its own at level `full`.
const PRIVATE_DEVICES: [&str; 3] = ["/dev/shm", "/dev/pts", "/dev/ptmx"];
/// Parts of a shared git directory that a commit writes.
const COMMITTED: [&str; 3] = ["objects", "refs/heads", "logs/refs/heads"];
/// Files in a worktree's own git directory that say where things are.
const POINTERS: [&str; 4] = ["commondir", "gitdir", "config.worktree", "locked"];

/// What stands before an entry for a file that is not there.
pub const MAKE_FIRST: &str =
    "# Only existing paths can be opened: create it first, or open its parent directory.";

/// Why something is denied: the rule, the reason, a form that passes, and the settings that open it.
struct Denial {
    rule: String,
    reason: String,
    instead: String,
    setting: Option<String>,
}

impl Denial {
    fn new(rule: &str, reason: impl Into<String>, instead: impl Into<String>) -> Denial {
        Denial { rule: rule.to_owned(), reason: reason.into(), instead: instead.into(), setting: None }
    }
}

impl Containment {
    /// What these terms deny of this, if they do. `path` is absolute. At level `landlock` pinned files are put back after the command, so
    /// they are not denied while it runs.
    pub fn denied(
        &self,
        path: &Path,
        wanted: Wanted,
        level: ContainmentLevel,
        outside: Outside<'_>,
    ) -> Option<DeniedInside> {
        let path = clean(path);
        let denial = match wanted {
            Wanted::Connect => return None,
            Wanted::Read | Wanted::Write => self.why_denied(&path, wanted, level, outside)?,
        };
        let shown = shorten(&visible(&path.to_string_lossy()), 160);
        let verb = if wanted == Wanted::Write { "written" } else { "read" };
        let message =
            format!("`{shown}` cannot be {verb} in the sandbox: {}; {}", denial.reason, denial.instead);
        let target = path.to_string_lossy().into_owned();
        Some(DeniedInside { target, wanted, rule: denial.rule, message, setting: denial.setting })
    }

    /// What these terms deny of reaching an address, a name or `None` for one that is not known.
    pub fn denied_address(&self, address: Option<&str>) -> Option<DeniedInside> {
        if self.network == NetworkMode::All || address.is_some_and(|address| self.lists(address)) {
            return None;
        }
        if let (NetworkMode::Listed, Some(address)) = (self.network, address) {
            return Some(unlisted(address, "it is not listed"));
        }
        let target = address.unwrap_or("the network").to_owned();
        let shown = match address {
            Some(address) => format!("`{}`", shorten(&visible(address), 120)),
            None => target.clone(),
        };
        Some(DeniedInside {
            target,
            wanted: Wanted::Connect,
            rule: "network".to_owned(),
            message: format!(
                "{shown} cannot be reached from the sandbox: it has no network; use what is there already \
                 (vendored or cached), or have a person allow the network in the settings"
            ),
            setting: Some("[network]\nmode = \"all\"\n".to_owned()),
        })
    }

    /// Whether anything is open to an address or a name, as a program has printed it.
    fn lists(&self, address: &str) -> bool {
        let (host, port) = host_and_port(address);
        let Some(host) = Host::parse(host).filter(|_| self.network == NetworkMode::Listed) else {
            return false;
        };
        match port {
            Some(port) => self.hosts.judge(&host, port, Request::Any).is_ok(),
            None => self.hosts.judge(&host, 0, Request::Any) != Err(Unlisted::Host),
        }
    }

    /// The stash of a linked worktree. For words of git that name no path.
    pub(super) fn denied_stash(&self, level: ContainmentLevel) -> Option<DeniedInside> {
        let stash = self.reasons.shared.as_ref()?.join("refs/stash");
        self.denied(&stash, Wanted::Write, level, &|_| None)
    }

    /// What can be neither written, though the terms say so, nor renamed: a directory that holds a pinned name or would hold it, and
    /// what lies beside that name. For failures that nothing but a mount brings about.
    pub(super) fn denied_near_pin(&self, path: &Path, level: ContainmentLevel) -> Option<DeniedInside> {
        let path = clean(path);
        let root = self.reasons.root.as_deref()?;
        if level != ContainmentLevel::Full || path == root || !path.starts_with(root) {
            return None;
        }
        let is_beside = |pinned: &Path| {
            let above = pinned.parent().filter(|above| *above != root);
            above.is_some_and(|above| path.starts_with(above))
        };
        let is_near = |pinned: &&PathBuf| pinned.starts_with(&path) || is_beside(pinned);
        let pinned = self.pinned.iter().find(is_near)?;
        let shown = |path: &Path| shorten(&visible(&path.to_string_lossy()), 160);
        Some(DeniedInside {
            target: path.to_string_lossy().into_owned(),
            wanted: Wanted::Write,
            rule: "gate-tampering".to_owned(),
            message: format!(
                "`{}` cannot be changed in the sandbox: `{}`, which agents may not write, lies in the same place; \
                 have a person change it, outside the agent",
                shown(&path),
                shown(pinned)
            ),
            setting: None,
        })
    }

    /// A file in everybody's temporary directory, which at level `full` is another one inside. For a name that was not found there.
    pub fn denied_unseen(
        &self,
        path: &Path,
        level: ContainmentLevel,
        outside: Outside<'_>,
    ) -> Option<DeniedInside> {
        let path = clean(path);
        let is_everybodys = InShared::temporary(&path).is_some_and(|shared| shared.top().is_some());
        let is_own = self.reasons.own.iter().any(|own| path.starts_with(own));
        let is_private = !is_own && matches!(self.private_place(&path, Wanted::Read, level), Private::Open);
        if level != ContainmentLevel::Full || !is_everybodys || !is_private || outside(&path).is_none() {
            return None;
        }
        let shown = shorten(&visible(&path.to_string_lossy()), 160);
        Some(DeniedInside {
            target: path.to_string_lossy().into_owned(),
            wanted: Wanted::Read,
            rule: "containment: temporary".to_owned(),
            message: format!(
                "`{shown}` is not seen in the sandbox: its temporary directory is private; \
                 have a person put the file into the worktree, or open it in their settings"
            ),
            setting: (!path.to_string_lossy().contains('*')).then(|| scope_entry(&path, "read")),
        })
    }

    fn why_denied(
        &self,
        path: &Path,
        wanted: Wanted,
        level: ContainmentLevel,
        outside: Outside<'_>,
    ) -> Option<Denial> {
        match self.private_place(path, wanted, level) {
            Private::Open => return None,
            Private::Denied(denial) => return Some(denial),
            Private::No => {}
        }
        let physical = physical(path, outside);
        let is_there = physical.is_there;
        let path = physical.path.as_path();
        if let Some(denial) = self.own_state(path, wanted) {
            return denial;
        }
        if let Some(shared) = &self.reasons.shared
            && let Ok(inside) = path.strip_prefix(shared)
        {
            return repository(inside, wanted, level, is_there);
        }
        if let Some(clone) = &self.reasons.clone
            && let Ok(inside) = path.strip_prefix(clone)
            && self.rights_at(path).0 >= Rights::Read
        {
            return plain_clone(inside, wanted, level);
        }
        if wanted == Wanted::Write
            && level == ContainmentLevel::Full
            && let Some(denial) = self.pin(path)
        {
            return Some(denial);
        }
        let (rights, why) = self.rights_at(path);
        let is_layered = || {
            level == ContainmentLevel::Full
                && rights >= Rights::Read
                && self.caches.iter().any(|cache| path.starts_with(cache))
        };
        match wanted {
            Wanted::Read if rights >= Rights::Read => self.unlisted(path, rights, level),
            Wanted::Write if rights == Rights::Write || is_layered() => None,
            Wanted::Read | Wanted::Write | Wanted::Connect => {
                Some(self.scope(&physical, wanted, rights, why, level))
            }
        }
    }

    /// Whether the rules let the agent look at a path: it may read there, or something below.
    pub(super) fn shows(&self, path: &Path) -> bool {
        let leads_to_open =
            |(place, rights): &(PathBuf, Rights)| *rights >= Rights::Read && place.starts_with(path);
        self.rights_at(path).0 >= Rights::Read || self.places.iter().any(leads_to_open)
    }

    /// The rights at a path, and why: those of the most specific place.
    fn rights_at(&self, path: &Path) -> (Rights, &Why) {
        let places = self.places.iter().zip(&self.reasons.why);
        let covering = places.filter(|((place, _), _)| path.starts_with(place));
        let best = covering.max_by_key(|((place, _), _)| place.components().count());
        best.map_or((Rights::None, &Why::Scope), |((_, rights), why)| (*rights, why))
    }

    /// The rights that the scope gives at a path that is closed as a place of keys, as far as can be seen from the places around it.
    fn scope_rights_at(&self, path: &Path) -> Rights {
        let places = self.places.iter().zip(&self.reasons.why);
        let covering = places.filter(|((place, _), why)| **why != Why::Secret && path.starts_with(place));
        let best = covering.max_by_key(|((place, _), _)| place.components().count());
        best.map_or(Rights::None, |((_, rights), _)| *rights)
    }

    /// Places that a contained command has of its own, whatever the settings say about everybody's.
    fn private_place(&self, path: &Path, wanted: Wanted, level: ContainmentLevel) -> Private {
        let is_in = |names: &[&str]| names.iter().any(|name| path.starts_with(name));
        let named_below = |top: &str| {
            let below = |place: &Path| place != Path::new(top) && place.starts_with(top);
            self.places.iter().any(|(place, _)| below(place) && path.starts_with(place))
        };
        if is_in(&["/dev"]) {
            let is_open = is_in(&DEVICES)
                || (level == ContainmentLevel::Full && is_in(&PRIVATE_DEVICES))
                || path == Path::new("/dev");
            let denial = Denial::new(
                "containment: devices",
                "a contained command has no devices but those that keep nothing",
                if is_in(&PRIVATE_DEVICES) {
                    "level full has shared memory and terminals of its own"
                } else {
                    "have a person use it, outside the agent"
                },
            );
            return if is_open { Private::Open } else { Private::Denied(denial) };
        }
        if is_in(&["/proc"]) {
            // What of other processes can be read depends on the kernel and not on the terms.
            let denial = Denial::new(
                "containment: processes",
                "it would change the kernel's settings or another process",
                "have a person change it, outside the agent",
            );
            let is_own = is_in(&["/proc/self", "/proc/thread-self"]);
            return if wanted == Wanted::Write && !is_own { Private::Denied(denial) } else { Private::Open };
        }
        let everybodys = InShared::temporary(path).map(|shared| shared.directory);
        match (everybodys, level) {
            (Some(top), _) if named_below(top) => Private::No,
            (Some(_), ContainmentLevel::Full) => Private::Open,
            (Some(_), ContainmentLevel::Landlock) => Private::Denied(Denial::new(
                "containment: temporary",
                "everybody's temporary directory is closed at level landlock",
                "use `$TMPDIR`, which is private",
            )),
            (None, _) => Private::No,
        }
    }

    /// `None`: not ours. `Some(None)`: ours, and open or not known to be closed.
    #[expect(clippy::option_option, reason = "two questions: whether it is ours, and whether it is denied")]
    fn own_state(&self, path: &Path, wanted: Wanted) -> Option<Option<Denial>> {
        let own = self.reasons.own.iter().find(|own| path.starts_with(own))?;
        let is_program =
            path == own && own.file_name().is_some_and(|name| name.to_string_lossy().starts_with("toolgate"));
        let is_read = wanted == Wanted::Read;
        // Temporary files and layers of the sandbox itself; our own program; what an administrator has written.
        let is_open = path.starts_with(own.join("contained"))
            || (is_read && (is_program || own.starts_with("/etc")) && self.rights_at(path).0 >= Rights::Read);
        Some((!is_open).then(|| {
            Denial::new(
                "gate-tampering",
                "it belongs to toolgate itself",
                "no setting opens it; have a person do that, outside the agent",
            )
        }))
    }

    /// What must not change, and the directories that hold it, which cannot be renamed or removed.
    fn pin(&self, path: &Path) -> Option<Denial> {
        let root = self.reasons.root.as_deref()?;
        if path == root || !path.starts_with(root) {
            return None;
        }
        let below = path.strip_prefix(root).unwrap_or(path);
        let nested = || {
            let (mut left, names) = (below.components(), &self.nested);
            while !left.as_path().as_os_str().is_empty() {
                if names.iter().any(|name| left.as_path().starts_with(name)) {
                    return Some(below);
                }
                left.next();
            }
            None
        };
        let pinned = self.pinned.iter().find(|pinned| path.starts_with(pinned));
        let in_root = pinned.map(|pinned| pinned.strip_prefix(root).unwrap_or(pinned)).or_else(nested)?;
        Some(if in_root.starts_with(".git") {
            pinned_by_git("it decides what git runs, and where the repository is")
        } else {
            Denial::new(
                "gate-tampering",
                "it decides what agents may do, or is loaded by them",
                "have a person change it, outside the agent",
            )
        })
    }

    /// At level `landlock` a directory in which something is closed is opened entry by entry, so it cannot be listed.
    fn unlisted(&self, path: &Path, rights: Rights, level: ContainmentLevel) -> Option<Denial> {
        if level != ContainmentLevel::Landlock || rights != Rights::Read {
            return None;
        }
        let below = |place: &Path| place != path && place.starts_with(path);
        let places = self.places.iter().zip(&self.reasons.why);
        let mut closed = places.filter(|((place, rights), _)| *rights == Rights::None && below(place));
        let ((closed, _), why) = closed.next()?;
        let closed = shorten(&visible(&closed.to_string_lossy()), 100);
        Some(Denial::new(
            &rule_of(why),
            format!("its names cannot be listed at level landlock, since `{closed}` in it is closed"),
            "name the file that is needed, or use level full",
        ))
    }

    fn scope(
        &self,
        physical: &Physical,
        wanted: Wanted,
        rights: Rights,
        why: &Why,
        level: ContainmentLevel,
    ) -> Denial {
        let path = physical.path.as_path();
        let named = path.to_string_lossy();
        if *why == Why::Secret {
            let mut setting = format!("[policy.secret-file]\nopen = [{}]\n", toml_text(&named));
            if self.scope_rights_at(path) < Rights::Read {
                setting.push_str(&scope_entry(path, "read"));
            }
            // Opening is for reading.
            let setting = Some(setting).filter(|_| wanted == Wanted::Read && !named.contains('*'));
            let instead = match setting {
                Some(_) => "ask a person for what you need, or to open it in their own settings",
                None => "have a person change it, outside the agent",
            };
            let denial = Denial::new("secret-file", "keys and credentials are kept there", instead);
            return Denial { setting, ..denial };
        }
        let rule = rule_of(why);
        if let Why::Agent(AgentRule { reason, instead, .. }) = why {
            return Denial::new(&rule, reason, instead);
        }
        if is_socket_place(path) {
            return Denial::new(
                &rule,
                "sockets and services of the person's session are out of reach",
                "have a person do that, outside the agent",
            );
        }
        let is_cache = self.caches.iter().any(|cache| path.starts_with(cache));
        let holds = |place: &PathBuf| path.starts_with(place);
        let reason = if wanted == Wanted::Write && is_cache && level == ContainmentLevel::Landlock {
            "caches are only read at level landlock".to_owned()
        } else if self.reasons.others.iter().any(holds) {
            "it belongs to another agent".to_owned()
        } else if self.reasons.main.iter().any(holds) {
            "it is in the main checkout".to_owned()
        } else if rights == Rights::Read {
            "it may be read and not written".to_owned()
        } else {
            "it is outside what this session may use".to_owned()
        };
        let root = self.reasons.root.as_deref().map(|root| shorten(&visible(&root.to_string_lossy()), 80));
        let here = match root {
            Some(root) => format!("use a path below `{root}` or in `$TMPDIR`"),
            None => "use a path in `$TMPDIR`".to_owned(),
        };
        let word = if wanted == Wanted::Write { "write" } else { "read" };
        // A star would stand for other names too.
        let entry = || {
            let entry = scope_entry(path, word);
            if physical.is_there { entry } else { format!("{MAKE_FIRST}\n{entry}") }
        };
        let setting = (!named.contains('*')).then(entry);
        Denial {
            rule,
            reason,
            instead: format!("{here}, or have a person open it in their settings"),
            setting,
        }
    }
}

/// The git directory that all worktrees share.
/// The host and the port of an address as programs print it.
fn host_and_port(address: &str) -> (&str, Option<u16>) {
    let is_bare_v6 = address.matches(':').count() > 1 && !address.starts_with('[');
    let found = address.rsplit_once(':').filter(|_| !is_bare_v6);
    let found = found.and_then(|(host, port)| Some((host, port.parse().ok()?)));
    found.map_or((address, None), |(host, port): (&str, u16)| (host, Some(port)))
}

/// What the list of hosts does not open, why, and the entry that would open it.
pub fn unlisted(address: &str, why: &str) -> DeniedInside {
    let (host, port) = host_and_port(address);
    let setting = Host::parse(host).map(|parsed| {
        let key = if matches!(parsed, Host::Name(_)) { "name" } else { "address" };
        let ports = match port {
            None | Some(0 | 80 | 443) => String::new(),
            Some(port) => format!("ports = [{port}]\n"),
        };
        format!("[[network.host]]\n{key} = {}\n{ports}", toml_text(&parsed.to_string()))
    });
    DeniedInside {
        target: address.to_owned(),
        wanted: Wanted::Connect,
        rule: "network".to_owned(),
        message: format!(
            "`{}` cannot be reached from the sandbox: {}; use what is there already (vendored or cached), or have a person open it in their \
             settings",
            shorten(&visible(address), 120),
            visible(why)
        ),
        setting,
    }
}

fn repository(inside: &Path, wanted: Wanted, level: ContainmentLevel, is_there: bool) -> Option<Denial> {
    if wanted != Wanted::Write || COMMITTED.iter().any(|part| inside.starts_with(part)) {
        return None;
    }
    let mut names = inside.components();
    if names.next().is_some_and(|first| first.as_os_str() == "worktrees") {
        names.next()?;
        let Some(name) = names.next() else {
            // One that is not there is to be made.
            return (!is_there).then(no_worktree);
        };
        // Which of them is this worktree's own is not known here. In each, the pointers are closed.
        let is_pointer = POINTERS.iter().any(|pointer| name.as_os_str() == *pointer);
        return is_pointer.then(|| pinned_by_git("it says where git finds the repository"));
    }
    // At level `full` git may put its lock files there. They are gone with the view.
    let is_lock = level == ContainmentLevel::Full && !is_there && inside.components().count() == 1;
    (!is_lock).then(|| shared_part(inside))
}

/// A part of the repository that belongs to all worktrees, and what to do instead.
fn shared_part(inside: &Path) -> Denial {
    let inside = inside.strip_prefix("logs").unwrap_or(inside);
    let is_in = |place: &str| {
        // A lock lies beside what it locks.
        inside.starts_with(place) || inside.to_str() == Some(&format!("{place}.lock"))
    };
    let (reason, instead) = if is_in("refs/stash") {
        (
            "all worktrees of the repository share the stash",
            "commit it on the branch of this worktree instead (`git commit -am wip`)",
        )
    } else if is_in("refs/tags") {
        (
            "tags belong to all worktrees of the repository",
            "run `git tag` as a call of its own, or have a person do it",
        )
    } else if is_in("refs/remotes") || is_in("FETCH_HEAD") {
        (
            "what is known of remotes belongs to all worktrees of the repository",
            "run `git fetch` as a call of its own, and go on with what it has brought",
        )
    } else if is_in("config") {
        (
            "the configuration belongs to all worktrees of the repository, and decides what git runs",
            "use `git -c KEY=VALUE` for one command, or have a person change it, outside the agent",
        )
    } else {
        (
            "hooks, configuration, tags, the stash and other branches belong to all worktrees of the repository",
            "commit on the branch of this worktree, or have a person do it, outside the agent",
        )
    };
    Denial::new("containment: repository", reason, instead)
}

fn no_worktree() -> Denial {
    Denial::new(
        "containment: repository",
        "worktrees are made and removed outside of the sandbox",
        "use a branch, or have a person do that, outside the agent",
    )
}

/// The git directory of a plain clone: at level `full` what is written there is taken over afterwards, but for what would lead nowhere then.
fn plain_clone(inside: &Path, wanted: Wanted, level: ContainmentLevel) -> Option<Denial> {
    if wanted != Wanted::Write || level != ContainmentLevel::Full {
        return None;
    }
    let outside = "have a person do that, outside the agent";
    match inside.components().next()?.as_os_str().to_str()? {
        "hooks" => Some(pinned_by_git("it decides what git runs")),
        "modules" => Some(Denial::new(
            "containment: repository",
            "submodules have settings and hooks of their own, which git runs",
            format!("{outside}: `git submodule update --init`, or a commit in a submodule"),
        )),
        "worktrees" => Some(no_worktree()),
        _ => None,
    }
}

/// What the private places say about a path.
enum Private {
    No,
    Open,
    Denied(Denial),
}

struct Physical {
    path: PathBuf,
    is_there: bool,
}

/// The path with every link resolved, as far as something is there.
fn physical(path: &Path, outside: Outside<'_>) -> Physical {
    const MOST_LINKS: usize = 40;
    let mut whole = path.to_owned();
    for _ in 0..MOST_LINKS {
        let mut at = PathBuf::from("/");
        let mut names = whole.components().filter(|part| matches!(part, Component::Normal(_)));
        let mut led = None;
        while let Some(name) = names.next() {
            at.push(name);
            match outside(&at) {
                None => return Physical { path: whole, is_there: false },
                Some(FoundOutside { leads_to: Some(text), .. }) => {
                    let above = at.parent().unwrap_or(Path::new("/"));
                    led = Some(names.fold(above.join(text), |path, rest| path.join(rest)));
                    break;
                }
                Some(_) => {}
            }
        }
        match led {
            Some(led) => whole = clean(&led),
            None => return Physical { path: whole, is_there: true },
        }
    }
    Physical { path: whole, is_there: false }
}

fn pinned_by_git(reason: &str) -> Denial {
    Denial::new("git-internals-write", reason, "have a person change it, outside the agent")
}

fn rule_of(why: &Why) -> String {
    match why {
        Why::Scope => "outside-scope".to_owned(),
        Why::Entry(id) => format!("outside-scope: {id}"),
        Why::Secret => "secret-file".to_owned(),
        Why::Agent(rule) => rule.policy.clone(),
    }
}

/// Where the person's session and the system have their sockets. Opening one gives more than a file.
fn is_socket_place(path: &Path) -> bool {
    let is_socket = path.extension().is_some_and(|extension| extension == "sock" || extension == "socket");
    is_socket || ["/run", "/var/run"].iter().any(|top| path.starts_with(top))
}

/// An entry of `[[scope]]` that opens a place, as TOML.
pub fn scope_entry(path: &Path, rights: &str) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let letters =
        |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let id: String = name.chars().map(letters).collect();
    let id = id.trim_matches('-');
    let id = if id.is_empty() { "opened" } else { id };
    let (id, path) = (toml_text(id), toml_text(&path.to_string_lossy()));
    format!("[[scope]]\nid = {id}\npath = {path}\nrights = \"{rights}\"\n")
}

/// A text as TOML writes it.
fn toml_text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(letter))),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}
