//! Signals of this process, on every system: which ones do not end it, and how it ends as a command did.

/// A write past the largest size that a file may have becomes an error, instead of ending this process and those that it
/// starts.
pub fn outlive_file_limit() {
    // SAFETY: ignoring a signal installs no handler of ours and touches no memory.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// From now on a write to a pipe that nobody reads is an error, and not the end.
pub fn outlive_closed_pipes() {
    // SAFETY: ignoring a signal installs no handler of ours and touches no memory.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

/// Ends this process by a signal, whatever was to become of it here. Comes back where the signal ends nobody.
pub(crate) fn die_by(signal: i32) {
    // SAFETY: all zeros is a valid set; the calls only read and write a set that is ours. The default action runs no code here.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::signal(signal, libc::SIG_DFL);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        libc::kill(libc::getpid(), signal);
    }
}
