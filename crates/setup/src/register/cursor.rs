//! Registration with Cursor: hooks in `hooks.json`.
//!
//! Facts that shape it, as documented: a hook that fails or runs out of time lets the action happen unless its
//! entry says `"failClosed": true`; one event name that the client does not know can void the whole file, so only
//! long-known ones are used; the event says its own name.

use std::path::Path;

use serde_json::Value;

use super::content::WantedFile;
use super::json::Members;
use super::{
    HookForm, HookLine, HostIdentity, HostPlaces, RegisterError, Registrar, Role, Scope, ScopeFiles, Shape,
    Start, TIMEOUT_TELLING, hook_line, not_plain_json,
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
    // The client asks for failures to block, and an empty file that a shell runs is no failure.
    let line =
        if role == Role::FailsClosed { start.coded_shell() + hook_line::OR_DENY } else { start.shell() };
    let mut handler = vec![("command", Value::from(line)), ("timeout", Value::from(timeout))];
    if role == Role::FailsClosed {
        handler.push(("failClosed", Value::Bool(true)));
    }
    handler
}

/// Who it is, and where its files are.
const IDENTITY: HostIdentity = HostIdentity {
    id: FORM.host,
    name: "Cursor",
    programs: &["cursor-agent", "cursor"],
    config_variable: None,
    config: ".cursor",
    files: ScopeFiles {
        user: "hooks.json",
        project: ".cursor/hooks.json",
        local: None,
        managed: Some("cursor/hooks.json"),
    },
};

impl Registrar for Cursor {
    fn identity(&self) -> &'static HostIdentity {
        &IDENTITY
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
