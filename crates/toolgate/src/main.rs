//! The whole program: the command line, and the hook with all that it can be asked. Installed as `toolgate-cli`, or alone as
//! `toolgate`.

use std::process::ExitCode;

use toolgate_arena::Arena;
use toolgate_gate::hook;
use toolgate_setup::WholeProgram;

#[global_allocator]
static MEMORY: Arena = Arena::new();

fn main() -> ExitCode {
    // The hook comes first: what it does not need, an argument parser for one, it does not touch.
    match hook::arguments() {
        Some(args) => {
            MEMORY.end_with(hook::MAX_MEMORY, hook::refuse_without_memory);
            hook::run(args, Some(&WholeProgram))
        }
        None => other_command().unwrap_or_else(toolgate::cli::run),
    }
}

/// Processes of ours that toolgate starts itself.
fn other_command() -> Option<ExitCode> {
    #[cfg(target_os = "linux")]
    if let Some(ended) = toolgate::proxy::of_arguments() {
        return Some(ended);
    }
    toolgate::self_test::of_arguments()
}
