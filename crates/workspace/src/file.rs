//! A workspace as a person writes it down: `toolgate workspace create --file FILE`, `toolgate mcp --workspace FILE`.
//!
//! ```toml
//! agent = "agent-5"
//! inputs = ["input/data.txt", "docs/"]
//! outputs = ["output/*.md"]
//! temp = true                       # write below `temp/`, too
//! quota = { bytes = 1_000_000, files = 100 }
//! dots = "component"                # `[...slug].tsx` is a name like any other
//! base = "/srv/workspaces"          # where workspaces are made
//! from = "."                        # what the inputs are copied from when the workspace is made
//! ```
//!
//! Against whom: an agent that would widen its own declaration. The file is named by the person who starts the program,
//! and must not lie in the workspace that it declares.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::Deserialize;
use toolgate_declaration::{Declaration, Dots, Pattern, Quota};

use crate::agent::AgentId;
use crate::error::Error;
use crate::snapshot::Progress;
use crate::store::Store;
use crate::workspace::Workspace;
use crate::workspaces::{DEFAULT_BASE, Workspaces};

/// A declaration has thousands of lines at most. What is longer is another file.
const LONGEST: u64 = 1024 * 1024;

/// What a file says about a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceFile {
    /// Whose workspace it is.
    pub agent: AgentId,
    /// What it reads and writes.
    pub declaration: Declaration,
    /// The directory that workspaces are made in.
    pub base: PathBuf,
    /// The directory that the declared inputs are copied from when the workspace is made.
    pub from: Option<PathBuf>,
}

/// The file, key by key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    agent: String,
    base: Option<PathBuf>,
    from: Option<PathBuf>,
    #[serde(default)]
    inputs: Vec<Pattern>,
    #[serde(default)]
    outputs: Vec<Pattern>,
    #[serde(default)]
    temp: bool,
    #[serde(default)]
    quota: Quota,
    #[serde(default)]
    dots: Dots,
}

/// Why a file is not used.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// It cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// It does not say what such a file says.
    Invalid {
        /// The file.
        path: PathBuf,
        /// The key, as far as it is known.
        key: Option<String>,
        /// What is wrong.
        message: String,
    },
    /// It lies in the workspace that it declares.
    Within {
        /// The file.
        path: PathBuf,
        /// The workspace.
        workspace: PathBuf,
    },
    /// The agent has a workspace with another declaration.
    Changed {
        /// The agent.
        agent: AgentId,
        /// The keys whose values differ.
        keys: Vec<&'static str>,
    },
    /// The workspace cannot be made or opened.
    Workspace(Error),
}

impl WorkspaceFile {
    /// Reads a file. Directories that it names relatively are meant from where it stands.
    pub fn read(path: &Path) -> Result<WorkspaceFile, FileError> {
        let unreadable = |source| FileError::Unreadable { path: path.to_path_buf(), source };
        let path = path.canonicalize().map_err(unreadable)?;
        // A pipe that stands there must not hold us up.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(&path).map_err(unreadable)?;
        if !file.metadata().map_err(unreadable)?.is_file() {
            return Err(unreadable(io::Error::other("it is not a regular file")));
        }
        let mut text = String::new();
        file.take(LONGEST + 1).read_to_string(&mut text).map_err(unreadable)?;
        if text.len() as u64 > LONGEST {
            return Err(unreadable(io::ErrorKind::FileTooLarge.into()));
        }
        let read = WorkspaceFile::parse(&text, &path)?;
        // As it is reached, whatever links lead there; where there is no base yet, nothing lies in it.
        let workspace = read.base.canonicalize().map(|base| base.join(read.agent.as_str()));
        match workspace {
            Ok(workspace) if path.starts_with(&workspace) => Err(FileError::Within { path, workspace }),
            _ => Ok(read),
        }
    }

    /// What the text says; `path` is where it stands, absolute.
    fn parse(text: &str, path: &Path) -> Result<WorkspaceFile, FileError> {
        let invalid = |key: Option<String>, message: String| FileError::Invalid {
            path: path.to_path_buf(),
            key,
            message,
        };
        let reader = toml::Deserializer::parse(text)
            .map_err(|error| invalid(None, placed(text, error.span(), error.message())))?;
        let keys: Keys = serde_path_to_error::deserialize(reader).map_err(|error| {
            let key = Some(error.path().to_string()).filter(|key| key != ".");
            invalid(key, placed(text, error.inner().span(), error.inner().message()))
        })?;
        let agent = AgentId::parse(&keys.agent).map_err(|fault| {
            invalid(Some("agent".to_owned()), format!("`{}` {fault}", keys.agent.escape_debug()))
        })?;
        let declaration = Declaration {
            inputs: keys.inputs,
            outputs: keys.outputs,
            temp: keys.temp,
            quota: keys.quota,
            dots: keys.dots,
        };
        // Asked here, so that the file is named and not the workspace.
        declaration.clone().compile().map_err(|fault| invalid(None, fault.to_string()))?;
        let beside = |named: &Path| path.parent().unwrap_or(Path::new("/")).join(named);
        Ok(WorkspaceFile {
            agent,
            declaration,
            base: beside(keys.base.as_deref().unwrap_or(Path::new(DEFAULT_BASE))),
            from: keys.from.as_deref().map(beside),
        })
    }

    /// The agent's workspace where it has one, under this declaration and no other.
    pub fn find(&self) -> Result<Option<Workspace>, FileError> {
        let workspace = match Workspaces::open(&self.base)?.find(self.agent.as_str()) {
            Ok(workspace) => workspace,
            Err(Error::WorkspaceNotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let keys = differences(&self.declaration, workspace.declaration());
        if keys.is_empty() {
            Ok(Some(workspace))
        } else {
            Err(FileError::Changed { agent: self.agent.clone(), keys })
        }
    }

    /// Makes the workspace, with its inputs in it where the file says where they are.
    pub fn create(&self, store: &Store, progress: &dyn Progress) -> Result<Workspace, FileError> {
        let (agent, declaration) = (self.agent.as_str(), self.declaration.clone());
        let workspaces = Workspaces::open(&self.base)?;
        Ok(match &self.from {
            Some(from) => workspaces.create_from(agent, declaration, from, store, progress)?,
            None => workspaces.create(agent, declaration)?,
        })
    }
}

/// The keys whose values differ. The order of a list says nothing.
fn differences(one: &Declaration, other: &Declaration) -> Vec<&'static str> {
    let sorted = |patterns: &[Pattern]| {
        let mut patterns = patterns.to_vec();
        patterns.sort();
        patterns.dedup();
        patterns
    };
    [
        ("inputs", sorted(&one.inputs) != sorted(&other.inputs)),
        ("outputs", sorted(&one.outputs) != sorted(&other.outputs)),
        ("temp", one.temp != other.temp),
        ("quota", one.quota != other.quota),
        ("dots", one.dots != other.dots),
    ]
    .into_iter()
    .filter_map(|(key, differs)| differs.then_some(key))
    .collect()
}

/// A message with the line that it is about.
fn placed(text: &str, span: Option<std::ops::Range<usize>>, message: &str) -> String {
    let before = span.and_then(|span| text.get(..span.start));
    match before {
        Some(before) => format!("line {}: {message}", before.matches('\n').count() + 1),
        None => message.to_owned(),
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileError::Unreadable { path, source } => write!(f, "cannot read `{}`: {source}", path.display()),
            FileError::Invalid { path, key: Some(key), message } => {
                write!(f, "`{}`: `{}`: {message}", path.display(), key.escape_debug())
            }
            FileError::Invalid { path, key: None, message } => write!(f, "`{}`: {message}", path.display()),
            FileError::Within { path, workspace } => write!(
                f,
                "`{}` lies in `{}`, the workspace that it declares; keep it where the agent cannot write",
                path.display(),
                workspace.display()
            ),
            FileError::Changed { agent, keys } => write!(
                f,
                "`{agent}` has a workspace with a different declaration ({}); clean it up first, or use another name",
                keys.join(", ")
            ),
            FileError::Workspace(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            FileError::Unreadable { source, .. } => Some(source),
            FileError::Workspace(error) => Some(error),
            FileError::Invalid { .. } | FileError::Within { .. } | FileError::Changed { .. } => None,
        }
    }
}

impl From<Error> for FileError {
    fn from(error: Error) -> FileError {
        FileError::Workspace(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<WorkspaceFile, FileError> {
        WorkspaceFile::parse(text, Path::new("/home/u/workspace.toml"))
    }

    #[test]
    fn every_key_of_a_workspace_file_is_read() {
        let text = r#"
            agent = "agent-5"
            inputs = ["input/data.txt", "docs/"]
            outputs = ["output/*.md", "[...slug].tsx"]
            temp = true
            quota = { bytes = 1_000_000, files = 100 }
            dots = "component"
            base = "workspaces"
            from = "."
        "#;
        let file = parse(text).unwrap();
        assert_eq!(file.agent.as_str(), "agent-5");
        assert_eq!(file.declaration.inputs.len(), 2);
        assert_eq!(file.declaration.quota, Quota { bytes: Some(1_000_000), files: Some(100) });
        assert_eq!(file.base, Path::new("/home/u/workspaces"));
        assert_eq!(file.from.as_deref(), Some(Path::new("/home/u/.")));
        let least = parse("agent = \"a\"").unwrap();
        assert_eq!((least.base.as_path(), least.from), (Path::new(DEFAULT_BASE), None));
    }

    #[test]
    fn a_mistake_in_a_workspace_file_is_named() {
        for (text, wanted) in [
            ("", "missing field `agent`"),
            ("agent = \"a\"\ninput = []", "line 2: unknown field `input`"),
            ("agent = \"a\"\noutputs = [\"x\", \"/etc/passwd\"]", "`outputs[1]`: line 2: `/etc/passwd`"),
            ("agent = \"a\"\ninputs = \"x\"", "`inputs`: line 2: invalid type"),
            ("agent = \"a\"\n[quota]\nbytes = -1", "`quota.bytes`: line 3: "),
            ("agent = \"a\"\nquota = { bites = 1 }", "unknown field `bites`"),
            ("agent = \"../x\"", "`agent`: `../x` is not a name"),
            ("agent = \"a\"\ndots = \"some\"", "`dots`: line 2: unknown variant `some`"),
            ("agent = \"a\"\ninputs = [\"[...slug].tsx\"]", "dots = \"component\""),
            ("agent = \"a\"\nagent = \"b\"", "line 2: duplicate key"),
            ("agent = ", "line 1: "),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{text:?}: {error}");
        }
    }

    #[test]
    fn an_unchanged_file_finds_its_workspace_and_a_changed_one_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("workspace.toml");
        let read = |text: &str| {
            std::fs::write(&path, format!("agent = \"a\"\nbase = \"base\"\n{text}")).unwrap();
            WorkspaceFile::read(&path).unwrap()
        };
        let store = Store::open(&scratch.path().join("store")).unwrap();
        let file = read("inputs = [\"x\", \"y\"]\nfrom = \".\"");
        std::fs::write(scratch.path().join("x"), "from here").unwrap();
        assert!(file.find().unwrap().is_none());
        let workspace = file.create(&store, &()).unwrap();
        assert_eq!(workspace.read("x").unwrap(), b"from here");
        assert!(file.find().unwrap().is_some());
        assert!(read("inputs = [\"y\", \"x\", \"y\"]").find().unwrap().is_some(), "the order says nothing");
        let error = read("inputs = [\"x\", \"y\"]\noutputs = [\"z\"]\ntemp = true").find().unwrap_err();
        assert!(matches!(&error, FileError::Changed { keys, .. } if keys == &["outputs", "temp"]), "{error}");
        assert!(matches!(file.create(&store, &()), Err(FileError::Workspace(Error::AgentInUse { .. }))));
    }

    #[test]
    fn a_file_inside_the_workspace_it_declares_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let within = scratch.path().join("base/a");
        std::fs::create_dir_all(&within).unwrap();
        let path = within.join("workspace.toml");
        std::fs::write(&path, "agent = \"a\"\nbase = \"..\"").unwrap();
        let link = scratch.path().join("link.toml");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for path in [path, link] {
            assert!(
                matches!(WorkspaceFile::read(&path), Err(FileError::Within { .. })),
                "{}",
                path.display()
            );
        }
    }

    #[test]
    fn a_path_that_is_not_a_file_of_sensible_size_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let long = scratch.path().join("long");
        std::fs::write(&long, "#".repeat(2 * 1024 * 1024)).unwrap();
        for path in [long, scratch.path().to_path_buf(), scratch.path().join("none"), "/dev/zero".into()] {
            assert!(
                matches!(WorkspaceFile::read(&path), Err(FileError::Unreadable { .. })),
                "{}",
                path.display()
            );
        }
    }
}
