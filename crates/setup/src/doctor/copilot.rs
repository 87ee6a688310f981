//! GitHub Copilot CLI.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::canary::{self, Probe};
use super::hooks::{Clinic, Off, Source};
use super::{settings_in, which_say};
use crate::register::copilot::FORM;
use crate::register::{HostPlaces, Scope};

pub(super) const CLINIC: Clinic = Clinic {
    form: &FORM,
    reads_comments: false,
    off,
    event,
    vars: &["COPILOT_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
    said: &["/permissionDecision"],
};

/// The administrator's hooks run in any case; the others a trusted repository switches off in three files.
fn off(source: &Source, places: &HostPlaces) -> Vec<Off> {
    let mut off = Vec::new();
    if source.scope == Scope::Managed {
        return off;
    }
    let repository: Vec<PathBuf> = places
        .project
        .iter()
        .flat_map(|project| {
            [".github/copilot/settings.json", ".github/copilot/settings.local.json", ".claude/settings.json"]
                .map(|name| project.join(name))
        })
        .collect();
    if let Some(file) = which_say(&repository, "/disableAllHooks", &Value::Bool(true)) {
        off.push(Off {
            id: "disable-all-hooks",
            text: format!(
                "`disableAllHooks` in `{}` switches off all hooks but managed ones",
                file.display()
            ),
            help: "remove that line, or register with `toolgate init --managed`",
        });
    }
    let managed = places.etc.join("github-copilot/managed-settings.json");
    if settings_in(&managed).get("allowManagedHooksOnly") == Some(&Value::Bool(true)) {
        off.push(Off {
            id: "managed-only",
            text: format!(
                "`allowManagedHooksOnly` in `{}` makes the client ignore the {source}",
                managed.display()
            ),
            help: "register with `toolgate init --managed`",
        });
    }
    off
}

fn event(project: &Path, probe: &Probe) -> Value {
    let (tool, args) = match probe {
        Probe::Write(file) => ("create", json!({ "path": file, "file_text": canary::TEXT })),
        Probe::Read(file) => ("view", json!({ "path": file })),
    };
    json!({ "timestamp": 0, "cwd": project, "toolName": tool, "toolArgs": args })
}
