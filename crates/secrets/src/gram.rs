//! Three bytes as a number, and that number's slot in a table. Shared by the build, which fills the table, and by the
//! search.

/// The table has a bit for each slot, and is as large as the cache that is nearest to a core.
pub(crate) const BITS: u32 = 18;
/// The size of the table in bytes.
pub(crate) const SIZE: usize = 1 << (BITS - 3);

/// Three bytes as a number, the last of them the highest.
pub(crate) fn of(bytes: [u8; 3]) -> u64 {
    let [a, b, c] = bytes.map(u64::from);
    a | b << 8 | c << 16
}

/// The slot of the three lowest bytes.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the innermost loop is made of this")]
#[allow(clippy::cast_possible_truncation, reason = "18 bits are left; the build does not mind")]
pub(crate) fn slot(gram: u64) -> usize {
    ((gram << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS)) as usize
}
