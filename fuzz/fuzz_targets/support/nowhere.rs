//! A machine with nothing on it.

use std::io;
use std::path::{Path, PathBuf};

use toolgate_effects::Scene;
use toolgate_model::{LookError, Node, World};

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

/// A shell on it.
pub const SCENE: Scene<'_> = Scene {
    world: &Nowhere,
    cwd: Some("/w"),
    root: None,
    home: Some("/h"),
    tmp: Some("/tmp"),
    unset: &|_| true,
};
