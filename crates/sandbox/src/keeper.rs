//! The process that stays with a command, outside of its reach, until nothing of it is alive: its init at level `full`, its keeper at level
//! `landlock`.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, set_parent_process_death_signal, wait};

use crate::pins::{Guard, Note, Patience, Turn};
use crate::processes::{end_children, send};
use crate::reachable::Way;
use crate::run::ended;
use crate::sys::{self, Signals, Witness};
use crate::view::tidy;

/// What a process needs that stays outside of the command's group.
pub(crate) struct Apart<'a> {
    /// Who is in the group.
    pub(crate) witness: Witness,
    /// What is done when the command has ended and its supervisor is gone before it has looked after what must be as before: a host that ends a
    /// call kills both.
    pub(crate) lost: &'a dyn Fn(),
}

/// What keeper and init keep open.
pub(crate) struct Held<'h> {
    /// As long as anything of the command is alive.
    pub(crate) locks: Vec<&'h OwnedFd>,
    /// To the end: the work directories of its layers, which are tidied up then.
    pub(crate) works: &'h [OwnedFd],
    /// The directory in which a host starts its hooks: to the end, too.
    pub(crate) start: Option<&'h Path>,
}

/// What keeper and init look after.
pub(crate) struct Looks<'l> {
    /// When the command has ended, before that is said.
    pub(crate) ended: &'l dyn Fn(),
    /// When the last background job has ended.
    pub(crate) jobs_ended: &'l dyn Fn(),
    /// As long as the command or a background job lives. Where a view keeps what must not change, that is not needed.
    pub(crate) standing: Option<Unchanged<'l>>,
}

/// What a command and its background jobs must not change.
#[derive(Clone, Copy)]
pub(crate) struct Unchanged<'l> {
    /// Has it be as before, and says whether it was not.
    pub(crate) look: &'l dyn Fn() -> bool,
    /// Notes what it was, for the commands that begin meanwhile.
    pub(crate) note: &'l dyn Fn() -> Option<Note>,
    /// Until that is noted, no other command begins.
    pub(crate) turn: Option<&'l Turn>,
}

/// Most commands are over sooner, and need no note.
const NOTED_AFTER: Duration = Duration::from_millis(20);

/// How often what a background job must not change is looked at.
const INTERVAL: Duration = Duration::from_millis(200);
/// No more than such a part of the time is spent on it.
const SHARE: u32 = 50;
/// Jobs that change it more often than this are ended.
const MOST_CHANGES: usize = 8;

/// What must not change, looked at while a command or its background jobs live. A program may write through a mapping, of which nobody is told, so time
/// alone says when.
struct Standing<'l> {
    unchanged: Unchanged<'l>,
    note: Option<Note>,
    due: Instant,
    changes: usize,
}

impl<'l> Standing<'l> {
    /// The command begins.
    fn begin(unchanged: Unchanged<'l>) -> Standing<'l> {
        Standing { unchanged, note: None, due: Instant::now() + NOTED_AFTER, changes: 0 }
    }

    /// How long there is to wait until it is due.
    fn left(&self) -> Timespec {
        let left = self.due.saturating_duration_since(Instant::now());
        Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        }
    }

    /// Notes what must not change, once. Where that cannot be done, nobody else begins.
    fn note(&mut self) {
        if self.note.is_none() {
            self.note = (self.unchanged.note)();
            if let Some(turn) = self.unchanged.turn.filter(|_| self.note.is_some()) {
                turn.leave();
            }
        }
    }

    /// Looks, if it is due. What a command changes itself is left to its supervisor, unless another one waits to begin.
    fn look(&mut self, has_ended: bool) -> Patience {
        let begun = Instant::now();
        if begun < self.due {
            return Patience::Left;
        }
        self.note();
        if has_ended || self.note.as_ref().is_some_and(Note::is_awaited) {
            self.changes += usize::from((self.unchanged.look)());
        }
        self.due = Instant::now() + INTERVAL.max(begun.elapsed() * SHARE);
        if self.changes > MOST_CHANGES { Patience::Spent } else { Patience::Left }
    }

    /// The last look is over.
    fn end(self) {
        if let Some(note) = self.note {
            note.remove();
        }
    }

    /// The descriptors that it needs.
    fn held(&self) -> impl Iterator<Item = &OwnedFd> {
        let turn = self.unchanged.turn.filter(|_| self.note.is_none()).map(Turn::held);
        self.note.iter().flat_map(Note::held).chain(turn)
    }
}

impl Held<'_> {
    /// Closes everything but these.
    fn keep_only_works_and<'k>(&'k self, others: impl IntoIterator<Item = &'k OwnedFd>) {
        sys::keep_only(&self.works.iter().chain(others).collect::<Vec<_>>());
    }
}

/// What keeper and init do: wait for the command and say how it ended, then for whatever the command has left behind. Signals for the
/// command come as numbers, one byte each. Descriptors are closed behind their owners' backs: this process only ever exits.
/// `guard` is the supervisor's until the command has ended, and then ours.
/// `apart` is for a keeper, which is in another group than the command.
#[expect(
    clippy::too_many_arguments,
    clippy::too_many_lines,
    reason = "one process's whole life, with two callers"
)]
pub(crate) fn stay(
    command: Pid,
    signals: &Signals,
    orders: &OwnedFd,
    tell: &OwnedFd,
    held: &Held<'_>,
    mut guard: Option<Guard>,
    apart: Option<Apart<'_>>,
    looks: &Looks<'_>,
) {
    let mut way = held.start.and_then(Way::watch);
    let kept = |others: &[&OwnedFd], guard: Option<&Guard>, way: Option<&Way>| {
        let guarded = guard.into_iter().flat_map(Guard::held).chain(way.into_iter().flat_map(Way::held));
        let kept = others.iter().copied().chain([signals.descriptor()]).chain(held.locks.iter().copied());
        held.keep_only_works_and(kept.chain(guarded));
    };
    let is_init = apart.is_none();
    let (witness, mut lost) = apart.map(|apart| (apart.witness, apart.lost)).unzip();
    let mut standing = looks.standing.map(Standing::begin);
    let mut others = vec![orders, tell];
    others.extend(witness.iter().flat_map(Witness::held));
    others.extend(noted(standing.as_ref()));
    kept(&others, guard.as_ref(), way.as_ref());
    let mut arrived = Arrived { witness, ..Arrived::default() };
    let mut has_ended = None;
    let mut has_told = false;
    let mut is_alone_here = false;
    let mut has_left_jobs = false;
    loop {
        let mut polled = vec![PollFd::new(signals.descriptor(), PollFlags::IN)];
        let listens = !is_alone_here && (!has_told || lost.is_some());
        polled.extend(listens.then(|| PollFd::new(orders, PollFlags::IN)));
        let left = standing.as_ref().map(Standing::left);
        match poll(&mut polled, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
        if polled.get(1).is_some_and(|orders| !orders.revents().is_empty()) {
            let mut order = [0];
            match rustix::io::read(orders, &mut order) {
                Ok(1) if order == [DONE] => lost = None,
                Ok(1) => {
                    let number = i32::from(u8::from_ne_bytes(order));
                    if !has_told && !arrived.take(number, signals) {
                        send(command, number);
                    }
                }
                // The supervisor is gone, and the command goes with it. At level `full` all of its processes do, and they end with this one. The kernel
                // ends it too, but says so later than that the pipe is closed: in between, what the command leaves would count as a job in the background.
                Ok(_) if is_init && has_ended.is_none() => return,
                Ok(_) => {
                    is_alone_here = true;
                    if has_ended.is_none() {
                        send(command, libc::SIGKILL);
                    }
                }
                Err(_) => {}
            }
        }
        arrived.read(signals);
        let has_appeared = std::mem::take(&mut arrived.has_appeared);
        if let Some(way) = way.as_mut().filter(|_| has_appeared)
            && way.look() == Patience::Spent
        {
            end_children(rustix::process::getpid());
        }
        if let Some(guard) = guard.as_mut().filter(|_| has_appeared)
            && guard.look() == Patience::Spent
        {
            // At level `full` all processes of the command end with this one.
            end_children(rustix::process::getpid());
            return;
        }
        if let Some(standing) = standing.as_mut()
            && standing.look(has_ended.is_some()) == Patience::Spent
        {
            end_children(rustix::process::getpid());
        }
        if arrived.witness.as_ref().is_some_and(Witness::has_ended) {
            arrived.witness = None;
        }
        let is_alone = loop {
            match wait(WaitOptions::NOHANG) {
                // One that has itself traced is told of when it stops, too.
                Ok(Some((pid, status))) if pid == command && (status.exited() || status.signaled()) => {
                    has_ended = Some(ended(status));
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        if let Some(status) = has_ended.filter(|_| !has_told) {
            // From here on the supervisor may go, and what is left in the background stays.
            let _ = set_parent_process_death_signal(None);
            (looks.ended)();
            let left = if is_alone { ALONE } else { NOT_ALONE };
            if is_alone {
                // Nothing is left that could move the directory of the host's hooks. The supervisor looks after it from here on.
                way = None;
                // Whoever has been told finds no lock of ours any more, and need not wait for our end. The witness ends with its questions.
                held.keep_only_works_and([tell, orders].into_iter().chain(noted(standing.as_ref())));
            } else {
                has_left_jobs = true;
                if let Some(standing) = &mut standing {
                    standing.note();
                    // The supervisor looks first.
                    standing.due = Instant::now() + INTERVAL;
                }
                // Some hosts end the whole process group with a call. A job that has left the group stays, so init must.
                let _ = rustix::process::setsid();
                if let Some(guard) = &mut guard {
                    // The supervisor looks once more when it has been told. From now on it is our turn.
                    guard.arm();
                }
            }
            let _ = rustix::io::write(tell, &[status.to_bytes().as_slice(), &[left]].concat());
            if is_alone {
                // Whoever could not be started has said so, and the supervisor reads to the end.
                held.keep_only_works_and([orders].into_iter().chain(noted(standing.as_ref())));
            } else {
                arrived.witness = None;
                let mut others = vec![orders];
                others.extend(noted(standing.as_ref()));
                kept(&others, guard.as_ref(), way.as_ref());
            }
            has_told = true;
        }
        let is_lost = is_alone_here || (is_alone && has_told && lost.is_some() && !is_done(orders));
        if let Some(look) = lost.filter(|_| has_told && is_lost) {
            look();
            lost = None;
        }
        if is_alone {
            if has_left_jobs {
                if let Some(mut way) = way.take() {
                    way.look();
                }
                if let Some(standing) = &standing {
                    (standing.unchanged.look)();
                }
                (looks.jobs_ended)();
            }
            if let Some(standing) = standing.take() {
                standing.end();
            }
            held.works.iter().for_each(tidy);
            // What is closed already is not to be closed again by its owners.
            sys::exit_at_once(0);
        }
    }
}

/// The descriptors that `Standing` needs.
fn noted<'s>(standing: Option<&'s Standing<'_>>) -> impl Iterator<Item = &'s OwnedFd> {
    standing.into_iter().flat_map(Standing::held)
}

/// Waits for the supervisor to say that all is looked after. `false`: it has gone without a word.
fn is_done(orders: &OwnedFd) -> bool {
    loop {
        let mut order = [0];
        match rustix::io::read(orders, &mut order) {
            Ok(1) if order == [DONE] => return true,
            Ok(1) | Err(Errno::INTR) => {}
            Ok(_) | Err(_) => return false,
        }
    }
}

/// Signals that have come to this process itself.
#[derive(Default)]
struct Arrived {
    /// Something was made where names must not appear, or happened to the directory of the host's hooks.
    has_appeared: bool,
    /// What processes have sent, and when it was read.
    sent: Vec<(i32, Instant)>,
    /// Who is sent what the group is sent, where this process is in another one.
    witness: Option<Witness>,
}

impl Arrived {
    fn read(&mut self, signals: &Signals) {
        while let Some(signal) = signals.next() {
            self.has_appeared |= signal.number == libc::SIGIO;
            let is_passed_on = signal.from_process && !matches!(signal.number, libc::SIGIO | libc::SIGCHLD);
            if is_passed_on {
                self.sent.push((signal.number, Instant::now()));
            }
        }
    }

    /// Whether a signal that the supervisor passes on has come here too. Then it was sent to the whole group, or to each process below the host, and
    /// the command has it already.
    fn take(&mut self, number: i32, signals: &Signals) -> bool {
        /// What came longer ago was meant for this process alone.
        const TOGETHER: Duration = Duration::from_millis(100);
        self.sent.retain(|(_, read)| read.elapsed() < TOGETHER);
        for look in 0..2 {
            // Whoever sends to a group comes to one process after the other.
            std::thread::sleep(Duration::from_millis(look));
            self.read(signals);
            if self.witness.as_ref().is_some_and(|witness| witness.has_seen(number)) {
                self.sent.retain(|(sent, _)| *sent != number);
                return true;
            }
            if let Some(at) = self.sent.iter().position(|(sent, _)| *sent == number) {
                self.sent.swap_remove(at);
                return true;
            }
        }
        false
    }
}

/// What the supervisor says when it has looked after everything. No signal has this number.
pub(crate) const DONE: u8 = 0;

/// What init says after the status: whether the command has left processes behind.
pub(crate) const ALONE: u8 = b'.';
pub(crate) const NOT_ALONE: u8 = b'+';
