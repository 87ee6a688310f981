//! `toolgate doctor --live`: each installed client, played a scripted model on loopback.
//!
//! The canary shows that the registered line answers; this shows that the client does as it says. The client is started
//! as in [`toolgate_rehearsal`]: in a scratch world with an empty home, where the same binary is registered by the same
//! `toolgate init`. Its model wants two things: a command that has to run rewritten, and a file outside of the worktree.
//!
//! Does not see: what is in the person's own settings of the client. The other checks read those.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use toolgate_rehearsal::clients::{Act, CLIENTS, Casting, Client};
use toolgate_rehearsal::model::{Model, Script, Seen};
use toolgate_rehearsal::run::run;
use toolgate_rehearsal::stage::Stage;

use super::{Check, Status};
use crate::register::HostPlaces;

/// Longest time for `toolgate init`.
const INIT: Duration = Duration::from_secs(30);
/// What ends our reason for the denial.
const REASON: &str = "[outside-scope]";

/// Rehearses the client of this host. `None`: there is none on this machine, or none that can be driven.
pub(super) fn rehearse(host: &str, toolgate: &Path, places: &HostPlaces) -> Option<Vec<Check>> {
    let client = CLIENTS.iter().find(|client| client.host() == host && client.registers())?;
    let program = places.program(client.program())?;
    let checks = play(*client, &program, toolgate, places).unwrap_or_else(|error| {
        vec![Check::new("live", Status::Warn, format!("{} could not be rehearsed: {error}", client.name()))]
    });
    Some(checks)
}

fn play(client: &dyn Client, program: &Path, toolgate: &Path, places: &HostPlaces) -> io::Result<Vec<Check>> {
    let stage = Stage::new(&std::env::temp_dir())?;
    stage.add_program(client.program(), &program.canonicalize()?)?;
    if let Some(node) = places.program("node") {
        stage.add_program("node", &node)?;
    }
    let (root, below) = (stage.worktree(), stage.worktree().join("below"));
    let outside = stage.outside().join("file.txt");
    fs::create_dir(&below)?;
    stage.write(&stage.home().join(".config/toolgate/toolgate.toml"), "relative = \"rewrite\"\n")?;
    let acts = [Act::Shell("pwd > where.txt"), Act::Write(&outside, "x")];
    let main = acts.iter().flat_map(|act| client.turns(*act)).collect();
    let model = Model::start(Script { main, sub: Vec::new() })?;
    let url = model.url();
    let nowhere = stage.dir().join("nowhere");
    let mcp = ["/bin/false".to_owned()];
    let installed = &*nowhere;
    let casting = Casting {
        stage: &stage,
        model: &url,
        mcp: &mcp,
        installed,
        adapters: None,
        part: None,
        mode: None,
        added: None,
        resumed: false,
    };
    client.configure(&casting)?;
    let mut init = stage.command(toolgate);
    init.args(["init", "--host", client.host(), "--yes"]);
    let registered = run(&mut init, &stage.tmp(), INIT, || false)?;
    if registered.code != Some(0) {
        return Err(io::Error::other(registered.output));
    }
    let mut command = stage.command(stage.bin().join(client.program()));
    client.start(&casting, "Do what you have to do.", &mut command);
    command.current_dir(&below);
    let ran = run(&mut command, &stage.tmp(), client.limit(), || false)?;
    let seen = model.seen();
    if seen.results.is_empty() {
        let last = ran.output.lines().last().unwrap_or_default();
        return Err(io::Error::other(format!("it sent its model no request ({last})")));
    }
    let whole = fs::read_to_string(root.join("where.txt"));
    let rewritten = whole.is_ok_and(|place| place.trim_end() == root.to_string_lossy());
    let as_it_was = below.join("where.txt").exists();
    Ok(vec![denial(client, outside.exists(), &seen), rewriting(client, rewritten, as_it_was, &seen)])
}

fn denial(client: &dyn Client, written: bool, seen: &Seen) -> Check {
    let name = client.name();
    match (written, seen.result_says(REASON)) {
        (true, _) => Check::new("live", Status::Fail, format!("{name} ran a call that was denied")),
        (false, true) => Check::new("live", Status::Ok, format!("{name} did not run a call that was denied")),
        (false, false) => {
            let text =
                format!("{name} did not run a call that had to be denied, but did not tell its model why");
            Check::new("live", Status::Warn, text)
        }
    }
}

fn rewriting(client: &dyn Client, rewritten: bool, as_it_was: bool, seen: &Seen) -> Check {
    let name = client.name();
    if rewritten {
        Check::new("live", Status::Ok, format!("{name} ran a rewritten call in its new form"))
    } else if as_it_was {
        Check::new("live", Status::Fail, format!("{name} ran a rewritten call in its original form"))
    } else if seen.result_says("cannot change a call") {
        let text = format!("{name} cannot change calls; what would be rewritten is denied with a hint");
        Check::new("live", Status::Ok, text)
    } else {
        Check::new("live", Status::Warn, format!("{name} did not run a call that was rewritten"))
    }
}
