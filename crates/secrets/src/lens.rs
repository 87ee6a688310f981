//! A text as somebody reads it who does not see its escapes, and the way back to where everything stood.
//!
//! The output of a tool is often text in text: coloured by a terminal, a string in JSON, percent codes of an address. A
//! secret is split or changed by that, and stays one.

use memchr::{memchr, memchr_iter, memchr2, memchr2_iter};

use crate::Found;

/// A decoded text.
pub(crate) struct Lens {
    bytes: Vec<u8>,
    /// Between two of these both texts go in step.
    escapes: Vec<Escape>,
}

/// An escape, or several of the same kind without anything between: where it stands in the decoded text and in the raw one, and how long it is in each. As small as can be, since a log
/// has one in every line. No text that is looked through at once is longer than what fits: events, the window of a stream and the
/// files that are scanned are bounded far below.
struct Escape {
    decoded: u32,
    raw: u32,
    decoded_length: u16,
    raw_length: u16,
    times: u32,
}

impl Escape {
    fn decoded_from(&self) -> usize {
        self.decoded as usize
    }

    fn decoded_to(&self) -> usize {
        self.decoded_from() + usize::from(self.decoded_length) * self.times as usize
    }

    fn raw_from(&self) -> usize {
        self.raw as usize
    }

    fn raw_to(&self) -> usize {
        self.raw_from() + usize::from(self.raw_length) * self.times as usize
    }
}

impl Lens {
    fn new(raw: &[u8]) -> Lens {
        Lens { bytes: Vec::with_capacity(raw.len()), escapes: Vec::new() }
    }

    /// What stood there as it is.
    fn copy(&mut self, raw: &[u8], from: usize, to: usize) {
        self.bytes.extend_from_slice(raw.get(from..to).unwrap_or_default());
    }

    /// What an escape of this length at `from` stands for; nothing for one that is only seen.
    fn decoded(&mut self, from: usize, length: usize, bytes: &[u8]) {
        let (decoded_length, raw_length) =
            (u16::try_from(bytes.len()).unwrap_or(u16::MAX), u16::try_from(length).unwrap_or(u16::MAX));
        // A text that is nothing but line ends or quotes has one of them.
        match self.escapes.last_mut() {
            Some(last)
                if last.raw_to() == from
                    && last.decoded_to() == self.bytes.len()
                    && (last.decoded_length, last.raw_length) == (decoded_length, raw_length) =>
            {
                last.times += 1;
            }
            _ => self.escapes.push(Escape {
                decoded: u32::try_from(self.bytes.len()).unwrap_or(u32::MAX),
                raw: u32::try_from(from).unwrap_or(u32::MAX),
                decoded_length,
                raw_length,
                times: 1,
            }),
        }
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
        let before = self.escapes.partition_point(|escape| escape.decoded_from() <= seen);
        let Some(escape) = before.checked_sub(1).and_then(|last| self.escapes.get(last)) else { return at };
        let in_step = escape.decoded_length == escape.raw_length;
        if in_step || seen >= escape.decoded_to() {
            return escape.raw_to() + at - escape.decoded_to();
        }
        let number = (seen - escape.decoded_from()).checked_div(escape.decoded_length.into()).unwrap_or(0);
        escape.raw_from() + usize::from(escape.raw_length) * (number + usize::from(end))
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
                lens.decoded(at, length, instead);
                kept = at + length;
            }
        }
        lens.copy(raw, kept, raw.len());
        Some(lens)
    }
}

/// Where the next quote or backslash of a text stands, as those end or go on in JSON. In code and logs that is a few words away, where a search that is made for long texts costs more to
/// begin than it wins; so the first bytes are looked at eight at a time.
pub fn quote_or_escape(text: &[u8]) -> Option<usize> {
    const NEAR: usize = 64;
    const ONES: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    // The lowest bit that is set stands in the first byte that is zero; above it there may be others.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let near = text.get(..NEAR).unwrap_or(text);
    let (eights, rest) = near.as_chunks::<8>();
    for (number, eight) in eights.iter().enumerate() {
        let word = u64::from_le_bytes(*eight);
        let found = zeros(word ^ (ONES * u64::from(b'"'))) | zeros(word ^ (ONES * u64::from(b'\\')));
        if found != 0 {
            return Some(8 * number + found.trailing_zeros() as usize / 8);
        }
    }
    match text.get(NEAR..) {
        Some(far) => memchr2(b'"', b'\\', far).map(|at| NEAR + at),
        None => {
            let at = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
            Some(near.len() - rest.len() + at)
        }
    }
}

/// The character of `u0041`, or of two such that belong together; how long they are with all backslashes.
pub(crate) fn unicode(rest: &[u8]) -> Option<(Vec<u8>, usize)> {
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
/// title of a window, is not part of it.
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
pub(crate) fn escaped_parts(text: &[u8], part: &mut impl FnMut(usize, &Lens)) {
    let mut done = 0;
    for at in memchr_iter(b'%', text) {
        let code = |at: usize| matches!(text.get(at + 1..at + 3), Some([high, low]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit());
        if at >= done && code(at) {
            let (from, to) = word_around(text, at, done);
            part(from, &percent(text.get(from..to).unwrap_or_default()));
            done = to;
        }
    }
    let mut done = 0;
    for at in memchr_iter(b'\\', text) {
        if at >= done && backslash(text.get(at + 1..).unwrap_or_default()).is_some() {
            let (from, to) = word_around(text, at, done);
            part(from, &backslashes(text.get(from..to).unwrap_or_default()));
            done = to;
        }
    }
}

/// The parts of a text in which a NUL stands behind each character, as in UTF-16: where each begins, and how it reads. Characters beyond
/// ASCII end a part; no secret has one.
pub(crate) fn wide_parts(text: &[u8], part: &mut impl FnMut(usize, &Lens)) {
    const SHORTEST: usize = 16;
    let mut done = 0;
    for nul in memchr_iter(0, text) {
        let Some(from) = nul.checked_sub(1).filter(|from| *from >= done) else { continue };
        let rest = text.get(from..).unwrap_or_default();
        let is_wide = |pair: &&[u8; 2]| pair[0] != 0 && pair[0].is_ascii() && pair[1] == 0;
        let (pairs, _) = rest.as_chunks::<2>();
        let length = pairs.iter().take_while(is_wide).count();
        done = from + 2 * length;
        if length >= SHORTEST {
            // Where the NUL stands before its character, the last one has none behind it.
            let last = text.get(done).is_some_and(|byte| *byte != 0 && byte.is_ascii());
            let raw = text.get(from..done + usize::from(last)).unwrap_or_default();
            part(from, &narrow(raw));
        }
    }
}

fn narrow(raw: &[u8]) -> Lens {
    let mut lens = Lens::new(raw);
    for (number, pair) in raw.chunks(2).enumerate() {
        lens.bytes.extend(pair.first());
        lens.decoded(2 * number + 1, pair.len() - 1, b"");
    }
    lens
}

/// Whether this is a piece of such a part: a NUL behind each character but the last.
pub(crate) fn is_wide(text: &[u8]) -> bool {
    let (pairs, last) = text.as_chunks::<2>();
    !pairs.is_empty() && last.len() == 1 && pairs.iter().all(|pair| pair[0] != 0 && pair[1] == 0)
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
            lens.decoded(at, length, &[byte]);
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
                kept += terminal_escape(raw.get(kept - 1..).unwrap_or_default()).saturating_sub(1);
                lens.decoded(at, kept - at, &[]);
            } else {
                lens.decoded(at, length, &bytes);
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
    fn the_next_quote_or_escape_is_found_wherever_it_stands() {
        for length in 0..150 {
            // Bytes that differ from the ones that are sought in their lowest or highest bit.
            let mut text: Vec<u8> = b"x!#[]\xa2\xdc\x00".iter().copied().cycle().take(length).collect();
            assert_eq!(quote_or_escape(&text), None, "{length}");
            for at in (0..length).rev() {
                text[at] = if at % 2 == 0 { b'"' } else { b'\\' };
                assert_eq!(quote_or_escape(&text), Some(at), "{length}");
            }
        }
    }

    #[test]
    fn escaped_colour_codes_are_removed() {
        for raw in
            [r"\u001b[1;32mab\u001b[0m", r"\x1b[1;32mab\x1b[0m", r"\033[1;32mab\033[0m", r"\e[1;32mab\e[0m"]
        {
            let mut parts = 0;
            escaped_parts(raw.as_bytes(), &mut |from, lens| {
                parts += 1;
                assert_eq!((from, lens.bytes()), (0, &b"ab"[..]));
                assert_eq!(raw.get(lens.raw(0, false)..lens.raw(2, true)), Some("ab"));
            });
            assert_eq!(parts, 1, "{raw}");
        }
        escaped_parts(br"\end{x} \0 \n", &mut |_, _| panic!("there is none"));
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
