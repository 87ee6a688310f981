//! The beginning of a program that lives a third of a millisecond.
//!
//! Why: before `main` the standard library looks at descriptors, installs handlers of signals and remembers the thread. That is more than a tenth of what
//! a program costs that does nothing. What of it is needed, whoever begins this way does by themselves: closed descriptors are opened, a
//! closed pipe is outlived. What is done when the stack is over stands in this crate already.

use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

/// Makes `main` of a function that takes the words of the command line and gives an exit code. The program is marked `#![no_main]`.
///
/// `std::env::args_os` may know of no words in such a program.
#[macro_export]
macro_rules! begin_with {
    ($begin:path) => {
        // SAFETY: no other function of a program has this name, and the C library calls it with what it says.
        #[unsafe(no_mangle)]
        extern "C" fn main(
            count: ::std::ffi::c_int,
            words: *const *const ::std::ffi::c_char,
        ) -> ::std::ffi::c_int {
            // SAFETY: that is how the C library calls it.
            let words = unsafe { $crate::start::words(count, words) };
            $crate::start::number($begin(words))
        }
    };
}

/// The words of the command line.
///
/// # Safety
/// What the C library gives to `main`: so many pointers to texts that end with a NUL and stay for ever.
#[must_use]
pub unsafe fn words(count: c_int, words: *const *const c_char) -> Vec<OsString> {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the caller promises that there are so many.
    let word = |number| unsafe { CStr::from_ptr(*words.add(number)) };
    (0..count).map(|number| OsStr::from_bytes(word(number).to_bytes()).to_owned()).collect()
}

/// The number of an exit code, which does not tell it.
#[must_use]
pub fn number(code: ExitCode) -> c_int {
    (0..=u8::MAX).find(|number| ExitCode::from(*number) == code).map_or(2, c_int::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_come_through() {
        let texts = [c"toolgate", c"hook", c"\xff", c""];
        let pointers = texts.map(CStr::as_ptr);
        // SAFETY: so many pointers to texts that stay.
        let words = unsafe { words(4, pointers.as_ptr()) };
        let wanted = [&b"toolgate"[..], b"hook", b"\xff", b""].map(OsStr::from_bytes);
        assert_eq!(words, wanted);
        for code in 0..=u8::MAX {
            assert_eq!(number(ExitCode::from(code)), c_int::from(code));
        }
    }
}
