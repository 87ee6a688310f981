//! `toolgate self-test STATE`: tries a sandbox in a process of its own, for the hook and for `toolgate doctor`.
//!
//! Exit code 0: it holds, and the level is printed. 1: it does not, and what was found is printed.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use toolgate_gate::machine::ThisMachine;
use toolgate_gate::process;
use toolgate_gate::self_test::{COMMAND, PROBE, run};
use toolgate_sandbox::probe;

/// Reads the arguments of this process, and does what they ask for. `None`: they are for others to read.
pub fn of_arguments() -> Option<ExitCode> {
    let mut words = process::words().skip(1);
    let first = words.next()?;
    if first == PROBE {
        let (directory, outside) = (words.next()?, words.next()?);
        return Some(ExitCode::from(probe(&directory, &outside)));
    }
    if first != COMMAND {
        return None;
    }
    let state = words.next()?;
    let (told, code) = match run(&ThisMachine::new(None), Path::new(&state)) {
        Ok(level) => (level.word().to_owned(), ExitCode::SUCCESS),
        Err(found) => (found.to_string(), ExitCode::FAILURE),
    };
    let _ = writeln!(io::stdout(), "{told}");
    Some(code)
}
