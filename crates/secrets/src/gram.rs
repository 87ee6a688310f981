//! Three bytes as a number, and that number's slot in a table. Shared by the build, which fills the table, and by the
//! search.

/// The table has a byte for each slot.
pub(crate) const SLOTS: usize = 1 << 16;

/// The slot of the three lowest bytes. The factor is the build's choice, and a multiple of 256: that takes the fourth out.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the innermost loop is made of this")]
pub(crate) fn slot(gram: u32, factor: u32) -> usize {
    (gram.wrapping_mul(factor) >> 16) as usize
}

/// Slots in use are few; so many groups hold one or none of them each.
pub(crate) const GROUPS: usize = 1 << 12;

/// The group of a slot.
pub(crate) fn group(slot: usize) -> usize {
    slot % GROUPS
}

/// Which pairs of letters a word has, as bits. A name that holds a word has all of its bits.
pub(crate) fn pairs(word: &[u8]) -> u64 {
    let bit = |pair: &[u8]| match pair {
        [one, other] => {
            1_u64 << ((u32::from(*one).wrapping_mul(31) ^ u32::from(*other).wrapping_mul(7)) & 63)
        }
        _ => 0,
    };
    word.windows(2).fold(0, |bits, pair| bits | bit(pair))
}
