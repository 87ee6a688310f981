//! The files in which a squad says who it is and who may do what: text to data, without disk or clock.
//!
//! They are written for models and people, so they are read with patience: odd spacing and unknown words do no harm. But no word is
//! taken for a right that it does not plainly give.

mod layer;
mod markdown;
mod policies_json;
mod roster;
mod table;

pub use layer::{policies_layer, team_layer};
pub use policies_json::{
    AskUserLimits, BlockedCommand, FileWriteGuards, Pattern, PiiScrubbing, PolicyConfig, ReviewerLockout,
    ScrubbedText, ShellBlocklist,
};
pub use roster::{RosterRow, roster};
pub use table::{OwnershipRow, Writer, ownership};
