//! What all tests of the workspace begin with.

pub(crate) mod child;
pub(crate) mod namespace;
pub(crate) mod whole;

use std::path::Path;

use tempfile::TempDir;
use toolgate_workspace::{Declaration, Pattern, Workspaces};

/// A place of its own, where there is no disk to wait for if the system has such.
pub(crate) fn place() -> TempDir {
    TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap()
}

/// A base in a place of its own, with room beside it.
pub(crate) fn base() -> (TempDir, Workspaces) {
    let top = place();
    let base = base_in(top.path());
    (top, base)
}

/// The base of that place.
pub(crate) fn base_in(top: &Path) -> Workspaces {
    Workspaces::open(&top.join("base")).unwrap()
}

pub(crate) fn declaration(inputs: &[&str], outputs: &[&str]) -> Declaration {
    let patterns = |list: &[&str]| list.iter().map(|text| Pattern::parse(text).unwrap()).collect();
    Declaration { inputs: patterns(inputs), outputs: patterns(outputs), ..Declaration::default() }
}
