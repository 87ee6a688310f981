//! Time stamps of RFC 3161, checked by the `openssl` that is installed: the hash is that of our checkpoint, and the signature leads to a
//! certificate that the person has named.
//!
//! Against whom: somebody who keeps a stamp of something else beside a checkpoint, or one that they made themselves. Nothing of the
//! environment but `PATH` gets to `openssl`: a variable could name other settings.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use toolgate_evidence::proof::anchor::{Stamp, StampWord, stamps};

const PROGRAM: &str = "openssl";

/// What comes of each stamp that is kept.
pub(super) fn check(state: &Path, certificates: &Path) -> Result<BTreeMap<u64, StampWord>, String> {
    let kept = stamps(state).map_err(|error| error.to_string())?;
    Ok(kept.iter().map(|stamp| (stamp.size, word(stamp, certificates))).collect())
}

fn word(stamp: &Stamp, certificates: &Path) -> StampWord {
    let digest = stamp.digest().hex();
    let verify = openssl(|ts| {
        // The certificate may be that of the server itself.
        ts.args(["-verify", "-partial_chain", "-digest", &digest, "-in"]).arg(&stamp.response);
        ts.arg("-CAfile").arg(certificates)
    });
    let verified = match verify {
        Ok(verified) => verified,
        Err(error) => return StampWord::CannotTell(format!("`{PROGRAM}`: {error}")),
    };
    if !verified.status.success() {
        return StampWord::Bad(reason(&verified));
    }
    let shown = openssl(|ts| ts.args(["-reply", "-text", "-in"]).arg(&stamp.response));
    let shown = shown.map(|shown| String::from_utf8_lossy(&shown.stdout).into_owned()).unwrap_or_default();
    let time = shown
        .lines()
        .find_map(|line| line.strip_prefix("Time stamp: "))
        .unwrap_or("a time that it does not say");
    StampWord::Good { time: time.trim().to_owned(), with: PROGRAM }
}

fn openssl(with: impl FnOnce(&mut Command) -> &mut Command) -> std::io::Result<Output> {
    let mut command = Command::new(PROGRAM);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("LC_ALL", "C");
    with(command.arg("ts")).output()
}

/// Why it is not good, as `openssl` says it: `error:<number>:<library>::<reason>:<file>`.
fn reason(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let of_error = |line: &str| {
        let mut parts = line.split(':').skip_while(|part| *part != "error").skip(4);
        parts.next().filter(|reason| !reason.is_empty()).map(str::to_owned)
    };
    let reasons: Vec<String> = said.lines().filter_map(of_error).take(3).collect();
    if reasons.is_empty() {
        format!("{PROGRAM} says no")
    } else {
        format!("{PROGRAM} says {}", reasons.join(", "))
    }
}
