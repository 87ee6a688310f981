//! The cursor over the text and the limits that hold for all of it.

use std::borrow::Cow;

use crate::here::Pending;
use crate::{Part, Span, SyntaxError, Word};

/// Longer scripts are refused. Linux passes no argument longer than 128 KiB; the rest is room for standard input.
pub(crate) const MAX_TEXT: usize = 1 << 20;

/// Deeper nesting is refused. Real scripts nest ten levels; a thread's stack of 2 MiB holds these.
const MAX_DEPTH: u32 = 200;

/// How many bytes may be read a second time, beyond a few times the text. Only `$((` and `((` are ever read twice.
const MAX_REREAD: usize = 64 << 10;

pub(crate) type Result<T> = std::result::Result<T, SyntaxError>;

/// Ends a word: blanks, newline, `|&;()<>` and the end of the text.
pub(crate) const BREAK: u8 = 1;
/// Means something within a word: quotes, `$`, backtick, backslash.
const SPECIAL: u8 = 2;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut at = 0;
    let breaks = b"\0 \t\n|&;()<>";
    #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
    while at < breaks.len() {
        classes[breaks[at] as usize] = BREAK;
        at += 1;
    }
    at = 0;
    let special = b"'\"`$\\";
    #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
    while at < special.len() {
        classes[special[at] as usize] = SPECIAL;
        at += 1;
    }
    classes
};

/// What a byte means in a bare word.
pub(crate) fn class(byte: u8) -> u8 {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(0)
}

pub(crate) fn name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

pub(crate) fn name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Reads one text. After an error it is not used again.
pub(crate) struct Parser<'s> {
    pub(crate) text: &'s str,
    /// The text up to where may be read: in the body of a here-document, to its end.
    pub(crate) bytes: &'s [u8],
    pub(crate) at: usize,
    depth: u32,
    /// Here-documents whose bodies begin after the next newline.
    pub(crate) pending: Vec<Pending>,
    /// Bodies that were read; a redirection holds its number until they are put in their places.
    pub(crate) bodies: Vec<Word<'s>>,
    /// Within `$( )`, where bash also ends a here-document at a line that only begins with its delimiter.
    pub(crate) substituting: bool,
    /// Where `((` turned out to be two parentheses. Without it, reading nested ones would double at every level.
    not_arithmetic: Vec<usize>,
    reread: usize,
}

impl<'s> Parser<'s> {
    /// NUL cannot be part of an argument, so here it can stand for the end.
    pub(crate) fn new(text: &'s str) -> Result<Self> {
        let bytes = text.as_bytes();
        if bytes.len() > MAX_TEXT {
            return Err(SyntaxError { at: 0, what: "longer than 1 MiB" });
        }
        if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
            return Err(SyntaxError { at: span_at(at), what: "a NUL byte" });
        }
        Ok(Parser {
            text,
            bytes,
            at: 0,
            depth: 0,
            pending: Vec::new(),
            bodies: Vec::new(),
            substituting: false,
            not_arithmetic: Vec::new(),
            reread: bytes.len() * 4 + MAX_REREAD,
        })
    }

    /// The byte at a place, 0 after the last.
    pub(crate) fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// The first place from here on that is not a line continuation: bash takes those out before it looks.
    pub(crate) fn joined(&self, mut at: usize) -> usize {
        while self.byte(at) == b'\\' && self.byte(at + 1) == b'\n' {
            at += 2;
        }
        at
    }

    /// The next byte, past line continuations.
    pub(crate) fn peek(&mut self) -> u8 {
        self.at = self.joined(self.at);
        self.byte(self.at)
    }

    /// The byte after the next one.
    pub(crate) fn peek_second(&self) -> u8 {
        self.byte(self.joined(self.at + 1))
    }

    /// Takes the next byte if it is this one.
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == byte;
        self.at += usize::from(there);
        there
    }

    pub(crate) fn slice(&self, from: usize, to: usize) -> &'s str {
        self.text.get(from..to).unwrap_or_default()
    }

    pub(crate) fn raw(&self, from: usize, to: usize) -> &'s [u8] {
        self.bytes.get(from..to).unwrap_or_default()
    }

    /// The next place of a byte, as it stands.
    pub(crate) fn find(&self, byte: u8, from: usize) -> Option<usize> {
        Some(from + self.bytes.get(from..)?.iter().position(|&there| there == byte)?)
    }

    /// How many bytes the character at a place has.
    pub(crate) fn width(&self, at: usize) -> usize {
        match self.byte(at) {
            0xF0.. => 4,
            0xE0.. => 3,
            0xC0.. => 2,
            _ => 1,
        }
    }

    pub(crate) fn error<T>(&self, what: &'static str) -> Result<T> {
        Err(SyntaxError { at: span_at(self.at.min(self.bytes.len())), what })
    }

    /// One level down. There is no way up after an error, since reading ends there.
    pub(crate) fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { self.error("nested too deeply") } else { Ok(()) }
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Whether `((` at this place is known not to be arithmetic.
    pub(crate) fn known_parentheses(&self, at: usize) -> bool {
        self.not_arithmetic.binary_search(&at).is_ok()
    }

    /// Notes that `((` at this place is not arithmetic and goes back to be read again.
    pub(crate) fn note_parentheses(&mut self, at: usize, back_to: usize) -> Result<()> {
        if let Err(place) = self.not_arithmetic.binary_search(&at) {
            self.not_arithmetic.insert(place, at);
        }
        let again = self.at.saturating_sub(back_to);
        if again > self.reread {
            return self.error("too much that has to be read twice");
        }
        self.reread -= again;
        self.at = back_to;
        Ok(())
    }

    /// Blanks, line continuations, and a comment if one follows, to the end of the line.
    pub(crate) fn skip_blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\t') {
            self.at += 1;
        }
        // Only here, at the start of a token, does `#` begin a comment; and a backslash does not continue one.
        if self.byte(self.at) == b'#' {
            self.at = self.find(b'\n', self.at).unwrap_or(self.bytes.len());
        }
    }

    /// Blanks, comments and newlines; a newline is where the bodies of here-documents are read.
    pub(crate) fn skip_newlines(&mut self) -> Result<()> {
        self.skip_blanks();
        while self.byte(self.at) == b'\n' {
            self.newline()?;
            self.skip_blanks();
        }
        Ok(())
    }

    pub(crate) fn newline(&mut self) -> Result<()> {
        self.at += 1;
        if self.pending.is_empty() { Ok(()) } else { self.read_bodies() }
    }

    /// Whether brackets pair up when counted as bash counts them, without regard to what the text means.
    ///
    /// In some places bash finds an end by counting and only later reads what lies before it. Against a text that
    /// means one thing to the counter and another to the reader: `None` is "cannot tell", and the caller refuses.
    pub(crate) fn even(&self, from: usize, to: usize, open: u8, backticks: bool) -> Option<bool> {
        let close = if open == b'(' { b')' } else { b']' };
        let (mut at, mut level) = (from, 0usize);
        while at < to {
            let byte = self.byte(at);
            at += 1;
            match byte {
                b'\\' => at += 1,
                b'\'' => at = self.find(b'\'', at)? + 1,
                b'"' => at = self.after_double(at, 0)?,
                b'`' if backticks => at = self.after_backtick(at)?,
                _ if byte == open => level += 1,
                _ if byte == close => match level.checked_sub(1) {
                    Some(less) => level = less,
                    None => return Some(false),
                },
                _ => {}
            }
        }
        Some(level == 0 && at == to)
    }

    /// The place after the closing `"`.
    fn after_double(&self, mut at: usize, depth: u8) -> Option<usize> {
        loop {
            let byte = self.byte(at);
            at += 1;
            match byte {
                0 => return None,
                b'"' => return Some(at),
                b'\\' => at += 1,
                b'`' => at = self.after_backtick(at)?,
                b'$' if self.byte(at) == b'(' => at = self.after_parentheses(at + 1, depth)?,
                _ => {}
            }
        }
    }

    /// The place after the `)` that closes `$(`, only where counting and reading surely agree.
    fn after_parentheses(&self, mut at: usize, depth: u8) -> Option<usize> {
        if depth > 32 {
            return None;
        }
        let mut level = 1;
        loop {
            let byte = self.byte(at);
            at += 1;
            match byte {
                0 | b'#' => return None,
                b'\\' => at += 1,
                b'\'' => at = self.find(b'\'', at)? + 1,
                b'"' => at = self.after_double(at, depth + 1)?,
                b'`' => at = self.after_backtick(at)?,
                b'<' if self.byte(at) == b'<' => return None,
                b'e' if self.raw(at, at + 3) == b"sac" => return None,
                b'(' => level += 1,
                b')' if level == 1 => return Some(at),
                b')' => level -= 1,
                _ => {}
            }
        }
    }

    fn after_backtick(&self, mut at: usize) -> Option<usize> {
        loop {
            match self.byte(at) {
                0 => return None,
                b'`' => return Some(at + 1),
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
    }
}

pub(crate) fn span_at(at: usize) -> u32 {
    // No text is longer than MAX_TEXT.
    u32::try_from(at).unwrap_or(u32::MAX)
}

pub(crate) fn span(start: usize, end: usize) -> Span {
    Span { start: span_at(start), end: span_at(end) }
}

/// Adds bare text. Neighbours become one, so that `i\⏎f` is `if` here too.
pub(crate) fn push_bare<'s>(parts: &mut Vec<Part<'s>>, text: &'s str) {
    if text.is_empty() {
        return;
    }
    match parts.last_mut() {
        Some(Part::Bare(before)) => before.to_mut().push_str(text),
        _ => parts.push(Part::Bare(Cow::Borrowed(text))),
    }
}

pub(crate) fn push_quoted<'s>(parts: &mut Vec<Part<'s>>, text: &'s str) {
    if !text.is_empty() {
        parts.push(Part::Quoted(Cow::Borrowed(text)));
    }
}
