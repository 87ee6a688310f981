//! Gemini CLI.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::canary::{self, Probe};
use super::hooks::{Clinic, Off, Source};
use super::{settings_in, which_say};
use crate::register::HostPlaces;
use crate::register::gemini::{FORM, our_name};

pub(super) const CLINIC: Clinic = Clinic {
    form: &FORM,
    reads_comments: true,
    off,
    event,
    vars: &["GEMINI_PROJECT_DIR", "GEMINI_CWD", "CLAUDE_PROJECT_DIR"],
    said: &["/decision"],
};

/// A switch in a repository counts unless the administrator has set it; a list of names counts anywhere.
fn off(source: &Source, places: &HostPlaces) -> Vec<Off> {
    let mut off = Vec::new();
    let system = places.etc.join("gemini-cli/settings.json");
    let mut files: Vec<PathBuf> =
        places.project.iter().map(|project| project.join(".gemini/settings.json")).collect();
    files.extend([places.config(FORM.host).join("settings.json"), system.clone()]);
    let enabled = "/hooksConfig/enabled";
    let pinned = settings_in(&system).pointer(enabled) == Some(&Value::Bool(true));
    if let Some(file) = which_say(&files, enabled, &Value::Bool(false)).filter(|_| !pinned) {
        let file = file.display();
        off.push(Off {
            id: "hooks-off",
            text: format!("`hooksConfig.enabled` is false in `{file}`, which switches off all hooks"),
            help: "remove that line, or register with `toolgate init --managed`",
        });
    }
    let Some(name) = our_name(&source.settings) else {
        return off;
    };
    for file in files {
        let settings = settings_in(&file);
        let names = settings.pointer("/hooksConfig/disabled").and_then(Value::as_array);
        if names.is_some_and(|names| names.iter().any(|other| other == name.as_str())) {
            let text =
                format!("`hooksConfig.disabled` in `{}` names our hook of the {source}", file.display());
            off.push(Off { id: "disabled", text, help: "remove the name" });
        }
    }
    off
}

fn event(project: &Path, probe: &Probe) -> Value {
    let (tool, input) = match probe {
        Probe::Write(file) => ("write_file", json!({ "file_path": file, "content": canary::TEXT })),
        Probe::Read(file) => ("read_file", json!({ "file_path": file })),
    };
    json!({
        "transcript_path": "/dev/null",
        "cwd": project,
        "hook_event_name": "BeforeTool",
        "timestamp": "1970-01-01T00:00:00.000Z",
        "tool_name": tool,
        "tool_input": input,
    })
}
