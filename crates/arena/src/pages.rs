//! What the kernel is asked about pages beyond mapping them: each call with a portable way beside it. None of them is needed, so where a
//! system does not have one, nothing is done.

use std::ptr::NonNull;

/// Has large pages put here when it is touched.
///
/// # Safety
/// The range is mapped, the caller's alone, and holds nothing yet.
pub(crate) unsafe fn prefer_large(start: *mut u8, length: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: advice changes nothing of what a range holds; the caller owns it.
    let _ = unsafe { rustix::mm::madvise(start.cast(), length, rustix::mm::Advice::LinuxHugepage) };
    #[cfg(not(target_os = "linux"))]
    let _ = (start, length);
}

/// Has pages put here at once. What lies there stays as it is.
///
/// # Safety
/// The range is mapped, and the caller's alone.
pub(crate) unsafe fn populate(start: *mut u8, length: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: advice changes nothing of what a range holds; the caller owns it.
    let _ = unsafe { rustix::mm::madvise(start.cast(), length, rustix::mm::Advice::LinuxPopulateWrite) };
    #[cfg(not(target_os = "linux"))]
    let _ = (start, length);
}

/// Moves pages to the beginning of another mapping. False where they are still where they were, and have to be copied.
///
/// # Safety
/// Both ranges are mapped and the caller's, `to` holds at least `length` bytes and nothing of worth. Where this is true, `from` is gone.
pub(crate) unsafe fn move_to(from: *mut u8, length: usize, to: NonNull<u8>) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::mm::{MremapFlags, mremap_fixed};
        let flags = MremapFlags::MAYMOVE;
        // SAFETY: the caller promises that both are its own and do not overlap.
        unsafe { mremap_fixed(from.cast(), length, length, flags, to.as_ptr().cast()) }.is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (from, length, to);
        false
    }
}
