//! Whether a contained program is alive that may write what a call of this worktree uses.
//!
//! Against whom: a program that an earlier call has left in the background. It may exchange files and links between our look
//! and the run. Sessions lie in each other (worktrees in a checkout), so a program counts for every root above and below its own.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::dirs::Dirs;
use crate::machine::Machine;
use crate::store::hex;

/// The files that are locked while a contained program of this root is alive.
pub(crate) fn locked_for(dirs: &Dirs, root: &Path) -> Vec<PathBuf> {
    let below = root.ancestors().map(|above| file(dirs, above, "below"));
    std::iter::once(file(dirs, root, "at")).chain(below).collect()
}

/// Whether one is alive: of this root, of one below it, or of one above it. Some microseconds, and one where nothing was ever contained.
pub(crate) fn is_any_alive(machine: &dyn Machine, dirs: &Dirs, root: &Path) -> bool {
    machine.world().look(&directory(dirs)).is_ok()
        && (machine.is_locked(&file(dirs, root, "below"))
            || root.ancestors().skip(1).any(|above| machine.is_locked(&file(dirs, above, "at"))))
}

fn directory(dirs: &Dirs) -> PathBuf {
    dirs.state.join("alive")
}

fn file(dirs: &Dirs, place: &Path, word: &str) -> PathBuf {
    let name = hex(&Sha256::digest(place.as_os_str().as_encoded_bytes()));
    directory(dirs).join(format!("{}-{word}", name.get(..16).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_above_and_below_are_asked_for_and_neighbours_are_not() {
        let dirs = Dirs::of_home(Path::new("/home/u"));
        let asked = |root: &str| {
            let root = Path::new(root);
            let above = root.ancestors().skip(1).map(|above| file(&dirs, above, "at"));
            std::iter::once(file(&dirs, root, "below")).chain(above).collect::<Vec<_>>()
        };
        let running = locked_for(&dirs, Path::new("/src/main/trees/a"));
        let meets = |root: &str| asked(root).iter().any(|file| running.contains(file));
        for root in ["/src/main/trees/a", "/src/main", "/src", "/", "/src/main/trees/a/b"] {
            assert!(meets(root), "{root}");
        }
        for root in ["/src/main/trees/b", "/src/other", "/src/main/trees/a-b", "/home"] {
            assert!(!meets(root), "{root}");
        }
    }
}
