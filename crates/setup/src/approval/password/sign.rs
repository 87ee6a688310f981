//! `toolgate sign-approval`: root's helper, which sudo starts once it has taken a password.
//!
//! Promise: it signs what it has shown on the person's terminal, after a `yes` that was typed there, and nothing else. All that it shows
//! comes out of the statement, or has the digest that the statement names.
//!
//! Against whom: whoever runs as the person, gives it a statement of their own, or runs it where no person sits. What it believes comes
//! from the kernel and from root's files: that sudo started it, for whom, from which terminal, and that sudo asks this user.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toolgate_evidence::Digest;
use toolgate_gate::machine::Machine;
use toolgate_model::visible;
use toolgate_workspace::SigningKey;

use super::super::{About, Statement, enveloped};
use super::{Request, SUDO, asks_for_password, sudo};
use crate::apart::{System, only_root_replaces};
use crate::person::behind_sudo;

/// A call that can be approved is shorter.
const LONGEST: u64 = 4 * 1024 * 1024;

/// Where the key lies.
pub(super) fn key_below(var: &Path) -> PathBuf {
    var.join("lib/toolgate/approval/key.pem")
}

/// Shows what is asked for on stdin, has the person say yes, and gives the answer that the hook believes.
pub fn sign(machine: &dyn Machine) -> Result<Vec<u8>, String> {
    let system = System::of(Path::new("/etc"));
    let by_sudo = "only sudo starts this; run `toolgate approve`";
    if !rustix::process::getuid().is_root() || !rustix::process::geteuid().is_root() {
        return Err(by_sudo.into());
    }
    let user: u32 = std::env::var("SUDO_UID").ok().and_then(|user| user.parse().ok()).ok_or(by_sudo)?;
    if user == 0 {
        return Err("root is asked for no password, so its word proves none".into());
    }
    let account = system.account(user).ok_or("sudo was started by a user whom the system does not know")?;
    only_root_replaces(Path::new(SUDO))?;
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    only_root_replaces(&own)?;
    let key = key_below(system.var());
    let found = fs::symlink_metadata(&key)
        .map_err(|_| "there is no key; an administrator runs `toolgate init --managed`".to_owned())?;
    if !found.is_file() || found.uid() != 0 || found.mode() & 0o077 != 0 {
        return Err(format!("{} is not root's alone", key.display()));
    }
    only_root_replaces(&key)?;
    let request = request()?;
    let roots = roots_of(&request.statement);
    behind_sudo(user, Path::new(SUDO), &roots).map_err(|why| format!("only a person can do this: {why}"))?;
    // As that user, with that user's groups.
    asks_for_password(&mut sudo(&["-n", "-u", &format!("#{user}"), "--", SUDO]))?;
    request.statement.check(machine.now()).map_err(|why| format!("the statement {why}"))?;
    if request.statement.by != account.name {
        return Err(format!(
            "it was {} whose password was asked for, not {}",
            account.name,
            visible(&request.statement.by)
        ));
    }
    let shown = shown(&request)?;
    agreed(&shown)?;
    let key = SigningKey::open(&key).map_err(|error| error.to_string())?;
    let text = request.statement.text().map_err(|error| error.to_string())?;
    enveloped(&request.statement, &key.public().id(), &key.sign(&text))
}

fn request() -> Result<Request, String> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(LONGEST).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    serde_json::from_slice(&bytes).map_err(|_| "what is to be signed cannot be read".to_owned())
}

/// A directory that agents write, by the statement's own word. Whoever gives a wrong one is asked for the password all the same.
fn roots_of(statement: &Statement) -> Vec<PathBuf> {
    match &statement.about {
        About::Call { subject, .. } => Some(PathBuf::from(&subject.root)).filter(|root| root.is_absolute()),
        About::Command { .. } => None,
    }
    .into_iter()
    .collect()
}

/// What a person has to know before they sign.
fn shown(request: &Request) -> Result<String, String> {
    let Request { statement, input, action } = request;
    let minutes = statement.expires.saturating_sub(statement.made).div_ceil(60);
    let mut text = String::new();
    // Writing into a text cannot fail.
    let mut line = |name: &str, value: &str| {
        let value = visible(value).replace('\n', "\n               ");
        let _ = writeln!(text, "  {name:<12} {value}");
    };
    match &statement.about {
        About::Command { what } => line("command", what),
        About::Call { code, subject, objections, uses } => {
            let is_same = Digest::of(input.as_bytes()).to_string() == subject.input
                && Digest::of(action.as_bytes()).to_string() == subject.action;
            // INVARIANT: what is shown is what is signed.
            if !is_same {
                return Err("the texts of the call are not those that the statement is about".into());
            }
            line("code", code);
            line("tool", &subject.tool);
            match serde_json::from_str(input) {
                Ok(Value::Object(members)) => {
                    for (name, value) in members {
                        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                        line(&visible(&name).replace('\n', " "), &value);
                    }
                }
                _ => line("input", input),
            }
            if action != "None" {
                line("action", action);
            }
            line("directory", &subject.cwd);
            line("worktree", &subject.root);
            line("session", &format!("{} of {}", subject.session, subject.host));
            if !subject.agent.is_empty() {
                line("agent", &subject.agent);
            }
            let passes = |of: &toolgate_model::Objection| {
                let rule = if of.rule.is_empty() { &of.policy } else { &of.rule };
                format!("{rule} {}", of.path)
            };
            let passes: Vec<String> = objections.iter().map(passes).collect();
            line("lets pass", &passes.join("\n"));
            line("calls", &uses.to_string());
        }
    }
    line("holds", &format!("{minutes} minutes"));
    Ok(text)
}

/// Whether the person says yes to it, on the terminal itself.
fn agreed(shown: &str) -> Result<(), String> {
    let failed = |error: io::Error| format!("the terminal: {error}");
    let mut terminal = open_terminal().map_err(failed)?;
    // What was typed before this could be read is no answer to it.
    rustix::termios::tcflush(&terminal, rustix::termios::QueueSelector::IFlush)
        .map_err(|error| failed(error.into()))?;
    write!(terminal, "\nThis is what your password signs:\n{shown}Type yes: ").map_err(failed)?;
    let mut answer = String::new();
    BufReader::new((&terminal).take(64)).read_line(&mut answer).map_err(failed)?;
    if answer.trim() == "yes" { Ok(()) } else { Err("nothing was signed".into()) }
}

fn open_terminal() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/tty")
}
