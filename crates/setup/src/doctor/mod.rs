//! Whether the gate is really asked: `toolgate doctor`.
//!
//! Against whom: a gate that stands in a settings file and does nothing. The hosts report hardly any of the ways in
//! which they drop a hook, so every one that is known is looked for, and then the registered command line is run
//! with a call that must be denied and one that must not be.
//!
//! A failed check means that a call may now run unjudged, or that none can run at all. What only makes that
//! easier to bring about is a warning. One host per file; here stands what they share.
//!
//! Does not see: settings given to a host on its command line, hooks of plugins and agent files, and whether
//! a running session has read the files since they changed.

mod approval;
mod canary;
mod claude_code;
mod codex;
mod containment;
mod copilot;
mod cursor;
mod gemini;
mod hooks;
mod live;
mod log;
mod opencode;
mod pi;
mod qwen;
mod scripts;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use toolgate_model::{Call, Mode, Phase, visible};
use toolgate_policies::{Layer, Settings, read_of_project};
use toolgate_team::Lockouts;

use crate::compile::team_rules;
use crate::config::in_force;
use crate::register::{HostPlaces, Registrar, Registrations, tolerant};
use crate::this_machine;
use toolgate_gate::dirs::Dirs;
use toolgate_gate::disk::read_regular;
use toolgate_gate::machine::Machine;
use toolgate_gate::pause;
use toolgate_gate::settings::{NoRules, SettingsSources};
use toolgate_gate::team::lockout_files;
use toolgate_gate::{options::SessionOptions, session};

/// What is examined.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Where hosts look for settings, the project among it.
    pub places: &'a HostPlaces,
    /// Where toolgate keeps its things.
    pub dirs: &'a Dirs,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[must_use]
pub struct Diagnosis {
    /// The host's id.
    pub host: &'static str,
    /// What people call it.
    #[serde(skip)]
    pub name: &'static str,
    /// Whether the host asks us about every call, and we answer.
    pub active: bool,
    /// What was looked at, in the order of reading.
    pub checks: Vec<Check>,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Its name, for machines.
    pub id: &'static str,
    /// How it stands.
    pub status: Status,
    /// What was found.
    pub text: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<&'static str>,
}

/// How a check stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Good to know.
    Info,
    /// As it should be.
    Ok,
    /// Works, and could be switched off or fail more easily than need be.
    Warn,
    /// The gate does not work.
    Fail,
}

/// Examines the registration with a host.
pub fn examine(subject: &Subject<'_>, host: &'static dyn Registrar) -> Diagnosis {
    let mut checks = Vec::new();
    let noted = Registrations::load(&subject.dirs.state).unwrap_or_else(|error| {
        checks.push(Check::new("note", Status::Warn, error.to_string()));
        Registrations::default()
    });
    let exam = Exam { subject, host, noted: &noted };
    let live = match host.id() {
        "claude-code" => claude_code::examine(&exam, &mut checks),
        "copilot" => hooks::examine(&exam, &copilot::CLINIC, &mut checks),
        "codex" => hooks::examine(&exam, &codex::CLINIC, &mut checks),
        "gemini" => hooks::examine(&exam, &gemini::CLINIC, &mut checks),
        "qwen" => hooks::examine(&exam, &qwen::CLINIC, &mut checks),
        "cursor" => hooks::examine(&exam, &cursor::CLINIC, &mut checks),
        "opencode" => scripts::examine(&exam, &opencode::CLINIC, &mut checks),
        "pi" => scripts::examine(&exam, &pi::CLINIC, &mut checks),
        unknown => {
            checks.push(Check::new("registered", Status::Fail, format!("toolgate cannot examine {unknown}")));
            false
        }
    };
    checks.extend(own_settings(subject));
    checks.extend(team(subject));
    checks.extend(containment::examine(&exam));
    checks.extend(approval::examine(subject));
    checks.extend(log::examine(subject));
    let active = live && checks.iter().all(|check| check.status != Status::Fail);
    Diagnosis { host: host.id(), name: host.name(), active, checks }
}

/// What is wrong with `toolgate.toml`, the person's or the project's: every call is denied until it is fixed. And which keys in
/// it have another name now.
fn own_settings(subject: &Subject<'_>) -> Vec<Check> {
    let (dirs, root) = (subject.dirs, subject.places.project.as_deref());
    let sources =
        SettingsSources { dirs, root, repository: None, team: &[], fixed: None, default: "worktree" };
    let mut checks = Vec::new();
    match sources.rules(&this_machine()) {
        Ok(rules) => checks.extend(observing(&rules.layers)),
        Err(NoRules::Broken(error)) => {
            let check = Check::new("toolgate.toml", Status::Fail, format!("{error}"));
            return vec![check.help("fix that line; `toolgate schema` lists every setting")];
        }
        Err(NoRules::Stale) => {}
    }
    let layers = sources.files().map(|file| {
        let layer = fs::read_to_string(&file).ok().and_then(|text| read_of_project(&text).ok());
        (file, layer)
    });
    let own: BTreeSet<String> =
        layers.iter().filter_map(|(_, layer)| layer.as_ref()).flat_map(Layer::own_rules).collect();
    for (file, layer) in layers.into_iter().filter_map(|(file, layer)| Some((file, layer?))) {
        for id in layer.unknown_rules.iter().filter(|id| !own.contains(*id)) {
            let text = format!("{}: `[rules]` sets `{id}`, but there is no such rule", file.display());
            checks.push(
                Check::new("toolgate.toml", Status::Warn, text).help("correct the id, or remove the line"),
            );
        }
        for note in layer.notes {
            let text = format!("{}: {note}", file.display());
            checks.push(
                Check::new("toolgate.toml", Status::Warn, text)
                    .help("use the new name; the old one is read by this version only"),
            );
        }
    }
    checks
}

/// What is to be known of the project's team: its rules, its lockouts, a gate that a person has switched off.
fn team(subject: &Subject<'_>) -> Vec<Check> {
    let Some(project) = subject.places.project.as_deref() else { return Vec::new() };
    let call = Call {
        cwd: project.to_str().map(Into::into),
        ..Call::event("toolgate", "doctor".into(), Phase::Other)
    };
    let machine = this_machine();
    let Ok(session) = session::session(&machine, subject.dirs, &SessionOptions::default(), &call, None)
    else {
        return Vec::new();
    };
    let places = session.places;
    let mut checks = Vec::new();
    let sources = SettingsSources {
        root: Some(project),
        ..SettingsSources::of(subject.dirs, &places, None, "worktree")
    };
    // Files that cannot be read are told by `own_settings`, and so are ids that no rule has.
    if let Ok(config) = in_force(machine.world(), &sources, &places, machine.now(), false) {
        for found in config.without_effect.iter().filter(|found| !found.is_unknown_rule()) {
            checks.push(Check::new("toolgate.toml", Status::Warn, found.line()).help(found.help));
        }
    }
    if pause::until(&machine, subject.dirs, &places).is_some() {
        let text = "a person has switched the gate off in this worktree for a while".to_owned();
        checks.push(
            Check::new("paused", Status::Warn, text).help("`toolgate pause --end` switches it on again"),
        );
    }
    let rules = places.team.iter().map(|team| team.physical.join("config/policies.json"));
    for file in rules.filter(|file| file.is_file()) {
        match fs::read(&file)
            .map_err(|error| error.to_string())
            .and_then(|bytes| team_rules(&file, &bytes).map_err(|error| error.to_string()))
        {
            Ok(config) => checks.extend(
                config.notes().into_iter().map(|note| Check::new("policies.json", Status::Info, note)),
            ),
            Err(error) => checks.push(
                Check::new("policies.json", Status::Fail, error)
                    .help("fix it: in the profile `squad` every call is denied until then"),
            ),
        }
    }
    if let Err(error) = Lockouts::read(&lockout_files(machine.world(), subject.dirs, &places)) {
        let help = "fix that line: writes are denied until then";
        checks.push(Check::new("lockouts", Status::Fail, error.to_string()).help(help));
    }
    checks
}

/// Says loudly that nothing is stopped, where that is so.
fn observing(layers: &[Settings]) -> Option<Check> {
    let modes = || layers.iter().map(|layer| layer.mode);
    if !modes().any(Mode::observes) {
        return None;
    }
    let text = if !modes().all(Mode::observes) {
        "your settings only observe; an administrator's settings are enforced all the same"
    } else if modes().all(|mode| mode == Mode::ObserveAll) {
        "toolgate ONLY OBSERVES: calls are judged and recorded, and NOTHING IS STOPPED, not even by the floor"
    } else {
        "toolgate ONLY OBSERVES: calls are judged and recorded, and only the floor stops any"
    };
    let check = Check::new("mode", Status::Warn, text.to_owned());
    Some(
        check.help(
            "`toolgate replay` shows what would be stopped; remove `mode` from toolgate.toml to enforce",
        ),
    )
}

/// One host on one machine.
#[derive(Clone, Copy)]
struct Exam<'a> {
    subject: &'a Subject<'a>,
    host: &'static dyn Registrar,
    noted: &'a Registrations,
}

impl Exam<'_> {
    /// Whether init wrote a file, and it is still as it was written.
    fn wrote(&self, file: &Path, text: &str) -> bool {
        self.noted.of(self.host.id()).any(|noted| noted.file == file && noted.wrote(text))
            || self.noted.find(self.host.id(), file).is_some_and(|noted| noted.wrote(text))
    }

    /// Files that init wrote and that are gone.
    fn gone(&self, checks: &mut Vec<Check>) {
        let gone = self.noted.of(self.host.id()).filter(|noted| !noted.file.exists());
        for noted in gone {
            let text = format!("`{}`, which init wrote, is gone", noted.file.display());
            checks.push(Check::new("gone", Status::Warn, text).help(AGAIN));
        }
    }
}

/// What repairs a registration that is not as init writes it.
const AGAIN: &str = "run `toolgate init` again";
/// What to do about a file that cannot be read.
const UNREADABLE: &str = "make sure that it is a regular file that you can read";

impl Diagnosis {
    /// Adds what the host's own client does with our answers, where it is installed and can be driven. `toolgate` is the
    /// binary that registers itself.
    pub fn rehearse(&mut self, toolgate: &Path, places: &HostPlaces) {
        let checks = live::rehearse(self.host, toolgate, places).unwrap_or_else(|| {
            let text = format!("{} is not on PATH, or cannot be driven with a scripted model", self.name);
            vec![Check::new("live", Status::Info, text)]
        });
        self.active &= checks.iter().all(|check| check.status != Status::Fail);
        self.checks.extend(checks);
    }

    /// Writes it for a person, the verdict last.
    pub fn render(&self, out: &mut dyn Write, colour: bool) -> io::Result<()> {
        let paint = |code: &'static str| if colour { code } else { "" };
        let reset = paint("\u{1b}[0m");
        let width = self.checks.iter().map(|check| check.id.len()).max().unwrap_or_default();
        for check in &self.checks {
            let (mark, colour) = match check.status {
                Status::Info => ('·', paint("\u{1b}[2m")),
                Status::Ok => ('✓', paint("\u{1b}[32m")),
                Status::Warn => ('!', paint("\u{1b}[33m")),
                Status::Fail => ('✗', paint("\u{1b}[31m")),
            };
            writeln!(out, "{colour}{mark}{reset} {:width$}  {}", check.id, one_line(&check.text))?;
            if let Some(help) = check.help {
                writeln!(out, "  {:width$}    {help}", "")?;
            }
        }
        let failed = self.checks.iter().find(|check| check.status == Status::Fail);
        match failed {
            _ if self.active => writeln!(out, "active: {} asks toolgate before every tool call", self.name),
            Some(check) => writeln!(out, "inactive: {}", one_line(&check.text)),
            None => writeln!(out, "inactive: toolgate is not registered"),
        }
    }
}

impl Check {
    fn new(id: &'static str, status: Status, text: impl Into<String>) -> Check {
        Check { id, status, text: text.into(), help: None }
    }

    fn help(self, help: &'static str) -> Check {
        Check { help: Some(help), ..self }
    }
}

fn binary(program: &str, subject: &Subject<'_>) -> Check {
    let check = |status, text: String| Check::new("binary", status, text);
    let path = Path::new(program);
    if !path.is_absolute() {
        let text = format!("`{program}` is looked up on PATH, which the environment can change");
        return check(Status::Warn, text).help(AGAIN);
    }
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) => {
            return check(Status::Fail, format!("`{program}`: {error}"))
                .help("install it, or run `toolgate init` again");
        }
    };
    if !found.is_file() || found.permissions().mode() & 0o111 == 0 {
        return check(Status::Fail, format!("`{program}` is not an executable file"))
            .help("install it again, and run `toolgate init` again");
    }
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if subject.places.is_in_project(&real) {
        let text = format!("`{program}` lies inside the project, where an agent writes");
        return check(Status::Warn, text).help("install it elsewhere, and run `toolgate init` again");
    }
    if let Some(open) = real.ancestors().find(|path| others_may_write(path)) {
        let text = format!(
            "users other than its owner can write `{}`, so they can replace the gate",
            open.display()
        );
        return check(Status::Warn, text).help("remove write permission for group and others (`chmod go-w`)");
    }
    check(Status::Ok, format!("`{program}`"))
}

/// Whether the mode lets others change a file, or put another in its place. In a directory with the sticky bit
/// they cannot.
fn others_may_write(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| {
        let mode = found.permissions().mode();
        mode & 0o022 != 0 && !(found.is_dir() && mode & 0o1000 != 0)
    })
}

fn state(dir: &Path) -> Check {
    let check = |status, text: &str| Check::new("state", status, format!("`{}` {text}", dir.display()));
    let found = match fs::metadata(dir) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return check(Status::Info, "does not exist yet; the first call makes it");
        }
        Err(error) => {
            return check(Status::Fail, &error.to_string())
                .help("make sure that the agent's user can reach it");
        }
    };
    if !found.is_dir() {
        check(Status::Fail, "is not a directory").help("move it away; the first call makes one")
    } else if found.uid() != rustix::process::geteuid().as_raw() {
        check(Status::Fail, "belongs to somebody else, so no call can be recorded")
            .help("make the agent's user its owner")
    } else if rustix::fs::access(dir, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_err() {
        check(Status::Fail, "cannot be written, so no call can be recorded")
            .help("let its owner write to it (`chmod u+w`)")
    } else if found.permissions().mode() & 0o077 != 0 {
        check(Status::Warn, "is open to others").help("chmod 700 it")
    } else {
        check(Status::Ok, "is open to its owner alone")
    }
}

/// A text from anybody's file as one line that a terminal only shows.
fn one_line(text: &str) -> String {
    visible(text).replace(['\n', '\t'], " ")
}

/// A longer file is cut off: nobody has settings of this size, and a repository must not fill our memory.
const LONGEST_FILE: usize = 16 * 1024 * 1024;

/// The bytes of a regular file; `None` where there is none.
fn bytes_of(file: &Path) -> Option<io::Result<Vec<u8>>> {
    match read_regular(file, LONGEST_FILE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        read => Some(read),
    }
}

/// The text of a regular file; `None` where there is none.
fn text_of(file: &Path) -> Option<io::Result<String>> {
    bytes_of(file).map(|read| read.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// The settings in a JSON file, comments and all; nothing where it cannot be made out.
fn settings_in(file: &Path) -> Value {
    text_of(file).and_then(Result::ok).and_then(|text| tolerant(&text)).unwrap_or_default()
}

/// Which of these files set a switch to this.
fn which_say(files: &[PathBuf], switch: &str, word: &Value) -> Option<PathBuf> {
    files.iter().find(|file| settings_in(file).pointer(switch) == Some(word)).cloned()
}
