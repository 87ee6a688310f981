//! Whether a sandbox holds on this machine, as one of our processes has found out once: see `self_test` of `toolgate-sandbox`.
//!
//! The result lies in our state, under a name made of the machine's start, the program and its build. So the test is repeated when one of
//! these changes, and a call that is to be contained costs a look at one file. If the sandbox does not hold, such a call
//! counts as one that cannot be contained.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use toolgate_model::FileStamp;
use toolgate_policies::Containable;
use toolgate_sandbox::{Kernel, Leak, Level, Untrusted, self_test};

use crate::machine::Machine;
use crate::settings::BUILD;
use crate::store::{hex, write_private};

/// The word by which the program is started to try a sandbox, and the one by which it is started inside.
pub const COMMAND: &str = "self-test";
/// See [`COMMAND`].
pub const PROBE: &str = "self-test-probe";

/// Where the results are, in our state.
const NOTES: &str = "self-test";
const HOLDS: &str = "holds";
const FAILED: &str = "failed";

/// Whether commands can be contained, by what was found. Where nobody has tried yet, it is tried now.
pub(crate) fn found(machine: &dyn Machine, state: &Path) -> Containable {
    // A program that has a gate built into it is not started for this.
    let Some(note) = note(machine, state) else { return Containable::Yes };
    read(machine, &note).unwrap_or_else(|| {
        machine.start_self_test(state);
        read(machine, &note).unwrap_or(COULD_NOT)
    })
}

const COULD_NOT: Containable = Containable::NotHolding("it could not be tried");

fn read(machine: &dyn Machine, note: &Path) -> Option<Containable> {
    let text = machine.world().read(note, 64).ok()?;
    let text = std::str::from_utf8(&text).ok()?;
    Some(match text {
        HOLDS => Containable::Yes,
        word => Leak::of(word).map_or(COULD_NOT, |leak| Containable::NotHolding(leak.told())),
    })
}

/// The file that says what was found since the machine was started, with this program.
fn note(machine: &dyn Machine, state: &Path) -> Option<PathBuf> {
    const BOOT: &str = "/proc/sys/kernel/random/boot_id";
    let program = machine.program()?;
    let FileStamp { id, size, modified, changed: _ } =
        machine.world().stamp(&program).ok().filter(|_| is_ours(&program))?;
    let boot = machine.world().read(Path::new(BOOT), 64).unwrap_or_default();
    // Without the time of its last change, which a second link to the program moves: a package manager makes one, and the note would be gone
    // between the process that writes it and the one that reads it.
    let stamp = format!("{BUILD} {id:?} {size} {modified:?} {}", program.display());
    let digest = hex(&Sha256::new().chain_update(&boot).chain_update(stamp).finalize());
    Some(state.join(NOTES).join(digest.get(..32)?))
}

/// Whether a program knows [`COMMAND`].
pub fn is_ours(program: &Path) -> bool {
    let name = program.file_name().unwrap_or_default();
    ["toolgate", "toolgate-cli", "toolgate-hook"].iter().any(|own| name == *own)
}

/// Tries a sandbox and notes what was found. For a process of its own, with one thread.
pub fn run(machine: &dyn Machine, state: &Path) -> Result<Level, Untrusted> {
    let failed = |error: io::Error| Untrusted::Failed(error.to_string());
    let program = machine.program().ok_or_else(|| Untrusted::Failed("cannot find itself".to_owned()))?;
    let directory = state.join(NOTES).join(format!("{}.tried", rustix::process::getpid().as_raw_nonzero()));
    let probe = [program.into_os_string(), OsString::from(PROBE)];
    let tested = self_test(&Kernel::probe(), &directory, &probe);
    let word = match &tested {
        Ok(_) => HOLDS,
        Err(Untrusted::Leaks(_, leak)) => leak.word(),
        Err(Untrusted::Failed(_)) => FAILED,
    };
    if let Some(note) = note(machine, state) {
        write_private(&note, word.as_bytes()).map_err(failed)?;
        forget_others(&note).map_err(failed)?;
    }
    tested
}

/// Removes what was found before the machine was started, or by an older program.
#[expect(clippy::disallowed_methods, reason = "our own state, in a process of its own")]
fn forget_others(note: &Path) -> io::Result<()> {
    let Some(notes) = note.parent() else { return Ok(()) };
    for other in fs::read_dir(notes)? {
        let other = other?.path();
        if other != note && other.extension().is_none() {
            let _ = fs::remove_file(other);
        }
    }
    Ok(())
}
