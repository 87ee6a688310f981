//! How each of our processes begins if the standard library has not begun it: see `begin_with` of `toolgate-arena`.
//!
//! Against whom: somebody who starts a hook with a closed descriptor. The next opened file would get its number, and the answer would go
//! into the log.

#![expect(clippy::disallowed_methods, reason = "this is the process")]

use std::ffi::OsString;
use std::os::fd::{BorrowedFd, IntoRawFd};
use std::sync::OnceLock;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::fcntl_getfd;
use rustix::stdio::{stderr, stdin, stdout};

static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Begins a process that has these words for its command line. `false` where it has no descriptors to speak through.
#[must_use]
pub fn begin(words: Vec<OsString>) -> bool {
    let _ = WORDS.set(words);
    // A write to a pipe that nobody reads is then an error, which is answered, and no death without a word.
    toolgate_sandbox::outlive_closed_pipes();
    is_open_or_opened()
}

/// The words of the command line, the program's own name first.
pub fn words() -> impl Iterator<Item = OsString> {
    WORDS.get().cloned().unwrap_or_else(|| std::env::args_os().collect()).into_iter()
}

/// Opens what is closed of the first three descriptors, in their order.
fn is_open_or_opened() -> bool {
    let all = [stdin(), stdout(), stderr()];
    let [one, two, three] = &all;
    let mut asked = [one, two, three].map(|descriptor| PollFd::new(descriptor, PollFlags::empty()));
    let closed: [bool; 3] = match poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
        Ok(_) => asked.map(|answer| answer.revents().contains(PollFlags::NVAL)),
        // Fewer descriptors than these may be open, or there is no memory for the question.
        Err(_) => all.map(|descriptor: BorrowedFd<'_>| fcntl_getfd(descriptor).is_err()),
    };
    closed.into_iter().zip(0..).filter(|(is_closed, _)| *is_closed).all(|(_, number)| {
        open("/dev/null", OFlags::RDWR, Mode::empty()).is_ok_and(|opened| opened.into_raw_fd() == number)
    })
}
