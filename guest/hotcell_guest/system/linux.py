"""System calls that Python does not offer, through ctypes. Each raises OSError with the name of the call."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import signal
import socket
import struct
from typing import Optional

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
CAP_SYS_ADMIN = 21

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
# Flags that are locked on a mount from outside: nosuid, nodev, noexec. A remount must keep them; `statvfs` has the same
# bits.
LOCKED_FLAGS = MS_NOSUID | MS_NODEV | MS_NOEXEC

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_PR_CAP_AMBIENT_LOWER = 3
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522
_MADV_COLLAPSE = 25
_SYS_CLONE = {"x86_64": 56, "aarch64": 220}
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_MNT_DETACH = 2
_SIOCSIFFLAGS = 0x8914
_IFF_UP_RUNNING = 0x1 | 0x40

# PyDLL keeps the GIL during the call: after `clone`, a child without the lock could not continue.
_libc = ctypes.PyDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def disconnect(fd: int) -> None:
    """Dissolves the connection of a TCP socket: Linux resets the other end. gVisor cannot."""
    unspecified = bytes(16)  # an address of the family AF_UNSPEC
    _check(_libc.connect(fd, unspecified, len(unspecified)), "connect")


def clone(flags: int) -> int:
    """`fork` with namespace flags: returns 0 in the child, and the child's pid in the parent.

    One clone replaces fork, unshare and another fork: each copy of a preloaded interpreter costs milliseconds. Only for
    a process with one thread; the C library does not learn the new thread id, so the child must not start threads (its
    own forks may).
    """
    api = ctypes.pythonapi
    api.PyOS_BeforeFork()
    pid = int(_libc.syscall(_SYS_CLONE[os.uname().machine], flags | signal.SIGCHLD, 0, 0, 0, 0))
    if pid == 0:
        api.PyOS_AfterFork_Child()
    else:
        api.PyOS_AfterFork_Parent()
    return _check(pid, "clone")


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "unshare")


def mount(source: Optional[str], target: str, kind: Optional[str], flags: int, *, data: str = "") -> None:
    _check(
        _libc.mount(_bytes(source), _bytes(target), _bytes(kind), ctypes.c_ulong(flags), _bytes(data or None)),
        f"mount {target}",
    )


def pivot_root(new_root: str, put_old: str) -> None:
    _check(int(_libc.syscall(_SYS_PIVOT_ROOT[os.uname().machine], _bytes(new_root), _bytes(put_old))), "pivot_root")


def detach(path: str) -> None:
    """Unmounts the path, with all mounts below it."""
    _check(_libc.umount2(_bytes(path), _MNT_DETACH), f"umount {path}")


def tidy_heap() -> None:
    """Merges free blocks of the C library's heap and returns memory to the system (malloc_trim). C libraries other than
    GNU's have no such call.
    """
    trim = getattr(_libc, "malloc_trim", None)
    if trim is not None:
        trim(0)


def forget_pages(start: int, size: int) -> None:
    """Drops pages of an unmodified file mapping; they are read from the file again when they are needed."""
    _libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), mmap.MADV_DONTNEED)


def join_pages(start: int, size: int) -> None:
    """Merges pages of private memory into huge pages, if the kernel can."""
    _libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), _MADV_COLLAPSE)


def set_hostname(name: str) -> None:
    raw = name.encode()
    _check(_libc.sethostname(raw, len(raw)), "sethostname")


def loopback_up() -> None:
    """Brings up the loopback interface; without it localhost does not work in a new network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", _IFF_UP_RUNNING))


def set_dumpable(dumpable: bool) -> None:
    """SECURITY: a process that is not dumpable cannot be traced, and its /proc files are inaccessible for its own uid."""
    _check(_libc.prctl(_PR_SET_DUMPABLE, int(dumpable), 0, 0, 0), "PR_SET_DUMPABLE")


def set_child_subreaper() -> None:
    """Orphans below this process become its children, so that it can reap and kill them."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "PR_SET_CHILD_SUBREAPER")


def die_with_parent() -> None:
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "PR_SET_PDEATHSIG")


def no_new_privileges() -> None:
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS")


class _CapHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _CapData(ctypes.Structure):
    _fields_ = [("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32)]


_CapSets = _CapData * 2


def drop_all_capabilities() -> None:
    """SECURITY: empties all five sets. A fork that kept CAP_SYS_ADMIN in its namespace could unmount the masks that
    hide its neighbours.
    """
    for capability in range(64):
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break  # past the last capability of this kernel, or not permitted: then the sets below are empty, too
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header = _CapHeader(_CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(ctypes.byref(header), _CapSets()), "capset")


def drop_capability(capability: int) -> None:
    """Removes a capability from all sets from which a child could get it; the others are kept."""
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_LOWER, capability, 0, 0)
    header, sets = _CapHeader(_CAPABILITY_VERSION_3, 0), _CapSets()
    _check(_libc.capget(ctypes.byref(header), sets), "capget")
    part, bit = sets[capability // 32], 1 << capability % 32
    part.effective &= ~bit
    part.permitted &= ~bit
    part.inheritable &= ~bit
    _check(_libc.capset(ctypes.byref(header), sets), "capset")


class _FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def install_seccomp(program: bytes) -> None:
    """Installs a classic BPF program, generated on the host for this architecture. Requires no-new-privileges."""
    buffer = ctypes.create_string_buffer(program, len(program))
    filter_program = _FilterProgram(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    _check(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(filter_program), 0, 0), "PR_SET_SECCOMP")


def _bytes(text: Optional[str]) -> Optional[bytes]:
    return None if text is None else os.fsencode(text)
