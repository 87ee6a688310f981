//! What proves to others that the ledger is what was recorded: a tree over its lines, signed roots, and proofs for one line.
//!
//! **Promise.** Formats that other people's tools read: the tree of RFC 6962, and C2SP's tlog-tiles, tlog-checkpoint, signed-note and
//! tlog-proof. A leaf is a line without its newline; the record's number less one is its index. All of it lies in `<state>/tlog`.
//! Nothing of it is on the hook's path, nor in the hook's binary (the feature `proof`).
//!
//! **Against whom.** Somebody who changes, cuts or replaces the ledger later. [`audit`] says what each part shows, and what it cannot
//! show without a key or a checkpoint that was noted elsewhere.
//!
//! Reading order: `merkle` → `tiles` → `note` → `checkpoint` → `epochs` → [`seal`] → [`apart`] → [`audit`] → [`prove`].

pub mod anchor;
pub mod apart;
mod audit;
mod checkpoint;
mod epochs;
mod files;
mod follow;
mod inclusion;
pub mod index;
mod key;
mod log;
mod merkle;
mod note;
mod problem;
mod prove;
mod retention;
mod seal;
mod standing;
mod tiles;
mod walk;

pub use audit::{Apart, Audit, Known, Outcome as AuditOutcome, Seal, Witnessed, audit, audit_telling};
pub use checkpoint::Checkpoint;
pub use epochs::Epoch;
pub use follow::Cursor;
pub use inclusion::{InclusionProof, Shown};
pub use log::LogError;
pub use merkle::{Frontier, leaf_hash, root_of_path};
pub use note::{KeyKind, Note, NoteKey, Signed};
pub use problem::{Part, SealProblem};
pub use prove::{ProveError, Proved, keys, origin, prove};
pub use retention::{Dropped, RetentionError, erase, prune};
pub use seal::{Outcome as SealOutcome, SealError, seal};
pub use standing::Standing;
