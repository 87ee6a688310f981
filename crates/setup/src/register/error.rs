//! Why a registration cannot be made or taken back, in words for the person.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::{EditError, Scope};

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
    /// A scope that the host does not have.
    NoScope {
        /// What people call the host.
        host: &'static str,
        /// The scope.
        scope: Scope,
    },
    /// The settings file cannot be edited.
    Edit {
        /// The file.
        file: PathBuf,
        /// Why.
        error: EditError,
    },
    /// The settings file is a link to nothing, or no regular file.
    NotAFile {
        /// The file.
        file: PathBuf,
    },
    /// A file of a project that lies elsewhere.
    LeadsOut {
        /// The file, by its name in the project.
        file: PathBuf,
        /// Where it lies.
        target: PathBuf,
    },
    /// A link in the place of a file that is ours alone.
    Linked {
        /// The link.
        file: PathBuf,
    },
    /// Somebody else's file in the place of one that is ours alone.
    NotOurs {
        /// The file.
        file: PathBuf,
    },
    /// A file that is longer than any of its kind.
    TooLong {
        /// The file.
        path: PathBuf,
        /// How long it may be, in bytes.
        longest: usize,
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
            RegisterError::NoProject => {
                f.write_str("this scope needs a project, and there is none here; run this inside of one")
            }
            RegisterError::NotAbsolute { path } => {
                write!(f, "`{}` is not an absolute path; begin it with `/`", path.display())
            }
            RegisterError::NotText { path } => {
                write!(f, "`{}` is not UTF-8, which JSON needs; rename it or convert it", path.display())
            }
            RegisterError::NoScope { host, scope } => {
                write!(f, "{host} has no {scope} settings; every host has `--scope user`")
            }
            RegisterError::Edit { file, error } => {
                let file = file.display();
                match error {
                    EditError::Broken { format, line, column } => {
                        write!(
                            f,
                            "`{file}` is not {format} (line {line}, column {column}) and was left alone"
                        )
                    }
                    EditError::NotAnObject { what } => {
                        write!(f, "`{file}` was left alone: {what} is not an object")
                    }
                    EditError::NotAnArray { what } => {
                        write!(f, "`{file}` was left alone: {what} is not an array")
                    }
                    EditError::Unclear => write!(
                        f,
                        "`{file}` cannot be edited without changing something else (does a key occur twice?)"
                    ),
                }
            }
            RegisterError::NotAFile { file } => {
                write!(
                    f,
                    "`{}` is not a regular file, nor a link to one; move it away, and run this again",
                    file.display()
                )
            }
            RegisterError::LeadsOut { file, target } => write!(
                f,
                "`{}` leads out of the project, to `{}`; remove the link on the way, or use `--scope user`",
                file.display(),
                target.display()
            ),
            RegisterError::Linked { file } => write!(
                f,
                "`{}` is a link, where toolgate needs a file of its own; remove the link, and run this again",
                file.display()
            ),
            RegisterError::NotOurs { file } => write!(
                f,
                "`{}` is not toolgate's, and toolgate needs its place; move it away, and run this again",
                file.display()
            ),
            RegisterError::TooLong { path, longest } => {
                let (path, mib) = (path.display(), longest >> 20);
                write!(f, "`{path}` is longer than {mib} MiB; look at its contents, and move it away")
            }
            RegisterError::ChangedMeanwhile { file } => {
                write!(f, "`{}` has changed since the plan was made; run this again", file.display())
            }
            RegisterError::BrokenNote { path } => {
                write!(
                    f,
                    "the note of earlier registrations `{}` is broken; fix it, or move it away: without it, \
                     uninstall removes toolgate's entries but cannot restore the exact bytes",
                    path.display()
                )
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
