//! What can be proved later: the ledger of all calls and verdicts.
//!
//! **Promise.** Every call is one line of JSON in `<state>/ledger.jsonl`, and every line holds the hash of the line before
//! it. Processes that write at once lose nothing and never mix their lines. What a crash leaves half written is put aside
//! and named in the ledger; the lines before it stay. What cannot be written is an error with its cause, and the file is
//! as it was.
//!
//! **Against whom.** An agent that wants its traces to vanish. It cannot write here, since the gate denies that. Should it
//! find a way, [`verify()`] shows what was changed; see there for what a chain alone cannot show. And carelessness: no
//! secret is written, because the texts of a call enter a [`Draft`] only as [`toolgate_secrets::Redacted`].
//!
//! **Growth.** A record says which version wrote it. Words and fields of a later version are kept as they were written, so an older
//! binary reads, shows, counts and verifies a newer ledger; see [`VERSION`].
//!
//! ```
//! use std::time::{Duration, Instant, SystemTime};
//!
//! use toolgate_evidence::{Draft, Ledger, Records, render, verify};
//! use toolgate_model::{Answer, Decision, FindingKind};
//! use toolgate_secrets::redact;
//!
//! let state = tempfile::tempdir()?;
//! let ledger = Ledger::at(state.path());
//!
//! let draft = Draft::new(SystemTime::now(), "claude", redact("PreToolUse"))
//!     .call(redact("toolu_1"))
//!     .tool(redact("Bash"))
//!     .arg(redact("command"), redact("PASSWORD=hunter2 make"))
//!     .decision(Decision::Deny)
//!     .finding("a-policy", FindingKind::Rule, Decision::Deny, redact(""), redact("not this way [a-policy]"))
//!     .unproved("opaque", redact("make"))
//!     .answer(Answer::Deny);
//! let seq = ledger.append(draft, Instant::now() + Duration::from_secs(1))?;
//!
//! // All records, a range, a session, the end: each is read as it is asked for.
//! let record = ledger.last(1)?.next().expect("the record")?;
//! assert_eq!((record.seq, seq), (1, 1));
//! assert_eq!(record.args[0].1, "PASSWORD=[PASSWORD REDACTED] make");
//! assert_eq!(record.unproved[0].reason, "opaque");
//! assert!(render::text(&record).ends_with("not this way [a-policy]"));
//!
//! let report = verify(state.path())?;
//! assert_eq!((report.lines, report.problem), (1, None));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What a session has come to so far is counted from its records, in a [`Tally`], so that a call need not read them all.
//!
//! [`proof`] makes a tree of all lines, signs its root and checks both; it runs beside the hook, never in it.
//!
//! Reading order: [`Record`] → [`Draft`] → [`Ledger`] → [`Records`] → [`verify()`] → [`SessionCounts`] → [`Tally`].

mod activity;
mod digest;
mod draft;
pub mod due;
mod error;
#[cfg(feature = "proof")]
pub mod export;
mod file_lines;
mod files;
mod in_order;
mod ledger;
pub mod lock;
mod position;
#[cfg(feature = "proof")]
pub mod proof;
pub mod random;
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
pub use record::{
    ERASED, MAX_LINE, NEXT_KEY, PRUNED, REPAIR, REST, Record, RecordedFinding, RecordedUnproved, VERSION,
};
pub use records::{Ending, Part, RecordIter, Records, StoredLine, StoredLines};
pub use tally::{DENIED, Denials, SessionCounts, Tally};
pub use totals::Totals;
pub use verify::{Fault, Problem, Report, verify, verify_chain};
pub use word::{Spelled, UnknownFields, Word};
