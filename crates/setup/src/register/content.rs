//! What is to stand in a host's file. Each kind of file can say itself with us in it and without us.

use std::path::{Path, PathBuf};

use super::RegisterError;
use super::note::sha256;

/// One file of a registration.
pub struct WantedFile {
    /// The file, by the name that the host uses.
    pub file: PathBuf,
    /// What is to stand in it.
    pub content: Box<dyn Content>,
}

impl WantedFile {
    pub(super) fn new(file: PathBuf, content: impl Content + 'static) -> WantedFile {
        WantedFile { file, content: Box::new(content) }
    }
}

/// What is to stand in a file.
pub trait Content {
    /// The text with us in it. A text without anything is a file that does not exist yet.
    fn insert(&self, text: &str) -> Result<String, EditError>;

    /// The text without us; `None` where the file was ours alone and nobody has added to it. `noted` is what the
    /// note knows.
    fn remove(&self, text: &str, noted: Noted<'_>) -> Result<Option<String>, EditError>;

    /// Whose a file with this text is.
    fn whose(&self, _text: &str) -> Whose {
        Whose::Shared
    }
}

/// Whose a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The person's, and we stand in it.
    Shared,
    /// Ours, as some version's init writes it.
    Ours,
    /// Ours, and somebody has changed it.
    Changed,
    /// Somebody else's, where ours alone would be.
    Foreign,
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

/// How a file begins that is ours from the first letter to the last. The digest of what follows comes behind it: it
/// tells a file of another version from one that a person has changed, also when the note is lost.
const HEAD: &str = "// Written by `toolgate init`; `toolgate uninstall` takes it out. ";

/// A script of ours as init writes it.
pub fn script(body: &str) -> String {
    format!("{HEAD}{}\n{body}", sha256(body))
}

/// A script that is ours from the first letter to the last.
pub(super) struct Script(String);

impl Script {
    pub(super) fn new(body: &str) -> Script {
        Script(script(body))
    }
}

impl Content for Script {
    fn insert(&self, _: &str) -> Result<String, EditError> {
        Ok(self.0.clone())
    }

    fn remove(&self, _: &str, noted: Noted<'_>) -> Result<Option<String>, EditError> {
        Ok(noted.original().map(str::to_owned))
    }

    fn whose(&self, text: &str) -> Whose {
        match text.strip_prefix(HEAD).map(|rest| rest.split_once('\n')) {
            Some(Some((digest, body))) if digest == sha256(body) => Whose::Ours,
            Some(_) => Whose::Changed,
            None => Whose::Foreign,
        }
    }
}
