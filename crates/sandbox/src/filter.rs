//! The seccomp programs. They are built when this crate is compiled, so a launch only hands them to the kernel.
//!
//! A filter sees numbers, not paths. This file lists the calls that no contained command needs and that would lead out of the
//! sandbox or reach the least tested parts of the kernel. Everything else is left to Landlock and to the namespaces.
//!
//! When a program is installed, the kernel runs it for each of some 460 numbers, to know which calls always pass. A list of calls, one after the other,
//! takes it 0.2 ms; so the build turns the list into a search by number, which takes a quarter of that.
//!
//! Only the low half of an argument is compared where the kernel itself takes 32 bits, so a high half cannot hide a value.

use libc::{
    AF_INET, AF_INET6, AF_NETLINK, AF_UNIX, CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS,
    CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWUTS, ENOSYS, EPERM, O_ACCMODE, O_TRUNC, SECCOMP_RET_ALLOW,
    SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_USER_NOTIF, SOCK_SEQPACKET, SOCK_STREAM,
    TIOCLINUX, TIOCSETD, TIOCSTI, c_long, sock_filter,
};

/// A program that the kernel runs for each system call.
pub(crate) struct Program {
    code: [sock_filter; Program::MOST],
    length: usize,
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

const LOAD: u16 = 0x20;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ANY_BIT: u16 = 0x45;
const AND: u16 = 0x54;
const RETURN: u16 = 0x06;

const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

/// A namespace that would give rights over what is in it.
const NAMESPACES: u32 = (
    CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWUTS
    // CLONE_NEWTIME, which shares its bit with the exit signal of `clone` and counts in `unshare` alone.
) as u32;

/// The part of a socket's type that is not flags.
const SOCKET_TYPE: u32 = 0xf;
const PRIO_PROCESS: u32 = 0;
const IOPRIO_WHO_PROCESS: u32 = 1;

/// Linux 6.15; the same number on every machine. The C library's table does not have it yet.
const OPEN_TREE_ATTR: libc::c_long = 467;
/// Linux 6.17. Sets flags of a file by its path; programs that find it missing open the file instead.
const FILE_SETATTR: libc::c_long = 469;
/// By number, since `libc` does not have it on aarch64 with musl.
#[cfg(target_arch = "x86_64")]
const KEXEC_FILE_LOAD: libc::c_long = 320;
#[cfg(target_arch = "aarch64")]
const KEXEC_FILE_LOAD: libc::c_long = 294;

impl Program {
    const MOST: usize = 448;
    /// How many numbers are compared one after the other at the end of the search.
    const FEW: usize = 4;

    pub(crate) fn code(&self) -> &[sock_filter] {
        self.code.get(..self.length).unwrap_or_default()
    }

    /// Another machine's calls kill: their numbers mean other things.
    const fn start() -> Program {
        let nothing = sock_filter { code: 0, jt: 0, jf: 0, k: 0 };
        let program = Program { code: [nothing; Program::MOST], length: 0 }
            .then(LOAD, 0, 0, ARCH)
            .then(EQUAL, 1, 0, ARCHITECTURE)
            .then(RETURN, 0, 0, SECCOMP_RET_KILL_PROCESS)
            .then(LOAD, 0, 0, NUMBER);
        if cfg!(target_arch = "x86_64") {
            // The x32 numbers: the same calls once more.
            program.then(AT_LEAST, 0, 1, 0x4000_0000).then(RETURN, 0, 0, errno(ENOSYS))
        } else {
            program
        }
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "evaluated by the compiler, which rejects a program that is too long"
    )]
    const fn then(mut self, code: u16, jt: u8, jf: u8, k: u32) -> Program {
        self.code[self.length] = sock_filter { code, jt, jf, k };
        self.length += 1;
        self
    }

    const fn answer(self, call: c_long, error: i32) -> Program {
        self.then(EQUAL, 0, 1, number(call)).then(RETURN, 0, 0, errno(error))
    }

    const fn refuse(self, call: c_long) -> Program {
        self.answer(call, EPERM)
    }

    #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
    const fn refuse_all(mut self, calls: &[c_long]) -> Program {
        let mut at = 0;
        while at < calls.len() {
            self = self.refuse(calls[at]);
            at += 1;
        }
        self
    }

    /// Whoever listens is told first.
    #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
    const fn tell_of(mut self, calls: &[c_long]) -> Program {
        let mut at = 0;
        while at < calls.len() {
            self = self.then(EQUAL, 0, 1, number(calls[at])).then(RETURN, 0, 0, SECCOMP_RET_USER_NOTIF);
            at += 1;
        }
        self
    }

    /// Whoever listens is told first, unless the argument is zero.
    const fn tell_of_argument(self, call: c_long, index: u32) -> Program {
        self.then(EQUAL, 0, 4, number(call))
            .then(LOAD, 0, 0, argument(index))
            .then(EQUAL, 1, 0, 0)
            .then(RETURN, 0, 0, SECCOMP_RET_USER_NOTIF)
            .then(LOAD, 0, 0, NUMBER)
    }

    /// Refused where the argument has one of these bits.
    const fn refuse_bits(self, call: c_long, index: u32, bits: u32) -> Program {
        self.then(EQUAL, 0, 4, number(call))
            .then(LOAD, 0, 0, argument(index))
            .then(ANY_BIT, 0, 1, bits)
            .then(RETURN, 0, 0, errno(EPERM))
            .then(LOAD, 0, 0, NUMBER)
    }

    /// Refused where the argument is this.
    const fn refuse_value(self, call: c_long, index: u32, value: u32) -> Program {
        self.then(EQUAL, 0, 4, number(call))
            .then(LOAD, 0, 0, argument(index))
            .then(EQUAL, 0, 1, value)
            .then(RETURN, 0, 0, errno(EPERM))
            .then(LOAD, 0, 0, NUMBER)
    }

    /// Refused where the argument is anything but zero: another process than the caller.
    const fn refuse_others(self, call: c_long, index: u32) -> Program {
        self.refuse_unless(call, index, 0)
    }

    /// Refused where the argument is anything but this.
    const fn refuse_unless(self, call: c_long, index: u32, value: u32) -> Program {
        self.then(EQUAL, 0, 4, number(call))
            .then(LOAD, 0, 0, argument(index))
            .then(EQUAL, 1, 0, value)
            .then(RETURN, 0, 0, errno(EPERM))
            .then(LOAD, 0, 0, NUMBER)
    }

    /// Refused where the masked argument is this.
    const fn refuse_masked(self, call: c_long, index: u32, mask: u32, value: u32) -> Program {
        self.then(EQUAL, 0, 5, number(call))
            .then(LOAD, 0, 0, argument(index))
            .then(AND, 0, 0, mask)
            .then(EQUAL, 0, 1, value)
            .then(RETURN, 0, 0, errno(EPERM))
            .then(LOAD, 0, 0, NUMBER)
    }

    /// Sockets of these families alone.
    #[expect(
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        reason = "evaluated by the compiler"
    )]
    const fn only_sockets(self, families: &[i32]) -> Program {
        let count = families.len() as u8;
        let mut program =
            self.then(EQUAL, 0, count + 3, number(libc::SYS_socket)).then(LOAD, 0, 0, argument(0));
        let mut at = 0;
        while at < families.len() {
            program = program.then(EQUAL, count - at as u8, 0, families[at].cast_unsigned());
            at += 1;
        }
        program.then(RETURN, 0, 0, errno(EPERM)).then(LOAD, 0, 0, NUMBER)
    }

    /// Pairs of sockets that stay a pair. One of datagrams (or of `SOCK_RAW`, which the kernel turns into datagrams) can
    /// send to any other socket that has a path, so it is as good as a socket.
    const fn only_connected_pairs(self) -> Program {
        self.then(EQUAL, 0, 6, number(libc::SYS_socketpair))
            .then(LOAD, 0, 0, argument(1))
            .then(AND, 0, 0, SOCKET_TYPE)
            .then(EQUAL, 2, 0, SOCK_STREAM.cast_unsigned())
            .then(EQUAL, 1, 0, SOCK_SEQPACKET.cast_unsigned())
            .then(RETURN, 0, 0, errno(EPERM))
            .then(LOAD, 0, 0, NUMBER)
    }

    /// What is not listed passes. The list is complete, and becomes a search.
    const fn end(self) -> Program {
        self.list_end().searched()
    }

    const fn list_end(self) -> Program {
        self.then(RETURN, 0, 0, SECCOMP_RET_ALLOW)
    }

    /// How many steps come before the list.
    const fn head() -> usize {
        Program::start().length
    }

    /// A program that answers the same, and finds the number of a call by halves.
    #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
    const fn searched(self) -> Program {
        let mut numbers = [0; Program::MOST];
        let mut count = 0;
        let mut at = Program::head();
        while let EQUAL = self.code[at].code {
            // In order, and each once.
            let number = self.code[at].k;
            let mut place = 0;
            while place < count && numbers[place] < number {
                place += 1;
            }
            if place == count || numbers[place] != number {
                let mut last = count;
                while last > place {
                    numbers[last] = numbers[last - 1];
                    last -= 1;
                }
                numbers[place] = number;
                count += 1;
            }
            at += self.block(at);
        }
        Program::start().search(&self, &numbers, 0, count)
    }

    /// How many steps of a list are about the call that is compared in this one.
    #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
    const fn block(&self, at: usize) -> usize {
        assert!(self.code[at].code == EQUAL && self.code[at].jt == 0);
        1 + self.code[at].jf as usize
    }

    /// Adds the part of a list that is about these numbers.
    #[expect(
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        reason = "evaluated by the compiler"
    )]
    const fn search(
        mut self,
        list: &Program,
        numbers: &[u32; Program::MOST],
        first: usize,
        end: usize,
    ) -> Program {
        if end - first > Program::FEW {
            let (middle, at) = (usize::midpoint(first, end), self.length);
            self = self.then(AT_LEAST, 0, 0, numbers[middle]).search(list, numbers, first, middle);
            let jump = self.length - at - 1;
            assert!(jump <= u8::MAX as usize, "a jump is a byte");
            self.code[at].jt = jump as u8;
            return self.search(list, numbers, middle, end);
        }
        let mut at = Program::head();
        while let EQUAL = list.code[at].code {
            let next = at + list.block(at);
            let is_meant =
                first < end && list.code[at].k >= numbers[first] && list.code[at].k <= numbers[end - 1];
            while at < next {
                if is_meant {
                    self.code[self.length] = list.code[at];
                    self.length += 1;
                }
                at += 1;
            }
        }
        self.list_end()
    }

    /// What no contained command needs, at any level.
    const fn common(self) -> Program {
        self.refuse_all(&[
            // Requests that no other filter sees.
            libc::SYS_io_uring_setup,
            libc::SYS_io_uring_enter,
            libc::SYS_io_uring_register,
            // Other views of the file system.
            libc::SYS_mount,
            libc::SYS_umount2,
            libc::SYS_pivot_root,
            libc::SYS_chroot,
            libc::SYS_setns,
            libc::SYS_open_tree,
            OPEN_TREE_ATTR,
            libc::SYS_move_mount,
            libc::SYS_fsopen,
            libc::SYS_fsconfig,
            libc::SYS_fsmount,
            libc::SYS_fspick,
            libc::SYS_mount_setattr,
            libc::SYS_open_by_handle_at,
            libc::SYS_fanotify_init,
            libc::SYS_quotactl,
            libc::SYS_quotactl_fd,
            // Keys that are kept by the kernel, and shared by the user's processes.
            libc::SYS_add_key,
            libc::SYS_keyctl,
            libc::SYS_request_key,
            // The kernel itself.
            libc::SYS_acct,
            libc::SYS_bpf,
            libc::SYS_delete_module,
            libc::SYS_finit_module,
            libc::SYS_init_module,
            KEXEC_FILE_LOAD,
            libc::SYS_kexec_load,
            libc::SYS_perf_event_open,
            libc::SYS_reboot,
            libc::SYS_setdomainname,
            libc::SYS_sethostname,
            libc::SYS_swapoff,
            libc::SYS_swapon,
            libc::SYS_syslog,
            libc::SYS_userfaultfd,
            libc::SYS_vhangup,
            libc::SYS_clock_adjtime,
            libc::SYS_clock_settime,
            libc::SYS_settimeofday,
            // Other processes' files and memory.
            libc::SYS_kcmp,
            libc::SYS_pidfd_getfd,
            libc::SYS_process_madvise,
        ])
        .of_this_machine()
        .answer(FILE_SETATTR, ENOSYS)
        // Where it is missing, the C library makes threads and processes with `clone`, whose flags can be seen.
        .answer(libc::SYS_clone3, ENOSYS)
        .refuse_bits(libc::SYS_clone, 0, NAMESPACES)
        .refuse_bits(libc::SYS_unshare, 0, NAMESPACES | 0x80)
        // Typing into a terminal, and pasting into a console.
        .refuse_value(libc::SYS_ioctl, 1, low(TIOCSTI))
        .refuse_value(libc::SYS_ioctl, 1, low(TIOCLINUX))
        // Another line discipline: drivers of modems and radios, loaded on demand.
        .refuse_value(libc::SYS_ioctl, 1, low(TIOCSETD))
        // A lease of a file that may only be read has the person's own programs wait before they write it.
        .refuse_value(libc::SYS_fcntl, 1, libc::F_SETLEASE.cast_unsigned())
        // A user's processes, or those of a group: the group that the command was started in is not all its own, at any
        // level.
        .refuse_unless(libc::SYS_setpriority, 0, PRIO_PROCESS)
        .refuse_unless(libc::SYS_ioprio_set, 0, IOPRIO_WHO_PROCESS)
    }

    #[cfg(target_arch = "x86_64")]
    const fn of_this_machine(self) -> Program {
        self.refuse_all(&[libc::SYS_ioperm, libc::SYS_iopl])
    }
    #[cfg(not(target_arch = "x86_64"))]
    const fn of_this_machine(self) -> Program {
        self
    }

    /// A signal to the own group: it was made outside, so it holds the supervisor and the host, whom a pid namespace does not
    /// hide from this call.
    const fn without_group_signals(self) -> Program {
        self.refuse_value(libc::SYS_kill, 0, 0)
    }

    /// What namespaces would keep apart: other processes, and what processes share without a file.
    const fn without_namespaces(self) -> Program {
        self.refuse_all(&[
            libc::SYS_shmget,
            libc::SYS_shmat,
            libc::SYS_shmctl,
            libc::SYS_semget,
            libc::SYS_semop,
            libc::SYS_semctl,
            libc::SYS_semtimedop,
            libc::SYS_msgget,
            libc::SYS_msgsnd,
            libc::SYS_msgrcv,
            libc::SYS_msgctl,
            libc::SYS_mq_open,
            libc::SYS_mq_unlink,
        ])
        .refuse_others(libc::SYS_prlimit64, 0)
        .refuse_others(libc::SYS_sched_setaffinity, 0)
        .refuse_others(libc::SYS_sched_setparam, 0)
        .refuse_others(libc::SYS_sched_setscheduler, 0)
        .refuse_others(libc::SYS_sched_setattr, 0)
        .refuse_others(libc::SYS_setpriority, 1)
        .refuse_others(libc::SYS_ioprio_set, 1)
    }
}

/// Numbers of system calls are small.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "system calls are numbered from 0"
)]
const fn number(call: c_long) -> u32 {
    call as u32
}

/// The half of a request that the kernel looks at.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the other half does not count")]
#[allow(clippy::unnecessary_cast, reason = "the type of a request differs between C libraries")]
const fn low(request: libc::Ioctl) -> u32 {
    request as u32
}

const fn errno(error: i32) -> u32 {
    SECCOMP_RET_ERRNO | error.cast_unsigned()
}

/// With namespaces: what is private in them may be used.
pub(crate) static FULL: Program =
    Program::start().common().only_sockets(&[AF_UNIX, AF_INET, AF_INET6, AF_NETLINK]).end();
/// With namespaces, on a kernel whose Landlock does not keep signals apart.
pub(crate) static FULL_WITHOUT_SCOPES: Program = Program::start()
    .common()
    .without_group_signals()
    .only_sockets(&[AF_UNIX, AF_INET, AF_INET6, AF_NETLINK])
    .end();
/// With namespaces but for the network's, on a kernel whose Landlock keeps neither signals nor abstract sockets apart.
pub(crate) static FULL_WITHOUT_UNIX: Program = Program::start()
    .common()
    .without_group_signals()
    .only_sockets(&[AF_INET, AF_INET6, AF_NETLINK])
    .only_connected_pairs()
    .end();
/// Without namespaces, and with the network.
pub(crate) static LANDLOCK_ALL: Program = Program::start()
    .common()
    .without_namespaces()
    .only_sockets(&[AF_INET, AF_INET6, AF_NETLINK])
    .only_connected_pairs()
    .end();
/// Without namespaces, and without the network: no socket at all but a pair of them.
pub(crate) static LANDLOCK_NONE: Program =
    Program::start().common().without_namespaces().only_sockets(&[]).only_connected_pairs().end();
/// Truncating, and how a file is opened: for reading (0), or for neither reading nor writing (3).
const TRUNCATING: u32 = (O_TRUNC | O_ACCMODE).cast_unsigned();
/// For kernels whose Landlock does not know truncating.
pub(crate) static WITHOUT_TRUNCATE: Program = Program::start()
    .refuse(libc::SYS_truncate)
    .answer(libc::SYS_openat2, ENOSYS)
    .refuse_masked(libc::SYS_openat, 2, TRUNCATING, O_TRUNC.cast_unsigned())
    .refuse_masked(libc::SYS_openat, 2, TRUNCATING, TRUNCATING)
    .plain_open()
    .end();

impl Program {
    #[cfg(target_arch = "x86_64")]
    const fn plain_open(self) -> Program {
        self.refuse_masked(libc::SYS_open, 1, TRUNCATING, O_TRUNC.cast_unsigned()).refuse_masked(
            libc::SYS_open,
            1,
            TRUNCATING,
            TRUNCATING,
        )
    }
    #[cfg(not(target_arch = "x86_64"))]
    const fn plain_open(self) -> Program {
        self
    }
}

/// `fchmodat2`, which not every C library has a name for.
pub(crate) const FCHMODAT2: c_long = 452;

/// Tells whoever listens which files and addresses are asked for. It refuses nothing: what another program refuses stays refused, and
/// is not told.
pub(crate) static OBSERVED: Program = Program::start()
    .tell_of(&[
        libc::SYS_openat,
        libc::SYS_openat2,
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_unlinkat,
        libc::SYS_mkdirat,
        libc::SYS_mknodat,
        libc::SYS_renameat,
        libc::SYS_renameat2,
        libc::SYS_linkat,
        libc::SYS_symlinkat,
        libc::SYS_truncate,
        libc::SYS_fchmodat,
        FCHMODAT2,
        libc::SYS_fchownat,
        libc::SYS_connect,
        libc::SYS_bind,
    ])
    .tell_of_argument(libc::SYS_sendto, 4)
    .tell_of_old_names()
    .end();

impl Program {
    #[cfg(target_arch = "x86_64")]
    const fn tell_of_old_names(self) -> Program {
        self.tell_of(&[
            libc::SYS_open,
            libc::SYS_creat,
            libc::SYS_unlink,
            libc::SYS_rmdir,
            libc::SYS_mkdir,
            libc::SYS_mknod,
            libc::SYS_rename,
            libc::SYS_link,
            libc::SYS_symlink,
            libc::SYS_chmod,
            libc::SYS_chown,
            libc::SYS_lchown,
        ])
    }
    #[cfg(not(target_arch = "x86_64"))]
    const fn tell_of_old_names(self) -> Program {
        self
    }
}

#[cfg(test)]
mod tests;
