//! OpenCode.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::canary::{self, Probe};
use super::scripts::Clinic;
use super::{Check, Status};
use crate::register::opencode::BESIDE;
use crate::register::{HostPlaces, Scope};

pub(super) const CLINIC: Clinic = Clinic { beside: BESIDE, above: 2, switches, event };

/// Plugins of a project run at once, without any trust, and after those of the person: they can rewrite a call that
/// was judged.
fn switches(places: &HostPlaces, _: Scope, checks: &mut Vec<Check>) {
    let Some(project) = &places.project else { return };
    for name in ["plugin", "plugins"] {
        let dir = project.join(".opencode").join(name);
        let entries = fs::read_dir(&dir).into_iter().flatten().flatten();
        let mut others: Vec<_> = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "ts" || end == "js"))
            .filter(|path| path.file_name().is_some_and(|name| name != "toolgate.ts"))
            .collect();
        others.sort();
        if let Some(first) = others.first() {
            let text = format!(
                "the project has plugins (`{}`), which can change a call after toolgate has judged it",
                first.display()
            );
            checks
                .push(Check::new("project-plugins", Status::Warn, text).help("review them, or remove them"));
        }
    }
}

fn event(project: &Path, probe: &Probe) -> (&'static str, Value) {
    let (tool, args) = match probe {
        Probe::Write(file) => ("write", json!({ "filePath": file, "content": canary::TEXT })),
        Probe::Read(file) => ("read", json!({ "filePath": file })),
    };
    let input = json!({ "tool": tool, "callID": "toolgate-doctor" });
    let payload =
        json!({ "directory": project, "worktree": project, "input": input, "output": { "args": args } });
    ("tool.execute.before", payload)
}
