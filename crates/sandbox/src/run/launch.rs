//! The processes that a command is started by: what each gives up and sets up before the command is there.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{Mode, OFlags, open};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, chdir, getegid, geteuid, set_parent_process_death_signal};
use rustix::thread::set_no_new_privs;

use crate::ahead::Ahead;
use crate::compiled::CompiledPlan;
use crate::egress;
use crate::filter;
use crate::git;
use crate::heir::Heir;
use crate::keeper::{Apart, Held, Looks, Unchanged, stay};
use crate::kernel::Kernel;
use crate::limits;
use crate::observe::{self, Observer};
use crate::path::is_below;
use crate::pins::{Guard, Pins, Turn};
use crate::plan::{Level, Network, Rights};
use crate::privileges::{drop_capabilities, map_ids};
use crate::reachable::keep_reachable;
use crate::rules::Rules;
use crate::sys::{self, Fork, Signals, Witness};
use crate::view::{self, Caches, Entered, OldRoot, Packed};

use super::watched::{Left, Watched};
use super::{Error, Outcome};
use crate::outcome::CONTAINED;

/// What a person or a host may send to the command through us.
pub(super) const PASSED_ON: [i32; 9] = [
    libc::SIGALRM,
    libc::SIGCONT,
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGWINCH,
];

/// What is looked after while a command runs, and by keeper or init once the supervisor has left.
pub(super) struct Kept<'k> {
    pub(super) repository: Option<&'k git::Run<'k>>,
    /// The rules of level `landlock`.
    pub(super) ahead: Option<&'k Ahead>,
    /// Locks that stay while anything of the command is alive.
    pub(super) alive: Option<&'k OwnedFd>,
    /// What looks after names that must not appear.
    pub(super) guard: &'k RefCell<Option<Guard>>,
    /// What lies over caches at level `full`.
    pub(super) caches: &'k Caches,
    /// What has to be as before.
    pub(super) pins: &'k Pins,
    /// Level `landlock`: until that is noted, no other command begins.
    pub(super) turn: Option<&'k Turn>,
    /// Where keeper or init takes signals, until everything is looked after.
    pub(super) orders: &'k RefCell<Option<fs::File>>,
    /// Who looks at level `full` if the supervisor is killed.
    pub(super) heir: &'k RefCell<Option<Heir>>,
}

impl Kept<'_> {
    /// The supervisor was killed, and the command is over: everything is looked at all the same. Nobody is there to be told.
    fn look_alone(&self, plan: &CompiledPlan) {
        drop(self.pins.check(plan, BTreeSet::new()));
        if let Some(repository) = self.repository {
            repository.sweep_alone();
        }
        if let Some(start) = &plan.start {
            keep_reachable(start);
        }
    }
}

/// Runs the command and waits for its end. Also says what is left of it.
pub(super) fn supervise(
    plan: &CompiledPlan,
    level: Level,
    kernel: Kernel,
    command: &[OsString],
    kept: &Kept<'_>,
    mut observer: Option<&mut Observer<'_>>,
) -> (Result<Outcome, Error>, Left) {
    let mut left = Left { is_over: true, held_open: false, has_told: false };
    let ended = (|| {
        let link = observer.as_deref_mut().map(Observer::start).transpose()?;
        let (mut watched, signals) = launch(plan, level, kernel, command, kept, link)?;
        if level == Level::Full {
            let used = kept.repository.map(git::Run::swept_by).unwrap_or_default();
            match Heir::appoint(watched.child(), plan, &used, &|| kept.look_alone(plan)) {
                Ok(heir) => kept.heir.replace(Some(heir)),
                Err(error) => {
                    watched.end_init();
                    return Err(Error::Own(error));
                }
            };
        }
        let deadline = plan.limits.wall_time.map(|limit| Instant::now() + limit);
        let ended = watched.until_end(&signals, deadline, observer.as_deref_mut());
        // The keeper ends the command itself once we are gone, and stays with what is left.
        if ended.is_err() && level == Level::Full {
            watched.end_init();
        }
        // Where we have failed, the keeper finds its orders closed, ends the command and looks after the rest. It is waited for below.
        kept.orders.replace(watched.take_orders().filter(|_| ended.is_ok()));
        left = watched.left();
        if !left.is_over && level == Level::Full {
            left = watched.settle_jobs(own_files(plan));
        }
        kept.guard.replace(watched.take_guard());
        if let Some(observer) = observer {
            observer.leave();
        }
        ended
    })();
    (ended, left)
}

/// The files of a linked worktree in its repository, which its commands write themselves at level `full`. Of a clone they write a layer.
fn own_files(plan: &CompiledPlan) -> Option<&Path> {
    let repository = plan.repository.as_ref().filter(|repository| !repository.is_plain());
    repository.map(|repository| repository.own.as_path())
}

/// Whoever looks on reads the command's paths from outside.
fn old_root(link: Option<&OwnedFd>) -> OldRoot {
    if link.is_some() { OldRoot::Left } else { OldRoot::LeftLater }
}

fn launch(
    plan: &CompiledPlan,
    level: Level,
    kernel: Kernel,
    command: &[OsString],
    kept: &Kept<'_>,
    link: Option<OwnedFd>,
) -> Result<(Watched, Signals), Error> {
    let sockets = if level == Level::Full { view::sockets(plan) } else { Vec::new() };
    let held: Vec<i32> = PASSED_ON.into_iter().chain([libc::SIGCHLD, libc::SIGIO]).collect();
    let signals = Signals::hold(&held)?;
    if let Some(guard) = kept.guard.borrow_mut().as_mut() {
        guard.arm();
    }
    let (told, tell) = pipe_with(PipeFlags::CLOEXEC)?;
    let (ordered, orders) = pipe_with(PipeFlags::CLOEXEC)?;
    let ids = (geteuid().as_raw(), getegid().as_raw());
    let (sockets, signals_of_command) = (&sockets, &signals);
    let launch = Launch {
        plan,
        level,
        kernel,
        command,
        signals: signals_of_command,
        ids,
        kept,
        sockets,
        link: link.as_ref(),
    };
    let child = match sys::fork(launch.namespaces()).map_err(|error| launch.cannot_fork(error))? {
        Fork::Child => {
            drop((told, orders));
            launch.in_child(&tell, &ordered)
        }
        Fork::Parent(child) => child,
    };
    let old_root = old_root(link.as_ref());
    drop((tell, ordered, link));
    Ok((Watched::of(child, plan, level, told, orders, kept.guard.take(), old_root), signals))
}

struct Launch<'l> {
    plan: &'l CompiledPlan,
    level: Level,
    kernel: Kernel,
    command: &'l [OsString],
    signals: &'l Signals,
    /// The user and the group. In a new namespace they cannot be asked for.
    ids: (u32, u32),
    kept: &'l Kept<'l>,
    /// Sockets of others in places that may be read.
    sockets: &'l [PathBuf],
    /// Where the command's process hands over what tells of its calls, if somebody looks on.
    link: Option<&'l OwnedFd>,
}

/// Says which step failed, in the child.
struct Failed(String);

fn step<T, E: fmt::Display>(result: Result<T, E>, step: &str) -> Result<T, Failed> {
    result.map_err(|error| Failed(format!("{step}: {error}")))
}

impl Launch<'_> {
    fn namespaces(&self) -> u64 {
        let network = match self.plan.network {
            Network::None | Network::Listed => libc::CLONE_NEWNET,
            Network::All => 0,
        };
        let all = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | network;
        if self.level == Level::Full { u64::from(all.cast_unsigned()) } else { 0 }
    }

    fn cannot_fork(&self, error: io::Error) -> Error {
        match self.level {
            Level::Full => Error::NoNamespaces(error),
            Level::Landlock => Error::Own(error),
        }
    }

    /// Never comes back: becomes the command, or ends.
    fn in_child(&self, tell: &OwnedFd, orders: &OwnedFd) -> ! {
        let gone = match self.level {
            Level::Landlock => self.keeper(tell, orders),
            Level::Full => self.init(tell, orders),
        };
        tell_and_end(&gone, tell)
    }

    /// Pid 1 of a view of its own.
    fn init(&self, tell: &OwnedFd, orders: &OwnedFd) -> Gone {
        let made = (|| -> Result<(Pid, Entered), Gone> {
            step(set_parent_process_death_signal(Some(Signal::KILL)), "tying to the supervisor")?;
            // Whoever is in another sandbox already may make namespaces and still not use them.
            map_ids(self.ids).map_err(Gone::NoNamespaces)?;
            if self.plan.network != Network::All {
                step(sys::start_loopback(), "starting the loopback")?;
            }
            if let (Network::Listed, Some(egress)) = (self.plan.network, &self.plan.egress) {
                step(egress::hand_over(egress), "handing over the network")?;
            }
            let run = self.kept.repository.map(|repository| repository.directory.as_path());
            let (sockets, caches, old_root) = (self.sockets, self.kept.caches, old_root(self.link));
            let entered = view::enter(self.plan, run, sockets, caches, old_root).map_err(|failed| {
                if failed.is_kernels {
                    return Gone::NoNamespaces(failed.error);
                }
                Gone::Setup(Failed(format!("{}: {}", failed.step, failed.error)))
            })?;
            step(chdir(&self.plan.directory), "entering the directory")?;
            // Before the command's process is made, which then has none either.
            step(drop_capabilities(), "dropping capabilities")?;
            let command = step(self.fork_command(Some(&entered), tell), "starting the command's process")?;
            Ok((command, entered))
        })();
        match made {
            Err(gone) => gone,
            Ok((command, entered)) => {
                let guard = self.kept.guard.take();
                let packed = entered.packed.as_ref();
                let locks =
                    self.held().into_iter().chain(packed.into_iter().flat_map(Packed::held)).collect();
                let kept = Held { locks, works: &entered.works, start: self.plan.start.as_deref() };
                let note = |is_over| {
                    if let Some(repository) = self.kept.repository {
                        repository.note_packed(packed, is_over);
                    }
                };
                let ended = || note(false);
                let jobs_ended = || {
                    self.look_after_jobs();
                    note(true);
                };
                let after = Looks { ended: &ended, jobs_ended: &jobs_ended, standing: None };
                stay(command, self.signals, orders, tell, &kept, guard, None, &after);
                sys::exit_at_once(0)
            }
        }
    }

    /// Where there are no namespaces: whatever loses its parent becomes this process's child, so it knows what is left.
    fn keeper(&self, tell: &OwnedFd, orders: &OwnedFd) -> Gone {
        let made = (|| {
            let own = Some(rustix::process::getpid());
            step(rustix::process::set_child_subreaper(own), "keeping background jobs")?;
            let command = step(self.fork_command(None, tell), "starting the command's process")?;
            step(drop_capabilities(), "dropping capabilities")?;
            let witness = step(Witness::start(self.signals), "watching the group")?;
            // Hosts end the process group of a call. A job that has left the group stays, so this process must.
            step(rustix::process::setsid(), "leaving the group")?;
            Ok((command, witness))
        })();
        match made {
            Err(failed) => Gone::Setup(failed),
            Ok((command, witness)) => {
                let guard = self.kept.guard.take();
                let put_back = || self.kept.look_alone(self.plan);
                let apart = Some(Apart { witness, lost: &put_back });
                let kept = Held { locks: self.held(), works: &[], start: self.plan.start.as_deref() };
                let unchanged = || self.kept.pins.keep(self.plan);
                let jobs_ended = || self.look_after_jobs();
                let note = || self.kept.pins.note(&self.plan.private).ok();
                let standing = Some(Unchanged { look: &unchanged, note: &note, turn: self.kept.turn });
                let looks = Looks { ended: &|| {}, jobs_ended: &jobs_ended, standing };
                stay(command, self.signals, orders, tell, &kept, guard, apart, &looks);
                sys::exit_at_once(0)
            }
        }
    }

    /// What stays open as long as anything of the command is alive.
    fn held(&self) -> Vec<&OwnedFd> {
        let egress = self.plan.egress.iter().map(|egress| &*egress.socket);
        let of_repository = self.kept.repository.iter().flat_map(|repository| repository.held());
        of_repository.chain(self.kept.alive).chain(egress).collect()
    }

    fn look_after_jobs(&self) {
        if let Some(repository) = self.kept.repository {
            repository.look_after_jobs();
        }
    }

    fn fork_command(&self, view: Option<&Entered>, tell: &OwnedFd) -> io::Result<Pid> {
        if self.link.is_none() {
            return sys::fork_to_become(&mut || tell_and_end(&self.command_process(view), tell));
        }
        // Who is looked at waits for the supervisor at its next call. Init must not wait with it, or nobody could end them.
        match sys::fork(0)? {
            Fork::Child => tell_and_end(&self.command_process(view), tell),
            Fork::Parent(command) => Ok(command),
        }
    }

    /// Becomes the command, with nothing but what the plan gives.
    fn command_process(&self, view: Option<&Entered>) -> Gone {
        let made = (|| {
            let root = step(open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()), "opening the root")?;
            step(limits::set(&self.plan.limits), "setting limits")?;
            step(set_no_new_privs(true), "giving up new privileges")?;
            // At level `full` init has done this.
            if self.level == Level::Landlock {
                step(set_parent_process_death_signal(Some(Signal::KILL)), "tying to the supervisor")?;
                step(chdir(&self.plan.directory), "entering the directory")?;
                step(drop_capabilities(), "dropping capabilities")?;
            }
            step(sys::keep_streams_only(), "closing descriptors")?;
            // The rules of level `landlock` may still be put together.
            if self.level == Level::Landlock {
                step(sys::install(self.filter()), "filtering system calls")?;
            }
            let rules = match (self.kept.ahead, view) {
                (Some(ahead), _) => ahead.finish().and_then(|rules| self.rules_of_landlock(rules, &root)),
                (None, Some(view)) => self.rules_of_view(&root, view),
                (None, None) => Err(io::ErrorKind::NotFound.into()),
            };
            step(step(rules, "granting places")?.restrict_self(), "restricting")?;
            // This one forbids calls by which places are granted.
            if self.kernel.landlock < 3 {
                step(sys::install(&filter::WITHOUT_TRUNCATE), "filtering system calls")?;
            }
            if self.level == Level::Full {
                step(sys::install(self.filter()), "filtering system calls")?;
            }
            // Last, since whoever has it waits at its next call until the supervisor answers.
            self.link.map_or(Ok(()), |link| step(observe::hand_over(link), "handing over the listener"))
        })();
        if let Err(failed) = made {
            return Gone::Setup(failed);
        }
        self.signals.release();
        Gone::Start(sys::become_program(self.command, &self.environment(view)))
    }

    fn filter(&self) -> &'static filter::Program {
        match (self.level, self.plan.network) {
            (Level::Full, Network::All) if !self.kernel.scopes => &filter::FULL_WITHOUT_UNIX,
            (Level::Full, Network::None | Network::Listed) if !self.kernel.scopes => {
                &filter::FULL_WITHOUT_SCOPES
            }
            (Level::Full, _) => &filter::FULL,
            (Level::Landlock, Network::All) => &filter::LANDLOCK_ALL,
            // Nothing is run with a list at this level; see `run`.
            (Level::Landlock, Network::None | Network::Listed) => &filter::LANDLOCK_NONE,
        }
    }

    /// Those of the plan, and what is known of the command by now.
    fn rules_of_landlock(&self, mut rules: Rules, root: &OwnedFd) -> io::Result<Rules> {
        let (plan, writes) = (self.plan, rules.writes());
        for own in [plan.temporary()].into_iter().chain(plan.own_caches()) {
            let place = crate::path::find(root, &own, plan)?.ok_or(io::ErrorKind::NotFound)?;
            rules = rules.allow(&place.handle, true, writes)?;
        }
        if let Some(repository) = self.kept.repository {
            let reads = rules.reads();
            let readable = repository.readable_parts().into_iter().map(|path| (path, reads));
            let writable = repository.writable_parts().into_iter().map(|path| (path, writes));
            for (path, rights) in readable.chain(writable) {
                if let Some(place) = crate::path::find(root, &path, plan)? {
                    rules = rules.allow(&place.handle, place.is_directory, rights)?;
                }
            }
        }
        Ok(rules)
    }

    /// The view holds nothing but what is granted. Landlock keeps what lies in it as it was mounted.
    fn rules_of_view(&self, root: &OwnedFd, view: &Entered) -> io::Result<Rules> {
        let plan = self.plan;
        let mut rules = Rules::new(self.kernel).map_err(io::Error::other)?;
        let (reads, writes) = (rules.reads(), rules.writes());
        rules = rules.allow(root, true, reads)?;
        let own = ["/tmp", "/var/tmp", "/dev/shm", view::NEW_CACHES].map(PathBuf::from);
        let granted = plan.grants.iter().filter(|grant| grant.rights == Rights::Write);
        let written = granted.map(|grant| &grant.path).chain(&plan.caches).chain(&own);
        // Where it lies in another place that is written, that is enough.
        let temporary = Some(&view.temporary).filter(|named| own.iter().all(|own| !named.starts_with(own)));
        let written = written.chain(temporary);
        let repository = plan.repository.iter().map(|repository| &repository.common);
        // Earlier commands may have made links in a new cache, which are not for us to follow.
        let is_in_new_cache = |path: &Path| view.new_caches.iter().any(|cache| is_below(path, cache));
        for path in written.chain(repository).filter(|path| !is_in_new_cache(path)) {
            if let Some(place) = crate::path::find(root, path, plan)? {
                rules = rules.allow(&place.handle, place.is_directory, writes)?;
            }
        }
        let terminals = fs::File::open("/dev/pts")?.into();
        rules = rules.terminals(&terminals)?;
        rules.devices(root, plan)
    }

    fn environment(&self, view: Option<&Entered>) -> Vec<(OsString, OsString)> {
        let temporary = view.map_or_else(|| self.plan.temporary(), |view| view.temporary.clone());
        let mut set: Vec<(OsString, OsString)> =
            vec![("TMPDIR".into(), temporary.into()), (CONTAINED.into(), self.level.word().into())];
        if let (Level::Landlock, Some(repository)) = (self.level, self.kept.repository) {
            let path =
                self.plan.environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
            let mut path_with_ours = repository.launcher().map(OsString::from).unwrap_or_default();
            path_with_ours.push(if path_with_ours.is_empty() { "" } else { ":" });
            path_with_ours.push(path.unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()));
            set.push(("PATH".into(), path_with_ours));
        }
        if let (Level::Landlock, Some(own)) = (self.level, self.plan.own_caches()) {
            let is_writable = |name: &OsString| {
                let mut named = self.plan.environment.iter().filter(|(other, _)| other == name);
                named.any(|(_, path)| self.plan.rights_at(Path::new(path)) == Rights::Write)
            };
            let closed = self.plan.cache_variables.iter().filter(|name| !is_writable(name));
            set.extend(closed.map(|name| (name.clone(), own.join(name).into())));
        }
        let kept = self.plan.environment.iter().filter(|(name, _)| set.iter().all(|(own, _)| own != name));
        kept.cloned().chain(set.clone()).collect()
    }
}

/// Why a child did not become the command.
enum Gone {
    Setup(Failed),
    /// The kernel has made namespaces, and does not let them be used.
    NoNamespaces(io::Error),
    Start(io::Error),
}

impl From<Failed> for Gone {
    fn from(failed: Failed) -> Gone {
        Gone::Setup(failed)
    }
}

/// Ends a child that did not become the command. It must not return into the program that it is a copy of, nor do what that does
/// at its end.
fn tell_and_end(gone: &Gone, tell: &OwnedFd) -> ! {
    let (mark, text) = match gone {
        Gone::Setup(Failed(text)) => (b'!', text.clone()),
        Gone::NoNamespaces(error) => (b'-', error.raw_os_error().unwrap_or(libc::EPERM).to_string()),
        Gone::Start(error) => (b'?', error.raw_os_error().unwrap_or(libc::EIO).to_string()),
    };
    let _ = rustix::io::write(tell, &[&[mark], text.as_bytes(), b"\n"].concat());
    sys::exit_at_once(125)
}
