//! Sends signals to what a command has started, and ends all of it where no namespace does that.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

/// How often processes are looked for that have to end.
const MOST_LOOKS: usize = 64;

/// The children of a process, where the system tells.
fn children_of(pid: Pid) -> Vec<Pid> {
    let pid = pid.as_raw_nonzero();
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|pid| Pid::from_raw(pid.parse().ok().filter(|pid| *pid > 0)?))
        .collect()
}

/// Ends a process and all below it. Whether it was still there.
fn end_below(pid: Pid, depth: usize) -> bool {
    let children = children_of(pid);
    let was_there = kill_process(pid, Signal::KILL).is_ok();
    let _ = waitpid(Some(pid), WaitOptions::NOHANG);
    if depth < MOST_LOOKS {
        for child in children {
            end_below(child, depth + 1);
        }
    }
    was_there
}

/// Ends all below a process that stays. What has lost its parent becomes its child, so nothing slips away between two looks. Bounded,
/// should somebody be quicker.
pub(crate) fn end_children(of: Pid) {
    for look in 0..MOST_LOOKS {
        std::thread::sleep(Duration::from_millis(u64::from(look > 0)));
        if children_of(of).into_iter().filter(|pid| end_below(*pid, 0)).count() == 0 {
            break;
        }
    }
}

/// Sends a signal by its number.
pub(crate) fn send(to: Pid, number: i32) {
    if let Some(signal) = Signal::from_named_raw(number) {
        let _ = kill_process(to, signal);
    }
}
