//! The search itself: texts of any length through one window, findings out.
//!
//! Where nothing is found, a text is read once and no line of it is counted.

use std::io::Read;
use std::path::{Path, PathBuf};

use toolgate_secrets::{Emails, Found, Marks, Rules, find, scrub};

use super::super::progress::Shown;
use super::known::Known;
use super::{Failure, Report, complain, plain};
use toolgate_gate::disk::open_regular;
use toolgate_model::visible;

/// What is held of a text at once.
const WINDOW: usize = 4 * 1024 * 1024;
/// What two windows share. No key that people use is longer.
const OVERLAP: usize = 64 * 1024;
/// A text with a NUL byte in so much of its beginning is none.
const BINARY: usize = 8 * 1024;
/// So much of a line is shown on each side of a finding.
const AROUND: usize = 80;
/// On a line with this, nothing is a finding.
const EXCUSE: &[u8] = b"toolgate: not-a-secret";

/// A secret and where it stands, without the secret.
pub(super) struct Finding {
    /// In a repository, below its top.
    pub(super) path: PathBuf,
    /// The first character.
    pub(super) from: Position,
    /// Behind the last character.
    pub(super) to: Position,
    /// The pattern that it fits.
    pub(super) pattern: &'static str,
    /// What it is, for people.
    pub(super) about: &'static str,
    /// The line, with a mark in place of the secret.
    pub(super) text: String,
    /// By what it is known in another report.
    pub(super) fingerprint: String,
    /// The commit that added it, in a history.
    pub(super) commit: Option<String>,
}

/// A place in a text, from 1; columns are characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// What was looked at and found.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Totals {
    pub(super) findings: usize,
    pub(super) files: usize,
    pub(super) bytes: u64,
    /// What could not be looked at.
    pub(super) problems: usize,
}

/// A search through many texts.
pub(super) struct Search<'s> {
    rules: &'s Rules,
    known: Known,
    report: &'s mut dyn Report,
    totals: Totals,
    path: PathBuf,
    commit: Option<String>,
    /// Whether the file's beginning says that it is binary; `None` before it was looked at.
    binary: Option<bool>,
    window: Vec<u8>,
    /// Where the window begins.
    start: Position,
    /// Nobody knows beforehand how many files there are.
    progress: Shown,
}

impl<'s> Search<'s> {
    pub(super) fn new(rules: &'s Rules, known: Known, report: &'s mut dyn Report) -> Search<'s> {
        Search {
            rules,
            known,
            report,
            totals: Totals::default(),
            path: PathBuf::new(),
            commit: None,
            binary: None,
            window: Vec::new(),
            start: Position { line: 1, column: 1 },
            progress: Shown::counting("scan", "files"),
        }
    }

    pub(super) fn totals(&self) -> Totals {
        self.totals
    }

    /// Says what could not be looked at. The search goes on, but its outcome is no clean one.
    pub(super) fn problem(&mut self, what: &str) {
        self.progress.clear();
        complain(what);
        self.totals.problems += 1;
    }

    /// Looks at a file of the disk.
    pub(super) fn file(&mut self, path: &Path) -> Result<(), Failure> {
        let mut file = match open_regular(path) {
            Ok((file, _)) => file,
            Err(error) => {
                self.problem(&format!("{}: {error}", path.display()));
                return Ok(());
            }
        };
        self.begin_file(plain(path).to_path_buf());
        self.begin_text(1);
        loop {
            let room = self.room()? as u64;
            match file.by_ref().take(room).read_to_end(&mut self.window) {
                Ok(length) if (length as u64) < room => break,
                Ok(_) => {}
                Err(error) => {
                    self.problem(&format!("{}: {error}", path.display()));
                    break;
                }
            }
        }
        self.end_text()
    }

    /// The texts that follow are of this commit.
    pub(super) fn begin_commit(&mut self, commit: String) {
        self.commit = Some(commit);
    }

    /// The texts that follow are of this file.
    pub(super) fn begin_file(&mut self, path: PathBuf) {
        self.path = path;
        self.binary = None;
    }

    /// Begins a text: a whole file, or a part of it from this line on. It goes into `window`, as far as there is `room`.
    pub(super) fn begin_text(&mut self, line: usize) {
        self.window.clear();
        self.start = Position { line, column: 1 };
    }

    pub(super) fn window(&mut self) -> &mut Vec<u8> {
        &mut self.window
    }

    /// How much fits into the window; never nothing.
    pub(super) fn room(&mut self) -> Result<usize, Failure> {
        if self.window.len() >= WINDOW {
            self.work_off(false)?;
        }
        Ok(WINDOW - self.window.len())
    }

    pub(super) fn end_text(&mut self) -> Result<(), Failure> {
        self.work_off(true)
    }

    /// Looks at the window, and keeps of it what a secret may begin in that ends behind it.
    fn work_off(&mut self, last: bool) -> Result<(), Failure> {
        let beginning = self.window.get(..BINARY).unwrap_or(&self.window);
        let first = self.binary.is_none();
        if *self.binary.get_or_insert_with(|| beginning.contains(&0)) {
            self.window.clear();
            return Ok(());
        }
        self.totals.files += usize::from(first);
        self.progress.at(self.totals.files as u64, 0);
        let text = std::mem::take(&mut self.window);
        let found = find(&text, self.rules);
        let cut = if last { text.len() } else { cut(&text) };
        let mut done = cut;
        let mut here = Here { text: &text, found: &found, at: 0, position: self.start, lines: None };
        for secret in found.iter().take_while(|secret| secret.from < cut) {
            self.tell(&mut here, secret)?;
            done = done.max(secret.to);
        }
        if !last {
            here.advance(done);
            self.start = here.position;
        }
        self.totals.bytes += done as u64;
        self.window = text;
        self.window.drain(..done);
        Ok(())
    }

    fn tell(&mut self, here: &mut Here<'_>, secret: &Found) -> Result<(), Failure> {
        if here.lines_of(secret).excused {
            return Ok(());
        }
        let bytes = here.text.get(secret.from..secret.to).unwrap_or_default();
        if self.known.is_again(secret.pattern, &self.path, bytes) {
            return Ok(());
        }
        let text = here.shown(secret);
        let fingerprint = self.known.fingerprint(secret.pattern, &self.path, &text);
        if self.known.is_reported(&fingerprint) {
            return Ok(());
        }
        here.advance(secret.from);
        let from = here.position;
        here.advance(secret.to);
        self.totals.findings += 1;
        self.progress.clear();
        let finding = Finding {
            path: self.path.clone(),
            from,
            to: here.position,
            pattern: secret.pattern,
            about: secret.about,
            text,
            fingerprint,
            commit: self.commit.clone(),
        };
        self.report.finding(&finding).map_err(Failure::Output)
    }
}

/// Where a window that is not the last one is cut: at the beginning of a line if there is one near, since what stands
/// before a secret may be what tells it.
fn cut(text: &[u8]) -> usize {
    let near = text.len().saturating_sub(OVERLAP);
    let from = near.saturating_sub(OVERLAP);
    let line = text.get(from..near).and_then(|part| part.iter().rposition(|&byte| byte == b'\n'));
    line.map_or(near, |at| from + at + 1)
}

/// A window that is being reported of, from its beginning to its end.
struct Here<'h> {
    text: &'h [u8],
    found: &'h [Found],
    /// How far it is counted.
    at: usize,
    /// The place of `at`.
    position: Position,
    /// The lines of the last finding: a text may be one line with thousands of them.
    lines: Option<Lines>,
}

/// The lines that a secret stands on.
#[derive(Clone, Copy)]
struct Lines {
    from: usize,
    to: usize,
    excused: bool,
}

impl Here<'_> {
    /// Counts on to this place.
    fn advance(&mut self, to: usize) {
        let passed = self.text.get(self.at..to).unwrap_or_default();
        match passed.iter().rposition(|&byte| byte == b'\n') {
            Some(last) => {
                self.position.line += passed.iter().filter(|&&byte| byte == b'\n').count();
                self.position.column = characters(passed.get(last + 1..).unwrap_or_default()) + 1;
            }
            None => self.position.column += characters(passed),
        }
        self.at = to;
    }

    fn lines_of(&mut self, secret: &Found) -> Lines {
        if let Some(lines) = self.lines.filter(|lines| secret.to <= lines.to) {
            return lines;
        }
        let before = self.text.get(..secret.from).unwrap_or_default();
        let behind = self.text.get(secret.to..).unwrap_or_default();
        let from = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let to = secret.to + behind.iter().position(|&byte| byte == b'\n').unwrap_or(behind.len());
        let lines = self.text.get(from..to).unwrap_or_default();
        let excused = lines.windows(EXCUSE.len()).any(|part| part == EXCUSE);
        *self.lines.insert(Lines { from, to, excused })
    }

    /// The line of a secret as it may be shown: with a mark for everything in it that was found, whole or in part.
    fn shown(&mut self, secret: &Found) -> String {
        let lines = self.lines_of(secret);
        let from = lines.from.max(secret.from.saturating_sub(AROUND));
        let to = lines.to.min(secret.to.saturating_add(AROUND));
        let mut shown = Vec::new();
        let mut at = self.character_at(from);
        let first = self.found.partition_point(|other| other.to <= from);
        for other in self.found.iter().skip(first).take_while(|other| other.from < to) {
            shown.extend_from_slice(self.text.get(at..other.from).unwrap_or_default());
            shown.extend_from_slice(format!("[{} REDACTED]", other.mark).as_bytes());
            at = other.to;
        }
        shown.extend_from_slice(self.text.get(at..self.character_at(to)).unwrap_or_default());
        // Few rules may have been asked for; a line is shown by all of them.
        let all = Rules { emails: Emails::None, ..Rules::default() };
        let shown = scrub(&shown, &all, Marks::Plain).map_or(shown, |scrubbed| scrubbed.text);
        visible(String::from_utf8_lossy(&shown).trim())
    }

    /// The next place where a character begins.
    fn character_at(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        at + rest.iter().take(3).take_while(|&&byte| continues(byte)).count()
    }
}

fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| !continues(byte)).count()
}

/// Whether a byte is a later one of its character.
fn continues(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_counted_in_characters() {
        let text = "é\nab\ndé日x".as_bytes();
        let mut here =
            Here { text, found: &[], at: 0, position: Position { line: 1, column: 1 }, lines: None };
        here.advance(4);
        assert_eq!(here.position, Position { line: 2, column: 2 });
        here.advance(text.len());
        assert_eq!(here.position, Position { line: 3, column: 5 });
    }

    #[test]
    fn a_window_is_cut_after_a_nearby_line_end() {
        let mut text = vec![b'a'; 4 * OVERLAP];
        assert_eq!(cut(&text), 3 * OVERLAP, "there is none near");
        text[3 * OVERLAP - 7] = b'\n';
        assert_eq!(cut(&text), 3 * OVERLAP - 6);
        text[3 * OVERLAP - 7] = b'a';
        text[OVERLAP] = b'\n';
        assert_eq!(cut(&text), 3 * OVERLAP, "one far away would be looked at again and again");
    }
}
