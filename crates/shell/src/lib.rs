//! Bash text to a syntax tree.
//!
//! It knows nothing of tools or policies. It never panics, its time, depth and memory are bounded on any input, and what
//! it cannot read is an error with its place: never a command less in the tree.
//!
//! bash often reads a text twice: once to find where a word ends, by counting quotes and brackets, and once to expand
//! it. Whoever wants to hide a command looks for a text on which the two disagree. Where they could, this is an error.
//!
//! It reads as bash 5.2 does when it is run with `-c`: no `posix` mode, no aliases, `extglob` off. Patterns such as
//! `@(a|b)` are read all the same.

mod ansi;
mod braces;
mod commands;
mod here;
mod reader;
mod tree;
mod words;

pub use tree::*;

use reader::{Parser, span};

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

/// Reads a script as `bash -c` would.
pub fn parse(text: &str) -> Parsed<'_> {
    match Parser::new(text) {
        Ok(parser) => parser.script(),
        Err(error) => Parsed { list: List::default(), error: Some(error) },
    }
}

/// Reads a whole text as if it stood in double quotes, where `"` itself means nothing: a value that is expanded again.
pub fn parse_word(text: &str) -> Result<Word<'_>, SyntaxError> {
    let mut parser = Parser::new(text)?;
    let mut parts = Vec::new();
    parser.here_parts(&mut parts, false)?;
    let mut word = Word { span: span(0, text.len()), parts };
    parser.place_parts(&mut word.parts);
    Ok(word)
}

/// Reads a whole text as arithmetic, for what bash expands in it before it evaluates: `a[$(cmd)]`.
pub fn parse_arithmetic(text: &str) -> Result<Arithmetic<'_>, SyntaxError> {
    let mut parser = Parser::new(text)?;
    let parts = parser.arithmetic_parts(0, 0, 0, false)?;
    let mut arithmetic = Arithmetic { span: span(0, text.len()), parts };
    parser.place_parts(&mut arithmetic.parts);
    Ok(arithmetic)
}
