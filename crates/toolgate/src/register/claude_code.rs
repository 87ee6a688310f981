//! Registration with Claude Code: hooks in its settings files.
//!
//! Facts that shape the line, seen with the client: a hook that fails lets the call run unless the handler
//! says `"onFailure": "block"`; the exec form (`command` + `args`) needs no shell and cannot be bent by one;
//! handlers of all scopes are merged and all run; only the managed scope cannot be switched off by a
//! repository or an agent.

mod edit;
pub mod reading;

use std::path::{Path, PathBuf};

use serde_json::Value;
use toolgate_model::ConfigChange;

use self::edit::{EditError, Wanted};
use self::reading::Reading;
use super::files::{locate, read};
use super::{Line, Plan, RegisterError, Registration, Registrations, Scope, sha256};

/// The host's id.
pub const HOST: &str = "claude-code";

/// The events that we hear.
pub const EVENTS: &[&str] = &[
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "ConfigChange",
];

/// Seconds that the client gives us; well above our own deadline, so that it is we who answer. The client's
/// usual 1.5 s for SessionEnd would be below it.
const TIMEOUT: u32 = 15;

/// In the administrator's file: no hooks but the administrator's, since any other hook may rewrite a call
/// after we judged it; and no shell inside skills, which runs without asking any hook.
const MANAGED: &[(&str, bool)] = &[("allowManagedHooksOnly", true), ("disableSkillShellExecution", true)];

/// Where the client looks for settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The person's directory: `CLAUDE_CONFIG_DIR`, else `~/.claude`.
    pub user: PathBuf,
    /// The directory in which the client is started. In a linked git worktree that is the worktree: the main
    /// checkout has settings of its own.
    pub project: Option<PathBuf>,
    /// The administrator's directory, `/etc/claude-code`.
    pub managed: PathBuf,
}

impl Places {
    /// The usual places. `config` is the value of `CLAUDE_CONFIG_DIR`, `etc` is `/etc`.
    pub fn new(home: &Path, config: Option<&Path>, project: Option<&Path>, etc: &Path) -> Places {
        Places {
            user: config.map_or_else(|| home.join(".claude"), Path::to_path_buf),
            project: project.map(Path::to_path_buf),
            managed: etc.join("claude-code"),
        }
    }

    /// The file that init writes for a scope.
    pub fn file(&self, scope: Scope) -> Result<PathBuf, RegisterError> {
        let in_project = |name: &str| {
            let project = self.project.as_ref().ok_or(RegisterError::NoProject)?;
            Ok(project.join(".claude").join(name))
        };
        match scope {
            Scope::User => Ok(self.user.join("settings.json")),
            Scope::Project => in_project("settings.json"),
            Scope::Local => in_project("settings.local.json"),
            Scope::Managed => Ok(self.managed.join("managed-settings.d/50-toolgate.json")),
        }
    }

    /// All files that the client reads, whether or not they exist.
    pub fn files(&self) -> Vec<(Scope, PathBuf)> {
        let mut files = vec![(Scope::Managed, self.managed.join("managed-settings.json"))];
        let drop_ins = std::fs::read_dir(self.managed.join("managed-settings.d"));
        let mut drop_ins: Vec<_> = drop_ins
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .collect();
        drop_ins.sort();
        files.extend(drop_ins.into_iter().map(|path| (Scope::Managed, path)));
        for scope in [Scope::User, Scope::Project, Scope::Local] {
            files.extend(self.file(scope).ok().map(|path| (scope, path)));
        }
        files
    }
}

/// Plans to register `line` in the settings of `scope`. `state` is where the note of it is kept: the person's
/// state directory, or root's for [`Scope::Managed`].
pub fn plan_init(places: &Places, scope: Scope, line: &Line, state: &Path) -> Result<Plan, RegisterError> {
    let file = places.file(scope)?;
    let (target, missing) = locate(&file)?;
    let before = read(&target)?;
    let wanted = wanted(scope, line)?;
    let text = before.as_deref().unwrap_or_default();
    let after = if text.trim().is_empty() {
        fresh(&wanted, &file)?
    } else {
        edit::insert(text, &wanted).map_err(in_file(&file))?
    };
    let registrations = Registrations::load(state)?;
    let known = registrations.find(HOST, &file);
    // The original is the file without us, also when this is not the first init. What an earlier one wrote
    // and nobody touched has its original on the note; anything else is cleaned of our handlers.
    let original = match (&before, known) {
        (None, _) => None,
        (Some(text), Some(known)) if known.wrote(text) => known.original.clone(),
        (Some(text), known) => without_us(text, scope, known).map_err(in_file(&file))?,
    };
    let created_dirs = match known {
        Some(known) if missing.is_empty() => known.created_dirs.clone(),
        _ => missing,
    };
    let note = Registration {
        host: HOST.to_owned(),
        scope,
        file: known.map_or_else(|| file.clone(), |known| known.file.clone()),
        original,
        written_sha256: sha256(&after),
        created_dirs,
    };
    Ok(Plan {
        host: HOST,
        warnings: warnings(text, &after),
        file: note.file.clone(),
        target,
        before,
        after: Some(after),
        leftover: Vec::new(),
        state: state.to_path_buf(),
        note: Some(note),
    })
}

/// Plans to take the registration out of the settings of `scope`.
///
/// A file that still is what init wrote becomes what it was before, byte for byte; out of any other only our
/// handlers are taken.
pub fn plan_uninstall(places: &Places, scope: Scope, state: &Path) -> Result<Plan, RegisterError> {
    let file = places.file(scope)?;
    let (target, _) = locate(&file)?;
    let before = read(&target)?;
    let registrations = Registrations::load(state)?;
    let known = registrations.find(HOST, &file);
    let after = match (&before, known) {
        (None, _) => None,
        (Some(text), Some(known)) if known.wrote(text) => known.original.clone(),
        (Some(text), known) => without_us(text, scope, known).map_err(in_file(&file))?,
    };
    Ok(Plan {
        host: HOST,
        file: known.map_or(file, |known| known.file.clone()),
        target,
        before,
        after,
        warnings: Vec::new(),
        leftover: known.map(|known| known.created_dirs.clone()).unwrap_or_default(),
        state: state.to_path_buf(),
        note: None,
    })
}

/// The settings that register `line`, alone, for an orchestrator that makes settings per agent.
pub fn print(line: &Line) -> Result<String, RegisterError> {
    fresh(&wanted(Scope::Local, line)?, &line.binary)
}

/// What a settings file that is about to take effect does to us. `registered_here`: init put our handlers into
/// this file.
///
/// Where the client would read on and we cannot, the worst is assumed.
pub fn config_change(bytes: &[u8], registered_here: bool) -> ConfigChange {
    let reading = Reading::of(bytes);
    if reading.hooks_off() {
        ConfigChange::HooksOff
    } else if registered_here && reading.dropped.is_some() {
        ConfigChange::Unreadable
    } else if registered_here && !reading.gates() {
        ConfigChange::RegistrationGone
    } else if reading.dropped == Some(reading::Dropped::BeyondUs) {
        ConfigChange::HooksOff
    } else {
        ConfigChange::Harmless
    }
}

fn wanted(scope: Scope, line: &Line) -> Result<Wanted, RegisterError> {
    let (command, args) = (line.command()?, line.args()?);
    let handler = |event: &'static str| {
        let mut handler = vec![
            ("type", Value::from("command")),
            ("command", Value::from(command)),
            ("args", Value::from(args.clone())),
            ("timeout", Value::from(TIMEOUT)),
        ];
        // Elsewhere a failure that blocks would stop the person (a prompt, the end of a session) and guard
        // nothing.
        if event == reading::GATE {
            handler.push(("onFailure", Value::from("block")));
        }
        (event, handler)
    };
    Ok(Wanted {
        handlers: EVENTS.iter().map(|event| handler(event)).collect(),
        settings: if scope == Scope::Managed { MANAGED.to_vec() } else { Vec::new() },
    })
}

fn fresh(wanted: &Wanted, file: &Path) -> Result<String, RegisterError> {
    let mut text = edit::insert("{}", wanted).map_err(in_file(file))?;
    text.push('\n');
    Ok(text)
}

/// The text without our handlers; `None` where the file was ours alone and nobody has added to it.
fn without_us(text: &str, scope: Scope, known: Option<&Registration>) -> Result<Option<String>, EditError> {
    let settings = if scope == Scope::Managed { MANAGED } else { &[] };
    let original = known.and_then(|known| reading::tolerant(known.original.as_deref()?));
    let rest = edit::remove(text, original.as_ref(), settings)?;
    let ours_alone = known.is_some_and(|known| known.original.is_none()) && edit::is_blank(&rest);
    Ok((!ours_alone).then_some(rest))
}

fn warnings(before: &str, after: &str) -> Vec<String> {
    let reading = Reading::of(after.as_bytes());
    let mut warnings = Vec::new();
    if reading.dropped.is_some()
        // Lines as the person knows them.
        && let Some(dropped) = Reading::of(before.as_bytes()).dropped
    {
        warnings.push(format!("the client drops this file whole, and our hooks with it: {dropped}"));
    }
    for event in EVENTS {
        if let Some(bad) = reading.events.get(*event).and_then(|event| event.bad.as_ref()) {
            warnings
                .push(format!("the client drops all `{event}` hooks of this file, ours among them: {bad}"));
        }
    }
    if reading.hooks_off() {
        warnings.push("`disableAllHooks` in this file switches our hooks off".to_owned());
    }
    warnings
}

fn in_file(file: &Path) -> impl FnOnce(EditError) -> RegisterError {
    let file = file.to_path_buf();
    |error| match error {
        EditError::Broken { line, column } => RegisterError::Broken { file, line, column },
        EditError::NotAnObject { what } => RegisterError::NotAnObject { file, what },
        EditError::NotAnArray { what } => RegisterError::NotAnArray { file, what },
        EditError::Unclear => RegisterError::Unclear { file },
    }
}
