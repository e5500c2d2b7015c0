"""Limits that a process sets on itself, and the memory watchdog for sandboxes without a harder limit."""

from __future__ import annotations

import base64
import math
import os
import resource
from typing import Any, NamedTuple, Optional

from . import linux, processes

# From Node 24 on, V8 maps half a gibibyte of writable memory for generated code, for each thread that runs JavaScript.
_RESERVED_BYTES = 4 * 1024**3
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# A file that only gVisor has. There, /proc/meminfo describes the sandbox; elsewhere the whole host.
_OWN_KERNEL = "/proc/sentry-meminfo"


class Limits(NamedTuple):
    """What one sandbox may use. None of an optional member: something outside holds it, or nothing does.

    `processors`: those that its kernels are pinned to (`draw_processors`).
    """

    memory_bytes: int
    open_files: int
    file_bytes: int
    cpus: float
    processors: Optional[tuple[int, ...]] = None
    pinned_seccomp: Optional[str] = None
    processes: Optional[int] = None
    memory_watchdog_bytes: Optional[int] = None

    @staticmethod
    def from_message(raw: dict[str, Any]) -> Limits:
        return Limits(
            memory_bytes=int(raw["memoryBytes"]),
            open_files=int(raw["openFiles"]),
            file_bytes=int(raw["fileBytes"]),
            cpus=float(raw["cpus"]),
            processors=tuple(raw["processors"]) if "processors" in raw else None,
            pinned_seccomp=raw.get("pinnedSeccomp"),
            processes=_optional_int(raw.get("processes")),
            memory_watchdog_bytes=_optional_int(raw.get("memoryWatchdogBytes")),
        )


def forbid_core_dumps() -> None:
    """SECURITY: with a limit of 0, a crash still starts the program that the host pipes dumps to. A limit of 1 prevents
    that, and is too small for a file. Call it before the system call filter is installed, which makes the limit
    permanent.
    """
    _set(resource.RLIMIT_CORE, 1)


def limit_this_process(limits: Limits) -> None:
    """For a kernel, before it runs user code. Soft and hard limits are equal, and it has no right to raise them again."""
    # Memory that the zygote had mapped is added, so that a small limit leaves room for the user's own data.
    _limit(limits, mapped_data_bytes())


def limit_program(limits: Limits) -> None:
    """For a kernel that is about to execute another program, which may map far more than it uses."""
    _limit(limits, _RESERVED_BYTES)


def _limit(limits: Limits, mapped_bytes: int) -> None:
    _set(resource.RLIMIT_NOFILE, min(limits.open_files, _most_open_files()))
    _set(resource.RLIMIT_FSIZE, limits.file_bytes)
    _set(resource.RLIMIT_MEMLOCK, 64 * 1024)
    # Pending signals are counted per uid and, in total, for all sessions of one zygote: each may use a small part.
    _set(resource.RLIMIT_SIGPENDING, 1024)
    _set(resource.RLIMIT_MSGQUEUE, 128 * 1024)
    if limits.processes is not None:
        _set(resource.RLIMIT_NPROC, limits.processes)
    # RLIMIT_DATA, not RLIMIT_AS: Node, Java and Arrow reserve far more than they use.
    _set(resource.RLIMIT_DATA, limits.memory_bytes + mapped_bytes)


def _most_open_files() -> int:
    """SECURITY: half of the guest's own limit. Descriptors in flight are counted per uid, which neighbours may share,
    and compared with the limit of the sender: a guest must still be able to send when a kernel has used up its own
    limit.
    """
    own = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return 1_048_576 if own == resource.RLIM_INFINITY else own // 2


def draw_processors(raw: dict[str, Any]) -> None:
    """Adds to the host's limits which processors the sandbox is pinned to: as many as its limit needs, a whole number, rounded up.

    SECURITY: drawn once for a sandbox, before its first kernel. If each kernel drew its own, several would use more than the limit.
    """
    if raw.get("pinCpus"):
        available = sorted(os.sched_getaffinity(0))
        start = os.urandom(1)[0] % len(available)  # not by pid: those of sessions are all the same
        wanted = min(len(available), max(1, math.ceil(raw["cpus"])))
        raw["processors"] = [available[(start + index) % len(available)] for index in range(wanted)]


def limit_cpus(limits: Limits) -> None:
    """Pins this process to the processors of its sandbox, where nothing harder limits them."""
    if limits.processors is None:
        return
    os.sched_setaffinity(0, limits.processors)
    if limits.pinned_seccomp is not None:
        # SECURITY: without this filter, one call would reset the affinity.
        linux.install_seccomp(base64.b64decode(limits.pinned_seccomp))


def sandbox_memory_bytes(limit: int) -> int:
    """The memory of all processes of the sandbox except this one. Exact only near the limit, because the exact number
    is expensive.
    """
    if os.path.exists(_OWN_KERNEL):
        return _own_kernel_bytes()
    places = [process.place for process in processes.others_in_sandbox()]
    held = 0
    for measure in (_resident_bytes, _own_bytes, proportional_bytes):
        held = sum(measure(place) for place in places)
        if held <= limit:
            break
    return held


def supervisor_bytes() -> int:
    """What this process holds. 0 where `sandbox_memory_bytes` counts it too."""
    return 0 if os.path.exists(_OWN_KERNEL) else _own_bytes("/proc/self")


def _resident_bytes(place: str) -> int:
    """Resident memory, including pages shared with files and other processes. 0 if the process is gone. `place` as in `Process`."""
    try:
        with open(f"{place}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return 0


def _own_bytes(place: str) -> int:
    """Resident memory without pages shared with files. SECURITY: memory that processes share belongs to no file, and
    counts.
    """
    path = f"{place}/status"
    anonymous = _kilobytes(path, b"RssAnon:")
    if anonymous is None:
        return _resident_bytes(place)  # gone, or a kernel with fewer figures (gVisor)
    return anonymous + (_kilobytes(path, b"RssShmem:") or 0)


def proportional_bytes(place: str) -> int:
    """Resident memory with shared pages divided by their users. It is expensive, so it is read only when the cheap sum
    is too high.
    """
    proportional = _kilobytes(f"{place}/smaps_rollup", b"Pss:")
    return _own_bytes(place) if proportional is None else proportional


def _own_kernel_bytes() -> int:
    """The memory of all processes and files of the sandbox, if /proc describes only the sandbox.

    gVisor's figures per process count a shared page once for each process, so a fork would seem to double the usage.
    """
    return _kilobytes("/proc/meminfo", b"AnonPages:") or 0


def mapped_data_bytes() -> int:
    # VmData is read from `status`, because gVisor leaves that field of `statm` at 0: the limit would be below what a
    # preloaded kernel has mapped already.
    mapped = _kilobytes("/proc/self/status", b"VmData:")
    return 256 * 1_048_576 if mapped is None else mapped


def _kilobytes(path: str, name: bytes) -> Optional[int]:
    """The value of a line `Name:  123 kB` in /proc, in bytes."""
    try:
        with open(path, "rb") as file:
            for line in file:
                if line.startswith(name):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _set(which: int, value: int) -> None:
    soft, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    try:
        resource.setrlimit(which, (value, value))
    except (ValueError, OSError):
        pass  # gVisor has fewer of them; the container's own limits apply there


def _optional_int(value: Any) -> Optional[int]:
    return None if value is None else int(value)
