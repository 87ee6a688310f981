//! Why a registration cannot be made or taken back, in words for the person.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a registration cannot be made or taken back.
#[derive(Debug)]
pub enum RegisterError {
    /// A scope that belongs to a project, and no project was named.
    NoProject,
    /// A path that must be absolute is not.
    NotAbsolute {
        /// The path.
        path: PathBuf,
    },
    /// A path or a file that JSON cannot hold: it is not UTF-8.
    NotText {
        /// The path, or the file's.
        path: PathBuf,
    },
    /// The settings file is not JSON.
    Broken {
        /// The file.
        file: PathBuf,
        /// The line.
        line: usize,
        /// The column.
        column: usize,
    },
    /// Something in the settings file is not an object.
    NotAnObject {
        /// The file.
        file: PathBuf,
        /// What.
        what: String,
    },
    /// Something in the settings file is not an array.
    NotAnArray {
        /// The file.
        file: PathBuf,
        /// What.
        what: String,
    },
    /// The edit would change more than ours, or the host would not see it.
    Unclear {
        /// The file.
        file: PathBuf,
    },
    /// The settings file is a link to nothing, or no regular file.
    NotAFile {
        /// The file.
        file: PathBuf,
    },
    /// The settings file is not what the plan was made from.
    ChangedMeanwhile {
        /// The file.
        file: PathBuf,
    },
    /// The note of earlier registrations cannot be read.
    BrokenNote {
        /// The note.
        path: PathBuf,
    },
    /// The system refused.
    Io {
        /// What it was about.
        path: PathBuf,
        /// Its words.
        source: io::Error,
    },
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegisterError::NoProject => f.write_str("this scope belongs to a project, and none was named"),
            RegisterError::NotAbsolute { path } => write!(f, "`{}` is not an absolute path", path.display()),
            RegisterError::NotText { path } => {
                write!(f, "`{}` is not UTF-8, which JSON needs", path.display())
            }
            RegisterError::Broken { file, line, column } => {
                write!(
                    f,
                    "`{}` is not JSON (line {line}, column {column}) and was left alone",
                    file.display()
                )
            }
            RegisterError::NotAnObject { file, what } => {
                write!(f, "{what} in `{}` is not an object, so the file was left alone", file.display())
            }
            RegisterError::NotAnArray { file, what } => {
                write!(f, "{what} in `{}` is not an array, so the file was left alone", file.display())
            }
            RegisterError::Unclear { file } => write!(
                f,
                "`{}` cannot be edited without changing something else (does a key stand there twice?)",
                file.display()
            ),
            RegisterError::NotAFile { file } => {
                write!(f, "`{}` is not a regular file, nor a link to one", file.display())
            }
            RegisterError::ChangedMeanwhile { file } => {
                write!(f, "`{}` has changed since the plan was made", file.display())
            }
            RegisterError::BrokenNote { path } => {
                write!(f, "the note of earlier registrations `{}` cannot be read", path.display())
            }
            RegisterError::Io { path, source } => write!(f, "`{}`: {source}", path.display()),
        }
    }
}

impl std::error::Error for RegisterError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RegisterError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
