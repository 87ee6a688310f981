//! Values that are known to be secret, wherever they appear: what was found once in a text is hidden in all of it, and what
//! somebody else knows to be secret ([`KnownValues`]) too, as it is and as it is commonly written otherwise.

use std::collections::BTreeMap;

use crate::Marks;
use crate::find::Found;
use crate::forms::Form;
use crate::names::{Telling, telling};
use crate::scrub::{Scrubbed, write};
use crate::values::{is_literal, is_reference, is_telling_by_itself};

/// Shorter values stand in texts by chance.
pub(crate) const SHORTEST: usize = 8;
/// By so many bytes a value is found.
const HEAD: usize = 5;
/// Only every so many bytes of a text are looked at. One of the first heads of a value begins there, wherever the value stands.
const STRIDE: usize = 4;
/// More different values than this are not remembered of one text.
const MOST: usize = 4096;

/// Heads of values, as a table that says of most places of a text at once that none stands there.
pub struct Heads {
    seen: Box<[u64; 1024]>,
}

impl Default for Heads {
    fn default() -> Heads {
        Heads { seen: Box::new([0; 1024]) }
    }
}

/// How many heads of a value are looked for.
pub const HEADS: usize = STRIDE;

impl Heads {
    /// What the heads of a value are told by, in two bytes each; `None` where it is too short.
    pub fn of(value: &[u8]) -> Option<[u16; HEADS]> {
        let first = value.first_chunk::<SHORTEST>()?;
        Some([0, 1, 2, 3].map(|offset| slot(number_at(*first, offset))))
    }

    /// Has these be looked for.
    pub fn add(&mut self, heads: [u16; HEADS]) {
        for slot in heads {
            self.add_slot(slot);
        }
    }

    fn add_slot(&mut self, slot: u16) {
        if let Some(word) = self.seen.get_mut(usize::from(slot >> 6)) {
            *word |= 1 << (slot & 63);
        }
    }

    /// Tells of every place where one of them may stand, in order. Of each value one is visited, wherever that stands.
    pub fn each(&self, text: &[u8], mut visit: impl FnMut(usize)) {
        self.each_number(text, |at, _| visit(at));
    }

    fn each_number(&self, text: &[u8], mut visit: impl FnMut(usize, u64)) {
        let mut at = 0;
        while let Some((found, number)) = self.next(text, at) {
            visit(found, number);
            at = found + STRIDE;
        }
    }

    /// The next place from `at` on, which is a multiple of the stride. A function of its own: whoever is told may be compiled to be small.
    #[inline(never)]
    fn next(&self, text: &[u8], mut at: usize) -> Option<(usize, u64)> {
        let is_seen = |number: u64| {
            let slot = slot(number);
            self.seen.get(usize::from(slot >> 6)).is_some_and(|word| word >> (slot & 63) & 1 != 0)
        };
        for window in text.get(at..)?.windows(SHORTEST).step_by(STRIDE) {
            let number = number_at(*window.first_chunk()?, 0);
            if is_seen(number) {
                return Some((at, number));
            }
            at += STRIDE;
        }
        // What is not there reads as zeros.
        while at < text.len() {
            let mut padded = [0; SHORTEST];
            padded.iter_mut().zip(text.get(at..).unwrap_or_default()).for_each(|(to, from)| *to = *from);
            let number = number_at(padded, 0);
            if is_seen(number) {
                return Some((at, number));
            }
            at += STRIDE;
        }
        None
    }
}

/// Values, and their heads.
pub(crate) struct Known<'t, T> {
    heads: Heads,
    /// By each of its first heads: how far from its beginning that stands, and the value.
    values: BTreeMap<u64, Vec<Head<'t, T>>>,
    count: usize,
}

#[derive(Clone, Copy)]
struct Head<'t, T> {
    offset: usize,
    value: &'t [u8],
    what: T,
}

/// The head at this place of eight bytes, as a number.
#[inline]
fn number_at(bytes: [u8; SHORTEST], offset: usize) -> u64 {
    (u64::from_le_bytes(bytes) >> (8 * offset)) & ((1 << (8 * HEAD)) - 1)
}

#[inline]
fn slot(number: u64) -> u16 {
    let [.., first, second] = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
    u16::from_le_bytes([first, second])
}

impl<'t, T: Copy> Known<'t, T> {
    pub(crate) fn new() -> Known<'t, T> {
        Known { heads: Heads::default(), values: BTreeMap::new(), count: 0 }
    }

    /// Remembers a value.
    pub(crate) fn add(&mut self, value: &'t [u8], what: T) {
        /// More values with the same bytes in the same place would have to be compared one by one.
        const ALIKE: usize = 64;
        let Some(first) = value.first_chunk::<SHORTEST>().filter(|_| self.count < MOST) else { return };
        let heads = [0, 1, 2, 3].map(|offset| (offset, number_at(*first, offset)));
        let alike = |number: u64| self.values.get(&number).map(Vec::as_slice).unwrap_or_default();
        let is_known = |(offset, number): (usize, u64)| {
            alike(number).iter().any(|known| known.offset == offset && known.value == value)
        };
        if heads.iter().any(|(_, number)| alike(*number).len() >= ALIKE)
            || heads.first().copied().is_some_and(is_known)
        {
            return;
        }
        for (offset, number) in heads {
            self.heads.add_slot(slot(number));
            let heads = self.values.entry(number).or_default();
            // What begins earlier is visited first.
            let place = heads.partition_point(|known| known.offset >= offset);
            heads.insert(place, Head { offset, value, what });
        }
        self.count += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Tells of every place where a known value stands as a whole word, in order.
    pub(crate) fn each(&self, text: &[u8], mut visit: impl FnMut(usize, usize, T)) {
        let mut done = 0;
        self.heads.each_number(text, |at, number| self.resolve(text, at, number, &mut done, &mut visit));
    }

    #[cold]
    fn resolve(
        &self,
        text: &[u8],
        at: usize,
        number: u64,
        done: &mut usize,
        visit: &mut impl FnMut(usize, usize, T),
    ) {
        let is_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        for head in self.values.get(&number).map(Vec::as_slice).unwrap_or_default() {
            let Some(from) = at.checked_sub(head.offset).filter(|from| *from >= *done) else { continue };
            let rest = text.get(from..).unwrap_or_default();
            let apart = !is_word(from.checked_sub(1).and_then(|before| text.get(before)))
                && !is_word(rest.get(head.value.len()));
            if rest.starts_with(head.value) && apart {
                *done = from + head.value.len();
                visit(from, *done, head.what);
            }
        }
    }
}

/// The word of which a head stands at this place, if it is as long as a secret: letters, digits and the signs that tokens have.
pub fn word_headed(text: &[u8], at: usize) -> Option<(usize, usize)> {
    const LONGEST: usize = 512;
    const LONGEST_NAME: usize = 40;
    let is_inside = |byte: &&u8| IN_WORDS.get(usize::from(**byte)).copied().unwrap_or_default();
    // Most places that look like a head stand in the middle of a word, which may be long.
    let begins = |at: usize| text.get(at).is_none_or(|before| *before == b'=' || !is_inside(&before));
    if !(0..HEADS).any(|offset| at == offset || at.checked_sub(offset + 1).is_some_and(begins)) {
        return None;
    }
    let before = text.get(..at)?.iter().rev().take(LONGEST_NAME + LONGEST + 1).take_while(is_inside).count();
    let behind = text.get(at..)?.iter().take(LONGEST_NAME + LONGEST + 1).take_while(is_inside).count();
    let (from, to) = (at - before, at + behind);
    let word = text.get(from..to)?;
    // What ends a sentence, a name or a path is not part of it.
    let name = word.iter().take(LONGEST_NAME).position(|byte| *byte == b'=');
    // The signs at the end of base64 part nothing.
    let goes_on = |equals: &usize| word.iter().skip(*equals).any(|byte| *byte != b'=');
    let name = name.filter(goes_on);
    let begin = from + name.map_or(0, |equals| equals + 1);
    let end = to - word.iter().rev().take_while(|byte| b".!".contains(byte)).count();
    (SHORTEST..=LONGEST).contains(&end.saturating_sub(begin)).then_some((begin, end))
}

/// Letters, digits and the signs that tokens have.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const IN_WORDS: [bool; 256] = {
    let mut inside = [false; 256];
    let mut signs: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/=.~!@#$%^&*";
    while let [sign, rest @ ..] = signs {
        inside[*sign as usize] = true;
        signs = rest;
    }
    inside
};

/// Whether a value is so odd that it stands for itself wherever it appears.
pub fn is_odd(value: &[u8]) -> bool {
    value.len() >= SHORTEST && is_telling_by_itself(value) && !value.contains(&b'@')
}

/// Secrets of which somebody else has told us: those of the environment, those of a file that nobody may read.
#[derive(Default)]
pub struct KnownValues {
    /// What it looks like, and what it is.
    values: Vec<(Vec<u8>, Vec<u8>)>,
}

impl KnownValues {
    /// The value of a variable, if its name says that it is a secret and the value is one that a text does not hold by chance.
    pub fn add(&mut self, name: &[u8], value: &[u8]) {
        let named = matches!(telling(name), Some(Telling::Password | Telling::Secret));
        let odd = (SHORTEST..=4096).contains(&value.len()) && is_telling_by_itself(value);
        if named && odd && !is_reference(value) && is_literal(value, Form::Quoted) {
            self.add_forms(value);
        }
    }

    /// The variables of a file of the form `NAME=value`.
    pub fn add_file(&mut self, text: &[u8]) {
        for line in text.split(|byte| *byte == b'\n') {
            let line = line.trim_ascii();
            let line = line.strip_prefix(b"export ").unwrap_or(line);
            let Some(equals) = line.iter().position(|byte| *byte == b'=') else { continue };
            let (name, value) =
                (line.get(..equals).unwrap_or_default(), line.get(equals + 1..).unwrap_or_default());
            let value = value.trim_ascii();
            let bare =
                [b'"', b'\''].iter().find_map(|quote| value.strip_prefix(&[*quote])?.strip_suffix(&[*quote]));
            self.add(name.trim_ascii(), bare.unwrap_or(value));
        }
    }

    /// As it is, backwards, in base64, with percent codes and with the escapes of JSON. What hides in other ways is beyond this.
    fn add_forms(&mut self, value: &[u8]) {
        let mut add = |form: Vec<u8>| {
            if form.len() >= SHORTEST && !self.values.iter().any(|(known, _)| *known == form) {
                self.values.push((form, value.to_vec()));
            }
        };
        add(value.to_vec());
        add(value.iter().rev().copied().collect());
        add(base64(value));
        let odd = |byte: &u8| !(byte.is_ascii_alphanumeric() || b"-_.~".contains(byte));
        if value.iter().any(odd) {
            let mut percent = Vec::new();
            for byte in value {
                if odd(byte) {
                    percent.extend_from_slice(format!("%{byte:02X}").as_bytes());
                } else {
                    percent.push(*byte);
                }
            }
            add(percent);
            add(value
                .iter()
                .flat_map(|byte| if matches!(byte, b'"' | b'\\') { vec![b'\\', *byte] } else { vec![*byte] })
                .collect());
        }
    }

    /// The text without these values; `None` where it has none. In JSON only strings can hold one, so it stays JSON.
    pub fn hide(&self, text: &str, marks: Marks<'_>) -> Option<Scrubbed<String>> {
        if self.values.is_empty() {
            return None;
        }
        let mut known = Known::new();
        for (form, value) in &self.values {
            known.add(form, value.as_slice());
        }
        let mut found: Vec<Found> = Vec::new();
        let mut meant: Vec<&[u8]> = Vec::new();
        known.each(text.as_bytes(), |from, to, value| {
            found.push(Found::known(from, to));
            meant.push(value);
        });
        if found.is_empty() {
            return None;
        }
        let count = found.len();
        let mut out = Vec::with_capacity(text.len());
        let mut at = 0;
        for (secret, value) in found.iter().zip(meant) {
            write(text.as_bytes(), at, secret.from, &[], marks, &mut out);
            // The same secret has the same mark however it was written.
            marks.write(secret, value, &mut out);
            at = secret.to;
        }
        write(text.as_bytes(), at, text.len(), &[], marks, &mut out);
        // Values are cut out whole; should that have broken a character, nothing is shown.
        Some(Scrubbed { text: String::from_utf8(out).unwrap_or_else(|_| "null".to_owned()), count })
    }
}

/// Without the padding, so that it is found with and without it. Its last character may depend on what follows and is left out.
fn base64(value: &[u8]) -> Vec<u8> {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = Vec::new();
    for three in value.chunks(3) {
        let at = |number: usize| u32::from(three.get(number).copied().unwrap_or_default());
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for number in 0..=three.len() {
            let sign = (bits >> (18 - 6 * number)) & 63;
            out.push(SIGNS.get(sign as usize).copied().unwrap_or(b'A'));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_are_hidden_as_they_are_and_written_otherwise() {
        let mut known = KnownValues::default();
        known.add_file(b"# c\nexport API_TOKEN=\"q8Zr+LmW0xTf\"\nPORT=8080\nDEBUG_KEY=development\n");
        known.add(b"HOME", b"/home/a1b2c3d4");
        for (text, hidden) in [
            ("using q8Zr+LmW0xTf now", "using [SECRET REDACTED] now"),
            ("fTx0WmL+rZ8q", "[SECRET REDACTED]"),
            ("x=q8Zr%2BLmW0xTf", "x=[SECRET REDACTED]"),
            ("cThacitMbVcweFRm", "[SECRET REDACTED]"),
        ] {
            assert_eq!(
                known.hide(text, Marks::Plain).map(|found| found.text).as_deref(),
                Some(hidden),
                "{text}"
            );
        }
        for text in ["8080 development", "aq8Zr+LmW0xTfb", "/home/a1b2c3d4"] {
            assert_eq!(known.hide(text, Marks::Plain), None, "{text}");
        }
    }

    #[test]
    fn a_word_is_found_by_each_of_its_heads() {
        for (text, word) in [
            ("using q8Zr1LmW0xTf, not", Some("q8Zr1LmW0xTf")),
            ("DB_PASSWORD=q8Zr1LmW0xTf.", Some("q8Zr1LmW0xTf")),
            ("(q8Zr1LmW0xTf==)", Some("q8Zr1LmW0xTf==")),
            ("it is q8Z", None),
        ] {
            let at = text.find("q8Z").unwrap();
            for at in at..at + 3 {
                let found = word_headed(text.as_bytes(), at).map(|(from, to)| text.get(from..to).unwrap());
                assert_eq!(found, word, "{text} {at}");
            }
        }
        assert_eq!(word_headed(&[b'a'; 600], 300), None);
        assert_eq!(word_headed(b"", 0), None);
    }

    #[test]
    fn known_values_are_found_wherever_they_stand() {
        let values: [&[u8]; 4] = [b"q8Zr1LmW", b"q8Zr1LmW0xTf", b"r1LmW0xTf99", b"Zr1LmW0xTf"];
        let mut known = Known::new();
        for value in values {
            known.add(value, ());
        }
        for before in 0..9 {
            for value in values {
                for behind in ["", " ", "  then more", ",q8Zr1LmW"] {
                    let text = [&b" ".repeat(before), value, behind.as_bytes()].concat();
                    let mut found = Vec::new();
                    known.each(&text, |from, to, ()| found.push((from, to)));
                    let first = (before, before + value.len());
                    assert_eq!(found.first(), Some(&first), "{}", String::from_utf8_lossy(&text));
                    assert_eq!(found.len(), 1 + usize::from(behind.contains("q8")));
                }
            }
        }
    }
}
