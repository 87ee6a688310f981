//! Registration with Qwen Code: hooks in its settings files, under Claude Code's names for the events.
//!
//! Facts that shape it, seen with the client: whatever goes wrong with a hook lets the call run, even a missing
//! program, so the shell that starts us denies in our place; time is in milliseconds, and running out of it lets
//! the call run.

use serde_json::Value;

use super::content::WantedFile;
use super::{
    HookForm, HookLine, HostIdentity, HostPlaces, RegisterError, Registrar, Role, Scope, ScopeFiles, Setting,
    Shape, handler_in_milliseconds,
};

/// Qwen Code.
pub struct Qwen;

/// How its hooks are written down.
pub const FORM: HookForm = HookForm {
    host: "qwen",
    events: &[
        ("PreToolUse", Role::FailsClosed),
        ("PostToolUse", Role::FailsOpen),
        ("UserPromptSubmit", Role::Tells),
        ("SessionStart", Role::Tells),
        ("SessionEnd", Role::Tells),
        ("Stop", Role::Tells),
    ],
    shape: Shape::Groups(Some("*")),
    names_event: false,
    handler: handler_in_milliseconds,
};

/// Who it is, and where its files are.
const IDENTITY: HostIdentity = HostIdentity {
    id: FORM.host,
    name: "Qwen Code",
    programs: &["qwen"],
    config_variable: None,
    config: ".qwen",
    files: ScopeFiles {
        user: "settings.json",
        project: ".qwen/settings.json",
        local: None,
        managed: Some("qwen-code/settings.json"),
    },
};

impl Registrar for Qwen {
    fn identity(&self) -> &'static HostIdentity {
        &IDENTITY
    }

    fn wanted(
        &self,
        places: &HostPlaces,
        scope: Scope,
        line: &HookLine,
    ) -> Result<Vec<WantedFile>, RegisterError> {
        let settings: Vec<Setting> = match scope {
            // Set by the administrator, it cannot be set by a repository.
            Scope::Managed => vec![(&["disableAllHooks"], Value::Bool(false))],
            Scope::User | Scope::Project | Scope::Local => Vec::new(),
        };
        Ok(vec![WantedFile::new(self.file(places, scope)?, FORM.content(line, settings)?)])
    }
}
