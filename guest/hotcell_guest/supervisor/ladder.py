"""The ladder that ends an execution early: SIGINT, then every newborn process, then the kernel itself."""

from __future__ import annotations

import os
import signal
from typing import Callable, Optional

from ..kernels.process import KernelProcess
from ..system import processes
from ..system.loop import Loop, Timer

# The default of `interruptGraceMs`. Two waits of a second each leave room within the five that the host allows for a typed outcome.
GRACE_SECONDS = 1.0


class Ladder:
    """One per execution, made when its kernel takes the code. `is_ours` names kernels and helpers, which no rung but the last ends.

    `reason` says why the execution is being ended; None while it is not.
    """

    def __init__(self, loop: Loop, execution: str, kernel: KernelProcess, is_ours: Callable[[int], bool], grace_seconds: float) -> None:
        self.reason: Optional[str] = None
        self._loop = loop
        self._execution = execution
        self._kernel = kernel
        self._is_ours = is_ours
        self._grace_seconds = grace_seconds
        self._born_since = processes.ticks_now()
        self._timer: Optional[Timer] = None

    def begin(self, reason: str) -> None:
        """Takes the first rung. Safe to repeat: the first reason stays."""
        if self.reason is not None:
            return
        self.reason = reason
        self._ask_kernel_to_stop()
        self._later(self._kill_newborn)

    def expect_end(self, reason: str) -> None:
        """The kernel is being killed with all others: only the reason is noted."""
        self.reason = self.reason or reason

    def jump_to_the_end(self) -> None:
        """Takes the last rung at once."""
        self.kill_newborn_processes()
        self._kernel.kill()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def kill_newborn_processes(self) -> None:
        """SECURITY: by birth and not by parent, so that `setsid` and double forks do not escape."""
        processes.kill_where(lambda process: process.started >= self._born_since and not self._is_ours(process.pid))

    def _kill_newborn(self) -> None:
        self.kill_newborn_processes()
        self._ask_kernel_to_stop()
        self._later(self._kernel.kill)

    def _ask_kernel_to_stop(self) -> None:
        if self._kernel.own_pipes is not None:
            # A program of its own may want to hear it in words as well.
            self._kernel.send({"type": "interrupt", "execution": self._execution})
        self._signal_kernel_group(signal.SIGINT)

    def _signal_kernel_group(self, number: signal.Signals) -> None:
        """The whole group, as a terminal does: os.system and its like wait for their child's end, not for a signal of their own."""
        if self._kernel.pid is not None:
            try:
                os.killpg(self._kernel.pid, number)
            except (ProcessLookupError, PermissionError):
                pass

    def _later(self, step: Callable[[], None]) -> None:
        self._timer = self._loop.call_later(self._grace_seconds, step)
