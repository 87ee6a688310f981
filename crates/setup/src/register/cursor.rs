//! Registration with Cursor: hooks in `hooks.json`.
//!
//! Facts that shape it, as documented: a hook that fails or runs out of time lets the action happen unless its
//! entry says `"failClosed": true`; one event name that the client does not know can void the whole file, so only
//! long-known ones are used; the event says its own name.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::content::WantedFile;
use super::json::Members;
use super::{
    HookForm, HookLine, HostPlaces, RegisterError, Registrar, Role, Scope, Shape, Start, TIMEOUT_TELLING,
    not_plain_json,
};

/// Cursor.
pub struct Cursor;

/// How its hooks are written down.
pub const FORM: HookForm = HookForm {
    host: "cursor",
    events: &[
        ("preToolUse", Role::FailsClosed),
        ("beforeShellExecution", Role::FailsClosed),
        ("beforeMCPExecution", Role::FailsClosed),
        ("beforeReadFile", Role::FailsClosed),
        ("subagentStart", Role::FailsClosed),
        ("postToolUse", Role::FailsOpen),
        ("beforeSubmitPrompt", Role::Tells),
        ("sessionStart", Role::Tells),
        ("sessionEnd", Role::Tells),
    ],
    shape: Shape::Flat,
    names_event: false,
    handler,
};

/// Seconds; above our own deadline, so that it is we who answer.
const TIMEOUT: u32 = 60;

fn handler(_: &str, role: Role, start: &Start) -> Members {
    let timeout = if role == Role::Tells { TIMEOUT_TELLING } else { TIMEOUT };
    let mut handler = vec![("command", Value::from(start.shell())), ("timeout", Value::from(timeout))];
    if role == Role::FailsClosed {
        handler.push(("failClosed", Value::Bool(true)));
    }
    handler
}

impl Registrar for Cursor {
    fn id(&self) -> &'static str {
        FORM.host
    }

    fn name(&self) -> &'static str {
        "Cursor"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["cursor-agent", "cursor"]
    }

    fn config(&self, home: &Path, _: &dyn Fn(&str) -> Option<PathBuf>) -> PathBuf {
        home.join(".cursor")
    }

    fn file(&self, places: &HostPlaces, scope: Scope) -> Result<PathBuf, RegisterError> {
        match scope {
            Scope::User => Ok(places.config(FORM.host).join("hooks.json")),
            Scope::Project => Ok(places.project()?.join(".cursor/hooks.json")),
            Scope::Managed => Ok(places.etc.join("cursor/hooks.json")),
            Scope::Local => Err(self.has_no(scope)),
        }
    }

    fn wanted(
        &self,
        places: &HostPlaces,
        scope: Scope,
        line: &HookLine,
    ) -> Result<Vec<WantedFile>, RegisterError> {
        let hooks = FORM.content(line, vec![(&["version"], Value::from(1))])?;
        Ok(vec![WantedFile::new(self.file(places, scope)?, hooks)])
    }

    fn warnings(&self, _: &Path, _: &str, after: &str) -> Vec<String> {
        not_plain_json(after).into_iter().collect()
    }
}
