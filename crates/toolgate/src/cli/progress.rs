//! How far long work has come: one line on stderr that is rewritten, for somebody at a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use toolgate_workspace::Progress;

/// Work that is done by then is not worth a line.
const SHORT: Duration = Duration::from_millis(500);
/// The line is not rewritten more often.
const STEP: Duration = Duration::from_millis(100);

/// Shows how far work has come; takes the line away when it is dropped.
pub(super) struct Shown {
    what: &'static str,
    /// What is counted.
    unit: &'static str,
    /// When the line may be written next, and whether it was; `None` where nobody watches.
    next: Option<Mutex<(Instant, bool)>>,
}

impl Shown {
    /// For work on files.
    pub(super) fn new(what: &'static str) -> Shown {
        Shown::counting(what, "files")
    }

    /// For work on something else.
    pub(super) fn counting(what: &'static str, unit: &'static str) -> Shown {
        let next = io::stderr().is_terminal().then(|| Mutex::new((Instant::now() + SHORT, false)));
        Shown { what, unit, next }
    }
}

impl Progress for Shown {
    fn at(&self, done: usize, of: usize) {
        // Another thread that has the line is writing it: once is enough.
        let Some(Ok(mut next)) = self.next.as_ref().map(Mutex::try_lock) else { return };
        let now = Instant::now();
        if now >= next.0 {
            let _ = write!(io::stderr(), "\r{}: {done} of {of} {}\u{1b}[K", self.what, self.unit);
            *next = (now + STEP, true);
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if self.next.as_ref().is_some_and(|next| next.lock().is_ok_and(|next| next.1)) {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}
