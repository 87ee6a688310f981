//! The texts that people write (a name, a reason): on one line, of bounded length, safe to show on a terminal.

use std::fmt;

use toolgate_evidence::render::unsafe_in_line;

/// A text that people write has at most this many bytes.
pub const MAX_TEXT: usize = 400;

/// What is wrong with a text that is to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextError {
    /// It says nothing.
    Empty {
        /// What it should say.
        what: &'static str,
    },
    /// It has more than [`MAX_TEXT`] bytes.
    TooLong {
        /// What it says.
        what: &'static str,
    },
    /// It has a newline, or another character that a terminal acts on.
    NotPlain {
        /// What it says.
        what: &'static str,
    },
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TextError::Empty { what } => write!(f, "the {what} is empty"),
            TextError::TooLong { what } => write!(f, "the {what} has more than {MAX_TEXT} bytes"),
            TextError::NotPlain { what } => {
                write!(f, "the {what} holds a newline or a control character; write it on one line")
            }
        }
    }
}

impl std::error::Error for TextError {}

/// Whether a text can stand on a line and be shown as it is.
pub(crate) fn is_plain(text: &str) -> bool {
    // Nearly all of them are ASCII, which needs no decoding.
    text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || !text.contains(unsafe_in_line)
}

/// Checks a text that may be empty.
pub(crate) fn check_text(what: &'static str, text: &str) -> Result<(), TextError> {
    if text.len() > MAX_TEXT {
        return Err(TextError::TooLong { what });
    }
    if is_plain(text) { Ok(()) } else { Err(TextError::NotPlain { what }) }
}

/// Checks a text that has to say something.
pub(crate) fn check_name(what: &'static str, text: &str) -> Result<(), TextError> {
    if text.trim().is_empty() { Err(TextError::Empty { what }) } else { check_text(what, text) }
}
