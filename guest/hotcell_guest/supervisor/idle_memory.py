"""Memory while nothing runs: threads and processes that an execution left may go on growing."""

from __future__ import annotations

from typing import Callable, Optional

from ..system import processes
from ..system.limits import proportional_bytes, sandbox_memory_bytes
from ..system.loop import Loop
from .all_kernels import Kernels

_LOOK_SECONDS = 0.25
_LOOK_AGAIN_SECONDS = 0.02


class IdleMemory:
    """Ends the largest process of the sandbox while it is idle and holds more than its limit, as a kernel's memory killer would.

    `is_idle`: while an execution or a question is under way, somebody else looks. `tell` is for what belongs to no execution.
    """

    def __init__(
        self,
        loop: Loop,
        kernels: Kernels,
        is_idle: Callable[[], bool],
        tell: Callable[[str], None],
    ) -> None:
        self._loop = loop
        self._kernels = kernels
        self._is_idle = is_idle
        self._tell = tell
        self._limit: Optional[int] = None

    def begin(self, limit: Optional[int]) -> None:
        """From the first execution on: before that there is nothing of the user's. Safe to repeat."""
        if self._limit is None and limit is not None:
            self._limit = limit
            self._loop.call_later(_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        assert self._limit is not None
        is_too_much = self._is_idle() and sandbox_memory_bytes(self._limit) > self._limit
        if is_too_much:
            self._end_largest()
        self._loop.call_later(_LOOK_AGAIN_SECONDS if is_too_much else _LOOK_SECONDS, self._look)

    def _end_largest(self) -> None:
        pids = [process.pid for process in processes.others_in_sandbox() if self._is_worth_ending(process)]
        if not pids:
            return
        largest = max(pids, key=proportional_bytes)
        kernel = self._kernels.kernel_with(largest)
        if kernel is not None:
            self._kernels.lose(kernel, "its kernel used up the memory of the sandbox while idle and was ended")
            return
        processes.kill_where(lambda process: process.pid == largest)
        self._tell("A background process used up the memory of the sandbox and was ended.\n")

    def _is_worth_ending(self, process: processes.Process) -> bool:
        """SECURITY: the end of a kernel that has run nothing gives no memory back, because another follows; and a program of the driver's
        cannot be ended from here. Larger than each process of a crowd, they would stand before it for ever."""
        is_dead = process.state in "ZX"
        return not is_dead and not self._kernels.is_unused(process) and processes.may_be_ended(process.pid)
