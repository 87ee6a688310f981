//! An allocator that hands out one block from its beginning to its end, and what was given back before that.
//!
//! Why: the hook is a process of its own for every call. musl's allocator asks the kernel for memory more than
//! twenty times in that short life, and every fresh page is a fault; together they took a fifth of the whole
//! time of a call. Here the kernel is asked once, for pages of which the first are there at once, and most requests are
//! one addition.
//!
//! What is given back goes into a list of its size, and the next request of that size takes it from there: so a long script touches no
//! more pages than it has in use at once, and a process that serves a whole session stays as large as its largest call.
//! What is large goes to the system, in large pages where it has them. `scripts/bench` measures what it is for.
//!
//! It also knows when there is no more, and lets whoever answers have [last words](Arena::end_with).
//!
//! A program that has it for its allocator ends with a word where its stack is over.
//!
//! A program for x86-64 and musl that is built with optimization has `memcpy`, `memmove`, `memcmp` and `bcmp` from here too.

mod beyond;
#[cfg(all(target_arch = "x86_64", any(all(target_env = "musl", not(debug_assertions)), test)))]
mod copy;
mod counting;
mod large;
#[cfg(target_os = "linux")]
mod overflow;
mod pages;
pub mod start;

pub use counting::{Counting, Taken};

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::beyond::Beyond;

/// More than any call has in use. A page that nobody touches costs nothing.
const SIZE: usize = 64 * 1024 * 1024;
/// So much lies in small pages.
const SMALL: usize = 1024 * 1024;
/// What an ordinary call needs, twice over: these pages are there before they are touched.
const READY: usize = 32 * 1024;
/// What is larger goes to the system's allocator, which gives such memory back to the kernel.
const LARGE: usize = 256 * 1024;
/// Every range begins and ends at a multiple of this.
const GRAIN: usize = 16;
/// Ranges come in so many sizes.
const CLASSES: usize = 52;

/// The allocator: `#[global_allocator] static MEMORY: Arena = Arena::new();`
///
/// It belongs to the first thread that asks for memory, which in our programs does all the work; what other threads ask for comes from the
/// system's allocator. So nothing here has to be done in one step or behind a lock, which would cost more than all the rest.
pub struct Arena {
    /// Whether it belongs to a thread.
    taken: AtomicBool,
    /// The block; null before the first request. Other threads look at it to know what is not the system's.
    block: AtomicPtr<u8>,
    /// INVARIANT: bytes of the block below this offset may be owned by somebody, those from it on are free. The thread that has the arena
    /// is the only one that looks at this and at the lists.
    used: AtomicUsize,
    /// For each size the range that was given back last. Its first bytes say which one was before it.
    free: [AtomicPtr<u8>; CLASSES],
    beyond: Beyond,
}

thread_local! {
    /// The arena that belongs to this thread, by its address. It has no destructor and no beginning, so that asking for it asks for no memory.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

/// The number of a size, and that size: four steps from each power of two to the next, and no step below the grain.
/// `None` where that is for the system's allocator.
#[inline]
const fn class_of(size: usize) -> Option<(usize, usize)> {
    if size <= 4 * GRAIN {
        let number = size.saturating_sub(1) / GRAIN;
        return Some((number, (number + 1) * GRAIN));
    }
    if size > LARGE {
        return None;
    }
    // The power of two below, and a quarter of it.
    let power = (size - 1).ilog2();
    let quarter = (size - 1) >> (power - 2);
    Some((4 * power as usize - 24 + quarter, (quarter + 1) << (power - 2)))
}

impl Arena {
    /// An arena with nothing handed out.
    #[must_use]
    pub const fn new() -> Arena {
        Arena {
            taken: AtomicBool::new(false),
            block: AtomicPtr::new(ptr::null_mut()),
            used: AtomicUsize::new(0),
            free: [const { AtomicPtr::new(ptr::null_mut()) }; CLASSES],
            beyond: Beyond::new(),
        }
    }

    /// From now on at most so many bytes are asked of the system. Where it has no more, or that is not enough, `last_words`
    /// is called, once: it may allocate a little, and should end the process. If it comes back, the request fails.
    pub fn end_with(&self, limit: usize, last_words: fn()) {
        self.beyond.end_with(limit, last_words);
    }

    /// Has so much of the block be there before it is touched, for a program that needs more than an ordinary call. Says nothing where the arena
    /// is another thread's, or nobody's.
    pub fn make_ready(&self, length: usize) {
        let block = self.block.load(Acquire);
        if block.is_null() || !self.is_own() {
            return;
        }
        // SAFETY: the block is mapped and this process's alone, and longer than that. What lies there stays as it is.
        unsafe { pages::populate(block, length.min(SMALL)) };
    }

    /// Bytes that the system's allocator has given and not got back, beyond the block.
    pub fn beyond_block(&self) -> usize {
        self.beyond.given()
    }

    /// Whether it belongs to this thread.
    #[inline]
    fn is_own(&self) -> bool {
        OWN.with(Cell::get) == ptr::from_ref(self).addr()
    }

    /// Gives the arena to this thread, if nobody has it yet.
    #[cold]
    fn take(&self) -> bool {
        if OWN.with(Cell::get) != 0 || self.taken.swap(true, AcqRel) {
            return false;
        }
        let (rights, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: a new mapping at a place of the kernel's choice touches nothing that is there.
        let made = unsafe { mmap_anonymous(ptr::null_mut(), SIZE + large::PAGE, rights, flags) };
        let Ok(made) = made.map(<*mut _>::cast::<u8>) else { return false };
        // The first bytes lie in small pages, and end where a large one can begin: clearing two megabytes would cost more than all of a short
        // call. What needs more than that has large ones, each of which costs as much as eighty small ones.
        let first = (made.addr() + SMALL).next_multiple_of(large::PAGE) - SMALL - made.addr();
        // SAFETY: that is less than a large page, by which the mapping is longer.
        let made = unsafe { made.add(first) };
        // Neither is a kernel bound to: one that does not know how makes each page when it is touched.
        // SAFETY: the mapping is ours alone, at least this long, and holds nothing yet.
        unsafe {
            pages::prefer_large(made.add(SMALL), SIZE - SMALL);
            pages::populate(made, READY);
        }
        self.block.store(made, Release);
        OWN.with(|own| own.set(ptr::from_ref(self).addr()));
        true
    }

    /// Where in the block this pointer stands, if it does.
    #[inline]
    fn offset(&self, pointer: *mut u8) -> Option<usize> {
        let block = self.block.load(Acquire);
        let offset = pointer.addr().wrapping_sub(block.addr());
        (offset < SIZE && !block.is_null()).then_some(offset)
    }

    /// The size that a request is rounded up to, and its number; `None` where it is for the system's allocator.
    #[inline]
    fn class(layout: Layout) -> Option<(usize, usize)> {
        class_of(layout.size()).filter(|_| layout.align() <= GRAIN)
    }

    /// A range of this size: one that was given back, or a new one. Null where neither is to be had.
    ///
    /// # Safety
    /// The arena is this thread's own.
    #[inline]
    #[expect(
        clippy::cast_ptr_alignment,
        reason = "every range is aligned to a grain, which is more than a pointer needs"
    )]
    unsafe fn range(&self, class: usize, size: usize) -> *mut u8 {
        let Some(list) = self.free.get(class) else { return ptr::null_mut() };
        let first = list.load(Relaxed);
        if !first.is_null() {
            // SAFETY: what is in a list is owned by nobody, at least a grain long and aligned to one, and begins with the pointer to
            // the one before it.
            list.store(unsafe { first.cast::<*mut u8>().read() }, Relaxed);
            return first;
        }
        let used = self.used.load(Relaxed);
        if size > SIZE - used {
            return ptr::null_mut();
        }
        self.used.store(used + size, Relaxed);
        // SAFETY: this is within the block, which is there as the arena belongs to somebody.
        unsafe { self.block.load(Relaxed).add(used) }
    }
}

impl Default for Arena {
    fn default() -> Arena {
        Arena::new()
    }
}

// SAFETY: a range is handed out by moving `used` over it, from a value at or above every range that is still owned, or by taking it out of a
// list, by one thread alone; so no two owners share a byte. It is taken back only by its owner: while it is the last one, by moving `used` to
// its beginning, else by putting it into a list. What another thread gives back stays where it is until the process ends.
unsafe impl GlobalAlloc for Arena {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if let Some((class, size)) = Arena::class(layout)
            && (self.is_own() || self.take())
        {
            // SAFETY: it is this thread's own.
            let range = unsafe { self.range(class, size) };
            if !range.is_null() {
                return range;
            }
        }
        // SAFETY: the caller's promises are the same for both allocators.
        unsafe { self.beyond.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if Arena::class(layout).is_none() {
            // The kernel's pages are zero as they come.
            // SAFETY: the caller's promises are the same for both allocators.
            return unsafe { self.beyond.alloc_zeroed(layout) };
        }
        // SAFETY: the caller's promises are the same.
        let pointer = unsafe { self.alloc(layout) };
        if !pointer.is_null() {
            // SAFETY: just handed out with this size.
            unsafe { pointer.write_bytes(0, layout.size()) };
        }
        pointer
    }

    #[inline]
    #[expect(
        clippy::cast_ptr_alignment,
        reason = "every range is aligned to a grain, which is more than a pointer needs"
    )]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        let Some(start) = self.offset(pointer) else {
            // SAFETY: what is not of the block came from beyond it, with this layout.
            return unsafe { self.beyond.dealloc(pointer, layout) };
        };
        let Some((class, size)) = Arena::class(layout).filter(|_| self.is_own()) else { return };
        if start + size == self.used.load(Relaxed) {
            self.used.store(start, Relaxed);
        } else if let Some(list) = self.free.get(class) {
            // SAFETY: it was handed out with this layout, or a larger one, and the caller gives it up; it is at least a grain long and
            // aligned to one.
            unsafe { pointer.cast::<*mut u8>().write(list.load(Relaxed)) };
            list.store(pointer, Relaxed);
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (Some(start), Some((_, old))) = (self.offset(pointer), Arena::class(layout)) else {
            // SAFETY: what is not of the block came from beyond it, with this layout.
            return unsafe { self.beyond.realloc(pointer, layout, size) };
        };
        if let Some((_, new)) = class_of(size) {
            if self.is_own() && start + old == self.used.load(Relaxed) && new <= SIZE - start {
                self.used.store(start + new, Relaxed);
                return pointer;
            }
            // What shrinks moves: where it stayed it would come back as one of its new size, and the rest of it would be lost. What another
            // thread has stays, as it does not come back.
            if new == old || (new < old && !self.is_own()) {
                return pointer;
            }
        }
        // SAFETY: the caller promises that `size`, rounded up to the alignment, is a valid size.
        let new = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if !new.is_null() {
            // SAFETY: both are owned by the caller, do not overlap, and hold at least the smaller size.
            unsafe { ptr::copy_nonoverlapping(pointer, new, layout.size().min(size)) };
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
        let large = layout(LARGE + 1, 8);
        // SAFETY: the size is not zero, and the pointer is given back with its layout.
        unsafe {
            let pointer = arena.alloc(large);
            assert!(!pointer.is_null() && arena.offset(pointer).is_none());
            arena.dealloc(pointer, large);
        }
    }

    #[test]
    fn every_size_has_a_class_that_holds_it() {
        let mut last = (0, GRAIN);
        for size in 1..=LARGE {
            let (class, rounded) = class_of(size).unwrap();
            assert!(size <= rounded && rounded.is_multiple_of(GRAIN) && class < CLASSES, "{size}");
            assert!(rounded <= 2 * GRAIN || rounded - size <= size / 4 + GRAIN, "{size} as {rounded}");
            assert!((class, rounded) == last || (class == last.0 + 1 && rounded > last.1), "{size}");
            last = (class, rounded);
        }
        assert_eq!((last, class_of(LARGE + 1), class_of(0)), ((CLASSES - 1, LARGE), None, Some((0, GRAIN))));
    }

    /// Whoever serves a whole session must not grow with it.
    #[test]
    fn what_was_given_back_is_handed_out_again() {
        static ARENA: Arena = Arena::new();
        let mut peak = 0;
        for round in 0..1000 {
            // SAFETY: sizes are not zero, and each pointer is given back with its layout, in an order that leaves few of them last.
            unsafe {
                let owned: Vec<_> = (1..200_usize)
                    .map(|n| layout(n * 37 % 3000 + 1, 8))
                    .map(|l| (ARENA.alloc(l), l))
                    .collect();
                // Each as it is, smaller or larger.
                for (number, (pointer, old)) in owned.into_iter().enumerate() {
                    let size = [old.size(), old.size() / 3 + 1, old.size() * 2][number % 3];
                    let moved = ARENA.realloc(pointer, old, size);
                    ARENA.dealloc(moved, layout(size, 8));
                }
            }
            let used = ARENA.used.load(Relaxed);
            assert!(round < 2 || used == peak, "it grew from {peak} to {used} in round {round}");
            peak = used;
        }
    }

    /// Memory goes from thread to thread, and is given back by whoever has it last.
    #[test]
    fn what_other_threads_ask_for_is_not_of_the_block() {
        static ARENA: Arena = Arena::new();
        let own = layout(100, 8);
        // SAFETY: sizes are not zero, and each pointer is given back once, with its layout.
        unsafe {
            let (first, last) = (ARENA.alloc(own), ARENA.alloc(own));
            assert!(ARENA.offset(first).is_some());
            let sent = (first.addr(), first.expose_provenance());
            let theirs = std::thread::spawn(move || {
                let first = ptr::with_exposed_provenance_mut::<u8>(sent.1);
                assert!(ARENA.realloc(first, layout(100, 8), 90) == first);
                let grown = ARENA.realloc(first, layout(90, 8), 5000);
                assert!(ARENA.offset(grown).is_none());
                grown.expose_provenance()
            });
            let theirs = ptr::with_exposed_provenance_mut::<u8>(theirs.join().unwrap());
            ARENA.dealloc(theirs, layout(5000, 8));
            let next = ARENA.alloc(own);
            assert!(next.addr() != sent.0 && next != last, "what another thread gave back stays");
            ARENA.dealloc(next, own);
            ARENA.dealloc(last, own);
        }
    }

    #[test]
    fn zeroed_memory_is_zero_also_where_it_was_used_before() {
        static ARENA: Arena = Arena::new();
        for size in [100, LARGE + 1] {
            // SAFETY: the size is not zero, and each pointer is given back with its layout.
            unsafe {
                let (first, after) = (ARENA.alloc(layout(size, 8)), ARENA.alloc(layout(size, 8)));
                first.write_bytes(7, size);
                ARENA.dealloc(first, layout(size, 8));
                let again = ARENA.alloc_zeroed(layout(size, 8));
                check(again, size, 0);
                ARENA.dealloc(again, layout(size, 8));
                ARENA.dealloc(after, layout(size, 8));
            }
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

    #[test]
    fn last_words_are_said_once_and_have_memory_of_their_own() {
        static ARENA: Arena = Arena::new();
        static SAID: AtomicUsize = AtomicUsize::new(0);
        ARENA.end_with(4 * SIZE, || {
            SAID.fetch_add(1, Relaxed);
            // SAFETY: the size is not zero, and the pointer is given back with its layout.
            unsafe {
                let words = ARENA.alloc(layout(SIZE * 8, 8));
                assert!(words.is_null(), "there is no memory for anything large");
                let words = ARENA.alloc(layout(SIZE * 4 + 1, 1));
                assert!(words.is_null());
            }
        });
        // SAFETY: sizes are not zero, and each pointer is used with the layout that it has at that moment.
        unsafe {
            let pointer = ARENA.alloc(layout(3 * SIZE, 8));
            assert!(!pointer.is_null() && SAID.load(Relaxed) == 0);
            assert!(ARENA.alloc(layout(2 * SIZE, 8)).is_null());
            assert_eq!(SAID.load(Relaxed), 1);
            let last = ARENA.beyond.exhausted(layout(100, 8));
            last.write_bytes(7, 100);
            let moved = ARENA.realloc(last, layout(100, 8), 200);
            assert!(!moved.is_null());
            check(moved, 100, 7);
            ARENA.dealloc(last, layout(100, 8));
            assert!(ARENA.realloc(pointer, layout(3 * SIZE, 8), 9 * SIZE).is_null(), "the old one stays");
            ARENA.dealloc(pointer, layout(3 * SIZE, 8));
            assert_eq!(SAID.load(Relaxed), 1);
        }
    }

    #[test]
    fn what_the_system_gives_is_counted_until_it_is_given_back() {
        static ARENA: Arena = Arena::new();
        // SAFETY: sizes are not zero, and each pointer is used with the layout that it has at that moment.
        unsafe {
            let pointer = ARENA.alloc(layout(2 * SIZE, 8));
            assert_eq!(ARENA.beyond_block(), 2 * SIZE);
            let pointer = ARENA.realloc(pointer, layout(2 * SIZE, 8), 3 * SIZE);
            assert_eq!(ARENA.beyond_block(), 3 * SIZE);
            let pointer = ARENA.realloc(pointer, layout(3 * SIZE, 8), 2 * SIZE);
            assert_eq!(ARENA.beyond_block(), 2 * SIZE);
            ARENA.dealloc(pointer, layout(2 * SIZE, 8));
            assert_eq!(ARENA.beyond_block(), 0);
        }
    }
}
