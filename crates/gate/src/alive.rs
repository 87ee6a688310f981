//! Whether a contained program is still alive that may write what a call of this worktree uses.
//!
//! Against whom: a program that an earlier call has left in the background. It may exchange files and links between our check
//! and the run. Sessions lie in each other (worktrees in a checkout), so a program counts for every root above and below its own.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use toolgate_model::World;
use toolgate_sandbox::{Alive, is_mark};

use crate::contain::private;
use crate::dirs::Dirs;
use crate::machine::Machine;

/// What is locked while a contained program of this root is alive.
pub(crate) fn locked_for(dirs: &Dirs, root: &Path) -> Alive {
    let below = root.ancestors().map(|above| mark(above, BELOW));
    let marks = std::iter::once(mark(root, AT)).chain(below).collect();
    Alive { file: file(dirs), marks, others: asked_for(root) }
}

/// Whether one is alive: of this root, of one below it, or of one above it. Some microseconds, and one where nothing was ever contained.
///
/// One that has ended since counts too, until a contained command has looked at what it left: git's own files, and settings of hosts.
pub(crate) fn is_any_alive(machine: &dyn Machine, dirs: &Dirs, root: &Path) -> bool {
    machine.is_alive(&file(dirs), &asked_for(root))
        || root.ancestors().any(|root| is_unseen(machine.world(), &private(dirs, root)))
}

/// Whether a command has left processes behind in whose work nobody has looked since. A directory that cannot be looked at says yes.
fn is_unseen(world: &dyn World, private: &Path) -> bool {
    const MOST: usize = 4096;
    match world.names(private, MOST) {
        Ok(Some(names)) => names.iter().any(|name| is_mark(name)),
        Ok(None) => true,
        Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    }
}

fn asked_for(root: &Path) -> Vec<u64> {
    let above = root.ancestors().skip(1).map(|above| mark(above, AT));
    std::iter::once(mark(root, BELOW)).chain(above).collect()
}

fn file(dirs: &Dirs) -> PathBuf {
    dirs.state.join("alive").join("commands")
}

/// A program runs in this very root.
const AT: u8 = 0;
/// A program runs in this root or in one below it.
const BELOW: u8 = 1;

/// A number for a place. Should two places ever have the same, more is contained than need be.
fn mark(place: &Path, word: u8) -> u64 {
    let digest = Sha256::new().chain_update([word]).chain_update(place.as_os_str().as_encoded_bytes());
    let number = digest.finalize().into_iter().take(8).fold(0, |number, byte| number << 8 | u64::from(byte));
    // The last byte of a file is 2⁶³ - 2.
    number >> 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_above_and_below_are_asked_for_and_neighbours_are_not() {
        let dirs = Dirs::of_home(Path::new("/home/u"));
        let running = locked_for(&dirs, Path::new("/src/main/trees/a"));
        let meets = |root: &str| asked_for(Path::new(root)).iter().any(|mark| running.marks.contains(mark));
        for root in ["/src/main/trees/a", "/src/main", "/src", "/", "/src/main/trees/a/b"] {
            assert!(meets(root), "{root}");
        }
        for root in ["/src/main/trees/b", "/src/other", "/src/main/trees/a-b", "/home"] {
            assert!(!meets(root), "{root}");
        }
    }
}
