//! Settings in layers: administrator, user, project; compiled once, and from then on read without parsing.
//!
//! How a layer is kept from loosening what stands above it: no key is compared with another. The call is
//! judged under each stack that has to hold, and the strictest verdict counts.
//!
//! | present | stacks that have to hold |
//! |---|---|
//! | administrator's file | profile + administrator |
//! | project file that is not trusted | profile + administrator + user |
//! | always | everything |
//!
//! In a project of a team its `team.md` and the table of its governance file say who is who, and its `policies.json` counts like
//! the project's own file, below it.
//!
//! Against whom: a repository brings its own `toolgate.toml`, and an agent may try to write one. Until a person
//! has run `toolgate trust` on these very bytes, it can only add rules. What opens files of secrets does not count in it
//! even then.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
#[cfg(feature = "cli")]
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toolgate_model::Place;
use toolgate_policies::Settings;
#[cfg(feature = "cli")]
use toolgate_policies::{LayerError, read, squad, stack};

use crate::dirs::Dirs;
use crate::disk::{Disk, read_regular};
#[cfg(feature = "cli")]
use crate::store::write_checked;
use crate::store::{hex, read_checked};

/// The name of a settings file, in each of its places.
pub const FILE: &str = "toolgate.toml";
/// Where a team has its table of who may write what.
const GOVERNANCE: &str = ".github/agents/squad.agent.md";
/// People write settings by hand.
const MAX_FILE: usize = 1024 * 1024;
/// Three layers of them, compiled.
const MAX_CACHE: usize = 8 * MAX_FILE;
/// What a compiled cache must have been made by.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("TOOLGATE_PROFILES"));

/// Name, whether it is a team's, and what it holds.
static PROFILES: &[(&str, bool, &[u8])] = include!(concat!(env!("OUT_DIR"), "/profiles.rs"));

/// Which settings a call is judged by.
#[derive(Debug, Clone)]
pub struct Wanted<'w> {
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
    /// Nothing is wrong, but the compiled form is out of date and this binary cannot make it.
    pub stale: bool,
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
    fn new(file: PathBuf, line: Option<usize>, what: String) -> SettingsError {
        SettingsError { stale: false, file, line, what }
    }
}

/// What a file was when it was compiled. The change time cannot be set by hand, so an agent that edits a file
/// and puts its date back is seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Stamp {
    Absent,
    File { device: u64, inode: u64, size: u64, modified: (i64, i64), changed: (i64, i64) },
}

#[derive(Serialize, Deserialize)]
struct Compiled {
    build: String,
    key: String,
    stamps: Vec<Stamp>,
    /// The team's files that count, where the settings are those of a team.
    team: Vec<Stamp>,
    layers: Vec<Settings>,
}

impl Wanted<'_> {
    /// The layers that all have to be content with a call.
    pub fn layers(&self) -> Result<Vec<Settings>, SettingsError> {
        let files = self.files();
        let mut stamps = files.iter().map(|file| stamp(file)).collect::<Result<Vec<_>, _>>()?;
        if stamps.iter().all(|stamp| *stamp == Stamp::Absent) {
            let name = self.fixed.unwrap_or(self.default);
            let is_team = PROFILES.iter().any(|(known, has_team, _)| *known == name && *has_team);
            if !is_team {
                return self.shipped().map(|settings| vec![settings]);
            }
        }
        stamps.push(stamp(&self.trust_note())?);
        let key = self.key();
        let cache = self.dirs.state.join("compiled").join(hex(&Sha256::digest(key.as_bytes())));
        if let Some(compiled) = cached(&cache, &key, &stamps)
            && (compiled.team.is_empty() || compiled.team == self.team_stamps()?)
        {
            return Ok(compiled.layers);
        }
        self.compile_anew(&files, key, stamps, &cache)
    }

    /// Stands for the rules in force: those that this build ships, and what each layer says.
    #[cfg(feature = "cli")]
    pub fn ruleset(&self) -> Result<String, SettingsError> {
        let layers = self.layers()?;
        let bytes = postcard::to_allocvec(&(BUILD, &layers))
            .map_err(|error| SettingsError::new(self.dirs.config.join(FILE), None, error.to_string()))?;
        Ok(format!("sha256:{}", digest(&bytes)))
    }

    /// Without the command line there is nothing that could read TOML.
    #[cfg(not(feature = "cli"))]
    #[expect(clippy::unused_self, reason = "the whole binary needs it")]
    fn compile_anew(
        &self,
        _: &[PathBuf; 3],
        _: String,
        _: Vec<Stamp>,
        _: &Path,
    ) -> Result<Vec<Settings>, SettingsError> {
        Err(SettingsError { stale: true, file: PathBuf::new(), line: None, what: String::new() })
    }

    #[cfg(feature = "cli")]
    fn compile_anew(
        &self,
        files: &[PathBuf; 3],
        key: String,
        stamps: Vec<Stamp>,
        cache: &Path,
    ) -> Result<Vec<Settings>, SettingsError> {
        // Before they are read: what changes in between is seen the next time.
        let team = self.team_stamps()?;
        let layers = self.compile(files)?;
        let team = if layers.iter().any(Settings::has_team) { team } else { Vec::new() };
        let compiled = Compiled { build: BUILD.to_owned(), key, stamps, team, layers };
        // A file that changed a moment ago can change again within the same tick of the clock, unseen by its
        // stamp: it is compiled again next time. A cache that cannot be written costs time, not safety.
        if !compiled.stamps.iter().chain(&compiled.team).any(is_fresh)
            && let Ok(bytes) = postcard::to_allocvec(&compiled)
        {
            let _ = write_checked(cache, bytes);
        }
        Ok(compiled.layers)
    }

    /// The files in which a team says who it is and how it works, in each place where it may keep them: its roster, its rules, and the
    /// governance file beside its directory.
    fn team_files(&self) -> Vec<[PathBuf; 3]> {
        let of = |team: &Place| {
            let governance = team.lexical.parent().unwrap_or(Path::new("/")).join(GOVERNANCE);
            [team.lexical.join("team.md"), Wanted::rules_of(team), governance]
        };
        self.team.iter().map(of).collect()
    }

    /// The team's own rules, in its product's words.
    fn rules_of(team: &Place) -> PathBuf {
        team.lexical.join("config/policies.json")
    }

    /// The rules of the first team that has any.
    pub fn team_rules(&self) -> Option<PathBuf> {
        self.team.iter().map(Wanted::rules_of).find(|file| file.is_file())
    }

    /// What these files are now, in their order. Most of the directories are not there, and two have the same governance file:
    /// each look costs every call.
    fn team_stamps(&self) -> Result<Vec<Stamp>, SettingsError> {
        let mut stamps = Vec::new();
        let mut governed: Option<(PathBuf, Stamp)> = None;
        for (team, [roster, rules, governance]) in self.team.iter().zip(self.team_files()) {
            let is_there = stamp(&team.lexical)? != Stamp::Absent;
            for file in [roster, rules] {
                stamps.push(if is_there { stamp(&file)? } else { Stamp::Absent });
            }
            let known = governed.take().filter(|(file, _)| *file == governance);
            let known = known.map_or_else(|| stamp(&governance).map(|found| (governance, found)), Ok)?;
            stamps.push(known.1.clone());
            governed = Some(known);
        }
        Ok(stamps)
    }

    /// Administrator, user, project.
    fn files(&self) -> [PathBuf; 3] {
        let project = self.root.map_or_else(|| PathBuf::from("/nonexistent"), |root| root.join(FILE));
        [self.dirs.managed.join(FILE), self.dirs.config.join(FILE), project]
    }

    fn key(&self) -> String {
        let fixed = self.fixed.unwrap_or("-");
        let paths = self.files().map(|path| path.to_string_lossy().into_owned());
        let team: Vec<_> = self.team.iter().map(|team| team.lexical.to_string_lossy()).collect();
        format!("{fixed}\n{}\n{}\n{}", self.default, paths.join("\n"), team.join("\n"))
    }

    fn shipped(&self) -> Result<Settings, SettingsError> {
        let name = self.fixed.unwrap_or(self.default);
        let bytes = PROFILES.iter().find(|(known, ..)| *known == name).map(|(.., bytes)| *bytes);
        bytes.and_then(|bytes| postcard::from_bytes(bytes).ok()).ok_or_else(|| {
            let names = PROFILES.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
            SettingsError::new(
                "--profile".into(),
                None,
                format!("there is no profile `{name}`; there are {names}"),
            )
        })
    }

    #[cfg(feature = "cli")]
    fn compile(&self, files: &[PathBuf; 3]) -> Result<Vec<Settings>, SettingsError> {
        self.shipped()?;
        let [managed_file, user_file, project_file] = files;
        let load = |file: &PathBuf| match read_regular(file, MAX_FILE + 1) {
            Ok(bytes) => Ok(Some((read_layer(file, &bytes)?, bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(_) => Err(unreadable(file)),
        };
        let layer = |loaded: Option<(toml::Table, Vec<u8>)>| loaded.map(|(table, _)| table);
        let (managed, user) = (layer(load(managed_file)?), layer(load(user_file)?));
        stays_inside(project_file, self.root)?;
        let project = load(project_file)?;
        let trusted = project.as_ref().is_some_and(|(_, bytes)| self.is_trusted(bytes));
        let mut project = layer(project);
        if let (Some(project), false) = (&mut project, trusted) {
            // Words that nobody trusted do not speak in our name, to a person least of all.
            project.remove("messages");
            keep_identities(project);
            without_patterns(project);
        }
        if let Some(project) = &mut project {
            keep_closed(project);
        }
        let stack = |layers: &[&Option<toml::Table>]| {
            let present: Vec<&toml::Table> = layers.iter().filter_map(|layer| layer.as_ref()).collect();
            stack(self.fixed, self.default, &present)
                .map_err(|error| SettingsError::new(project_file.clone(), None, error.what))
        };
        let whole = stack(&[&managed, &user, &project])?;
        let (known, rules) = if whole.has_team() { self.team_layers()? } else { (None, None) };
        let trusted_rules = rules.as_ref().is_some_and(|rules| rules.trusted);
        let rules = rules.map(|rules| rules.table);
        let mut layers = vec![stack(&[&managed, &user, &known, &rules, &project])?];
        // What the project says and nobody has trusted can only add to what the others say.
        let (rules, project) = (rules.filter(|_| trusted_rules), project.filter(|_| trusted));
        layers.push(stack(&[&managed, &user, &known, &rules, &project])?);
        if managed.is_some() {
            // What an administrator says of a file counts before a repository's table.
            layers.push(stack(&[&known, &managed])?);
        }
        layers.dedup();
        Ok(layers)
    }

    /// What the team's files say, as layers: who is on it and whose its files are, and its own rules.
    #[cfg(feature = "cli")]
    fn team_layers(&self) -> Result<(Option<toml::Table>, Option<Rules>), SettingsError> {
        // The worktree and the main checkout.
        let tops = || self.team.iter().filter_map(|team| team.lexical.parent());
        let read = |file: &PathBuf| match read_regular(file, MAX_FILE + 1) {
            Ok(bytes) if bytes.len() > MAX_FILE => {
                Err(SettingsError::new(file.clone(), None, "is larger than 1 MiB; make it smaller".into()))
            }
            Ok(bytes) => stays_inside(file, tops()).map(|()| Some(bytes)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(_) => Err(unreadable(file)),
        };
        let (mut roster, mut rules, mut governance) = (None, None, None);
        for [roster_file, rules_file, governance_file] in &self.team_files() {
            for (known, file) in
                [(&mut roster, roster_file), (&mut rules, rules_file), (&mut governance, governance_file)]
            {
                if known.is_none() {
                    *known = read(file)?.map(|bytes| (file.clone(), bytes));
                }
            }
        }
        let text = |read: &Option<(PathBuf, Vec<u8>)>| {
            read.as_ref().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned())
        };
        let known = squad::team_layer(text(&roster).as_deref(), text(&governance).as_deref());
        let rules = rules.map(|(file, bytes)| {
            let config = team_rules(&file, &bytes)?;
            let (mut table, trusted) = (squad::policies_layer(&config), self.is_trusted(&bytes));
            if !trusted {
                without_patterns(&mut table);
            }
            Ok(Rules { table, trusted })
        });
        Ok((Some(known), rules.transpose()?))
    }

    /// Where it is noted which bytes of the project's file a person has trusted.
    pub fn trust_note(&self) -> PathBuf {
        let repository = self.repository.or(self.root).unwrap_or(Path::new("/"));
        self.dirs.state.join("trusted").join(hex(&Sha256::digest(repository.as_os_str().as_encoded_bytes())))
    }

    /// Says what is wrong with a file of the project's own settings.
    #[cfg(feature = "cli")]
    pub fn check(&self, file: &Path, bytes: &[u8]) -> Result<(), SettingsError> {
        if file.extension().is_some_and(|ending| ending == "json") {
            team_rules(file, bytes).map(|_| ())
        } else {
            read_layer(file, bytes).map(|_| ())
        }
    }

    /// Whether a person has trusted these bytes of the project's file.
    pub fn is_trusted(&self, bytes: &[u8]) -> bool {
        let Ok(note) = read_regular(&self.trust_note(), MAX_FILE) else { return false };
        let digest = digest(bytes);
        String::from_utf8_lossy(&note).lines().any(|line| line == digest)
    }
}

/// A project's file that is a link out of the project would show another file's words in our messages.
#[cfg(feature = "cli")]
fn stays_inside<'p>(file: &Path, tops: impl IntoIterator<Item = &'p Path>) -> Result<(), SettingsError> {
    let mut tops = tops.into_iter().filter_map(|top| fs::canonicalize(top).ok()).peekable();
    let inside = fs::canonicalize(file)
        .map_or(true, |file| tops.peek().is_none() || tops.any(|top| file.starts_with(top)));
    let what = "is a link that leads out of the project; put the file itself there";
    if inside { Ok(()) } else { Err(SettingsError::new(file.into(), None, what.into())) }
}

/// Reads a team's own rules.
#[cfg(feature = "cli")]
pub fn team_rules(file: &Path, bytes: &[u8]) -> Result<squad::PolicyConfig, SettingsError> {
    let text = String::from_utf8_lossy(bytes);
    squad::PolicyConfig::read(&text).map_err(|LayerError { at, what }| {
        let line = at.and_then(|at| text.get(..at)).map(|before| before.matches('\n').count() + 1);
        SettingsError::new(file.into(), line, what)
    })
}

/// A team's own rules as a layer, and whether a person has trusted them.
#[cfg(feature = "cli")]
struct Rules {
    table: toml::Table,
    trusted: bool,
}

/// No project opens a file of secrets, trusted or not: those who trust a repository's rules have not thereby handed it
/// their keys. Nor does it close what its user has opened, who would wonder why.
#[cfg(feature = "cli")]
fn keep_closed(project: &mut toml::Table) {
    if let Some(toml::Value::Table(policies)) = project.get_mut("policy") {
        policies.remove("secret-file");
    }
}

/// Who is who is no rule that could be added: an untrusted file has no say in it.
#[cfg(feature = "cli")]
fn keep_identities(project: &mut toml::Table) {
    if let Some(toml::Value::Table(team)) = project.get_mut("team") {
        team.remove("main");
        team.remove("roster");
    }
    if let Some(toml::Value::Table(agents)) = project.get_mut("agent") {
        for (_, agent) in agents.iter_mut() {
            if let toml::Value::Table(agent) = agent {
                agent.remove("role");
            }
        }
    }
}

/// Regular expressions take their time, and a repository that nobody trusts is not given ours.
#[cfg(feature = "cli")]
fn without_patterns(rules: &mut toml::Table) {
    if let Some(toml::Value::Table(redaction)) = rules.get_mut("redaction") {
        redaction.remove("pattern");
    }
    if let Some(toml::Value::Array(commands)) = rules.get_mut("command") {
        commands.retain(|command| command.get("pattern").is_none());
    }
}

/// The digest that trust is given to.
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

#[cfg(feature = "cli")]
/// Reads one settings file, with errors that say where and what would be right.
pub fn read_layer(file: &Path, bytes: &[u8]) -> Result<toml::Table, SettingsError> {
    // Rules behind the point where reading stops would be rules that nobody follows.
    if bytes.len() > MAX_FILE {
        return Err(SettingsError::new(file.into(), None, "is larger than 1 MiB; make it smaller".into()));
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(SettingsError::new(file.into(), None, "is not UTF-8 text".into()));
    };
    read(text).map_err(|LayerError { at, what }| {
        let line = at.and_then(|at| text.get(..at)).map(|before| before.matches('\n').count() + 1);
        SettingsError::new(file.into(), line, with_hint(&what))
    })
}

#[cfg(feature = "cli")]
/// `unknown field `scop`, expected one of …` becomes a question that can be answered.
fn with_hint(what: &str) -> String {
    let what = what.trim().replace('\n', " ");
    let mut quoted = what.split('`').skip(1).step_by(2);
    let (Some(wrong), true) = (quoted.next(), what.starts_with("unknown ")) else { return what };
    let thing = if what.starts_with("unknown field") { "key" } else { "value" };
    match nearest(wrong, quoted) {
        Some(near) => format!("unknown {thing} `{wrong}`; did you mean `{near}`?"),
        None => {
            what.replacen("unknown field", "unknown key", 1).replacen("unknown variant", "unknown value", 1)
        }
    }
}

/// The known word that a misspelt one most likely means.
#[cfg(feature = "cli")]
pub fn nearest<'n>(wrong: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let close = known.map(|name| (strsim::damerau_levenshtein(wrong, name), name)).min()?;
    (close.0 <= 2.max(wrong.len() / 3)).then_some(close.1)
}

fn unreadable(file: &Path) -> SettingsError {
    SettingsError::new(file.into(), None, "cannot be read; mend its permissions or remove it".into())
}

fn stamp(file: &Path) -> Result<Stamp, SettingsError> {
    match fs::metadata(file) {
        Ok(found) => Ok(Stamp::File {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(Stamp::Absent)
        }
        Err(_) => Err(unreadable(file)),
    }
}

#[cfg(feature = "cli")]
fn is_fresh(stamp: &Stamp) -> bool {
    let now =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_secs().cast_signed());
    match stamp {
        Stamp::Absent => false,
        Stamp::File { changed: (seconds, _), .. } => *seconds >= now - 1,
    }
}

fn cached(cache: &Path, key: &str, stamps: &[Stamp]) -> Option<Compiled> {
    let bytes = read_checked(&Disk::default(), cache, MAX_CACHE).ok()??;
    let compiled: Compiled = postcard::from_bytes(&bytes).ok()?;
    (compiled.build == BUILD && compiled.key == key && compiled.stamps == stamps).then_some(compiled)
}
