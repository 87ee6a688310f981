//! A string of JSON as it reads, and the way back to where everything stood.
//!
//! Most of an output is one long string with an escape or more in every line. So it is decoded sixteen bytes at a time, and nothing is
//! noted of its escapes but a place now and then: where a secret was found, the few escapes from the place before it are read again.

use memchr::memchr;

use crate::Found;
use crate::lens::{quote_or_escape, unicode};

/// The text of a string. Its memory serves for the next one.
#[derive(Default)]
pub(crate) struct JsonString {
    bytes: Vec<u8>,
    /// Places in the text, each with the same place in the string, in order. No event is longer than what fits.
    places: Vec<(u32, u32)>,
}

/// A place is noted about every so many bytes.
const NOTED: usize = 4096;
const BLOCK: usize = 16;

impl JsonString {
    /// Reads the string that begins here, behind its quote. Returns how long it is, and whether it has an escape: only then there is a text
    /// here that differs from it.
    pub(crate) fn read(&mut self, raw: &[u8]) -> (usize, bool) {
        let Some(first) = quote_or_escape(raw) else { return (raw.len(), false) };
        if raw.get(first) == Some(&b'"') {
            return (first, false);
        }
        self.bytes.clear();
        self.places.clear();
        self.bytes.extend_from_slice(raw.get(..first).unwrap_or_default());
        let (mut at, mut next) = (first, NOTED);
        while raw.get(at) == Some(&b'\\') {
            if self.bytes.len() >= next {
                let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
                self.places.push((place(self.bytes.len()), place(at)));
                next = self.bytes.len() + NOTED;
            }
            let rest = raw.get(at + 1..).unwrap_or_default();
            let (decoded, length) = escape(rest);
            self.bytes.extend_from_slice(decoded.bytes());
            at = self.plain(raw, at + length);
        }
        (at, true)
    }

    /// Takes over what stands from here up to the next quote or escape, and returns where that is.
    fn plain(&mut self, raw: &[u8], mut at: usize) -> usize {
        while let Some(block) = raw.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
            self.bytes.extend_from_slice(block);
            let plain = plain_bytes(block);
            at += plain;
            if plain < BLOCK {
                self.bytes.truncate(self.bytes.len() - (BLOCK - plain));
                return at;
            }
        }
        let rest = raw.get(at..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\')).count();
        self.bytes.extend_from_slice(rest.get(..length).unwrap_or_default());
        at + length
    }

    /// How it reads.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The same finding in the string, of which `raw` is the beginning.
    pub(crate) fn back(&self, raw: &[u8], found: Found) -> Found {
        Found { from: self.raw(raw, found.from, false), to: self.raw(raw, found.to, true), ..found }
    }

    /// Where a place of the text stands in the string; `end` means behind what is before it.
    fn raw(&self, raw: &[u8], at: usize, end: bool) -> usize {
        let seen = if end { at.saturating_sub(1) } else { at };
        let before = self.places.partition_point(|(text, _)| *text as usize <= seen);
        let (mut text, mut at) = before
            .checked_sub(1)
            .and_then(|last| self.places.get(last))
            .map_or((0, 0), |(text, at)| (*text as usize, *at as usize));
        while let Some(rest) = raw.get(at..).filter(|rest| !rest.is_empty()) {
            let plain = memchr(b'\\', rest).unwrap_or(rest.len());
            if seen < text + plain {
                return at + seen - text + usize::from(end);
            }
            (text, at) = (text + plain, at + plain);
            let Some(rest) = raw.get(at + 1..) else { break };
            let (decoded, length) = escape(rest);
            text += decoded.bytes().len();
            if seen < text {
                return if end { at + length } else { at };
            }
            at += length;
        }
        at
    }
}

/// The bytes of a character.
enum Decoded {
    Byte([u8; 1]),
    Character([u8; 4], usize),
}

impl Decoded {
    fn bytes(&self) -> &[u8] {
        match self {
            Decoded::Byte(byte) => byte,
            Decoded::Character(bytes, length) => bytes.get(..*length).unwrap_or_default(),
        }
    }
}

/// What a backslash and what stands behind it are, and how long both are.
fn escape(rest: &[u8]) -> (Decoded, usize) {
    let simple = match rest.first() {
        Some(b'n') => b'\n',
        Some(b't') => b'\t',
        Some(b'r') => b'\r',
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(b'u') => {
            return match unicode(rest) {
                Some((bytes, length)) => {
                    let mut character = [0; 4];
                    character.iter_mut().zip(&bytes).for_each(|(to, from)| *to = *from);
                    (Decoded::Character(character, bytes.len()), length)
                }
                None => (Decoded::Byte([b'\\']), 1),
            };
        }
        Some(byte) => *byte,
        None => return (Decoded::Byte([b'\\']), 1),
    };
    (Decoded::Byte([simple]), 2)
}

/// How many bytes stand before the first quote or backslash.
fn plain_bytes(block: &[u8; BLOCK]) -> usize {
    const ONES: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let found = |word: u64| zeros(word ^ (ONES * u64::from(b'"'))) | zeros(word ^ (ONES * u64::from(b'\\')));
    let (eights, _) = block.as_chunks::<8>();
    let mut plain = 0;
    for eight in eights {
        // The lowest bit that is set stands in the first byte that is zero; above it there may be others.
        let found = found(u64::from_le_bytes(*eight));
        if found != 0 {
            return plain + found.trailing_zeros() as usize / 8;
        }
        plain += 8;
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_a_string_lead_back_to_the_original() {
        let mut string = JsonString::default();
        let raw = br"ab\ncd\u0041ef\ud83d\ude00g\q";
        assert_eq!(string.read(raw), (raw.len(), true));
        assert_eq!(string.bytes(), "ab\ncdAef\u{1f600}gq".as_bytes());
        assert_eq!((string.raw(raw, 0, false), string.raw(raw, 2, true)), (0, 2));
        assert_eq!((string.raw(raw, 2, false), string.raw(raw, 3, true)), (2, 4), "the line end");
        assert_eq!((string.raw(raw, 3, false), string.raw(raw, 6, true)), (4, 12), "cdA");
        assert_eq!(string.raw(raw, string.bytes().len(), true), raw.len());
        let raw = br"a\n\n\n\u0041\u0042c";
        string.read(raw);
        let places: Vec<_> =
            (0..7).map(|at| (string.raw(raw, at, false), string.raw(raw, at + 1, true))).collect();
        assert_eq!(places, [(0, 1), (1, 3), (3, 5), (5, 7), (7, 13), (13, 19), (19, 20)]);
    }

    #[test]
    fn every_place_of_a_long_string_leads_back() {
        let pieces = [
            "a",
            "word and more",
            "\\n",
            "\\\"",
            "\\\\",
            "\\u0041",
            "\\u00e9",
            "\\ud83d\\ude00",
            "\u{e9}",
            "{x: [1]}",
        ];
        let mut state = 7_u32;
        let mut raw = String::new();
        while raw.len() < 5 * NOTED {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            raw.push_str(pieces[(state >> 24) as usize % pieces.len()]);
        }
        let mut string = JsonString::default();
        let (length, escaped) = string.read(format!("{raw}\", \"").as_bytes());
        assert_eq!((length, escaped), (raw.len(), true));
        let text: String = serde_json::from_str(&format!("\"{raw}\"")).unwrap();
        assert_eq!(string.bytes(), text.as_bytes());
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        for pair in ends.windows(2) {
            let (from, to) =
                (string.raw(raw.as_bytes(), pair[0], false), string.raw(raw.as_bytes(), pair[1], true));
            let back: String = serde_json::from_str(&format!("\"{}\"", raw.get(from..to).unwrap())).unwrap();
            assert_eq!(Some(back.as_str()), text.get(pair[0]..pair[1]));
        }
    }

    #[test]
    fn a_string_ends_at_its_quote() {
        let mut string = JsonString::default();
        for (raw, length, text) in [
            (r#"ab","c""#, 2, None),
            (r#"a\"b","c""#, 4, Some("a\"b")),
            (r#"a\\","c""#, 3, Some("a\\")),
            (r#"a\u","c""#, 3, Some("a\\u")),
            (r#"a\u00","c""#, 5, Some("a\\u00")),
            (r#"\ud83d\u"de00""#, 8, Some("\\ud83d\\u")),
            (r"ab\", 3, Some("ab\\")),
            (r"ab", 2, None),
            ("", 0, None),
        ] {
            let (found, escaped) = string.read(raw.as_bytes());
            let decoded = escaped.then(|| String::from_utf8_lossy(string.bytes()).into_owned());
            assert_eq!((found, decoded.as_deref()), (length, text), "{raw}");
        }
    }

    #[test]
    fn bytes_before_a_quote_are_counted_wherever_it_stands() {
        let block: [u8; BLOCK] = *b"x!#[]\xa2\xdc\x00x!#[]\xa2\xdc\x00";
        assert_eq!(plain_bytes(&block), BLOCK);
        for at in 0..BLOCK {
            for byte in [b'"', b'\\'] {
                let mut block = block;
                block[at] = byte;
                assert_eq!(plain_bytes(&block), at);
            }
        }
    }
}
