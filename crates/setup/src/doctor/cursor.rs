//! Cursor.

use std::path::Path;

use serde_json::{Value, json};

use super::canary::{self, Probe};
use super::hooks::Clinic;
use crate::register::cursor::FORM;

pub(super) const CLINIC: Clinic = Clinic {
    form: &FORM,
    reads_comments: false,
    // All files are merged, any denial wins, and there is no switch.
    off: |_, _| Vec::new(),
    event,
    vars: &["CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
    said: &["/permission"],
};

fn event(project: &Path, probe: &Probe) -> Value {
    let (tool, input) = match probe {
        Probe::Write(file) => ("Write", json!({ "file_path": file, "content": canary::TEXT })),
        Probe::Read(file) => ("Read", json!({ "file_path": file })),
    };
    json!({
        "generation_id": "toolgate-doctor",
        "model": "none",
        "hook_event_name": "preToolUse",
        "cursor_version": "0",
        "workspace_roots": [project],
        "tool_name": tool,
        "tool_input": input,
        "tool_use_id": "toolgate-doctor",
        "cwd": project,
    })
}
