//! What a contained program may do: the words of `[containment]`, and the policies' scopes as terms that a kernel can hold.
//!
//! Not a policy: it objects to nothing that can be contained. What the policies say about a path that a call names is said here about every path,
//! for a program whose paths nobody knows beforehand.

mod denied;
mod narrowed;
mod output;
mod outward;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_egress::Lists;
use toolgate_model::{
    Doubt, Facts, Finding, FindingKind, Gap, Origin, Place, Places, Run, Sandboxing, Unknown,
};

use crate::gate_tampering::{asked_names, denied_names, nested_names};
use crate::network::NetworkMode;
use crate::outside_scope::{OutsideScope, Rights};
use crate::pattern;
use crate::project::BUILT;
use crate::response::Response;
use crate::secret_file::secret_places;
use crate::settings::Settings;

pub use denied::{DeniedInside, FoundOutside, MAKE_FIRST, Outside, Wanted, scope_entry, unlisted};
use denied::{Reasons, Why};
use narrowed::Narrow;
pub use narrowed::{Entries, Look, Narrowed};
pub use output::{denied_in_output, explain_denied};
use outward::{is_outward, only_talks};

/// `[containment]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ContainmentSettings {
    /// Which shell commands run in a sandbox.
    pub when: ContainWhen,
    /// What becomes of a command that should run in a sandbox and cannot. Left out: a person is asked where the kernel
    /// cannot contain it; where the host cannot be made to run it so, it is judged as if it were not to be contained.
    pub uncontainable: Option<Response>,
    /// The least that must be enforced. If the kernel gives less, nothing runs.
    pub require: ContainmentLevel,
    /// Directories whose files may be read, and written to a private layer that the user's own programs never see: the caches and
    /// stores that builds fill. Left out: those of the common tools.
    pub caches: Option<Vec<String>>,
    /// Variables that toolgate removes from the environment, besides those that hold tokens or sockets. A `*` stands
    /// for any part of a name.
    pub drop_variables: Vec<String>,
    /// Variables that stay, although toolgate would remove them.
    pub keep_variables: Vec<String>,
    /// How long a command may run, in seconds; 0: as long as it wants.
    pub seconds: u64,
    /// How many processes the user may have in all, each thread counted; 0: as many as the system allows. The kernel does not limit root. As root,
    /// the command's own are counted five times a second, and it is ended when there are more.
    pub processes: u64,
    /// How much memory one process may map, in MiB; 0: as much as there is.
    pub memory: u64,
    /// How large one file may become, in MiB; 0: as large as it wants.
    pub file_size: u64,
    /// How much a command may write to the disk in all, in MiB; 0: as much as there is. toolgate checks five times a second while the command
    /// runs, so it may write more in between; a file that it only changes counts whole.
    pub disk: u64,
}

/// Which shell commands run in a sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContainWhen {
    /// None.
    Never,
    /// Those of which anything is not proved, or whose proof rests on a script: builds, tests, programs that nobody described.
    #[default]
    Unproved,
    /// All except those that are proved and that a sandbox would break: they need your keys (`git push`, `gh`), or change what
    /// all worktrees share (`git stash`, `git tag`).
    Most,
    /// All. A gap in the analysis then does not open the gate.
    Always,
}

/// Whether a call can be run in a sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Containable {
    /// Nobody has looked: the call is judged by what is known of it alone.
    #[default]
    NotConsidered,
    /// It can.
    Yes,
    /// The host cannot be made to run it so.
    NotByHost,
    /// There is no directory to contain it in.
    NoRoot,
    /// The kernel has no Landlock.
    NotByKernel,
    /// A sandbox was tried on this machine, and this was found.
    NotHolding(&'static str),
}

impl ContainmentSettings {
    /// What these settings say about running a call in a sandbox. `grants`: a contained call is granted.
    pub(crate) fn sandboxing(&self, facts: &Facts<'_>, containable: Containable, grants: bool) -> Sandboxing {
        // What a program in the background could exchange does not matter to who looks at no file.
        let matters = |unknown: &&Unknown<'_>| {
            !(is_about_secrets(unknown) || (is_in_background(unknown) && only_talks(facts)))
        };
        let is_unproved =
            || !facts.unknown.iter().filter(matters).all(is_own_command) || rests_on_files(facts);
        let is_own = || !facts.unknown.is_empty() && facts.unknown.iter().all(is_own_command);
        let is_wanted = match self.when {
            ContainWhen::Never => false,
            ContainWhen::Unproved => is_unproved(),
            ContainWhen::Most => is_unproved() || !(is_own() || is_outward(facts)),
            ContainWhen::Always => true,
        };
        // Nobody is asked about a doubt, unless they want to be.
        let is_doubt = matches!(self.when, ContainWhen::Unproved | ContainWhen::Most)
            && facts.unknown.iter().all(|unknown| is_own_command(unknown) || is_doubt(unknown))
            && !rests_on_files(facts);
        let is_asked = containable == Containable::Yes || self.uncontainable.is_some() || !is_doubt;
        if facts.command.is_none() || self.when == ContainWhen::Never || (is_wanted && !is_asked) {
            return Sandboxing::Unwanted;
        }
        if !is_wanted {
            // All that is unknown here is a command of ours.
            let is_possible = containable == Containable::Yes && facts.unknown.is_empty();
            return if is_possible { Sandboxing::Possible { grants } } else { Sandboxing::Unwanted };
        }
        let told;
        let (why, usual) = match containable {
            Containable::NotConsidered => return Sandboxing::Unwanted,
            Containable::Yes => return Sandboxing::Wanted { grants },
            Containable::NotByHost => ("its host cannot run it in a sandbox", Response::Allow),
            Containable::NoRoot => ("there is no directory to contain it in", Response::Ask),
            Containable::NotByKernel => {
                ("this kernel has no Landlock, so there is no sandbox", Response::Ask)
            }
            Containable::NotHolding(found) => {
                told = format!("the sandbox failed its self-test: {found}; see `toolgate doctor`");
                (told.as_str(), Response::Ask)
            }
        };
        let Some(decision) = self.uncontainable.unwrap_or(usual).objection() else {
            return Sandboxing::Unwanted;
        };
        let finding = Finding::new("containment", decision, FindingKind::Unproved)
            .because(format!("what this command does is not proved, and {why}"))
            .instead("have a person approve it, or set `uncontainable` in [containment]");
        Sandboxing::Impossible(Box::new(finding))
    }
}

/// Whether it was read and found harmless, by a reading that is not proof.
fn is_doubt(unknown: &Unknown<'_>) -> bool {
    matches!(unknown, Unknown::Shell { gap: Gap::Doubt(_), .. })
}

/// Whether it is doubted only because a contained program of an earlier call is still running.
fn is_in_background(unknown: &Unknown<'_>) -> bool {
    matches!(unknown, Unknown::Shell { gap: Gap::Doubt(Doubt::Background), .. })
}

/// Whether it is doubted only because of what it may show, which no sandbox changes.
fn is_about_secrets(unknown: &Unknown<'_>) -> bool {
    matches!(unknown, Unknown::Shell { gap: Gap::Doubt(Doubt::Secrets), .. })
}

/// Whether it is a command of ours: `own-command` knows what each of them does, and none would find our state in a sandbox.
fn is_own_command(unknown: &Unknown<'_>) -> bool {
    matches!(unknown, Unknown::Shell { gap: Gap::Program, text, .. } if text == "toolgate")
}

/// Whether what is known of a command was read from a file that it runs.
///
/// Against whom: a program that an earlier call has left in the background. It may write the worktree, and could exchange a script
/// between our look and the run. Then it would be out of its sandbox.
fn rests_on_files(facts: &Facts<'_>) -> bool {
    let of_runs = facts.runs.iter().filter_map(|run| run.origin.as_ref());
    let mut origins = of_runs.chain(facts.uses.iter().filter_map(|used| used.origin.as_ref()));
    origins.any(is_in_script) || facts.runs.iter().any(starts_file)
}

/// Whether an effect stands in the text of a file.
fn is_in_script(origin: &Origin) -> bool {
    let mut step = origin.via.as_deref();
    while let Some(via) = step {
        if !via.line.is_empty() {
            return true;
        }
        step = via.before.as_deref();
    }
    false
}

/// Whether a program is a shell that reads a file, or a file that is not a program of the system.
fn starts_file(run: &Run) -> bool {
    const SHELLS: &[&str] =
        &["bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "busybox", "fish", ".", "source"];
    const SYSTEM: &[&str] = &["/usr/", "/bin/", "/sbin/", "/opt/", "/nix/", "/snap/"];
    let is_shell = SHELLS.contains(&run.program.as_str());
    let has_text = run.options.iter().any(|(name, _)| name == "-c");
    let name = run.words.first().map_or("", String::as_str);
    let is_of_system = SYSTEM.iter().any(|place| name.starts_with(place)) && !name.contains("/../");
    (is_shell && !has_text) || (name.contains('/') && !is_of_system)
}

/// How much must be enforced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContainmentLevel {
    /// Landlock and seccomp.
    #[default]
    Landlock,
    /// The same, and namespaces.
    Full,
}

/// What builds fill.
const CACHES: &[&str] = &[
    "~/.cache",
    "~/.cargo",
    "~/.rustup",
    "~/.npm",
    "~/.pnpm-store",
    "~/.local/share/pnpm",
    "~/.yarn",
    "~/.bun",
    "~/.deno",
    "~/go",
    "~/.m2",
    "~/.gradle",
    "~/.nuget",
    "~/.gem",
    "~/.bundle",
    "~/.composer",
    "~/.hex",
    "~/.mix",
    "~/.ivy2",
    "~/.cabal",
    "~/.stack",
    "~/.pub-cache",
    "~/.julia",
    "~/.local/share/uv",
];

/// Variables that hold tokens, or lead to sockets and programs that act for the person.
const DROPPED: &[&str] = &[
    "*TOKEN",
    "*TOKEN_*",
    "*SECRET*",
    "*PASSWORD*",
    "*PASSWD*",
    "*PASSPHRASE*",
    "*CREDENTIAL*",
    "*API_KEY*",
    "*APIKEY*",
    "*ACCESS_KEY*",
    "*PRIVATE_KEY*",
    "*_AUTH",
    "*AUTHTOKEN*",
    "*_KEY",
    "*_PASS",
    "*_PAT",
    "*_PWD",
    "*_DSN",
    "*_CONNECTION_STRING",
    "DATABASE_URL",
    "REDIS_URL",
    "MONGO*_UR*",
    "AWS_PROFILE",
    "AWS_CONFIG_FILE",
    "KUBECONFIG",
    "DOCKER_HOST",
    "DOCKER_CONFIG",
    "CONTAINER_HOST",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "GIT_ASKPASS",
    "GPG_AGENT_INFO",
    "GNOME_KEYRING_*",
    "DBUS_*",
    "DISPLAY",
    "WAYLAND_*",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "SESSION_MANAGER",
    "ICEAUTHORITY",
    "TMUX*",
    "STY",
    "ZELLIJ*",
    "KITTY_*",
    "WEZTERM_*",
    "ALACRITTY_SOCKET",
    "ITERM_*",
    "NVIM*",
    "VSCODE_*",
    "CURSOR_*",
    "JOURNAL_STREAM",
    "NOTIFY_SOCKET",
    "*_MESSAGING_SOCKET",
    "LD_PRELOAD",
    "LD_AUDIT",
];

/// What a program may do, said about places. Pure data; a sandbox enforces it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Containment {
    /// The least that has to be enforced.
    pub require: ContainmentLevel,
    /// What commands may reach over the network.
    pub network: NetworkMode,
    /// The hosts that they may reach where the mode is [`NetworkMode::Listed`].
    pub hosts: Lists,
    /// Places and the rights there; the most specific one decides.
    pub places: Vec<(PathBuf, Rights)>,
    /// Files in writable places that must neither change nor appear.
    pub pinned: Vec<PathBuf>,
    /// Names that must neither change nor appear in any directory of the worktree.
    pub nested: Vec<PathBuf>,
    /// Those of the places that may be read and not written, though they lie in a writable one.
    pub kept: Vec<PathBuf>,
    /// Directories that are made first, since only what is there can be opened.
    pub made: Vec<PathBuf>,
    /// Whether commits and branches may be made.
    pub commits: bool,
    /// Directories that get a private layer for what is written.
    pub caches: Vec<PathBuf>,
    /// What may be used up: seconds, processes, memory, the size of a file and the disk, each 0 for no limit.
    pub limits: [u64; 5],
    drop_variables: Vec<String>,
    keep_variables: Vec<String>,
    /// What is needed to say why something is denied.
    reasons: Reasons,
}

impl Containment {
    /// The terms under all layers: a place has the least rights that any of them gives it, and no more than `narrowed` leaves to
    /// the calling agent.
    pub fn of(layers: &[(&Settings, &Places)], narrowed: &Narrowed) -> Containment {
        let (network, hosts) = network_in(layers, narrowed);
        let layers = || layers.iter().copied();
        let all = |of: fn(&ContainmentSettings) -> &Vec<String>| {
            let words = layers().flat_map(|(layer, _)| of(&layer.containment).iter().cloned());
            words.collect::<Vec<_>>()
        };
        // What every layer keeps.
        let mut kept = layers().map(|(layer, _)| layer.containment.keep_variables.clone());
        let first = kept.next().unwrap_or_default();
        let keep_variables =
            kept.fold(first, |one, other| one.into_iter().filter(|word| other.contains(word)).collect());
        let any =
            |wanted: fn(&ContainmentSettings) -> bool| layers().any(|(layer, _)| wanted(&layer.containment));
        let least = |of: fn(&ContainmentSettings) -> u64| {
            let limits = layers().map(|(layer, _)| of(&layer.containment));
            limits.filter(|limit| *limit > 0).min().unwrap_or(0)
        };
        let mut named: Vec<PathBuf> = Vec::new();
        for (layer, places) in layers() {
            for entry in &layer.scope {
                let literal = pattern::literal_places(&entry.path, places);
                named.extend(literal.into_iter().map(|place| place.physical));
            }
            named.extend(secret_places(places));
            named.extend(layer.policy.secret_file.opened_places(places));
        }
        named.sort();
        named.dedup();
        let rights = |path: &Path| {
            let given = layers().enumerate().map(|(index, (layer, places))| {
                let given = rights_in(layer, places, path);
                match narrowed.at(index, path) {
                    Some(Narrow { most, rule: Some(rule), .. }) if *most < given.0 => {
                        (*most, Why::Agent(rule.clone()))
                    }
                    _ => given,
                }
            });
            given.min_by_key(|(rights, _)| *rights).unwrap_or((Rights::None, Why::Scope))
        };
        let named = named.into_iter().map(|path| {
            let (rights, why) = rights(&path);
            ((path, rights), why)
        });
        let mut named: Vec<((PathBuf, Rights), Why)> = named.collect();
        for path in narrowed.places() {
            let (given, why) = rights(path);
            let above = named.iter().filter(|((above, _), _)| path.starts_with(above));
            let above = above.max_by_key(|((above, _), _)| above.components().count());
            // Most of them change nothing: what they narrow is closed to everybody.
            if above.map_or(Rights::None, |((_, rights), _)| *rights) != given {
                named.push(((path.to_owned(), given), why));
            }
        }
        named.sort_by(|((one, _), _), ((other, _), _)| one.cmp(other));
        let (places, why): (Vec<(PathBuf, Rights)>, Vec<Why>) = named.into_iter().unzip();
        let session = layers().next().map(|(_, places)| places);
        let kept = kept_places(&places, &why, session);
        let commits = !narrowed.is_read_only;
        let reasons = Reasons::new(session, why, commits);
        let caches = layers().flat_map(|(layer, places)| {
            let words: Vec<&str> = match &layer.containment.caches {
                Some(own) => own.iter().map(String::as_str).collect(),
                None => CACHES.to_vec(),
            };
            let found = words.into_iter().flat_map(|word| pattern::literal_places(word, places));
            found.map(|place| place.physical).collect::<Vec<_>>()
        });
        let mut caches: Vec<PathBuf> = caches.filter(|path| rights(path).0 >= Rights::Read).collect();
        caches.sort();
        caches.dedup();
        Containment {
            // No other level keeps the network to a list.
            require: if network == NetworkMode::Listed
                || any(|settings| settings.require == ContainmentLevel::Full)
            {
                ContainmentLevel::Full
            } else {
                ContainmentLevel::Landlock
            },
            network,
            hosts,
            pinned: layers().flat_map(|(_, places)| pinned(places)).collect(),
            nested: nested(),
            limits: [
                least(|settings| settings.seconds),
                least(|settings| settings.processes),
                least(|settings| settings.memory),
                least(|settings| settings.file_size),
                least(|settings| settings.disk),
            ],
            places,
            kept,
            made: narrowed.made.iter().filter(|path| rights(path).0 == Rights::Write).cloned().collect(),
            commits,
            caches,
            drop_variables: all(|settings| &settings.drop_variables),
            keep_variables,
            reasons,
        }
    }

    /// Whether a place is closed altogether.
    pub fn closes(&self, path: &Path) -> bool {
        let covering = self.places.iter().filter(|(place, _)| path.starts_with(place));
        let nearest = covering.max_by_key(|(place, _)| place.components().count());
        nearest.is_none_or(|(_, rights)| *rights == Rights::None)
    }

    /// Whether a variable of this name stays in the environment.
    pub fn keeps_variable(&self, name: &str) -> bool {
        // Some programs take their variables in small letters.
        let name = name.to_ascii_uppercase();
        let fits = |word: &str| pattern::wildcard(word.to_ascii_uppercase().as_bytes(), name.as_bytes());
        // Ours are written in capitals, and there are many of both.
        let dropped = DROPPED.iter().any(|word| pattern::wildcard(word.as_bytes(), name.as_bytes()));
        let kept = self.keep_variables.iter().any(|word| fits(word));
        !self.drop_variables.iter().any(|word| fits(word)) && (!dropped || kept)
    }
}

/// What may be reached under all layers: what the strictest says, and the hosts that each of those that list any opens.
fn network_in(layers: &[(&Settings, &Places)], narrowed: &Narrowed) -> (NetworkMode, Lists) {
    let strictest = layers.iter().map(|(layer, _)| layer.network.mode).min().unwrap_or(NetworkMode::None);
    let mode = if narrowed.is_offline { NetworkMode::None } else { strictest };
    // A layer that leaves everything open has nothing to say here.
    let listing =
        layers.iter().filter(|(layer, _)| mode == NetworkMode::Listed && layer.network.mode == mode);
    (mode, Lists::new(listing.map(|(layer, _)| layer.network.list()).collect()))
}

/// The rights at a path under one layer, and why: those of its scope, and none where keys and credentials are kept.
fn rights_in(layer: &Settings, places: &Places, path: &Path) -> (Rights, Why) {
    if layer.policy.secret_file.closes(path, places) {
        return (Rights::None, Why::Secret);
    }
    match OutsideScope::of(layer).entry(path, places) {
        Some(entry) if !entry.id.is_empty() => (entry.unasked(), Why::Entry(entry.id.clone())),
        Some(entry) => (entry.unasked(), Why::Scope),
        None => (Rights::None, Why::Scope),
    }
}

/// Places that are only read, and lie in one that is written: by a rule about the agent, or by an entry of `[[scope]]` inside of
/// the worktree. The git directory of a plain clone is such a place too; the sandbox has rules of its own for that.
fn kept_places(places: &[(PathBuf, Rights)], why: &[Why], session: Option<&Places>) -> Vec<PathBuf> {
    let is_inside = |path: &Path| {
        let root = session.and_then(|session| session.root.as_ref());
        let git = session.and_then(|session| session.git.as_ref());
        root.is_some_and(|root| root.physical != path && root.holds(path))
            && git.is_none_or(|git| git.physical != path)
    };
    let is_in_writable = |path: &Path| {
        let above = places.iter().filter(|(above, _)| above != path && path.starts_with(above));
        above
            .max_by_key(|(above, _)| above.components().count())
            .is_some_and(|(_, rights)| *rights == Rights::Write)
    };
    let places = places.iter().zip(why);
    let kept = places.filter(|((path, rights), why)| {
        let is_ours = match why {
            Why::Agent(_) => true,
            Why::Scope | Why::Entry(_) => is_inside(path),
            Why::Secret => false,
        };
        *rights == Rights::Read && is_ours && is_in_writable(path)
    });
    kept.map(|((path, _), _)| path.clone()).collect()
}

/// What agents may not write in a worktree, whether it is there or not. Names with a wildcard are left to the look at a call.
fn pinned(places: &Places) -> Vec<PathBuf> {
    let Some(root) = &places.root else { return Vec::new() };
    // In a linked worktree `.git` is a file that says where the repository is. In a plain clone it is the repository.
    let git: &[&str] = match &places.main {
        Some(_) => &[".git"],
        None => {
            &[".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir", ".git/info/attributes"]
        }
    };
    let names = denied_names().chain(asked_names()).chain(git.iter().copied());
    let inside = |place: &&Place| root.holds(&place.physical);
    let own = places.own.iter().filter(inside).map(|place| place.physical.clone());
    let mut pinned: Vec<PathBuf> =
        names.filter(|name| !name.contains('*')).map(|name| root.physical.join(name)).chain(own).collect();
    pinned.sort();
    // A directory that is pinned has all of it pinned.
    pinned.dedup_by(|later, earlier| later.starts_with(&*earlier));
    pinned
}

/// What agents may not write in any directory of a worktree, as the policy says of a path that a call names.
fn nested() -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> = nested_names().map(PathBuf::from).collect();
    names.sort();
    // A directory that is pinned has all of it pinned.
    names.dedup_by(|later, earlier| later.starts_with(&*earlier));
    names
}

/// Directories that are not looked into for such names: compilers and package managers fill them, and nobody starts an agent there.
pub fn passed_over() -> &'static [&'static str] {
    BUILT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outside_scope::ScopeEntry;
    use crate::secret_file::SecretFile;

    fn places() -> Places {
        Places {
            root: Some(Place::plain("/repo/wt")),
            main: Some(Place::plain("/repo")),
            home: Some(Place::plain("/home/u")),
            own: vec![Place::plain("/home/u/.local/state/toolgate")],
            ..Places::default()
        }
    }

    fn layer(entries: &[(&str, Rights)]) -> Settings {
        let entry = |(path, rights): &(&str, Rights)| ScopeEntry::new(*path, *rights);
        Settings { scope: entries.iter().map(entry).collect(), ..Settings::default() }
    }

    fn rights_at(containment: &Containment, path: &str) -> Rights {
        let covering = containment.places.iter().filter(|(place, _)| Path::new(path).starts_with(place));
        covering
            .max_by_key(|(place, _)| place.components().count())
            .map_or(Rights::None, |(_, rights)| *rights)
    }

    #[test]
    fn a_place_has_the_least_rights_that_any_layer_gives() {
        let (one, other) = (
            layer(&[("/usr", Rights::Read), ("{worktree}", Rights::Write), ("/data", Rights::Write)]),
            layer(&[("/", Rights::Read), ("{worktree}", Rights::Write), ("{worktree}/logs", Rights::Read)]),
        );
        let places = places();
        let both = Containment::of(&[(&one, &places), (&other, &places)], &Narrowed::default());
        for (path, rights) in [
            ("/usr/bin/env", Rights::Read),
            ("/repo/wt/src", Rights::Write),
            ("/repo/wt/logs/1", Rights::Read),
            ("/data/x", Rights::Read),
            ("/srv", Rights::None),
            ("/repo/other", Rights::None),
        ] {
            assert_eq!(rights_at(&both, path), rights, "{path}");
        }
    }

    #[test]
    fn what_an_entry_only_reads_in_the_worktree_is_kept() {
        let clone = Places {
            root: Some(Place::plain("/repo")),
            git: Some(Place::plain("/repo/.git")),
            home: Some(Place::plain("/home/u")),
            ..Places::default()
        };
        let entries = [
            ("{worktree}", Rights::Write),
            ("{git}", Rights::Read),
            ("{worktree}/CLAUDE.md", Rights::Read),
            ("{worktree}/logs", Rights::Write),
            ("{worktree}/keys", Rights::None),
            ("/srv", Rights::Write),
            ("/srv/fixtures", Rights::Read),
        ];
        let terms = Containment::of(&[(&layer(&entries), &clone)], &Narrowed::default());
        assert_eq!(terms.kept, [PathBuf::from("/repo/CLAUDE.md")]);
    }

    #[test]
    fn keys_are_closed_inside_of_what_is_open() {
        let places = places();
        let open = layer(&[("~/.cargo", Rights::Read), ("/etc", Rights::Read), ("~", Rights::Write)]);
        let terms = Containment::of(&[(&open, &places)], &Narrowed::default());
        for (path, rights) in [
            ("/home/u/.cargo/registry", Rights::Read),
            ("/home/u/.cargo/credentials.toml", Rights::None),
            ("/home/u/.ssh/id_ed25519", Rights::None),
            ("/home/u/notes", Rights::Write),
            ("/etc/passwd", Rights::Read),
            ("/etc/shadow", Rights::None),
        ] {
            assert_eq!(rights_at(&terms, path), rights, "{path}");
        }
    }

    #[test]
    fn what_the_user_opens_is_open() {
        let places = places();
        let mut open = layer(&[("~/.aws", Rights::Read)]);
        assert_eq!(
            rights_at(&Containment::of(&[(&open, &places)], &Narrowed::default()), "/home/u/.aws/config"),
            Rights::None
        );
        open.policy.secret_file = SecretFile::opening(&["~/.aws/config"]);
        let terms = Containment::of(&[(&open, &places)], &Narrowed::default());
        assert_eq!(rights_at(&terms, "/home/u/.aws/config"), Rights::Read);
        assert_eq!(rights_at(&terms, "/home/u/.aws/credentials"), Rights::None);
    }

    #[test]
    fn instructions_and_registrations_are_pinned_whether_they_are_there_or_not() {
        let pinned = pinned(&places());
        for name in [".claude/settings.json", ".codex", ".git", "toolgate.toml", ".mcp.json"] {
            assert!(pinned.contains(&PathBuf::from("/repo/wt").join(name)), "{name}: {pinned:?}");
        }
        assert!(!pinned.contains(&PathBuf::from("/repo/wt/.codex/config.toml")));
        assert!(pinned.iter().all(|path| path.starts_with("/repo/wt")));
        let nested = nested();
        for name in [".claude/settings.json", ".codex", ".mcp.json", ".cursor/mcp.json", "opencode.json"] {
            assert!(nested.contains(&PathBuf::from(name)), "{name}: {nested:?}");
        }
        for name in ["toolgate.toml", ".codex/config.toml", ".copilot/hooks", ".git"] {
            assert!(!nested.contains(&PathBuf::from(name)), "{name}: {nested:?}");
        }
    }

    #[test]
    fn variables_with_tokens_and_sockets_are_dropped() {
        let places = places();
        let mut settings = layer(&[]);
        settings.containment.drop_variables = vec!["COMPANY_*".to_owned()];
        settings.containment.keep_variables = vec!["DATABASE_URL".to_owned(), "COMPANY_NAME".to_owned()];
        let terms = Containment::of(&[(&settings, &places)], &Narrowed::default());
        for (name, kept) in [
            ("PATH", true),
            ("LANG", true),
            ("GITHUB_TOKEN", false),
            ("github_token", false),
            ("npm_config__authToken", false),
            ("MYSQL_PWD", false),
            ("PWD", true),
            ("OLDPWD", true),
            ("STRIPE_KEY", false),
            ("AWS_SECRET_ACCESS_KEY", false),
            ("OPENAI_API_KEY", false),
            ("SSH_AUTH_SOCK", false),
            ("DATABASE_URL", true),
            ("COMPANY_NAME", false),
            ("TOKENIZERS_PARALLELISM", true),
        ] {
            assert_eq!(terms.keeps_variable(name), kept, "{name}");
        }
    }

    #[test]
    fn a_command_is_contained_when_it_is_not_proved_or_rests_on_a_script() {
        use crate::tests::facts;
        use std::rc::Rc;
        use toolgate_model::{Team, Via};

        let (places, team) = (places(), Team::default());
        let run = |words: &[&str]| {
            let mut run = Run::of(words.iter().map(|word| (*word).to_owned()).collect());
            if words.contains(&"-c") {
                run.options.push(("-c".to_owned(), None));
            }
            run
        };
        let of = |when, runs: Vec<Run>, unknown: Vec<Unknown<'static>>, containable| {
            let settings = ContainmentSettings { when, ..ContainmentSettings::default() };
            let facts = Facts { command: Some("x"), runs, unknown, ..facts("Bash", &places, &team) };
            settings.sandboxing(&facts, containable, false)
        };
        let wanted = Sandboxing::Wanted { grants: false };
        let inside = || {
            let via = Some(Rc::new(Via { step: "x.sh:1".into(), line: ":".into(), before: None }));
            Run { origin: Some(Origin { span: (0, 1), via }), ..run(&["true"]) }
        };
        for (runs, is_wanted) in [
            (vec![run(&["git", "status"])], false),
            (vec![run(&["/usr/bin/git", "status"])], false),
            (vec![run(&["bash", "-c", "ls"])], false),
            (vec![run(&["bash", "x.sh"])], true),
            (vec![run(&["bash"])], true),
            (vec![run(&[".", "./x.sh"])], true),
            (vec![run(&["./x.sh"])], true),
            (vec![run(&["/usr/../repo/wt/x"])], true),
            (vec![run(&["make"]), inside()], true),
        ] {
            let found = of(ContainWhen::Unproved, runs.clone(), Vec::new(), Containable::Yes);
            assert_eq!(found == wanted, is_wanted, "{runs:?}");
            assert_eq!(of(ContainWhen::Always, runs.clone(), Vec::new(), Containable::Yes), wanted);
            assert_eq!(of(ContainWhen::Never, runs, Vec::new(), Containable::Yes), Sandboxing::Unwanted);
        }
        let unknown = || {
            let origin = Origin { span: (0, 1), via: None };
            vec![Unknown::Shell { gap: Gap::Project, text: "make".into(), origin }]
        };
        let own = vec![Unknown::Shell {
            gap: Gap::Program,
            text: "toolgate".into(),
            origin: Origin { span: (0, 8), via: None },
        }];
        assert_eq!(of(ContainWhen::Unproved, Vec::new(), own, Containable::Yes), Sandboxing::Unwanted);
        let decided = |containable| match of(ContainWhen::Unproved, Vec::new(), unknown(), containable) {
            Sandboxing::Wanted { .. } => "contained",
            Sandboxing::Possible { .. } => "possible",
            Sandboxing::Unwanted => "as it stands",
            Sandboxing::Impossible(finding) => finding.decision.word(),
        };
        for (containable, expected) in [
            (Containable::Yes, "contained"),
            (Containable::NotConsidered, "as it stands"),
            (Containable::NotByHost, "as it stands"),
            (Containable::NotByKernel, "ask"),
            (Containable::NotHolding("a closed file could be read"), "ask"),
            (Containable::NoRoot, "ask"),
        ] {
            assert_eq!(decided(containable), expected, "{containable:?}");
        }
        let doubt = || {
            let origin = Origin { span: (0, 1), via: None };
            vec![Unknown::Shell { gap: Gap::Doubt(Doubt::Code), text: "python3".into(), origin }]
        };
        assert_eq!(of(ContainWhen::Unproved, Vec::new(), doubt(), Containable::Yes), wanted);
        for containable in [Containable::NotByKernel, Containable::NotByHost, Containable::NoRoot] {
            let found = of(ContainWhen::Unproved, Vec::new(), doubt(), containable);
            assert_eq!(found, Sandboxing::Unwanted, "nobody is asked about a doubt: {containable:?}");
        }
    }

    #[test]
    fn the_strictest_layer_decides_network_level_and_limits() {
        let places = places();
        let (one, mut other) = (layer(&[]), layer(&[]));
        other.network.mode = NetworkMode::None;
        other.containment.require = ContainmentLevel::Full;
        other.containment.seconds = 60;
        let both = Containment::of(&[(&one, &places), (&other, &places)], &Narrowed::default());
        assert_eq!(both.network, NetworkMode::None);
        assert_eq!(both.require, ContainmentLevel::Full);
        assert_eq!(both.limits, [60, 0, 0, 0, 0]);
    }

    #[test]
    fn a_listed_network_needs_every_layer_that_lists_and_level_full() {
        use crate::network::HostEntry;
        use toolgate_egress::{Host, Request};

        let places = places();
        let listing = |names: &[&str]| {
            let mut settings = layer(&[]);
            settings.network.mode = NetworkMode::Listed;
            let entry = |name: &&str| HostEntry { name: (*name).to_owned(), ..HostEntry::default() };
            settings.network.host = names.iter().map(entry).collect();
            settings
        };
        let (one, other, open) = (listing(&["a.example", "b.example"]), listing(&["b.example"]), layer(&[]));
        let terms = |layers: &[&Settings], narrowed: &Narrowed| {
            let layers: Vec<_> = layers.iter().map(|layer| (*layer, &places)).collect();
            Containment::of(&layers, narrowed)
        };
        let opens = |terms: &Containment, name| {
            terms.hosts.judge(&Host::parse(name).unwrap(), 443, Request::Unseen).is_ok()
        };
        let both = terms(&[&one, &open, &other], &Narrowed::default());
        assert_eq!((both.network, both.require), (NetworkMode::Listed, ContainmentLevel::Full));
        assert!(opens(&both, "b.example") && !opens(&both, "a.example") && !opens(&both, "c.example"));
        let alone = terms(&[&open, &one], &Narrowed::default());
        assert!(opens(&alone, "a.example"));
        let mut narrowed = Narrowed::default();
        narrowed.is_offline = true;
        assert_eq!(terms(&[&one], &narrowed).network, NetworkMode::None);
    }
}
