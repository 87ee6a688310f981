//! The level `apart`: another user of the machine seals, with a key that the person cannot read.
//!
//! **Promise.** What was sealed once, the person cannot change, cut off or write anew without being found out: by the next run, which
//! refuses and says so, and by whoever verifies. A refused ledger is never merged: what was sealed stays as it was.
//!
//! **Against whom.** The person whose ledger it is, and all that runs as them. So nobody with more rights than they have opens a file of
//! theirs: [`feed`] runs as the person and writes what is in the ledger to a pipe; [`take`] runs as a system user, holds the key, and
//! reads nothing but the pipe and its own directory. Links, pipes and devices in the person's home lead only where the person may go
//! anyway. Whoever started both of them, root, opens nothing of either.
//!
//! Each minute the end is read, from the last record on that was sealed: it names the one before it by its hash, and so do all others.
//! Each hour everything is read.
//!
//! **Does not show** what was done before it was sealed: the person can write whatever they like into their ledger until then, and can
//! keep a run from reading it. That is seen by the time of the last seal.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, BufRead, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use base64ct::{Base64, Encoding};
use ed25519_dalek::SigningKey;

use super::checkpoint::Checkpoint;
use super::files::{read, write_private};
use super::key;
use super::log::{Log, LogError};
use super::merkle::{Frontier, leaf_hash};
use super::note::{Note, NoteKey, Signed};
use super::seal::alone;
use super::tiles::Tiles;
use super::walk::Walk;
use crate::draft::rfc3339;
use crate::record::{Link, MAX_LINE, REST, own_record};
use crate::records::Ending;
use crate::verify::first_kept;
use crate::{Digest, LedgerError};

/// No small file of ours is longer.
const MAX_FILE: usize = 64 * 1024;
/// So much of the list of refusals is kept.
const MAX_REFUSALS: usize = 1024 * 1024;
/// So many new records are taken in by one run at most: who sends without end fills neither memory nor disk.
const MAX_NEW: u64 = 1 << 20;
/// So often all records are read, and a seal without new records is dated anew.
const WHOLE_EVERY: Duration = Duration::from_hours(1);
/// What a line of the pipe begins with: where it begins, a record, the hash of one whose text is gone, the end.
const FROM: u8 = b'F';
const LINE: u8 = b'L';
const HASH: u8 = b'H';
const END: u8 = b'E';

/// Where the machine keeps what seals apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The public key, which only root writes.
    pub public: PathBuf,
    /// One directory for each person, and the key, which only the system user reads.
    pub store: PathBuf,
}

impl Places {
    /// Below the directories that hold the machine's settings and its state: `/etc` and `/var`.
    pub fn below(etc: &Path, var: &Path) -> Places {
        Places { public: etc.join("toolgate/apart.pub"), store: var.join("lib/toolgate/apart") }
    }

    /// The key.
    pub fn key(&self) -> PathBuf {
        self.store.join("key")
    }

    /// What is kept of a person.
    pub fn of_person(&self, user: u32) -> PathBuf {
        self.store.join(user.to_string())
    }

    /// The record to read a person's ledger from: 1 where all of it is to be read.
    pub fn begin_at(&self, user: u32, now: SystemTime) -> u64 {
        let sealed =
            Seen::read(self, user).and_then(|seen| seen.checkpoint).map(|checkpoint| checkpoint.size);
        if is_recent(&self.of_person(user).join(WHOLE), now) { sealed.unwrap_or(1).max(1) } else { 1 }
    }
}

/// Makes the key, and gives its public part. The one that is there stays.
pub fn make_key(places: &Places) -> Result<NoteKey, LedgerError> {
    let path = places.key();
    Ok(public_part(&match key::load(&path)? {
        Some(key) => key,
        None => key::make(&path)?,
    }))
}

fn public_part(key: &SigningKey) -> NoteKey {
    let id: String = Digest::of(key.verifying_key().as_bytes()).hex().chars().take(16).collect();
    NoteKey::of_log(&format!("toolgate-apart/{id}"), key.verifying_key())
}

/// Writes what is in a ledger from this record on, for [`take`]: each record, or the hash of one whose text is gone, and how many
/// there are.
pub fn feed(state_dir: &Path, from: u64, out: &mut dyn Write) -> Result<(), LogError> {
    let log = Log::open(state_dir)?;
    let failed = |error| LogError::Ledger(LedgerError::about(Path::new("/dev/stdout"), error));
    let mut tiles = log.as_ref().map(|log| log.tiles.reader(log.size()));
    let mut gone = |index: u64, out: &mut dyn Write| -> Result<(), LogError> {
        let hash = match &mut tiles {
            Some(tiles) => tiles.hash(0, index)?,
            None => None,
        };
        let lost = || LogError::Damaged(state_dir.join("tlog/tile"));
        let hash = Base64::encode_string(hash.ok_or_else(lost)?.bytes());
        writeln!(out, "{}{hash}", char::from(HASH)).map_err(failed)
    };
    writeln!(out, "{}{from}", char::from(FROM)).map_err(failed)?;
    let mut count = first_kept(state_dir).saturating_sub(1);
    for index in from.saturating_sub(1)..count {
        gone(index, out)?;
    }
    let mut walk = Walk::around(state_dir, from)?;
    while let Some(placed) = walk.next()? {
        if placed.line.ending != Ending::Whole {
            break;
        }
        if let Some(link) = Link::of(&placed.line.bytes).filter(|link| link.seq < from) {
            count = link.seq;
            continue;
        }
        if own_record(&placed.line.bytes).is_some_and(|own| own.event == REST) {
            gone(count, out)?;
        } else {
            out.write_all(&[LINE]).map_err(failed)?;
            out.write_all(&placed.line.bytes).map_err(failed)?;
            out.write_all(b"\n").map_err(failed)?;
        }
        count += 1;
    }
    writeln!(out, "{}{count}", char::from(END)).map_err(failed)
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// There is no record yet.
    Nothing,
    /// All records up to this one are sealed.
    Sealed {
        /// The last one.
        size: u64,
        /// How many of them were not sealed before.
        new: u64,
    },
    /// The ledger does not go on from what was sealed.
    Refused(Refusal),
}

/// Why a ledger was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// A record is not the one that was sealed.
    Changed {
        /// Its number.
        seq: u64,
    },
    /// Records that were sealed are missing.
    Cut {
        /// How many there are.
        have: u64,
        /// How many were sealed.
        sealed: u64,
    },
    /// A new record does not follow from the one before it.
    NotChained {
        /// Its number.
        seq: u64,
    },
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Changed { seq } => write!(f, "record {seq} is not the one that was sealed"),
            Refusal::Cut { have, sealed } => {
                write!(
                    f,
                    "{sealed} records were sealed, and {have} are left: records were cut off or put back from a copy"
                )
            }
            Refusal::NotChained { seq } => write!(f, "record {seq} does not follow from the one before it"),
        }
    }
}

/// Why it cannot be told whether a ledger goes on from what was sealed.
#[derive(Debug)]
pub enum TakeError {
    /// A file of ours cannot be used.
    Ledger(LedgerError),
    /// A file of ours is not as it was written.
    Damaged(PathBuf),
    /// There is no key, or none that can be read.
    NoKey,
    /// Another run is at it.
    Busy,
    /// What reads the ledger ended too early, or sent something else.
    Feed(&'static str),
}

impl From<LedgerError> for TakeError {
    fn from(error: LedgerError) -> TakeError {
        TakeError::Ledger(error)
    }
}

impl std::fmt::Display for TakeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TakeError::Ledger(error) => error.fmt(f),
            TakeError::Damaged(path) => write!(f, "`{}` is not as it was written", path.display()),
            TakeError::NoKey => f.write_str("there is no key: `toolgate init --managed` makes one"),
            TakeError::Busy => f.write_str("another run is sealing it"),
            TakeError::Feed(why) => write!(f, "the log could not be read to its end: {why}"),
        }
    }
}

impl std::error::Error for TakeError {}

/// Seals what [`feed`] sends of one person's ledger, if it goes on from what was sealed before.
pub fn take(places: &Places, user: u32, feed: &mut dyn BufRead, now: SystemTime) -> Result<Taken, TakeError> {
    let key = key::load(&places.key())?.ok_or(TakeError::NoKey)?;
    let public = public_part(&key);
    let dir = places.of_person(user);
    match DirBuilder::new().mode(0o755).create(&dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(LedgerError::about(&dir, error).into());
        }
        _ => {}
    }
    let _lock = alone(&dir)?.ok_or(TakeError::Busy)?;
    let before = last(&dir, &public, user)?;
    let (size, root) =
        before.as_ref().map_or((0, Frontier::default().root()), |before| (before.size, before.root));
    let tiles = Tiles::at(&dir);
    let damaged = || TakeError::Damaged(dir.join("tile"));
    let mut tree = tiles.writer(size)?.filter(|tree| tree.frontier().root() == root).ok_or_else(damaged)?;
    let mut sealed = tiles.reader(size);
    let mut previous = None;
    let Sent::From(from) = next(feed)? else {
        return Err(TakeError::Feed("it does not say where it begins"));
    };
    // INVARIANT: who sends the end only is believed for an hour at most.
    if from != 1 && (from != size || !is_recent(&dir.join(WHOLE), now)) {
        return Err(TakeError::Feed("it does not begin where it should"));
    }
    let mut count = from - 1;
    let refused = loop {
        if count >= size.saturating_add(MAX_NEW) {
            break None;
        }
        let (leaf, link) = match next(feed)? {
            Sent::End(number) if number == count => break None,
            Sent::End(have) if from > 1 && have < from => break Some(Refusal::Cut { have, sealed: size }),
            Sent::End(_) => {
                return Err(TakeError::Feed("it announced a different number of records than it sent"));
            }
            Sent::From(_) => return Err(TakeError::Feed("it begins twice")),
            Sent::Gone(leaf) => (leaf, None),
            Sent::Line(line) => (leaf_hash(&line), Some(line)),
        };
        let seq = count + 1;
        if count < size {
            // INVARIANT: nothing new is taken in before all that was sealed was found as it was.
            if sealed.hash(0, count)? != Some(leaf) {
                break Some(Refusal::Changed { seq });
            }
        } else if let Some(line) = &link
            && !follows(line, seq, previous)
        {
            break Some(Refusal::NotChained { seq });
        } else {
            tree.push(leaf)?;
        }
        previous = link.map(|line| Digest::of(&line));
        count = seq;
    };
    let refused = refused.or_else(|| (count < size).then_some(Refusal::Cut { have: count, sealed: size }));
    if let Some(refusal) = refused {
        note_refusal(&dir, refusal, now)?;
        return Ok(Taken::Refused(refusal));
    }
    if count == 0 {
        return Ok(Taken::Nothing);
    }
    if from == 1 {
        write_readable(&dir.join(WHOLE), b"")?;
    }
    let _ = fs::remove_file(dir.join(REFUSED));
    if count == size && is_recent(&dir.join(CHECKPOINT), now) {
        return Ok(Taken::Sealed { size, new: 0 });
    }
    tree.flush()?;
    let text = text(&public, user, count, tree.frontier().root(), &rfc3339(now));
    write_readable(&dir.join(CHECKPOINT), Note::sign(text, public.name(), &key).to_string().as_bytes())?;
    Ok(Taken::Sealed { size: count, new: count - size })
}

const CHECKPOINT: &str = "checkpoint";
/// Its time says when all records were read last.
const WHOLE: &str = "whole";
/// Why the last run refused; not there where it did not.
const REFUSED: &str = "refused";
/// All refusals, with their times.
const REFUSALS: &str = "refusals";

/// What is signed: a checkpoint with the time of the seal.
fn text(public: &NoteKey, user: u32, size: u64, root: Digest, time: &str) -> String {
    format!("{}/{user}\n{size}\n{}\n{time}\n", public.name(), Base64::encode_string(root.bytes()))
}

/// The last checkpoint of a person, signed with this key; `None` where there is none yet.
fn last(dir: &Path, public: &NoteKey, user: u32) -> Result<Option<Checkpoint>, TakeError> {
    let path = dir.join(CHECKPOINT);
    let Some(bytes) = read(&path)? else { return Ok(None) };
    let checkpoint = str::from_utf8(&bytes).ok().and_then(Checkpoint::parse);
    let is_good = |checkpoint: &Checkpoint| {
        matches!(checkpoint.signed_by(public), Signed::Good(_))
            && checkpoint.origin == format!("{}/{user}", public.name())
    };
    checkpoint.filter(is_good).map(Some).ok_or(TakeError::Damaged(path))
}

/// Whether a line is the record of this number, and names the one before it.
fn follows(line: &[u8], seq: u64, previous: Option<Digest>) -> bool {
    Link::of(line).is_some_and(|link| {
        let follows = match previous {
            Some(previous) => link.prev == previous.hex(),
            None => seq > 1 || link.prev == Digest::NOTHING.hex(),
        };
        link.seq == seq && follows
    })
}

/// Whether a file was written within the hour.
fn is_recent(path: &Path, now: SystemTime) -> bool {
    let written = fs::metadata(path).and_then(|found| found.modified()).ok();
    written.and_then(|written| now.duration_since(written).ok()).is_some_and(|age| age < WHOLE_EVERY)
}

/// One thing that was sent.
enum Sent {
    From(u64),
    Line(Vec<u8>),
    Gone(Digest),
    End(u64),
}

fn next(feed: &mut dyn BufRead) -> Result<Sent, TakeError> {
    let early = TakeError::Feed("it was cut off");
    let mut bytes = Vec::new();
    let limit = MAX_LINE as u64 + 2;
    if Read::take(feed, limit).read_until(b'\n', &mut bytes).is_err() || bytes.pop() != Some(b'\n') {
        return Err(early);
    }
    let (kind, rest) = bytes.split_first().ok_or(early)?;
    let text = || str::from_utf8(rest).ok();
    let sent = match *kind {
        FROM => text().and_then(|text| text.parse().ok()).filter(|from| *from > 0).map(Sent::From),
        LINE => Some(Sent::Line(rest.to_vec())),
        HASH => text().and_then(digest).map(Sent::Gone),
        END => text().and_then(|text| text.parse().ok()).map(Sent::End),
        _ => None,
    };
    sent.ok_or(TakeError::Feed("it sent something other than records"))
}

fn digest(text: &str) -> Option<Digest> {
    Some(Digest::from_bytes(Base64::decode_vec(text).ok()?.try_into().ok()?))
}

/// Writes a file that everybody may read.
fn write_readable(path: &Path, bytes: &[u8]) -> Result<(), LedgerError> {
    write_private(path, bytes, true)?;
    fs::set_permissions(path, Permissions::from_mode(0o644)).map_err(|error| LedgerError::about(path, error))
}

/// Keeps that a ledger was refused, and when first.
fn note_refusal(dir: &Path, refusal: Refusal, now: SystemTime) -> Result<(), LedgerError> {
    let path = dir.join(REFUSED);
    let said = refusal.to_string();
    let known = read(&path)?.unwrap_or_default();
    if String::from_utf8_lossy(&known).contains(&said) {
        return Ok(());
    }
    let line = format!("{} {said}\n", rfc3339(now));
    write_readable(&path, line.as_bytes())?;
    let all = dir.join(REFUSALS);
    let mut text = read(&all)?.unwrap_or_default();
    if text.len() < MAX_REFUSALS {
        text.extend_from_slice(line.as_bytes());
        write_readable(&all, &text)?;
    }
    Ok(())
}

/// What is known of a person's ledger from those who seal apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// What was sealed last; `None` where nothing was yet.
    pub checkpoint: Option<Checkpoint>,
    /// When.
    pub time: String,
    /// When and why the last run refused the ledger.
    pub refused: Option<String>,
    /// A file that is not as it should be.
    pub damaged: Option<PathBuf>,
}

impl Seen {
    /// Reads it; `None` where nobody seals apart on this machine.
    pub fn read(places: &Places, user: u32) -> Option<Seen> {
        let mut seen = Seen { checkpoint: None, time: String::new(), refused: None, damaged: None };
        fs::symlink_metadata(&places.public).ok()?;
        let Some(public) = public_key(&places.public) else {
            seen.damaged = Some(places.public.clone());
            return Some(seen);
        };
        let dir = places.of_person(user);
        match last(&dir, &public, user) {
            Ok(checkpoint) => seen.checkpoint = checkpoint,
            Err(_) => seen.damaged = Some(dir.join(CHECKPOINT)),
        }
        let time = |checkpoint: &Checkpoint| checkpoint.note().text().lines().nth(3).map(str::to_owned);
        seen.time = seen.checkpoint.as_ref().and_then(time).unwrap_or_default();
        let refused = read(&dir.join(REFUSED)).ok().flatten().filter(|bytes| bytes.len() < MAX_FILE);
        seen.refused = refused.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
        Some(seen)
    }
}

/// The key of a file that only root writes; `None` where others may have, or where it holds none.
fn public_key(path: &Path) -> Option<NoteKey> {
    let of_root = |path: &Path| {
        fs::symlink_metadata(path)
            .is_ok_and(|found| found.uid() == 0 && found.mode() & 0o022 == 0 && !found.is_symlink())
    };
    if !of_root(path) || !path.parent().is_some_and(of_root) {
        return None;
    }
    let mut text = String::new();
    fs::File::open(path).ok()?.take(MAX_FILE as u64).read_to_string(&mut text).ok()?;
    NoteKey::parse(text.trim())
}
