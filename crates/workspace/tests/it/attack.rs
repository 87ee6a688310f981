//! Links, mounts and other things put into the way, also while the path is being followed: nothing outside is read,
//! written or taken away.

use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use crate::support::child::{child, dir};
use crate::support::namespace::{MAY_MOUNT, may_mount};
use crate::support::{base, base_in, declaration, place};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, mknodat, openat, renameat, renameat_with, symlinkat,
    unlinkat,
};
use toolgate_workspace::{Declaration, Error, Leaves, Quota, Workspace, Workspaces};

const SECRET: &str = "secret of the outside";
/// What every file in a workspace begins with.
const INSIDE: &[u8] = b"inside";

/// A directory that nobody is to touch, laid out like the workspace, so that each link into it finds a file.
struct Outside {
    path: PathBuf,
    before: BTreeMap<PathBuf, Vec<i64>>,
}

impl Outside {
    fn new(top: &Path) -> Outside {
        let path = top.join("outside");
        for directory in ["", "d", "d/e", "e"] {
            fs::create_dir(path.join(directory)).unwrap();
        }
        // An old time of access is renewed by whoever reads the file.
        let old = SystemTime::now() - Duration::from_secs(1000);
        for file in ["x", "y", "f", "d/x", "d/e/y", "e/y"] {
            fs::write(path.join(file), SECRET).unwrap();
            File::open(path.join(file)).unwrap().set_times(FileTimes::new().set_accessed(old)).unwrap();
        }
        let before = marks(&path);
        Outside { path, before }
    }

    fn assert_untouched(&self) {
        assert_eq!(marks(&self.path), self.before);
        for path in self.before.keys().filter(|path| path.is_file()) {
            // A look that leaves no trace.
            let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::NOATIME, Mode::empty()).unwrap();
            assert_eq!(io::read_to_string(File::from(file)).unwrap(), SECRET);
        }
    }
}

/// What changes when somebody touches it: for a file its contents and the time of access too, since nobody else looks.
fn marks(directory: &Path) -> BTreeMap<PathBuf, Vec<i64>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(path) = waiting.pop() {
        let stat = fs::symlink_metadata(&path).unwrap();
        let mut mark = vec![i64::from(stat.mode()), stat.ctime(), stat.ctime_nsec()];
        if stat.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            mark.extend([stat.atime(), stat.atime_nsec(), stat.nlink().try_into().unwrap()]);
        }
        found.insert(path, mark);
    }
    found
}

fn everything() -> Declaration {
    Declaration { temp: true, ..declaration(&["./"], &["./"]) }
}

/// Directories and files of a workspace, exchanged for links and back by whoever holds handles of them.
struct Swapper {
    top: OwnedFd,
    d: OwnedFd,
    /// Where those lie that are out of their place.
    aside: OwnedFd,
    targets: Vec<String>,
}

impl Swapper {
    fn new(workspace: &Path, aside: &Path, outside: &Path) -> Swapper {
        fs::create_dir_all(workspace.join("d/e")).unwrap();
        fs::create_dir_all(aside).unwrap();
        let open = |path: &Path| OwnedFd::from(File::open(path).unwrap());
        let outside = outside.to_str().unwrap();
        let targets = ["", "/d", "/e"].map(|below| format!("{outside}{below}"));
        let near = ["..", ".", "../../../outside", "../../outside/d", "../.."].map(str::to_owned);
        let targets = targets.into_iter().chain(near).collect();
        Swapper { top: open(workspace), d: open(&workspace.join("d")), aside: open(aside), targets }
    }

    fn target(&self, round: usize) -> &str {
        &self.targets[round % self.targets.len()]
    }

    /// A directory becomes a link, in one step, and a directory again.
    fn directories(&self, round: usize) {
        for (inside, name) in [(&self.top, "d"), (&self.d, "e")] {
            let link = format!("link-{name}");
            // A writer may have made directories in the place of one; what is aside then is not a link any more.
            let _ = unlinkat(&self.aside, &link, AtFlags::empty());
            let _ = symlinkat(self.target(round), &self.aside, &link);
            if renameat_with(inside, name, &self.aside, &link, RenameFlags::EXCHANGE).is_ok() {
                thread::yield_now();
                let _ = renameat_with(inside, name, &self.aside, &link, RenameFlags::EXCHANGE);
            }
        }
    }

    /// A file becomes a link, and whatever a writer makes of it.
    fn files(&self, round: usize) {
        let file = format!("{}/f", self.target(round));
        for (inside, name) in [(&self.top, "f"), (&self.d, "x")] {
            let _ = symlinkat(&file, &self.aside, "link-file");
            let _ = renameat(&self.aside, "link-file", inside, name);
        }
    }

    /// A directory goes elsewhere in the workspace, so that a writer finds none and makes another, and comes back.
    fn parents(&self) {
        if renameat(&self.d, "e", &self.top, "moved").is_ok() {
            thread::yield_now();
            // Over the other one, if that is empty; else in its place.
            if renameat(&self.top, "moved", &self.d, "e").is_err() {
                let _ = renameat_with(&self.top, "moved", &self.d, "e", RenameFlags::EXCHANGE);
                // By a handle: the attacker must not follow a link of its own.
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
                if let Ok(moved) = openat(&self.top, "moved", flags, Mode::empty()) {
                    let _ = unlinkat(moved, "y", AtFlags::empty());
                }
                let _ = unlinkat(&self.top, "moved", AtFlags::empty());
                let _ = unlinkat(&self.top, "moved", AtFlags::REMOVEDIR);
            }
        }
    }
}

/// How often operations came to something, and how often a link was in the way.
#[derive(Default)]
struct Outcomes {
    read: usize,
    written: usize,
    refused: usize,
}

impl Outcomes {
    fn expected(&mut self, error: &Error) {
        match error {
            // The system says the same of a directory that is moved out of the workspace while it is being entered as
            // of a mount.
            Error::PathTraversal { why: Leaves::Link | Leaves::Mount, .. } => self.refused += 1,
            // Out of its place just now.
            Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => {}
            error => panic!("{error:?}"),
        }
    }
}

const PATHS: [&str; 4] = ["f", "d/x", "d/e/y", "d/new/z"];

fn read(workspace: &Workspace, path: &str, outcomes: &mut Outcomes) {
    match workspace.read(path) {
        Ok(content) => {
            assert!(content.starts_with(INSIDE), "{path}: {}", String::from_utf8_lossy(&content));
            outcomes.read += 1;
        }
        Err(error) => outcomes.expected(&error),
    }
}

fn write(workspace: &Workspace, path: &str, length: usize, outcomes: &mut Outcomes) {
    let content = [INSIDE, &vec![b'.'; length]].concat();
    match workspace.write(path, &content) {
        Ok(()) => outcomes.written += 1,
        Err(error) => outcomes.expected(&error),
    }
}

/// So many operations, in four threads, while two others exchange what they are about.
fn swapped_all_the_while(operations: usize, quota: Quota) {
    const THREADS: usize = 4;
    let (top, base) = base();
    let outside = Outside::new(top.path());
    let workspace = base.create("one", Declaration { quota, ..everything() }).unwrap();
    let swapper = Swapper::new(workspace.path(), &top.path().join("aside"), &outside.path);
    let done = AtomicBool::new(false);
    let outcomes = thread::scope(|scope| {
        let swap = |step: fn(&Swapper, usize)| {
            let (swapper, done) = (&swapper, &done);
            scope.spawn(move || {
                for round in (0..).take_while(|_| !done.load(Ordering::Relaxed)) {
                    step(swapper, round);
                }
            });
        };
        swap(Swapper::directories);
        swap(|swapper, round| {
            swapper.files(round);
            swapper.parents();
        });
        let workers: Vec<_> = (0..THREADS)
            .map(|worker| {
                let workspace = &workspace;
                scope.spawn(move || {
                    let mut outcomes = Outcomes::default();
                    for operation in 0..operations / THREADS {
                        let path = PATHS[(operation / 2) % PATHS.len()];
                        if (operation + worker) % 2 == 0 {
                            read(workspace, path, &mut outcomes);
                        } else {
                            write(workspace, path, operation % 500, &mut outcomes);
                        }
                    }
                    outcomes
                })
            })
            .collect();
        let outcomes: Vec<_> = workers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::Relaxed);
        outcomes
    });
    let outcomes: Vec<Outcomes> = outcomes.into_iter().map(Result::unwrap).collect();
    outside.assert_untouched();
    // Otherwise it was no attack, or nothing was tried.
    let sum = |of: fn(&Outcomes) -> usize| outcomes.iter().map(of).sum::<usize>();
    let (read, written, refused) = (sum(|all| all.read), sum(|all| all.written), sum(|all| all.refused));
    let few = operations / 100;
    assert!(read > few && written > few && refused > few, "{read} {written} {refused} of {operations}");
    let metrics = workspace.metrics();
    assert_eq!(metrics.read.count + metrics.write.count, operations as u64);
    assert_eq!(metrics.read.denied + metrics.write.denied, refused as u64);
}

#[test]
fn files_swapped_for_links_never_lead_outside() {
    swapped_all_the_while(100_000, Quota::default());
}

#[test]
fn files_swapped_for_links_never_lead_outside_with_a_quota() {
    swapped_all_the_while(20_000, Quota { bytes: Some(1 << 20), files: Some(100) });
}

#[test]
fn cleanup_removes_nothing_outside_while_files_are_swapped() {
    let (top, base) = base();
    let outside = Outside::new(top.path());
    let aside = top.path().join("aside");
    for _ in 0..200 {
        let workspace = base.create("one", everything()).unwrap();
        for path in PATHS {
            workspace.write(path, INSIDE).unwrap();
        }
        let swapper = Swapper::new(workspace.path(), &aside, &outside.path);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for round in (0..).take_while(|_| !done.load(Ordering::Relaxed)) {
                    swapper.directories(round);
                    swapper.files(round);
                    swapper.parents();
                }
            });
            let cleaned = workspace.cleanup();
            done.store(true, Ordering::Relaxed);
            cleaned.unwrap();
        });
        assert!(matches!(base.find("one"), Err(Error::WorkspaceNotFound { .. })));
        fs::remove_dir_all(&aside).unwrap();
    }
    outside.assert_untouched();
}

#[test]
fn a_hard_link_is_not_written_through() {
    let (top, base) = base();
    let outside = top.path().join("outside");
    fs::write(&outside, SECRET).unwrap();
    let workspace = base.create("one", everything()).unwrap();
    fs::hard_link(&outside, workspace.path().join("out")).unwrap();
    workspace.write("out", INSIDE).unwrap();
    assert_eq!(workspace.read("out").unwrap(), INSIDE);
    assert_eq!(fs::read_to_string(&outside).unwrap(), SECRET);
    fs::hard_link(&outside, workspace.path().join("again")).unwrap();
    workspace.cleanup().unwrap();
    assert_eq!(fs::read_to_string(&outside).unwrap(), SECRET);
}

#[test]
fn pipes_and_sockets_are_refused_without_waiting() {
    let (_top, base) = base();
    let workspace = base.create("one", everything()).unwrap();
    mknodat(CWD, workspace.path().join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let _listener = UnixListener::bind(workspace.path().join("socket")).unwrap();
    fs::create_dir(workspace.path().join("directory")).unwrap();
    for path in ["pipe", "socket", "directory"] {
        let error = workspace.read(path).unwrap_err();
        assert!(matches!(error, Error::NotAFile { .. }), "{path}: {error:?}");
    }
    assert!(matches!(workspace.write("directory", INSIDE), Err(Error::NotAFile { .. })));
    for path in ["pipe", "socket"] {
        workspace.write(path, INSIDE).unwrap();
        assert_eq!(workspace.read(path).unwrap(), INSIDE);
    }
}

#[test]
fn an_agent_directory_swapped_for_a_link_is_not_used() {
    let (top, base) = base();
    let outside = Outside::new(top.path());
    let workspace = base.create("one", everything()).unwrap();
    let stale = base.find("one").unwrap();
    let (place, moved) = (base.path().join("one"), base.path().join("moved"));
    fs::rename(&place, &moved).unwrap();
    symlink(&outside.path, &place).unwrap();
    // The handle is of the directory, whatever it is called.
    workspace.write("x", INSIDE).unwrap();
    assert_eq!(fs::read(moved.join("x")).unwrap(), INSIDE);
    assert_eq!(workspace.read("x").unwrap(), INSIDE);
    assert!(matches!(base.find("one"), Err(Error::WorkspaceNotFound { .. })));
    assert!(matches!(base.create("one", everything()), Err(Error::AgentInUse { .. })));
    assert!(matches!(workspace.cleanup(), Err(Error::WorkspaceNotFound { .. })));
    assert_eq!(fs::read_link(&place).unwrap(), outside.path);
    outside.assert_untouched();
    fs::remove_file(&place).unwrap();
    fs::rename(&moved, &place).unwrap();
    stale.cleanup().unwrap();
    assert!(!place.exists());
}

#[test]
fn a_base_swapped_for_a_link_is_not_used() {
    let (top, base) = base();
    let outside = Outside::new(top.path());
    let moved = top.path().join("moved");
    fs::rename(base.path(), &moved).unwrap();
    symlink(&outside.path, base.path()).unwrap();
    let workspace = base.create("one", everything()).unwrap();
    workspace.write("x", INSIDE).unwrap();
    assert_eq!(fs::read(moved.join("one/x")).unwrap(), INSIDE);
    workspace.cleanup().unwrap();
    assert!(matches!(Workspaces::open(base.path()), Err(Error::UnsafeBase { .. })));
    outside.assert_untouched();
}

#[test]
fn a_base_that_is_not_a_private_directory_is_refused() {
    let top = place();
    let refused = |path: &Path| {
        let error = Workspaces::open(path).unwrap_err();
        assert!(matches!(error, Error::UnsafeBase { .. }), "{}: {error:?}", path.display());
    };
    let path = |name: &str| top.path().join(name);
    fs::write(path("file"), "").unwrap();
    refused(&path("file"));
    for mode in [0o755, 0o750, 0o701, 0o770, 0o1777] {
        let open = path(&format!("open-{mode:o}"));
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(mode)).unwrap();
        refused(&open);
        assert!(fs::read_dir(&open).unwrap().next().is_none(), "nothing was left there");
    }
    // Somebody else's link, to a directory of ours: whichever way it is written.
    fs::create_dir(path("own")).unwrap();
    fs::set_permissions(path("own"), fs::Permissions::from_mode(0o700)).unwrap();
    symlink(path("own"), path("link")).unwrap();
    for name in ["link", "link/", "link/.", "link//./"] {
        refused(&path(name));
    }
    assert!(fs::read_dir(path("own")).unwrap().next().is_none());
    fs::create_dir(path("foreign")).unwrap();
    fs::set_permissions(path("foreign"), fs::Permissions::from_mode(0o700)).unwrap();
    let other = rustix::process::geteuid().as_raw() + 1;
    match std::os::unix::fs::chown(path("foreign"), Some(other), None) {
        Ok(()) => refused(&path("foreign")),
        // Only root may give a directory away; the root of the file system is root's.
        Err(_) => refused(Path::new("/")),
    }
    Workspaces::open(&path("own/")).unwrap();
    Workspaces::open(&path("new/.")).unwrap();
}

#[test]
fn a_link_in_place_of_the_records_is_not_followed() {
    let (top, base) = base();
    let outside = Outside::new(top.path());
    fs::rename(base.path().join(".toolgate"), top.path().join("moved")).unwrap();
    symlink(&outside.path, base.path().join(".toolgate")).unwrap();
    assert!(Workspaces::open(base.path()).is_err());
    base.create("one", everything()).unwrap().cleanup().unwrap();
    outside.assert_untouched();
}

/// What has the name now is another workspace than the one that a stale handle is of. Nobody sees it gone, not even for
/// a moment: whoever was killed in that moment would have lost it.
#[test]
fn a_stale_handle_does_not_move_its_successor() {
    let (_top, base) = base();
    let first = base.create("one", everything()).unwrap();
    let stale: Vec<Workspace> = (0..300).map(|_| base.find("one").unwrap()).collect();
    first.cleanup().unwrap();
    base.create("one", everything()).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut there = true;
            while there && !done.load(Ordering::Relaxed) {
                there = base.path().join("one").is_dir();
            }
            there
        });
        let cleaned: Vec<_> = stale.into_iter().map(Workspace::cleanup).collect();
        done.store(true, Ordering::Relaxed);
        assert!(cleaned.iter().all(|done| matches!(done, Err(Error::WorkspaceNotFound { .. }))));
        assert!(watch.join().unwrap(), "it was gone for a moment");
    });
}

#[test]
fn mounts_are_not_entered() {
    if !may_mount("that mounts are not entered") {
        return;
    }
    let top = place();
    let ran = child("attack::mounts", top.path(), MAY_MOUNT).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    assert!(top.path().join("done").exists(), "{ran:?}");
}

#[test]
#[ignore = "run by other tests"]
fn mounts() {
    let Some(top) = dir() else { return };
    let run = |program: &str, arguments: &[&str], last: &Path| {
        assert!(Command::new(program).args(arguments).arg(last).status().unwrap().success(), "{program}");
    };
    let outside = Outside::new(&top);
    let base = base_in(&top);
    let workspace = base.create("one", everything()).unwrap();
    let at = |name: &str| workspace.path().join(name);
    for directory in ["memory", "bound", "deep", "deep/bound"] {
        fs::create_dir(at(directory)).unwrap();
    }
    fs::write(at("f"), INSIDE).unwrap();
    let from = |name: &str| outside.path.join(name).to_str().unwrap().to_owned();
    run("mount", &["-t", "tmpfs", "none"], &at("memory"));
    fs::write(at("memory/x"), SECRET).unwrap();
    run("mount", &["--bind", &from("")], &at("bound"));
    run("mount", &["--bind", &from("d")], &at("deep/bound"));
    run("mount", &["--bind", &from("f")], &at("f"));
    for path in ["memory/x", "bound/x", "deep/bound/x", "f"] {
        let error = workspace.read(path).unwrap_err();
        assert!(matches!(error, Error::PathTraversal { why: Leaves::Mount, .. }), "{path}: {error:?}");
    }
    for path in ["memory/x", "bound/x", "deep/bound/x", "bound/new", "bound/new/er", "deep/bound/new/er"] {
        let error = workspace.write(path, INSIDE).unwrap_err();
        assert!(matches!(error, Error::PathTraversal { why: Leaves::Mount, .. }), "{path}: {error:?}");
    }
    assert!(workspace.write("f", INSIDE).is_err(), "a name that is mounted over cannot be given away");
    workspace.write("plain", INSIDE).unwrap();
    outside.assert_untouched();

    // What is mounted is not taken away, nor changed; and without it the name is free again.
    let (bound, error) = (at("bound"), workspace.cleanup().unwrap_err());
    assert!(matches!(error, Error::PathTraversal { .. } | Error::Io { .. }), "{error:?}");
    outside.assert_untouched();
    assert!(!bound.exists() || bound.join("x").exists());
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let below =
        mounts.lines().filter_map(|line| line.split(' ').nth(1)).filter(|at| Path::new(at).starts_with(&top));
    let mut below: Vec<&str> = below.collect();
    below.sort_unstable();
    for at in below.into_iter().rev() {
        run("umount", &[], Path::new(at));
    }
    base.create("one", everything()).unwrap().cleanup().unwrap();
    outside.assert_untouched();
    fs::write(top.join("done"), "").unwrap();
}
