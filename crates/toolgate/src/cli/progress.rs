//! How far long work has come, on stderr: a bar for somebody at a terminal, a line now and then elsewhere. stdout holds what was asked for.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Work that is done by then is not worth a bar; a line is for what takes long on a busy machine too.
const SHORT: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(20)];
/// A bar is not drawn more often, and a line not written.
const STEP: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(20)];
/// So many characters are the whole bar: with its numbers it fits where 80 do.
const WIDTH: usize = 24;

/// Shows how far work has come; takes the bar away when it is dropped.
pub(crate) struct Shown {
    what: &'static str,
    /// What is counted.
    unit: &'static str,
    /// Whether a bar can be drawn again in its place.
    is_bar: bool,
    /// When to show it next, and whether it was shown.
    next: Mutex<(Instant, bool)>,
}

impl Shown {
    /// For work on so many `unit`.
    pub(crate) fn counting(what: &'static str, unit: &'static str) -> Shown {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Shown::new(what, unit, io::stderr().is_terminal() && !is_dumb)
    }

    fn new(what: &'static str, unit: &'static str, is_bar: bool) -> Shown {
        let begin = Instant::now() + kept(SHORT, is_bar);
        Shown { what, unit, is_bar, next: Mutex::new((begin, false)) }
    }

    /// So many of so many are done; of 0 where nobody knows how many there are.
    pub(crate) fn at(&self, done: u64, of: u64) {
        // What is done is not worth a word any more.
        if of > 0 && done >= of {
            return;
        }
        // Another thread that has it is showing it: once is enough.
        let Ok(mut next) = self.next.try_lock() else { return };
        let now = Instant::now();
        if now >= next.0 {
            let _ = io::stderr().write_all(self.text(done, of).as_bytes());
            *next = (now + kept(STEP, self.is_bar), true);
        }
    }

    /// Takes the bar away, since something else is to be said. It comes back.
    pub(crate) fn clear(&self) {
        if let Ok(mut next) = self.next.lock()
            && self.is_bar
            && std::mem::take(&mut next.1)
        {
            let _ = io::stderr().write_all(b"\r\x1b[K");
        }
    }

    fn text(&self, done: u64, of: u64) -> String {
        let Shown { what, unit, is_bar, .. } = self;
        let share = |whole: u64| (done.min(of) * whole).checked_div(of);
        let mut text = format!("{}{what}", if *is_bar { "\r" } else { "toolgate: " });
        if let Some(full) = share(WIDTH as u64).filter(|_| *is_bar) {
            let _ = write!(text, "  [{:-<WIDTH$}]", "#".repeat(usize::try_from(full).unwrap_or(WIDTH)));
        }
        let _ = match share(100) {
            Some(percent) => {
                write!(text, "{} {percent} %: {done} of {of} {unit}", if *is_bar { " " } else { ":" })
            }
            None => write!(text, ": {done} {unit}"),
        };
        text.push_str(if *is_bar { "\u{1b}[K" } else { "\n" });
        text
    }
}

fn kept([bar, line]: [Duration; 2], is_bar: bool) -> Duration {
    if is_bar { bar } else { line }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(is_bar: bool) -> Shown {
        Shown::new("verify", "records", is_bar)
    }

    #[test]
    fn a_terminal_gets_a_bar_and_a_file_gets_lines() {
        let bar = |done, of| shown(true).text(done, of);
        assert_eq!(bar(1, 4), "\rverify  [######------------------]  25 %: 1 of 4 records\u{1b}[K");
        assert_eq!(bar(9, 4), "\rverify  [########################]  100 %: 9 of 4 records\u{1b}[K");
        assert_eq!(bar(7, 0), "\rverify: 7 records\u{1b}[K");
        assert_eq!(shown(false).text(1, 4), "toolgate: verify: 25 %: 1 of 4 records\n");
        assert!(bar(999_999_999, 1_000_000_000).len() < 80);
    }

    #[test]
    fn what_is_soon_done_is_not_shown() {
        let shown = shown(true);
        shown.at(1, 4);
        assert!(!shown.next.lock().unwrap().1);
    }
}
