//! Large memory, in large pages where the kernel has them; all else is the system's allocator.
//!
//! Why: a page of 4 KB that is touched for the first time costs two microseconds in a virtual machine, so that an output of 10 MB, and one copy of it,
//! cost ten milliseconds before anybody has looked at them. A page of 2 MB costs as much as eighty small ones.
//!
//! The kernel clears each page, which took a quarter of the time of a large output. So what was given back last is kept for the next request:
//! one copy after the other lies in the same pages.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::pages;

/// A large page.
pub(crate) const PAGE: usize = 2 * 1024 * 1024;
/// From here on one large page costs less than the small ones.
const LEAST: usize = 384 * 1024;
/// No request that is aligned to more is of this kind.
const MOST_ALIGNED: usize = 4096;

/// No more than this is kept.
const MOST_KEPT: usize = 16 * 1024 * 1024;

/// What was given back last; null where nothing is kept.
///
/// INVARIANT: nobody owns it, and its first bytes say how long it is. Whoever takes it out has it alone.
static KEPT: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

/// What is kept, if it is at least so long and not much longer. What it is longer is given back to the kernel.
fn take(length: usize) -> Option<*mut u8> {
    let kept = KEPT.swap(ptr::null_mut(), AcqRel);
    if kept.is_null() {
        return None;
    }
    // SAFETY: it was taken out by this thread alone, begins at a large page, and begins with its length.
    let long = unsafe { kept.cast::<usize>().read_unaligned() };
    if long < length || long / 4 > length {
        put(kept, long);
        return None;
    }
    if long > length {
        // SAFETY: the end of a mapping that nobody owns.
        let _ = unsafe { munmap(kept.add(length).cast(), long - length) };
    }
    Some(kept)
}

/// Keeps a mapping that nobody owns any more, or gives it back to the kernel.
fn put(start: *mut u8, length: usize) {
    if length <= MOST_KEPT {
        // SAFETY: nobody owns it, it begins at a page and is longer than a number.
        unsafe { start.cast::<usize>().write_unaligned(length) };
        if KEPT.compare_exchange(ptr::null_mut(), start, Release, Relaxed).is_ok() {
            return;
        }
    }
    // SAFETY: it was mapped with this length, and nobody owns it.
    let _ = unsafe { munmap(start.cast(), length) };
}

/// How much is mapped for a request; `None` where it is for the system's allocator. The same for the same layout, so that whoever gives memory
/// back is believed about where it came from.
fn length(layout: Layout) -> Option<usize> {
    let is_large = layout.size() >= LEAST && layout.align() <= MOST_ALIGNED;
    layout.size().checked_next_multiple_of(PAGE).filter(|_| is_large)
}

/// So many bytes at the beginning of a large page, all zero; null where there are none to be had.
fn map(length: usize) -> *mut u8 {
    let (rights, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
    // SAFETY: a new mapping at a place of the kernel's choice touches nothing that is there.
    let new = |length| unsafe { mmap_anonymous(ptr::null_mut(), length, rights, flags) };
    let Some(made) = length.checked_add(PAGE).and_then(|wide| new(wide).ok()) else {
        // Without room for a beginning of our choice, any will do.
        return new(length).map_or(ptr::null_mut(), <*mut _>::cast);
    };
    let made = made.cast::<u8>();
    let before = made.addr().next_multiple_of(PAGE) - made.addr();
    // SAFETY: `before` is less than a page, by which the mapping is longer.
    let start = unsafe { made.add(before) };
    // SAFETY: what is given back is of the new mapping, at both ends of what stays, and nobody has it. Where it is not taken it costs nothing,
    // and a kernel that has no large pages takes small ones.
    unsafe {
        if before > 0 {
            let _ = munmap(made.cast(), before);
        }
        let _ = munmap(start.add(length).cast(), PAGE - before);
        pages::prefer_large(start, length);
    }
    start
}

/// # Safety
/// As for [`GlobalAlloc::alloc`].
pub(crate) unsafe fn alloc(layout: Layout) -> *mut u8 {
    match length(layout) {
        Some(length) => take(length).unwrap_or_else(|| map(length)),
        // SAFETY: the caller's promises are the same.
        None => unsafe { System.alloc(layout) },
    }
}

/// # Safety
/// As for [`GlobalAlloc::alloc_zeroed`].
pub(crate) unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    match length(layout) {
        Some(length) => map(length),
        // SAFETY: the caller's promises are the same.
        None => unsafe { System.alloc_zeroed(layout) },
    }
}

/// # Safety
/// As for [`GlobalAlloc::dealloc`], of a pointer that came from here.
pub(crate) unsafe fn dealloc(pointer: *mut u8, layout: Layout) {
    match length(layout) {
        // It was mapped for this layout, which has the same length again, and the caller gives it up.
        Some(length) => put(pointer, length),
        // SAFETY: what is not mapped here came from the system's allocator, with this layout.
        None => unsafe { System.dealloc(pointer, layout) },
    }
}

/// # Safety
/// As for [`GlobalAlloc::realloc`], of a pointer that came from here.
pub(crate) unsafe fn realloc(pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    // SAFETY: the caller promises that `size`, rounded up to the alignment, is a valid size.
    let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
    let new = match (length(layout), length(wanted)) {
        // SAFETY: what is not mapped here came from the system's allocator, with this layout.
        (None, None) => return unsafe { System.realloc(pointer, layout, size) },
        (Some(old), Some(new)) if old == new => return pointer,
        (Some(old), Some(new)) if old > new => {
            // SAFETY: the end of a mapping that is the caller's, behind all that it keeps.
            let _ = unsafe { munmap(pointer.add(new).cast(), old - new) };
            return pointer;
        }
        (Some(old), Some(new)) => {
            let start = map(new);
            let Some(place) = ptr::NonNull::new(start) else { return start };
            // SAFETY: the old pages are the caller's and go to the beginning of a new mapping, which is longer and holds nothing. They are no
            // longer where they were.
            if unsafe { pages::move_to(pointer, old, place) } {
                return start;
            }
            start
        }
        // SAFETY: the size is not zero, as the caller promises.
        (Some(_), None) | (None, Some(_)) => unsafe { alloc(wanted) },
    };
    if !new.is_null() {
        // SAFETY: both are owned by the caller, do not overlap, and hold at least the smaller size. The old range is given up.
        unsafe {
            ptr::copy_nonoverlapping(pointer, new, layout.size().min(size));
            dealloc(pointer, layout);
        }
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 8).unwrap()
    }

    /// What is written stays, whichever allocator it goes to and comes from.
    #[test]
    fn what_grows_and_shrinks_keeps_what_it_holds() {
        let sizes =
            [1000, LEAST - 1, LEAST, PAGE, PAGE + 1, 5 * PAGE, 3 * PAGE, PAGE - 1, LEAST, 1000, 9 * PAGE, 10];
        // SAFETY: sizes are not zero, and the pointer is used with the layout that it has at that moment.
        unsafe {
            let mut size = 500;
            let mut pointer = alloc(layout(size));
            pointer.write_bytes(7, size);
            for next in sizes {
                pointer = realloc(pointer, layout(size), next);
                assert!(!pointer.is_null());
                let kept = std::slice::from_raw_parts(pointer, size.min(next));
                assert!(kept.iter().all(|byte| *byte == 7), "{size} to {next}");
                pointer.write_bytes(7, next);
                size = next;
            }
            dealloc(pointer, layout(size));
        }
    }

    #[test]
    fn it_begins_at_a_large_page_and_is_zero() {
        for size in [LEAST, PAGE, 3 * PAGE + 5] {
            // SAFETY: the size is not zero, and each pointer is given back with its layout.
            unsafe {
                let first = alloc(layout(size));
                assert!(first.addr().is_multiple_of(PAGE));
                first.write_bytes(7, size);
                dealloc(first, layout(size));
                let again = alloc_zeroed(layout(size));
                assert!(std::slice::from_raw_parts(again, size).iter().all(|byte| *byte == 0));
                dealloc(again, layout(size));
            }
        }
        assert_eq!(length(Layout::from_size_align(PAGE, 8192).unwrap()), None);
        assert_eq!(length(layout(LEAST - 1)), None);
    }

    /// Two owners never have the same page, whatever is kept, and from whichever thread they ask.
    #[test]
    fn what_is_kept_has_one_owner() {
        let own = |fill: u8| {
            for round in 0..200_usize {
                let size = LEAST + (round * 7_919 * usize::from(fill)) % (5 * PAGE);
                // SAFETY: the size is not zero, and each pointer is given back with its layout.
                unsafe {
                    let first = alloc(layout(size));
                    let second = alloc(layout(2 * size));
                    first.write_bytes(fill, size);
                    second.write_bytes(fill + 100, 2 * size);
                    for (pointer, size, fill) in [(first, size, fill), (second, 2 * size, fill + 100)] {
                        let bytes = std::slice::from_raw_parts(pointer, size);
                        assert!(bytes.iter().step_by(509).all(|byte| *byte == fill));
                        dealloc(pointer, layout(size));
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for fill in 1..4 {
                scope.spawn(move || own(fill));
            }
        });
    }

    #[test]
    fn more_than_there_can_be_is_null() {
        // SAFETY: the size is not zero.
        assert!(unsafe { alloc(layout(isize::MAX as usize - 7)) }.is_null());
    }
}
