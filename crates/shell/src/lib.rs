//! Bash text to a syntax tree.
//!
//! Promise: everything that bash could run is in the tree, and each part says where it stands in the text. No input makes
//! [`parse`] panic, and its time, depth and memory are bounded. What it cannot read is an error with its place, never a command
//! that is missing from the tree. It knows nothing of tools or policies.
//!
//! Against whom: somebody who hides a command. bash often reads a text twice: once to find where a word ends, by counting
//! quotes and brackets, and once to expand it. A text on which the two disagree can hide a command, so where they could, this
//! is an error.
//!
//! ```
//! use toolgate_shell::{CommandKind, Part, parse};
//!
//! let text = r#"echo "$(rm -r build)" > log"#;
//! let parsed = parse(text);
//! assert_eq!(parsed.error, None);
//!
//! let command = &parsed.list.items[0].first.commands[0];
//! assert_eq!(&text[command.span.start as usize..command.span.end as usize], text);
//! assert_eq!(command.redirects.len(), 1);
//!
//! // A substitution in quotes is a list of commands like any other.
//! let CommandKind::Simple { words, .. } = &command.kind else { panic!("not a simple command") };
//! let [Part::Double(parts)] = &words[1].parts[..] else { panic!("not in double quotes") };
//! let [Part::Substitution(inner)] = &parts[..] else { panic!("not a substitution") };
//! let span = inner.items[0].first.commands[0].span;
//! assert_eq!(&text[span.start as usize..span.end as usize], "rm -r build");
//!
//! // bash runs the first line before it meets the error in the second.
//! let broken = parse("rm a\nif");
//! assert_eq!((broken.list.items.len(), broken.error.is_some()), (1, true));
//! ```
//!
//! It reads as bash 5.2 does when it is run with `-c`: no `posix` mode, no aliases, `extglob` off. Patterns such as
//! `@(a|b)` are read all the same. What a command would do is the next crate's work: `toolgate-effects`.
//!
//! Reading order: [`parse`] → [`Parsed`] → [`List`] → [`Command`] → [`CommandKind`] → [`Word`] → [`Part`].

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
