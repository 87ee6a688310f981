//! Claude Code.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::canary::{self, Probe, Trouble};
use super::{AGAIN, Check, Exam, Status, Subject, UNREADABLE, binary, bytes_of, state};
use crate::register::Scope;
use crate::register::claude_code::reading::{GATE, Handler, Limit, Reading};
use crate::register::claude_code::{FORM, HOST, files};
use crate::register::handler::CommandLine;

/// Seconds below which the client may give up before we have answered.
const SHORTEST_TIMEOUT: f64 = 10.0;

/// The first client that honours `onFailure`.
const HONOURS_ON_FAILURE: (u32, u32, u32) = (2, 1, 295);

/// The client deletes transcripts after so many days, unless its settings name another number.
const DAYS_OF_TRANSCRIPTS: f64 = 30.0;
/// Whoever keeps them for so many days has thought of it.
const LONG: f64 = 365.0;

/// Examines the registration; says whether the client asks us.
pub(super) fn examine(exam: &Exam<'_>, checks: &mut Vec<Check>) -> bool {
    let subject = exam.subject;
    let sources = sources(exam, checks);
    let live: Vec<&Source> = sources.iter().filter(|source| is_live(source, &sources)).collect();
    registration(&sources, &live, checks);
    // One file that works makes up for what another loses.
    let lost = if live.is_empty() { Status::Fail } else { Status::Warn };
    for source in &sources {
        handlers(source, lost, checks);
    }
    switches(&sources, &live, checks);
    let lines: Vec<_> =
        live.iter().flat_map(|source| source.gates().map(move |ours| (*source, ours))).collect();
    let programs: BTreeSet<String> = lines.iter().map(|(_, ours)| ours.command.program()).collect();
    checks.extend(programs.into_iter().map(|program| binary(&program, subject)));
    checks.push(state(&subject.dirs.state));
    checks.push(client(subject));
    checks.push(transcripts(&sources));
    let mut seen = Vec::new();
    for (source, ours) in lines {
        let line = &ours.command;
        if !seen.contains(&line) {
            seen.push(line);
            let trusted = source.written_by_us || matches!(source.scope, Scope::User | Scope::Managed);
            let asked = canary::Asked { line, host: HOST, source: &source.to_string(), trusted };
            canary::canaries(&asked, subject, checks, |project, probe| ask(line, project, probe));
        }
    }
    !live.is_empty()
}

/// The decision about one call; `None` where there was no opinion, so that the client would go on.
fn ask(line: &CommandLine, project: &Path, probe: &Probe) -> Result<Option<String>, Trouble> {
    let session = "toolgate-doctor";
    let mut command = canary::command(line);
    command.current_dir(project).env("CLAUDE_PROJECT_DIR", project);
    command.env("CLAUDECODE", "1").env("CLAUDE_CODE_SESSION_ID", session);
    let (tool, input) = match probe {
        Probe::Write(file) => ("Write", json!({ "file_path": file, "content": canary::TEXT })),
        Probe::Read(file) => ("Read", json!({ "file_path": file })),
    };
    let event = json!({
        "transcript_path": "/dev/null",
        "cwd": project,
        "permission_mode": "default",
        "hook_event_name": GATE,
        "tool_name": tool,
        "tool_input": input,
        "tool_use_id": session,
    });
    let ran = canary::run(&mut command, format!("{event}\n").as_bytes())?;
    match ran.code {
        Some(0) => decision(&ran.stdout),
        code => Err(Trouble::Ended(code)),
    }
}

/// What the client makes of a hook's output. Anything but one object for the right event counts as silence.
fn decision(stdout: &[u8]) -> Result<Option<String>, Trouble> {
    let Some(answer) = canary::one_object(stdout)? else {
        return Ok(None);
    };
    let Some(specific) = answer.get("hookSpecificOutput") else {
        return Ok(None);
    };
    if specific.get("hookEventName").is_none_or(|name| name != GATE) {
        return Err(Trouble::WrongEvent(GATE));
    }
    Ok(specific.get("permissionDecision").and_then(Value::as_str).map(str::to_owned))
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

fn sources(exam: &Exam<'_>, checks: &mut Vec<Check>) -> Vec<Source> {
    let mut sources = Vec::new();
    for (scope, file) in files(exam.subject.places) {
        match bytes_of(&file) {
            None => {
                let text = format!("no {scope} settings `{}`", file.display());
                checks.push(Check::new("settings", Status::Info, text));
            }
            Some(Ok(bytes)) => {
                sources.push(Source {
                    scope,
                    reading: Reading::of(&bytes),
                    names_us: bytes.windows(8).any(|part| part == b"toolgate"),
                    written_by_us: std::str::from_utf8(&bytes).is_ok_and(|text| exam.wrote(&file, text)),
                    file,
                });
            }
            Some(Err(error)) => {
                let text = format!("{scope} settings `{}` cannot be read: {error}", file.display());
                checks.push(Check::new("settings", Status::Warn, text).help(UNREADABLE));
            }
        }
    }
    sources
}

/// How long the client keeps what was said in a session: what the log can be compared with.
fn transcripts(sources: &[Source]) -> Check {
    let days = |source: &Source| source.reading.setting("cleanupPeriodDays").and_then(Value::as_f64);
    let of = |scope: Scope| sources.iter().rev().filter(move |source| source.scope == scope).find_map(days);
    let set = [Scope::Managed, Scope::Local, Scope::Project, Scope::User].into_iter().find_map(of);
    let days = set.unwrap_or(DAYS_OF_TRANSCRIPTS);
    let text = format!(
        "Claude Code deletes its transcripts after {days} days (`cleanupPeriodDays`); `toolgate reconcile` finds nothing older"
    );
    if days < LONG {
        Check::new("transcripts", Status::Warn, text)
            .help("set `cleanupPeriodDays` in ~/.claude/settings.json to as long as you keep the log")
    } else {
        Check::new("transcripts", Status::Info, text)
    }
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
            let text = format!("in the {source} for {}", events.join(", "));
            if source.reading.gates() {
                Check::new("registered", Status::Ok, text)
            } else {
                Check::new("registered", Status::Warn, text).help(AGAIN)
            }
        });
    }
    if !sources.iter().any(|source| source.reading.ours().next().is_some() || source.loses_us()) {
        let check = Check::new("registered", Status::Fail, "toolgate is in no settings file of Claude Code");
        checks.push(check.help("run `toolgate init`"));
    }
    if live.len() > 1 {
        let text = format!("{} files register toolgate, so it judges every call once for each", live.len());
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
    let names = FORM.events.iter().map(|(name, _)| *name);
    let missing: Vec<_> =
        names.filter(|name| reading.events.get(*name).is_none_or(|event| event.ours.is_empty())).collect();
    if missing.contains(&GATE) {
        let text = format!("no handler for {GATE} in the {source}");
        checks.push(Check::new("events", lost, text).help(AGAIN));
    } else if !missing.is_empty() {
        let text = format!("no handler for {} in the {source}", missing.join(", "));
        checks.push(Check::new("events", Status::Warn, text).help(AGAIN));
    }
    for (name, event) in reading.events.iter().filter(|(_, event)| !event.ours.is_empty()) {
        let gate = name == GATE;
        if let Some(bad) = &event.bad {
            let status = if gate { lost } else { Status::Warn };
            let text = format!("the client drops all {name} handlers of the {source}: {bad}");
            checks.push(Check::new("neighbours", status, text).help("fix or remove that handler"));
        }
        if gate {
            event.ours.iter().for_each(|ours| gate_handler(source, ours, lost, checks));
        }
    }
}

/// What is wrong with one of our handlers that decide about calls.
fn gate_handler(source: &Source, ours: &Handler, lost: Status, checks: &mut Vec<Check>) {
    for limit in &ours.limits {
        let id = match limit {
            Limit::Async => "async",
            Limit::Matcher(_) | Limit::If | Limit::Once => "matcher",
            Limit::ShellText => "exec-form",
        };
        checks.push(Check::new(id, lost, format!("{limit}, in the {source}")).help(AGAIN));
    }
    if matches!(ours.command, CommandLine::Shell(_)) && !ours.limits.contains(&Limit::ShellText) {
        let text = format!(
            "the handler in the {source} goes through a shell, which a changed environment can redirect"
        );
        checks.push(Check::new("exec-form", Status::Warn, text).help(AGAIN));
    }
    if !ours.blocks_on_failure {
        let text =
            format!("without `\"onFailure\": \"block\"` in the {source} a call runs when the hook cannot");
        checks.push(Check::new("on-failure", Status::Warn, text).help(AGAIN));
    }
    if let Some(seconds) = ours.timeout.filter(|seconds| *seconds < SHORTEST_TIMEOUT) {
        let text =
            format!("the client gives up after {seconds} s, maybe before toolgate answers, in the {source}");
        checks.push(Check::new("timeout", Status::Warn, text).help(AGAIN));
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
                    .help("whoever writes that file decides where programs look"),
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

fn client(subject: &Subject<'_>) -> Check {
    let check = |status, text: String| Check::new("client", status, text);
    let Some(program) = subject.places.program("claude") else {
        return check(Status::Info, "no `claude` on PATH, so its version is not known".to_owned());
    };
    let mut command = Command::new(&program);
    command.arg("--version").env_clear().env("HOME", &subject.dirs.home);
    command.envs(subject.places.path().map(|path| ("PATH", path)));
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
