//! Bash text to a syntax tree.
//!
//! It knows nothing of tools or policies. It never panics, its time, depth and memory are bounded on any input, and what
//! it cannot read is an error with its place: never a command less in the tree.

mod tree;

pub use tree::*;

/// What was read of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed<'s> {
    /// Every complete line before the error: bash runs them before it comes to the error.
    pub list: List<'s>,
    /// Where reading ended early.
    pub error: Option<SyntaxError>,
}

/// Why a script could not be read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyntaxError {
    /// The byte at which.
    pub at: u32,
    /// What is wrong there.
    pub what: &'static str,
}
