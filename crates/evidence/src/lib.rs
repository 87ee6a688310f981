//! What can be proved later: the ledger of all calls and verdicts.
//!
//! Promise: every call is one line of JSON in `<state>/ledger.jsonl`, and every line holds the hash of the line
//! before it. Processes that write at once lose nothing and never mix their lines. What a crash leaves half
//! written is put aside and named in the ledger; the lines before it stay. What cannot be written is an error
//! with its cause, and the file is as it was.
//!
//! Against whom: an agent that makes its traces vanish. It cannot write here (the gate denies that); should
//! it find a way, [`verify()`] shows what was changed. See there for what a chain alone cannot show.
//!
//! No secret is written: texts of a call enter a [`Draft`] only as [`toolgate_secrets::Redacted`].
//!
//! What a session has come to so far is counted from its records, in a [`Tally`], so that a call need not read
//! them all.
//!
//! Reading order: [`Record`] → [`Ledger`] → [`verify()`] → [`SessionCounts`] → [`Tally`].

mod activity;
mod digest;
mod draft;
mod error;
mod file_lines;
mod files;
mod in_order;
mod ledger;
pub mod lock;
mod position;
mod record;
mod records;
pub mod render;
mod tally;
mod totals;
mod verify;
mod word;

pub use activity::Activity;
pub use digest::Digest;
pub use draft::{Draft, rfc3339};
pub use error::LedgerError;
pub use ledger::Ledger;
pub use position::{Position, last_position, position_of};
pub use record::{MAX_LINE, REPAIR, Record, RecordedFinding, RecordedUnproved, VERSION};
pub use records::{Ending, Part, RecordIter, Records, StoredLine, StoredLines};
pub use tally::{DENIED, Denials, SessionCounts, Tally};
pub use totals::Totals;
pub use verify::{Fault, Problem, Report, verify, verify_chain};
pub use word::{Spelled, UnknownFields, Word};
