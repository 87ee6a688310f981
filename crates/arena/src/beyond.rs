//! What lies beyond the block: large memory, the system's allocator, and what is said when there is no more.
//!
//! Against whom: a process that decides something must not end without a word because the machine, or a limit of the process, has no
//! memory left. Rust would abort, and many hosts take that for consent. So whoever answers may leave last words, which are said before
//! that, from memory that was set aside for them.

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicUsize};

use crate::large;

/// The kernel's pages are aligned to this.
const PAGE: usize = 4096;
/// Set aside for last words: enough for the answer of any host, several times over.
pub(crate) const RESERVE: usize = 32 * 1024;

pub(crate) struct Beyond {
    /// Bytes that the system's allocator has given and not got back.
    given: AtomicUsize,
    /// As many of these there may be, and what is said when there are no more.
    end: OnceLock<(usize, fn())>,
    /// There is no more memory, and the last words are being said.
    ended: AtomicBool,
    /// How much of the reserve is handed out.
    last: AtomicUsize,
    reserve: Reserve,
}

/// Memory that is there before the process begins.
#[repr(align(4096))]
struct Reserve(UnsafeCell<[u8; RESERVE]>);

// SAFETY: its bytes are handed out one range to one owner, by one atomic step each, and touched by nobody else.
unsafe impl Sync for Reserve {}

impl Beyond {
    #[expect(
        clippy::large_stack_arrays,
        reason = "an arena is a static, and is made before the program runs"
    )]
    pub(crate) const fn new() -> Beyond {
        Beyond {
            given: AtomicUsize::new(0),
            end: OnceLock::new(),
            ended: AtomicBool::new(false),
            last: AtomicUsize::new(0),
            reserve: Reserve(UnsafeCell::new([0; RESERVE])),
        }
    }

    pub(crate) fn end_with(&self, limit: usize, last_words: fn()) {
        let _ = self.end.set((limit, last_words));
    }

    pub(crate) fn given(&self) -> usize {
        self.given.load(Relaxed)
    }

    /// Counts what is asked of the system. `false` where that is too much.
    fn may_ask(&self, size: usize) -> bool {
        let before = self.given.fetch_add(size, Relaxed);
        self.end.get().is_none_or(|(limit, _)| before.saturating_add(size) <= *limit)
    }

    /// There is no memory for this: last words, then what was set aside.
    #[cold]
    pub(crate) fn exhausted(&self, layout: Layout) -> *mut u8 {
        if !self.ended.swap(true, AcqRel)
            && let Some((_, last_words)) = self.end.get()
        {
            last_words();
        }
        let mut last = self.last.load(Relaxed);
        loop {
            let start = last.checked_next_multiple_of(layout.align());
            let end = start.and_then(|start| start.checked_add(layout.size())).filter(|end| *end <= RESERVE);
            let (Some(start), Some(end), true) = (start, end, layout.align() <= PAGE) else {
                return ptr::null_mut();
            };
            match self.last.compare_exchange_weak(last, end, Relaxed, Relaxed) {
                // SAFETY: `start` is within the reserve, as `end` is at most its size.
                Ok(_) => return unsafe { self.reserve.0.get().cast::<u8>().add(start) },
                Err(now) => last = now,
            }
        }
    }

    /// Whether this pointer is one of the reserve, which takes nothing back.
    pub(crate) fn is_last(&self, pointer: *mut u8) -> bool {
        let reserve = self.reserve.0.get().addr();
        (reserve..reserve + RESERVE).contains(&pointer.addr())
    }

    /// # Safety
    /// As for [`std::alloc::GlobalAlloc::alloc`].
    pub(crate) unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are the same.
        self.asked(layout, || unsafe { large::alloc(layout) })
    }

    /// # Safety
    /// As for [`std::alloc::GlobalAlloc::alloc_zeroed`]. The reserve is handed out once, so it is zero too.
    pub(crate) unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are the same.
        self.asked(layout, || unsafe { large::alloc_zeroed(layout) })
    }

    fn asked(&self, layout: Layout, ask: impl FnOnce() -> *mut u8) -> *mut u8 {
        if self.may_ask(layout.size()) {
            let pointer = ask();
            if !pointer.is_null() {
                return pointer;
            }
        }
        self.given.fetch_sub(layout.size(), Relaxed);
        self.exhausted(layout)
    }

    /// # Safety
    /// As for [`std::alloc::GlobalAlloc::dealloc`], of a pointer that came from here.
    pub(crate) unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if !self.is_last(pointer) {
            self.given.fetch_sub(layout.size(), Relaxed);
            // SAFETY: what is not of the reserve came from there, with this layout.
            unsafe { large::dealloc(pointer, layout) };
        }
    }

    /// # Safety
    /// As for [`std::alloc::GlobalAlloc::realloc`], of a pointer that came from here.
    pub(crate) unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.is_last(pointer) {
            let more = size.saturating_sub(layout.size());
            if self.may_ask(more) {
                // SAFETY: what is not of the reserve came from there, with this layout.
                let moved = unsafe { large::realloc(pointer, layout, size) };
                if !moved.is_null() {
                    self.given.fetch_sub(layout.size().saturating_sub(size), Relaxed);
                    return moved;
                }
            }
            self.given.fetch_sub(more, Relaxed);
        }
        if size <= layout.size() {
            return pointer;
        }
        // SAFETY: the caller promises that `size`, rounded up to the alignment, is a valid size.
        let new = self.exhausted(unsafe { Layout::from_size_align_unchecked(size, layout.align()) });
        if !new.is_null() {
            // SAFETY: both are owned by the caller, do not overlap, and hold at least the old size.
            unsafe { ptr::copy_nonoverlapping(pointer, new, layout.size()) };
            // SAFETY: the old range is the caller's, with this layout.
            unsafe { self.dealloc(pointer, layout) };
        }
        new
    }
}
