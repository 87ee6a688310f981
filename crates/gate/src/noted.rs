//! What toolgate found in a large file, kept for later calls, so that it reads the file once and not for every call.
//!
//! Against whom: somebody who changes the file, so that we judge by its old content. A note holds for one state of one file (its number, size, times
//! of modification and change), and a file that changed a moment ago is not noted: it could change again within the same tick of the clock. Notes
//! lie in our state, where no agent writes; one that is damaged, of another build or of another file is none.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use toolgate_model::{FileStamp, World};

use crate::settings::BUILD;
use crate::store::{checksum, read_checked, write_checked};

/// Where notes are, in our state.
pub(crate) const NOTES: &str = "noted";
/// What is shorter is gone through sooner than its note is found.
const LEAST: u64 = 32 * 1024;
/// A note is a few names.
const MAX_NOTE: usize = 256 * 1024;
/// A file that has stood for so many seconds has a time of change that no other state of it has.
const SETTLED: i64 = 2;

/// Notes about files.
#[derive(Default)]
pub(crate) struct Notes {
    /// Where they lie; nothing is noted where that is not known.
    pub(crate) state: Option<PathBuf>,
    /// What was asked for last, and what the file was then. It is read after that, so what changes in between belongs to no note.
    asked: RefCell<Option<(PathBuf, FileStamp)>>,
}

#[derive(Serialize, Deserialize)]
struct Note {
    build: String,
    about: String,
    file: PathBuf,
    stamp: FileStamp,
    what: Vec<u8>,
}

impl Notes {
    /// What was noted about this file as it is now.
    pub(crate) fn find(&self, world: &dyn World, file: &Path, about: &str) -> Option<Vec<u8>> {
        let state = self.state.as_deref()?;
        let stamp = world.stamp(file).ok().filter(|stamp| stamp.size >= LEAST)?;
        let found = read_checked(world, &place(state, file, about), MAX_NOTE).ok().flatten();
        let found = found.and_then(|bytes| postcard::from_bytes::<Note>(&bytes).ok());
        let holds = |note: &Note| {
            note.build == BUILD && note.about == about && note.file == file && note.stamp == stamp
        };
        let found = found.filter(holds).map(|note| note.what);
        *self.asked.borrow_mut() = found.is_none().then(|| (file.to_path_buf(), stamp));
        found
    }

    /// Notes what was found in the file that was asked for last. A note that cannot be written costs time, and nothing else.
    pub(crate) fn add(&self, world: &dyn World, file: &Path, about: &str, what: &[u8], now: SystemTime) {
        let Some(state) = self.state.as_deref() else { return };
        let Some((asked, stamp)) = self.asked.borrow_mut().take() else { return };
        if asked != file || !is_settled(&stamp, now) || world.stamp(file) != Ok(stamp.clone()) {
            return;
        }
        let note = Note {
            build: BUILD.to_owned(),
            about: about.to_owned(),
            file: asked,
            stamp,
            what: what.to_owned(),
        };
        if let Ok(bytes) = postcard::to_allocvec(&note)
            && bytes.len() < MAX_NOTE
        {
            let _ = write_checked(&place(state, file, about), bytes);
        }
    }
}

fn is_settled(stamp: &FileStamp, now: SystemTime) -> bool {
    let now = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_secs().cast_signed());
    stamp.changed.0 <= now - SETTLED && stamp.modified.0 <= now - SETTLED
}

/// Two files with one name for their notes take turns: each note says what it is about.
fn place(state: &Path, file: &Path, about: &str) -> PathBuf {
    let name = checksum(file.as_os_str().as_encoded_bytes()) ^ checksum(about.as_bytes());
    state.join(NOTES).join(format!("{name:016x}"))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write files, as programs of a person would")]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;
    use crate::disk::Disk;

    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(5)
    }

    fn notes(state: &Path) -> Notes {
        Notes { state: Some(state.to_path_buf()), ..Notes::default() }
    }

    #[test]
    fn a_note_holds_for_one_state_of_one_file() {
        let scratch = tempfile::tempdir().unwrap();
        let (state, file) = (scratch.path().join("state"), scratch.path().join("large"));
        let disk = Disk::default();
        fs::write(&file, vec![1; 40_000]).unwrap();
        let notes = notes(&state);
        assert_eq!(notes.find(&disk, &file, "a"), None);
        notes.add(&disk, &file, "a", b"found", later());
        assert_eq!(notes.find(&disk, &file, "a").as_deref(), Some(&b"found"[..]));
        assert_eq!(notes.find(&disk, &file, "b"), None, "it is about something else");
        // The same length and the same date: only the time of change tells.
        let date = fs::metadata(&file).unwrap().modified().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        fs::write(&file, vec![2; 40_000]).unwrap();
        fs::File::options().write(true).open(&file).unwrap().set_modified(date).unwrap();
        assert_eq!(notes.find(&disk, &file, "a"), None);
        // Another file in its place.
        notes.add(&disk, &file, "a", b"anew", later());
        assert!(notes.find(&disk, &file, "a").is_some());
        fs::write(scratch.path().join("other"), vec![2; 40_000]).unwrap();
        fs::rename(scratch.path().join("other"), &file).unwrap();
        assert_eq!(notes.find(&disk, &file, "a"), None);
    }

    #[test]
    fn what_may_still_be_changing_is_not_noted() {
        let scratch = tempfile::tempdir().unwrap();
        let (state, file) = (scratch.path().join("state"), scratch.path().join("large"));
        let disk = Disk::default();
        let notes = notes(&state);
        fs::write(&file, vec![1; 40_000]).unwrap();
        // It changed a moment ago.
        assert_eq!(notes.find(&disk, &file, "a"), None);
        notes.add(&disk, &file, "a", b"found", SystemTime::now());
        assert_eq!(notes.find(&disk, &file, "a"), None);
        // It changed between the look and the note.
        std::thread::sleep(Duration::from_millis(20));
        fs::write(&file, vec![2; 50_000]).unwrap();
        notes.add(&disk, &file, "a", b"found", later());
        assert_eq!(notes.find(&disk, &file, "a"), None);
        // Nobody asked for it.
        notes.add(&disk, scratch.path(), "a", b"found", later());
        notes.add(&disk, &file, "a", b"found", later());
        assert_eq!(notes.find(&disk, &file, "a"), None);
        assert!(!state.exists());
    }

    #[test]
    fn a_damaged_note_is_none() {
        let scratch = tempfile::tempdir().unwrap();
        let (state, file) = (scratch.path().join("state"), scratch.path().join("large"));
        let disk = Disk::default();
        let notes = notes(&state);
        fs::write(&file, vec![1; 40_000]).unwrap();
        notes.find(&disk, &file, "a");
        notes.add(&disk, &file, "a", b"found", later());
        let note = place(&state, &file, "a");
        let whole = fs::read(&note).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&note, bytes).unwrap();
            assert_eq!(notes.find(&disk, &file, "a"), None, "{at}");
        }
        fs::write(&note, whole).unwrap();
        assert!(notes.find(&disk, &file, "a").is_some());
    }
}
