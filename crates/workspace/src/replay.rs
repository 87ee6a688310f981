//! Workspaces from what is stored: from a project at the beginning, from a receipt afterwards.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{self, Mode};
use toolgate_declaration::{CleanPath, Declaration, Dots, Pattern, Side};

use crate::atomic::{Durability, Staged};
use crate::beneath::{DIRECTORY, Top};
use crate::error::Error;
use crate::receipt::Receipt;
use crate::snapshot::{Formula, Progress, Snapshot, State, survey};
use crate::store::{Alone, Store};
use crate::workspace::Workspace;
use crate::workspaces::Workspaces;

/// Which state of a receipt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Moment {
    /// What the agent began with.
    Before,
    /// What came of it: the outputs, over what it began with.
    #[default]
    After,
}

impl Workspaces {
    /// Makes a workspace and copies the declared inputs of a directory into it. They are kept in the store as what the
    /// agent began with, for the receipt. Where that fails, there is no workspace.
    pub fn create_from(
        &self,
        agent: &str,
        declaration: Declaration,
        from: &Path,
        store: &Store,
        progress: &dyn Progress,
    ) -> Result<Workspace, Error> {
        let source = fs::open(from, DIRECTORY, Mode::empty());
        let source = Top::new(source.map_err(|errno| Error::about(&from.to_string_lossy(), errno))?);
        let workspace = self.create(agent, declaration)?;
        let fill = || {
            let _lock = store.lock(Alone::No)?;
            let put = |mut file| store.put_locked(&mut file);
            let files = survey(&source, &workspace.declared, Side::Input, progress, put)?;
            workspace.fill(&files, store, &())?;
            let began = Snapshot::new(Formula::Framed, files);
            store.pin(workspace.path(), &began)?;
            self.remember(workspace.agent(), &began)
        };
        match fill() {
            // Opened again, so that what was copied counts where there is a quota.
            Ok(()) => self.find(agent),
            Err(error) => {
                workspace.cleanup()?;
                Err(error)
            }
        }
    }

    /// Makes a workspace in which everything is as a receipt says, to be read and not to be written.
    pub fn replay(
        &self,
        agent: &str,
        receipt: &Receipt,
        store: &Store,
        moment: Moment,
        progress: &dyn Progress,
    ) -> Result<Workspace, Error> {
        let stated = &receipt.statement().predicate;
        let mut files = stated.inputs.files().clone();
        if moment == Moment::After {
            files.extend(stated.outputs.files().iter().map(|(path, state)| (path.clone(), *state)));
        }
        files.retain(|_, state| *state != State::Missing);
        let named = |path: &String| {
            let why = Error::BadReceipt { why: "names a path that no workspace could hold" };
            Pattern::parse(path).map_err(|_| why)
        };
        let declaration = Declaration {
            inputs: files.keys().map(named).collect::<Result<_, _>>()?,
            dots: Dots::Component,
            ..Declaration::default()
        };
        let workspace = self.create_copy(agent, declaration)?;
        match workspace.fill(&files, store, progress) {
            Ok(()) => Ok(workspace),
            Err(error) => {
                workspace.cleanup()?;
                Err(error)
            }
        }
    }
}

impl Workspace {
    /// Puts stored files in their places, for their owner to read.
    fn fill(
        &self,
        files: &BTreeMap<String, State>,
        store: &Store,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        for (done, (path, state)) in files.iter().enumerate() {
            if let State::File { digest, .. } = state {
                let why = Error::BadReceipt { why: "names a path that no workspace could hold" };
                let path = CleanPath::of(path, Dots::Component).map_err(|_| why)?;
                let parent = self.top.parent(&path, &mut 0)?;
                let failed = |error: io::Error| Error::about(path.as_str(), error);
                let mut staged =
                    Staged::write_all(parent.as_fd(), &[], Durability::Process).map_err(failed)?;
                // INVARIANT: it gets its name only when its digest was right.
                store.read_into(digest, staged.content())?;
                staged.publish(path.split().1).map_err(failed)?;
            }
            progress.at(done + 1, files.len());
        }
        Ok(())
    }
}
