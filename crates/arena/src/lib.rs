//! An allocator that hands out one small block from its beginning to its end.
//!
//! Why: the hook is a process of its own for every call. musl's allocator asks the kernel for memory more than
//! twenty times in that short life, and every fresh page is a fault; together they took a fifth of the whole
//! time of a call. Here the kernel is asked once, for pages of which the first are there at once, and most requests are
//! one addition.
//!
//! Memory is given back only from the end (which is what a growing string or a short-lived one needs), and what
//! does not fit goes to the system's allocator, so a long-lived process that uses this one loses no more than
//! the block. `scripts/bench` measures what it is for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicPtr, AtomicUsize};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// What a call needs under the settings of a team, several times over, and what putting a sandbox together needs. A page that nobody
/// touches costs nothing.
const SIZE: usize = 1024 * 1024;
/// What an ordinary call needs, twice over: these pages are there before they are touched.
const READY: usize = 32 * 1024;
/// The kernel's pages are aligned to this.
const PAGE: usize = 4096;

/// The allocator: `#[global_allocator] static MEMORY: Arena = Arena::new();`
pub struct Arena {
    /// The block; null before the first request.
    block: AtomicPtr<u8>,
    /// INVARIANT: bytes of the block below this offset may be owned by somebody, those from it on are free.
    used: AtomicUsize,
}

impl Arena {
    /// An arena with nothing handed out.
    #[must_use]
    pub const fn new() -> Arena {
        Arena { block: AtomicPtr::new(ptr::null_mut()), used: AtomicUsize::new(0) }
    }

    /// The block, which the first request makes. Null where the kernel has none for us.
    fn block(&self) -> *mut u8 {
        let block = self.block.load(Acquire);
        if block.is_null() { self.make_block() } else { block }
    }

    #[cold]
    fn make_block(&self) -> *mut u8 {
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place of the kernel's choice touches nothing that is there.
        let made = unsafe { mmap_anonymous(ptr::null_mut(), SIZE, rights, MapFlags::PRIVATE) };
        let Ok(made) = made.map(<*mut _>::cast::<u8>) else { return ptr::null_mut() };
        // A kernel that does not know how makes each page when it is touched.
        // SAFETY: the mapping is ours alone, at least this long, and holds nothing yet.
        let _ = unsafe { madvise(made.cast(), READY, Advice::LinuxPopulateWrite) };
        match self.block.compare_exchange(ptr::null_mut(), made, AcqRel, Acquire) {
            Ok(_) => made,
            Err(first) => {
                // SAFETY: another thread was first; this mapping is ours alone and was never handed out.
                let _ = unsafe { munmap(made.cast(), SIZE) };
                first
            }
        }
    }

    /// Where in the block this pointer stands, if it does.
    fn offset(&self, pointer: *mut u8) -> Option<usize> {
        let block = self.block.load(Relaxed);
        pointer.addr().checked_sub(block.addr()).filter(|offset| *offset < SIZE && !block.is_null())
    }
}

impl Default for Arena {
    fn default() -> Arena {
        Arena::new()
    }
}

// SAFETY: a range is handed out by moving `used` over it in one atomic step, from a value at or above every
// range that is still owned, so that no two owners share a byte. It is taken back only by its owner, and only
// while it is the last one: then `used` is its end.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = self.block();
        let mut used = self.used.load(Relaxed);
        loop {
            let start = used.checked_next_multiple_of(layout.align());
            let end = start.and_then(|start| start.checked_add(layout.size())).filter(|end| *end <= SIZE);
            // The block itself is aligned to a page and no further.
            let fits = !block.is_null() && layout.align() <= PAGE;
            let (Some(start), Some(end), true) = (start, end, fits) else {
                // SAFETY: the caller's promises are the same for both allocators.
                return unsafe { System.alloc(layout) };
            };
            match self.used.compare_exchange_weak(used, end, Relaxed, Relaxed) {
                // SAFETY: `start` is within the block, as `end` is at most its size.
                Ok(_) => return unsafe { block.add(start) },
                Err(now) => used = now,
            }
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        match self.offset(pointer) {
            // Taking it back fails where something was handed out since: then it stays until the end.
            Some(start) => {
                let _ = self.used.compare_exchange(start + layout.size(), start, Relaxed, Relaxed);
            }
            // SAFETY: what is not of the block came from the system's allocator, with this layout.
            None => unsafe { System.dealloc(pointer, layout) },
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Some(start) = self.offset(pointer) else {
            // SAFETY: what is not of the block came from the system's allocator, with this layout.
            return unsafe { System.realloc(pointer, layout, size) };
        };
        let end = start + layout.size();
        let in_place = start.checked_add(size).filter(|end| *end <= SIZE);
        if let Some(new_end) = in_place
            && self.used.compare_exchange(end, new_end, Relaxed, Relaxed).is_ok()
        {
            return pointer;
        }
        if size <= layout.size() {
            return pointer;
        }
        // SAFETY: the caller promises that `size`, rounded up to the alignment, is a valid size.
        let new = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if !new.is_null() {
            // SAFETY: both are owned by the caller, do not overlap, and hold at least the old size.
            unsafe { ptr::copy_nonoverlapping(pointer, new, layout.size()) };
            // SAFETY: the old range is the caller's, with this layout.
            unsafe { self.dealloc(pointer, layout) };
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    /// Owned ranges never overlap, keep what was written to them, and are aligned, over a long random life.
    #[test]
    fn owners_never_share_a_byte() {
        static ARENA: Arena = Arena::new();
        let arena = &ARENA;
        let mut owned: Vec<(*mut u8, Layout, u8)> = Vec::new();
        let mut seed = 1_u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        for step in 0..200_000 {
            let fill = u8::try_from(step % 251).unwrap();
            match random(4) {
                0 | 1 if owned.len() < 400 => {
                    let layout = layout(1 + random(300), 1 << random(8));
                    // SAFETY: the size is not zero.
                    let pointer = unsafe { arena.alloc(layout) };
                    assert!(!pointer.is_null() && pointer.addr() % layout.align() == 0);
                    // SAFETY: just handed out with this size.
                    unsafe { pointer.write_bytes(fill, layout.size()) };
                    owned.push((pointer, layout, fill));
                }
                2 if !owned.is_empty() => {
                    let at = random(owned.len());
                    let (pointer, old, fill) = owned[at];
                    let size = 1 + random(600);
                    // SAFETY: owned with this layout.
                    let moved = unsafe { arena.realloc(pointer, old, size) };
                    check(moved, old.size().min(size), fill);
                    // SAFETY: now of this size.
                    unsafe { moved.write_bytes(fill, size) };
                    owned[at] = (moved, layout(size, old.align()), fill);
                }
                _ if !owned.is_empty() => {
                    let (pointer, layout, fill) = owned.swap_remove(random(owned.len()));
                    check(pointer, layout.size(), fill);
                    // SAFETY: owned with this layout.
                    unsafe { arena.dealloc(pointer, layout) };
                }
                _ => {}
            }
        }
        for (pointer, layout, fill) in owned {
            check(pointer, layout.size(), fill);
            // SAFETY: owned with this layout.
            unsafe { arena.dealloc(pointer, layout) };
        }
    }

    fn check(pointer: *mut u8, size: usize, fill: u8) {
        // SAFETY: the caller owns that many bytes there, all written.
        let bytes = unsafe { std::slice::from_raw_parts(pointer, size) };
        assert!(bytes.iter().all(|byte| *byte == fill));
    }

    #[test]
    fn the_last_range_grows_in_place_and_is_given_back() {
        static ARENA: Arena = Arena::new();
        let arena = &ARENA;
        // SAFETY: sizes are not zero, and each pointer is used with the layout that it has at that moment.
        unsafe {
            let pointer = arena.alloc(layout(10, 1));
            assert_eq!(arena.realloc(pointer, layout(10, 1), 1000), pointer);
            arena.dealloc(pointer, layout(1000, 1));
            assert_eq!(arena.alloc(layout(1, 1)), pointer);
        }
    }

    #[test]
    fn an_allocation_that_does_not_fit_comes_from_the_system() {
        static ARENA: Arena = Arena::new();
        let arena = &ARENA;
        let large = layout(SIZE + 1, 8);
        // SAFETY: the size is not zero, and the pointer is given back with its layout.
        unsafe {
            let pointer = arena.alloc(large);
            assert!(!pointer.is_null() && arena.offset(pointer).is_none());
            arena.dealloc(pointer, large);
        }
    }

    #[test]
    fn threads_allocate_at_the_same_time() {
        static ARENA: Arena = Arena::new();
        let worker = |fill: u8| {
            for round in 1..2000_usize {
                let layout = layout(round % 97 + 1, 8);
                // SAFETY: the size is not zero, and the pointer is given back with its layout.
                unsafe {
                    let pointer = ARENA.alloc(layout);
                    pointer.write_bytes(fill, layout.size());
                    std::thread::yield_now();
                    check(pointer, layout.size(), fill);
                    ARENA.dealloc(pointer, layout);
                }
            }
        };
        std::thread::scope(|scope| {
            for fill in 1..=4 {
                scope.spawn(move || worker(fill));
            }
        });
    }
}
