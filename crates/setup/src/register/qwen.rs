//! Registration with Qwen Code: hooks in its settings files, under Claude Code's names for the events.
//!
//! Facts that shape it, seen with the client: whatever goes wrong with a hook lets the call run, even a missing
//! program, so the shell that starts us denies in our place; time is in milliseconds, and running out of it lets
//! the call run.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::content::WantedFile;
use super::json::Members;
use super::{
    HookForm, HookLine, HostPlaces, RegisterError, Registrar, Role, Scope, Setting, Shape, Start,
    TIMEOUT_TELLING, shell_handler,
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
    handler,
};

/// Milliseconds. Running out of time lets the call run, so a hook that hangs has to mean waiting.
const TIMEOUT: u32 = 3_600_000;

fn handler(_: &str, role: Role, start: &Start) -> Members {
    shell_handler(role, start, if role == Role::Tells { TIMEOUT_TELLING * 1000 } else { TIMEOUT })
}

impl Registrar for Qwen {
    fn id(&self) -> &'static str {
        FORM.host
    }

    fn name(&self) -> &'static str {
        "Qwen Code"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["qwen"]
    }

    fn config(&self, home: &Path, _: &dyn Fn(&str) -> Option<PathBuf>) -> PathBuf {
        home.join(".qwen")
    }

    fn file(&self, places: &HostPlaces, scope: Scope) -> Result<PathBuf, RegisterError> {
        match scope {
            Scope::User => Ok(places.config(FORM.host).join("settings.json")),
            Scope::Project => Ok(places.project()?.join(".qwen/settings.json")),
            Scope::Managed => Ok(places.etc.join("qwen-code/settings.json")),
            Scope::Local => Err(self.has_no(scope)),
        }
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
