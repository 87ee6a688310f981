//! The end of a program whose stack is over, or that touches memory which is not there: exit 2, with a word.
//!
//! Against whom: a call that makes the process that judges it run out of stack. By itself it would die of a signal, and hosts take that for
//! anything; exit 2 blocks in every host whose hooks are commands.
//!
//! It stands there before the standard library begins, which then makes no stack and no handlers of its own: five system calls less, two of
//! which change the map of the process, in a life of a third of a millisecond.

use std::cell::UnsafeCell;
use std::{mem, ptr};

/// A handler of a signal has a stack of its own, as the other one is over. More than any processor has to save.
const SIZE: usize = 64 * 1024;

#[repr(align(4096))]
struct Stack(UnsafeCell<[u8; SIZE]>);

// SAFETY: nobody touches it but the kernel, and the handler that runs on it, once.
unsafe impl Sync for Stack {}

static STACK: Stack = Stack(UnsafeCell::new([0; SIZE]));

const WORDS: &[u8] = b"toolgate: it ran out of stack or failed inside, so this call is denied\n";

extern "C" fn end(_: libc::c_int) {
    // SAFETY: both are system calls and nothing else, which a handler may do.
    unsafe {
        libc::write(2, WORDS.as_ptr().cast(), WORDS.len());
        libc::_exit(2);
    }
}

extern "C" fn before_main() {
    let stack = libc::stack_t { ss_sp: STACK.0.get().cast(), ss_flags: 0, ss_size: SIZE };
    // SAFETY: all zeros is a valid action; the stack is as long as it says and nobody else's; the handler makes system calls alone. There
    // is one thread, and nothing has run yet.
    unsafe {
        if libc::sigaltstack(&raw const stack, ptr::null_mut()) != 0 {
            return;
        }
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = end as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_RESETHAND;
        libc::sigaction(libc::SIGSEGV, &raw const action, ptr::null_mut());
        libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut());
    }
}

// SAFETY: the loader calls what stands in this section before `main`, without arguments or with ones that the function passes over.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;
