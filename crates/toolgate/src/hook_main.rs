//! The hook's own binary, installed as `toolgate`: the line, and what runs commands in their sandbox, `shell` and `exec`, and tries that.
//! Every other command is that of `toolgate-cli`, which lies beside it.
//!
//! Why: it is spawned for every call, and a process that lives 0.3 ms pays for every page of code between the ones that it needs.

#![cfg_attr(not(test), no_main)]

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::{env, io};

use toolgate::exec::Exec;
use toolgate::launcher::Launched;
use toolgate::self_test;
use toolgate_arena::Arena;
use toolgate_gate::hook;
use toolgate_gate::line::NeedsSetup;
use toolgate_gate::process;

#[global_allocator]
static MEMORY: Arena = Arena::new();

#[cfg(not(test))]
toolgate_arena::begin_with!(begin);

/// Begins without what the standard library does before `main`.
#[cfg_attr(test, expect(dead_code, reason = "tests have a `main` of their own"))]
fn begin(words: Vec<OsString>) -> ExitCode {
    if !process::begin(words) {
        // Exit 2 blocks in every host whose hooks are commands.
        return ExitCode::from(2);
    }
    if let Some(args) = hook::arguments() {
        MEMORY.end_with(hook::MAX_MEMORY, hook::refuse_without_memory);
        return hook::run(args, None);
    }
    let ended = other_command();
    // What was printed and is not a whole line yet. Where nobody reads it, that changes nothing of how it ended.
    let _ = io::stdout().flush();
    ended
}

/// What the start of a contained command asks for.
const OF_A_SANDBOX: usize = 224 * 1024;

/// Whatever is not a hook.
fn other_command() -> ExitCode {
    MEMORY.make_ready(OF_A_SANDBOX);
    if let Some(launched) = Launched::of_arguments() {
        return launched.map_or_else(|refused| refused, Launched::contain);
    }
    if let Some(tested) = self_test::of_arguments() {
        return tested;
    }
    match Exec::of_arguments().map(|exec| exec.run(None)) {
        Some(Ok(ended)) => ended,
        // Nothing has run yet. The whole program compiles the settings, and the next command finds them so.
        Some(Err(NeedsSetup)) | None => command_line(),
    }
}

/// Becomes the command line.
fn command_line() -> ExitCode {
    let beside = env::current_exe().map(|binary| binary.with_file_name("toolgate-cli"));
    let error = match &beside {
        Ok(cli) => Command::new(cli).args(process::words().skip(1)).exec(),
        Err(_) => io::Error::other("cannot find itself"),
    };
    let place = beside.unwrap_or_default();
    let _ =
        writeln!(io::stderr(), "toolgate: `{}` cannot be started ({error}); install both", place.display());
    ExitCode::FAILURE
}
