//! Where literals stand: the one pass over a text in which nearly all time is spent.

use crate::gram;
use crate::tables::{Anchor, FACTOR, GRAMS, entries};

/// So far the loop goes at a time. Every second byte of these is sampled.
const STRIDE: usize = 12;
/// What a step has to see: a gram that begins at its last sample ends here.
const WINDOW: usize = STRIDE + 2;

/// Tells of every literal in the text: where it begins, how long it is, and what it may be the anchor of.
pub(crate) fn anchors(text: &[u8], visit: &mut impl FnMut(usize, usize, Anchor)) {
    let mut at = 0;
    while let Some((found, mut hits)) = next(text, at) {
        while hits != 0 {
            let at = found + 2 * hits.trailing_zeros() as usize;
            resolve(text, at, four(text, at), visit);
            hits &= hits - 1;
        }
        at = found + STRIDE;
    }
    // The rest is shorter than a window. What is not there reads as zeros, which no literal has.
    let at = text.len().saturating_sub(WINDOW - STRIDE) / STRIDE * STRIDE;
    let rest = text.get(at..).unwrap_or_default();
    let mut padded = [0; WINDOW + 3];
    for (to, from) in padded.iter_mut().zip(rest) {
        *to = *from;
    }
    for number in (0..rest.len()).step_by(2) {
        let bytes = four(&padded, number);
        if is_used(bytes) != 0 {
            resolve(text, at + number, bytes, visit);
        }
    }
}

/// The next step from `at` on in which grams are in use: where it begins, and which of its samples they are. A function of
/// its own, so that the loop has all registers.
#[inline(never)]
fn next(text: &[u8], from: usize) -> Option<(usize, u32)> {
    let mut at = from;
    for window in text.get(from..)?.windows(WINDOW).step_by(STRIDE) {
        let window: &[u8; WINDOW] = window.try_into().ok()?;
        let used = |at: usize| is_used(four(window, at));
        // Written out: `map` of an array is a call in a build without link-time optimization, and takes three times as long.
        let used = [used(0), used(2), used(4), used(6), used(8), used(10)];
        // Without a branch for each: nearly always there is nothing.
        if used.into_iter().fold(0, |any, one| any | one) != 0 {
            let hits = used.into_iter().rev().fold(0, |hits, one| hits << 1 | u32::from(one));
            return Some((at, hits));
        }
        at += STRIDE;
    }
    None
}

/// Whether a text holds a word. For names and values, which are short: a search that first looks at the word costs more than looking for
/// it there.
pub(crate) fn has(text: &[u8], word: &[u8]) -> bool {
    const SHORT: usize = 64;
    let Some((first, rest)) = word.split_first() else { return true };
    if text.len() > SHORT {
        return memchr::memmem::find(text, word).is_some();
    }
    let mut text = text;
    while let [byte, behind @ ..] = text {
        if byte == first && behind.starts_with(rest) {
            return true;
        }
        text = behind;
    }
    false
}

/// Four bytes as a number.
#[inline(always)]
#[expect(clippy::inline_always, reason = "with a known place it is one instruction")]
fn four(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Whether some literal has a gram of the same slot: 1 or 0.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the innermost loop is made of this")]
fn is_used(gram: u32) -> u8 {
    GRAMS.get(gram::slot(gram, FACTOR)).copied().unwrap_or_default()
}

/// Looks closer at four bytes whose gram is in use.
fn resolve(text: &[u8], at: usize, bytes: u32, visit: &mut impl FnMut(usize, usize, Anchor)) {
    for entry in entries(gram::slot(bytes, FACTOR), bytes) {
        let (Some(from), Some(literal)) = (at.checked_sub(entry.offset.into()), entry.literal()) else {
            continue;
        };
        let wanted = literal.text.as_str().as_bytes();
        if text.get(from..).is_some_and(|rest| rest.starts_with(wanted)) {
            visit(from, wanted.len(), literal.anchor);
        }
    }
}
