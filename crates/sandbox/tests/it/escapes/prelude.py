import ctypes, errno, fcntl, os, socket, struct, sys, time

print("started", flush=True)
E = os.environ
HOME, STATE, MAIN, ONE, TWO, RUN, WORLD = (E[n] for n in ("HOME", "STATE", "MAIN", "ONE", "TWO", "RUN", "WORLD"))
VICTIM = int(E.get("VICTIM", 0))
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
X86 = os.uname().machine == "x86_64"
# Numbers that differ between machines: x86_64, aarch64.
NR = {
    "add_key": (248, 217), "bpf": (321, 280), "chroot": (161, 51), "fanotify_init": (300, 262),
    "ioprio_set": (251, 30), "kcmp": (312, 272), "keyctl": (250, 219), "linkat": (265, 37), "mount": (165, 40),
    "mq_open": (240, 180), "mq_receive": (243, 183), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "perf_event_open": (298, 241), "pivot_root": (155, 41),
    "prlimit64": (302, 261), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "ptrace": (101, 117),
    "quotactl": (179, 60), "renameat2": (316, 276), "request_key": (249, 218), "rt_sigqueueinfo": (129, 138),
    "sched_setaffinity": (203, 122), "setns": (308, 268), "setpriority": (141, 140), "shmat": (30, 196),
    "shmget": (29, 194), "syslog": (103, 116), "tgkill": (234, 131), "unshare": (272, 97),
    "userfaultfd": (323, 282), "memfd_create": (319, 279), "execveat": (322, 281), "setxattr": (188, 5),
    # These are the same everywhere.
    "pidfd_send_signal": 424, "io_uring_setup": 425, "open_tree": 428, "move_mount": 429, "fsopen": 430,
    "pidfd_open": 434, "clone3": 435, "openat2": 437, "pidfd_getfd": 438, "process_madvise": 440,
    "mount_setattr": 442, "quotactl_fd": 443, "fchmodat2": 452,
}


def call(name, *words):
    """A raw system call; an error is raised."""
    number = NR[name] if isinstance(name, str) else name
    number = number[not X86] if isinstance(number, tuple) else number
    ctypes.set_errno(0)
    done = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(w) if isinstance(w, int) else w for w in words))
    if done < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return done


def escaped():
    print("ESCAPED", flush=True)


def show(path):
    print(open(path).read(), flush=True)


def connect(path, kind=socket.SOCK_STREAM):
    it = socket.socket(socket.AF_UNIX, kind)
    it.connect(path)
    return it
