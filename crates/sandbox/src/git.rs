//! The repository of a worktree: a contained command commits in it and cannot harm it. Of a linked one here, of a plain clone in
//! `git/clone.rs`.
//!
//! At level `full` the command writes objects, branches and reflogs to layers of this run alone. At level `landlock` it
//! writes objects to a directory of ours, and branches beside its own directly. When it has ended, the supervisor takes
//! over what is new: objects that are what their names say, and branches that are this worktree's to move. Nothing in a
//! layer is trusted, nor in the command's copy of `packed-refs`: the command wrote it. Whatever is not taken over is reported with its
//! reason.
//!
//! What level `landlock` cannot give: git says that it cannot create `packed-refs.lock` where it commits all the same, and
//! fails where it needs it, as to delete a branch. All branches in the directory of the worktree's own are writable while
//! the command runs, and are put back afterwards. A program that writes objects without the `git` in `PATH` cannot.
//!
//! Which branches are the worktree's own is known from our own notes: the one that was checked out when the first command
//! of this plan began, and those that its commands have made since. Any other branch that the worktree has checked out can
//! only be moved forward, so no commit on it is ever lost.

mod believed;
mod branches;
mod clone;
mod index;
mod logs;
mod notes;
mod objects;
mod outside;
mod packed;
mod refs;
mod room;
mod sweep;
mod todo;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, fchmod, flock, fstat};
use sha2::{Digest, Sha256};

use crate::alive::Alive;
use crate::compiled::CompiledPlan;
use crate::outcome::{Disturbed, Error, Repair};
pub(crate) use crate::outcome::{Moved, Refused, Taken};
use crate::path::{
    Stamp, canonical, kind_at, make_own, names_in, open_directory, open_or_make, open_whole_directory,
    read_file, remove_tree,
};
use crate::plan::{Level, Plan, Repository, Rights};
use crate::view::Layer;

use believed::Ground;
use notes::Seen;
use outside::Git;
pub(crate) use refs::{HEADS, LOGS};
use sweep::Sweep;

const MOST_REFUSED: usize = 64;
/// More entries than git ever has in a worktree's own directory.
const MOST_OWN: usize = 100_000;

impl Taken {
    fn refuse(&mut self, what: &str, why: impl fmt::Display) {
        if self.refused.len() == MOST_REFUSED {
            self.more_refused += 1;
            return;
        }
        // Names are the command's: they may not draw on a terminal.
        let plain = |text: &str| text.chars().filter(|character| !character.is_control()).take(300).collect();
        self.refused.push(Refused { what: plain(what), why: plain(&why.to_string()) });
    }

    fn add(&mut self, other: Taken) {
        self.objects += other.objects;
        self.packs += other.packs;
        self.branches.extend(other.branches);
        self.refused.extend(other.refused);
        self.more_refused += other.more_refused;
    }
}

/// How objects are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Sha1,
    Sha256,
}

impl Format {
    fn digits(self) -> usize {
        match self {
            Format::Sha1 => 40,
            Format::Sha256 => 64,
        }
    }

    fn is_id(self, text: &str) -> bool {
        text.len() == self.digits() && objects::is_hex(text)
    }

    fn zeros(self) -> String {
        "0".repeat(self.digits())
    }
}

/// Adds to a plan what its repository needs.
pub(crate) fn complete(plan: &mut Plan, level: Level) -> Result<(), Error> {
    // A clone that is gone is no repository any more. Its files are pinned like others then, whether they are there or not.
    let is_gone = |repository: &Repository| repository.is_plain() && !is_directory(&repository.common);
    plan.repository = plan.repository.take().filter(|repository| !is_gone(repository));
    let Some(repository) = plan.repository.clone() else { return Ok(()) };
    if repository.is_plain() && level == Level::Full {
        // Nothing that is written in its layer reaches the files themselves.
        plan.pinned.retain(|pinned| !pinned.starts_with(&repository.common));
    } else {
        plan.pinned.extend(pinned(plan, &repository)?);
    }
    plan.environment = environment(&plan.environment, level == Level::Full);
    if repository.is_plain() {
        // Git looks at files again and notes that in the index. Who only asks for the state need not change it.
        plan.environment.retain(|(name, _)| name != "GIT_OPTIONAL_LOCKS");
        plan.environment.push(("GIT_OPTIONAL_LOCKS".into(), "0".into()));
    }
    Ok(())
}

/// Whether a pin was disturbed by ordinary work. Git writes the settings of a clone anew, with what was in them, when it deletes a
/// branch.
pub(crate) fn is_ordinary(plan: &CompiledPlan, disturbed: &Disturbed) -> bool {
    let config = plan.repository.as_ref().filter(|repository| repository.is_plain());
    let config = config.map(|repository| repository.common.join("config"));
    disturbed.outcome == Repair::Renewed && Some(&disturbed.path) == config.as_ref()
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// The paths that lead git from a worktree to its repository. They never change while a command runs.
fn pinned(plan: &Plan, repository: &Repository) -> Result<Vec<PathBuf>, Error> {
    if repository.is_plain() {
        return clone::pinned(repository);
    }
    let own = &repository.own;
    let mut pinned: Vec<PathBuf> =
        ["commondir", "gitdir", "config.worktree", "locked"].into_iter().map(|name| own.join(name)).collect();
    let text = read_file(directory(own)?, Path::new("gitdir"), 8192)?.unwrap_or_default();
    let named = own.join(OsStr::from_bytes(text.trim_ascii_end()));
    let named = named.parent().map(Path::to_owned);
    // The name there is out of date where the worktree was moved by hand.
    let above = plan.directory.ancestors().map(Path::to_owned).filter(|above| named.as_ref() != Some(above));
    let own = canonical(own)?;
    let mut found: Vec<PathBuf> =
        named.iter().cloned().chain(above).filter_map(|worktree| leads_to(&worktree, &own)).collect();
    found.dedup();
    if found.is_empty() {
        return Err(Error::Plan(format!("no worktree leads to {}", own.display())));
    }
    pinned.extend(found.into_iter().map(|worktree| worktree.join(".git")));
    Ok(pinned)
}

/// A linked worktree is what its plan says: a part of the repository, which names it.
fn is_linked(plan: &CompiledPlan, repository: &Repository, level: Level, own: &OwnedFd) -> Result<(), Error> {
    if repository.own.parent() != Some(&repository.common.join("worktrees")) {
        let told = format!("{} is not a worktree of this repository", repository.own.display());
        return Err(Error::Plan(told));
    }
    if level == Level::Landlock && plan.rights_at(&repository.common) == Rights::Write {
        let told = format!(
            "{} lies in a writable place, and cannot be protected there",
            repository.common.display()
        );
        return Err(Error::Plan(told));
    }
    let text = read_file(own, Path::new("commondir"), 8192)?.unwrap_or_default();
    let common = canonical(&repository.own.join(OsStr::from_bytes(text.trim_ascii_end())))?;
    if text.is_empty() || common != canonical(&repository.common)? {
        let told = format!(
            "{} does not lead to its repository any more",
            repository.own.join("commondir").display()
        );
        return Err(Error::Plan(told));
    }
    Ok(())
}

/// Where a worktree really is, if its `.git` file names this directory, which has no links on its way.
fn leads_to(worktree: &Path, own: &Path) -> Option<PathBuf> {
    // Most directories above have none.
    fs::symlink_metadata(worktree.join(".git")).ok().filter(fs::Metadata::is_file)?;
    let worktree = canonical(worktree).ok()?;
    let text = read_file(directory(&worktree).ok()?, Path::new(".git"), 8192).ok()??;
    let target = OsStr::from_bytes(text.strip_prefix(b"gitdir:")?.trim_ascii()).to_owned();
    (canonical(&worktree.join(target)).ok()? == own).then_some(worktree)
}

/// Variables that keep git from tidying up behind the command's back: what it would delete is shared.
/// `in_view`: by order (`git gc`) it tidies up nothing but objects. The reflogs of other worktrees, at which it gives up, are not the command's to
/// shorten, and in a linked worktree branches would be packed in a file that is gone with the view.
fn environment(before: &[(OsString, OsString)], in_view: bool) -> Vec<(OsString, OsString)> {
    let count = before.iter().find(|(name, _)| name == "GIT_CONFIG_COUNT");
    let count = count.and_then(|(_, count)| count.to_str()?.parse::<usize>().ok()).unwrap_or(0);
    let mut all: Vec<_> = before.iter().filter(|(name, _)| name != "GIT_CONFIG_COUNT").cloned().collect();
    let usual = [("gc.auto", "0"), ("maintenance.auto", "false")];
    let of_view = [
        ("gc.packRefs", "false"),
        ("gc.reflogExpire", "never"),
        ("gc.reflogExpireUnreachable", "never"),
        ("repack.updateServerInfo", "false"),
    ];
    let ours: Vec<_> = usual.into_iter().chain(of_view.into_iter().filter(|_| in_view)).collect();
    for (index, (key, value)) in ours.iter().enumerate() {
        let number = count + index;
        all.push((format!("GIT_CONFIG_KEY_{number}").into(), (*key).into()));
        all.push((format!("GIT_CONFIG_VALUE_{number}").into(), (*value).into()));
    }
    all.push(("GIT_CONFIG_COUNT".into(), (count + ours.len()).to_string().into()));
    all
}

/// One command's use of a repository.
pub(crate) struct Run<'p> {
    plan: &'p CompiledPlan,
    repository: Repository,
    level: Level,
    state: PathBuf,
    /// The directory of this run's layers.
    pub(crate) directory: PathBuf,
    /// Locked while anything of the run is alive: by us, and by the init process that stays with background jobs.
    pub(crate) lock: OwnedFd,
    /// The worktree's own directory.
    own: OwnedFd,
    /// Locked, so that supervisors of other worktrees know that a command runs in this one.
    _in_use: OwnedFd,
    /// The directory that all worktrees share.
    common: OwnedFd,
    /// How its objects are named, or why nothing can be committed.
    format: Result<Format, String>,
    /// How its objects are named, whether it can be committed to or not.
    hash: Format,
    /// The directories of runs.
    runs: OwnedFd,
    seen: Seen,
    /// The worktree's own branches, when the command began.
    own_branches: BTreeSet<String>,
    /// What earlier runs had left.
    earlier: Taken,
    /// What is looked at when the last process of the command has ended, and where what may not stay goes. By other handles than those that are
    /// locked, since the process that stays with background jobs holds them.
    left: Left,
    /// Of the own directory of a linked worktree, before the command.
    mode: Option<Mode>,
    /// Whether nothing of the command is alive any more.
    is_over: bool,
    /// Whether its init has said how the command ended, which it does when it has looked at what goes with its view.
    has_told: bool,
}

struct Left {
    own: OwnedFd,
    quarantine: OwnedFd,
}

fn directory(path: &Path) -> io::Result<OwnedFd> {
    open_whole_directory(path).map_err(|error| {
        io::Error::new(io::Error::from(error).kind(), format!("{} cannot be opened: {error}", path.display()))
    })
}

/// A file of a run whose command has ended and has left processes behind.
const IN_BACKGROUND: &str = "in-background";
/// The kernel needs so long to end the processes of a supervisor that was killed.
const END_PATIENCE: Duration = Duration::from_secs(2);

/// Whether nothing of a run is alive any more. Waits for one whose supervisor is gone: its processes go with it.
fn is_left(run: &Path) -> bool {
    let Ok(lock) = fs::File::open(run) else { return false };
    let start = Instant::now();
    loop {
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return true;
        }
        let name = run.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
        let supervisor = name.split('-').next().unwrap_or_default();
        let is_ending = !run.join(IN_BACKGROUND).exists() && !Path::new("/proc").join(supervisor).exists();
        if !is_ending || start.elapsed() > END_PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether there is anything in a directory of ours.
fn has_entries(path: &Path) -> bool {
    directory(path).is_ok_and(|directory| !names_in(directory, 1).is_ok_and(|names| names.is_empty()))
}

/// The file by which supervisors know in which worktrees commands run. Out of reach of every command: a lock on the worktree's own directory could be taken
/// by any command that may read it.
fn uses(plan: &CompiledPlan) -> Alive {
    Alive { file: plan.private.with_file_name("in-use"), marks: Vec::new(), others: Vec::new() }
}

/// The byte that stands for a worktree.
fn use_of(own: &Path) -> u64 {
    let digest = Sha256::digest(own.as_os_str().as_bytes());
    let number = digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte));
    // The last byte of a file is 2⁶³ - 2.
    number >> 2
}

/// Only one supervisor of a plan at a time looks at what runs have left.
fn exclusive(state: &Path) -> io::Result<fs::File> {
    let file = fs::File::options().create(true).truncate(false).write(true).open(state.join("lock"))?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

impl<'p> Run<'p> {
    /// Takes over what earlier runs have left, and makes room for a new one.
    pub(crate) fn start(
        plan: &'p CompiledPlan,
        repository: &Repository,
        level: Level,
    ) -> Result<Run<'p>, Error> {
        let own = directory(&repository.own)?;
        let in_use = Alive { marks: vec![use_of(&repository.own)], ..uses(plan) };
        if !repository.is_plain() {
            is_linked(plan, repository, level, &own)?;
        }
        let state = plan.private.join("git");
        let runs = open_or_make(&state.join("runs"))?;
        let lock = exclusive(&state)?;
        let common = directory(&repository.common)?;
        let storage = storage_of(&common);
        let mut run = Run {
            plan,
            repository: repository.clone(),
            level,
            directory: state.join("runs/none"),
            state,
            lock: lock.into(),
            own,
            _in_use: in_use.lock()?,
            hash: storage.as_ref().map_or(Format::Sha1, |storage| storage.format),
            format: storage.and_then(Storage::supported).map_err(|error| error.to_string()),
            common,
            runs,
            seen: Seen::default(),
            own_branches: BTreeSet::new(),
            earlier: Taken::default(),
            left: Left { own: directory(&repository.own)?, quarantine: plan.quarantine()? },
            mode: None,
            is_over: true,
            has_told: false,
        };
        if !repository.is_plain() {
            run.mode = Some(Mode::from_raw_mode(fstat(&run.own)?.st_mode));
            for part in [HEADS, LOGS] {
                refs::make_directories(&run.common, Path::new(part))?;
            }
        }
        if !repository.is_plain() {
            let head = refs::checked_out(&run.own).or_else(|| refs::rebased(&run.own));
            run.own_branches = run.own_branches(head.as_deref())?;
        }
        run.earlier = run.left_behind()?;
        match (repository.is_plain(), level) {
            // What it writes there cannot be told from what was there. What must not change is pinned.
            (true, Level::Landlock) => {}
            (true, Level::Full) => match clone::only_read(&run.common, &run.format) {
                None => run.make_layer()?,
                Some(why) => run.earlier.refuse(".git", why),
            },
            (false, Level::Landlock) => {
                run.seen = run.look()?;
                run.make_directories()?;
            }
            (false, Level::Full) => {
                run.seen = run.look()?;
                run.take_room()?;
                let (seen, file) = (run.seen.to_text(), run.directory.join("seen"));
                // A directory that was used before has what was seen then, which is mostly the same.
                if fs::read(&file).map_or(true, |before| before != seen.as_bytes()) {
                    fs::write(file, seen)?;
                }
            }
        }
        if level == Level::Landlock || !run.directory.is_dir() {
            // Nothing but objects is private, and those are shared by all runs.
            run.lock = directory(&run.state)?;
        }
        Ok(run)
    }

    /// Level `landlock`: what the command writes beside its worktree.
    fn make_directories(&self) -> Result<(), Error> {
        open_or_make(&self.objects())?;
        self.write_launcher()?;
        if self.seen.below != Path::new("") {
            for part in [HEADS, LOGS] {
                refs::make_directories(&self.common, &Path::new(part).join(&self.seen.below))?;
            }
        }
        Ok(())
    }

    /// A plain clone at level `full`: a directory for the layer of this run.
    fn make_layer(&mut self) -> Result<(), Error> {
        self.make_room()?;
        Layer::of(&self.directory, &self.repository.common).prepare()?;
        self.keep_index();
        Ok(fs::write(self.directory.join("seen"), self.seen.to_text())?)
    }

    /// Where the command stores objects at level `landlock`.
    fn objects(&self) -> PathBuf {
        self.state.join("objects")
    }

    /// What the command may write at level `landlock` beside its worktree.
    pub(crate) fn writable_parts(&self) -> Vec<PathBuf> {
        if self.repository.is_plain() {
            return Vec::new();
        }
        let common = &self.repository.common;
        let here = &self.seen.below;
        vec![
            self.repository.own.clone(),
            self.objects(),
            common.join(HEADS).join(here),
            common.join(LOGS).join(here),
        ]
    }

    /// What it may read.
    pub(crate) fn readable_parts(&self) -> Vec<PathBuf> {
        let launcher = self.launcher();
        launcher.into_iter().flat_map(|launcher| [self.repository.common.clone(), launcher]).collect()
    }

    /// The directory of our own `git`, for the front of `PATH` at level `landlock`. A plain clone needs none.
    pub(crate) fn launcher(&self) -> Option<PathBuf> {
        (!self.repository.is_plain()).then(|| self.state.join("bin"))
    }

    /// Writes a `git` that stores this repository's objects, and no other's, in our directory.
    ///
    /// Git takes the place of its objects from variables, and these count for every repository. So they are set for each
    /// command of git by itself, once it is known which repository it is about.
    fn write_launcher(&self) -> Result<(), Error> {
        let Some((git, directory)) = outside::program(self.plan).zip(self.launcher()) else { return Ok(()) };
        let quoted = |path: &Path| {
            let text = path.to_string_lossy().replace('\'', "'\\''");
            format!("'{text}'")
        };
        let shared = self.repository.common.join("objects");
        // A list of directories has colons between them; a quoted name may have some of its own.
        let listed = shared.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
        let text = include_str!("git/launcher.sh")
            .replace("@GIT@", &quoted(&git))
            .replace("@COMMON@", &quoted(&self.repository.common))
            .replace("@OWN@", &quoted(&self.repository.own))
            .replace("@OBJECTS@", &quoted(&self.objects()))
            .replace("@SHARED@", &quoted(Path::new(&format!("\"{listed}\""))));
        let path = directory.join("git");
        if fs::read(&path).is_ok_and(|before| before == text.as_bytes()) {
            return Ok(());
        }
        make_own(&directory)?;
        let new = directory.join(".git.new");
        fs::write(&new, text)?;
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755))?;
        Ok(fs::rename(new, path)?)
    }

    /// Takes over what runs have left whose supervisor was killed, or whose background jobs have ended since.
    fn left_behind(&mut self) -> io::Result<Taken> {
        let mut taken = Taken::default();
        if has_entries(&self.objects()) {
            let level = std::mem::replace(&mut self.level, Level::Landlock);
            taken.add(self.take_objects());
            self.level = level;
        }
        let runs = self.state.join("runs");
        for name in names_in(&self.runs, usize::MAX)? {
            let path = runs.join(&name);
            if room::is_spare(&name) || !is_left(&path) {
                continue;
            }
            if let Ok(text) = fs::read_to_string(path.join("seen")) {
                let (directory, seen, level) = (self.directory.clone(), self.seen.clone(), self.level);
                (self.directory, self.seen, self.level) = (path, Seen::from_text(&text), Level::Full);
                taken.add(self.take_over());
                (self.directory, self.seen, self.level) = (directory, seen, level);
            }
            if let Err(error) = remove_tree(&self.runs, &name) {
                taken
                    .refuse("layers", format!("the layers of an earlier command cannot be removed: {error}"));
            }
        }
        Ok(taken)
    }

    /// Takes over what the command has left. `is_over`: no process of it is alive any more.
    /// `has_told`: its init has said how the command ended.
    pub(crate) fn finish(mut self, is_over: bool, has_told: bool) -> Taken {
        (self.is_over, self.has_told) = (is_over, has_told);
        let mut taken = std::mem::take(&mut self.earlier);
        let _lock = match exclusive(&self.state) {
            Ok(lock) => lock,
            Err(error) => {
                taken.refuse("objects", error);
                return taken;
            }
        };
        taken.add(self.take_over());
        if self.level == Level::Full {
            // The kernel makes this directory when it takes the layer.
            let is_plain = self.repository.is_plain();
            let layer = Layer::of(&self.directory, &self.repository.common);
            if layer.work.is_dir()
                && kind_at(rustix::fs::CWD, &layer.work.join("work")).is_ok_and(|kind| kind.is_none())
            {
                taken.refuse(
                    "objects",
                    "this file system does not support layers, so nothing can be committed",
                );
            }
            if is_over && self.directory.is_dir() {
                if let Err(error) = self.leave_room() {
                    taken.refuse("layers", format!("the layers of the command cannot be removed: {error}"));
                }
            } else if self.directory.is_dir() {
                let written = if is_plain {
                    self.note_handled()
                } else {
                    fs::write(self.directory.join("seen"), self.seen.to_text())
                };
                if let Err(error) = written.and_then(|()| fs::write(self.directory.join(IN_BACKGROUND), "")) {
                    taken.refuse("layers", error);
                }
            }
        }
        taken
    }

    fn take_over(&mut self) -> Taken {
        let mut taken = Taken::default();
        if self.repository.is_plain() && self.level == Level::Full {
            if let Err(error) = self.take_clone(&mut taken) {
                taken.refuse(".git", error);
            }
            return taken;
        }
        if let Err(error) = self.sweep(&mut taken) {
            taken.refuse("worktrees", error);
        }
        if self.repository.is_plain() {
            return taken;
        }
        if let Err(error) = self.take_branches(&mut taken) {
            taken.refuse(HEADS, error);
        }
        if let Err(error) = self.put_mode_back() {
            taken.refuse("worktrees", error);
        }
        taken
    }

    /// The worktree's own directory in the repository belongs to whom it belonged: `git init --shared=all` would open it to other users of the
    /// machine, who could then write what git believes.
    fn put_mode_back(&self) -> io::Result<()> {
        let now = Mode::from_raw_mode(fstat(&self.own)?.st_mode);
        match self.mode {
            Some(before) if before != now => Ok(fchmod(&self.own, before)?),
            _ => Ok(()),
        }
    }

    fn take_objects(&self) -> Taken {
        let mut taken = Taken::default();
        let common = &self.repository.common;
        let from = match self.level {
            Level::Full => Layer::of(&self.directory, common).upper.join("objects"),
            Level::Landlock => self.objects(),
        };
        let from = match directory(&from) {
            Ok(from) => from,
            Err(error) => {
                taken.refuse("objects", error);
                return taken;
            }
        };
        // Most commands leave none.
        if names_in(&from, 1).is_ok_and(|names| names.is_empty()) {
            return taken;
        }
        let to = open_directory(&self.common, Path::new("objects")).map_err(|error| error.to_string());
        match to.and_then(|to| Ok((to, self.format.clone()?))) {
            Ok((to, format)) => {
                let git = Git::of(self.plan, common);
                let clears = self.level == Level::Landlock;
                objects::take_over(&from, &to, format, git.as_ref(), clears, &mut taken);
            }
            Err(error) => taken.refuse("objects", error),
        }
        taken
    }

    /// What `sweep_alone` needs.
    pub(crate) fn swept_by(&self) -> Vec<&OwnedFd> {
        vec![&self.own, &self.common, &self.left.own, &self.left.quarantine]
    }

    /// The supervisor was killed, and the command is over: what git outside would believe is looked at all the same. Nobody is there to be
    /// told, and what cannot be looked at waits for the next command.
    pub(crate) fn sweep_alone(&self) {
        if let Ok(_lock) = exclusive(&self.state) {
            let _ = self.sweep(&mut Taken::default());
            let _ = self.put_mode_back();
        }
    }

    /// Has what the command has written itself hold nothing that git outside would write through, or act by.
    fn sweep(&self, taken: &mut Taken) -> io::Result<()> {
        // Only one that has changed is looked up: there may be hundreds of worktrees.
        let elsewhere = OnceCell::new();
        let is_elsewhere = |branch: &str| {
            let all = elsewhere.get_or_init(|| branches::checked_out(&self.common, &self.repository).ok());
            all.as_ref().is_none_or(|all| all.contains(branch))
        };
        self.sweep_own(&is_elsewhere, taken);
        if self.repository.is_plain() {
            return clone::sweep(&self.repository, &self.left.quarantine, self.hash, taken);
        }
        if self.level == Level::Landlock {
            let logs = Path::new(LOGS).join(&self.seen.below);
            let (quarantine, shown) = (&self.left.quarantine, Path::new(""));
            let any = |_: &str| true;
            let ground = Ground { format: self.hash, checks_out: &any, rebases: &any, head: None };
            Sweep { ground: &ground, quarantine, taken, shown, passes: &|_| false }.part(&self.common, &logs);
        }
        Ok(())
    }

    fn sweep_own(&self, is_elsewhere: &dyn Fn(&str) -> bool, taken: &mut Taken) {
        let Left { own, quarantine } = &self.left;
        let checks_out = |branch: &str| self.own_branches.contains(branch) || !is_elsewhere(branch);
        let rebases =
            |branch: &str| self.own_branches.contains(branch) || self.seen.head.as_deref() == Some(branch);
        let head = self.seen.at.as_deref();
        let ground = Ground { format: self.hash, checks_out: &checks_out, rebases: &rebases, head };
        if !self.is_known_index() {
            match believed::check_index(own, &ground, quarantine, taken) {
                Ok(looked_at) => self.note_index(&looked_at),
                Err(error) => taken.refuse("index", error),
            }
        }
        if self.repository.is_plain() {
            return;
        }
        let shown = self.repository.own.strip_prefix(&self.repository.common).unwrap_or(&self.repository.own);
        // The objects of submodules are many.
        let passes = |path: &Path| path.starts_with("modules") && path.ends_with("objects");
        Sweep { ground: &ground, quarantine, taken, shown, passes: &passes }.directory(own);
    }

    /// What the process that stays with background jobs needs for its last look.
    pub(crate) fn held(&self) -> [&OwnedFd; 3] {
        [&self.lock, &self.left.own, &self.left.quarantine]
    }

    /// A last look, when background jobs have ended: at what they have left where git outside writes and acts. By handles alone, since the names are not
    /// there in the view of a command.
    pub(crate) fn look_after_jobs(&self) {
        // Of a clone at level `full` nothing but a layer was written.
        if !(self.repository.is_plain() && self.level == Level::Full) {
            // Which branches others have checked out cannot be seen from there.
            self.sweep_own(&|_| true, &mut Taken::default());
        }
    }
}

impl Run<'_> {
    /// Which index was looked at. Reading a large one takes longer than all else, and most commands leave it alone.
    fn known_index(&self) -> PathBuf {
        self.state.join("index")
    }

    fn is_known_index(&self) -> bool {
        let known = fs::read_to_string(self.known_index()).unwrap_or_default();
        let is_same = |line: &str| {
            let (name, _) = line.split_once(' ').unwrap_or_default();
            self.index_mark(Path::new(name)).is_some_and(|mark| mark == line)
        };
        !known.is_empty() && known.lines().all(is_same)
    }

    /// Which content an index has; `None` where a later one might look the same.
    fn index_mark(&self, path: &Path) -> Option<String> {
        let stamp = Stamp::at(&self.own, path)?.settled()?;
        Some(format!("{} {stamp:?}", path.display()))
    }

    fn note_index(&self, looked_at: &[PathBuf]) {
        let marks: Option<Vec<String>> = looked_at.iter().map(|path| self.index_mark(path)).collect();
        // Best effort: without it the index is looked at again.
        let _ = fs::write(self.known_index(), marks.unwrap_or_default().join("\n"));
    }
}

/// How a repository keeps what is in it.
struct Storage {
    format: Format,
    /// What of it is not supported: branches that are no files, objects with other names.
    other: Option<String>,
}

impl Storage {
    fn supported(self) -> io::Result<Format> {
        match self.other {
            None => Ok(self.format),
            Some(other) => Err(io::Error::other(format!(
                "a repository with `{other}` can be read, and not committed to"
            ))),
        }
    }
}

/// How a repository names its objects. An error where it can only be read.
fn format_of(common: &OwnedFd) -> io::Result<Format> {
    storage_of(common)?.supported()
}

fn storage_of(common: &OwnedFd) -> io::Result<Storage> {
    let text = read_file(common, Path::new("config"), 16 << 20)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).to_lowercase();
    let (mut storage, mut in_extensions) = (Storage { format: Format::Sha1, other: None }, false);
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            in_extensions = section.trim_start().starts_with("extensions");
        }
        let line = line.rsplit_once(']').map_or(line, |(_, rest)| rest);
        let Some((key, value)) = line.split_once('=').filter(|_| in_extensions) else { continue };
        let value = value.split(['#', ';']).next().unwrap_or_default().trim().trim_matches('"');
        match (key.trim(), value) {
            ("objectformat", "sha1") | ("refstorage", "files") => {}
            ("objectformat", "sha256") => storage.format = Format::Sha256,
            ("objectformat" | "refstorage", other) => storage.other = Some(other.to_owned()),
            _ => {}
        }
    }
    Ok(storage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_a_repository_is_in_its_settings() {
        let scratch = tempfile::tempdir().unwrap();
        let common: OwnedFd = fs::File::open(scratch.path()).unwrap().into();
        for (text, expected) in [
            ("", Some(Format::Sha1)),
            ("[core]\n\tobjectformat = sha256\n", Some(Format::Sha1)),
            ("[core]\n\tbare = false\n[extensions]\n\tobjectFormat = sha256\n", Some(Format::Sha256)),
            ("[Extensions] objectformat=\"sha256\" # x\n", Some(Format::Sha256)),
            ("[extensions]\nrefStorage = reftable\n", None),
            ("[extensions]\nrefStorage = files\n[x]\nobjectformat = sha256", Some(Format::Sha1)),
            ("[extensions]\nobjectformat = sha512\n", None),
        ] {
            fs::write(scratch.path().join("config"), text).unwrap();
            assert_eq!(format_of(&common).ok(), expected, "{text}");
        }
    }

    #[test]
    fn settings_of_the_environment_are_added_to() {
        let before = [("GIT_CONFIG_COUNT".into(), "1".into()), ("A".into(), "b".into())];
        let after = environment(&before, false);
        let value = |name: &str| after.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        assert_eq!(value("GIT_CONFIG_COUNT"), Some("3".into()));
        assert_eq!(value("GIT_CONFIG_KEY_1"), Some("gc.auto".into()));
        assert_eq!(value("A"), Some("b".into()));
        let after = environment(&before, true);
        assert!(after.contains(&("GIT_CONFIG_COUNT".into(), "7".into())));
        assert!(after.contains(&("GIT_CONFIG_KEY_3".into(), "gc.packRefs".into())));
    }
}
