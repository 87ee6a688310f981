//! The one budget of an analysis. Texts that are copied, compared and parsed, looks at the disk and steps of any walk
//! are paid from it, so that no command takes longer or more memory than it allows.
//!
//! Against whom: a command of 200 bytes whose variables double until the gate is late or out of memory. Whoever writes one
//! looks for the operation that nobody counts; so texts pay by themselves, in `clone` and `==` too, and not where they
//! are used. The [counter](toolgate_model::work) is the one that policies pay from too.
//!
//! Once nothing is left, every text is "anything", the disk says nothing and no
//! command is walked, so that the end comes soon; the interpreter then says that it was too much
//! (`crates/effects/src/shell/bounds.rs`).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use toolgate_model::work;
pub use toolgate_model::work::MAX_WORK;
pub(crate) use toolgate_model::work::{give_up, is_spent, pay, pay_for, spent, within};
use toolgate_model::{Entry, FileStamp, LookError, Node, World};

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
/// So many other answers of the disk are kept.
const MAX_ANSWERS: usize = 256;
/// So long may a file be that is kept: a pointer, a note, settings.
const SHORT: usize = 8 * 1024;
/// From here on a byte that is read costs little: no script or recipe is so long.
const LONG: usize = 1024 * 1024;

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

/// So many names of a directory can be paid, and something is left then.
fn affordable() -> usize {
    usize::try_from(work::left() / (2 * NAME as u64)).unwrap_or(usize::MAX)
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

/// The beginning of a file: how much of it was asked for, and what that is; `None` where there was none.
type Beginning = (usize, Option<Vec<u8>>);

/// The disk, each look of which is paid for. When nothing is left, or it is too late, nothing can be seen any more.
pub(crate) struct PaidWorld<'w> {
    world: &'w dyn World,
    /// Directories that were listed: one pattern in a loop asks for the same one again and again. Of a large one it is known
    /// how many names it has at least.
    listed: RefCell<BTreeMap<PathBuf, Result<Vec<Entry>, usize>>>,
    /// What stood where somebody looked. Each command of git goes by the same pointers, again for each of its questions. By their bytes: comparing
    /// paths part by part would cost more than a look.
    looked: RefCell<BTreeMap<OsString, Result<Node, LookError>>>,
    /// Short files that were read.
    read: RefCell<BTreeMap<OsString, Beginning>>,
}

impl<'w> PaidWorld<'w> {
    pub(crate) fn new(world: &'w dyn World) -> PaidWorld<'w> {
        PaidWorld { world, listed: RefCell::default(), looked: RefCell::default(), read: RefCell::default() }
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
        if !self.may_look() {
            return Err(LookError::Failed);
        }
        let mut looked = self.looked.borrow_mut();
        if let Some(found) = looked.get(path.as_os_str()) {
            return found.clone();
        }
        let found = self.world.look(path);
        if looked.len() < MAX_ANSWERS && matches!(found, Ok(_) | Err(LookError::Absent)) {
            looked.insert(path.as_os_str().to_owned(), found.clone());
        }
        found
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
        let mut known = self.read.borrow_mut();
        if let Some((asked, content)) = known.get(path.as_os_str())
            && *asked >= limit
        {
            let content = content.as_ref().ok_or(io::ErrorKind::NotFound)?;
            let content = content.get(..limit).unwrap_or(content).to_owned();
            pay_for(content.len(), 2);
            return Ok(content);
        }
        let bytes = self.world.read(path, limit);
        let content = match &bytes {
            Ok(bytes) => (bytes.len() <= SHORT).then(|| Some(bytes.clone())),
            Err(error) => (error.kind() == io::ErrorKind::NotFound).then_some(None),
        };
        if let Some(content) = content.filter(|_| known.len() < MAX_ANSWERS) {
            known.insert(path.as_os_str().to_owned(), (limit, content));
        }
        let bytes = bytes?;
        pay_for(bytes.len().min(LONG), 2);
        // What is longer is not text that is parsed but an index of git, which is passed over.
        pay(bytes.len().saturating_sub(LONG) / 8);
        Ok(bytes)
    }

    fn noted(&self, path: &Path, about: &str) -> Option<Vec<u8>> {
        self.may_look().then(|| self.world.noted(path, about)).flatten()
    }

    fn note(&self, path: &Path, about: &str, what: &[u8]) {
        // What was not gone through to its end is no finding.
        if self.may_look() {
            self.world.note(path, about, what);
        }
    }

    /// No more is asked for than can be paid. A directory that has more costs what was read of it.
    fn entries(&self, path: &Path, most: usize) -> io::Result<Option<Vec<Entry>>> {
        if !self.may_look() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let most = most.min(affordable());
        let mut listed = self.listed.borrow_mut();
        match listed.get(path) {
            Some(Ok(entries)) if entries.len() <= most => {
                pay_for(entries.len(), NAME_AGAIN);
                return Ok(Some(entries.clone()));
            }
            Some(Ok(_)) => return Ok(None),
            Some(Err(least)) if *least >= most => return Ok(None),
            Some(Err(_)) | None => {}
        }
        let found = self.world.entries(path, most)?;
        pay_for(found.as_ref().map_or(most, Vec::len), NAME);
        if listed.len() < MAX_KEPT || listed.contains_key(path) {
            listed.insert(path.to_path_buf(), found.clone().ok_or(most));
        }
        Ok(found)
    }

    fn is_late(&self) -> bool {
        self.world.is_late()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A disk that counts the questions it is asked.
    struct Asked(Cell<usize>);

    impl World for Asked {
        fn look(&self, _: &Path) -> Result<Node, LookError> {
            self.0.set(self.0.get() + 1);
            Err(LookError::Absent)
        }
        fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
            self.0.set(self.0.get() + 1);
            match path.to_str() {
                Some("/short") => Ok(b"0123456789".iter().copied().take(limit).collect()),
                Some("/long") => Ok(vec![b'x'; limit]),
                _ => Err(io::ErrorKind::NotFound.into()),
            }
        }
        fn entries(&self, _: &Path, _: usize) -> io::Result<Option<Vec<Entry>>> {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    #[test]
    fn the_disk_is_asked_once_and_paid_for_each_time() {
        let asked = Asked(Cell::new(0));
        let world = PaidWorld::new(&asked);
        let text =
            |path: &str, limit: usize| world.read(Path::new(path), limit).map(|bytes| bytes.len()).ok();
        within(|| {
            assert_eq!(
                [world.look(Path::new("/a")), world.look(Path::new("/a"))],
                [const { Err(LookError::Absent) }; 2]
            );
            assert_eq!((text("/b", 9), text("/b", 5), asked.0.get()), (None, None, 2));
            let before = spent();
            assert_eq!(
                (text("/short", 64), text("/short", 64), text("/short", 4)),
                (Some(10), Some(10), Some(4))
            );
            assert_eq!(asked.0.get(), 3);
            assert!(spent() - before > 3 * LOOK as u64);
            // An index of half a million files leaves something for the command.
            let before = spent();
            assert_eq!(text("/long", 64 * LONG), Some(64 * LONG));
            assert!(spent() - before < MAX_WORK * 3 / 4 && !is_spent());
            let asked_before = asked.0.replace(3);
            assert_eq!(asked_before, 4);
            // What was cut off is not all there is.
            assert_eq!((text("/long", 4), text("/long", 8), asked.0.get()), (Some(4), Some(8), 5));
            assert_eq!(
                (text("/long", SHORT + 1), text("/long", SHORT + 1), asked.0.get()),
                (Some(SHORT + 1), Some(SHORT + 1), 7)
            );
            give_up();
            assert_eq!((world.look(Path::new("/a")), text("/short", 4)), (Err(LookError::Failed), None));
        });
    }

    /// A directory of a million names, and how many of them were asked for.
    struct Endless(Cell<usize>);

    impl World for Endless {
        fn look(&self, _: &Path) -> Result<Node, LookError> {
            Err(LookError::Absent)
        }
        fn read(&self, _: &Path, _: usize) -> io::Result<Vec<u8>> {
            Err(io::ErrorKind::NotFound.into())
        }
        fn entries(&self, _: &Path, most: usize) -> io::Result<Option<Vec<Entry>>> {
            self.0.set(self.0.get() + most);
            Ok(None)
        }
    }

    #[test]
    fn a_large_directory_is_read_once_and_no_further_than_it_is_paid_for() {
        let endless = Endless(Cell::new(0));
        within(|| {
            let paid = PaidWorld::new(&endless);
            for _ in 0..100 {
                assert_eq!(paid.names(Path::new("/d"), 1_000).unwrap(), None);
            }
            assert_eq!(endless.0.get(), 1_000, "what is known is not asked again");
            for number in 0..10_000 {
                let _ = paid.entries(Path::new(&format!("/{number}")), 1_000_000);
            }
            assert!(endless.0.get() < 60_000, "{} names", endless.0.get());
            assert_eq!((paid.names(Path::new("/e"), usize::MAX).ok().flatten(), is_spent()), (None, true));
        });
    }
}
