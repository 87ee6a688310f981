//! What some work asks of memory, for tests, fuzzers and benchmarks.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// The system's allocator, counting: for tests, fuzzers and benchmarks that hold code to a budget. How often memory is asked for
/// is how much is done, near enough, and is the same on every machine.
pub struct Counting {
    calls: AtomicUsize,
    bytes: AtomicUsize,
    live: AtomicUsize,
    peak: AtomicUsize,
}

/// What some work has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// How often memory was asked for.
    pub calls: usize,
    /// All bytes that were asked for, given back or not.
    pub bytes: usize,
    /// The most bytes that were held at one time, beyond those that were held before.
    pub peak: usize,
}

impl Counting {
    /// With nothing counted.
    #[must_use]
    pub const fn new() -> Counting {
        Counting {
            calls: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            live: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
        }
    }

    /// Works, and says what it took. Other threads that allocate meanwhile count too.
    pub fn measure<T>(&self, work: impl FnOnce() -> T) -> (T, Taken) {
        let (calls, bytes, live) = (&self.calls, &self.bytes, self.live.load(Relaxed));
        let before = (calls.load(Relaxed), bytes.load(Relaxed));
        self.peak.store(live, Relaxed);
        let out = work();
        let taken = Taken {
            calls: calls.load(Relaxed) - before.0,
            bytes: bytes.load(Relaxed) - before.1,
            peak: self.peak.load(Relaxed) - live,
        };
        (out, taken)
    }

    fn count(&self, size: usize) {
        self.calls.fetch_add(1, Relaxed);
        self.bytes.fetch_add(size, Relaxed);
        let live = self.live.fetch_add(size, Relaxed) + size;
        self.peak.fetch_max(live, Relaxed);
    }
}

impl Default for Counting {
    fn default() -> Counting {
        Counting::new()
    }
}

// SAFETY: every request goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count(layout.size());
        // SAFETY: the caller's promises are the same for both allocators.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.live.fetch_sub(layout.size(), Relaxed);
        // SAFETY: all memory came from the system's allocator, with this layout.
        unsafe { System.dealloc(pointer, layout) };
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.count(size);
        self.live.fetch_sub(layout.size(), Relaxed);
        // SAFETY: all memory came from the system's allocator, with this layout.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    #[test]
    fn what_was_taken_is_counted() {
        static COUNTING: Counting = Counting::new();
        // SAFETY: sizes are not zero, and each pointer is used with the layout that it has at that moment.
        let ((), taken) = COUNTING.measure(|| unsafe {
            let one = COUNTING.alloc(layout(100, 1));
            let two = COUNTING.alloc(layout(50, 1));
            COUNTING.dealloc(one, layout(100, 1));
            let two = COUNTING.realloc(two, layout(50, 1), 60);
            COUNTING.dealloc(two, layout(60, 1));
        });
        assert_eq!(taken, Taken { calls: 3, bytes: 210, peak: 150 });
    }
}
