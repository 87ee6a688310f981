//! Whether commands are contained here, at which level, and what stands in the way.
//!
//! A sandbox is tried anew, by a process of ours, so that what is said is what was seen. None of this makes a gate inactive: a call that
//! cannot be contained is judged as the settings say.
//!
//! Does not see: a sandbox that a client is started in, or that it is told of on its command line or by a variable.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use toolgate_gate::machine::Machine;
use toolgate_gate::self_test;
use toolgate_gate::settings::SettingsSources;
use toolgate_hosts::host;
use toolgate_policies::{ContainWhen, ContainmentLevel, Settings};
use toolgate_sandbox::{CONTAINED, Kernel, Level};

use super::{Check, Exam, Status, settings_in, text_of};
use crate::register::{HostPlaces, settings_of};
use crate::this_machine;

const ID: &str = "sandbox";
/// Tools by which hosts run shell commands.
const SHELLS: [&str; 5] = ["Bash", "bash", "run_shell_command", "exec_command", "shell"];

const CODEX_OPENS: &str = "set `sandbox_mode = \"danger-full-access\"`, and what is not proved runs in toolgate's own sandbox; or set \
                           `when = \"never\"` in [containment]";
const CLAUDE_OPENS: &str = "switch that sandbox off, and what is not proved runs in toolgate's own; or list its state in \
                            `sandbox.filesystem.allowWrite`; or set `when = \"never\"` in [containment]";

pub(super) fn examine(exam: &Exam<'_>) -> Vec<Check> {
    let subject = exam.subject;
    let (dirs, root) = (subject.dirs, subject.places.project.as_deref());
    let sources =
        SettingsSources { dirs, root, repository: None, team: &[], fixed: None, default: "worktree" };
    let layers = sources.rules(&this_machine()).map(|rules| rules.layers).unwrap_or_default();
    let mut checks = Vec::new();
    if !layers.is_empty() && layers.iter().all(|layer| layer.containment.when == ContainWhen::Never) {
        checks.push(Check::new(
            ID,
            Status::Info,
            "`when = \"never\"` in [containment]: nothing is contained",
        ));
        return checks;
    }
    if !host(exam.host.id()).is_some_and(|host| SHELLS.iter().any(|tool| host.launches(tool))) {
        let text = format!(
            "{} cannot run a command in a sandbox: what is not proved runs without one",
            exam.host.name()
        );
        let check = Check::new(ID, Status::Info, text);
        checks.push(check.help("`uncontainable = \"ask\"` or `\"deny\"` in [containment] stops it instead"));
        return checks;
    }
    checks.extend(kernel(&dirs.state, &layers));
    checks.extend(own_sandbox(exam.host.id(), exam.host.name(), subject.places, &dirs.state));
    checks
}

/// What this kernel gives, as it was tried.
fn kernel(state: &Path, layers: &[Settings]) -> Vec<Check> {
    let kernel = Kernel::probe();
    if kernel.landlock == 0 {
        let check = Check::new(ID, Status::Warn, "this kernel has no Landlock, so nothing can be contained");
        return vec![
            check.help("use Linux 5.13 or later, with `landlock` in its list of security modules (`lsm=`)"),
        ];
    }
    let mut checks = vec![match tried(state) {
        Some(Ok(Level::Full)) => {
            Check::new(ID, Status::Ok, "commands run at level full; the self-test could not escape")
        }
        Some(Ok(Level::Landlock)) => {
            let why = no_namespaces()
                .unwrap_or_else(|| "this kernel does not let the user make namespaces".to_owned());
            let text = format!(
                "commands run at level landlock; the self-test could not escape; level full is not available: {why}"
            );
            Check::new(ID, Status::Info, text)
        }
        Some(Err(found)) => {
            let text = format!("the sandbox failed its self-test: {found}; nothing can be contained");
            Check::new(ID, Status::Warn, text)
                .help("a person is asked then, unless `uncontainable` in [containment] says otherwise")
        }
        None => Check::new(ID, Status::Info, "no sandbox was tried: this is not the installed program"),
    }];
    let needs_full = layers.iter().any(|layer| layer.containment.require == ContainmentLevel::Full);
    if needs_full && checks.iter().any(|check| check.text.contains("level landlock")) {
        let text =
            "the settings require level full, which is not available here: contained commands do not run";
        let help = "allow user namespaces, or set `require = \"landlock\"` in [containment]";
        checks.push(Check::new(ID, Status::Warn, text).help(help));
    }
    let abi = kernel.landlock;
    let missing = kernel.missing().into_iter();
    checks.extend(missing.map(|missing| Check::new(ID, Status::Info, format!("Landlock {abi}: {missing}"))));
    checks
}

/// What a process of ours found that tried it; `None` where this is not a program of ours.
fn tried(state: &Path) -> Option<Result<Level, String>> {
    let program = this_machine().program()?;
    let is_ours = self_test::is_ours(&program);
    let mut test = Command::new(program);
    test.arg(self_test::COMMAND).arg(state).env_clear();
    let done = is_ours.then(|| test.output())?;
    let told = done.map(|done| String::from_utf8_lossy(&done.stdout).trim().to_owned());
    Some(match told {
        Ok(word) => [Level::Full, Level::Landlock].into_iter().find(|level| level.word() == word).ok_or(word),
        Err(error) => Err(error.to_string()),
    })
}

/// Why there are no namespaces, as far as that can be read.
fn no_namespaces() -> Option<String> {
    let set = |name: &str, value: &str| {
        fs::read_to_string(Path::new("/proc/sys").join(name)).is_ok_and(|text| text.trim() == value)
    };
    let told = if std::env::var_os(CONTAINED).is_some() {
        "this is a sandbox of toolgate already"
    } else if set("user/max_user_namespaces", "0") {
        "`user.max_user_namespaces` is 0"
    } else if set("kernel/unprivileged_userns_clone", "0") {
        "`kernel.unprivileged_userns_clone` is 0"
    } else if set("kernel/apparmor_restrict_unprivileged_userns", "1") {
        "`kernel.apparmor_restrict_unprivileged_userns` is 1 (AppArmor)"
    } else if ["/.dockerenv", "/run/.containerenv"].iter().any(|file| Path::new(file).exists()) {
        "this is a container, and most containers have no namespaces"
    } else {
        return None;
    };
    Some(told.to_owned())
}

/// A sandbox of the client's own, in which its commands start, and so does ours. Tried with Claude Code 2.1 and Codex 0.166: there are no namespaces to
/// be had, and our state is only read, so that nothing contained runs. Where Claude Code opens the state, commands are contained at level `landlock`.
fn own_sandbox(host: &str, name: &str, places: &HostPlaces, state: &Path) -> Option<Check> {
    let project = |file: &str| places.project.iter().map(|project| project.join(file)).collect::<Vec<_>>();
    let own = |file: &str| places.config(host).join(file);
    let (files, switch, opened): (Vec<PathBuf>, &str, &str) = match host {
        "claude-code" => {
            let managed = places.etc.join("claude-code/managed-settings.json");
            let local = project(".claude/settings.local.json");
            let shared = project(".claude/settings.json");
            let files = [vec![managed], local, shared, vec![own("settings.json")]].concat();
            (files, "/sandbox/enabled", "/sandbox/filesystem/allowWrite")
        }
        "codex" => {
            let files = [project(".codex/config.toml"), vec![own("config.toml")]].concat();
            (files, "/sandbox_mode", "/sandbox_workspace_write/writable_roots")
        }
        "gemini" => {
            let system = places.etc.join("gemini-cli/settings.json");
            let files = [vec![system], project(".gemini/settings.json"), vec![own("settings.json")]].concat();
            (files, "/tools/sandbox", "")
        }
        _ => return None,
    };
    let key = |pointer: &str| pointer.trim_start_matches('/').replace('/', ".");
    // The first file that says so counts.
    let said = files.iter().find_map(|file| Some((file, value(file, switch)?)));
    let text = match &said {
        Some((_, Value::Bool(false))) => return None,
        Some((_, Value::String(word))) if word == "danger-full-access" => return None,
        Some((file, value)) => {
            let key = key(switch);
            format!("`{key}` is {value} in `{}`: {name} then runs commands in a sandbox of its own", file.display())
        }
        None if host == "codex" => {
            "no `sandbox_mode` is set: Codex then runs commands in a sandbox of its own, unless it is told otherwise when it starts".to_owned()
        }
        None => return None,
    };
    if host == "gemini" {
        let text = format!("{text}: a container; toolgate is untested in there");
        return Some(Check::new(ID, Status::Warn, text).help("switch it off"));
    }
    let is_read_only = matches!(&said, Some((_, Value::String(word))) if word == "read-only");
    let mut files = files.iter().filter(|_| !is_read_only);
    let is_open = files.any(|file| {
        let listed = value(file, opened);
        let listed = listed.as_ref().and_then(Value::as_array).into_iter().flatten();
        listed.filter_map(Value::as_str).any(|place| {
            let place =
                place.strip_prefix("~/").map_or_else(|| PathBuf::from(place), |rest| places.home.join(rest));
            state.starts_with(place)
        })
    });
    let opened = key(opened);
    if is_open {
        let text = format!(
            "{text}; toolgate's state is open in there (`{opened}`), and commands are contained at level landlock"
        );
        return Some(Check::new(ID, Status::Info, text));
    }
    let text = format!(
        "{text}; toolgate cannot write its state in there (`{}`), so nothing that should be contained runs",
        state.display()
    );
    let status = if said.is_some() { Status::Warn } else { Status::Info };
    Some(Check::new(ID, status, text).help(if host == "codex" { CODEX_OPENS } else { CLAUDE_OPENS }))
}

fn value(file: &Path, switch: &str) -> Option<Value> {
    let is_toml = file.extension().is_some_and(|extension| extension == "toml");
    let settings = if is_toml {
        text_of(file).and_then(Result::ok).and_then(|text| settings_of(file, &text))?
    } else {
        settings_in(file)
    };
    settings.pointer(switch).cloned()
}
