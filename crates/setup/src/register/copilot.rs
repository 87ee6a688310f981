//! Registration with GitHub Copilot CLI: a file of hooks of our own.
//!
//! Facts that shape it, seen with the client: a hook that fails, is missing or is killed denies the call, but one
//! that runs out of time lets it run, so its time must never run out before we answer; `exec` with `args` needs no
//! shell; events in camel case do not say their own name, so the line does; only `policy.d`, with
//! `allowManagedHooksOnly`, cannot be switched off by a repository.

use std::path::Path;

use serde_json::Value;

use super::content::WantedFile;
use super::json::{Hooks, Members};
use super::{
    HookForm, HookLine, HostIdentity, HostPlaces, RegisterError, Registrar, Role, Scope, ScopeFiles, Shape,
    Start, TIMEOUT_TELLING, not_plain_json,
};

/// GitHub Copilot CLI.
pub struct Copilot;

/// How its hooks are written down.
pub const FORM: HookForm = HookForm {
    host: "copilot",
    events: &[
        ("preToolUse", Role::FailsClosed),
        ("permissionRequest", Role::FailsClosed),
        ("postToolUse", Role::FailsOpen),
        ("sessionStart", Role::Tells),
        ("sessionEnd", Role::Tells),
        ("userPromptSubmitted", Role::Tells),
    ],
    shape: Shape::Flat,
    names_event: true,
    handler,
};

/// Seconds. Running out of time lets the call run, so a hook that hangs has to mean waiting.
const TIMEOUT: u32 = 3600;

fn handler(_: &str, role: Role, start: &Start) -> Members {
    let timeout = if role == Role::Tells { TIMEOUT_TELLING } else { TIMEOUT };
    vec![
        ("type", Value::from("command")),
        ("exec", Value::from(start.program.as_str())),
        ("args", Value::from(start.args.clone())),
        ("timeoutSec", Value::from(timeout)),
    ]
}

/// Who it is, and where its files are.
const IDENTITY: HostIdentity = HostIdentity {
    id: FORM.host,
    name: "GitHub Copilot CLI",
    programs: &["copilot"],
    config_variable: Some("COPILOT_HOME"),
    config: ".copilot",
    files: ScopeFiles {
        user: "hooks/toolgate.json",
        project: ".github/hooks/toolgate.json",
        local: None,
        managed: Some("github-copilot/policy.d/50-toolgate.json"),
    },
};

impl Registrar for Copilot {
    fn identity(&self) -> &'static HostIdentity {
        &IDENTITY
    }

    fn wanted(
        &self,
        places: &HostPlaces,
        scope: Scope,
        line: &HookLine,
    ) -> Result<Vec<WantedFile>, RegisterError> {
        let mut wanted = Vec::new();
        if scope == Scope::Managed {
            // Any other hook may rewrite a call after we judged it.
            let only = Hooks {
                host: FORM.host,
                shape: FORM.shape,
                handlers: Vec::new(),
                settings: vec![(&["allowManagedHooksOnly"], Value::Bool(true))],
            };
            wanted.push(WantedFile::new(places.etc.join("github-copilot/managed-settings.json"), only));
        }
        let hooks = FORM.content(line, vec![(&["version"], Value::from(1))])?;
        wanted.push(WantedFile::new(self.file(places, scope)?, hooks));
        Ok(wanted)
    }

    fn warnings(&self, _: &Path, _: &str, after: &str) -> Vec<String> {
        not_plain_json(after).into_iter().collect()
    }
}
