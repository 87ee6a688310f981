//! Qwen Code.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::canary::{self, Probe};
use super::hooks::{Clinic, Off, Source};
use super::{settings_in, which_say};
use crate::register::HostPlaces;
use crate::register::qwen::FORM;

pub(super) const CLINIC: Clinic = Clinic {
    form: &FORM,
    reads_comments: true,
    off,
    event,
    vars: &["QWEN_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
    said: &["/hookSpecificOutput/permissionDecision", "/decision"],
};

/// A switch in a repository counts unless the administrator has set it.
fn off(_: &Source, places: &HostPlaces) -> Vec<Off> {
    let (system, switch) = (places.etc.join("qwen-code/settings.json"), "/disableAllHooks");
    if settings_in(&system).pointer(switch) == Some(&Value::Bool(false)) {
        return Vec::new();
    }
    let mut files: Vec<PathBuf> =
        places.project.iter().map(|project| project.join(".qwen/settings.json")).collect();
    files.extend([places.config(FORM.host).join("settings.json"), system]);
    let file = which_say(&files, switch, &Value::Bool(true));
    let off = file.map(|file| Off {
        id: "disable-all-hooks",
        text: format!("`disableAllHooks` in `{}` switches off all hooks", file.display()),
        help: "remove that line, or register with `toolgate init --managed`",
    });
    off.into_iter().collect()
}

fn event(project: &Path, probe: &Probe) -> Value {
    let (tool, input) = match probe {
        Probe::Write(file) => ("write_file", json!({ "file_path": file, "content": canary::TEXT })),
        Probe::Read(file) => ("read_file", json!({ "file_path": file })),
    };
    json!({
        "transcript_path": "/dev/null",
        "cwd": project,
        "hook_event_name": "PreToolUse",
        "timestamp": "1970-01-01T00:00:00.000Z",
        "permission_mode": "default",
        "tool_name": tool,
        "tool_input": input,
        "tool_use_id": "toolgate-doctor",
    })
}
