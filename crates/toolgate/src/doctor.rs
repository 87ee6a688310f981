//! Whether the gate is really asked: `toolgate doctor`, for Claude Code.
//!
//! Against whom: a gate that stands in a settings file and does nothing. The client reports none of the ways in
//! which it drops a hook, so every one of them is looked for, and then the registered command line is run with a
//! call that must be denied and one that must not be.
//!
//! A failed check means that a call may now run unjudged, or that none can run at all. What only makes that
//! easier to bring about is a warning.
//!
//! Does not see: settings given to the client on its command line, hooks of plugins and agent files, and whether
//! a running session has read the files since they changed.

mod canary;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;
use serde_json::Value;

use crate::dirs::Dirs;
use crate::register::claude_code::reading::{CommandLine, GATE, Handler, Limit, Reading};
use crate::register::claude_code::{EVENTS, HOST, Places};
use crate::register::{Registrations, Scope, visible};

/// Seconds below which the client may give up before we have answered.
const SHORTEST_TIMEOUT: f64 = 10.0;

/// The first client that honours `onFailure`.
const HONOURS_ON_FAILURE: (u32, u32, u32) = (2, 1, 295);

/// What is examined.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Where the client looks for settings, the project among it.
    pub places: &'a Places,
    /// Where toolgate keeps its things.
    pub dirs: &'a Dirs,
    /// `PATH`, for finding the client.
    pub path: Option<&'a OsStr>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[must_use]
pub struct Diagnosis {
    /// Whether the client asks us about every call, and we answer.
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

/// Examines the registration with Claude Code.
pub fn examine(subject: &Subject<'_>) -> Diagnosis {
    let mut checks = Vec::new();
    let sources = sources(subject, &mut checks);
    let live: Vec<&Source> = sources.iter().filter(|source| is_live(source, &sources)).collect();
    registration(&sources, &live, &mut checks);
    // One file that works makes up for what another loses.
    let lost = if live.is_empty() { Status::Fail } else { Status::Warn };
    for source in &sources {
        handlers(source, lost, &mut checks);
    }
    switches(&sources, &live, &mut checks);
    let lines: Vec<_> =
        live.iter().flat_map(|source| source.gates().map(move |ours| (*source, ours))).collect();
    let programs: BTreeSet<&str> = lines.iter().map(|(_, ours)| ours.command.program()).collect();
    checks.extend(programs.into_iter().map(|program| binary(program, subject)));
    checks.push(state(&subject.dirs.state));
    checks.push(client(subject));
    let mut seen = Vec::new();
    for (source, ours) in lines {
        if !seen.contains(&&ours.command) {
            seen.push(&ours.command);
            canary::canaries(source, &ours.command, subject, &mut checks);
        }
    }
    Diagnosis { active: !live.is_empty() && checks.iter().all(|check| check.status != Status::Fail), checks }
}

impl Diagnosis {
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
            _ if self.active => writeln!(out, "active: Claude Code asks toolgate before every tool call"),
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

/// A settings file that exists.
struct Source {
    scope: Scope,
    file: PathBuf,
    reading: Reading,
    /// It names us somewhere, be it in a part that nobody can read.
    names_us: bool,
    /// It is what init wrote here, so that the command line in it is ours and not a repository's.
    written_by_us: bool,
}

impl Source {
    /// Our handlers that judge every call, if the client reads the file.
    fn gates(&self) -> impl Iterator<Item = &Handler> {
        let ours = self.reading.events.get(GATE).into_iter().flat_map(|event| &event.ours);
        ours.filter(|ours| ours.limits.is_empty())
    }

    /// The client drops the file, and us with it.
    fn loses_us(&self) -> bool {
        self.reading.dropped.is_some() && self.names_us
    }

    fn is_managed(&self) -> bool {
        self.scope == Scope::Managed
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} settings `{}`", self.scope, self.file.display())
    }
}

fn sources(subject: &Subject<'_>, checks: &mut Vec<Check>) -> Vec<Source> {
    let noted = Registrations::load(&subject.dirs.state).unwrap_or_else(|error| {
        checks.push(Check::new("note", Status::Warn, error.to_string()));
        Registrations::default()
    });
    let mut sources = Vec::new();
    for (scope, file) in subject.places.files() {
        let bytes = match fs::metadata(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let text = format!("no {scope} settings `{}`", file.display());
                checks.push(Check::new("settings", Status::Info, text));
                continue;
            }
            // A pipe would keep us waiting for ever.
            Ok(found) if !found.is_file() => Err(io::Error::from(io::ErrorKind::InvalidInput)),
            Ok(_) => fs::read(&file),
            Err(error) => Err(error),
        };
        match bytes {
            Ok(bytes) => {
                let wrote = |text: &str| noted.find(HOST, &file).is_some_and(|noted| noted.wrote(text));
                sources.push(Source {
                    scope,
                    reading: Reading::of(&bytes),
                    names_us: bytes.windows(8).any(|part| part == b"toolgate"),
                    written_by_us: std::str::from_utf8(&bytes).is_ok_and(wrote),
                    file,
                });
            }
            Err(error) => {
                let text = format!("{scope} settings `{}` cannot be read: {error}", file.display());
                checks.push(Check::new("settings", Status::Warn, text));
            }
        }
    }
    sources
}

/// Whether the client takes our handlers from this file and asks them about every call.
fn is_live(source: &Source, all: &[Source]) -> bool {
    let off = |other: &Source| other.reading.hooks_off() && (other.is_managed() || !source.is_managed());
    let managed_only = !source.is_managed() && all.iter().any(managed_hooks_only);
    source.reading.gates() && !managed_only && !all.iter().any(off)
}

fn managed_hooks_only(source: &Source) -> bool {
    source.is_managed() && source.reading.setting("allowManagedHooksOnly") == Some(&Value::Bool(true))
}

fn registration(sources: &[Source], live: &[&Source], checks: &mut Vec<Check>) {
    for source in sources {
        let events = source.reading.events.iter().filter(|(_, event)| !event.ours.is_empty());
        let events: Vec<_> = events.map(|(name, _)| name.as_str()).collect();
        checks.push(if events.is_empty() {
            Check::new("settings", Status::Info, format!("{source}, without toolgate"))
        } else {
            let status = if source.reading.gates() { Status::Ok } else { Status::Warn };
            Check::new("registered", status, format!("in the {source} for {}", events.join(", ")))
        });
    }
    if !sources.iter().any(|source| source.reading.ours().next().is_some() || source.loses_us()) {
        let check = Check::new("registered", Status::Fail, "toolgate is in no settings file of Claude Code");
        checks.push(check.help("run `toolgate init`"));
    }
    if live.len() > 1 {
        let text = format!("{} files register toolgate, so every call is judged as many times", live.len());
        checks
            .push(Check::new("doubled", Status::Warn, text).help("run `toolgate uninstall` for one of them"));
    }
}

/// What is wrong with the handlers of one file.
fn handlers(source: &Source, lost: Status, checks: &mut Vec<Check>) {
    let reading = &source.reading;
    if let Some(dropped) = &reading.dropped {
        let (status, then) = match (source.is_managed(), source.names_us) {
            (true, _) => (Status::Fail, "the client does not start with such a file"),
            (_, true) => (lost, "the client drops the whole file, and our hooks with it"),
            (_, false) => (Status::Info, "the client drops the whole file"),
        };
        let check = Check::new("readable", status, format!("{dropped} in the {source}: {then}"));
        checks.push(check.help("make it plain JSON without comments"));
        return;
    }
    if reading.ours().next().is_none() {
        return;
    }
    let missing: Vec<_> = EVENTS
        .iter()
        .filter(|name| reading.events.get(**name).is_none_or(|event| event.ours.is_empty()))
        .copied()
        .collect();
    if missing.contains(&GATE) {
        let text = format!("no handler for {GATE} in the {source}");
        checks.push(Check::new("events", lost, text).help("run `toolgate init` again"));
    } else if !missing.is_empty() {
        let text = format!("no handler for {} in the {source}", missing.join(", "));
        checks.push(Check::new("events", Status::Warn, text).help("run `toolgate init` again"));
    }
    for (name, event) in reading.events.iter().filter(|(_, event)| !event.ours.is_empty()) {
        let gate = name == GATE;
        if let Some(bad) = &event.bad {
            let status = if gate { lost } else { Status::Warn };
            let text = format!("the client drops all {name} handlers of the {source}: {bad}");
            checks.push(Check::new("neighbours", status, text).help("mend or remove that handler"));
        }
        if gate {
            event.ours.iter().for_each(|ours| gate_handler(source, ours, lost, checks));
        }
    }
}

/// What is wrong with one of our handlers that decide about calls.
fn gate_handler(source: &Source, ours: &Handler, lost: Status, checks: &mut Vec<Check>) {
    let again = "run `toolgate init` again";
    for limit in &ours.limits {
        let id = match limit {
            Limit::Async => "async",
            Limit::Matcher(_) | Limit::If | Limit::Once => "matcher",
            Limit::ShellText => "exec-form",
        };
        checks.push(Check::new(id, lost, format!("{limit}, in the {source}")).help(again));
    }
    if matches!(ours.command, CommandLine::Shell(_)) && !ours.limits.contains(&Limit::ShellText) {
        let text =
            format!("the handler in the {source} goes through a shell, which a changed environment can bend");
        checks.push(Check::new("exec-form", Status::Warn, text).help(again));
    }
    if !ours.blocks_on_failure {
        let text =
            format!("without `\"onFailure\": \"block\"` in the {source} a call runs when the hook cannot");
        checks.push(Check::new("on-failure", Status::Warn, text).help(again));
    }
    if let Some(seconds) = ours.timeout.filter(|seconds| *seconds < SHORTEST_TIMEOUT) {
        let text =
            format!("the client gives up after {seconds} s, maybe before toolgate answers, in the {source}");
        checks.push(Check::new("timeout", Status::Warn, text).help(again));
    }
}

/// Settings anywhere that switch us off or could.
fn switches(sources: &[Source], live: &[&Source], checks: &mut Vec<Check>) {
    let managed = live.iter().any(|source| source.is_managed());
    for source in sources {
        let reading = &source.reading;
        if reading.hooks_off() {
            let status = if managed { Status::Warn } else { Status::Fail };
            let text = format!("`disableAllHooks` in the {source} switches off all hooks but managed ones");
            let check = Check::new("disable-all-hooks", status, text);
            checks.push(check.help("remove that line, or register with `toolgate init --managed`"));
        }
        let registered = !source.is_managed() && source.reading.ours().next().is_some();
        if registered && sources.iter().any(managed_hooks_only) {
            let status = if managed { Status::Warn } else { Status::Fail };
            let text = format!("`allowManagedHooksOnly` makes the client ignore the {source}");
            checks.push(
                Check::new("managed-only", status, text).help("register with `toolgate init --managed`"),
            );
        }
        let names: Vec<_> = reading.env_names().filter(|name| bends_us(name)).collect();
        if !names.is_empty() {
            let text = format!("`env` in the {source} sets {}", names.join(", "));
            checks.push(
                Check::new("env", Status::Warn, text)
                    .help("whoever writes that file moves where programs look"),
            );
        }
    }
    if !live.is_empty() && !managed {
        let text = "any repository and any agent that can write settings can switch these hooks off";
        checks.push(
            Check::new("scope", Status::Info, text)
                .help("only `toolgate init --managed` is out of their reach"),
        );
    }
}

/// Variables that move where we or the client look for things, or make the client skip hooks.
fn bends_us(name: &str) -> bool {
    let exact = ["HOME", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"];
    exact.contains(&name) || name.starts_with("XDG_")
}

fn binary(program: &str, subject: &Subject<'_>) -> Check {
    let check = |status, text: String| Check::new("binary", status, text);
    let path = Path::new(program);
    if !path.is_absolute() {
        let text = format!("`{program}` is looked up on PATH, which the environment can change");
        return check(Status::Warn, text).help("run `toolgate init` again");
    }
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) => {
            return check(Status::Fail, format!("`{program}`: {error}"))
                .help("install it, or run `toolgate init` again");
        }
    };
    if !found.is_file() || found.permissions().mode() & 0o111 == 0 {
        return check(Status::Fail, format!("`{program}` is not an executable file"));
    }
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if is_in_project(&real, subject) {
        let text = format!("`{program}` lies inside the project, where an agent writes");
        return check(Status::Warn, text).help("install it elsewhere, and run `toolgate init` again");
    }
    if let Some(open) = real.ancestors().find(|path| others_may_write(path)) {
        let text = format!(
            "`{}` can be written by others than its owner, so they can replace the gate",
            open.display()
        );
        return check(Status::Warn, text).help("take the right to write from group and others");
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

fn is_in_project(real: &Path, subject: &Subject<'_>) -> bool {
    let project = subject.places.project.as_ref().and_then(|project| fs::canonicalize(project).ok());
    project.is_some_and(|project| real.starts_with(project))
}

fn state(dir: &Path) -> Check {
    let check = |status, text: &str| Check::new("state", status, format!("`{}` {text}", dir.display()));
    let found = match fs::metadata(dir) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return check(Status::Info, "does not exist yet; the first call makes it");
        }
        Err(error) => return check(Status::Fail, &error.to_string()),
    };
    if !found.is_dir() {
        check(Status::Fail, "is not a directory")
    } else if found.uid() != rustix::process::geteuid().as_raw() {
        check(Status::Fail, "belongs to somebody else, so no call can be recorded")
            .help("give it to the agent's user")
    } else if rustix::fs::access(dir, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_err() {
        check(Status::Fail, "cannot be written, so no call can be recorded")
            .help("give its owner the right to write")
    } else if found.permissions().mode() & 0o077 != 0 {
        check(Status::Warn, "is open to others").help("chmod 700 it")
    } else {
        check(Status::Ok, "is ours alone")
    }
}

fn client(subject: &Subject<'_>) -> Check {
    let check = |status, text: String| Check::new("client", status, text);
    let dirs = subject.path.into_iter().flat_map(std::env::split_paths);
    // Only absolute places outside the project: asking for a version must not run a repository's program.
    let mut programs = dirs.filter(|dir| dir.is_absolute()).map(|dir| dir.join("claude"));
    let is_the_client = |program: &PathBuf| {
        fs::canonicalize(program).is_ok_and(|real| real.is_file() && !is_in_project(&real, subject))
    };
    let Some(program) = programs.find(is_the_client) else {
        return check(Status::Info, "no `claude` on PATH, so its version is not known".to_owned());
    };
    let mut command = Command::new(&program);
    command.arg("--version").env_clear().env("HOME", &subject.dirs.home);
    command.envs(subject.path.map(|path| ("PATH", path)));
    let said =
        canary::run(&mut command, b"").ok().map(|ran| String::from_utf8_lossy(&ran.stdout).into_owned());
    let Some(version) = said.as_deref().and_then(version) else {
        return check(Status::Info, format!("`{}` does not say its version", program.display()));
    };
    let (major, minor, patch) = version;
    let text = format!("Claude Code {major}.{minor}.{patch}");
    if version < HONOURS_ON_FAILURE {
        let text = format!("{text} does not honour `onFailure`: a call runs when the hook cannot");
        return check(Status::Warn, text).help("update to 2.1.295 or later");
    }
    check(Status::Ok, text)
}

/// The version in `2.1.325 (Claude Code)`.
fn version(text: &str) -> Option<(u32, u32, u32)> {
    let mut parts = text.split_whitespace().next()?.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?))
}

/// A text from anybody's file as one line that a terminal only shows.
fn one_line(text: &str) -> String {
    visible(text).replace(['\n', '\t'], " ")
}
