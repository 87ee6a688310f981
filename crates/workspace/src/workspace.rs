//! One agent's workspace: the way to its files.
//!
//! Order of every operation, and each step ends it where it fails: the text of the path, the declaration, the file, the
//! metrics.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::buffer::spare_capacity;
use rustix::fs::{self, AtFlags, FileType};
use rustix::io::Errno;
use toolgate_declaration::{CleanPath, Declaration, Declared, InputPath, OutputPath, Refusal, Side};

use crate::agent::AgentId;
use crate::atomic::{Durability, Staged, is_ours};
use crate::beneath::Top;
use crate::error::{Error, Leaves};
use crate::metrics::{Counter, Counters, Metrics, Outcome};
use crate::quota::{Meter, Usage};
use crate::walk::walk;
use crate::workspaces::{DEFAULT_BASE, Workspaces};

/// A directory of its own for one agent, and what it may do there. Threads share it freely.
#[derive(Debug)]
pub struct Workspace {
    pub(crate) agent: AgentId,
    pub(crate) path: PathBuf,
    pub(crate) top: Top,
    pub(crate) declared: Declared,
    pub(crate) meter: Option<Meter>,
    pub(crate) counters: Counters,
    pub(crate) base: Workspaces,
}

/// The right to read one declared file. Only [`Workspace::input`] gives it.
#[derive(Debug)]
#[must_use]
pub struct Input<'w, 'p> {
    workspace: &'w Workspace,
    path: InputPath<'p>,
}

/// The right to write one declared file. Only [`Workspace::output`] gives it.
#[derive(Debug)]
#[must_use]
pub struct Output<'w, 'p> {
    workspace: &'w Workspace,
    path: OutputPath<'p>,
}

impl Workspace {
    /// Makes a workspace in [`DEFAULT_BASE`]; see [`Workspaces::create`].
    pub fn create(agent: &str, declaration: Declaration) -> Result<Workspace, Error> {
        Workspaces::open(Path::new(DEFAULT_BASE))?.create(agent, declaration)
    }

    /// Whose it is.
    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// Where it is. For people and for other programs: this library has no use for it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What may be read and written here.
    pub fn declaration(&self) -> &Declaration {
        self.declared.declaration()
    }

    /// How many different entries one side of the declaration has.
    pub fn declared(&self, side: Side) -> usize {
        self.declared.len(side)
    }

    /// The right to read a path, if it is declared as an input. Touches nothing.
    pub fn input<'p>(&self, path: &'p str) -> Result<Input<'_, 'p>, Error> {
        let begun = Instant::now();
        match self.declared.input(path).and_then(|path| not_ours(path, InputPath::path)) {
            Ok(declared) => Ok(Input { workspace: self, path: declared }),
            Err(refusal) => {
                self.counters.read.count(Outcome::Denied, begun);
                Err(refused(refusal, path, |path| Error::UndeclaredRead { path }))
            }
        }
    }

    /// The right to write a path, if it is declared as an output. Touches nothing.
    pub fn output<'p>(&self, path: &'p str) -> Result<Output<'_, 'p>, Error> {
        let begun = Instant::now();
        match self.declared.output(path).and_then(|path| not_ours(path, OutputPath::path)) {
            Ok(declared) => Ok(Output { workspace: self, path: declared }),
            Err(refusal) => {
                self.counters.write.count(Outcome::Denied, begun);
                Err(refused(refusal, path, |path| Error::UndeclaredWrite { path }))
            }
        }
    }

    /// Reads a declared input whole.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, Error> {
        self.input(path)?.read()
    }

    /// Writes a declared output, whole or not at all.
    pub fn write(&self, path: &str, content: &[u8]) -> Result<(), Error> {
        self.output(path)?.write(content, Durability::Process)
    }

    /// How often it was read and written so far, through this value.
    pub fn metrics(&self) -> Metrics {
        self.counters.now()
    }

    /// Takes the workspace away with all that lies in it, and nothing else.
    pub fn cleanup(self) -> Result<(), Error> {
        let Workspace { agent, top, base, .. } = self;
        base.remove(&agent, top.as_fd())
    }

    /// An error that has to do with files; that of a workspace that is gone says so.
    fn or_gone(&self, error: Error) -> Error {
        match error {
            Error::Io { .. } | Error::QuotaExceeded { .. } if self.top.is_gone() => {
                Error::WorkspaceNotFound { agent: self.agent.to_string() }
            }
            error => error,
        }
    }

    /// What the agent has written so far: everything that it may write.
    pub(crate) fn usage(&self) -> Result<Usage, Error> {
        let mut usage = Usage::default();
        let is_output = |path: &str| self.declared.output(path).is_ok();
        self.each_file(is_output, |_, size| {
            usage.files += 1;
            usage.bytes = usage.bytes.saturating_add(size);
        })?;
        Ok(usage)
    }

    /// The regular files that lie here and are meant, each with its length.
    pub(crate) fn each_file(
        &self,
        is_meant: impl Fn(&str) -> bool,
        mut each: impl FnMut(&str, u64),
    ) -> Result<(), Error> {
        walk(&self.top, "", |found| {
            if found.kind != FileType::RegularFile || !is_meant(found.path.as_str()) {
                return Ok(());
            }
            match self.top.open(&found.path) {
                Ok((_, stat)) => each(found.path.as_str(), u64::try_from(stat.st_size).unwrap_or(0)),
                // Gone, or another thing, since it was listed.
                Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                Err(Error::PathTraversal { .. } | Error::NotAFile { .. }) => {}
                Err(error) => return Err(error),
            }
            Ok(())
        })
    }

    /// Does something with a file, and counts how that came out and how long it took.
    fn counted<T>(&self, counter: &Counter, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let begun = Instant::now();
        let done = work().map_err(|error| self.or_gone(error));
        counter.count(outcome(&done), begun);
        done
    }
}

/// A name of ours is a file that was being written. It is in no snapshot, so nobody reads or writes it.
fn not_ours<'p, T>(declared: T, path: impl FnOnce(&T) -> &CleanPath<'p>) -> Result<T, Refusal> {
    if path(&declared).names().any(is_ours) { Err(Refusal::Undeclared) } else { Ok(declared) }
}

fn refused(refusal: Refusal, path: &str, undeclared: impl FnOnce(String) -> Error) -> Error {
    let path = path.to_owned();
    match refusal {
        Refusal::Traversal(fault) => Error::PathTraversal { path, why: Leaves::Text(fault) },
        Refusal::Undeclared => undeclared(path),
    }
}

fn outcome<T>(result: &Result<T, Error>) -> Outcome {
    match result {
        Ok(_) => Outcome::Succeeded,
        Err(error) if error.is_denial() => Outcome::Denied,
        Err(_) => Outcome::Failed,
    }
}

impl Input<'_, '_> {
    /// Reads the file whole.
    pub fn read(&self) -> Result<Vec<u8>, Error> {
        self.counted(|| {
            let (file, stat) = self.workspace.top.open(self.path.path())?;
            // One byte more, so that one read brings it all and the next one finds the end. Room for more than memory has
            // is an error: a file of nothing but holes has any length.
            let mut content = Vec::new();
            let mut room = usize::try_from(stat.st_size).unwrap_or(usize::MAX).saturating_add(1);
            loop {
                if content.len() == content.capacity() {
                    let reserved = content.try_reserve_exact(room);
                    reserved.map_err(|_| self.failed(io::ErrorKind::OutOfMemory.into()))?;
                    room = content.capacity();
                }
                match rustix::io::read(&file, spare_capacity(&mut content)) {
                    Ok(0) => return Ok(content),
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(errno) => return Err(self.failed(errno.into())),
                }
            }
        })
    }

    /// Reads the file piece by piece into `sink`, and says how long it is.
    pub fn read_into(&self, sink: &mut dyn Write) -> Result<u64, Error> {
        self.counted(|| {
            let (mut file, _) = self.workspace.top.open(self.path.path())?;
            io::copy(&mut file, sink).map_err(|error| self.failed(error))
        })
    }

    /// Reads at most `most` bytes from `offset` on, and says how long the whole file is.
    pub fn read_part(&self, offset: u64, most: usize) -> Result<(Vec<u8>, u64), Error> {
        self.counted(|| {
            let (mut file, stat) = self.workspace.top.open(self.path.path())?;
            let length = u64::try_from(stat.st_size).unwrap_or(0);
            let rest = usize::try_from(length.saturating_sub(offset)).unwrap_or(usize::MAX);
            let mut part = Vec::with_capacity(rest.min(most));
            let read = || -> io::Result<()> {
                if rest > 0 {
                    file.seek(SeekFrom::Start(offset))?;
                    file.take(most as u64).read_to_end(&mut part)?;
                }
                Ok(())
            };
            read().map_err(|error| self.failed(error))?;
            Ok((part, length))
        })
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::about(self.path.path().as_str(), error)
    }

    fn counted<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        self.workspace.counted(&self.workspace.counters.read, work)
    }
}

impl Output<'_, '_> {
    /// Writes the file, whole or not at all. Directories that are missing are made.
    pub fn write(&self, content: &[u8], durability: Durability) -> Result<(), Error> {
        self.counted(|| {
            self.place(durability, content.len() as u64, |parent| {
                Ok((Staged::write_all(parent, content, durability)?, content.len() as u64))
            })
        })
    }

    /// The same, with what `content` gives.
    pub fn write_from(&self, content: &mut dyn Read, durability: Durability) -> Result<u64, Error> {
        let mut length = 0;
        self.counted(|| {
            // One byte more than may be there is enough to know that it is too much.
            let most =
                self.workspace.declaration().quota.bytes.map_or(u64::MAX, |most| most.saturating_add(1));
            self.place(durability, 0, |parent| {
                let (staged, written) = Staged::write(parent, &mut content.take(most), durability)?;
                length = written;
                Ok((staged, written))
            })
        })?;
        Ok(length)
    }

    fn place<'s>(
        &'s self,
        durability: Durability,
        least: u64,
        stage: impl for<'d> FnOnce(std::os::fd::BorrowedFd<'d>) -> io::Result<(Staged<'d>, u64)>,
    ) -> Result<(), Error> {
        let top = &self.workspace.top;
        let path = self.path.path();
        // A directory that is missing is not made for a file that is then refused.
        let room = || match &self.workspace.meter {
            Some(meter) => meter.room(path.as_str(), least, || self.workspace.usage()),
            None => Ok(()),
        };
        let parent = top.parent(path, room)?;
        let (directory, name) = path.split();
        let failed = |error: io::Error| Error::about(path.as_str(), error);
        let (staged, length) = stage(parent.as_fd()).map_err(failed)?;
        let publish = || {
            staged.publish(name).map_err(|error| match error.kind() {
                io::ErrorKind::IsADirectory => Error::NotAFile { path: path.to_string() },
                _ => failed(error),
            })
        };
        match &self.workspace.meter {
            None => publish()?,
            Some(meter) => {
                let old = || match fs::statat(parent.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
                        Ok(Some(u64::try_from(stat.st_size).unwrap_or(0)))
                    }
                    Ok(_) | Err(Errno::NOENT) => Ok(None),
                    Err(errno) => Err(failed(errno.into())),
                };
                meter.replace(path.as_str(), length, old, || self.workspace.usage(), publish)?;
            }
        }
        if durability == Durability::Machine && !directory.is_empty() {
            // The directories have names too, which somebody may have made a moment ago.
            sync_above(top, directory).map_err(failed)?;
        }
        Ok(())
    }

    fn counted<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        self.workspace.counted(&self.workspace.counters.write, work)
    }
}

/// Has the names of directories survive a loss of power, up to the top.
fn sync_above(top: &Top, directory: &str) -> io::Result<()> {
    let mut above = directory;
    loop {
        above = above.rsplit_once('/').map_or("", |(above, _)| above);
        let handle = top.open_directory(above).map_err(io::Error::other)?;
        File::from(handle).sync_all()?;
        if above.is_empty() {
            return Ok(());
        }
    }
}
