//! The terms of a containment as a plan for this machine: what the policies say about places, our own files, and the repository.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolgate_model::{
    Action, Agent, Call, EntryKind, Host, LookError, NodeKind, Phase, Places, Resolver, TEMPORARY, World,
};
use toolgate_policies::{
    Containable, Containment, ContainmentLevel, DeniedInside, FoundOutside, Look, Narrowed, NetworkMode,
    Rights, denied_in_output, passed_over,
};
use toolgate_sandbox::{Alive, Grant, Level, Limits, Nested, Network, Plan, Repository};

use crate::alive::locked_for;
use crate::dirs::Dirs;
use crate::gather::Surroundings;
use crate::git;
use crate::launch::take_end;
use crate::machine::Machine;
use crate::observe::command_member;
use crate::settings::BUILD;
use crate::store::{name_for, read_checked, write_checked};

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
    /// Our own directories: keys, pins, trust and the log. No setting opens them.
    own: Vec<PathBuf>,
    /// Our own programs. An agent may contain what it runs further; what it starts by our name is contained as it is itself.
    programs: Vec<PathBuf>,
    /// The directory that all worktrees share, and this one's own in it.
    repository: Option<(PathBuf, PathBuf)>,
    /// The file by which later calls know that something is still running, and the marks of this root in it.
    alive: (PathBuf, Vec<u64>, Vec<u64>),
    /// What a hook needs to be started and to judge: the files of hosts that we are registered in, our own, and our programs.
    unclosed: Vec<PathBuf>,
}

impl ContainedTerms {
    /// The terms in these surroundings. An error says what keeps a command from being contained at all.
    pub fn of(
        machine: &dyn Machine,
        dirs: &Dirs,
        surroundings: &Surroundings,
        narrowed: &Narrowed,
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
        let terms = cleaned(Containment::of(&surroundings.layers().collect::<Vec<_>>(), narrowed));
        let repository = match (&places.git, own, &places.main) {
            (Some(common), Some(own), Some(_))
                if terms.commits && own.starts_with(common.physical.join("worktrees")) =>
            {
                Some((common.physical.clone(), own))
            }
            // A plain clone. Where a setting closes it, nothing of it is seen, and there is nothing to look after.
            (Some(common), None, None)
                if terms.commits
                    && common.physical == root.physical.join(".git")
                    && !terms.closes(&common.physical) =>
            {
                Some((common.physical.clone(), common.physical.clone()))
            }
            _ => None,
        };
        let alive = locked_for(dirs, &root.physical);
        let outside = places.own.iter().filter(|own| !root.holds(&own.physical));
        let unclosed = outside.map(|own| own.physical.clone()).collect();
        Ok(ContainedTerms {
            terms,
            root: root.physical.clone(),
            private: private(dirs, &root.physical),
            own: vec![dirs.state.clone(), dirs.config.clone()],
            programs: programs.into_iter().flatten().collect(),
            repository,
            alive: (alive.file, alive.marks, alive.others),
            unclosed,
        })
    }

    /// Reads what was kept of them. An error says what to do.
    pub fn read(world: &dyn World, file: &Path) -> Result<ContainedTerms, String> {
        /// They name each place once.
        const MAX_TERMS: usize = 16 * 1024 * 1024;
        let bytes = read_checked(world, file, MAX_TERMS);
        let bytes = bytes.map_err(|error| format!("the terms of its sandbox cannot be read ({error})"))?;
        let terms = bytes.and_then(|bytes| postcard::from_bytes(&bytes).ok());
        terms.ok_or_else(|| "the terms of its sandbox are gone; have the agent send it again".to_owned())
    }

    fn keep(&self, file: &Path) -> io::Result<()> {
        write_checked(file, postcard::to_allocvec(self).map_err(io::Error::other)?)
    }

    /// The plan for a command that is started in `directory` with these variables.
    pub fn plan(
        self,
        directory: PathBuf,
        environment: impl Iterator<Item = (OsString, OsString)>,
    ) -> Contained {
        let ContainedTerms { terms, root, private, own, programs, repository, alive, unclosed } = self;
        let mut plan = Plan::new(&root, private);
        plan.directory = directory;
        let is_own = |path: &Path| own.iter().any(|own| is_below(path, own));
        let is_kept = |path: &Path| terms.kept.iter().any(|kept| is_same(kept, path));
        // What is read of a plain clone is what the sandbox protects by itself: an agent commits there.
        let clone = repository.as_ref().filter(|(common, own)| common == own).map(|(common, _)| common);
        let is_clone = |path: &Path| clone.is_some_and(|clone| is_same(clone, path));
        let is_other = |path: &PathBuf| is_private(path) || is_own(path) || is_kept(path) || is_clone(path);
        let grants = terms.places.iter().filter(|(path, _)| !is_other(path));
        plan.grants = grants.map(|(path, rights)| Grant::new(path, rights_of(*rights))).collect();
        plan.grants.extend(own.into_iter().map(|own| Grant::new(own, toolgate_sandbox::Rights::None)));
        plan.grants.extend(programs.into_iter().map(|name| Grant::new(name, toolgate_sandbox::Rights::Read)));
        plan.network = match terms.network {
            NetworkMode::None => Network::None,
            NetworkMode::Listed => Network::Listed,
            NetworkMode::All => Network::All,
        };
        let named = |limit: u64| (limit > 0).then_some(limit);
        let [seconds, processes, memory, file_size, disk] = terms.limits.map(named);
        let mebibytes = |count: u64| count.saturating_mul(1024 * 1024);
        plan.limits = Limits {
            wall_time: seconds.map(Duration::from_secs),
            processes,
            memory: memory.map(mebibytes),
            file_size: file_size.map(mebibytes),
            disk: disk.map(mebibytes),
        };
        plan.environment = environment
            .filter(|(name, _)| name.to_str().is_some_and(|name| terms.keeps_variable(name)))
            .collect();
        let (file, marks, others) = alive;
        plan.alive = Some(Alive { file, marks, others });
        plan.repository = repository.map(|(common, own)| Repository { common, own });
        let require = level_of(terms.require);
        plan.pinned.clone_from(&terms.pinned);
        plan.nested = Some(Nested {
            top: root,
            names: terms.nested.clone(),
            passed_over: passed_over().iter().map(OsString::from).collect(),
        });
        plan.kept.clone_from(&terms.kept);
        plan.unclosed = unclosed;
        plan.made.clone_from(&terms.made);
        plan.caches.clone_from(&terms.caches);
        plan.cache_variables = CACHE_VARIABLES.iter().map(OsString::from).collect();
        Contained { plan, require, terms }
    }
}

/// Whether terms that were kept may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Nobody but us can write them. Deriving them takes longer than starting a command.
    Read,
    /// Others can write what is kept, so nothing of it counts.
    Ignore,
}

/// The plan for a command that is started in `directory` with these variables. An error says what keeps it from being
/// contained at all.
pub fn contained(
    machine: &dyn Machine,
    dirs: &Dirs,
    surroundings: &Surroundings,
    agent: &Agent<'_>,
    kept: Kept,
    directory: PathBuf,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Contained, String> {
    let narrowed = narrowed(machine, surroundings, agent)?;
    let file = terms_file(machine, dirs, surroundings, &narrowed).ok().filter(|_| kept == Kept::Read);
    let read = file.as_ref().and_then(|file| ContainedTerms::read(machine.world(), file).ok());
    let terms = match read {
        Some(terms) => terms,
        None => {
            let terms = ContainedTerms::of(machine, dirs, surroundings, &narrowed)?;
            if let Some(file) = file {
                // Best effort: without it the next command derives them again.
                let _ = terms.keep(&file);
            }
            terms
        }
    };
    Ok(terms.plan(directory, environment))
}

/// The terms of a call's sandbox as a file of our state, written where there is none. The same throughout a session, for one agent: it is
/// named after all that the terms are derived from.
pub(crate) fn kept_terms(
    machine: &dyn Machine,
    dirs: &Dirs,
    surroundings: &Surroundings,
    agent: &Agent<'_>,
) -> io::Result<PathBuf> {
    let narrowed = narrowed(machine, surroundings, agent).map_err(io::Error::other)?;
    let file = terms_file(machine, dirs, surroundings, &narrowed)?;
    // A crash may leave a file with nothing in it.
    let is_there = machine.world().stamp(&file).is_ok_and(|stamp| stamp.size > 0);
    if !is_there {
        ContainedTerms::of(machine, dirs, surroundings, &narrowed).map_err(io::Error::other)?.keep(&file)?;
    }
    Ok(file)
}

/// Changes with what terms are made of, so that no program reads those of another one.
const FORMAT: u32 = 2;

/// Where terms are kept: a name for all that they are derived from.
fn terms_file(
    machine: &dyn Machine,
    dirs: &Dirs,
    surroundings: &Surroundings,
    narrowed: &Narrowed,
) -> io::Result<PathBuf> {
    let places: Vec<&Places> = surroundings.layers().map(|(_, places)| places).collect();
    let root = surroundings.session.places.root.as_ref();
    let own = root.and_then(|root| git::git_dir_of(machine.world(), &root.physical));
    let of_machine = (machine.program(), &dirs.state, &dirs.config, own);
    let derived = (FORMAT, places, narrowed, of_machine, &surroundings.rules.digest, BUILD);
    let name = name_for(&postcard::to_allocvec(&derived).map_err(io::Error::other)?, 32);
    Ok(dirs.state.join("contained").join("terms").join(name))
}

/// What the rules about the calling agent leave to what it runs. An error says why a sandbox cannot hold them.
pub(crate) fn narrowed(
    machine: &dyn Machine,
    surroundings: &Surroundings,
    agent: &Agent<'_>,
) -> Result<Narrowed, String> {
    let world = machine.world();
    let is_directory = |path: &Path| world.look(path).is_ok_and(|node| node.kind == NodeKind::Directory);
    let entries = |directory: &Path| {
        // A link is not a directory of its own: what lies behind it is judged by its own name.
        if !is_directory(directory) {
            return Some(Vec::new());
        }
        let found = world.entries(directory, usize::MAX).ok()??;
        Some(found.into_iter().map(|entry| (entry.path, entry.kind == EntryKind::Directory)).collect())
    };
    let is_plain = |path: &Path| {
        let found = Resolver::new(world, None, None).walk(path.to_owned());
        found.is_ok_and(|found| found.physical == path && found.node.is_some())
    };
    let is_free = |path: &Path| matches!(world.look(path), Err(LookError::Absent));
    let look = Look { entries: &entries, is_plain: &is_plain, is_free: &is_free };
    Narrowed::of(&surroundings.layers().collect::<Vec<_>>(), &surroundings.team, agent, look)
}

/// The level of a sandbox in the words of the settings.
pub fn word_of(level: Level) -> ContainmentLevel {
    match level {
        Level::Landlock => ContainmentLevel::Landlock,
        Level::Full => ContainmentLevel::Full,
    }
}

/// The level that the settings name.
pub fn level_of(word: ContainmentLevel) -> Level {
    match word {
        ContainmentLevel::Landlock => Level::Landlock,
        ContainmentLevel::Full => Level::Full,
    }
}

/// What is at a path outside of a sandbox.
pub fn outside(world: &dyn World, path: &Path) -> Option<FoundOutside> {
    let found = world.look(path).ok()?;
    let leads_to = if let NodeKind::Link(text) = found.kind { Some(text) } else { None };
    Some(FoundOutside { leads_to, is_writable: world.is_writable(path) })
}

/// Whether this call can be run in a sandbox.
pub(crate) fn containable(
    machine: &dyn Machine,
    host: &dyn Host,
    call: &Call<'_>,
    places: &Places,
    state: &Path,
) -> Containable {
    if call.phase == Phase::Start {
        // A session begins: whether a sandbox holds is found out now, and known by the first call.
        machine.containable(state);
    }
    if !matches!((call.phase, &call.action), (Phase::Before | Phase::Permission, Action::Shell { .. })) {
        Containable::NotConsidered
    } else if !host.launches(&call.tool) || command_member(call).is_none() {
        Containable::NotByHost
    } else if places.root.is_none() {
        Containable::NoRoot
    } else {
        machine.containable(state)
    }
}

/// What a contained command was denied, by what it printed. Nothing where somebody else has looked, or where it was not contained.
pub(crate) fn denied_inside(machine: &dyn Machine, call: &Call<'_>) -> Vec<DeniedInside> {
    let file = call.launched.as_deref().filter(|_| call.phase == Phase::After);
    let Some((level, terms)) = file.and_then(|file| take_end(machine, file)) else { return Vec::new() };
    let (Some(output), Some(cwd)) = (call.output.as_deref(), call.cwd.as_deref()) else { return Vec::new() };
    let outside = |path: &Path| outside(machine.world(), path);
    denied_in_output(&terms.terms, Path::new(cwd), &outside, word_of(level), printed(output).as_bytes())
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
    is_below(path, Path::new("/dev"))
        || (is_below(path, Path::new("/proc")) && !is_same(path, Path::new("/proc")))
        || TEMPORARY.iter().any(|directory| is_same(path, Path::new(directory)))
}

/// Terms whose places end in no slash, as settings may name a directory: from here on places are compared as text.
fn cleaned(mut terms: Containment) -> Containment {
    let places = terms.places.iter_mut().map(|(path, _)| path);
    let others = [&mut terms.pinned, &mut terms.kept, &mut terms.made, &mut terms.caches];
    for path in places.chain(others.into_iter().flatten()) {
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            *path = path.components().collect();
        }
    }
    terms
}

/// Whether two clean paths are the same. As text, which is much quicker to compare.
fn is_same(path: &Path, other: &Path) -> bool {
    path.as_os_str() == other.as_os_str()
}

/// Whether such a path is another one or lies below it.
fn is_below(path: &Path, top: &Path) -> bool {
    let rest = path.as_os_str().as_encoded_bytes().strip_prefix(top.as_os_str().as_encoded_bytes());
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
}

/// Where the temporary files and the private layers of a worktree lie.
pub(crate) fn private(dirs: &Dirs, root: &Path) -> PathBuf {
    dirs.state.join("contained").join(name_for(root.as_os_str().as_encoded_bytes(), 16))
}

fn rights_of(rights: Rights) -> toolgate_sandbox::Rights {
    match rights {
        Rights::None => toolgate_sandbox::Rights::None,
        Rights::Read => toolgate_sandbox::Rights::Read,
        Rights::Write => toolgate_sandbox::Rights::Write,
    }
}
