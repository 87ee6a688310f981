//! What an agent may read and write, said beforehand.
//!
//! Promise: a [`Declaration`] is compiled once into a [`Declared`], which never changes. A path gets an [`InputPath`] or
//! an [`OutputPath`] from it only if it is declared, so code that takes one of these cannot be handed anything else.
//! Pure: nothing here looks at a disk. The workspace library and the gate's own policy ask the same code.
//!
//! Against whom: an agent that writes a path which means one thing to the check and another to the system. A path is
//! checked letter by letter as it was given; only then is it cleaned, and only then is it looked up.
//!
//! Reading order: [`CleanPath`] → [`Pattern`] → [`Declaration`] → [`Declared`].

mod declaration;
mod path;
mod pattern;
mod wildcard;

pub use declaration::{Declaration, Declared, InputPath, Invalid, OutputPath, Quota, Refusal, Side, TEMP};
pub use path::{CleanPath, Dots, Fault, MAX_ENTRIES, MAX_GLOB, MAX_PATH};
pub use pattern::{Pattern, glob_covers, letters};
pub use wildcard::wildcard_fits;
