//! What pins are as long as a command of level `landlock` or a background job of it lives, for the commands that begin meanwhile.
//!
//! What a command changes is put back when it has ended, and what a job changes a moment later. A command that begins before that must not take the
//! change for what was there before: it would put it back in its turn, after the other one and its keeper are gone. So a keeper notes what its pins
//! are, and whoever begins waits until they are so. A keeper that sees somebody wait puts them back, also while its command runs.
//!
//! Most commands are over in a moment. So the note comes a moment after the command has begun, and until then nobody else begins ([`Turn`]).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, fstat, openat, unlinkat};
use rustix::io::Errno;
use rustix::process::getpid;
use sha2::{Digest, Sha256};

use super::{Pins, State};
use crate::path::{names_in, open_directory, open_or_make, read_to_end};
use crate::sys;

/// A keeper puts back what was changed in less, or ends who changes it.
const PATIENCE: Duration = Duration::from_secs(4);
const LOOK: Duration = Duration::from_millis(40);
const TURN: Duration = Duration::from_millis(4);
/// On a busy machine, many may begin at once.
const TURNS: Duration = Duration::from_secs(30);
/// As many paths as there are in a large plan.
const LARGEST: u64 = 4 << 20;
/// Ends a note.
const END: &[u8] = b".";
/// More keepers than a worktree ever has.
const MOST: usize = 1024;
/// The byte of a note that is locked by those who wait.
const AWAITED: u64 = 0;

/// The time between a command's look at its pins and its keeper's note of them, in which no other command of the worktree looks at them.
pub(crate) struct Turn {
    /// Locked.
    file: OwnedFd,
}

impl Turn {
    /// Waits for the others.
    pub(crate) fn take(private: &Path) -> io::Result<Turn> {
        let mut options = fs::OpenOptions::new();
        let file: OwnedFd =
            options.create(true).truncate(false).write(true).mode(0o600).open(private.join("turn"))?.into();
        let begun = Instant::now();
        while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if error != Errno::WOULDBLOCK {
                return Err(error.into());
            }
            if begun.elapsed() > TURNS {
                let told = "another command of this worktree has begun and does not go on; end it first";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, told));
            }
            std::thread::sleep(TURN);
        }
        Ok(Turn { file })
    }

    /// Lets others begin: whoever has the descriptor lets go for all.
    pub(crate) fn leave(&self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }

    /// The descriptor that it needs.
    pub(crate) fn held(&self) -> &OwnedFd {
        &self.file
    }
}

/// A note, as long as its keeper lives.
pub(crate) struct Note {
    directory: OwnedFd,
    name: String,
    /// Locked.
    file: OwnedFd,
}

impl Note {
    /// The descriptors that it needs.
    pub(crate) fn held(&self) -> [&OwnedFd; 2] {
        [&self.directory, &self.file]
    }

    /// Whether a command waits until all is as noted.
    pub(crate) fn is_awaited(&self) -> bool {
        sys::is_byte_locked(&self.file, AWAITED).unwrap_or(true)
    }

    /// The command or the job is over, and all is as it was.
    pub(crate) fn remove(self) {
        let _ = unlinkat(&self.directory, &self.name, AtFlags::empty());
    }
}

fn directory(private: &Path) -> PathBuf {
    private.join("standing")
}

impl Pins {
    /// Notes what they were, for who begins from now on.
    pub(crate) fn note(&self, private: &Path) -> io::Result<Note> {
        let directory = open_or_make(&directory(private))?;
        let name = getpid().to_string();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&directory, &name, flags, Mode::from_raw_mode(0o600))?);
        flock(&file, FlockOperation::LockExclusive)?;
        let mut text = Vec::new();
        for (path, digest) in self.digests() {
            text.extend_from_slice(digest.as_bytes());
            text.push(b' ');
            text.extend_from_slice(path.as_os_str().as_bytes());
            text.push(0);
        }
        text.extend_from_slice(END);
        file.write_all(&text)?;
        Ok(Note { directory, name, file: file.into() })
    }

    fn digests(&self) -> BTreeMap<PathBuf, String> {
        let modes = self.modes.notes().map(|(name, mode)| (name, digest(&State::Other(mode))));
        self.all.iter().map(|pin| (pin.path.clone(), digest(&pin.before))).chain(modes).collect()
    }

    /// Looks at pins until they are what the keepers of background jobs have noted.
    pub(crate) fn once_as_noted(
        private: &Path,
        mut look: impl FnMut() -> io::Result<Pins>,
    ) -> io::Result<Pins> {
        let begun = Instant::now();
        loop {
            let pins = look()?;
            let Some((path, _awaits)) = pins.differs(private)? else { return Ok(pins) };
            if begun.elapsed() > PATIENCE {
                let told = format!(
                    "an earlier command or a background job of it keeps {} from being what it was; end that one first",
                    path.display()
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, told));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// A path that is not as it was noted, and what says that somebody waits.
    fn differs(&self, private: &Path) -> io::Result<Option<(PathBuf, OwnedFd)>> {
        let directory = match File::open(directory(private)) {
            Ok(directory) => open_directory(&directory, Path::new("."))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut digests = None;
        for name in names_in(&directory, MOST)? {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let Ok(file) = openat(&directory, &name, flags, Mode::empty()) else { continue };
            if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
                // Its keeper is gone, killed as when the machine has lost power. Nobody knows any more who has changed what since. One that has
                // nothing in it yet may be about to be locked.
                if fstat(&file)?.st_size > 0 {
                    let _ = unlinkat(&directory, &name, AtFlags::empty());
                }
                continue;
            }
            let file = File::from(file);
            let noted = read_to_end(&file, LARGEST)?
                .ok_or_else(|| io::Error::other("a note about a background job is too long to be read"))?;
            let awaits = |path: PathBuf| -> io::Result<Option<(PathBuf, OwnedFd)>> {
                let file = file.try_clone()?.into();
                sys::lock_byte(&file, AWAITED)?;
                Ok(Some((path, file)))
            };
            if !noted.ends_with(END) {
                // It is being written.
                return awaits(self::directory(private).join(name));
            }
            let digests = digests.get_or_insert_with(|| self.digests());
            for line in noted.split(|byte| *byte == 0) {
                let Some((noted, path)) = line.split_at_checked(64) else { continue };
                let path = Path::new(OsStr::from_bytes(path.get(1..).unwrap_or_default()));
                if digests.get(path).is_some_and(|digest| digest.as_bytes() != noted) {
                    return awaits(path.to_owned());
                }
            }
        }
        Ok(None)
    }
}

fn digest(state: &State) -> String {
    let mut hash = Sha256::new();
    add(&mut hash, state);
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Each part with its kind and its length before it, so that no two states are the same text. Which file it is does not count: the keeper may
/// have put it back.
fn add(hash: &mut Sha256, state: &State) {
    let mut part = |kind: u8, mode: u32, text: &[u8]| {
        hash.update([kind]);
        hash.update(mode.to_be_bytes());
        hash.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(text);
    };
    match state {
        State::Nothing => part(0, 0, b""),
        State::File { mode, content, .. } => part(1, *mode, content),
        State::Link(text) => part(2, 0, text),
        State::Directory { mode, entries } => {
            part(3, *mode, &u64::try_from(entries.len()).unwrap_or(u64::MAX).to_be_bytes());
            for (name, state) in entries {
                part_of_name(hash, name);
                add(hash, state);
            }
        }
        State::Other(mode) => part(4, *mode, b""),
        State::Unknown => part(5, 0, b""),
    }
}

fn part_of_name(hash: &mut Sha256, name: &OsStr) {
    hash.update(u64::try_from(name.len()).unwrap_or(u64::MAX).to_be_bytes());
    hash.update(name.as_bytes());
}
