//! pi.

use std::path::Path;

use serde_json::{Value, json};

use super::canary::{self, Probe};
use super::scripts::Clinic;
use super::{Check, Status, settings_in};
use crate::register::pi::{BESIDE, HOST};
use crate::register::{HostPlaces, Scope};

pub(super) const CLINIC: Clinic = Clinic { beside: BESIDE, above: 1, switches, event };

/// The person's settings can leave extensions out by a pattern; a project's cannot leave out the person's.
fn switches(places: &HostPlaces, scope: Scope, checks: &mut Vec<Check>) {
    let file = places.config(HOST).join("settings.json");
    let settings = settings_in(&file);
    let patterns = settings.get("extensions").and_then(Value::as_array).into_iter().flatten();
    let excluded = patterns.filter_map(Value::as_str).filter(|pattern| pattern.starts_with('!'));
    for pattern in excluded {
        // What a pattern without our name matches is the client's to say.
        let status = if pattern.contains("toolgate") { Status::Fail } else { Status::Warn };
        let text = format!("`extensions` in `{}` leaves out `{pattern}`", file.display());
        checks
            .push(Check::new("excluded", status, text).help("make sure that it does not leave out toolgate"));
    }
    if scope == Scope::Project {
        let text = "the client loads extensions of a project only once it is trusted";
        checks
            .push(Check::new("scope", Status::Info, text).help("register for yourself with `toolgate init`"));
    }
}

fn event(project: &Path, probe: &Probe) -> (&'static str, Value) {
    let (tool, input) = match probe {
        Probe::Write(file) => ("write", json!({ "path": file, "content": canary::TEXT })),
        Probe::Read(file) => ("read", json!({ "path": file })),
    };
    let event =
        json!({ "type": "tool_call", "toolName": tool, "toolCallId": "toolgate-doctor", "input": input });
    let ctx = json!({
        "mode": "print",
        "hasUI": false,
        "cwd": project,
        "trusted": true,
        "sessionFile": null,
    });
    ("tool_call", json!({ "event": event, "ctx": ctx }))
}
