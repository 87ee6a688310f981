//! Copying and comparing memory, in place of musl's own: that one copies eight bytes as it does a page, by an instruction that takes
//! some thirty cycles to begin, and compares byte by byte. Rust does both all the time, and mostly with a few bytes: together they
//! were a fifth of what the hook computes.

use std::arch::asm;
use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_storeu_si128};

/// From here on the processor's own instruction is faster.
const LONG: usize = 2048;

/// Copies `count` bytes.
///
/// # Safety
/// Both ranges are valid for that many bytes. They do not overlap.
#[inline(always)]
unsafe fn copy(to: *mut u8, from: *const u8, count: usize) {
    /// One piece of this type at the beginning and one at the end cover all that is at most twice as long.
    macro_rules! ends {
        ($piece:ty) => {{
            let last = count - size_of::<$piece>();
            // SAFETY: the ranges are at least one piece long; no alignment is asked for.
            unsafe {
                let (first, end) = (
                    from.cast::<$piece>().read_unaligned(),
                    from.add(last).cast::<$piece>().read_unaligned(),
                );
                to.cast::<$piece>().write_unaligned(first);
                to.add(last).cast::<$piece>().write_unaligned(end);
            }
        }};
    }
    match count {
        0 => {}
        // SAFETY: both are at least a byte long.
        1 => unsafe { to.write(from.read()) },
        2..=3 => ends!(u16),
        4..=7 => ends!(u32),
        8..=15 => ends!(u64),
        16..=32 => ends!(__m128i),
        33..=LONG => {
            let mut at = 0;
            // The last piece is copied apart, and may overlap the one before.
            while at < count - 16 {
                // SAFETY: `at + 16` is less than `count`. The empty instruction keeps the compiler from seeing that this is a copy,
                // which it would do by calling `memcpy`.
                unsafe {
                    let piece = _mm_loadu_si128(from.add(at).cast());
                    asm!("", options(nostack, preserves_flags));
                    _mm_storeu_si128(to.add(at).cast(), piece);
                }
                at += 16;
            }
            // SAFETY: both are longer than a piece.
            unsafe {
                let piece = _mm_loadu_si128(from.add(count - 16).cast());
                _mm_storeu_si128(to.add(count - 16).cast(), piece);
            }
        }
        // SAFETY: the instruction copies that many bytes upwards; the direction flag is clear in every function.
        _ => unsafe {
            asm!("rep movsb", inout("rcx") count => _, inout("rdi") to => _, inout("rsi") from => _, options(nostack, preserves_flags));
        },
    }
}

/// Copies `count` bytes between ranges that may overlap.
///
/// # Safety
/// Both ranges are valid for that many bytes.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it is the whole of `memmove`")]
unsafe fn shift(to: *mut u8, from: *const u8, count: usize) {
    let apart = to.addr().abs_diff(from.addr()) >= count;
    // What is as short as this is read whole before anything is written.
    if apart || count <= 32 {
        // SAFETY: as the caller promises, and they do not overlap or it does not matter.
        return unsafe { copy(to, from, count) };
    }
    // SAFETY: all pieces are within the ranges, which are longer than two of them. Each is read before something is written over it: the
    // ends are read first, and the rest in the direction in which the ranges do not meet. The empty instruction keeps the compiler from
    // seeing that this is a copy, which it would do by calling `memmove`.
    unsafe {
        let first = _mm_loadu_si128(from.cast());
        let last = _mm_loadu_si128(from.add(count - 16).cast());
        if to.addr() < from.addr() {
            let mut at = 0;
            while at < count - 16 {
                let piece = _mm_loadu_si128(from.add(at).cast());
                asm!("", options(nostack, preserves_flags));
                _mm_storeu_si128(to.add(at).cast(), piece);
                at += 16;
            }
            _mm_storeu_si128(to.add(count - 16).cast(), last);
        } else {
            let mut at = count;
            while at > 16 {
                at -= 16;
                let piece = _mm_loadu_si128(from.add(at).cast());
                asm!("", options(nostack, preserves_flags));
                _mm_storeu_si128(to.add(at).cast(), piece);
            }
            _mm_storeu_si128(to.cast(), first);
        }
    }
}

/// Less than zero, zero or more, as the first range is less than the second, the same or more.
///
/// # Safety
/// Both ranges are valid for that many bytes.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it is the whole of `memcmp`, which is called for everything")]
unsafe fn compare(one: *const u8, other: *const u8, count: usize) -> i32 {
    // SAFETY: whoever calls these stays within the ranges.
    let eight = |at: usize| unsafe {
        let word = |range: *const u8| u64::from_be(range.add(at).cast::<u64>().read_unaligned());
        (word(one), word(other))
    };
    let order = |(one, other): (u64, u64)| i32::from(one > other) - i32::from(one < other);
    if count >= 8 {
        let mut at = 0;
        while at < count - 8 {
            let words = eight(at);
            if words.0 != words.1 {
                return order(words);
            }
            at += 8;
        }
        // What it looks at twice is the same in both.
        return order(eight(count - 8));
    }
    let mut at = 0;
    while at < count {
        // SAFETY: `at` is within both.
        let bytes = unsafe { (one.add(at).read(), other.add(at).read()) };
        if bytes.0 != bytes.1 {
            return i32::from(bytes.0) - i32::from(bytes.1);
        }
        at += 1;
    }
    0
}

/// The names by which compiled code calls them. Without optimization they would call themselves.
#[cfg(not(test))]
mod named {
    /// # Safety
    /// As C has it.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
        // SAFETY: the caller promises the same.
        unsafe { super::copy(to, from, count) };
        to
    }

    /// # Safety
    /// As C has it.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
        // SAFETY: the caller promises the same.
        unsafe { super::shift(to, from, count) };
        to
    }

    /// # Safety
    /// As C has it.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, count: usize) -> i32 {
        // SAFETY: the caller promises the same.
        unsafe { super::compare(one, other, count) }
    }

    /// # Safety
    /// As C has it.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn bcmp(one: *const u8, other: *const u8, count: usize) -> i32 {
        // SAFETY: the caller promises the same.
        unsafe { super::compare(one, other, count) }
    }

    // The calls of them are made after everything that is not called was left out.
    #[used]
    static COPY: [unsafe extern "C" fn(*mut u8, *const u8, usize) -> *mut u8; 2] = [memcpy, memmove];
    #[used]
    static COMPARE: [unsafe extern "C" fn(*const u8, *const u8, usize) -> i32; 2] = [memcmp, bcmp];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_copied_whole_and_nothing_beside_it() {
        let from: Vec<u8> = (0..5000_usize).map(|n| u8::try_from(n * 7 % 251).unwrap()).collect();
        for count in (0..300).chain([2047, 2048, 2049, 4096]) {
            for (start, shift) in [(0, 0), (1, 3), (9, 2)] {
                let mut to = vec![255_u8; 5000];
                // SAFETY: both are longer than what is copied.
                unsafe { copy(to.as_mut_ptr().add(shift), from.as_ptr().add(start), count) };
                assert_eq!(to[shift..shift + count], from[start..start + count], "{count}");
                assert!(to[..shift].iter().chain(&to[shift + count..]).all(|byte| *byte == 255), "{count}");
            }
        }
    }

    #[test]
    fn ranges_that_overlap_are_copied_as_they_were() {
        let whole: Vec<u8> = (0..6000_usize).map(|n| u8::try_from(n * 11 % 253).unwrap()).collect();
        for count in (0..200).chain([2047, 2049, 4096]) {
            for (from, to) in [(0, 0), (0, 1), (1, 0), (5, 20), (20, 5), (40, 7), (7, 40), (0, 300), (300, 0)]
            {
                let mut wanted = whole.clone();
                wanted.copy_within(from..from + count, to);
                let mut moved = whole.clone();
                let start = moved.as_mut_ptr();
                // SAFETY: both ranges are within the vector.
                unsafe { shift(start.add(to), start.add(from), count) };
                assert_eq!(moved, wanted, "{count} from {from} to {to}");
            }
        }
    }

    #[test]
    fn ranges_are_in_the_order_of_their_first_different_byte() {
        for count in 0..100 {
            let one: Vec<u8> = (0..count).map(|n| u8::try_from(n % 256).unwrap() | 0x80).collect();
            // SAFETY: both are as long as what is compared.
            let order =
                |one: &[u8], other: &[u8]| unsafe { compare(one.as_ptr(), other.as_ptr(), one.len()) };
            assert_eq!(order(&one, &one.clone()), 0);
            for at in 0..count {
                for (byte, rest) in [(0, 255), (255, 0)] {
                    let mut other = one.clone();
                    other[at] = byte;
                    // What follows says nothing.
                    other[at + 1..].fill(rest);
                    assert_eq!(order(&one, &other).signum(), one.cmp(&other) as i32, "{count} {at}");
                }
            }
        }
    }
}
