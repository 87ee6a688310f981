//! The `toolgate` binary. The hook comes first: it is spawned for every call, and what it does not need, an
//! argument parser for one, it does not touch.

use std::env;
use std::process::ExitCode;

use toolgate::{cli, hook};

fn main() -> ExitCode {
    let mut args = env::args_os().skip(1);
    if args.next().is_some_and(|command| command == "hook") && !asks_for_help() {
        return hook::run(args);
    }
    cli::run()
}

fn asks_for_help() -> bool {
    env::args_os().skip(2).any(|arg| arg == "--help" || arg == "-h")
}
