//! The `toolgate` binary. The hook comes first: it is spawned for every call, and what it does not need, an
//! argument parser for one, it does not touch.

use std::env;
use std::process::ExitCode;

use toolgate_gate::hook;
use toolgate_arena::Arena;

#[global_allocator]
static MEMORY: Arena = Arena::new();

fn main() -> ExitCode {
    let mut args = env::args_os().skip(1);
    if args.next().is_some_and(|command| command == "hook") && !asks_for_help() {
        return hook::run(args);
    }
    command_line()
}

fn asks_for_help() -> bool {
    env::args_os().skip(2).any(|arg| arg == "--help" || arg == "-h")
}

#[cfg(feature = "cli")]
fn command_line() -> ExitCode {
    toolgate::cli::run()
}

/// Becomes the command line, which lies beside this binary.
#[cfg(not(feature = "cli"))]
fn command_line() -> ExitCode {
    use std::io::Write;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    let beside = env::current_exe().map(|binary| binary.with_file_name("toolgate-cli"));
    let error = match &beside {
        Ok(cli) => Command::new(cli).args(env::args_os().skip(1)).exec(),
        Err(_) => std::io::Error::other("cannot find itself"),
    };
    let place = beside.unwrap_or_default();
    let _ = writeln!(
        std::io::stderr(),
        "toolgate: `{}` cannot be started ({error}); install both",
        place.display()
    );
    ExitCode::FAILURE
}
