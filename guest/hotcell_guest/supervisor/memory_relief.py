"""The watchdog over a sandbox's memory, where nothing harder holds its limit: one for the whole sandbox, whatever is under way in it."""

from __future__ import annotations

import time
from typing import Callable, Optional, Protocol

from ..kernels.process import KernelProcess
from ..system import processes
from ..system.limits import proportional_bytes, sandbox_memory_bytes, supervisor_bytes
from ..system.loop import Loop, Timer
from .all_kernels import Kernels

_BUSY_SECONDS = 0.02
_IDLE_SECONDS = 0.25
# How long a process that was killed may take to give its memory back before another is ended.
_GRACE_SECONDS = 0.1
# How far the supervisor may grow on its own account: it remembers files and holds frames for the host.
_SUPERVISOR_ALLOWANCE_BYTES = 32 * 1_048_576


class Work(Protocol):
    """An execution or a question. Its `kernel` runs the user's code."""

    @property
    def kernel(self) -> KernelProcess:
        """The kernel that was asked; it may be gone."""

    @property
    def is_over(self) -> bool:
        """The host has been told of its end."""

    @property
    def is_endable(self) -> bool:
        """False once it was ended for its memory, or has nothing more to run."""

    def use_up_memory(self) -> None:
        """Ends it, or part of what it holds, without a grace period."""


class MemoryRelief:
    """Of several works it ends the one that holds most. `tell` is for what belongs to no execution.

    SECURITY: code can keep a work from ever being over: it stops a subreaper again and again, or its host stalls. Where the end of a work
    gives nothing back in time, and where no work is left, the largest processes are ended, as a kernel's memory killer would.
    """

    def __init__(self, loop: Loop, kernels: Kernels, tell: Callable[[str], None]) -> None:
        self.limit_bytes: Optional[int] = None
        """Without a limit it never looks."""
        self._loop = loop
        self._kernels = kernels
        self._tell = tell
        self._works: list[Work] = []
        self._ended: Optional[Work] = None
        self._ended_at = 0.0
        self._killed_at: dict[tuple[int, int], float] = {}
        self._supervisor_at_begin: Optional[int] = None
        self._timer: Optional[Timer] = None
        self._is_soon = False

    def watch(self, work: Work) -> None:
        """From the first work on it looks until the sandbox ends: before that there is nothing of the user's."""
        if self.limit_bytes is None:
            return
        if self._supervisor_at_begin is None:
            self._supervisor_at_begin = supervisor_bytes()
        self._works.append(work)
        # SECURITY: a look that is near is not put off. Else executions that follow each other fast would put it off for ever.
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
        # SECURITY: what code makes the supervisor hold counts as what it holds itself.
        growth = supervisor_bytes() - self._supervisor_at_begin - _SUPERVISOR_ALLOWANCE_BYTES
        room = self.limit_bytes - max(0, growth)
        return sandbox_memory_bytes(room) - room

    def _relieve(self, excess: int) -> None:
        is_ending = self._ended in self._works
        if is_ending and time.monotonic() < self._ended_at + _GRACE_SECONDS:
            return
        endable = [work for work in self._works if work.is_endable]
        if is_ending or not endable:
            self._end_largest_processes(excess)
        else:
            largest = endable[0] if len(endable) == 1 else max(endable, key=lambda work: self._kernels.memory_bytes(work.kernel))
            self._end_work(largest)

    def _end_work(self, work: Work) -> None:
        work.use_up_memory()
        if not work.is_endable:
            self._ended, self._ended_at = work, time.monotonic()

    def _end_largest_processes(self, excess: int) -> None:
        """As many as hold the excess. One killed a moment ago counts as gone. One that takes longer counts, and is passed over."""
        now = time.monotonic()
        living = {(process.pid, process.started): process for process in processes.others_in_sandbox() if process.state not in "ZX"}
        self._killed_at = {key: at for key, at in self._killed_at.items() if key in living}
        sizes = {key: proportional_bytes(process.pid) for key, process in living.items()}
        excess -= sum(sizes[key] for key, at in self._killed_at.items() if now < at + _GRACE_SECONDS)
        for key in sorted(sizes, key=lambda key: sizes[key], reverse=True):
            if excess <= 0:
                return
            if key not in self._killed_at and self._is_worth_ending(living[key]):
                excess -= sizes[key]
                self._killed_at[key] = now
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
            kernel.kill()  # the end of its work says why

    def _is_worth_ending(self, process: processes.Process) -> bool:
        """SECURITY: the end of a kernel that has run nothing gives no memory back, because another follows; and a program of the driver's
        cannot be ended from here. Larger than each process of a crowd, they would stand before it for ever."""
        return not self._kernels.is_unused(process) and processes.may_be_ended(process.pid)
