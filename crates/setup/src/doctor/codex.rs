//! Codex CLI.

use std::path::Path;

use serde_json::{Value, json};

use super::canary::{self, Probe};
use super::hooks::{Clinic, Off, Source};
use super::text_of;
use crate::register::codex::{FORM, foreign_key, hooks_off, trusted};
use crate::register::{HostPlaces, Scope, settings_of};

pub(super) const CLINIC: Clinic = Clinic {
    form: &FORM,
    reads_comments: false,
    off,
    event,
    vars: &[],
    said: &["/hookSpecificOutput/permissionDecision", "/decision"],
};

fn toml_in(file: &Path) -> Value {
    text_of(file).and_then(Result::ok).and_then(|text| settings_of(file, &text)).unwrap_or_default()
}

fn off(source: &Source, places: &HostPlaces) -> Vec<Off> {
    let mut off = Vec::new();
    let requirements = places.etc.join("codex/requirements.toml");
    let pinned = toml_in(&requirements);
    let user = places.config(FORM.host).join("config.toml");
    if pinned.pointer("/features/hooks") != Some(&Value::Bool(true)) {
        let project = places.project.iter().map(|project| project.join(".codex/config.toml"));
        for file in project.chain([user.clone(), places.etc.join("codex/config.toml")]) {
            if hooks_off(&toml_in(&file)) {
                off.push(Off {
                    id: "hooks-off",
                    text: format!("`hooks = false` in `{}` switches off all hooks", file.display()),
                    help: "remove that line, or register with `toolgate init --managed`",
                });
            }
        }
    }
    if source.scope == Scope::Managed {
        return off;
    }
    if pinned.get("allow_managed_hooks_only") == Some(&Value::Bool(true)) {
        let (file, help) = (requirements.display(), "register with `toolgate init --managed`");
        let text = format!("`allow_managed_hooks_only` in `{file}` makes the client ignore the {source}");
        off.push(Off { id: "managed-only", text, help });
    }
    if let Some(key) = foreign_key(&source.text) {
        let text = format!("the client does not know `{key}` in the {source} and drops the whole file");
        off.push(Off { id: "readable", text, help: "remove it" });
    }
    off.extend(distrust(source, &user));
    off
}

/// Handlers of a file that the client does not run, since it does not trust them, or not any longer.
fn distrust(source: &Source, config: &Path) -> Vec<Off> {
    let state = toml_in(config).pointer("/hooks/state").cloned().unwrap_or_default();
    let mut off = Vec::new();
    for (key, digest) in trusted(&source.file.to_string_lossy(), &source.text) {
        let entry = state.get(&key);
        let found = entry.and_then(|entry| entry.get("trusted_hash")).and_then(Value::as_str);
        let why = match found {
            None => "is not trusted",
            Some(found) if found != digest => "has changed since it was trusted",
            Some(_) if entry.and_then(|entry| entry.get("enabled")) == Some(&Value::Bool(false)) => {
                "is disabled"
            }
            Some(_) => continue,
        };
        let text = format!("the hook `{key}` {why} in `{}`, so the client does not run it", config.display());
        off.push(Off { id: "trust", text, help: "run `toolgate init` again, or trust it with /hooks" });
    }
    off
}

fn event(project: &Path, probe: &Probe) -> Value {
    let (tool, command) = match probe {
        Probe::Write(file) => (
            "apply_patch",
            format!("*** Begin Patch\n*** Add File: {}\n+{}*** End Patch\n", file.display(), canary::TEXT),
        ),
        Probe::Read(_) => ("Bash", "cat README.md".to_owned()),
    };
    json!({
        "turn_id": "toolgate-doctor",
        "transcript_path": "/dev/null",
        "cwd": project,
        "hook_event_name": "PreToolUse",
        "model": "none",
        "permission_mode": "default",
        "tool_name": tool,
        "tool_input": { "command": command },
        "tool_use_id": "toolgate-doctor",
    })
}
