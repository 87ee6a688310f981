//! Sends signals to what a command has started, and ends all of it where no namespace does that.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

/// How often processes are looked for that have to end.
const MOST_LOOKS: usize = 64;

/// The children of a process, where the system tells, and how many threads it has. The system keeps the children of each thread apart.
fn children_of(pid: Pid) -> (Vec<Pid>, usize) {
    let (mut children, mut threads) = (Vec::new(), 0);
    let Ok(tasks) = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())) else {
        return (children, 0);
    };
    for task in tasks.flatten() {
        threads += 1;
        let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        let pids = text.split_whitespace().filter_map(|pid| pid.parse().ok().filter(|pid| *pid > 0));
        children.extend(pids.filter_map(Pid::from_raw));
    }
    (children, threads)
}

/// Whether the system tells what the children of a process are.
pub(crate) fn can_be_counted() -> bool {
    fs::read("/proc/thread-self/children").is_ok()
}

/// How many threads the processes below another one have together. Counted no further than one past `most`.
pub(crate) fn count_below(pid: Pid, most: usize) -> usize {
    let mut left = children_of(pid).0;
    let mut count: usize = 0;
    while let Some(pid) = left.pop().filter(|_| count <= most) {
        let (children, threads) = children_of(pid);
        count = count.saturating_add(threads);
        left.extend(children);
    }
    count
}

/// All processes below another one, but no more than `most` of them.
pub(crate) fn all_below(pid: Pid, most: usize) -> Vec<Pid> {
    let mut left = children_of(pid).0;
    let mut all = Vec::new();
    while let Some(pid) = left.pop().filter(|_| all.len() < most) {
        left.extend(children_of(pid).0);
        all.push(pid);
    }
    all
}

/// Ends a process and all below it. Whether it was still there.
fn end_below(pid: Pid, depth: usize) -> bool {
    // What has been stopped makes no more of them while they are looked up: one that makes others is quicker than whoever ends it.
    let _ = kill_process(pid, Signal::STOP);
    let (children, _) = children_of(pid);
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
        if children_of(of).0.into_iter().filter(|pid| end_below(*pid, 0)).count() == 0 {
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
