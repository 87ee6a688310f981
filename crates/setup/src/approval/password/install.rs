//! Sets the helper up, and takes it away again.
//!
//! Promise: after `install`, everybody who has a password can have the helper sign, sudo asks for it each time, and nobody but root reads
//! the key. `remove` leaves nothing. Both can be repeated.
//!
//! Against whom: whoever could replace the program that root runs, or the rule by which sudo asks.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::geteuid;
use toolgate_workspace::SigningKey;

use super::{COMMAND, FILE, File, SUDO};
use crate::apart::{System, about, only_root_replaces};

/// What sudo reads, without a dot in its name: it passes over such files.
const RULE: &str = "sudoers.d/toolgate";

/// The files of the helper.
struct Files {
    key: PathBuf,
    public: PathBuf,
    rule: PathBuf,
}

impl Files {
    fn of(system: &System) -> Files {
        Files {
            key: super::sign::key_below(system.var()),
            public: system.etc().join("toolgate").join(FILE),
            rule: system.etc().join(RULE),
        }
    }
}

/// What keeps passwords from being asked for on this machine; `None` where nothing does.
pub fn obstacle(system: &System, program: &Path) -> Option<String> {
    if !geteuid().is_root() {
        return Some("it takes root".into());
    }
    if !Path::new(SUDO).exists() {
        return Some(format!("there is no `{SUDO}`"));
    }
    if let Err(why) = only_root_replaces(Path::new(SUDO)).and_then(|()| only_root_replaces(program)) {
        return Some(why);
    }
    let main = system.etc().join("sudoers");
    let text = fs::read_to_string(&main).unwrap_or_default();
    let directory = system.etc().join("sudoers.d");
    let reads = |line: &str| {
        let rest = line.strip_prefix('@').or_else(|| line.strip_prefix('#'))?.strip_prefix("includedir")?;
        Some(Path::new(rest.trim()) == directory)
    };
    if !text.lines().any(|line| reads(line.trim()).unwrap_or(false)) {
        return Some(format!("`{}` does not include `{}`", main.display(), directory.display()));
    }
    None
}

/// Whether it is set up.
pub fn is_installed(system: &System) -> bool {
    let Files { key, public, rule } = Files::of(system);
    [key, public, rule].iter().any(|file| file.exists())
}

/// Sets it up. `program`: the whole program. Gives what was done, one sentence each.
pub fn install(system: &System, program: &Path) -> Result<Vec<String>, String> {
    if let Some(why) = obstacle(system, program) {
        return Err(why);
    }
    let program = fs::canonicalize(program).map_err(about(program))?;
    let Files { key, public, rule } = Files::of(system);
    if let Some(above) = key.parent().and_then(Path::parent) {
        DirBuilder::new().recursive(true).mode(0o755).create(above).map_err(about(above))?;
    }
    let made = SigningKey::open(&key).map_err(|error| error.to_string())?;
    let file = File { program: program.clone(), key: made.public().to_pem() };
    let text = serde_json::to_string_pretty(&file).map_err(|error| error.to_string())?;
    let mut done = Vec::new();
    // The key by which people check comes last: until then nobody believes in the helper.
    for (path, text, mode) in [(rule, rule_for(&program), 0o440), (public, format!("{text}\n"), 0o644)] {
        if fs::read_to_string(&path).is_ok_and(|now| now == text) {
            continue;
        }
        put(&path, &text, mode, mode == 0o440)?;
        done.push(format!("{}: written", path.display()));
    }
    Ok(done)
}

/// The rule for sudo. `timestamp_timeout=0`: a password that was typed for something else counts for nothing here. `!use_pty`: the helper
/// shows on the person's terminal, and nothing lies between.
fn rule_for(program: &Path) -> String {
    let program = program.display();
    format!(
        "# Written by `toolgate init --managed`: approvals that take a person's password.\n\
         Cmnd_Alias TOOLGATE_SIGN = {program} {COMMAND}\n\
         Defaults!TOOLGATE_SIGN authenticate, env_reset, timestamp_timeout=0, !use_pty\n\
         ALL ALL=(root) PASSWD: TOOLGATE_SIGN\n"
    )
}

/// Takes it away, the key as well: no approval holds longer than a working day. Gives what was done.
pub fn remove(system: &System) -> Result<Vec<String>, String> {
    let Files { key, public, rule } = Files::of(system);
    let mut done = Vec::new();
    for path in [&public, &rule, &key] {
        match fs::remove_file(path) {
            Ok(()) => done.push(format!("{}: taken out", path.display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(about(path)(error)),
        }
    }
    if let Some(directory) = key.parent() {
        // What somebody else has put there stays.
        let _ = fs::remove_dir(directory);
    }
    Ok(done)
}

/// Writes a file of root's, whole or not at all. A rule that sudo cannot read would keep everybody from sudo, so it is tried before.
fn put(path: &Path, text: &str, mode: u32, is_rule: bool) -> Result<(), String> {
    if let Some(parent) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o755).create(parent).map_err(about(parent))?;
    }
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    let _ = fs::remove_file(&new);
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(mode).open(&new).map_err(about(&new))?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(about(&new))?;
    fs::set_permissions(&new, Permissions::from_mode(mode)).map_err(about(&new))?;
    if is_rule {
        let tried = Command::new("/usr/sbin/visudo").arg("-cqf").arg(&new).stdin(Stdio::null()).output();
        if !tried.is_ok_and(|tried| tried.status.success()) {
            let _ = fs::remove_file(&new);
            return Err("`visudo` does not accept the rule for sudo, so it was not written".into());
        }
    }
    fs::rename(&new, path).map_err(about(path))
}
