//! The strength `password`: the person's own password, which sudo asks for each time, and a signature that only root can make.
//!
//! Promise: an approval counts as `password` only if PAM has taken the person's password for this very statement. `init --managed` makes a
//! key that only root reads, and lets sudo start one command with it: `toolgate sign-approval`. sudo keeps no password for that command.
//! The command runs as root, shows on the terminal what it is about to sign, and asks.
//!
//! Against whom: code of the person's own user that reads the key for terminals, or types into their terminal. It knows no password.
//!
//! Does not see: a program of the same user that records keys or shows a prompt of its own. Whoever learns a password by that has what
//! the password gives. See `SECURITY.md`.

mod install;
mod sign;

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use toolgate_gate::dirs::{Dirs, user_name};
use toolgate_gate::machine::Machine;
use toolgate_model::Strength;
use toolgate_workspace::{PublicKey, dsse};

use super::{PAYLOAD, Signer, Statement, parts_of};
use crate::apart::only_root_replaces;

pub use install::{install, is_installed, obstacle, remove};
pub use sign::sign;

/// The one program that asks for the password. A `sudo` that a `PATH` names could be anybody's.
const SUDO: &str = "/usr/bin/sudo";
/// The command that signs; sudo starts it and no other.
pub const COMMAND: &str = "sign-approval";
/// In the administrator's directory: who signs, and the key by which it is checked.
const FILE: &str = "sign-approval.json";
/// Nobody's list of this kind is longer.
const LONGEST_FILE: u64 = 16 * 1024;
/// What sudo says where it would have to ask and may not.
const WOULD_ASK: &str = "a password is required";

/// What `init --managed` has set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The program that signs.
    pub program: PathBuf,
    key: PublicKey,
}

/// The same, as it stands in its file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    program: PathBuf,
    key: String,
}

/// What the person is asked to agree to, as the helper needs it: the statement holds digests of the rest.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    statement: Statement,
    /// The input of the call; empty where the statement is about no call.
    input: String,
    /// What its host says that it does.
    action: String,
}

impl Installed {
    /// Reads what is set up below this directory of the administrator's. Only root may have written it.
    fn read(managed: &Path) -> Result<Installed, String> {
        let path = managed.join(FILE);
        let failed = |error: io::Error| format!("{}: {error}", path.display());
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let opened = fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(&path);
        let file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err("it is not set up; an administrator runs `toolgate init --managed`".into());
            }
            opened => opened.map_err(failed)?,
        };
        let found = file.metadata().map_err(failed)?;
        let above = fs::metadata(managed).map_err(failed)?;
        if !found.is_file() || [&found, &above].iter().any(|of| of.uid() != 0 || of.mode() & 0o022 != 0) {
            return Err(format!("{} is not root's alone", path.display()));
        }
        let mut text = String::new();
        file.take(LONGEST_FILE).read_to_string(&mut text).map_err(failed)?;
        let File { program, key } =
            serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let key = PublicKey::parse(&key).ok_or_else(|| format!("{} holds no key", path.display()))?;
        Ok(Installed { program, key })
    }
}

/// What signs here, where somebody can approve with their password. Otherwise says why not.
pub fn available(dirs: &Dirs) -> Result<PathBuf, String> {
    if rustix::process::getuid().is_root() {
        return Err("root is asked for no password; run it as the person whom it is about".into());
    }
    let Installed { program, .. } = Installed::read(&dirs.managed)?;
    only_root_replaces(Path::new(SUDO))?;
    only_root_replaces(&program)?;
    Ok(program)
}

/// Has sudo ask this person for their password, and root's helper sign. `input` and `action` are the texts of the call whose digests
/// the statement holds. The bytes are an answer to the call.
pub fn signed_with_password(
    machine: &dyn Machine,
    dirs: &Dirs,
    statement: &Statement,
    input: &str,
    action: &str,
) -> Result<Vec<u8>, String> {
    let program = available(dirs)?;
    asks_for_password(&mut sudo(&[]))?;
    let request =
        Request { statement: statement.clone(), input: input.to_owned(), action: action.to_owned() };
    let request = serde_json::to_vec(&request).map_err(|error| error.to_string())?;
    let failed = |error: io::Error| format!("{SUDO}: {error}");
    // `-k`: whatever sudo remembers from before, it asks.
    let mut child = sudo(&["-k", "-p", "The password of %p, to sign this: ", "--"])
        .arg(&program)
        .arg(COMMAND)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A helper that never starts reads nothing. How it ended says so.
        let _ = stdin.write_all(&request);
    }
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        return Err("it was not signed, and nothing was changed".into());
    }
    match signer_of(machine, dirs, statement, &output.stdout) {
        Some(_) => Ok(output.stdout),
        None => Err(format!("what `{}` has signed is something else", program.display())),
    }
}

/// Who has signed this statement with their password: these bytes are the answer that root's helper gave.
fn signer_of(machine: &dyn Machine, dirs: &Dirs, statement: &Statement, answer: &[u8]) -> Option<Signer> {
    let (read, payload, signature) = parts_of(answer)?;
    (read == *statement).then(|| machine_signer(machine, dirs, statement, &payload, &signature))?
}

/// The same, of the parts of an answer.
pub(super) fn machine_signer(
    machine: &dyn Machine,
    dirs: &Dirs,
    statement: &Statement,
    payload: &[u8],
    signature: &[u8],
) -> Option<Signer> {
    let installed = Installed::read(&dirs.managed).ok()?;
    // INVARIANT: the helper signs in the name of the user whose password it was. Another user's says nothing about this one.
    let is_own = statement.by == user_name(machine);
    (is_own && installed.key.verifies(&dsse(PAYLOAD, payload), signature))
        .then(|| Signer { name: statement.by.clone(), strength: Strength::Password })
}

/// sudo, with none of our variables: some of them choose programs that it runs.
fn sudo(words: &[&str]) -> Command {
    let mut command = Command::new(SUDO);
    command.args(words).env_clear().env("LC_ALL", "C").env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command
}

/// Whether sudo would ask this user for a password before it runs anything. The rest of the command goes before the question.
fn asks_for_password(command: &mut Command) -> Result<(), String> {
    let asked = command.args(["-k", "-n", "--", "/usr/bin/true"]).stdin(Stdio::null()).output();
    let asked = asked.map_err(|error| format!("{SUDO}: {error}"))?;
    let said = String::from_utf8_lossy(&asked.stderr);
    if asked.status.success() {
        return Err("sudo lets you run programs without a password (`NOPASSWD`), so it proves nothing".into());
    }
    if said.contains(WOULD_ASK) {
        return Ok(());
    }
    let said = said.trim().lines().next_back().unwrap_or("nothing").to_owned();
    Err(format!("sudo does not say that it would ask for your password; it says: {said}"))
}

#[cfg(test)]
mod tests;
