//! What is to stand in a host's file. Each kind of file can say itself with us in it and without us.

use std::path::{Path, PathBuf};

use super::RegisterError;

/// One file of a registration.
pub struct Wanted {
    /// The file, by the name that the host uses.
    pub file: PathBuf,
    /// What is to stand in it.
    pub content: Box<dyn Content>,
}

impl Wanted {
    pub(super) fn new(file: PathBuf, content: impl Content + 'static) -> Wanted {
        Wanted { file, content: Box::new(content) }
    }
}

/// What is to stand in a file.
pub trait Content {
    /// The text with us in it. A text without anything is a file that does not exist yet.
    fn insert(&self, text: &str) -> Result<String, EditError>;

    /// The text without us; `None` where the file was ours alone and nobody has added to it. `noted` is what the
    /// note knows.
    fn remove(&self, text: &str, noted: Noted<'_>) -> Result<Option<String>, EditError>;
}

/// What is known about a file from the time before us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noted<'a> {
    /// Nothing: init did not write it, or the note is lost.
    Nothing,
    /// It did not exist.
    New,
    /// It held this.
    Held(&'a str),
}

impl<'a> Noted<'a> {
    /// What it held.
    pub fn original(self) -> Option<&'a str> {
        match self {
            Noted::Held(text) => Some(text),
            Noted::Nothing | Noted::New => None,
        }
    }
}

/// Why a text cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditError {
    /// Not of its format.
    Broken {
        /// JSON or TOML.
        format: &'static str,
        /// The line.
        line: usize,
        /// The column.
        column: usize,
    },
    /// Something that must be an object is not.
    NotAnObject {
        /// What.
        what: String,
    },
    /// Something that must be an array is not.
    NotAnArray {
        /// What.
        what: String,
    },
    /// The edit would change what is not ours, or the host would not see it; a key that stands in the file twice
    /// does that.
    Unclear,
}

impl EditError {
    pub(super) fn in_file(self, file: &Path) -> RegisterError {
        RegisterError::Edit { file: file.to_path_buf(), error: self }
    }
}

/// A file that is ours from the first letter to the last.
pub(super) struct Text(pub(super) String);

impl Content for Text {
    fn insert(&self, _: &str) -> Result<String, EditError> {
        Ok(self.0.clone())
    }

    fn remove(&self, text: &str, noted: Noted<'_>) -> Result<Option<String>, EditError> {
        // Without a note, a file that begins as ours does is ours, maybe an older version's.
        let ours = text.lines().next() == self.0.lines().next();
        Ok(match noted {
            Noted::Held(original) => Some(original.to_owned()),
            Noted::New => None,
            Noted::Nothing => (!ours).then(|| text.to_owned()),
        })
    }
}
