//! The hook's own binary, installed as `toolgate`: the line and nothing else. Every other command is that of `toolgate-cli`,
//! which lies beside it.
//!
//! Why: it is spawned for every call, and a process that lives 0.3 ms pays for every page of code between the ones that it needs.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::{env, io};

use toolgate_arena::Arena;
use toolgate_gate::hook;

#[global_allocator]
static MEMORY: Arena = Arena::new();

fn main() -> ExitCode {
    match hook::arguments() {
        Some(args) => hook::run(args, None),
        None => command_line(),
    }
}

/// Becomes the command line.
fn command_line() -> ExitCode {
    let beside = env::current_exe().map(|binary| binary.with_file_name("toolgate-cli"));
    let error = match &beside {
        Ok(cli) => Command::new(cli).args(env::args_os().skip(1)).exec(),
        Err(_) => io::Error::other("cannot find itself"),
    };
    let place = beside.unwrap_or_default();
    let _ =
        writeln!(io::stderr(), "toolgate: `{}` cannot be started ({error}); install both", place.display());
    ExitCode::FAILURE
}
