"""A machine to throw away: user, mount, pid, network and IPC namespaces over a copy of the system that lives in memory.

The system's directories are lower layers of overlays, so that all of it can be changed and nothing is. Numbers of users are mapped to ones that
nobody has: even what leaves the mounts is nobody. Whatever is not the system (homes, temporary and other top directories) is empty.
"""

import ctypes
import os
import resource
import socket
import struct
import sys

SYSTEM = {"bin", "etc", "lib", "lib32", "lib64", "libx32", "opt", "sbin", "usr", "var"}
# Places with a file system of their own, inside: an overlay cannot be the upper layer of another one.
OWN = ["/home", "/tmp", "/var/tmp", "/root", "/run", "/srv"]
# Directories of the system in which root can make and replace files.
WRITABLE = ["/etc", "/etc/apt", "/etc/cron.d", "/etc/init.d", "/etc/pam.d", "/etc/systemd/system", "/usr/bin", "/usr/lib", "/usr/local/bin",
            "/usr/local/lib", "/usr/sbin", "/var/lib", "/var/lib/dpkg", "/var/log", "/var/spool/cron"]
FIRST_USER, USERS = 700_000_000, 65536
SIZE = "size=512m"

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

libc = ctypes.CDLL(None, use_errno=True)


def checked(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source, target, kind=None, flags=0, data=None):
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    checked(libc.mount(*encoded, ctypes.c_ulong(flags), None if data is None else data.encode()), f"mount {target}")


def bind(source, target, flags=0):
    mount(source, target, flags=MS_BIND | MS_REC)
    if flags:
        mount(None, target, flags=MS_REMOUNT | MS_BIND | flags)


def throw_away(scratch, files, extra, namespaces, body):
    """Runs `body(upper)` as the first process of a machine of its own, as its root, and gives the bytes that it returns.

    `scratch`: an empty directory, mounted over. `files`: what lies in the system besides, a list of (path, mode, owner, bytes).
    `extra`: (source, target) of directories that are bound read-only. `namespaces`: how many user namespaces can be made inside.
    """
    ready, mapped = os.pipe(), os.pipe()
    result = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(result[0])
            # While it is root still: directories that its own root may not pass.
            checked(libc.unshare(CLONE_NEWNS), "unshare")
            mount(None, "/", flags=MS_REC | MS_PRIVATE)
            for number, (source, _) in enumerate(extra):
                os.makedirs(f"{scratch}-{number}", exist_ok=True)
                bind(source, f"{scratch}-{number}")
            checked(libc.unshare(CLONE_NEWUSER), "unshare")
            os.write(ready[1], b".")
            if os.read(mapped[0], 1) != b".":
                os._exit(1)
            os.setgroups([])
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)
            flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP
            checked(libc.unshare(flags), "unshare")
            first = os.fork()
            if first:
                os.close(result[1])
                os._exit(0 if os.waitpid(first, 0)[1] == 0 else 1)
            libc.prctl(1, 9)  # Nothing stays when the parent is gone.
            upper = inside(scratch, files, extra, namespaces)
            with os.fdopen(result[1], "wb") as pipe:
                pipe.write(body(upper))
            os._exit(0)
        except BaseException as error:
            print(f"measure-contained: {type(error).__name__}: {error}", file=sys.stderr)
        finally:
            os._exit(1)
    os.close(result[1])
    os.read(ready[0], 1)
    for name in ("uid_map", "gid_map"):
        with open(f"/proc/{pid}/{name}", "w") as file:
            file.write(f"0 {FIRST_USER} {USERS}\n")
    os.write(mapped[1], b".")
    with os.fdopen(result[0], "rb") as pipe:
        said = pipe.read()
    status = os.waitpid(pid, 0)[1]
    for end in (*ready, *mapped):
        os.close(end)
    if status != 0:
        raise RuntimeError("the machine could not be made")
    return said


def inside(scratch, files, extra, namespaces):
    """Makes this process's machine. Gives a descriptor of the directory whose `upper` and `root` hold what is changed in the system."""
    mount(None, "/", flags=MS_REC | MS_PRIVATE)
    mount("tmpfs", scratch, "tmpfs", 0, SIZE + ",mode=755")
    upper, work, root = (os.path.join(scratch, name) for name in ("upper", "work", "root"))
    for path in (upper, work, root):
        os.mkdir(path, 0o755)
    for path, mode, owner, data in files:
        put(upper + path, mode, owner, data)
    for path in WRITABLE:
        # A directory of the system belongs to nobody inside; one of ours over it belongs to root, as it does outside.
        if os.path.isdir(path) and not os.path.islink(path):
            os.makedirs(upper + path, exist_ok=True)
    changed = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY)
    # A mount of its own, so that what is mounted below is not seen where the changes are looked at.
    bind(root, root)
    for name in SYSTEM:
        if os.path.islink("/" + name):
            os.symlink(os.readlink("/" + name), f"{root}/{name}")
        elif os.path.isdir("/" + name):
            for directory in (f"{upper}/{name}", f"{work}/{name}", f"{root}/{name}"):
                os.makedirs(directory, exist_ok=True)
            for place in OWN + [target for _, target in extra]:
                if place.startswith(f"/{name}/"):
                    os.makedirs(upper + place, exist_ok=True)
            data = f"lowerdir=/{name},upperdir={upper}/{name},workdir={work}/{name},userxattr"
            mount("overlay", f"{root}/{name}", "overlay", 0, data)
    for place in [*OWN, "/proc", "/sys", "/dev"]:
        os.makedirs(root + place, exist_ok=True)
    for place in OWN:
        mount("tmpfs", root + place, "tmpfs", MS_NODEV, SIZE + ",mode=" + ("1777" if "tmp" in place else "755"))
    for number, (_, target) in enumerate(extra):
        os.makedirs(root + target, exist_ok=True)
        bind(f"{scratch}-{number}", root + target, MS_RDONLY)
    devices(root)
    mount("proc", root + "/proc", "proc", MS_NOSUID | MS_NODEV)
    mount("sysfs", root + "/sys", "sysfs", MS_RDONLY | MS_NOSUID | MS_NODEV)
    os.chdir(root)
    checked(libc.syscall(SYS_PIVOT_ROOT[os.uname().machine], b".", b"."), "pivot_root")
    checked(libc.umount2(b".", MNT_DETACH), "umount")
    os.chdir("/")
    if namespaces is not None:
        with open("/proc/sys/user/max_user_namespaces", "w") as file:
            file.write(str(namespaces))
    resource.setrlimit(resource.RLIMIT_NPROC, (800, 800))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))
    resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
    loopback()
    return changed


def devices(root):
    mount("tmpfs", root + "/dev", "tmpfs", 0, "size=64k,mode=755")
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        open(f"{root}/dev/{name}", "w").close()
        bind(f"/dev/{name}", f"{root}/dev/{name}")
    for name in ("pts", "shm"):
        os.mkdir(f"{root}/dev/{name}")
    mount("devpts", root + "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666,mode=620")
    mount("tmpfs", root + "/dev/shm", "tmpfs", MS_NODEV, SIZE + ",mode=1777")
    links = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
    for name, target in links.items():
        os.symlink(target, f"{root}/dev/{name}")


def loopback():
    import fcntl

    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14x", b"lo", 1 | 64))  # SIOCSIFFLAGS: up, running


def put(path, mode, owner, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, mode)
    os.chown(path, owner, owner)
