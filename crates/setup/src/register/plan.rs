//! What would be done to a host's files, and doing it.
//!
//! Against whom: ourselves. The files belong to a person and hold their other settings, so each is replaced in one
//! step, only if it still is what the plan was made from, and never through a link that leads nowhere. Of several
//! files all are written or none. And a repository that brings links: nothing is written through one out of the
//! project, nor through any in the place of a script of ours.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use similar::TextDiff;

use super::content::{Noted, WantedFile, Whose};
use super::files::{io_error, locate, lock, read, replace, stays_inside};
use super::note::{marks, sha256};
use super::{HookLine, HostPlaces, RegisterError, Registrar, Registration, Registrations, Scope};
use toolgate_model::visible;

/// What would be done for one host. [`Plan::apply`] does it.
#[derive(Debug, Clone)]
#[must_use]
pub struct Plan {
    /// The host's id.
    pub host: &'static str,
    /// The file by which the host starts us.
    pub file: PathBuf,
    /// All of its files, in the order in which they are written.
    pub files: Vec<Change>,
    /// What the person should know besides the diff, one sentence each.
    pub warnings: Vec<String>,
    /// Whether something of ours is left where it was to be taken out, for a reason that the warnings say.
    pub leaves: bool,
    /// The state directory.
    state: PathBuf,
    /// What will be noted.
    noted: Vec<Registration>,
    /// What will not be noted any longer.
    forgotten: Vec<Registration>,
}

/// What would be done to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The file by the name that the host uses.
    pub file: PathBuf,
    /// The file that is written: the one behind a link, where `file` is a link.
    pub target: PathBuf,
    /// What it holds now; `None` where it does not exist.
    pub before: Option<String>,
    /// What it will hold; `None` where it is deleted or not created.
    pub after: Option<String>,
    /// Directories that are made for it, outermost first.
    created: Vec<PathBuf>,
    /// Directories that go with it when it is deleted, if they are empty.
    leftover: Vec<PathBuf>,
}

impl Plan {
    /// Plans to register `line` in the settings of `scope`. `state` is where the note of it is kept: the person's
    /// state directory, or root's for [`Scope::Managed`].
    pub fn init(
        host: &dyn Registrar,
        places: &HostPlaces,
        scope: Scope,
        line: &HookLine,
        state: &Path,
    ) -> Result<Plan, RegisterError> {
        let registrations = Registrations::load(state)?;
        let mut plan = Plan::empty(host, state);
        for wanted in host.wanted(places, scope, line)? {
            plan.put(host, places, scope, (&wanted, &line.binary), &registrations)?;
        }
        plan.file = plan.files.last().map(|last| last.file.clone()).unwrap_or_default();
        Ok(plan)
    }

    /// Plans to take the registration out of the settings of `scope`.
    ///
    /// A file that still is what init wrote becomes what it was before, byte for byte; out of any other only what
    /// is ours is taken.
    pub fn uninstall(
        host: &dyn Registrar,
        places: &HostPlaces,
        scope: Scope,
        line: &HookLine,
        state: &Path,
    ) -> Result<Plan, RegisterError> {
        let registrations = Registrations::load(state)?;
        let mut plan = Plan::empty(host, state);
        plan.take(host, places, scope, line, &registrations)?;
        Ok(plan)
    }

    /// Plans to take out all registrations with a host that are on the note, the last one first.
    pub fn uninstall_noted(
        host: &dyn Registrar,
        places: &HostPlaces,
        line: &HookLine,
        state: &Path,
    ) -> Result<Plan, RegisterError> {
        let registrations = Registrations::load(state)?;
        let mut plan = Plan::empty(host, state);
        let mut done = Vec::new();
        for noted in registrations.of(host.id()).rev() {
            let place = (noted.scope, &noted.project, &noted.config);
            if !done.contains(&place) {
                done.push(place);
                let then = places.moved(host.id(), &noted.config, noted.project.as_deref());
                plan.take(host, &then, noted.scope, line, &registrations)?;
            }
        }
        Ok(plan)
    }

    /// Whether any file changes.
    pub fn changes(&self) -> bool {
        self.files.iter().any(Change::changes)
    }

    /// The changes as one unified diff, fit for a terminal; empty where nothing changes.
    pub fn diff(&self) -> String {
        self.files.iter().map(Change::diff).collect()
    }

    /// Does what was planned.
    ///
    /// Whenever it is cut off, every file of ours is on the note and can be given back: what is new is noted before
    /// the files are written, and what is gone is forgotten after. A note about a file that was not written does no
    /// harm.
    pub fn apply(&self) -> Result<(), RegisterError> {
        let _lock = lock(&self.state)?;
        for change in &self.files {
            if locate(&change.file)?.0 != change.target || read(&change.target)? != change.before {
                return Err(RegisterError::ChangedMeanwhile { file: change.file.clone() });
            }
        }
        let old = Registrations::load(&self.state)?;
        let mut with_new = old.clone();
        self.noted.iter().for_each(|noted| with_new.set(noted.clone()));
        if with_new != old {
            with_new.save(&self.state)?;
        }
        let mut written = Vec::new();
        for change in self.files.iter().filter(|change| change.changes()) {
            written.push(change);
            if let Err(error) = change.write() {
                // The first error is the one to tell.
                written.iter().rev().for_each(|change| drop(change.undo()));
                if with_new != old {
                    let _ = old.save(&self.state);
                }
                return Err(error);
            }
        }
        let mut without_gone = with_new.clone();
        self.forgotten.iter().for_each(|gone| without_gone.forget(gone));
        if without_gone != with_new {
            without_gone.save(&self.state)?;
        }
        Ok(())
    }

    fn empty(host: &dyn Registrar, state: &Path) -> Plan {
        Plan {
            host: host.id(),
            file: PathBuf::new(),
            files: Vec::new(),
            warnings: Vec::new(),
            leaves: false,
            state: state.to_path_buf(),
            noted: Vec::new(),
            forgotten: Vec::new(),
        }
    }

    fn put(
        &mut self,
        host: &dyn Registrar,
        places: &HostPlaces,
        scope: Scope,
        (wanted, binary): (&WantedFile, &Path),
        registrations: &Registrations,
    ) -> Result<(), RegisterError> {
        let (target, missing) = place(places, scope, wanted)?;
        let before = read(&target)?;
        let text = before.as_deref().unwrap_or_default();
        let known = known(registrations, host, places, scope, &wanted.file);
        if before.is_some() && known.is_none() && wanted.content.whose(text) == Whose::Foreign {
            return Err(RegisterError::NotOurs { file: wanted.file.clone() });
        }
        let edit = |error: super::EditError| error.in_file(&wanted.file);
        let after = wanted.content.insert(text).map_err(edit)?;
        // The original is the file without us, also when this is not the first init. What an earlier one wrote
        // and nobody touched has its original on the note; anything else is cleaned of what is ours.
        let original = match (&before, known) {
            (None, _) => None,
            (Some(text), Some(known)) if known.wrote(text) => known.original.clone(),
            (Some(text), known) => wanted.content.remove(text, noted(known)).map_err(edit)?,
        };
        let created_dirs = match known {
            Some(known) if missing.is_empty() => known.created_dirs.clone(),
            _ => missing.clone(),
        };
        let (mark, marks) = marks(binary, original.as_deref().unwrap_or_default(), &after);
        let note = Registration {
            mark,
            marks,
            host: host.id().to_owned(),
            scope,
            project: project(places, scope),
            config: places.config(host.id()),
            file: known.map_or_else(|| wanted.file.clone(), |known| known.file.clone()),
            original,
            written_sha256: sha256(&after),
            created_dirs,
        };
        self.warnings.extend(host.warnings(&note.file, text, &after));
        self.files.push(Change {
            file: note.file.clone(),
            target,
            before,
            after: Some(after),
            created: missing,
            leftover: Vec::new(),
        });
        self.noted.push(note);
        Ok(())
    }

    /// Takes one registration out of what is planned so far: of two that share a file, the second one finds it
    /// without the first. What was written last goes first.
    fn take(
        &mut self,
        host: &dyn Registrar,
        places: &HostPlaces,
        scope: Scope,
        line: &HookLine,
        registrations: &Registrations,
    ) -> Result<(), RegisterError> {
        for wanted in host.wanted(places, scope, line)?.iter().rev() {
            let (target, _) = place(places, scope, wanted)?;
            let known = known(registrations, host, places, scope, &wanted.file);
            let at = if let Some(at) = self.files.iter().position(|change| change.target == target) {
                at
            } else {
                let before = read(&target)?;
                let file = known.map_or_else(|| wanted.file.clone(), |known| known.file.clone());
                let after = before.clone();
                let (created, leftover) = (Vec::new(), Vec::new());
                self.files.push(Change { file, target, before, after, created, leftover });
                self.files.len() - 1
            };
            let Some(change) = self.files.get_mut(at) else { continue };
            if let Some(text) = &change.after {
                let as_written = known.is_some_and(|known| known.wrote(text));
                change.after = match wanted.content.whose(text) {
                    _ if as_written => known.and_then(|known| known.original.clone()),
                    Whose::Shared | Whose::Ours => {
                        let removed = wanted.content.remove(text, noted(known));
                        removed.map_err(|error| error.in_file(&wanted.file))?
                    }
                    Whose::Foreign if known.is_none() => continue,
                    Whose::Changed | Whose::Foreign => {
                        self.warnings.push(format!(
                            "`{}` has been changed since init wrote it and is left, with what it needs; remove it \
                             and run `toolgate uninstall` again, if nobody needs the change",
                            wanted.file.display()
                        ));
                        self.leaves = true;
                        // What was written before it is what it loads.
                        break;
                    }
                };
            }
            change.leftover.extend(known.into_iter().flat_map(|known| known.created_dirs.clone()));
            self.forgotten.extend(known.cloned());
        }
        self.file = self.files.first().map(|first| first.file.clone()).unwrap_or_default();
        Ok(())
    }
}

/// A script of more lines is not shown as a whole.
const LONG: usize = 60;

impl Change {
    /// Whether the file changes.
    pub fn changes(&self) -> bool {
        self.before != self.after
    }

    /// The change as a unified diff, fit for a terminal; empty where nothing changes.
    pub fn diff(&self) -> String {
        if !self.changes() {
            return String::new();
        }
        let name = self.target.to_string_lossy();
        let side =
            |text: &Option<String>| if text.is_some() { name.as_ref() } else { "/dev/null" }.to_owned();
        let (old, new) =
            (self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default());
        // A long script that comes or goes as a whole would bury the settings beside it.
        let lines = old.lines().count().max(new.lines().count());
        let is_script = self.file.extension().is_some_and(|end| end == "ts");
        if is_script && (self.before.is_none() || self.after.is_none()) && lines > LONG {
            let sign = if self.after.is_some() { '+' } else { '-' };
            return visible(&format!("{sign} {name}, {lines} lines\n"));
        }
        let diff = TextDiff::from_lines(old, new);
        visible(&diff.unified_diff().header(&side(&self.before), &side(&self.after)).to_string())
    }

    fn write(&self) -> Result<(), RegisterError> {
        let Some(text) = &self.after else {
            fs::remove_file(&self.file).map_err(io_error(&self.file))?;
            remove_empty(&self.leftover);
            return Ok(());
        };
        for dir in &self.created {
            match fs::create_dir(dir) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(io_error(dir)(error));
                }
                _ => {}
            }
        }
        replace(&self.target, text, 0o666)
    }

    /// Makes the file what it was before the plan.
    fn undo(&self) -> Result<(), RegisterError> {
        if let Some(text) = &self.before {
            let parent = self.target.parent().unwrap_or(Path::new("/"));
            fs::create_dir_all(parent).map_err(io_error(parent))?;
            replace(&self.target, text, 0o666)
        } else {
            let _ = fs::remove_file(&self.file);
            remove_empty(&self.created);
            Ok(())
        }
    }
}

/// Removes directories, outermost first in the list. Somebody else's files may have come to live in one; then it
/// stays.
fn remove_empty(dirs: &[PathBuf]) {
    for dir in dirs.iter().rev() {
        let _ = fs::remove_dir(dir);
    }
}

/// The project that a registration belongs to.
fn project(places: &HostPlaces, scope: Scope) -> Option<PathBuf> {
    places.project.clone().filter(|_| matches!(scope, Scope::Project | Scope::Local))
}

/// Where a file of this registration lies, and the directories that it takes to get there.
fn place(
    places: &HostPlaces,
    scope: Scope,
    wanted: &WantedFile,
) -> Result<(PathBuf, Vec<PathBuf>), RegisterError> {
    let file = &wanted.file;
    let is_link = || fs::symlink_metadata(file).is_ok_and(|found| found.is_symlink());
    if wanted.content.whose("") != Whose::Shared && is_link() {
        return Err(RegisterError::Linked { file: file.clone() });
    }
    let (target, missing) = locate(file)?;
    if let Some(project) = project(places, scope) {
        stays_inside(&project, file, &target)?;
    }
    Ok((target, missing))
}

/// What is noted about a file of this registration.
fn known<'a>(
    registrations: &'a Registrations,
    host: &dyn Registrar,
    places: &HostPlaces,
    scope: Scope,
    file: &Path,
) -> Option<&'a Registration> {
    let project = project(places, scope);
    registrations.find_where(host.id(), file, |noted| {
        noted.scope == scope && (noted.project == project || noted.project.is_none())
    })
}

fn noted(known: Option<&Registration>) -> Noted<'_> {
    match known {
        None => Noted::Nothing,
        Some(known) => known.original.as_deref().map_or(Noted::New, Noted::Held),
    }
}
