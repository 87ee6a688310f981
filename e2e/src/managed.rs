//! The administrator's settings without the administrator's machine: a mount namespace in which `/etc` is the real one
//! with a layer of the stage on top. What is written there is written to the stage, and nobody else sees it.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::process::Command;

use toolgate_rehearsal::stage::Stage;

/// Mounts the layer, then becomes the program.
const ENTER: &str =
    "mount -t overlay overlay -o \"lowerdir=/etc,upperdir=$1,workdir=$2\" /etc && shift 2 && exec \"$@\"";

/// Makes the layer. In it the home of this user is the stage's, for what is registered for everybody asks the
/// system's list of people.
pub(crate) fn prepare(stage: &Stage) -> io::Result<()> {
    let layer = stage.dir().join("etc");
    fs::create_dir_all(&layer)?;
    fs::create_dir_all(stage.dir().join("etc-work"))?;
    let list = fs::read_to_string("/etc/passwd")?;
    let uid = rustix::process::getuid().as_raw().to_string();
    let home = stage.home().to_string_lossy().into_owned();
    let line = |line: &str| {
        let mut fields: Vec<&str> = line.split(':').collect();
        if let [_, _, of, _, _, at, _] = fields.as_mut_slice()
            && *of == uid
        {
            *at = &home;
        }
        fields.join(":") + "\n"
    };
    fs::write(layer.join("passwd"), list.lines().map(line).collect::<String>())
}

/// Whether it can be done here, and if not, why.
pub(crate) fn possible(stage: &Stage) -> Result<(), String> {
    if !rustix::process::getuid().is_root() {
        return Err("only root can mount".to_owned());
    }
    prepare(stage).map_err(|error| error.to_string())?;
    let output = command(stage, "true").output().map_err(|error| format!("unshare: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}

/// A program that sees that `/etc`.
pub(crate) fn command(stage: &Stage, program: impl AsRef<OsStr>) -> Command {
    let mut command = stage.command("unshare");
    command.args(["--mount", "sh", "-c", ENTER, "sh"]);
    command.arg(stage.dir().join("etc")).arg(stage.dir().join("etc-work")).arg(program);
    command
}
