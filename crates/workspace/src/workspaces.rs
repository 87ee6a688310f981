//! A base: the directory that workspaces are made in, and what is known about them.
//!
//! ```text
//! base/                  ours alone, or it is refused
//!   agent-5/             a workspace
//!   .toolgate/
//!     .lock              held while a workspace is made or taken away
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
use std::time::Duration;

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use toolgate_declaration::{Declaration, Declared, TEMP};

use crate::agent::AgentId;
use crate::atomic::{is_ours, open_directory, open_file, open_lasting, random_name, replace};
use crate::beneath::{DIRECTORY, DIRECTORY_MODE, Top};
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
const LOCK: &str = ".lock";
const RECORD: &str = "workspace.json";
const BEGAN: &str = "inputs.json";
const USAGE: &str = "usage";
/// A workspace before it has its name, and one that has lost it.
const NEW: &str = "new";
const GONE: &str = "gone";

/// Others hold the lock while they copy the inputs of a workspace.
const PATIENCE: Duration = Duration::from_mins(2);

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
            Err(Errno::ACCESS) => {
                return Err(unsafe_base("belongs to another user; name another directory"));
            }
            Err(Errno::LOOP | Errno::NOTDIR) => {
                return Err(unsafe_base("is not a plain directory; name another base"));
            }
            base => base.map_err(failed)?,
        };
        check_private(&base, path)?;
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
        self.make(agent, declaration, Beside::Disjoint, |_, _| Ok(None))
    }

    /// Makes a workspace with something in it: `fill` puts it there, and says what the agent begins with.
    pub(crate) fn make(
        &self,
        agent: &str,
        declaration: Declaration,
        beside: Beside,
        fill: impl FnOnce(&Top, &Declared) -> Result<Option<Snapshot>, Error>,
    ) -> Result<Workspace, Error> {
        let agent = parse(agent)?;
        let declared = declaration.compile()?;
        let lock = self.lock()?;
        self.forget_unfinished(&agent)?;
        if beside == Beside::Disjoint {
            self.check_disjoint(&agent, declared.declaration())?;
        }
        let made = self.make_directories(&agent, &declared, fill);
        if made.is_err() {
            // What is left of it is in nobody's way, and is forgotten when the agent comes again.
            let _ = removal::remove(&self.inner.records, agent.as_str());
        }
        drop(lock);
        let (top, record) = made?;
        self.ready(agent, declared, top, &record)
    }

    fn check_disjoint(&self, agent: &AgentId, declaration: &Declaration) -> Result<(), Error> {
        for other in self.records()? {
            if let Some((pattern, theirs)) = declaration.conflict(&other.declaration) {
                return Err(Error::Conflict {
                    agent: agent.clone(),
                    pattern: pattern.clone(),
                    other: other.agent,
                    theirs: theirs.clone(),
                });
            }
        }
        Ok(())
    }

    /// The workspace's directory, and that of what is known about it.
    fn make_directories(
        &self,
        agent: &AgentId,
        declared: &Declared,
        fill: impl FnOnce(&Top, &Declared) -> Result<Option<Snapshot>, Error>,
    ) -> Result<(OwnedFd, OwnedFd), Error> {
        let failed = |error: io::Error| Error::about(agent.as_str(), error);
        let record = make_directory(&self.inner.records, agent.as_str()).map_err(failed)?;
        let top = Top::new(make_directory(&record, NEW).map_err(failed)?);
        if declared.declaration().temp {
            make_directory(&top, TEMP).map_err(failed)?;
        }
        if let Some(began) = fill(&top, declared)? {
            let kept = || replace(&record, BEGAN, &serde_json::to_vec(&began)?);
            kept().map_err(failed)?;
        }
        let stat = fs::fstat(&top).map_err(|errno| failed(errno.into()))?;
        let kept =
            Record { agent: agent.clone(), declaration: declared.declaration().clone(), inode: stat.st_ino };
        let text = serde_json::to_vec_pretty(&kept).map_err(|error| failed(error.into()))?;
        replace(&record, RECORD, &text).map_err(failed)?;
        // INVARIANT: a workspace has its name only when all that it begins with is there, and all that is known about it
        // is kept.
        rename_new(&record, NEW, &self.inner.base, agent.as_str()).map_err(failed)?;
        Ok((top.into_handle(), record))
    }

    /// Opens a workspace that is there.
    pub fn find(&self, agent: &str) -> Result<Workspace, Error> {
        let agent = parse(agent)?;
        let (record, kept, top) = self.look_up(&agent)?;
        let declared = kept.declaration.compile()?;
        self.ready(agent, declared, top, &record)
    }

    /// Where what is known about a workspace lies, what it is, and the workspace's own directory.
    fn look_up(&self, agent: &AgentId) -> Result<(OwnedFd, Record, OwnedFd), Error> {
        let not_found = || Error::WorkspaceNotFound { agent: agent.to_string() };
        let record = self.record_directory(agent)?.ok_or_else(not_found)?;
        let kept = self.read_record(agent, &record)?.ok_or_else(not_found)?;
        let top = self.directory_of(agent, &kept)?.ok_or_else(not_found)?;
        Ok((record, kept, top))
    }

    /// The agents that have a workspace, by name.
    pub fn agents(&self) -> Result<Vec<AgentId>, Error> {
        Ok(self.records()?.into_iter().map(|record| record.agent).collect())
    }

    fn ready(
        &self,
        agent: AgentId,
        declared: Declared,
        top: OwnedFd,
        record: &OwnedFd,
    ) -> Result<Workspace, Error> {
        let quota = declared.declaration().quota;
        let meter = if quota.limits() {
            let file = open_lasting(record, USAGE).map_err(|errno| Error::about(USAGE, errno))?;
            Some(Meter::new(quota, file))
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

    /// Takes an agent's workspace away with all that lies in it, and nothing else.
    pub fn cleanup(&self, agent: &str) -> Result<(), Error> {
        let agent = parse(agent)?;
        let (_, _, top) = self.look_up(&agent)?;
        self.remove(&agent, top.as_fd())
    }

    /// Takes away the workspace whose directory this is.
    pub(crate) fn remove(&self, agent: &AgentId, top: BorrowedFd<'_>) -> Result<(), Error> {
        let failed = |error: io::Error| Error::about(agent.as_str(), error);
        let gone = self.take_out(agent, top)?;
        removal::remove(&self.inner.records, &gone).map_err(failed)?;
        self.sweep().map_err(failed)
    }

    /// Takes a workspace out of its place and forgets it; what is left of it has a name that nobody knows, and can be
    /// emptied while others go on.
    fn take_out(&self, agent: &AgentId, top: BorrowedFd<'_>) -> Result<String, Error> {
        let not_found = || Error::WorkspaceNotFound { agent: agent.to_string() };
        let failed = |error: io::Error| Error::about(agent.as_str(), error);
        let (base, records) = (&self.inner.base, &self.inner.records);
        let _lock = self.lock()?;
        // Somebody may have put another directory in its place. That one is not ours to take away.
        match same(base, agent.as_str(), top) {
            Ok(true) => {}
            Ok(false) | Err(Errno::NOENT) => return Err(not_found()),
            Err(errno) => return Err(failed(errno.into())),
        }
        let record = self.record_directory(agent)?.ok_or_else(not_found)?;
        // To where nobody else looks.
        match fs::renameat(base, agent.as_str(), &record, GONE) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(not_found()),
            Err(errno) => return Err(failed(errno.into())),
        }
        if !same(&record, GONE, top).map_err(|errno| failed(errno.into()))? {
            // In the moment since.
            rename_new(&record, GONE, base, agent.as_str()).map_err(failed)?;
            return Err(not_found());
        }
        let gone = random_name().map_err(failed)?;
        fs::renameat(records, agent.as_str(), records, &gone).map_err(|errno| failed(errno.into()))?;
        Ok(gone)
    }

    /// Takes away what is left of workspaces whose removal did not come to its end. What cannot be taken away, since it is
    /// another user's, is in nobody's way.
    fn sweep(&self) -> io::Result<()> {
        for entry in fs::Dir::read_from(&self.inner.records)? {
            let entry = entry?;
            if let Some(name) = entry.file_name().to_str().ok().filter(|name| is_ours(name)) {
                let _ = removal::remove(&self.inner.records, name);
            }
        }
        Ok(())
    }

    /// What a workspace began with, where somebody kept that.
    pub(crate) fn began_with(&self, agent: &AgentId) -> Result<Option<Snapshot>, Error> {
        let Some(record) = self.record_directory(agent)? else { return Ok(None) };
        let damaged = || Error::Damaged { path: self.path.join(RECORDS).join(agent.as_str()).join(BEGAN) };
        let Some(text) = read_kept(&record, BEGAN).map_err(|_| damaged())? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|_| damaged())
    }

    fn lock(&self) -> Result<File, Error> {
        let lock = || -> io::Result<File> {
            let file = open_lasting(&self.inner.records, LOCK)?;
            quota::lock(&file, PATIENCE)?;
            Ok(file)
        };
        lock().map_err(|error| {
            let busy = "other processes are making a workspace here, and it takes long; try again later";
            let error = match error.kind() {
                io::ErrorKind::TimedOut => io::Error::new(error.kind(), busy),
                _ => error,
            };
            Error::about(&self.path.to_string_lossy(), error)
        })
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
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(error) => Err(Error::about(agent.as_str(), error)),
        }
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
        Ok((stat.st_ino == kept.inode).then_some(directory))
    }
}

/// Whether a workspace is made only where nobody else writes what it declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    Disjoint,
    Any,
}

fn parse(agent: &str) -> Result<AgentId, Error> {
    AgentId::parse(agent).map_err(|why| Error::InvalidAgent { agent: agent.to_owned(), why })
}

/// Refuses a directory that others could reach: they could put there what they like.
pub(crate) fn check_private(directory: &OwnedFd, path: &Path) -> Result<(), Error> {
    let open_to_others = |why| Err(Error::UnsafeBase { path: path.to_path_buf(), why });
    let stat = fs::fstat(directory).map_err(|errno| Error::about(&path.to_string_lossy(), errno))?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return open_to_others("belongs to another user; name another directory");
    }
    if stat.st_mode & 0o077 != 0 {
        return open_to_others("is open to others; `chmod 700` it, or name another directory");
    }
    Ok(())
}

/// A file of ours, whole; `None` where there is none.
fn read_kept(directory: &OwnedFd, name: &str) -> io::Result<Option<String>> {
    match open_file(directory, name) {
        Ok(file) => io::read_to_string(file).map(Some),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

fn make_directory(inside: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    fs::mkdirat(&inside, name, DIRECTORY_MODE)?;
    open_directory(inside, name)
}

/// Gives a directory a name that nothing has.
fn rename_new(from: &OwnedFd, old: &str, to: &Top, new: &str) -> io::Result<()> {
    match fs::renameat_with(from, old, to, new, RenameFlags::NOREPLACE) {
        // Not every file system can do that. Nobody but us is here, and a directory replaces an empty one at most.
        Err(Errno::INVAL | Errno::NOSYS) => Ok(fs::renameat(from, old, to, new)?),
        renamed => Ok(renamed?),
    }
}

/// Whether the name stands for the directory of this handle.
fn same(inside: impl AsFd, name: &str, handle: BorrowedFd<'_>) -> rustix::io::Result<bool> {
    let named = fs::statat(inside, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let held = fs::fstat(handle)?;
    let is_directory = FileType::from_raw_mode(named.st_mode) == FileType::Directory;
    Ok(is_directory && (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino))
}
