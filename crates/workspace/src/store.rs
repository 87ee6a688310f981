//! Contents by their digests: each one once, checked whenever it is read.
//!
//! ```text
//! store/
//!   lock               shared while something is put in, held alone while garbage is collected
//!   objects/DIGEST     a content; its name is its BLAKE3
//!   receipts/ID.json   a receipt; what it names is no garbage
//!   pins/ID.json       what a workspace began with; likewise
//! ```

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{self, AtFlags, Dir, Mode};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::atomic::{Durability, Staged, is_ours, open_directory, open_file, open_lasting, replace};
use crate::beneath::{DIRECTORY, DIRECTORY_MODE};
use crate::digest::{Algorithm, Digest, Hashing};
use crate::error::Error;
use crate::receipt::{Envelope, Receipt};
use crate::snapshot::{Snapshot, State};
use crate::system::sync_all;
use crate::workspaces::check_private;

/// A store in a directory of its own.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    top: OwnedFd,
    objects: OwnedFd,
    receipts: OwnedFd,
    pins: OwnedFd,
}

/// What came of collecting garbage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// Contents that are needed.
    pub kept: u64,
    /// Contents that were taken away.
    pub removed: u64,
    /// How many bytes those had.
    pub bytes: u64,
}

impl Store {
    /// Opens a store, and makes it where there is none. A directory that others could reach is refused.
    pub fn open(path: &Path) -> Result<Store, Error> {
        let failed = |error: io::Error| Error::about(&path.to_string_lossy(), error);
        let top = || -> io::Result<OwnedFd> {
            let mut builder = std::fs::DirBuilder::new();
            builder.recursive(true).mode(0o700).create(path)?;
            Ok(fs::open(path, DIRECTORY, Mode::empty())?)
        };
        let top = top().map_err(failed)?;
        check_private(&top, path)?;
        let below = |name: &str| below(&top, name).map_err(failed);
        let (objects, receipts, pins) = (below("objects")?, below("receipts")?, below("pins")?);
        Ok(Store { path: path.to_path_buf(), top, objects, receipts, pins })
    }

    /// Has all that was put in survive a loss of power: one wait for all of it.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        sync_all(&self.objects).map_err(|errno| self.failed(errno.into()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts a content in, unless it is there.
    pub fn put(&self, content: &mut dyn Read) -> Result<(Digest, u64), Error> {
        let _lock = self.lock(Alone::No)?;
        self.put_locked(content).map_err(|error| self.failed(error))
    }

    /// INVARIANT: the caller holds the lock, until what was put in is named by a receipt or a pin.
    pub(crate) fn put_locked(&self, content: &mut dyn Read) -> io::Result<(Digest, u64)> {
        let mut hashing = Hashing::new(content, Algorithm::Blake3);
        // Its name is known only when all of it was seen.
        let (staged, size) = Staged::write(self.objects.as_fd(), &mut hashing, Durability::Process)?;
        let digest = hashing.digest();
        // What is there and is what its name says stays; what was damaged is written anew.
        if !matches!(self.read_into(&digest, &mut io::sink()), Ok(stored) if stored == size) {
            staged.publish(&digest.hex())?;
        }
        Ok((digest, size))
    }

    /// A content, whole. One that does not hash to its name is an error.
    pub fn read(&self, digest: &Digest) -> Result<Vec<u8>, Error> {
        let mut content = Vec::new();
        self.read_into(digest, &mut content)?;
        Ok(content)
    }

    /// Gives a content on, piece by piece. That it is another one than its name says is known only at the end: what was
    /// given is then not to be used.
    pub fn read_into(&self, digest: &Digest, sink: &mut dyn Write) -> Result<u64, Error> {
        let mut file = match open_file(&self.objects, &digest.hex()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Err(Error::NotStored { digest: *digest }),
            Err(errno) => return Err(self.failed(errno.into())),
        };
        let mut hashing = Hashing::new(&mut file, digest.algorithm());
        let size = io::copy(&mut hashing, sink).map_err(|error| self.failed(error))?;
        if hashing.digest() == *digest { Ok(size) } else { Err(Error::Corrupt { digest: *digest }) }
    }

    /// Whether all contents of a snapshot are here and are what their names say; the first that is not is the error.
    pub fn check(&self, snapshot: &Snapshot) -> Result<(), Error> {
        let mut seen = BTreeSet::new();
        for state in snapshot.files().values() {
            if let State::File { digest, size } = state
                && seen.insert(*digest)
                && self.read_into(digest, &mut io::sink())? != *size
            {
                return Err(Error::Corrupt { digest: *digest });
            }
        }
        Ok(())
    }

    /// Keeps a receipt, and with it all that it names. Returns its id: the digest of its text.
    pub fn keep(&self, receipt: &Receipt) -> Result<Digest, Error> {
        let _lock = self.lock(Alone::No)?;
        self.keep_locked(receipt)
    }

    pub(crate) fn keep_locked(&self, receipt: &Receipt) -> Result<Digest, Error> {
        let id = receipt.id();
        replace(&self.receipts, &format!("{}.json", id.hex()), receipt.to_json().as_bytes())
            .map_err(|error| self.failed(error))?;
        Ok(id)
    }

    /// The receipts that are kept, by id, none of them checked.
    pub fn receipts(&self) -> Result<Vec<(Digest, Envelope)>, Error> {
        let mut receipts = Vec::new();
        for (name, text) in self.texts(&self.receipts)? {
            let path = self.path.join("receipts").join(&name);
            let envelope = Envelope::parse(&text).map_err(|_| Error::Damaged { path })?;
            receipts.push((Digest::of(Algorithm::Blake3, &text), envelope));
        }
        Ok(receipts)
    }

    /// Forgets a receipt. What it alone named is garbage from then on. False where there is none of this id.
    pub fn forget(&self, id: &Digest) -> Result<bool, Error> {
        let _lock = self.lock(Alone::No)?;
        match fs::unlinkat(&self.receipts, format!("{}.json", id.hex()), AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(self.failed(errno.into())),
        }
    }

    /// Keeps what a workspace began with, as long as it is there.
    pub(crate) fn pin(&self, workspace: &Path, began: &Snapshot) -> Result<(), Error> {
        let pin = Pin { workspace: workspace.to_path_buf(), began: began.clone() };
        let text = serde_json::to_vec(&pin).map_err(|error| self.failed(error.into()))?;
        self.sync()?;
        replace(&self.pins, &pin_name(workspace), &text).map_err(|error| self.failed(error))
    }

    /// Lets go of what a workspace began with. Nothing to do where that was never kept.
    pub fn unpin(&self, workspace: &Path) -> Result<(), Error> {
        match fs::unlinkat(&self.pins, pin_name(workspace), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.failed(errno.into())),
        }
    }

    /// Takes away all contents that no receipt and no pin names. A receipt or pin that cannot be read stops it: it could
    /// name anything.
    pub fn collect(&self) -> Result<Collected, Error> {
        let _lock = self.lock(Alone::Yes)?;
        let mut needed = BTreeSet::new();
        let mut need = |snapshot: &Snapshot| {
            needed.extend(snapshot.files().values().filter_map(|state| match state {
                State::File { digest, .. } => Some(*digest),
                State::Missing => None,
            }));
        };
        for (id, envelope) in self.receipts()? {
            let path = self.path.join("receipts").join(format!("{}.json", id.hex()));
            let statement = envelope.unverified_statement().map_err(|_| Error::Damaged { path })?;
            need(&statement.predicate.inputs);
            need(&statement.predicate.outputs);
        }
        for (name, text) in self.texts(&self.pins)? {
            let path = self.path.join("pins").join(&name);
            let pin: Pin =
                serde_json::from_slice(&text).map_err(|_| Error::Damaged { path: path.clone() })?;
            if is_abandoned(&pin, &path) {
                self.unpin(&pin.workspace)?;
            } else {
                need(&pin.began);
            }
        }
        let needed: BTreeSet<String> = needed.iter().map(Digest::hex).collect();
        for directory in [&self.receipts, &self.pins] {
            // Somebody was killed while writing it: nobody else is here now.
            let left = list(directory).map_err(|error| self.failed(error))?;
            for name in left.iter().filter(|name| is_ours(name)) {
                fs::unlinkat(directory, name, AtFlags::empty()).map_err(|errno| self.failed(errno.into()))?;
            }
        }
        self.sweep(&needed).map_err(|error| self.failed(error))
    }

    fn sweep(&self, needed: &BTreeSet<String>) -> io::Result<Collected> {
        let mut collected = Collected::default();
        for name in list(&self.objects)? {
            if needed.contains(&name) {
                collected.kept += 1;
                continue;
            }
            let stat = fs::statat(&self.objects, &name, AtFlags::SYMLINK_NOFOLLOW)?;
            fs::unlinkat(&self.objects, &name, AtFlags::empty())?;
            collected.removed += 1;
            collected.bytes += u64::try_from(stat.st_size).unwrap_or(0);
        }
        Ok(collected)
    }

    /// The texts in one of our directories, by name.
    fn texts(&self, directory: &OwnedFd) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let read = || -> io::Result<Vec<(String, Vec<u8>)>> {
            let mut texts = Vec::new();
            for name in list(directory)?.into_iter().filter(|name| !is_ours(name)) {
                let mut text = Vec::new();
                open_file(directory, &name)?.read_to_end(&mut text)?;
                texts.push((name, text));
            }
            Ok(texts)
        };
        read().map_err(|error| self.failed(error))
    }

    pub(crate) fn lock(&self, alone: Alone) -> Result<File, Error> {
        let lock = || -> io::Result<File> {
            let file = open_lasting(&self.top, "lock")?;
            match alone {
                Alone::Yes => file.lock()?,
                Alone::No => file.lock_shared()?,
            }
            Ok(file)
        };
        lock().map_err(|error| self.failed(error))
    }

    pub(crate) fn failed(&self, error: io::Error) -> Error {
        Error::about(&self.path.to_string_lossy(), error)
    }
}

/// What a workspace began with.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pin {
    workspace: PathBuf,
    began: Snapshot,
}

/// Whether the workspace of a pin is gone: a reboot empties a base in `/tmp`, and tells nobody. One that is being made has a
/// pin before it has its name.
fn is_abandoned(pin: &Pin, path: &Path) -> bool {
    const MAKING: Duration = Duration::from_hours(1);
    let age =
        std::fs::metadata(path).and_then(|found| found.modified()).ok().and_then(|at| at.elapsed().ok());
    let is_gone = std::fs::symlink_metadata(&pin.workspace)
        .is_err_and(|error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory));
    is_gone && age.is_some_and(|age| age > MAKING)
}

/// Whether nobody else may be at the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alone {
    Yes,
    No,
}

fn pin_name(workspace: &Path) -> String {
    let id = Digest::of(Algorithm::Blake3, workspace.as_os_str().as_encoded_bytes());
    format!("{}.json", id.hex())
}

/// Opens a directory of ours, and makes it where there is none.
fn below(inside: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    match fs::mkdirat(&inside, name, DIRECTORY_MODE) {
        Ok(()) | Err(Errno::EXIST) => open_directory(inside, name),
        Err(errno) => Err(errno.into()),
    }
}

/// The names in a directory, sorted.
fn list(directory: &OwnedFd) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        if let Ok(name) = entry.file_name().to_str()
            && !matches!(name, "." | "..")
        {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}
