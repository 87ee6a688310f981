//! A text that comes in pieces, of which only a window is kept.
//!
//! What is said is said line by line, as soon as it is certain: a line is held back only while it may belong to a key
//! whose end has not come. A text without line ends is held back by as much as the longest secret.

use memchr::memrchr;

use crate::scrub::write;
use crate::{Found, Marks, Rules, find, pem, scrub};

/// Whatever begins before this much of the end is seen whole.
const LOOKAHEAD: usize = pem::LONGEST + 8 * 1024;
/// What stands before a secret and says that it is one: its name, the word that it must not be the end of.
const CONTEXT: usize = 256;
/// Without a line end in it, a piece is not worth a look before there is this much more.
const WORTH: usize = 4 * 1024;

/// A text that comes in pieces.
pub struct Stream<'r> {
    rules: &'r Rules,
    marks: Marks<'r>,
    /// What has been said already and is only there to be looked back at, then what has not.
    held: Vec<u8>,
    said: usize,
    looked_at: usize,
    count: usize,
}

impl<'r> Stream<'r> {
    /// A stream from its beginning.
    pub fn new(rules: &'r Rules, marks: Marks<'r>) -> Stream<'r> {
        Stream { rules, marks, held: Vec::new(), said: 0, looked_at: 0, count: 0 }
    }

    /// Takes the next piece; what is certain by now goes to `out`.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        self.held.extend_from_slice(piece);
        if memrchr(b'\n', piece).is_none() && self.held.len() < self.looked_at + WORTH {
            return;
        }
        let found = self.found();
        let mut cut = self.certain();
        if let Some(across) = found.iter().find(|found| found.from < cut && found.to > cut) {
            cut = if self.held.len() - across.from > 2 * LOOKAHEAD { across.to } else { across.from };
        }
        self.say(cut, &found, out);
        self.looked_at = self.held.len();
    }

    /// Says what can be said when something has waited for a while, though the line has not ended: all but a last word, which may go on,
    /// and a private key that may. What is hidden later by what stood before it still is: the end of what was said is looked back at.
    pub fn pause(&mut self, out: &mut Vec<u8>) {
        let fresh = self.held.get(self.said..).unwrap_or_default();
        if fresh.is_empty() {
            return;
        }
        let word = fresh.iter().rev().take_while(|byte| !byte.is_ascii_whitespace()).count();
        let last = fresh.get(fresh.len() - word..).unwrap_or_default();
        // A row of dots is not a word that could become a secret.
        let goes_on = last.iter().any(|byte| byte.is_ascii_alphanumeric() || *byte == 0x1b);
        let mut cut = self.held.len() - if goes_on { word } else { 0 };
        if let Some(open) = pem::open_from(&self.held) {
            cut = cut.min(open.max(self.said));
        }
        // The lines of a key whose beginning has been cut off are told by its end.
        let open_line = memrchr(b'\n', fresh).map_or(0, |end| end + 1);
        let (lines, open_line) = fresh.split_at_checked(open_line).unwrap_or_default();
        if open_line.len() == word || pem::is_body(open_line) {
            let body: usize = lines
                .split_inclusive(|byte| *byte == b'\n')
                .rev()
                .take_while(|line| pem::is_body(line))
                .map(<[u8]>::len)
                .sum();
            if body > 0 || pem::is_body(open_line) {
                cut = cut.min(self.held.len() - open_line.len() - body);
            }
        }
        let found = self.found();
        if let Some(across) = found.iter().find(|found| found.from < cut && found.to > cut) {
            cut = across.from;
        }
        self.say(cut, &found, out);
        self.looked_at = self.held.len();
    }

    /// Whether something waits that has not been said.
    pub fn is_waiting(&self) -> bool {
        self.held.len() > self.said
    }

    /// Ends the stream. Says how many secrets were in it.
    pub fn finish(mut self, out: &mut Vec<u8>) -> usize {
        let found = self.found();
        self.say(self.held.len(), &found, out);
        self.count
    }

    fn found(&self) -> Vec<Found> {
        let mut found = find(&self.held, self.rules);
        // What begins in the part that has been said is hidden from there on.
        found.retain(|found| found.to > self.said);
        for found in &mut found {
            found.from = found.from.max(self.said);
        }
        found
    }

    /// Up to where nothing that comes can change what was found.
    fn certain(&self) -> usize {
        let fresh = self.held.get(self.said..).unwrap_or_default();
        let far = self.held.len().saturating_sub(LOOKAHEAD).max(self.said);
        let Some(line_end) = memrchr(b'\n', fresh) else { return far };
        let lines = fresh.get(..=line_end).unwrap_or_default();
        let mut certain = lines.len();
        if let Some(open) = pem::open_from(lines) {
            certain = lines.get(..open).and_then(|before| memrchr(b'\n', before)).map_or(0, |at| at + 1);
        }
        let certain_lines = lines.get(..certain).unwrap_or_default();
        for line in certain_lines.split_inclusive(|byte| *byte == b'\n').rev() {
            if !pem::is_body(line) {
                break;
            }
            certain -= line.len();
        }
        (self.said + certain).max(far)
    }

    fn say(&mut self, cut: usize, found: &[Found], out: &mut Vec<u8>) {
        let certain = found.partition_point(|found| found.to <= cut);
        let found = found.get(..certain).unwrap_or_default();
        self.count += found.len();
        if found.is_empty() {
            out.extend_from_slice(self.held.get(self.said..cut).unwrap_or_default());
        } else {
            let mut piece = Vec::new();
            write(&self.held, self.said, cut, found, self.marks, &mut piece);
            // As a whole text is: a mark may let something be seen that it stands before.
            if let Some(more) = scrub(&piece, self.rules, self.marks) {
                self.count += more.count;
                piece = more.text;
            }
            out.append(&mut piece);
        }
        let drop = cut.saturating_sub(CONTEXT);
        self.held.drain(..drop);
        self.said = cut - drop;
    }
}
