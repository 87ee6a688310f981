//! Any text as a shell command: interpreted within bounds, never a panic, and what could not be read is told.

#![no_main]

use std::io;
use std::path::{Path, PathBuf};

use libfuzzer_sys::fuzz_target;
use toolgate_effects::{Scene, analyse, confined};
use toolgate_model::{Effect, LookError, Node, World};

/// A machine with nothing on it.
struct Nowhere;

impl World for Nowhere {
    fn look(&self, _: &Path) -> Result<Node, LookError> {
        Err(LookError::Absent)
    }
    fn read(&self, _: &Path, _: usize) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }
    fn list(&self, _: &Path) -> io::Result<Vec<PathBuf>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

fuzz_target!(|text: &str| {
    let scene =
        Scene { world: &Nowhere, cwd: Some("/w"), home: Some("/h"), tmp: Some("/tmp"), unset: &|_| true };
    let found = analyse(text, &scene);
    let told = found.effects.iter().any(|effect| matches!(effect, Effect::Unknown(_)));
    assert!(toolgate_shell::parse(text).error.is_none() || told, "what cannot be read is told");
    let _ = confined(text, "/w");
});
