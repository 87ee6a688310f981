//! The sealer: takes what was recorded since the last seal into the tree, and signs its root.
//!
//! Promise: it signs nothing that does not extend what it has signed before, and nothing whose chain is broken. Of several that run at
//! once, one seals. It may be killed at any point: the next one goes on. Nothing of it is on the hook's path.
//!
//! Level `own`: it runs as the user whose ledger it is. So it stops whoever comes later, and not code of that user that was there all
//! along, since that can read the key.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use ed25519_dalek::SigningKey;

use super::checkpoint::Checkpoint;
use super::epochs::{Epoch, epoch_at};
use super::files::{random, write_private};
use super::log::{Log, LogError, Memory, Next, directory, is_signed, load, store};
use super::merkle::{Frontier, leaf_hash};
use super::note::NoteKey;
use super::tiles::{TileWriter, Tiles};
use super::walk::Walk;
use super::{index, key};
use crate::draft::rfc3339;
use crate::ledger::{Go, Ledger};
use crate::record::Link;
use crate::records::Ending;
use crate::{Digest, LedgerError, due, files, lock};

/// A key is used for so long at most.
const LIFE_OF_A_KEY: Duration = Duration::from_hours(24);
/// So long it waits for another sealer, who may be about to end.
const SHORT_PATIENCE: Duration = Duration::from_millis(200);
/// So long the sealer waits for those who write.
const PATIENCE: Duration = Duration::from_secs(5);

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Somebody else is sealing.
    Busy,
    /// There is no record yet.
    Nothing,
    /// All records up to this one are sealed.
    Sealed {
        /// The last one.
        size: u64,
        /// How many of them were not sealed before.
        new: u64,
        /// The number of the key that is used from now on.
        epoch: u64,
    },
}

/// Why the ledger was not sealed.
#[derive(Debug)]
pub enum SealError {
    /// A file cannot be used.
    Log(LogError),
    /// The key is gone, or is another one than the log names.
    Key(PathBuf),
    /// More was sealed than the checkpoints know: they were put back from a copy.
    PutBack {
        /// What the checkpoints know.
        size: u64,
        /// What was sealed.
        signed: u64,
    },
    /// Something was sealed, and no checkpoint is left.
    Gone,
    /// The ledger does not go on from what was sealed.
    NotExtended {
        /// The first record that is not as it should be.
        seq: u64,
    },
    /// A record names a key that the sealer has not made.
    ForeignKey {
        /// That record.
        seq: u64,
    },
    /// The tiles are damaged, and records that they would be made from again were dropped or changed.
    Tiles,
}

impl From<LedgerError> for SealError {
    fn from(error: LedgerError) -> SealError {
        SealError::Log(LogError::Ledger(error))
    }
}

impl From<LogError> for SealError {
    fn from(error: LogError) -> SealError {
        SealError::Log(error)
    }
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SealError::Log(error) => error.fmt(f),
            SealError::Key(path) => {
                write!(
                    f,
                    "`{}` is not the key that the log names: it was removed or put back from a copy",
                    path.display()
                )
            }
            SealError::PutBack { size, signed } => {
                write!(
                    f,
                    "{signed} records were sealed, and the checkpoints know {size}: they were put back from a copy"
                )
            }
            SealError::Gone => f.write_str(
                "the log was sealed, and its checkpoints have been removed; `toolgate ledger verify` says more",
            ),
            SealError::NotExtended { seq } => {
                write!(
                    f,
                    "record {seq} does not go on from what was sealed; `toolgate ledger verify` says more"
                )
            }
            SealError::ForeignKey { seq } => write!(f, "record {seq} names a key that was not made here"),
            SealError::Tiles => f.write_str(
                "the tree is damaged and cannot be rebuilt from the log: `toolgate ledger verify` says more",
            ),
        }
    }
}

impl std::error::Error for SealError {}

/// Seals what was recorded so far. `next_key`: and goes on with another key.
pub fn seal(state_dir: &Path, now: SystemTime, next_key: bool) -> Result<Outcome, SealError> {
    if crate::last_position(state_dir)?.is_none() {
        return Ok(Outcome::Nothing);
    }
    let dir = directory(state_dir);
    crate::ledger::make_dir(&dir)?;
    let Some(_lock) = alone(&dir)? else { return Ok(Outcome::Busy) };
    let _ = due::enable(state_dir);
    let _ = due::begin(state_dir, now);
    let mut sealer = Sealer::open(state_dir, &dir)?;
    let before = sealer.log.size();
    let tiles = Tiles::at(&dir);
    let mut tree = sealer.tree(&tiles)?;
    sealer.take_in(&mut tree)?;
    if sealer.log.epochs.is_empty() {
        sealer.announce(now, 1, &sealer.public(&sealer.key))?;
        sealer.take_in(&mut tree)?;
    }
    if sealer.wants_next_key(now, next_key) {
        let next = match sealer.next_key()? {
            Some(next) => next,
            None => key::make(&sealer.dir().join("key.next"))?,
        };
        let number = sealer.log.epochs.len() as u64 + 1;
        sealer.announce(now, number, &sealer.public(&next))?;
        sealer.take_in(&mut tree)?;
    }
    sealer.sign(&tree)?;
    sealer.remember()?;
    let size = sealer.log.size();
    // A help for those who search, and no evidence: it can be made again.
    let _ = index::extend(state_dir, size);
    Ok(Outcome::Sealed { size, new: size - before, epoch: sealer.log.epochs.len() as u64 })
}

/// The lock of those who seal; `None` where somebody has it.
pub(crate) fn alone(dir: &Path) -> Result<Option<File>, LedgerError> {
    alone_within(dir, SHORT_PATIENCE)
}

/// The same, with another patience.
pub(crate) fn alone_within(dir: &Path, patience: Duration) -> Result<Option<File>, LedgerError> {
    let path = dir.join("lock");
    let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = opened.map_err(|error| LedgerError::about(&path, error))?;
    match lock::wait(&path, Instant::now() + patience, || file.try_lock()) {
        Ok(()) => Ok(Some(file)),
        Err(LedgerError::Busy { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// One run of the sealer.
struct Sealer<'s> {
    state_dir: &'s Path,
    log: Log,
    key: SigningKey,
    /// Where it goes on; `None` where nothing was sealed yet, or where the note of it is lost.
    next: Option<Next>,
}

impl<'s> Sealer<'s> {
    fn open(state_dir: &'s Path, dir: &Path) -> Result<Sealer<'s>, SealError> {
        let log = Log::open(state_dir)?;
        if log.as_ref().is_none_or(|log| log.checkpoints.is_empty()) && is_signed(dir) {
            return Err(SealError::Gone);
        }
        let log = match log {
            Some(log) => log,
            None => {
                let origin = format!("toolgate/{:032x}", u128::from_be_bytes(random(dir)?));
                write_private(&dir.join("origin"), format!("{origin}\n").as_bytes(), true)?;
                Log {
                    dir: dir.to_path_buf(),
                    origin,
                    tiles: Tiles::at(dir),
                    checkpoints: Vec::new(),
                    epochs: Vec::new(),
                }
            }
        };
        let size = log.size();
        let path = dir.join("key");
        let key = Sealer::present_key(&log, &path)?;
        if let Some(Memory { size: signed }) = load(&dir.join("memory"))?
            && signed > size
        {
            return Err(SealError::PutBack { size, signed });
        }
        let next = load(&dir.join("next"))?.filter(|next: &Next| next.seq == size);
        Ok(Sealer { state_dir, log, key, next })
    }

    /// The key that signs now. Where a run was killed before it had put the next key in its place, that is done now.
    fn present_key(log: &Log, path: &Path) -> Result<SigningKey, SealError> {
        let public = |key: &SigningKey| NoteKey::of_log(&log.origin, key.verifying_key());
        let Some(named) = log.epochs.last() else {
            // Nothing was ever sealed with a key that is here already.
            return Ok(match key::load(path)? {
                Some(key) if log.checkpoints.is_empty() => key,
                None if log.checkpoints.is_empty() => key::make(path)?,
                _ => return Err(SealError::Key(path.to_path_buf())),
            });
        };
        let waiting = path.with_extension("next");
        if let Some(key) = key::load(&waiting)?
            && public(&key) == named.key
        {
            key::replace(path, &waiting)?;
            return Ok(key);
        }
        let key = key::load(path)?.filter(|key| public(key) == named.key);
        key.ok_or_else(|| SealError::Key(path.to_path_buf()))
    }

    fn dir(&self) -> &Path {
        &self.log.dir
    }

    fn public(&self, key: &SigningKey) -> NoteKey {
        NoteKey::of_log(&self.log.origin, key.verifying_key())
    }

    fn next_key(&self) -> Result<Option<SigningKey>, LedgerError> {
        key::load(&self.dir().join("key.next"))
    }

    /// Whether the next key is due. One that has sealed nothing but its own beginning stays.
    fn wants_next_key(&self, now: SystemTime, asked: bool) -> bool {
        let has_sealed =
            self.log.epochs.last().is_some_and(|epoch| self.next.is_some_and(|next| next.seq > epoch.seq));
        let age = key::made(&self.dir().join("key")).and_then(|made| now.duration_since(made).ok());
        has_sealed && (asked || age.is_some_and(|age| age > LIFE_OF_A_KEY))
    }

    /// The tree as it was sealed last. Damaged tiles are made again, if what comes of the ledger is what was signed.
    fn tree<'t>(&self, tiles: &'t Tiles) -> Result<TileWriter<'t>, SealError> {
        let size = self.log.size();
        let root = self.log.checkpoints.last().map_or_else(|| Frontier::default().root(), |last| last.root);
        if let Some(tree) = tiles.writer(size)?
            && tree.frontier().root() == root
        {
            return Ok(tree);
        }
        let mut again = Frontier::default();
        self.first_leaves(size, |leaf| {
            again.push(leaf, |_, _| {});
            Ok(())
        })?;
        if again.root() != root {
            return Err(SealError::Tiles);
        }
        let mut tree = tiles.writer(0)?.ok_or(SealError::Tiles)?;
        self.first_leaves(size, |leaf| tree.push(leaf))?;
        tree.flush()?;
        Ok(tree)
    }

    /// The leaves of the first so many lines.
    fn first_leaves(
        &self,
        size: u64,
        mut each: impl FnMut(Digest) -> Result<(), LedgerError>,
    ) -> Result<(), SealError> {
        let mut walk = Walk::all(self.state_dir)?;
        for seq in 1..=size {
            match walk.next()? {
                Some(placed) if placed.line.ending == Ending::Whole => each(leaf_hash(&placed.line.bytes))?,
                _ => return Err(SealError::NotExtended { seq }),
            }
        }
        Ok(())
    }

    /// Goes to the first line that is not sealed yet.
    fn walk(&mut self) -> Result<Walk, SealError> {
        if let Some(next) = self.next
            && let Some(walk) = Walk::from(self.state_dir, next.place)?
        {
            return Ok(walk);
        }
        let size = self.log.size();
        if size == 0 {
            return Ok(Walk::all(self.state_dir)?);
        }
        let mut walk = Walk::around(self.state_dir, size)?;
        while let Some(placed) = walk.next()? {
            if Link::of(&placed.line.bytes).is_none_or(|link| link.seq < size) {
                continue;
            }
            let sealed = self.log.tiles.reader(size).hash(0, size - 1)?;
            if sealed != Some(leaf_hash(&placed.line.bytes)) {
                break;
            }
            self.next = Some(Next { seq: size, digest: placed.digest(), place: placed.behind() });
            return Ok(walk);
        }
        Err(SealError::NotExtended { seq: size })
    }

    /// Takes every whole line into the tree. A line that names the next key ends the time of the present one.
    fn take_in(&mut self, tree: &mut TileWriter<'_>) -> Result<(), SealError> {
        let mut walk = self.walk()?;
        while let Some(placed) = walk.next()? {
            let line = &placed.line;
            if line.ending != Ending::Whole {
                break;
            }
            let (seq, prev) = self.next.map_or((1, Digest::NOTHING), |next| (next.seq + 1, next.digest));
            if Link::of(&line.bytes).is_none_or(|link| link.seq != seq || link.prev != prev.hex()) {
                return Err(SealError::NotExtended { seq });
            }
            tree.push(leaf_hash(&line.bytes))?;
            self.next = Some(Next { seq, digest: placed.digest(), place: placed.behind() });
            if let Some(epoch) = Epoch::of(&line.bytes, &self.log.origin) {
                self.begin(epoch, tree)?;
            }
        }
        Ok(())
    }

    /// Begins the time of a key, which the sealer itself must have named.
    fn begin(&mut self, epoch: Epoch, tree: &TileWriter<'_>) -> Result<(), SealError> {
        let seq = epoch.seq;
        let is_first = self.log.epochs.is_empty();
        let next = if is_first { None } else { self.next_key()? };
        let expected = self.public(next.as_ref().unwrap_or(&self.key));
        let is_made_here = is_first || next.is_some();
        if !is_made_here || epoch.key != expected || epoch.number != self.log.epochs.len() as u64 + 1 {
            return Err(SealError::ForeignKey { seq });
        }
        self.log.epochs.push(epoch);
        if let Some(next) = next {
            self.sign(tree)?;
            key::replace(&self.dir().join("key"), &self.dir().join("key.next"))?;
            self.key = next;
        }
        Ok(())
    }

    /// Writes the record that names a key.
    fn announce(&self, now: SystemTime, number: u64, key: &NoteKey) -> Result<(), SealError> {
        let mut record = Epoch::record(rfc3339(now), number, key);
        Ledger::at(self.state_dir)
            .append_record(&mut record, Instant::now() + PATIENCE, |_, _| Ok(Go::On))?;
        Ok(())
    }

    /// Signs the tree as it is now with the present key, if it has grown.
    fn sign(&mut self, tree: &TileWriter<'_>) -> Result<(), SealError> {
        let size = tree.frontier().size();
        if size == self.log.size() {
            return Ok(());
        }
        // INVARIANT: what is signed is on the disk.
        let path = files::current_path(self.state_dir);
        match File::open(&path).and_then(|file| file.sync_data()) {
            // Between the two steps of a rotation there is no growing file.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            synced => synced.map_err(|error| LedgerError::about(&path, error))?,
        }
        tree.flush()?;
        self.log.write_keys()?;
        let checkpoint = Checkpoint::sign(&self.log.origin, size, tree.frontier().root(), &self.key);
        let anchors = self.dir().join("anchors");
        let Log { checkpoints, epochs, .. } = &mut self.log;
        let is_replaced = checkpoints.last().is_some_and(|last| {
            let key_of = |size| epoch_at(epochs, size).map(|epoch| epoch.number);
            // A later one under the same key says all that an earlier one said.
            key_of(last.size) == key_of(size)
                && last.cosignatures() == 0
                && !super::anchor::is_stamped(&anchors, last.size)
        });
        if is_replaced {
            checkpoints.pop();
        }
        checkpoints.push(checkpoint);
        self.log.write_checkpoints()?;
        self.log.write_last()?;
        store(&self.dir().join("memory"), &Memory { size })?;
        Ok(())
    }

    fn remember(&self) -> Result<(), SealError> {
        // A run that was killed may have left the older one of them.
        self.log.write_last()?;
        store(&self.dir().join("memory"), &Memory { size: self.log.size() })?;
        if let Some(next) = self.next.filter(|next| next.seq == self.log.size()) {
            store(&self.dir().join("next"), &next)?;
        }
        Ok(())
    }
}
