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
use crate::snapshot::{Formula, Links, Progress, Snapshot, State, survey};
use crate::store::{Alone, Store};
use crate::workspace::Workspace;
use crate::workspaces::{Beside, Workspaces};

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
    /// agent began with, for the receipt. A link that a directory or a glob covers is left out, one that is declared by
    /// name is an error. Where anything fails, there is no workspace.
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
        self.make(agent, declaration, Beside::Disjoint, |top, declared| {
            let _lock = store.lock(Alone::No)?;
            let put = |mut file| store.put_locked(&mut file);
            let files = survey(&source, declared, Side::Input, Links::PassOver, progress, put)?;
            fill(top, &files, store, progress)?;
            let began = Snapshot::new(Formula::Framed, files);
            store.pin(&self.path().join(agent), &began)?;
            Ok(Some(began))
        })
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
        // All that is there is what the receipt names.
        let declaration = Declaration {
            inputs: vec![Pattern::everything()],
            dots: Dots::Component,
            ..Declaration::default()
        };
        self.make(agent, declaration, Beside::Any, |top, _| {
            fill(top, &files, store, progress)?;
            Ok(None)
        })
    }
}

/// Puts stored files in their places.
fn fill(
    top: &Top,
    files: &BTreeMap<String, State>,
    store: &Store,
    progress: &dyn Progress,
) -> Result<(), Error> {
    for (done, (path, state)) in files.iter().enumerate() {
        if let State::File { digest, .. } = state {
            let why = Error::BadReceipt { why: "names a path that cannot be in a workspace" };
            let path = CleanPath::of(path, Dots::Component).map_err(|_| why)?;
            let parent = top.parent(&path, || Ok(()))?;
            let failed = |error: io::Error| Error::about(path.as_str(), error);
            let mut staged = Staged::write_all(parent.as_fd(), &[], Durability::Process).map_err(failed)?;
            // INVARIANT: it gets its name only when its digest was right.
            store.read_into(digest, staged.content())?;
            staged.publish(path.split().1).map_err(failed)?;
        }
        progress.at(done + 1, files.len());
    }
    Ok(())
}
