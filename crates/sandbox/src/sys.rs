//! The system calls that have no safe form. All `unsafe` of this crate is in this file.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::mount::MountAttrFlags;
use rustix::process::Pid;

use crate::filter::Program;

/// Which of two processes this is.
pub(crate) enum Fork {
    /// The one that was there, and its new child.
    Parent(Pid),
    /// The new one.
    Child,
}

/// Makes a child, in these new namespaces where there are any (`CLONE_NEW…`).
///
/// The caller must be the only thread: a lock that another one holds would stay locked in the child.
pub(crate) fn fork(namespaces: u64) -> io::Result<Fork> {
    refuse_threads()?;
    let flags = namespaces | u64::from(libc::SIGCHLD.cast_unsigned());
    // SAFETY: without CLONE_VM and a stack of its own this is `fork`: the child has a copy of all memory. There is one thread,
    // so no lock is left held. The C library caches nothing of the process but its thread id, which nobody here asks it for.
    // Not `clone3`, which is absent in a sandbox like this one.
    let made = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    match i32::try_from(made) {
        Ok(0) => Ok(Fork::Child),
        // INVARIANT: a failure is no child. `-1` as a process means every process of the user.
        Ok(pid) if pid > 0 => Pid::from_raw(pid).map(Fork::Parent).ok_or_else(io::Error::last_os_error),
        Ok(_) | Err(_) => Err(io::Error::last_os_error()),
    }
}

fn refuse_threads() -> io::Result<()> {
    // SAFETY: the flag changes nothing. The kernel takes it from a process with one thread alone.
    let done = unsafe { libc::syscall(libc::SYS_unshare, libc::CLONE_THREAD) };
    // Where somebody forbids the call, the process is counted.
    if done == 0 || std::fs::read_dir("/proc/self/task")?.count() == 1 {
        return Ok(());
    }
    Err(io::Error::other("a process with threads cannot be forked"))
}

/// How much a child of `fork_to_become` can put on its stack. Less than a huge page, all of which the kernel would have to clear.
const STACK: usize = 1 << 20;

/// Makes a child for `body`, which becomes another program or ends. This process waits until it has.
///
/// The child uses this process's own memory instead of a copy, which is most of what a fork costs. Whatever it writes there stays.
pub(crate) fn fork_to_become<F: FnMut()>(body: &mut F) -> io::Result<Pid> {
    extern "C" fn start<F: FnMut()>(body: *mut libc::c_void) -> libc::c_int {
        // SAFETY: `clone` below passes a pointer to an `F` that nobody else uses until this process is gone.
        let body = unsafe { &mut *body.cast::<F>() };
        body();
        exit_at_once(125)
    }
    refuse_threads()?;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at a place of the kernel's choice touches nothing that is there.
    let stack = unsafe { libc::mmap(std::ptr::null_mut(), STACK, protection, kind, -1, 0) };
    if stack == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the child has a stack of its own, so it does not touch this one's frames. The only thread of this process is stopped
    // until the child has another program's memory or is gone, so the two never run in the same memory at once; what the
    // child leaves there is whole, since it stops between two instructions of its own choice: at `execve` or `_exit`. This is what
    // `posix_spawn` does. Should the child be killed in between, an allocation of its own is lost.
    let made = unsafe { libc::clone(start::<F>, stack.byte_add(STACK), flags, (&raw mut *body).cast()) };
    // The stack is left where it is, since a process makes one such child: to remove it, the kernel would have to interrupt the processor that the
    // child was on, and wait for it.
    // INVARIANT: a failure is no child. `-1` as a process means every process of the user.
    let error = io::Error::last_os_error();
    if made > 0 { Pid::from_raw(made).ok_or(error) } else { Err(error) }
}

/// How much the witness can put on its stack.
const WITNESS_STACK: usize = 64 << 10;
/// One more than the largest number of a signal.
const SIGNALS: usize = 65;

/// A process that stays in the group of a command, so that somebody of ours is sent what the whole group is sent. It does nothing but
/// answer whether a signal has come to it.
pub(crate) struct Witness {
    process: libc::pid_t,
    asks: OwnedFd,
    answers: OwnedFd,
}

impl Witness {
    /// Makes one in the group of this process. `signals` are held here, and so they are there.
    pub(crate) fn start(signals: &Signals) -> io::Result<Witness> {
        extern "C" fn start(streams: *mut libc::c_void) -> libc::c_int {
            // SAFETY: `clone` below passes a pointer to three numbers in a mapping that nobody else uses, and that is never removed.
            bear_witness(unsafe { *streams.cast::<[i32; 3]>() })
        }
        let (asked, asks) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let (answers, answer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let streams = [signals.descriptor.as_raw_fd(), asked.as_raw_fd(), answer.as_raw_fd()];
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
        // SAFETY: a new mapping at a place of the kernel's choice touches nothing that is there.
        let stack = unsafe { libc::mmap(std::ptr::null_mut(), WITNESS_STACK, protection, kind, -1, 0) };
        if stack == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the first bytes of a new mapping are aligned for anything, and its stack grows from the other end. The child has that
        // stack and descriptors of its own. It uses memory of this process besides, which is quicker than a copy of it, but touches nothing
        // there but code and its own frames: no allocation, no thread-local value, no call of the C library that could fail and set `errno`.
        // Without a signal for its end it is no child that `wait` knows of, so a keeper that has no others is alone.
        let made = unsafe {
            stack.cast::<[i32; 3]>().write(streams);
            libc::clone(start, stack.byte_add(WITNESS_STACK), libc::CLONE_VM, stack)
        };
        // INVARIANT: a failure is no child. `-1` as a process means every process of the user.
        if made <= 0 {
            return Err(io::Error::last_os_error());
        }
        drop((asked, answer));
        let witness = Witness { process: made, asks, answers };
        // Once it says so it has no copy of a lock any more, nor of a stream of the command.
        match rustix::io::read(&witness.answers, &mut [0]) {
            Ok(1) => Ok(witness),
            Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a process has sent this signal to the group. Asked once for each time.
    pub(crate) fn has_seen(&self, number: i32) -> bool {
        let mut answer = [0];
        let asked = rustix::io::write(&self.asks, number.to_ne_bytes().get(..1).unwrap_or_default());
        matches!((asked, rustix::io::read(&self.answers, &mut answer)), (Ok(1), Ok(1))) && answer == [1]
    }

    /// The descriptors that it needs.
    pub(crate) fn held(&self) -> [&OwnedFd; 2] {
        [&self.asks, &self.answers]
    }

    /// Whether it has ended. Nobody else is told of that.
    pub(crate) fn has_ended(&self) -> bool {
        // SAFETY: a child of ours, by its number; nothing is written anywhere.
        unsafe { libc::waitpid(self.process, std::ptr::null_mut(), libc::WNOHANG | libc::__WALL) != 0 }
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        if !self.has_ended() {
            // SAFETY: it has not been waited for, so the number is still its own.
            unsafe {
                libc::kill(self.process, libc::SIGKILL);
                libc::waitpid(self.process, std::ptr::null_mut(), libc::__WALL);
            }
        }
    }
}

/// What a witness does until nobody can ask it any more. `streams`: its signals, questions and answers.
fn bear_witness([signals, asked, answers]: [i32; 3]) -> ! {
    use rustix::event::{PollFd, PollFlags, poll};
    let mut kept = [signals, asked, answers].map(i32::cast_unsigned);
    kept.sort_unstable();
    let [low, middle, high] = kept;
    // No stream of the command: whoever reads its output waits until nobody has it.
    for (first, last) in [(0, low), (low + 1, middle), (middle + 1, high), (high + 1, u32::MAX)] {
        let last = if last == u32::MAX { Some(last) } else { last.checked_sub(1) };
        if let Some(last) = last.filter(|last| *last >= first) {
            // SAFETY: the descriptors are a copy for this process, and it uses no other from here on.
            unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        }
    }
    // SAFETY: the three are open in this process as long as it lives, and the call before them has no pointers.
    let (signals, asked, answers) = unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        let borrow = |handle| std::os::fd::BorrowedFd::borrow_raw(handle);
        (borrow(signals), borrow(asked), borrow(answers))
    };
    let mut seen = [false; SIGNALS];
    let _ = rustix::io::write(answers, &[0]);
    loop {
        let mut polled = [
            PollFd::from_borrowed_fd(signals, PollFlags::IN),
            PollFd::from_borrowed_fd(asked, PollFlags::IN),
        ];
        if !matches!(poll(&mut polled, None), Ok(_) | Err(rustix::io::Errno::INTR)) {
            exit_at_once(1);
        }
        let [_, question] = polled;
        // What has come by now, and then the question.
        let mut told = [0; size_of::<libc::signalfd_siginfo>()];
        while let Ok(read) = rustix::io::read(signals, &mut told)
            && read == told.len()
        {
            // SAFETY: the kernel has filled in a whole structure, and any bytes are a valid value of it.
            let told: libc::signalfd_siginfo = unsafe { std::ptr::read_unaligned(told.as_ptr().cast()) };
            let number = usize::try_from(told.ssi_signo).unwrap_or(usize::MAX);
            if let Some(seen) = seen.get_mut(number).filter(|_| told.ssi_code <= 0) {
                *seen = true;
            }
        }
        if question.revents().is_empty() {
            continue;
        }
        let mut number = [0];
        if rustix::io::read(asked, &mut number) != Ok(1) {
            exit_at_once(0);
        }
        let [number] = number;
        let was_seen = seen.get_mut(usize::from(number)).is_some_and(std::mem::take);
        let _ = rustix::io::write(answers, &[u8::from(was_seen)]);
    }
}

/// How much whoever makes a file system aside can put on its stack.
const ASIDE_STACK: usize = 64 << 10;

/// What a process and the one aside have in common, at the beginning of the latter's stack.
struct Shared {
    context: i32,
    attributes: MountAttrFlags,
    /// One more than the descriptor of the mount, once there is one.
    made: AtomicI32,
}

/// A process that has the kernel make a file system, while this one goes on: for a layer the kernel changes the disk a dozen times.
pub(crate) struct Aside {
    process: libc::pid_t,
    stack: *mut libc::c_void,
    /// Open until the process is gone, which uses it by its number.
    _context: OwnedFd,
}

impl Aside {
    /// Has the file system made whose options were told to the kernel by this handle.
    pub(crate) fn make(context: OwnedFd, attributes: MountAttrFlags) -> io::Result<Aside> {
        extern "C" fn start(shared: *mut libc::c_void) -> libc::c_int {
            // SAFETY: `clone` below passes a pointer to such a structure, which is there until this process has been waited for.
            make_aside(unsafe { &*shared.cast::<Shared>() })
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
        // SAFETY: a new mapping at a place of the kernel's choice touches nothing that is there.
        let stack = unsafe { libc::mmap(std::ptr::null_mut(), ASIDE_STACK, protection, kind, -1, 0) };
        if stack == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let shared = Shared { context: context.as_raw_fd(), attributes, made: AtomicI32::new(0) };
        // SAFETY: the first bytes of a new mapping are aligned for anything, and its stack grows from the other end. The child uses memory
        // and descriptors of this process, but touches nothing there but code, its own frames and an atomic value: no allocation, no
        // thread-local value, no call of the C library that could fail and set `errno`. Both the mapping and the handle stay until it has
        // been waited for.
        let process = unsafe {
            stack.cast::<Shared>().write(shared);
            libc::clone(start, stack.byte_add(ASIDE_STACK), libc::CLONE_VM | libc::CLONE_FILES, stack)
        };
        let error = io::Error::last_os_error();
        // INVARIANT: a failure is no child. `-1` as a process means every process of the user.
        if process > 0 {
            return Ok(Aside { process, stack, _context: context });
        }
        // SAFETY: nobody uses it.
        unsafe { libc::munmap(stack, ASIDE_STACK) };
        Err(error)
    }

    /// The mount, once it is made. `None`: it could not be made.
    pub(crate) fn finish(mut self) -> Option<OwnedFd> {
        self.wait()
    }

    fn wait(&mut self) -> Option<OwnedFd> {
        // SAFETY: a child of ours that has not been waited for, by its number; nothing is written anywhere.
        while unsafe { libc::waitpid(self.process, std::ptr::null_mut(), libc::__WALL) } < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        // SAFETY: the mapping is there, and nobody else uses it any more.
        let made = unsafe { (*self.stack.cast::<Shared>()).made.swap(0, Ordering::Acquire) };
        // SAFETY: the kernel has made it for us, in the table of descriptors that both had, and whoever swaps has it alone.
        (made > 0).then(|| unsafe { OwnedFd::from_raw_fd(made - 1) })
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // A second time nobody is there to be waited for, and nothing is left to be closed. The stack is left where it is: as in `fork_to_become`.
        drop(self.wait());
    }
}

/// What the process aside does.
fn make_aside(shared: &Shared) -> ! {
    use rustix::mount::{FsMountFlags, fsconfig_create, fsmount};
    // SAFETY: open in both processes until this one has been waited for.
    let context = unsafe { std::os::fd::BorrowedFd::borrow_raw(shared.context) };
    let made = fsconfig_create(context)
        .and_then(|()| fsmount(context, FsMountFlags::FSMOUNT_CLOEXEC, shared.attributes));
    if let Ok(made) = made {
        shared.made.store(std::os::fd::IntoRawFd::into_raw_fd(made) + 1, Ordering::Release);
    }
    exit_at_once(0)
}

/// A rule of Landlock: these rights at what is behind a handle, and below it.
pub(crate) fn add_landlock_rule(ruleset: &OwnedFd, place: impl AsFd, rights: u64) -> io::Result<()> {
    #[repr(C, packed)]
    struct PathBeneath {
        rights: u64,
        place: i32,
    }
    const PATH_BENEATH: u32 = 1;
    let rule = PathBeneath { rights, place: place.as_fd().as_raw_fd() };
    // SAFETY: the pointer is to a whole structure of this kind of rule, which outlives the call.
    let done = unsafe {
        libc::syscall(libc::SYS_landlock_add_rule, ruleset.as_raw_fd(), PATH_BENEATH, &raw const rule, 0)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// From now on this thread, and what it starts, has the rights that these rules give.
pub(crate) fn restrict_by_landlock(ruleset: &OwnedFd) -> io::Result<()> {
    // SAFETY: a call without pointers.
    let done = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has the kernel run this program for every system call of this thread from now on.
pub(crate) fn install(program: &Program) -> io::Result<()> {
    let code = program.code();
    let program = libc::sock_fprog {
        len: u16::try_from(code.len()).map_err(io::Error::other)?,
        filter: code.as_ptr().cast_mut(),
    };
    // SAFETY: the pointer and the length describe a slice that lives for the program's whole life, which the kernel copies.
    let done =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has the kernel run this program as well, and gives a handle that tells of the calls that it stops at. An error: this kernel cannot, or
/// somebody listens already.
pub(crate) fn install_listener(program: &Program) -> io::Result<OwnedFd> {
    let code = program.code();
    let program = libc::sock_fprog {
        len: u16::try_from(code.len()).map_err(io::Error::other)?,
        filter: code.as_ptr().cast_mut(),
    };
    let install = |flags: libc::c_ulong| {
        // SAFETY: as in `install`. What comes back is a new descriptor, which is owned at once, or an error.
        let made = unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
        };
        match i32::try_from(made) {
            // SAFETY: the kernel has just made it for us.
            Ok(made) if made >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(made) }),
            _ => Err(io::Error::last_os_error()),
        }
    };
    let listener = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // A call that was told of is not told of again because of a signal. Linux 5.19.
    match install(listener | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => install(listener),
        done => done,
    }
}

/// A call that waits for an answer.
pub(crate) struct Notification {
    pub(crate) id: u64,
    /// The thread that made it, as this process names it.
    pub(crate) process: u32,
    pub(crate) call: libc::c_long,
    pub(crate) arguments: [u64; 6],
}

/// The next call. Waits where there is none.
pub(crate) fn next_notification(listener: &OwnedFd) -> io::Result<Notification> {
    // SAFETY: all zeros is a valid value of this plain structure, and what the kernel demands before it fills it in.
    let mut told: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the request writes one such structure, which outlives the call.
    let done = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut told) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    let call = libc::c_long::from(told.data.nr);
    Ok(Notification { id: told.id, process: told.pid, call, arguments: told.data.args })
}

/// Whether whoever made a call still waits.
pub(crate) fn is_waiting(listener: &OwnedFd, mut id: u64) -> bool {
    // SAFETY: the request reads one number, which outlives the call.
    let done = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw mut id) };
    done == 0
}

/// Has the kernel go on with a call as if nobody had been told.
pub(crate) fn let_continue(listener: &OwnedFd, id: u64) -> io::Result<()> {
    let flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).map_err(io::Error::other)?;
    let mut answer = libc::seccomp_notif_resp { id, val: 0, error: 0, flags };
    // SAFETY: the request reads one such structure, which outlives the call.
    let done = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has the kernel wake the two sides on the same processor, which is quicker. Linux 6.6; elsewhere nothing changes.
pub(crate) fn wake_at_once(listener: &OwnedFd) {
    const SYNC_WAKE_UP: u64 = 1;
    // SAFETY: the argument is a number and no pointer.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP) };
}

/// Ends this process, and runs nothing of what a program does at its end: it is a copy of another one.
pub(crate) fn exit_at_once(code: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

/// Sets attributes of the mount behind a handle, and of all below it if `recursive`.
pub(crate) fn set_mount_attributes(mount: impl AsFd, attributes: u64, recursive: bool) -> io::Result<()> {
    let mut wanted = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: all pointers are to values that outlive the call, and the size is that of the structure.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw mut wanted,
            size_of::<libc::mount_attr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Switches the loopback of this network namespace on.
pub(crate) fn start_loopback() -> io::Result<()> {
    // SAFETY: an ordinary call without pointers; the descriptor it gives is owned below and nowhere else.
    let socket = unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(socket)
    };
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(*b"lo") {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    request.ifr_ifru.ifru_flags =
        i16::try_from(libc::IFF_UP | libc::IFF_RUNNING).map_err(io::Error::other)?;
    // SAFETY: the request is a whole `ifreq` and outlives the call.
    let done =
        unsafe { libc::syscall(libc::SYS_ioctl, socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// No descriptor but the three streams is passed on to what is started.
pub(crate) fn keep_streams_only() -> io::Result<()> {
    // SAFETY: only marks descriptors to be closed when a program is started; none is closed under anybody's hands.
    let done = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Closes every descriptor but these. For a process that does nothing any more but wait.
pub(crate) fn keep_only(kept: &[&OwnedFd]) {
    let mut kept: Vec<u32> = kept.iter().map(|kept| kept.as_raw_fd().cast_unsigned()).collect();
    kept.sort_unstable();
    let mut first = 0;
    for next in kept.into_iter().map(Some).chain([None]) {
        let last = next.map_or(Some(u32::MAX), |next| next.checked_sub(1));
        if let Some(last) = last.filter(|last| *last >= first) {
            // SAFETY: the caller uses no other descriptor from here on.
            unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        }
        first = next.map_or(u32::MAX, |next| next + 1);
    }
}

/// Has the kernel send this process `SIGIO` whenever something is made in a directory or moved into it, until the descriptor is closed.
pub(crate) fn tell_of_new_names(directory: &OwnedFd) -> io::Result<()> {
    // From the kernel's `fcntl.h`: a file was made.
    tell_of(directory, 0x4)
}

/// The same for what is removed from a directory, renamed in it or moved out of it, and for a change of its mode or of what is in it.
pub(crate) fn tell_of_lost_names(directory: &OwnedFd) -> io::Result<()> {
    tell_of(directory, 0x8 | 0x10 | 0x20)
}

fn tell_of(directory: &OwnedFd, what: libc::c_ulong) -> io::Result<()> {
    // From the kernel's `fcntl.h`, the second for: not only once.
    const F_NOTIFY: libc::c_int = 1026;
    const MANY_TIMES: libc::c_ulong = 0x8000_0000;
    let handle = directory.as_raw_fd();
    // SAFETY: both take a descriptor that is open and a number. Whoever was told before by the same opening is not told any more.
    let is_set = unsafe {
        libc::fcntl(handle, libc::F_SETOWN, libc::getpid()) == 0
            && libc::fcntl(handle, F_NOTIFY, what | MANY_TIMES) == 0
    };
    if is_set { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A lock on one byte, for this opening of a file.
fn byte_lock(kind: libc::c_int, byte: u64) -> io::Result<libc::flock> {
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::c_short::try_from(kind).map_err(io::Error::other)?;
    lock.l_whence = libc::c_short::try_from(libc::SEEK_SET).map_err(io::Error::other)?;
    lock.l_start = libc::off_t::try_from(byte).map_err(io::Error::other)?;
    lock.l_len = 1;
    Ok(lock)
}

/// Shares a lock on one byte of a file with others who do, until the last copy of the descriptor is closed.
pub(crate) fn lock_byte(file: &OwnedFd, byte: u64) -> io::Result<()> {
    let lock = byte_lock(libc::F_RDLCK, byte)?;
    // SAFETY: the request reads one such structure, which outlives the call.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLKW, &raw const lock) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether somebody else has a lock on one byte of a file. Takes none.
pub(crate) fn is_byte_locked(file: &OwnedFd, byte: u64) -> io::Result<bool> {
    let mut lock = byte_lock(libc::F_WRLCK, byte)?;
    // SAFETY: the request reads one such structure and writes to it; it outlives the call.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
    if done == 0 { Ok(i32::from(lock.l_type) != libc::F_UNLCK) } else { Err(io::Error::last_os_error()) }
}

/// Signals as a descriptor: blocked, and read one by one.
pub(crate) struct Signals {
    before: libc::sigset_t,
    descriptor: OwnedFd,
}

/// One signal that has come.
pub(crate) struct Signal {
    pub(crate) number: i32,
    /// A process has sent it, and not the terminal or the kernel.
    pub(crate) from_process: bool,
}

impl Signals {
    /// Blocks these signals from now on.
    pub(crate) fn hold(numbers: &[i32]) -> io::Result<Signals> {
        // SAFETY: all zeros is a valid set; the calls write to sets that are ours, and the descriptor is owned at once.
        unsafe {
            let (mut held, mut before): (libc::sigset_t, libc::sigset_t) =
                (std::mem::zeroed(), std::mem::zeroed());
            libc::sigemptyset(&raw mut held);
            for number in numbers {
                libc::sigaddset(&raw mut held, *number);
            }
            if libc::sigprocmask(libc::SIG_BLOCK, &raw const held, &raw mut before) != 0 {
                return Err(io::Error::last_os_error());
            }
            let descriptor = libc::signalfd(-1, &raw const held, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Signals { before, descriptor: OwnedFd::from_raw_fd(descriptor) })
        }
    }

    /// What can be waited for.
    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.descriptor
    }

    /// Signals as they were before, for a program that is about to be started.
    pub(crate) fn release(&self) {
        // SAFETY: restores a set that `sigprocmask` itself has written.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }

    /// The next one that has come.
    pub(crate) fn next(&self) -> Option<Signal> {
        // SAFETY: all zeros is a valid value of this plain structure.
        let mut told: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: reads at most the size of the structure into it.
        let read = unsafe { libc::read(self.descriptor.as_raw_fd(), (&raw mut told).cast(), size) };
        if usize::try_from(read) != Ok(size) {
            return None;
        }
        let number = told.ssi_signo.cast_signed();
        Some(Signal { number, from_process: told.ssi_code <= 0 })
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // One that tells of a new name may still be on its way, and would end us.
        let mut after = self.before;
        // SAFETY: both write to a set that is ours, or read it.
        unsafe {
            libc::sigaddset(&raw mut after, libc::SIGIO);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const after, std::ptr::null_mut());
        }
    }
}

/// Becomes this program, found along `PATH` of these variables. Comes back only where that failed.
pub(crate) fn become_program(command: &[OsString], environment: &[(OsString, OsString)]) -> io::Error {
    let text = |text: &OsStr| CString::new(text.as_bytes()).ok();
    let (Some(name), Some(words)) =
        (command.first(), command.iter().map(|word| text(word)).collect::<Option<Vec<_>>>())
    else {
        return io::Error::new(io::ErrorKind::InvalidInput, "a word of the command holds a NUL");
    };
    let pairs = environment
        .iter()
        .filter_map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).ok());
    let pairs: Vec<CString> = pairs.collect();
    let pointers = |texts: &[CString]| {
        texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect::<Vec<_>>()
    };
    let (arguments, variables) = (pointers(&words), pointers(&pairs));
    // A program of Rust ignores it from its start, and what is ignored stays so: `yes | head` would complain.
    // SAFETY: the default action runs no code here.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
    let mut last = io::Error::from_raw_os_error(libc::ENOENT);
    for place in places(name, path.as_deref()) {
        // SAFETY: both lists end in a null pointer, and the texts behind them live until the call is over.
        unsafe { libc::execve(place.as_ptr(), arguments.as_ptr(), variables.as_ptr()) };
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR) => {}
            Some(libc::EACCES) => last = error,
            _ => return error,
        }
    }
    last
}

/// Where a program may be.
fn places(name: &OsStr, path: Option<&OsStr>) -> Vec<CString> {
    if name.as_bytes().contains(&b'/') {
        return CString::new(name.as_bytes()).into_iter().collect();
    }
    let path = path.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    let joined = path.as_bytes().split(|byte| *byte == b':').map(|directory| {
        let directory = if directory.is_empty() { b"." } else { directory };
        CString::new([directory, b"/", name.as_bytes()].concat())
    });
    joined.filter_map(Result::ok).collect()
}
