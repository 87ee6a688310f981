# Holds a secret in memory, and shares it where its user's other programs would. Ends when its input does.
import ctypes, os, sys

libc = ctypes.CDLL(None, use_errno=True)
token = ctypes.create_string_buffer(("token = " + os.environ["TOKEN"] + "\n").encode(), 4096)
machine = {"x86_64": (29, 30, 31, 248, 250, 240, 241, 242), "aarch64": (194, 196, 195, 217, 219, 180, 181, 182)}
shmget, shmat, shmctl, add_key, keyctl, mq_open, mq_unlink, mq_send = machine[os.uname().machine]
held = os.memfd_create("held")
os.write(held, token.value)
terminal = os.open(os.environ["TERMINAL"], os.O_RDWR | os.O_NOCTTY) if "TERMINAL" in os.environ else None
undo = []
if "KEY" in os.environ:
    name = os.environ["NAME"].encode()
    segment = libc.syscall(shmget, int(os.environ["KEY"]), 4096, 0o1600)
    libc.shmat.restype = ctypes.c_void_p
    ctypes.memmove(libc.shmat(segment, None, 0), token, 4096)
    undo.append(lambda: libc.syscall(shmctl, segment, 0, None))
    queue = libc.syscall(mq_open, name, os.O_RDWR | os.O_CREAT, 0o600, None)
    libc.syscall(mq_send, queue, token, ctypes.c_long(64), 0, None)
    undo.append(lambda: libc.syscall(mq_unlink, name))
    with open(b"/dev/shm/" + name, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(token.raw)
    undo.append(lambda: os.unlink(b"/dev/shm/" + name))
    key = libc.syscall(add_key, b"user", name, token, ctypes.c_long(64), -4)
    libc.syscall(keyctl, 15, key, 60)
    undo.append(lambda: libc.syscall(keyctl, 9, key, -4))
print("ready", ctypes.addressof(token), flush=True)
sys.stdin.read()
for step in undo:
    step()
