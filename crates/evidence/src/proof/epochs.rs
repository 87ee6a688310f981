//! Which key signs when. The log itself names each next key, and that record is the last one that the key before it seals.
//!
//! Against whom: somebody who has a later key and signs an earlier checkpoint with it. Of each size exactly one key may sign, and
//! no later one.

use serde::Serialize;

use super::note::{KeyKind, NoteKey};
use crate::record::{NEXT_KEY, Record, own_record};

/// The time of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Epoch {
    /// The first is 1.
    pub number: u64,
    /// The key.
    pub key: NoteKey,
    /// The number of the record that names it.
    pub seq: u64,
    /// That record, as it is in the ledger.
    pub(crate) line: Vec<u8>,
}

impl Epoch {
    /// The epoch that a line of the ledger begins; `None` where it is another line, or that of another log.
    pub(crate) fn of(line: &[u8], origin: &str) -> Option<Epoch> {
        let record = own_record(line).filter(|record| record.event == NEXT_KEY)?;
        let key = named_key(&record)?;
        let number = arg(&record, "epoch")?.parse().ok()?;
        let is_ours = key.name() == origin && key.kind() == KeyKind::Ed25519;
        is_ours.then(|| Epoch { number, key, seq: record.seq, line: line.to_vec() })
    }

    /// The record that names a key.
    pub(crate) fn record(time: String, number: u64, key: &NoteKey) -> Record {
        let args = vec![("epoch".to_owned(), number.to_string()), ("key".to_owned(), key.to_string())];
        Record { args, ..Record::blank(time, NEXT_KEY.to_owned()) }
    }
}

fn arg<'r>(record: &'r Record, wanted: &str) -> Option<&'r str> {
    record.args.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
}

/// The key that a record names, of whatever log.
pub(crate) fn named_key(record: &Record) -> Option<NoteKey> {
    NoteKey::parse(arg(record, "key")?)
}

/// The epoch whose key signs a log of this size: the first record of an epoch is the last that the key before it seals.
pub(crate) fn epoch_at(epochs: &[Epoch], size: u64) -> Option<&Epoch> {
    let before = epochs.partition_point(|epoch| epoch.seq < size);
    epochs.get(before.saturating_sub(1))
}

/// What is wrong with a list of epochs, read from a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct BadEpochs;

/// Reads the lines that name the keys, in their order.
pub(crate) fn parse(text: &[u8], origin: &str) -> Result<Vec<Epoch>, BadEpochs> {
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let epochs: Vec<Epoch> =
        lines.map(|line| Epoch::of(line, origin).ok_or(BadEpochs)).collect::<Result<_, _>>()?;
    let is_in_order = epochs.iter().zip(1..).all(|(epoch, number)| epoch.number == number)
        && epochs.is_sorted_by(|one, next| one.seq < next.seq);
    if is_in_order { Ok(epochs) } else { Err(BadEpochs) }
}
