//! The terminal: keys one by one, and a page of lines of which only those are written that have changed.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use crate::{Key, Keys, Line};

/// A page of its own, without a cursor, and back again.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[2J";
const LEAVE: &str = "\u{1b}[?25h\u{1b}[?1049l";

/// The terminal while somebody watches. It is as it was when this is dropped.
#[derive(Debug)]
pub struct Screen {
    terminal: File,
    before: Termios,
    keys: Keys,
    /// What stands there.
    drawn: Vec<String>,
    size: (usize, usize),
    colour: bool,
}

impl Screen {
    /// Takes the terminal.
    pub fn open(colour: bool) -> io::Result<Screen> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Err(io::Error::other(
                "this needs a terminal; `toolgate ledger tail --follow` needs none",
            ));
        }
        let terminal = File::options().read(true).write(true).open("/dev/tty")?;
        let before = tcgetattr(&terminal)?;
        let mut screen =
            Screen { terminal, before, keys: Keys::default(), drawn: Vec::new(), size: (0, 0), colour };
        screen.take()?;
        Ok(screen)
    }

    fn take(&mut self) -> io::Result<()> {
        let mut raw = self.before.clone();
        raw.make_raw();
        tcsetattr(&self.terminal, OptionalActions::Flush, &raw)?;
        self.drawn.clear();
        self.terminal.write_all(ENTER.as_bytes())
    }

    fn give_back(&mut self) {
        let _ = self.terminal.write_all(LEAVE.as_bytes());
        let _ = tcsetattr(&self.terminal, OptionalActions::Flush, &self.before);
    }

    /// Gives the terminal to somebody else for a while.
    pub fn lend<T>(&mut self, to: impl FnOnce() -> T) -> io::Result<T> {
        self.give_back();
        let done = to();
        self.take()?;
        Ok(done)
    }

    /// How many columns and lines there are.
    pub fn size(&self) -> (usize, usize) {
        match tcgetwinsize(&self.terminal) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
            _ => (80, 24),
        }
    }

    /// The keys that were typed; waits for one so long.
    pub fn typed(&mut self, patience: Duration) -> io::Result<Vec<Key>> {
        let wait = patience.try_into().unwrap_or_default();
        let mut ready = [PollFd::new(&self.terminal, PollFlags::IN)];
        match poll(&mut ready, Some(&wait)) {
            Ok(0) => return Ok(self.keys.of(&[], true)),
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
        let mut bytes = [0; 256];
        let count = self.terminal.read(&mut bytes)?;
        if count == 0 {
            return Ok(vec![Key::Interrupt]);
        }
        Ok(self.keys.of(bytes.get(..count).unwrap_or_default(), count < bytes.len()))
    }

    /// Shows these lines.
    pub fn show(&mut self, lines: &[Line]) -> io::Result<()> {
        let size = self.size();
        if size != self.size {
            self.size = size;
            self.drawn.clear();
            self.terminal.write_all(b"\x1b[2J")?;
        }
        let mut out = String::new();
        let (width, height) = size;
        for at in 0..height {
            let text = lines.get(at).map_or_else(String::new, |line| line.drawn(width, self.colour));
            if self.drawn.get(at) != Some(&text) {
                out.push_str(&format!("\u{1b}[{};1H{text}\u{1b}[K", at + 1));
            }
            match self.drawn.get_mut(at) {
                Some(drawn) => *drawn = text,
                None => self.drawn.push(text),
            }
        }
        self.terminal.write_all(out.as_bytes())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.give_back();
    }
}
