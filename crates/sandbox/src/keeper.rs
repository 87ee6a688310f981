//! The process that stays with a command, outside of its reach, until nothing of it is alive: its init at level `full`, its keeper at level
//! `landlock`.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, set_parent_process_death_signal, wait};

use crate::pins::{Guard, Patience};
use crate::processes::{end_children, send};
use crate::run::ended;
use crate::sys::{self, Signals};

/// What keeper and init do: wait for the command and say how it ended, then for whatever the command has left behind. Signals for the
/// command come as numbers, one byte each. Descriptors are closed behind their owners' backs: this process only ever exits.
/// `held` stays open as long as anything of the command is alive. `guard` is the supervisor's until the command has ended, and then ours.
pub(crate) fn stay(
    command: Pid,
    signals: &Signals,
    orders: &OwnedFd,
    tell: &OwnedFd,
    held: &[&OwnedFd],
    mut guard: Option<Guard>,
) {
    let kept = |others: &[&OwnedFd], guard: Option<&Guard>| {
        let guarded: Vec<&OwnedFd> = guard.into_iter().flat_map(Guard::held).collect();
        let kept = others.iter().copied().chain([signals.descriptor()]).chain(held.iter().copied());
        sys::keep_only(&kept.chain(guarded).collect::<Vec<_>>());
    };
    kept(&[orders, tell], guard.as_ref());
    let mut arrived = Arrived::default();
    let mut has_ended = None;
    let mut has_told = false;
    let mut is_alone_here = false;
    loop {
        let mut polled = vec![PollFd::new(signals.descriptor(), PollFlags::IN)];
        let listens = !has_told && !is_alone_here;
        polled.extend(listens.then(|| PollFd::new(orders, PollFlags::IN)));
        match poll(&mut polled, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
        if polled.get(1).is_some_and(|orders| !orders.revents().is_empty()) {
            let mut order = [0];
            match rustix::io::read(orders, &mut order) {
                Ok(1) => {
                    let number = i32::from(u8::from_ne_bytes(order));
                    if !arrived.take(number, signals) {
                        send(command, number);
                    }
                }
                // The supervisor is gone, and the command goes with it.
                Ok(_) => {
                    is_alone_here = true;
                    send(command, libc::SIGKILL);
                }
                Err(_) => {}
            }
        }
        arrived.read(signals);
        let has_appeared = std::mem::take(&mut arrived.has_appeared);
        if let Some(guard) = guard.as_mut().filter(|_| has_appeared)
            && guard.look() == Patience::Spent
        {
            // At level `full` all processes of the command end with this one.
            end_children(rustix::process::getpid());
            return;
        }
        let is_alone = loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == command => has_ended = Some(ended(status)),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        if let Some(status) = has_ended.filter(|_| !has_told) {
            // From here on the supervisor may go, and what is left in the background stays.
            let _ = set_parent_process_death_signal(None);
            let left = if is_alone { ALONE } else { NOT_ALONE };
            if is_alone {
                // Whoever has been told finds no lock of ours any more, and need not wait for our end.
                sys::keep_only(&[tell]);
            } else {
                // Some hosts end the whole process group with a call. A job that has left the group stays, so init must.
                let _ = rustix::process::setsid();
                if let Some(guard) = &mut guard {
                    // The supervisor looks once more when it has been told. From now on it is our turn.
                    guard.arm();
                }
            }
            let _ = rustix::io::write(tell, &[status.to_bytes().as_slice(), &[left]].concat());
            if is_alone {
                return;
            }
            kept(&[], guard.as_ref());
            has_told = true;
        }
        if is_alone {
            return;
        }
    }
}

/// Signals that have come to this process itself.
#[derive(Default)]
struct Arrived {
    /// Something was made where names must not appear.
    has_appeared: bool,
    /// What processes have sent, and when it was read.
    sent: Vec<(i32, Instant)>,
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
            if let Some(at) = self.sent.iter().position(|(sent, _)| *sent == number) {
                self.sent.swap_remove(at);
                return true;
            }
        }
        false
    }
}

/// What init says after the status: whether the command has left processes behind.
pub(crate) const ALONE: u8 = b'.';
pub(crate) const NOT_ALONE: u8 = b'+';
