//! Runs of the bytes that tokens are made of, as long as the shortest secret, found 64 bytes at a time.
//!
//! Nearly all words of a text are shorter, and to ask each byte whether a word ends there costs most where it does: a processor
//! guesses wrong at every one. So the bytes of a block become bits of a number, and three steps say where eight are set in a row.

use crate::known::SHORTEST;

const BLOCK: usize = 64;

const _: () = assert!(SHORTEST == 8, "`starts` looks for eight bits in a row");

/// Each run from its first byte to the one behind it, in order.
pub(crate) fn runs(text: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    Runs { text, base: 0, next: 0, inside: 0, starts: 0 }
}

struct Runs<'t> {
    text: &'t [u8],
    /// Where the present block begins.
    base: usize,
    /// Where the next one does.
    next: usize,
    /// The block's bytes that belong to words, the first as the lowest bit.
    inside: u64,
    /// Those of them that seven more follow, and that were not told yet.
    starts: u64,
}

impl Runs<'_> {
    fn block(&mut self) -> Option<()> {
        self.base = self.next;
        let rest = self.text.get(self.base..).filter(|rest| !rest.is_empty())?;
        self.inside = match rest.first_chunk::<BLOCK>() {
            Some(block) => inside(block),
            None => {
                let mut padded = [0; BLOCK];
                padded.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
                inside(&padded)
            }
        };
        let two = self.inside & (self.inside >> 1);
        let four = two & (two >> 2);
        self.starts = four & (four >> 4);
        // What begins in the last seven bytes is found in the next block. What began earlier has been found in this one.
        self.next = self.base + BLOCK - (SHORTEST - 1);
        Some(())
    }
}

impl Iterator for Runs<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        while self.starts == 0 {
            self.block()?;
        }
        let first = self.starts.trailing_zeros();
        let last = first + (!(self.inside >> first)).trailing_zeros();
        let from = self.base + first as usize;
        if last < u64::BITS {
            self.starts &= u64::MAX << last;
            return Some((from, self.base + last as usize));
        }
        let end = self.base + BLOCK;
        let behind = self.text.get(end..).unwrap_or_default();
        self.next = end + behind.iter().take_while(|byte| is_inside(**byte) != 0).count();
        self.starts = 0;
        Some((from, self.next))
    }
}

/// 1 for letters, digits and the signs that tokens have.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const IN_WORDS: [u8; 256] = {
    let mut inside = [0; 256];
    let mut signs: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/=.~!@#$%^&*";
    while let [sign, rest @ ..] = signs {
        inside[*sign as usize] = 1;
        signs = rest;
    }
    inside
};

fn is_inside(byte: u8) -> u8 {
    IN_WORDS.get(usize::from(byte)).copied().unwrap_or_default()
}

/// One bit for each byte. Eight at a time without a loop, and no vector instructions: the hook is made small, and has none of such a loop.
fn inside(block: &[u8; BLOCK]) -> u64 {
    let (eights, _) = block.as_chunks::<8>();
    eights.iter().rev().fold(0, |bits, [a, b, c, d, e, f, g, h]| {
        let low = is_inside(*a) | is_inside(*b) << 1 | is_inside(*c) << 2 | is_inside(*d) << 3;
        let high = is_inside(*e) << 4 | is_inside(*f) << 5 | is_inside(*g) << 6 | is_inside(*h) << 7;
        (bits << 8) | u64::from(low | high)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_bytes(text: &[u8]) -> Vec<(usize, usize)> {
        let of_words = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+/=.~!@#$%^&*".contains(&byte);
        let mut found = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let end = at + text[at..].iter().take_while(|byte| of_words(**byte)).count();
            found.extend((end - at >= SHORTEST).then_some((at, end)));
            at = end + 1;
        }
        found
    }

    #[test]
    fn every_byte_is_told_like_one_by_one() {
        for byte in 0..=u8::MAX {
            let of_words = byte.is_ascii_alphanumeric() || b"_-+/=.~!@#$%^&*".contains(&byte);
            assert_eq!(is_inside(byte) != 0, of_words, "{byte}");
        }
    }

    #[test]
    fn runs_are_found_wherever_blocks_end() {
        for length in 1..140 {
            for before in 0..140 {
                let text = [vec![b' '; before], vec![b'x'; length], b" y yyyyyyyy".to_vec()].concat();
                assert_eq!(runs(&text).collect::<Vec<_>>(), by_bytes(&text), "{before} {length}");
            }
        }
        // Of words and gaps of every length, in some order.
        let mut state = 1_u32;
        let mut text = Vec::new();
        for _ in 0..20_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.extend(std::iter::repeat_n(b'a', (state >> 28) as usize));
            text.extend(std::iter::repeat_n(b'"', (state >> 24 & 3) as usize));
        }
        assert_eq!(runs(&text).collect::<Vec<_>>(), by_bytes(&text));
        assert_eq!(runs(b"").count(), 0);
    }
}
