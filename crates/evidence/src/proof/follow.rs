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
}

impl Cursor {
    /// Behind this record.
    pub fn after(seq: u64) -> Cursor {
        Cursor { seq, place: None }
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
        let mut count = 0;
        while count < limit
            && let Some(placed) = walk.next()?
        {
            // Half a line is read when it is whole.
            if placed.line.ending != Ending::Whole {
                break;
            }
            let Ok(record) = serde_json::from_slice::<Record>(&placed.line.bytes) else {
                let (path, line) = (placed.line.file.to_path_buf(), placed.line.number);
                return Err(LedgerError::Malformed { path, line }.into());
            };
            let seq = record.seq;
            if seq > self.seq {
                each(&placed.line.bytes, record)?;
                self.seq = seq;
                count += 1;
            }
            self.place = Some(placed.behind());
        }
        Ok(count)
    }
}
