//! Where literals stand: the one pass over a text in which nearly all time is spent.

use crate::gram::{of, slot};
use crate::tables::{Anchor, GRAMS, entries};

/// So far the loop goes at a time. Every second byte of these is sampled.
const STRIDE: usize = 12;
/// What a step has to see: a gram that begins at its last sample ends here.
const WINDOW: usize = STRIDE + 2;

/// Tells of every literal in the text: where it begins, how long it is, and what it may be the anchor of.
pub(crate) fn anchors(text: &[u8], visit: &mut impl FnMut(usize, usize, Anchor)) {
    let mut at = 0;
    for window in text.windows(WINDOW).step_by(STRIDE) {
        let (Some(low), Some(high)) = (window.first_chunk(), window.last_chunk()) else { continue };
        let (low, high) = (u64::from_le_bytes(*low), u64::from_le_bytes(*high));
        let samples = [low, low >> 16, low >> 32, high, high >> 16, high >> 32];
        // Without a branch for each: nearly always there is nothing.
        if samples.iter().fold(false, |any, gram| any | is_used(slot(*gram))) {
            for (number, gram) in samples.into_iter().enumerate() {
                if is_used(slot(gram)) {
                    resolve(text, at + 2 * number, slot(gram), visit);
                }
            }
        }
        at += STRIDE;
    }
    // The rest is shorter than a window. What is not there reads as zeros, which no literal has.
    let rest = text.get(at..).unwrap_or_default();
    let mut padded = [0; WINDOW + 2];
    for (to, from) in padded.iter_mut().zip(rest) {
        *to = *from;
    }
    for (number, gram) in padded.windows(3).enumerate().step_by(2).take(rest.len().div_ceil(2)) {
        if let [a, b, c] = *gram {
            let slot = slot(of([a, b, c]));
            if is_used(slot) {
                resolve(text, at + number, slot, visit);
            }
        }
    }
}

/// Whether some literal has a gram of this slot.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the innermost loop is made of this")]
fn is_used(slot: usize) -> bool {
    GRAMS.get(slot >> 3).is_some_and(|bits| bits >> (slot & 7) & 1 == 1)
}

#[inline(never)]
fn resolve(text: &[u8], at: usize, slot: usize, visit: &mut impl FnMut(usize, usize, Anchor)) {
    for entry in entries(slot) {
        let (Some(from), Some(literal)) = (at.checked_sub(entry.offset.into()), entry.literal()) else {
            continue;
        };
        let wanted = literal.text.as_str().as_bytes();
        if text.get(from..).is_some_and(|rest| rest.starts_with(wanted)) {
            visit(from, wanted.len(), literal.anchor);
        }
    }
}
