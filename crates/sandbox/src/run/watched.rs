//! The process that was made for a command, as the supervisor sees it.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};

use crate::compiled::CompiledPlan;
use crate::git::Taken;
use crate::keeper::NOT_ALONE;
use crate::limits::{self, Meter, Tally};
use crate::observe::Observer;
use crate::outcome::Limit;
use crate::pins::{Guard, Patience};
use crate::plan::Level;
use crate::processes::end_children;
use crate::sys::{self, Signals};
use crate::view::{self, OldRoot, Settled};

use super::{Ended, Error, Outcome};

/// The process that was made, as the supervisor sees it.
pub(super) struct Watched {
    child: Pid,
    level: Level,
    /// What the child says: nothing once it is the command, why it is not, or how the command ended.
    told: Option<fs::File>,
    text: Vec<u8>,
    /// Where init takes signals for the command.
    orders: Option<fs::File>,
    status: Option<WaitStatus>,
    ended_by: Option<Limit>,
    guard: Option<Guard>,
    meter: Option<Meter>,
    tally: Option<Tally>,
    /// When the view of level `full` is settled, if that was not done yet, and how long it is waited then should it not be there.
    unsettled: Option<(Instant, Duration)>,
}

/// A command that runs for so long is not missed by a few milliseconds.
const QUICK: Duration = Duration::from_millis(200);

impl Watched {
    pub(super) fn of(
        child: Pid,
        plan: &CompiledPlan,
        level: Level,
        told: OwnedFd,
        orders: OwnedFd,
        guard: Option<Guard>,
        old_root: OldRoot,
    ) -> Watched {
        let (told, orders, meter) = (Some(told.into()), Some(orders.into()), Meter::of(plan));
        let (text, status, ended_by, tally) = (Vec::new(), None, None, Tally::of(plan, level));
        let unsettled =
            (level == Level::Full && old_root == OldRoot::LeftLater).then(|| (Instant::now() + QUICK, QUICK));
        Watched { child, level, told, text, orders, status, ended_by, guard, meter, tally, unsettled }
    }

    pub(super) fn child(&self) -> Pid {
        self.child
    }

    /// What looks after names, for whoever looks last.
    pub(super) fn take_guard(&mut self) -> Option<Guard> {
        self.guard.take()
    }

    /// Where keeper or init listens, for whoever has the last word.
    pub(super) fn take_orders(&mut self) -> Option<fs::File> {
        self.orders.take()
    }

    /// Ends init, if it is there, and with it all processes of level `full`.
    pub(super) fn end_init(&self) {
        if self.status.is_none() {
            let _ = kill_process(self.child, Signal::KILL);
        }
    }

    pub(super) fn until_end(
        &mut self,
        signals: &Signals,
        deadline: Option<Instant>,
        mut observer: Option<&mut Observer<'_>>,
    ) -> Result<Outcome, Error> {
        let mut looked = Instant::now();
        loop {
            if let Some(status) = self.ended()? {
                let (repository, pins) = (Taken::default(), Vec::new());
                let ended_by = self.ended_by;
                let is_over = false;
                return Ok(Outcome { status, level: self.level, ended_by, repository, pins, is_over });
            }
            let left = deadline.filter(|_| self.ended_by.is_none());
            let left = left.map(|at| at.saturating_duration_since(Instant::now()));
            let looks = self.ended_by.is_none() && (self.meter.is_some() || self.tally.is_some());
            let next_look = looks.then_some(limits::INTERVAL);
            let settles = self.unsettled.map(|(at, _)| at.saturating_duration_since(Instant::now()));
            let left = left.into_iter().chain(next_look).chain(settles).min();
            let left = left.map(|left| Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(left.subsec_nanos()),
            });
            let mut polled = vec![PollFd::new(signals.descriptor(), PollFlags::IN)];
            polled.extend(self.told.iter().map(|told| PollFd::new(told, PollFlags::IN)));
            let listener = observer.as_deref().and_then(Observer::descriptor);
            let at = polled.len();
            polled.extend(listener.map(|listener| PollFd::from_borrowed_fd(listener, PollFlags::IN)));
            match poll(&mut polled, left.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let has_told =
                self.told.is_some() && polled.get(1).is_some_and(|told| !told.revents().is_empty());
            let ready = polled.get(at).map(PollFd::revents);
            drop(polled);
            // A command that is looked at is never quiet for long, so the time may be up without a pause.
            if deadline.is_some_and(|at| Instant::now() >= at) {
                self.end_by(Limit::WallTime);
            }
            if looked.elapsed() >= limits::INTERVAL {
                looked = Instant::now();
                let top = self.child;
                if self.meter.as_mut().is_some_and(|meter| meter.is_over(top)) {
                    self.end_by(Limit::Disk);
                }
                if self.tally.as_ref().is_some_and(|tally| tally.is_over(self.child)) {
                    self.end_by(Limit::Processes);
                }
            }
            if self.unsettled.is_some_and(|(at, _)| Instant::now() >= at) {
                // A busy machine may not have built it yet. Should it never succeed, file systems stay in use until the command has ended.
                let _ = self.settle(None);
            }
            if let (Some(observer), Some(ready)) = (observer.as_deref_mut(), ready) {
                observer.serve(ready);
            }
            if has_told {
                self.listen();
            }
            while let Some(signal) = signals.next() {
                self.heed(&signal);
            }
        }
    }

    /// Ends the command, once.
    fn end_by(&mut self, limit: Limit) {
        if self.ended_by.is_none() {
            self.ended_by = Some(limit);
            self.end_all();
        }
    }

    /// Ends the command and all that it has started. At level `full` its processes end with init.
    fn end_all(&self) {
        match self.level {
            Level::Full => {
                let _ = kill_process(self.child, Signal::KILL);
            }
            Level::Landlock => end_children(self.child),
        }
    }

    /// What is left of the command, now that it has ended.
    pub(super) fn left(&mut self) -> Left {
        let has_told = self.told.is_none() && matches!(self.text.first(), Some(b'c' | b's'));
        let is_left_behind = has_told && self.text.get(5) == Some(&NOT_ALONE);
        let is_ending = self.told.is_none() || self.level == Level::Full;
        if !is_ending || is_left_behind || self.status.is_some() {
            return Left { is_over: !is_left_behind, held_open: false, has_told };
        }
        // Who has told that nothing is left has nothing left to do but to end. The kernel takes down the view of level `full` then, which takes it as
        // long as a command takes to start, and nobody needs to wait for that.
        let patience = if has_told { WaitOptions::NOHANG } else { WaitOptions::empty() };
        self.status = waitpid(Some(self.child), patience).ok().flatten().map(|(_, status)| status);
        Left { is_over: true, held_open: false, has_told }
    }

    /// Settles what background jobs of level `full` live in, and takes away from them what their command wrote at `own`, now that it has ended: git
    /// outside believes what is there, and nobody looks at it again before they end. A job that keeps a file there open to write cannot be shut out,
    /// so it is ended.
    pub(super) fn settle_jobs(&mut self, own: Option<&Path>) -> Left {
        if self.settle(own).is_ok() || own.is_none() {
            return Left { is_over: false, held_open: false, has_told: true };
        }
        self.end_init();
        self.status =
            waitpid(Some(self.child), WaitOptions::empty()).ok().flatten().map(|(_, status)| status);
        // The last job may have ended by itself meanwhile, and init with it.
        let was_ended = self.status.is_none_or(|status| status.terminating_signal().is_some());
        Left { is_over: true, held_open: was_ended, has_told: false }
    }

    fn settle(&mut self, closed: Option<&Path>) -> io::Result<()> {
        let leaves_old_root = self.unsettled.is_some();
        view::settle(self.child, &Settled { leaves_old_root, closed })
            .inspect(|()| self.unsettled = None)
            .inspect_err(|_| {
                let later = |(_, wait): (Instant, Duration)| (Instant::now() + wait * 2, wait * 2);
                self.unsettled = self.unsettled.map(later);
            })
    }

    fn listen(&mut self) {
        let mut piece = [0; 4096];
        match self.told.as_mut().map(|told| told.read(&mut piece)) {
            Some(Ok(read)) if read > 0 => self.text.extend(piece.get(..read).unwrap_or_default()),
            _ => self.told = None,
        }
        // How the command ended is all that is ever said then.
        if matches!(self.text.first(), Some(b'c' | b's')) && self.text.get(5).is_some() {
            self.told = None;
        }
    }

    fn heed(&mut self, signal: &sys::Signal) {
        if signal.number == libc::SIGCHLD {
            if let Ok(Some((_, status))) = waitpid(Some(self.child), WaitOptions::NOHANG) {
                self.status = Some(status);
            }
        } else if signal.number == libc::SIGIO {
            if self.guard.as_mut().is_some_and(|guard| guard.look() == Patience::Spent) {
                self.end_by(Limit::Names);
            }
        } else if signal.from_process {
            // Sent to us, and meant for the command. What a terminal sends goes to its whole group anyway.
            let order = signal.number.to_ne_bytes();
            if let Some(orders) = &mut self.orders {
                let _ = orders.write_all(order.get(..1).unwrap_or_default());
            }
        }
    }

    /// How the command has ended, if it has.
    fn ended(&self) -> Result<Option<Ended>, Error> {
        if self.told.is_some() {
            return Ok(None);
        }
        // A line. What init says behind it, how the process ended that said it, is no news.
        let line = || self.text.get(1..).unwrap_or_default().split(|byte| *byte == b'\n').next();
        let text = || String::from_utf8_lossy(line().unwrap_or_default()).into_owned();
        let error = || io::Error::from_raw_os_error(text().parse().unwrap_or(libc::EIO));
        match (self.text.first(), self.level) {
            (Some(b'!'), _) => Err(Error::Setup(text())),
            (Some(b'-'), _) => Err(Error::NoNamespaces(error())),
            (Some(b'?'), _) => Err(Error::Start(error())),
            (Some(_), _) => Ok(Ended::from_bytes(&self.text)),
            (None, _) if self.ended_by.is_some() => Ok(Some(Ended::Signal(libc::SIGKILL))),
            (None, Level::Landlock) => Err(Error::Setup("its keeper was ended".to_owned())),
            (None, Level::Full) => Err(Error::Setup("its init process was ended".to_owned())),
        }
    }
}

/// What is left of a command that has ended.
pub(super) struct Left {
    /// Whether every process of it is gone, but for one that is ending.
    pub(super) is_over: bool,
    /// Whether background jobs were ended, since they kept files of git's open to write.
    pub(super) held_open: bool,
    /// Whether keeper or init has said how the command ended.
    pub(super) has_told: bool,
}

pub(crate) fn ended(status: WaitStatus) -> Ended {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ended::Code(code),
        (None, Some(signal)) => Ended::Signal(signal),
        (None, None) => Ended::Code(1),
    }
}
