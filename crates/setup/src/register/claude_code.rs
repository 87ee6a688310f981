//! Registration with Claude Code: hooks in its settings files.
//!
//! Facts that shape the line, seen with the client: a hook that fails lets the call run unless the handler
//! says `"onFailure": "block"`; the exec form (`command` + `args`) needs no shell and cannot be bent by one;
//! handlers of all scopes are merged and all run; only the managed scope cannot be switched off by a
//! repository or an agent.

pub mod reading;

use std::path::{Path, PathBuf};

use serde_json::Value;
use toolgate_model::ConfigChange;

use self::reading::Reading;
use super::content::{Content, WantedFile};
use super::json::Members;
use super::{
    HookForm, HookLine, HostIdentity, HostPlaces, RegisterError, Registrar, Role, Scope, ScopeFiles, Setting,
    Shape, Start,
};

/// Claude Code.
pub struct ClaudeCode;

/// The host's id.
pub const HOST: &str = "claude-code";

/// How its hooks are written down.
///
/// Two events that we answer fail open. PermissionRequest: a hook that fails there decides nothing, and the person's
/// prompt stays. ConfigChange: a change of settings that comes while our hook fails is taken, and may switch our hooks
/// off for the rest of the session. That is a gap, which only managed settings close; that the client heeds
/// `onFailure` there has not been seen.
pub const FORM: HookForm = HookForm {
    host: HOST,
    events: &[
        ("PreToolUse", Role::FailsClosed),
        ("PermissionRequest", Role::FailsOpen),
        ("PostToolUse", Role::FailsOpen),
        ("UserPromptSubmit", Role::Tells),
        ("SessionStart", Role::Tells),
        ("SessionEnd", Role::Tells),
        ("Stop", Role::Tells),
        ("ConfigChange", Role::FailsOpen),
    ],
    shape: Shape::Groups(None),
    names_event: false,
    handler,
};

/// Seconds that the client gives us; well above our own deadline, so that it is we who answer. The client's
/// usual 1.5 s for SessionEnd would be below it.
const TIMEOUT: u32 = 15;

fn handler(_: &str, role: Role, start: &Start) -> Members {
    let mut handler = vec![
        ("type", Value::from("command")),
        ("command", Value::from(start.program.as_str())),
        ("args", Value::from(start.args.clone())),
        ("timeout", Value::from(TIMEOUT)),
    ];
    // Elsewhere a failure that blocks would stop the person (a prompt, the end of a session) and guard no call.
    if role == Role::FailsClosed {
        handler.push(("onFailure", Value::from("block")));
    }
    handler
}

/// In the administrator's file: no hooks but the administrator's, since any other hook may rewrite a call
/// after we judged it; and no shell inside skills, which runs without asking any hook.
fn settings(scope: Scope) -> Vec<Setting> {
    match scope {
        Scope::Managed => vec![
            (&["allowManagedHooksOnly"], Value::Bool(true)),
            (&["disableSkillShellExecution"], Value::Bool(true)),
        ],
        Scope::User | Scope::Project | Scope::Local => Vec::new(),
    }
}

/// Who it is, and where its files are.
const IDENTITY: HostIdentity = HostIdentity {
    id: HOST,
    name: "Claude Code",
    programs: &["claude"],
    config_variable: Some("CLAUDE_CONFIG_DIR"),
    config: ".claude",
    files: ScopeFiles {
        user: "settings.json",
        project: ".claude/settings.json",
        local: Some(".claude/settings.local.json"),
        managed: Some("claude-code/managed-settings.d/50-toolgate.json"),
    },
};

impl Registrar for ClaudeCode {
    fn identity(&self) -> &'static HostIdentity {
        &IDENTITY
    }

    fn wanted(
        &self,
        places: &HostPlaces,
        scope: Scope,
        line: &HookLine,
    ) -> Result<Vec<WantedFile>, RegisterError> {
        Ok(vec![WantedFile::new(self.file(places, scope)?, FORM.content(line, settings(scope))?)])
    }

    fn warnings(&self, _: &Path, before: &str, after: &str) -> Vec<String> {
        warnings(before, after)
    }
}

fn managed(places: &HostPlaces) -> PathBuf {
    places.etc.join("claude-code")
}

/// All files that the client reads, whether or not they exist.
pub fn files(places: &HostPlaces) -> Vec<(Scope, PathBuf)> {
    let managed = managed(places);
    let mut files = vec![(Scope::Managed, managed.join("managed-settings.json"))];
    let drop_ins = std::fs::read_dir(managed.join("managed-settings.d"));
    let mut drop_ins: Vec<_> = drop_ins
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    drop_ins.sort();
    files.extend(drop_ins.into_iter().map(|path| (Scope::Managed, path)));
    for scope in [Scope::User, Scope::Project, Scope::Local] {
        files.extend(ClaudeCode.file(places, scope).ok().map(|path| (scope, path)));
    }
    files
}

/// The settings that register `line`, alone, for an orchestrator that makes settings per agent.
pub fn print(line: &HookLine) -> Result<String, RegisterError> {
    FORM.content(line, Vec::new())?.insert("").map_err(|error| error.in_file(&line.binary))
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

fn warnings(before: &str, after: &str) -> Vec<String> {
    let reading = Reading::of(after.as_bytes());
    let mut warnings = Vec::new();
    if reading.dropped.is_some()
        // Lines as the person knows them.
        && let Some(dropped) = Reading::of(before.as_bytes()).dropped
    {
        warnings.push(format!("the client drops this file whole, and our hooks with it: {dropped}"));
    }
    for (event, _) in FORM.events {
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
