//! Settings in layers: administrator, user, project; compiled once, and from then on read without parsing.
//!
//! How a layer is kept from loosening the layers above it: toolgate compares no keys. It judges the call under
//! each stack that must hold, and the strictest verdict counts.
//!
//! | present | stacks that must hold |
//! |---|---|
//! | administrator's file | profile + administrator |
//! | project file that is not trusted | profile + administrator + user |
//! | always | everything |
//!
//! In a project of a team its `team.md` and the table of its governance file say who is who, and its `policies.json` counts like
//! the project's own file, below it.
//!
//! Against whom: a repository brings its own `toolgate.toml`, and an agent may try to write one. Until a person
//! has run `toolgate trust` on these very bytes, it can only add rules. Even then, an entry in it that opens secret files
//! does not count.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toolgate_model::{FileStamp, LookError, Place, Places, World};
use toolgate_policies::Settings;

use crate::dirs::Dirs;
use crate::machine::{Machine, Setup};
use crate::store::{hex, name_for, read_checked, write_checked};

/// The name of a settings file, in each of its places.
pub const FILE: &str = "toolgate.toml";
/// Where a team has its table of who may write what.
const GOVERNANCE: &str = ".github/agents/squad.agent.md";
/// People write settings by hand.
pub const MAX_FILE: usize = 1024 * 1024;
/// Three layers of them, compiled.
const MAX_CACHE: usize = 8 * MAX_FILE;
/// What a compiled cache must have been made by.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("TOOLGATE_PROFILES"));

/// A profile that is compiled into the program.
pub struct Profile {
    name: &'static str,
    /// It is a team's.
    has_team: bool,
    /// The digest of the rules where nothing else is set.
    digest: &'static str,
    settings: &'static [u8],
}

impl Profile {
    fn rules(&self) -> Option<RulesInForce> {
        let layers = vec![postcard::from_bytes(self.settings).ok()?];
        Some(RulesInForce { layers, digest: self.digest.to_owned() })
    }
}

static PROFILES: &[Profile] = include!(concat!(env!("OUT_DIR"), "/profiles.rs"));

/// Which settings a call is judged by.
#[derive(Debug, Clone)]
pub struct SettingsSources<'w> {
    /// Where settings lie.
    pub dirs: &'w Dirs,
    /// The project: the worktree that the session is in.
    pub root: Option<&'w Path>,
    /// What trust is given to: the repository, so that it holds in all of its worktrees.
    pub repository: Option<&'w Path>,
    /// Where the project's team may keep its files.
    pub team: &'w [Place],
    /// The profile that the registration fixes.
    pub fixed: Option<&'w str>,
    /// The host's own profile.
    pub default: &'w str,
}

/// A settings file that cannot be used. Every call is denied until it can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    /// The file.
    pub file: PathBuf,
    /// The line in it, from 1.
    pub line: Option<usize>,
    /// What is wrong and what would be right.
    pub what: String,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file.display(), self.what),
            None => write!(f, "{}: {}", self.file.display(), self.what),
        }
    }
}

impl std::error::Error for SettingsError {}

impl SettingsError {
    /// A file, the line in it, and what is wrong.
    pub fn new(file: PathBuf, line: Option<usize>, what: String) -> SettingsError {
        SettingsError { file, line, what }
    }

    /// A file that cannot be read.
    pub fn unreadable(file: &Path) -> SettingsError {
        SettingsError::new(file.into(), None, "cannot be read; fix its permissions or remove it".into())
    }
}

/// What a file was when it was compiled; `None` where there was none.
type Stamp = Option<FileStamp>;

/// The rules that a call is judged by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RulesInForce {
    /// The layers of settings; every one of them has to be content.
    pub layers: Vec<Settings>,
    /// Stands for all of them, and for what this build ships: `sha256:…`.
    pub digest: String,
}

/// Why there are no rules to judge by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoRules {
    /// A file cannot be used.
    Broken(SettingsError),
    /// Nothing is wrong, but the compiled form is out of date and this program cannot make it.
    Stale,
}

impl From<SettingsError> for NoRules {
    fn from(error: SettingsError) -> NoRules {
        NoRules::Broken(error)
    }
}

#[derive(Serialize, Deserialize)]
struct Compiled {
    build: String,
    key: String,
    stamps: Vec<Stamp>,
    /// The team's files that count, where the settings are those of a team.
    team: Vec<Stamp>,
    rules: RulesInForce,
}

impl<'w> SettingsSources<'w> {
    /// The settings of a session with these places.
    pub fn of(
        dirs: &'w Dirs,
        places: &'w Places,
        fixed: Option<&'w str>,
        default: &'w str,
    ) -> SettingsSources<'w> {
        SettingsSources {
            dirs,
            root: places.root.as_ref().map(|root| root.physical.as_path()),
            repository: places.git.as_ref().map(|git| git.physical.as_path()),
            team: &places.team,
            fixed,
            default,
        }
    }

    /// The rules that these sources make, without the entries that have ended.
    pub fn rules(&self, machine: &dyn Machine) -> Result<RulesInForce, NoRules> {
        let mut rules = self.rules_with_ended(machine)?;
        // A clock before 1970 ends nothing; one that is set back brings entries back, as for everything that has an end.
        let now = machine.now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_secs());
        for layer in &mut rules.layers {
            layer.drop_ended(now);
        }
        Ok(rules)
    }

    fn rules_with_ended(&self, machine: &dyn Machine) -> Result<RulesInForce, NoRules> {
        let world = machine.world();
        let mut stamps = self.files().iter().map(|file| stamp(world, file)).collect::<Result<Vec<_>, _>>()?;
        if stamps.iter().all(Option::is_none) {
            let shipped = self.shipped()?;
            if !shipped.has_team {
                return shipped.rules().ok_or_else(|| self.no_profile().into());
            }
        }
        stamps.push(stamp(world, &self.trust_note())?);
        let key = self.key();
        let cache = self.dirs.state.join("compiled").join(name_for(key.as_bytes(), 64));
        if let Some(compiled) = cached(world, &cache, &key, &stamps)
            && (compiled.team.is_empty() || compiled.team == self.team_stamps(world)?)
        {
            return Ok(compiled.rules);
        }
        let setup = machine.setup().ok_or(NoRules::Stale)?;
        Ok(self.compile_anew(machine, setup, key, stamps, &cache)?)
    }

    fn compile_anew(
        &self,
        machine: &dyn Machine,
        setup: &dyn Setup,
        key: String,
        stamps: Vec<Stamp>,
        cache: &Path,
    ) -> Result<RulesInForce, SettingsError> {
        // Before they are read: what changes in between is seen the next time.
        let team = self.team_stamps(machine.world())?;
        let layers = setup.compile(machine, self)?;
        let team = if layers.iter().any(Settings::has_team) { team } else { Vec::new() };
        let bytes = postcard::to_allocvec(&layers)
            .map_err(|error| SettingsError::new(self.dirs.config.join(FILE), None, error.to_string()))?;
        let digest =
            format!("sha256:{}", hex(&Sha256::new().chain_update(BUILD).chain_update(&bytes).finalize()));
        let compiled =
            Compiled { build: BUILD.to_owned(), key, stamps, team, rules: RulesInForce { layers, digest } };
        // A file that changed a moment ago can change again within the same tick of the clock, unseen by its
        // stamp: it is compiled again next time. A cache that cannot be written costs time, not safety.
        if !compiled.stamps.iter().chain(&compiled.team).any(|stamp| is_fresh(machine, stamp))
            && let Ok(bytes) = postcard::to_allocvec(&compiled)
        {
            let _ = write_checked(cache, bytes);
        }
        Ok(compiled.rules)
    }

    /// The files in which a team says who it is and how it works, in each place where it may keep them: its roster, its rules, and the
    /// governance file beside its directory.
    pub fn team_files(&self) -> Vec<[PathBuf; 3]> {
        let of = |team: &Place| {
            let governance = team.lexical.parent().unwrap_or(Path::new("/")).join(GOVERNANCE);
            [team.lexical.join("team.md"), rules_of(team), governance]
        };
        self.team.iter().map(of).collect()
    }

    /// The rules of the first team that has any.
    pub fn team_rules(&self, world: &dyn World) -> Option<PathBuf> {
        self.team.iter().map(rules_of).find(|file| world.read(file, 0).is_ok())
    }

    /// What these files are now, in their order. Most of the directories are not there, and two have the same governance file:
    /// each look costs every call.
    fn team_stamps(&self, world: &dyn World) -> Result<Vec<Stamp>, SettingsError> {
        let mut stamps = Vec::new();
        let mut governed: Option<(PathBuf, Stamp)> = None;
        for (team, [roster, rules, governance]) in self.team.iter().zip(self.team_files()) {
            let is_there = stamp(world, &team.lexical)?.is_some();
            for file in [roster, rules] {
                stamps.push(if is_there { stamp(world, &file)? } else { None });
            }
            let known = governed.take().filter(|(file, _)| *file == governance);
            let known =
                known.map_or_else(|| stamp(world, &governance).map(|found| (governance, found)), Ok)?;
            stamps.push(known.1.clone());
            governed = Some(known);
        }
        Ok(stamps)
    }

    /// Administrator, user, project.
    pub fn files(&self) -> [PathBuf; 3] {
        let project = self.root.map_or_else(|| PathBuf::from("/nonexistent"), |root| root.join(FILE));
        [self.dirs.managed.join(FILE), self.dirs.config.join(FILE), project]
    }

    fn key(&self) -> String {
        let fixed = self.fixed.unwrap_or("-");
        let paths = self.files().map(|path| path.to_string_lossy().into_owned());
        let team: Vec<_> = self.team.iter().map(|team| team.lexical.to_string_lossy()).collect();
        format!("{fixed}\n{}\n{}\n{}", self.default, paths.join("\n"), team.join("\n"))
    }

    /// The profile that holds where no file says another.
    pub fn shipped(&self) -> Result<&'static Profile, SettingsError> {
        let name = self.fixed.unwrap_or(self.default);
        PROFILES.iter().find(|profile| profile.name == name).ok_or_else(|| self.no_profile())
    }

    fn no_profile(&self) -> SettingsError {
        let name = self.fixed.unwrap_or(self.default);
        let names = PROFILES.iter().map(|profile| profile.name).collect::<Vec<_>>().join(", ");
        SettingsError::new(
            "--profile".into(),
            None,
            format!("there is no profile `{name}`; choose one of {names}"),
        )
    }

    /// Where it is noted which bytes of the project's file a person has trusted.
    pub fn trust_note(&self) -> PathBuf {
        let repository = self.repository.or(self.root).unwrap_or(Path::new("/"));
        self.dirs.state.join("trusted").join(name_for(repository.as_os_str().as_encoded_bytes(), 64))
    }

    /// Whether a person has trusted these bytes of the project's file.
    pub fn is_trusted(&self, world: &dyn World, bytes: &[u8]) -> bool {
        let Ok(note) = world.read(&self.trust_note(), MAX_FILE) else { return false };
        let digest = digest(bytes);
        String::from_utf8_lossy(&note).lines().any(|line| line == digest)
    }
}

/// The digest that trust is given to.
pub fn digest(bytes: &[u8]) -> String {
    name_for(bytes, 64)
}

/// The team's own rules, in its product's words.
fn rules_of(team: &Place) -> PathBuf {
    team.lexical.join("config/policies.json")
}

fn stamp(world: &dyn World, file: &Path) -> Result<Stamp, SettingsError> {
    match world.stamp(file) {
        Ok(found) => Ok(Some(found)),
        Err(LookError::Absent) => Ok(None),
        Err(LookError::Forbidden | LookError::TooLong | LookError::Failed) => {
            Err(SettingsError::unreadable(file))
        }
    }
}

fn is_fresh(machine: &dyn Machine, stamp: &Stamp) -> bool {
    let now =
        machine.now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_secs().cast_signed());
    stamp.as_ref().is_some_and(|stamp| stamp.changed.0 >= now - 1)
}

fn cached(world: &dyn World, cache: &Path, key: &str, stamps: &[Stamp]) -> Option<Compiled> {
    let bytes = read_checked(world, cache, MAX_CACHE).ok()??;
    let compiled: Compiled = postcard::from_bytes(&bytes).ok()?;
    (compiled.build == BUILD && compiled.key == key && compiled.stamps == stamps).then_some(compiled)
}
