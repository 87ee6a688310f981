//! A host that loads a script of ours, which keeps one `toolgate serve`: what they have in common.

use std::path::Path;

use serde_json::{Value, json};

use super::canary::{self, Probe, Trouble};
use super::{AGAIN, Check, Exam, Status, UNREADABLE, binary, state, text_of};
use crate::register::handler::CommandLine;
use crate::register::{HostPlaces, Scope, Start, command_in_script, script};

/// What is to be known about such a host.
pub(super) struct Clinic {
    /// What init writes besides the script itself, and where: below this many directories above the script.
    pub(super) beside: &'static [(&'static str, &'static str)],
    pub(super) above: usize,
    /// What keeps the host from loading the script, or from heeding it. What only weakens it is a warning.
    pub(super) switches: fn(&HostPlaces, Scope, &mut Vec<Check>),
    /// The event of a call, in a project: its name and what comes with it.
    pub(super) event: fn(&Path, &Probe) -> (&'static str, Value),
}

/// Examines the registration; says whether the host asks us.
pub(super) fn examine(exam: &Exam<'_>, clinic: &Clinic, checks: &mut Vec<Check>) -> bool {
    let subject = exam.subject;
    exam.gone(checks);
    let mut live = Vec::new();
    for scope in Scope::ALL {
        let Ok(file) = exam.host.file(subject.places, scope) else { continue };
        let shown = file.display();
        let text = match text_of(&file) {
            None => {
                checks.push(Check::new("settings", Status::Info, format!("no {scope} script `{shown}`")));
                continue;
            }
            Some(Err(error)) => {
                let text = format!("`{shown}` cannot be read: {error}");
                checks.push(Check::new("settings", Status::Warn, text).help(UNREADABLE));
                continue;
            }
            Some(Ok(text)) => text,
        };
        let written_by_us = exam.wrote(&file, &text);
        let Some(start) = command_in_script(&text).filter(|start| start.is_ours(exam.host.id())) else {
            let text = format!("`{shown}` is not the script that init writes");
            checks.push(Check::new("registered", Status::Warn, text).help(AGAIN));
            continue;
        };
        checks.push(Check::new("registered", Status::Ok, format!("by the {scope} script `{shown}`")));
        if !written_by_us {
            let text = format!("`{shown}` is not as init wrote it");
            checks.push(Check::new("written", Status::Warn, text).help(AGAIN));
        }
        let before = checks.len();
        let dir = file.ancestors().nth(clinic.above).unwrap_or(Path::new("/"));
        for (name, wanted) in clinic.beside {
            checks.extend(beside(exam, &dir.join(name), wanted));
        }
        (clinic.switches)(subject.places, scope, checks);
        let fails = checks.iter().skip(before).any(|check| check.status == Status::Fail);
        if !fails {
            live.push((scope, file, start, written_by_us));
        }
    }
    if live.is_empty() && !checks.iter().any(|check| check.status == Status::Fail) {
        let text = format!("toolgate has no script where {} looks for scripts", exam.host.name());
        checks.push(Check::new("registered", Status::Fail, text).help("run `toolgate init`"));
    }
    checks.extend(live.iter().map(|(_, _, start, _)| binary(&start.program, subject)));
    checks.push(state(&subject.dirs.state));
    for (scope, file, start, written_by_us) in &live {
        let source = format!("{scope} script `{}`", file.display());
        let line = CommandLine::Exec(start.clone());
        let trusted = *written_by_us || *scope == Scope::User;
        let asked = canary::Asked { line: &line, host: exam.host.id(), source: &source, trusted };
        let mut answers = None;
        canary::canaries(&asked, subject, checks, |project, probe| {
            // Both are asked of one process, as in a session.
            let all = match answers.take() {
                Some(all) => all,
                None => serve(start, project, clinic)?,
            };
            let [write, read] = all.clone();
            answers = Some(all);
            Ok(Some(match probe {
                Probe::Write(_) => write,
                Probe::Read(_) => read,
            }))
        });
    }
    !live.is_empty()
}

/// A file that the script needs.
fn beside(exam: &Exam<'_>, file: &Path, wanted: &str) -> Option<Check> {
    let shown = file.display();
    let (status, what) = match text_of(file) {
        Some(Ok(text)) if text == script(wanted) => return None,
        Some(Ok(text)) if exam.wrote(file, &text) => (Status::Warn, "is of another version of toolgate"),
        Some(Ok(_)) => (Status::Fail, "is not as init writes it"),
        Some(Err(_)) => (Status::Fail, "cannot be read"),
        None => (Status::Fail, "is gone, so the script cannot load"),
    };
    Some(Check::new("written", status, format!("`{shown}` {what}")).help(AGAIN))
}

/// The decisions of one `toolgate serve` about the call that must be denied and the one that must not be.
fn serve(start: &Start, project: &Path, clinic: &Clinic) -> Result<[String; 2], Trouble> {
    let mut requests = String::new();
    for (id, probe) in [Probe::write(), Probe::read(project)].iter().enumerate() {
        let (event, payload) = (clinic.event)(project, probe);
        requests += &format!("{}\n", json!({ "id": id, "event": event, "payload": payload }));
    }
    let mut command = canary::command(&CommandLine::Exec(start.clone()));
    let ran = canary::run(command.current_dir(project), requests.as_bytes())?;
    let said = String::from_utf8_lossy(&ran.stdout);
    let mut lines = said.lines();
    let mut next = |id: usize| {
        let line = lines.next().ok_or(Trouble::Ended(ran.code))?;
        let answer: Value = serde_json::from_str(line).map_err(|_| Trouble::NotOneObject)?;
        let decision = answer.pointer("/answer/decision").and_then(Value::as_str);
        decision
            .filter(|_| answer.get("id") == Some(&json!(id)))
            .map(str::to_owned)
            .ok_or(Trouble::NotOneObject)
    };
    Ok([next(0)?, next(1)?])
}
