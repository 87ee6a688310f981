//! A base: the directory that workspaces are made in, and what is known about them.
//!
//! ```text
//! base/                  ours alone, or it is refused
//!   agent-5/             a workspace
//!   .toolgate/
//!     lock               held while a workspace is made or taken away
//!     agent-5/           what is known about it, out of its reach
//!       workspace.json   its declaration, and which directory it is
//!       inputs.json      what it began with, where it was filled from a directory
//!       usage            how much it holds, where there is a quota
//! ```

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use toolgate_declaration::{Declaration, TEMP};

use crate::agent::AgentId;
use crate::atomic::{is_ours, open_directory, replace};
use crate::beneath::{DIRECTORY, DIRECTORY_MODE, FILE_MODE, Top};
use crate::error::Error;
use crate::metrics::Counters;
use crate::quota::{self, Meter};
use crate::removal;
use crate::snapshot::Snapshot;
use crate::workspace::Workspace;

/// Where workspaces are made if nobody says otherwise.
pub const DEFAULT_BASE: &str = "/tmp/kgc-workspaces";

/// What is ours in a base. No agent has such a name.
const RECORDS: &str = ".toolgate";
const RECORD: &str = "workspace.json";
const BEGAN: &str = "inputs.json";
const USAGE: &str = "usage";
/// A workspace before it has its name.
const NEW: &str = "new";

/// The workspaces of one base directory.
#[derive(Debug, Clone)]
pub struct Workspaces {
    path: PathBuf,
    inner: Arc<Handles>,
}

#[derive(Debug)]
struct Handles {
    base: Top,
    records: OwnedFd,
}

/// What is kept about a workspace.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    agent: AgentId,
    declaration: Declaration,
    /// Which directory it is: another one that has its name is not it.
    device: u64,
    inode: u64,
}

impl Workspaces {
    /// Opens a base, and makes it where there is none. A directory that others could reach is refused: they could put
    /// there what they like.
    pub fn open(path: &Path) -> Result<Workspaces, Error> {
        // With a `/` or a `/.` at its end, the name of a link would be followed.
        let path = path.components().as_path();
        let failed = |errno: Errno| Error::about(&path.to_string_lossy(), errno);
        match fs::mkdir(path, DIRECTORY_MODE) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed(errno)),
        }
        let unsafe_base = |why| Error::UnsafeBase { path: path.to_path_buf(), why };
        let base = match fs::open(path, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()) {
            Err(Errno::LOOP | Errno::NOTDIR) => {
                return Err(unsafe_base("is no directory of its own; name another base"));
            }
            base => base.map_err(failed)?,
        };
        let stat = fs::fstat(&base).map_err(failed)?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(unsafe_base("belongs to another user; name another base"));
        }
        if stat.st_mode & 0o077 != 0 {
            return Err(unsafe_base("is open to others; `chmod 700` it, or name another base"));
        }
        match fs::mkdirat(&base, RECORDS, DIRECTORY_MODE) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed(errno)),
        }
        let records = open_directory(&base, RECORDS).map_err(|error| Error::about(RECORDS, error))?;
        let path = std::path::absolute(path).map_err(|error| Error::about(&path.to_string_lossy(), error))?;
        Ok(Workspaces { path, inner: Arc::new(Handles { base: Top::new(base), records }) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a workspace. Refused where the agent's name is none or is taken, where the declaration cannot be used, and
    /// where it overlaps what another agent writes.
    pub fn create(&self, agent: &str, declaration: Declaration) -> Result<Workspace, Error> {
        self.make(agent, declaration, Beside::Disjoint)
    }

    /// Makes a workspace for a copy of what is known: what others are writing is no concern of it.
    pub(crate) fn create_copy(&self, agent: &str, declaration: Declaration) -> Result<Workspace, Error> {
        self.make(agent, declaration, Beside::Any)
    }

    fn make(&self, agent: &str, declaration: Declaration, beside: Beside) -> Result<Workspace, Error> {
        let agent = parse(agent)?;
        let declared = declaration.compile()?;
        let _lock = self.lock()?;
        self.forget_unfinished(&agent)?;
        let others = match beside {
            Beside::Disjoint => self.records()?,
            Beside::Any => Vec::new(),
        };
        for other in others {
            if let Some((pattern, theirs)) = declared.declaration().conflict(&other.declaration) {
                return Err(Error::Conflict {
                    agent,
                    pattern: pattern.clone(),
                    other: other.agent,
                    theirs: theirs.clone(),
                });
            }
        }
        let failed = |error: io::Error| Error::about(agent.as_str(), error);
        let record = self.make_record(&agent).map_err(failed)?;
        let top = make_directory(&record, NEW).map_err(failed)?;
        if declared.declaration().temp {
            make_directory(&top, TEMP).map_err(failed)?;
        }
        let stat = fs::fstat(&top).map_err(|errno| failed(errno.into()))?;
        let kept = Record {
            agent: agent.clone(),
            declaration: declared.declaration().clone(),
            device: stat.st_dev,
            inode: stat.st_ino,
        };
        let text = serde_json::to_vec_pretty(&kept).map_err(|error| failed(error.into()))?;
        replace(&record, RECORD, &text).map_err(failed)?;
        // INVARIANT: a workspace has its name only when all that is known about it is kept.
        match fs::renameat_with(&record, NEW, &self.inner.base, agent.as_str(), RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(errno) => return Err(failed(errno.into())),
        }
        self.ready(agent, declared, top, &record)
    }

    /// Opens a workspace that is there.
    pub fn find(&self, agent: &str) -> Result<Workspace, Error> {
        let agent = parse(agent)?;
        let not_found = || Error::WorkspaceNotFound { agent: agent.to_string() };
        let record = self.record_directory(&agent)?.ok_or_else(not_found)?;
        let kept = self.read_record(&agent, &record)?.ok_or_else(not_found)?;
        let top = self.directory_of(&agent, &kept)?.ok_or_else(not_found)?;
        let declared = kept.declaration.compile()?;
        self.ready(agent, declared, top, &record)
    }

    /// The agents that have a workspace, by name.
    pub fn agents(&self) -> Result<Vec<AgentId>, Error> {
        Ok(self.records()?.into_iter().map(|record| record.agent).collect())
    }

    fn ready(
        &self,
        agent: AgentId,
        declared: toolgate_declaration::Declared,
        top: OwnedFd,
        record: &OwnedFd,
    ) -> Result<Workspace, Error> {
        let quota = declared.declaration().quota;
        let meter = if quota.limits() {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let file =
                fs::openat(record, USAGE, flags, FILE_MODE).map_err(|errno| Error::about(USAGE, errno))?;
            Some(Meter::new(quota, File::from(file)))
        } else {
            None
        };
        let workspace = Workspace {
            path: self.path.join(agent.as_str()),
            agent,
            top: Top::new(top),
            declared,
            meter,
            counters: Counters::default(),
            base: self.clone(),
        };
        if let Some(meter) = &workspace.meter {
            meter.recount(|| workspace.usage())?;
        }
        Ok(workspace)
    }

    /// Takes away the workspace whose directory this is.
    pub(crate) fn remove(&self, agent: &AgentId, top: BorrowedFd<'_>) -> Result<(), Error> {
        let not_found = || Error::WorkspaceNotFound { agent: agent.to_string() };
        let failed = |error: io::Error| Error::about(agent.as_str(), error);
        let _lock = self.lock()?;
        let record = self.record_directory(agent)?.ok_or_else(not_found)?;
        // Somebody may have put another directory in its place. That one is not ours to take away.
        match same(&self.inner.base, agent.as_str(), top) {
            Ok(true) => {}
            Ok(false) | Err(Errno::NOENT) => return Err(not_found()),
            Err(errno) => return Err(failed(errno.into())),
        }
        let gone = crate::atomic::random_name().map_err(failed)?;
        // Out of its place first: what is emptied then has a name that nobody knows.
        match fs::renameat(&self.inner.base, agent.as_str(), &record, &gone) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(not_found()),
            Err(errno) => return Err(failed(errno.into())),
        }
        if !same(&record, &gone, top).map_err(|errno| failed(errno.into()))? {
            // In the moment since.
            let back =
                fs::renameat_with(&record, &gone, &self.inner.base, agent.as_str(), RenameFlags::NOREPLACE);
            back.map_err(|errno| failed(errno.into()))?;
            return Err(not_found());
        }
        removal::remove(&self.inner.records, agent.as_str()).map_err(failed)
    }

    /// Keeps what a workspace began with.
    pub(crate) fn remember(&self, agent: &AgentId, began: &Snapshot) -> Result<(), Error> {
        let not_found = || Error::WorkspaceNotFound { agent: agent.to_string() };
        let record = self.record_directory(agent)?.ok_or_else(not_found)?;
        let kept = || replace(&record, BEGAN, &serde_json::to_vec(began)?);
        kept().map_err(|error| Error::about(agent.as_str(), error))
    }

    /// What a workspace began with, where somebody kept that.
    pub(crate) fn began_with(&self, agent: &AgentId) -> Result<Option<Snapshot>, Error> {
        let Some(record) = self.record_directory(agent)? else { return Ok(None) };
        let damaged = || Error::Damaged { path: self.path.join(RECORDS).join(agent.as_str()).join(BEGAN) };
        let Some(text) = read_kept(&record, BEGAN).map_err(|_| damaged())? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|_| damaged())
    }

    fn lock(&self) -> Result<File, Error> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let lock = || -> io::Result<File> {
            let file = File::from(fs::openat(&self.inner.records, "lock", flags, FILE_MODE)?);
            quota::lock(&file)?;
            Ok(file)
        };
        lock().map_err(|error| Error::about("lock", error))
    }

    /// Refuses an agent that has a workspace, and forgets what was being made or taken away when somebody was killed.
    fn forget_unfinished(&self, agent: &AgentId) -> Result<(), Error> {
        let in_use = || Error::AgentInUse { agent: agent.clone() };
        match fs::statat(&self.inner.base, agent.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => return Err(in_use()),
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(Error::about(agent.as_str(), errno)),
        }
        let failed = |error: io::Error| Error::about(agent.as_str(), error);
        let entries = fs::Dir::read_from(&self.inner.records).map_err(|errno| failed(errno.into()))?;
        for entry in entries {
            let entry = entry.map_err(|errno| failed(errno.into()))?;
            if let Some(name) = entry.file_name().to_str().ok().filter(|name| is_ours(name)) {
                removal::remove(&self.inner.records, name).map_err(failed)?;
            }
        }
        removal::remove(&self.inner.records, agent.as_str()).map_err(failed)
    }

    /// Everything that is known about the workspaces that are there, by agent.
    fn records(&self) -> Result<Vec<Record>, Error> {
        let failed = |errno: Errno| Error::about(RECORDS, errno);
        let mut records = Vec::new();
        for entry in fs::Dir::read_from(&self.inner.records).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Some(agent) = entry.file_name().to_str().ok().and_then(|name| AgentId::parse(name).ok())
            else {
                continue;
            };
            let Some(directory) = self.record_directory(&agent)? else { continue };
            let Some(kept) = self.read_record(&agent, &directory)? else { continue };
            if self.directory_of(&agent, &kept)?.is_some() {
                records.push(kept);
            }
        }
        records.sort_by(|one, other| one.agent.cmp(&other.agent));
        Ok(records)
    }

    fn record_directory(&self, agent: &AgentId) -> Result<Option<OwnedFd>, Error> {
        match open_directory(&self.inner.records, agent.as_str()) {
            Ok(directory) => Ok(Some(directory)),
            // `lock` and the like are files.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(error) => Err(Error::about(agent.as_str(), error)),
        }
    }

    fn make_record(&self, agent: &AgentId) -> io::Result<OwnedFd> {
        make_directory(&self.inner.records, agent.as_str())
    }

    /// `None` where there is none: it was being made.
    fn read_record(&self, agent: &AgentId, directory: &OwnedFd) -> Result<Option<Record>, Error> {
        let damaged = || Error::Damaged { path: self.path.join(RECORDS).join(agent.as_str()).join(RECORD) };
        let Some(text) = read_kept(directory, RECORD).map_err(|_| damaged())? else { return Ok(None) };
        let record: Record = serde_json::from_str(&text).map_err(|_| damaged())?;
        if record.agent == *agent { Ok(Some(record)) } else { Err(damaged()) }
    }

    /// The workspace's directory; `None` where another one, or nothing, stands there.
    fn directory_of(&self, agent: &AgentId, kept: &Record) -> Result<Option<OwnedFd>, Error> {
        let directory = match self.inner.base.open_directory(agent.as_str()) {
            Ok(directory) => directory,
            Err(Error::Io { source, .. })
                if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
            {
                return Ok(None);
            }
            Err(Error::PathTraversal { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let stat = fs::fstat(&directory).map_err(|errno| Error::about(agent.as_str(), errno))?;
        Ok((stat.st_dev == kept.device && stat.st_ino == kept.inode).then_some(directory))
    }
}

/// Whether a workspace is made only where nobody else writes what it declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    Disjoint,
    Any,
}

fn parse(agent: &str) -> Result<AgentId, Error> {
    AgentId::parse(agent).map_err(|why| Error::InvalidAgent { agent: agent.to_owned(), why })
}

/// A file of ours, whole; `None` where there is none.
fn read_kept(directory: &OwnedFd, name: &str) -> io::Result<Option<String>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    match fs::openat(directory, name, flags, Mode::empty()) {
        Ok(file) => io::read_to_string(File::from(file)).map(Some),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

fn make_directory(inside: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    fs::mkdirat(&inside, name, DIRECTORY_MODE)?;
    open_directory(inside, name)
}

/// Whether the name stands for the directory of this handle.
fn same(inside: impl AsFd, name: &str, handle: BorrowedFd<'_>) -> rustix::io::Result<bool> {
    let named = fs::statat(inside, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let held = fs::fstat(handle)?;
    let is_directory = FileType::from_raw_mode(named.st_mode) == FileType::Directory;
    Ok(is_directory && (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino))
}
