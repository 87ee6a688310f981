//! The one budget of an analysis. Texts that are copied, compared and parsed, looks at the disk and steps of any walk
//! are paid from it, so that no command takes longer or more memory than it allows.
//!
//! Against whom: a command of 200 bytes whose variables double until the gate is late or out of memory. Whoever writes one
//! looks for the operation that nobody counts; so texts pay by themselves, in `clone` and `==` too, and not where they
//! are used. That is why the budget is the thread's own and no argument. Nobody outside sees that: the outermost [`within`]
//! begins with a full budget, and leaves none behind.
//!
//! A unit is about a byte that is copied. Once nothing is left, every text is "anything", the disk says nothing and no
//! command is walked, so that the end comes soon; the interpreter then says that it was too much
//! (`crates/effects/src/shell/bounds.rs`).

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use toolgate_model::{FileStamp, LookError, Node, World};

/// What one analysis may cost. The longest real scripts take a tenth of it; the processor is through with it in less than 100
/// ms, and no memory that was not paid for is held.
pub const MAX_WORK: u64 = 16 * 1024 * 1024;
/// An allocation, whatever its size.
pub(crate) const COPY: usize = 80;
/// For each byte of a program in another language, which is walked several times.
pub(crate) const SCAN: usize = 32;
/// One question to the disk.
const LOOK: usize = 1024;
/// One name in a directory that is read, and in one that was.
const NAME: usize = 320;
const NAME_AGAIN: usize = 32;
/// So many directories are kept.
const MAX_KEPT: usize = 8;

thread_local! {
    /// What is left. Outside of an analysis there is no end to it.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Pays for some work.
pub(crate) fn pay(units: usize) {
    LEFT.with(|left| left.set(left.get().saturating_sub(units as u64)));
}

/// Pays for as many units for each of so many bytes.
pub(crate) fn pay_for(bytes: usize, each: usize) {
    pay(bytes.saturating_mul(each));
}

/// Pays for a text that is parsed, by what can come of it: a tree is far larger than its text.
pub(crate) fn pay_for_tree(text: &str) {
    let cost = |byte: u8| match byte {
        // A command.
        b';' | b'&' | b'|' | b'\n' | b'(' => 512,
        // A word, or a part of one.
        b' ' | b'\t' | b'$' | b'`' | b'"' | b'\'' | b'{' | b'\\' => 128,
        _ => 8,
    };
    pay(text.bytes().map(cost).sum());
}

/// Whether nothing is left.
pub(crate) fn is_spent() -> bool {
    LEFT.with(|left| left.get() == 0)
}

/// Spends all that is left: it is too late for more.
pub(crate) fn give_up() {
    LEFT.with(|left| left.set(0));
}

/// What an analysis has spent so far.
pub(crate) fn spent() -> u64 {
    LEFT.with(|left| MAX_WORK.saturating_sub(left.get()))
}

/// Works within a budget: the one that there is, or a new one. So a call of several commands has one for all.
pub(crate) fn within<T>(work: impl FnOnce() -> T) -> T {
    struct Before(u64);
    impl Drop for Before {
        fn drop(&mut self) {
            LEFT.with(|left| left.set(self.0));
        }
    }
    let before = LEFT.with(Cell::get);
    if before <= MAX_WORK {
        return work();
    }
    let _before = Before(before);
    LEFT.with(|left| left.set(MAX_WORK));
    work()
}

/// Pays whenever it is copied: stands in what is copied often and holds no text.
#[derive(Debug, Default)]
pub(crate) struct Toll;

impl Clone for Toll {
    fn clone(&self) -> Toll {
        pay(COPY * 16);
        Toll
    }
}

/// The disk, each look of which is paid for. When nothing is left, or it is too late, nothing can be seen any more.
pub(crate) struct PaidWorld<'w> {
    world: &'w dyn World,
    /// Directories that were listed: one pattern in a loop asks for the same one again and again.
    listed: RefCell<BTreeMap<PathBuf, Vec<PathBuf>>>,
}

impl<'w> PaidWorld<'w> {
    pub(crate) fn new(world: &'w dyn World) -> PaidWorld<'w> {
        PaidWorld { world, listed: RefCell::default() }
    }

    fn may_look(&self) -> bool {
        pay(LOOK);
        if self.world.is_late() {
            give_up();
        }
        !is_spent()
    }
}

impl World for PaidWorld<'_> {
    fn look(&self, path: &Path) -> Result<Node, LookError> {
        if self.may_look() { self.world.look(path) } else { Err(LookError::Failed) }
    }

    fn look_straight(&self, path: &Path) -> Option<Result<Node, LookError>> {
        if self.may_look() { self.world.look_straight(path) } else { Some(Err(LookError::Failed)) }
    }

    fn born(&self, path: &Path) -> Option<(i64, i64)> {
        self.may_look().then(|| self.world.born(path)).flatten()
    }

    fn is_writable(&self, path: &Path) -> bool {
        !self.may_look() || self.world.is_writable(path)
    }

    fn stamp(&self, path: &Path) -> Result<FileStamp, LookError> {
        if self.may_look() { self.world.stamp(path) } else { Err(LookError::Failed) }
    }

    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        if !self.may_look() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let bytes = self.world.read(path, limit)?;
        pay_for(bytes.len(), 2);
        Ok(bytes)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        if !self.may_look() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut listed = self.listed.borrow_mut();
        if let Some(names) = listed.get(path) {
            pay_for(names.len(), NAME_AGAIN);
            return Ok(names.clone());
        }
        let names = self.world.list(path)?;
        pay_for(names.len(), NAME);
        if listed.len() < MAX_KEPT {
            listed.insert(path.to_path_buf(), names.clone());
        }
        Ok(names)
    }

    fn is_late(&self) -> bool {
        self.world.is_late()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_for_all_that_happens_within_it() {
        within(|| {
            pay(5);
            within(|| pay(7));
            assert_eq!((spent(), is_spent()), (12, false), "one budget for all");
            give_up();
            assert!(is_spent());
        });
        assert!(!is_spent());
        within(|| assert_eq!(spent(), 0));
        pay_for(1 << 30, 1 << 10);
        assert!(!is_spent(), "nobody pays outside of an analysis");
    }
}
