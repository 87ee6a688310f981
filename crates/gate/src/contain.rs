//! The terms of a containment as a plan for this machine: what the policies say about places, our own files, and the repository.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toolgate_model::{Action, Call, Host, Phase, Places};
use toolgate_policies::{
    Containable, Containment, ContainmentLevel, ContainmentNetwork, DeniedInside, FoundOutside, Rights,
    denied_in_output,
};
use toolgate_sandbox::{Grant, Level, Limits, Network, Plan, Repository};

use crate::dirs::Dirs;
use crate::gather::Surroundings;
use crate::git;
use crate::launch::{take_end, terms};
use crate::machine::Machine;
use crate::observe::command_member;
use crate::store::hex;

/// Programs that fail when they cannot write their cache, by the variable that names it. Others go on without one, and find in the user's
/// what they have put there before.
const CACHE_VARIABLES: [&str; 5] =
    ["CCACHE_DIR", "GOCACHE", "UV_CACHE_DIR", "YARN_CACHE_FOLDER", "npm_config_cache"];

/// A plan, and the least level that the settings take for it.
#[derive(Debug)]
pub struct Contained {
    /// What may be done.
    pub plan: Plan,
    /// The least that has to be enforced.
    pub require: Level,
    /// The terms that it was made of, to say why something is denied.
    pub terms: Containment,
}

/// What a contained command may do in a worktree, whatever the command is: the same throughout a session.
///
/// INVARIANT: derived from what was pinned when the session began and from the rules in force, never from where an agent has
/// since gone or from what it wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainedTerms {
    terms: Containment,
    root: PathBuf,
    private: PathBuf,
    /// Our own directories: keys, pins, trust and the record. No setting opens them.
    own: Vec<PathBuf>,
    /// Our own programs. An agent may contain what it runs further; what it starts by our name is contained as it is itself.
    programs: Vec<PathBuf>,
    /// The directory that all worktrees share, and this one's own in it.
    repository: Option<(PathBuf, PathBuf)>,
}

impl ContainedTerms {
    /// The terms in these surroundings. An error says what keeps a command from being contained at all.
    pub fn of(
        machine: &dyn Machine,
        dirs: &Dirs,
        surroundings: &Surroundings,
    ) -> Result<ContainedTerms, String> {
        let places = &surroundings.session.places;
        let Some(root) = &places.root else {
            return Err(
                "there is no worktree to contain it in; start it in one, or name one with --root".to_owned()
            );
        };
        let programs = machine
            .program()
            .map(|program| ["toolgate", "toolgate-cli"].map(|name| program.with_file_name(name)));
        let own = git::git_dir_of(machine.world(), &root.physical);
        let repository = match (&places.git, own, &places.main) {
            (Some(common), Some(own), Some(_)) if own.starts_with(common.physical.join("worktrees")) => {
                Some((common.physical.clone(), own))
            }
            _ => None,
        };
        Ok(ContainedTerms {
            terms: Containment::of(&surroundings.layers().collect::<Vec<_>>()),
            root: root.physical.clone(),
            private: private(dirs, &root.physical),
            own: vec![dirs.state.clone(), dirs.config.clone()],
            programs: programs.into_iter().flatten().collect(),
            repository,
        })
    }

    /// The plan for a command that is started in `directory` with these variables.
    pub fn plan(
        self,
        directory: PathBuf,
        environment: impl Iterator<Item = (OsString, OsString)>,
    ) -> Contained {
        let ContainedTerms { terms, root, private, own, programs, repository } = self;
        let mut plan = Plan::new(&root, private);
        plan.directory = directory;
        let is_own = |path: &Path| own.iter().any(|own| path.starts_with(own));
        let grants = terms.places.iter().filter(|(path, _)| !is_private(path) && !is_own(path));
        plan.grants = grants.map(|(path, rights)| Grant::new(path, rights_of(*rights))).collect();
        plan.grants.extend(own.into_iter().map(|own| Grant::new(own, toolgate_sandbox::Rights::None)));
        plan.grants.extend(programs.into_iter().map(|name| Grant::new(name, toolgate_sandbox::Rights::Read)));
        plan.network = match terms.network {
            ContainmentNetwork::None => Network::None,
            ContainmentNetwork::All => Network::All,
        };
        let named = |limit: u64| (limit > 0).then_some(limit);
        let [seconds, processes, memory, file_size] = terms.limits.map(named);
        let mebibytes = |count: u64| count.saturating_mul(1024 * 1024);
        plan.limits = Limits {
            wall_time: seconds.map(Duration::from_secs),
            processes,
            memory: memory.map(mebibytes),
            file_size: file_size.map(mebibytes),
        };
        plan.environment = environment
            .filter(|(name, _)| name.to_str().is_some_and(|name| terms.keeps_variable(name)))
            .collect();
        plan.repository = repository.map(|(common, own)| Repository { common, own });
        let require = match terms.require {
            ContainmentLevel::Landlock => Level::Landlock,
            ContainmentLevel::Full => Level::Full,
        };
        plan.pinned.clone_from(&terms.pinned);
        plan.caches.clone_from(&terms.caches);
        plan.cache_variables = CACHE_VARIABLES.iter().map(OsString::from).collect();
        Contained { plan, require, terms }
    }
}

/// The plan for a command that is started in `directory` with these variables. An error says what keeps it from being
/// contained at all.
pub fn contained(
    machine: &dyn Machine,
    dirs: &Dirs,
    surroundings: &Surroundings,
    directory: PathBuf,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Contained, String> {
    Ok(terms(machine, dirs, surroundings)?.plan(directory, environment))
}

/// Whether this call can be run in a sandbox.
pub(crate) fn containable(
    machine: &dyn Machine,
    host: &dyn Host,
    call: &Call<'_>,
    places: &Places,
) -> Containable {
    if !matches!((call.phase, &call.action), (Phase::Before | Phase::Permission, Action::Shell { .. })) {
        Containable::NotConsidered
    } else if !host.launches(&call.tool) || command_member(call).is_none() {
        Containable::NotByHost
    } else if places.root.is_none() {
        Containable::NoRoot
    } else {
        machine.containable()
    }
}

/// What a contained command was denied, by what it printed. Nothing where somebody else has looked, or where it was not contained.
pub(crate) fn denied_inside(
    machine: &dyn Machine,
    call: &Call<'_>,
    surroundings: &Surroundings,
) -> Vec<DeniedInside> {
    let level = call.launched.as_deref().filter(|_| call.phase == Phase::After);
    let Some(level) = level.and_then(|file| take_end(machine, file)) else { return Vec::new() };
    let (Some(output), Some(cwd)) = (call.output.as_deref(), call.cwd.as_deref()) else { return Vec::new() };
    let terms = Containment::of(&surroundings.layers().collect::<Vec<_>>());
    let level = match level {
        Level::Landlock => ContainmentLevel::Landlock,
        Level::Full => ContainmentLevel::Full,
    };
    let outside = |path: &Path| {
        let found = machine.world().stamp(path).ok();
        found.map(|_| FoundOutside { path: path.to_owned(), is_writable: true })
    };
    denied_in_output(&terms, Path::new(cwd), &outside, level, printed(output).as_bytes())
}

/// All texts of a tool's result, in their order: a host may have the output in any of them.
fn printed(output: &str) -> String {
    fn gather(value: &serde_json::Value, text: &mut String) {
        match value {
            serde_json::Value::String(part) => {
                text.push_str(part);
                text.push('\n');
            }
            serde_json::Value::Array(parts) => parts.iter().for_each(|part| gather(part, text)),
            serde_json::Value::Object(members) => members.values().for_each(|part| gather(part, text)),
            serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {}
        }
    }
    let mut text = String::new();
    if let Ok(value) = serde_json::from_str(output) {
        gather(&value, &mut text);
    }
    text
}

/// Places that a contained command has of its own: devices, processes, and directories for temporary files. Everybody's are closed,
/// since other programs keep sockets there.
fn is_private(path: &Path) -> bool {
    let below = |top: &str| path != Path::new(top) && path.starts_with(top);
    path.starts_with("/dev") || below("/proc") || path == Path::new("/tmp") || path == Path::new("/var/tmp")
}

/// Where the temporary files and the private layers of a worktree lie.
fn private(dirs: &Dirs, root: &Path) -> PathBuf {
    let name = hex(&Sha256::digest(root.as_os_str().as_encoded_bytes()));
    dirs.state.join("contained").join(name.get(..16).unwrap_or_default())
}

fn rights_of(rights: Rights) -> toolgate_sandbox::Rights {
    match rights {
        Rights::None => toolgate_sandbox::Rights::None,
        Rights::Read => toolgate_sandbox::Rights::Read,
        Rights::Write => toolgate_sandbox::Rights::Write,
    }
}
