//! A text as somebody reads it who does not see its escapes, and the way back to where everything stood.
//!
//! The output of a tool is often text in text: coloured by a terminal, a string in JSON, percent codes of an address. A
//! secret is split or changed by that, and stays one.

use memchr::{memchr, memchr_iter, memchr2_iter};

use crate::Found;

/// A decoded text.
pub(crate) struct Lens {
    bytes: Vec<u8>,
    /// Where a piece begins, in the decoded text and in the raw one. Within a piece both go in step; an escape is a
    /// piece of its own.
    pieces: Vec<(usize, usize)>,
    raw_length: usize,
}

impl Lens {
    fn new(raw: &[u8]) -> Lens {
        Lens { bytes: Vec::with_capacity(raw.len()), pieces: Vec::new(), raw_length: raw.len() }
    }

    /// What stood there as it is.
    fn copy(&mut self, raw: &[u8], from: usize, to: usize) {
        if from < to {
            self.pieces.push((self.bytes.len(), from));
            self.bytes.extend_from_slice(raw.get(from..to).unwrap_or_default());
        }
    }

    /// What an escape at `from` stands for; nothing for one that is only seen.
    fn decoded(&mut self, from: usize, bytes: &[u8]) {
        self.pieces.push((self.bytes.len(), from));
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The same finding in the raw text.
    pub(crate) fn back(&self, found: Found) -> Found {
        Found { from: self.raw(found.from, false), to: self.raw(found.to, true), ..found }
    }

    /// Where a place of the decoded text stands in the raw one; `end` means behind what is before it.
    fn raw(&self, at: usize, end: bool) -> usize {
        let seen = if end { at.saturating_sub(1) } else { at };
        let piece = self.pieces.partition_point(|(decoded, _)| *decoded <= seen).saturating_sub(1);
        let Some((decoded, raw)) = self.pieces.get(piece).copied() else { return 0 };
        let (next, next_raw) =
            self.pieces.get(piece + 1).copied().unwrap_or((self.bytes.len(), self.raw_length));
        let in_step = next - decoded == next_raw - raw;
        match (in_step, end) {
            (true, _) => raw + (at - decoded),
            (false, false) => raw,
            (false, true) => next_raw,
        }
    }

    /// The text with something else, or nothing, in the place of a terminal's escapes; `None` where it has none.
    pub(crate) fn without_colours(raw: &[u8], instead: &[u8]) -> Option<Lens> {
        memchr(0x1b, raw)?;
        let mut lens = Lens::new(raw);
        let mut kept = 0;
        for at in memchr_iter(0x1b, raw) {
            if at < kept {
                continue;
            }
            let length = terminal_escape(raw.get(at..).unwrap_or_default());
            if length > 0 {
                lens.copy(raw, kept, at);
                lens.decoded(at, instead);
                kept = at + length;
            }
        }
        lens.copy(raw, kept, raw.len());
        Some(lens)
    }

    /// The text of a JSON string, its quotes left out; `None` where it has no escape.
    pub(crate) fn of_json(raw: &[u8]) -> Option<Lens> {
        memchr(b'\\', raw)?;
        let mut lens = Lens::new(raw);
        let (mut at, mut kept) = (0, 0);
        while let Some(found) = raw.get(at..).and_then(|rest| memchr(b'\\', rest)) {
            at += found;
            let rest = raw.get(at + 1..).unwrap_or_default();
            let simple = |byte: u8| (vec![byte], 2);
            let (bytes, length) = match rest.first() {
                Some(b'n') => simple(b'\n'),
                Some(b't') => simple(b'\t'),
                Some(b'r') => simple(b'\r'),
                Some(b'b') => simple(8),
                Some(b'f') => simple(12),
                Some(b'u') => unicode(rest).unwrap_or_else(|| (vec![b'\\'], 1)),
                Some(byte) => simple(*byte),
                None => (vec![b'\\'], 1),
            };
            lens.copy(raw, kept, at);
            lens.decoded(at, &bytes);
            at += length;
            kept = at;
        }
        lens.copy(raw, kept, raw.len());
        Some(lens)
    }
}

/// The character of `u0041`, or of two such that belong together; how long they are with all backslashes.
fn unicode(rest: &[u8]) -> Option<(Vec<u8>, usize)> {
    let four = |at: usize| -> Option<u32> {
        let digits = std::str::from_utf8(rest.get(at..at + 4)?).ok()?;
        u32::from_str_radix(digits, 16).ok()
    };
    let first = four(1)?;
    let (code, length) = match first {
        0xd800..=0xdbff if rest.get(5..7) == Some(b"\\u") => {
            let second = four(7)?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
            (0x10000 + ((first - 0xd800) << 10) + second, 12)
        }
        code => (code, 6),
    };
    // Half a character is none that a secret could have.
    let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    Some((character.to_string().into_bytes(), length))
}

/// How long the escape is that begins here; nothing where none does. What an escape carries for people to read, as the
/// title of a window, is no part of it.
fn terminal_escape(rest: &[u8]) -> usize {
    const LONGEST: usize = 64;
    let near = rest.get(..rest.len().min(LONGEST)).unwrap_or_default();
    match near.get(1) {
        Some(b'[') => {
            let body = near.get(2..).unwrap_or_default();
            let parameters = body.iter().take_while(|byte| matches!(byte, 0x30..=0x3f)).count();
            let between = body.iter().skip(parameters).take_while(|byte| matches!(byte, 0x20..=0x2f)).count();
            match body.get(parameters + between) {
                Some(0x40..=0x7e) => 3 + parameters + between,
                _ => 0,
            }
        }
        Some(b'(' | b')') if near.len() > 2 => 3,
        Some(0x40..=0x5a | 0x5c..=0x5f) => 2,
        _ => 0,
    }
}

/// The parts of a text that hold percent codes or `\u0041`, `\x41`, `\/`, colours written as `\e[1m`: where each begins, and
/// how it reads.
pub(crate) fn escaped_parts(text: &[u8]) -> Vec<(usize, Lens)> {
    let mut parts = Vec::new();
    let mut done = 0;
    for at in memchr_iter(b'%', text) {
        let code = |at: usize| matches!(text.get(at + 1..at + 3), Some([high, low]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit());
        if at >= done && code(at) {
            let (from, to) = word_around(text, at, done);
            parts.push((from, percent(text.get(from..to).unwrap_or_default())));
            done = to;
        }
    }
    let mut done = 0;
    for at in memchr_iter(b'\\', text) {
        if at >= done && backslash(text.get(at + 1..).unwrap_or_default()).is_some() {
            let (from, to) = word_around(text, at, done);
            parts.push((from, backslashes(text.get(from..to).unwrap_or_default())));
            done = to;
        }
    }
    parts
}

/// What stands around without a blank or a quote between; not before `least`.
fn word_around(text: &[u8], at: usize, least: usize) -> (usize, usize) {
    const LONGEST: usize = 4096;
    let inside = |byte: &&u8| !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`');
    let before =
        text.get(least..at).unwrap_or_default().iter().rev().take(LONGEST).take_while(inside).count();
    let behind = text.get(at..).unwrap_or_default().iter().take(LONGEST).take_while(inside).count();
    (at - before, at + behind.max(1))
}

fn percent(raw: &[u8]) -> Lens {
    let mut lens = Lens::new(raw);
    let mut kept = 0;
    // In a form a plus is a blank; elsewhere it is itself, and a token may hold one.
    let is_form = memchr::memmem::find(raw, b"PRIVATE+KEY").is_some();
    for at in memchr2_iter(b'%', b'+', raw) {
        let found = match raw.get(at) {
            Some(b'+') => is_form.then_some((b' ', 1)),
            _ => hex(raw, at + 1).map(|byte| (byte, 3)),
        };
        if at >= kept
            && let Some((byte, length)) = found
        {
            lens.copy(raw, kept, at);
            lens.decoded(at, &[byte]);
            kept = at + length;
        }
    }
    lens.copy(raw, kept, raw.len());
    lens
}

fn backslashes(raw: &[u8]) -> Lens {
    let mut lens = Lens::new(raw);
    let mut kept = 0;
    for at in memchr_iter(b'\\', raw) {
        if at < kept {
            continue;
        }
        if let Some((bytes, length)) = backslash(raw.get(at + 1..).unwrap_or_default()) {
            lens.copy(raw, kept, at);
            kept = at + length;
            if bytes == [0x1b] {
                // A colour, as a terminal would take it from here on: text in text keeps its colours.
                lens.decoded(at, &[]);
                kept += terminal_escape(raw.get(kept - 1..).unwrap_or_default()).saturating_sub(1);
            } else {
                lens.decoded(at, &bytes);
            }
        }
    }
    lens.copy(raw, kept, raw.len());
    lens
}

/// What a backslash and what follows it stand for; how long both are.
fn backslash(rest: &[u8]) -> Option<(Vec<u8>, usize)> {
    match rest {
        [b'u', ..] => unicode(rest),
        [b'x', ..] => hex(rest, 1).map(|byte| (vec![byte], 4)),
        [b'/', ..] => Some((vec![b'/'], 2)),
        [b'e', b'[', ..] => Some((vec![0x1b], 2)),
        [b'0', b'3', b'3', b'[', ..] => Some((vec![0x1b], 4)),
        _ => None,
    }
}

/// The byte that two hexadecimal digits stand for.
fn hex(raw: &[u8], at: usize) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let [high, low] = *raw.get(at..at + 2)? else { return None };
    Some(digit(high)? * 16 + digit(low)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_unescaped_json_lead_back_to_the_original() {
        let raw = br"ab\ncd\u0041ef\ud83d\ude00g\q";
        let lens = Lens::of_json(raw).unwrap();
        assert_eq!(lens.bytes(), "ab\ncdAef\u{1f600}gq".as_bytes());
        assert_eq!((lens.raw(0, false), lens.raw(2, true)), (0, 2));
        assert_eq!((lens.raw(2, false), lens.raw(3, true)), (2, 4), "the line end");
        assert_eq!((lens.raw(3, false), lens.raw(6, true)), (4, 12), "cdA");
        assert_eq!(lens.raw(lens.bytes().len(), true), raw.len());
    }

    #[test]
    fn escaped_colour_codes_are_removed() {
        for raw in
            [r"\u001b[1;32mab\u001b[0m", r"\x1b[1;32mab\x1b[0m", r"\033[1;32mab\033[0m", r"\e[1;32mab\e[0m"]
        {
            let [(0, lens)] = &*escaped_parts(raw.as_bytes()) else { panic!("{raw}") };
            assert_eq!(lens.bytes(), b"ab");
            assert_eq!(raw.get(lens.raw(0, false)..lens.raw(2, true)), Some("ab"));
        }
        assert!(escaped_parts(br"\end{x} \0 \n").is_empty());
        assert_eq!(backslashes(br"\x1b").bytes(), b"");
    }

    #[test]
    fn a_plus_is_a_blank_in_a_percent_encoded_key() {
        assert_eq!(percent(b"BEGIN+PRIVATE+KEY%2B%0A").bytes(), b"BEGIN PRIVATE KEY+\n");
        assert_eq!(percent(b"a+b%2B").bytes(), b"a+b+");
    }

    #[test]
    fn colour_codes_are_removed() {
        let raw = b"a\x1b[1;32mb\x1b[0mc\x1b]0;title\x07d\x1b(Be";
        let lens = Lens::without_colours(raw, b"").unwrap();
        assert_eq!(lens.bytes(), b"abc0;title\x07de");
        assert_eq!((lens.raw(1, false), lens.raw(2, true)), (8, 9));
        assert!(Lens::without_colours(b"abc", b"").is_none());
    }
}
