//! Reads records as they come, and knows where it has got to: for those who follow the ledger or take it elsewhere.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::walk::{Place, Walk};
use crate::records::Ending;
use crate::{LedgerError, Record};

/// How far somebody has read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cursor {
    /// The last record that was read; 0 where none was.
    pub seq: u64,
    /// Behind it, where that is known.
    #[serde(default)]
    place: Option<Place>,
    /// Lines that are no records, and were passed over since it was made: one of them must not keep anybody from the rest. One at the end
    /// counts when another line follows.
    #[serde(skip)]
    pub unreadable: u64,
}

impl Cursor {
    /// Behind this record.
    pub fn after(seq: u64) -> Cursor {
        Cursor { seq, ..Cursor::default() }
    }

    /// Reads on: up to so many records, each with its line. How many there were. Where `each` fails, its record was not read.
    pub fn read<E: From<LedgerError>>(
        &mut self,
        state_dir: &Path,
        limit: usize,
        mut each: impl FnMut(&[u8], Record) -> Result<(), E>,
    ) -> Result<usize, E> {
        let known = self.place.map(|place| Walk::from(state_dir, place)).transpose()?.flatten();
        let mut walk = match known {
            Some(walk) => walk,
            None => Walk::around(state_dir, self.seq.saturating_add(1))?,
        };
        // What lies behind a known place was not read, whatever number it bears: one that is far too high must not hide what follows.
        let mut is_new = self.seq == 0 || self.place.is_some();
        let (mut count, mut unreadable) = (0, 0);
        while count < limit
            && let Some(placed) = walk.next()?
        {
            // Half a line is read when it is whole.
            if placed.line.ending != Ending::Whole {
                break;
            }
            let Ok(record) = serde_json::from_slice::<Record>(&placed.line.bytes) else {
                // At the end of the log the next record puts it aside, so its place is not behind it yet.
                unreadable += u64::from(is_new);
                continue;
            };
            self.unreadable += std::mem::take(&mut unreadable);
            let seq = record.seq;
            is_new |= seq > self.seq;
            if is_new {
                each(&placed.line.bytes, record)?;
                self.seq = seq;
                count += 1;
            }
            self.place = Some(placed.behind());
        }
        Ok(count)
    }
}
