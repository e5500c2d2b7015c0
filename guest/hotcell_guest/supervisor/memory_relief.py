"""The watchdog over a sandbox's memory, if nothing stricter enforces its limit: one for the whole sandbox and all its work."""

from __future__ import annotations

import time
from typing import Callable, NamedTuple, Optional, Protocol

from ..kernels.process import KernelProcess
from ..system import processes
from ..system.limits import proportional_bytes, sandbox_memory_bytes, supervisor_bytes
from ..system.loop import Loop, Timer
from .all_kernels import Kernels

_BUSY_SECONDS = 0.02
_IDLE_SECONDS = 0.25
# Time for a killed process to free its memory before another one is ended.
_GRACE_SECONDS = 0.1
# The same while it still holds enough memory to cover the excess: on a busy machine, dying takes longer.
_DYING_SECONDS = 1.0
# Growth allowed to the supervisor itself, which caches files and buffers frames for the host.
_SUPERVISOR_ALLOWANCE_BYTES = 32 * 1_048_576


class Work(Protocol):
    """An execution or a question. Its `kernel` runs the user's code."""

    @property
    def kernel(self) -> KernelProcess:
        """The kernel that runs the work; it may be gone."""

    @property
    def is_over(self) -> bool:
        """Whether the host has been told of its end."""

    @property
    def is_endable(self) -> bool:
        """False once it was ended for its memory, or runs nothing any more."""

    def use_up_memory(self) -> None:
        """Ends the work, or frees part of its memory, without a grace period."""


class _Killed(NamedTuple):
    """A process that was killed, with what it held then: while it dies it seems to hold nothing, before its memory is free."""

    held_bytes: int
    at: float
    seen_at: float

    def is_dying(self, now: float) -> bool:
        """Whether it was there a moment ago and its memory may not be free yet."""
        return now < min(self.at + _DYING_SECONDS, self.seen_at + _GRACE_SECONDS)


class MemoryRelief:
    """Of several works it ends the one that holds the most memory. `tell` is for messages that belong to no execution.

    SECURITY: code can keep a work from ever being over: it stops a subreaper again and again, or its host stalls. If the end of a work
    frees no memory in time, or no work is left, the largest processes are killed, as the Linux kernel's OOM killer would.
    """

    def __init__(self, loop: Loop, kernels: Kernels, tell: Callable[[str], None]) -> None:
        self.limit_bytes: Optional[int] = None
        """Limit of the sandbox's memory. Without it, the watchdog never checks."""
        self._loop = loop
        self._kernels = kernels
        self._tell = tell
        self._works: list[Work] = []
        self._ended: Optional[Work] = None
        self._ended_at = 0.0
        self._killed: dict[tuple[int, int], _Killed] = {}
        self._supervisor_at_begin: Optional[int] = None
        self._timer: Optional[Timer] = None
        self._is_soon = False

    def watch(self, work: Work) -> None:
        """Checks from the first work until the sandbox ends. Before that there is no user code."""
        if self.limit_bytes is None:
            return
        if self._supervisor_at_begin is None:
            self._supervisor_at_begin = supervisor_bytes()
        self._works.append(work)
        # SECURITY: a check that is due soon is not postponed. Otherwise a fast series of executions would postpone it for ever.
        if not self._is_soon:
            self._look_after(_BUSY_SECONDS)

    def _look_after(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._is_soon = seconds == _BUSY_SECONDS
        self._timer = self._loop.call_later(seconds, self._look)

    def _look(self) -> None:
        self._works = [work for work in self._works if not work.is_over]
        excess = self._excess_bytes()
        if excess > 0:
            self._relieve(excess)
        self._look_after(_BUSY_SECONDS if self._works or excess > 0 else _IDLE_SECONDS)

    def _excess_bytes(self) -> int:
        assert self.limit_bytes is not None and self._supervisor_at_begin is not None
        # SECURITY: memory that code makes the supervisor hold counts as the code's own.
        growth = supervisor_bytes() - self._supervisor_at_begin - _SUPERVISOR_ALLOWANCE_BYTES
        room = self.limit_bytes - max(0, growth)
        return sandbox_memory_bytes(room) - room

    def _relieve(self, excess: int) -> None:
        if self._ended is not None and self._is_dying(excess):
            return
        endable = [work for work in self._works if work.is_endable]
        if self._ended in self._works or not endable:
            self._end_largest_processes(excess)
            return
        # At once, without a look at each process, which would give a fast program time to take the memory of the whole sandbox.
        if len(endable) == 1 and self._kernels.is_only_user(endable[0].kernel):
            self._end_work(endable[0])
            return
        held, largest = max(((self._kernels.memory_bytes(work.kernel), work) for work in endable), key=lambda each: each[0])
        # An idle kernel, or what an earlier execution left, may hold more than all that runs.
        if self._kernels.largest_beside(largest.kernel) > held:
            self._end_largest_processes(excess)
        else:
            self._end_work(largest)

    def _is_dying(self, excess: int) -> bool:
        """Whether the work that was ended last will free enough memory, if it is given time. Its descendants die after it."""
        assert self._ended is not None
        seconds = time.monotonic() - self._ended_at
        if seconds < _GRACE_SECONDS:
            return True
        return seconds < _DYING_SECONDS and self._kernels.memory_bytes(self._ended.kernel) >= excess

    def _end_work(self, work: Work) -> None:
        work.use_up_memory()
        if not work.is_endable:
            self._ended, self._ended_at = work, time.monotonic()

    def _end_largest_processes(self, excess: int) -> None:
        """Kills as many as hold the excess. What one held that was killed a moment ago counts as free; one that takes longer is skipped."""
        now = time.monotonic()
        living = {(process.pid, process.started): process for process in processes.others_in_sandbox() if process.state not in "ZX"}
        self._killed = {
            key: killed._replace(seen_at=now) if key in living else killed
            for key, killed in self._killed.items()
            if key in living or killed.is_dying(now)
        }
        sizes = {key: proportional_bytes(process.place) for key, process in living.items()}
        excess -= sum(killed.held_bytes for killed in self._killed.values() if killed.is_dying(now))
        for key in sorted(sizes, key=lambda key: sizes[key], reverse=True):
            if excess <= 0:
                return
            if key not in self._killed and self._is_worth_ending(living[key]):
                excess -= sizes[key]
                self._killed[key] = _Killed(sizes[key], at=now, seen_at=now)
                self._end_process(living[key].pid)

    def _end_process(self, pid: int) -> None:
        kernel = self._kernels.kernel_with(pid)
        work = next((work for work in self._works if work.kernel is kernel), None)
        if kernel is None:
            processes.kill(pid)
            self._tell("A background process used up the memory of the sandbox and was ended.\n")
        elif work is None:
            self._kernels.lose(kernel, "its kernel used up the memory of the sandbox while idle and was ended")
        elif work.is_endable:
            self._end_work(work)
        else:
            kernel.kill()  # the end of its work gives the reason

    def _is_worth_ending(self, process: processes.Process) -> bool:
        """SECURITY: killing a kernel that has run nothing frees no memory, because another one follows; and a process of the driver cannot
        be killed from here. If they were larger than each process of a crowd, they would shield it for ever."""
        return not self._kernels.is_unused(process) and processes.may_be_ended(process.pid)
