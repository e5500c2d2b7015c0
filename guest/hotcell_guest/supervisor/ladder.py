"""The ladder that ends an execution early: SIGINT, then every newborn process, then the kernel itself."""

from __future__ import annotations

import signal
from typing import Callable, Optional

from ..kernels.process import KernelProcess
from ..system import processes
from ..system.loop import Loop, Timer
from ..system.processes import signal_group

# Default of `interruptGraceMs`. Two waits of a second each fit into the five seconds that the host allows for a typed outcome.
GRACE_SECONDS = 1.0

KillNewborn = Callable[[KernelProcess, int], None]


class Ladder:
    """One per execution, made when its kernel takes the code. `kill_newborn` kills descendants of a kernel that were born since then.

    `reason` is why the execution is being ended; None while it is not.
    """

    def __init__(self, loop: Loop, execution: str, kernel: KernelProcess, *, kill_newborn: KillNewborn, grace_seconds: float) -> None:
        self.reason: Optional[str] = None
        self._loop = loop
        self._execution = execution
        self._kernel = kernel
        self._kill_born_since = kill_newborn
        self._grace_seconds = grace_seconds
        self.born_since = processes.ticks_now()
        self._timer: Optional[Timer] = None

    def begin(self, reason: str) -> None:
        """Takes the first rung. Idempotent: the first reason stays."""
        if self.reason is not None:
            return
        self.reason = reason
        self._ask_kernel_to_stop()
        self._later(self._kill_newborn)

    def expect_end(self, reason: str) -> None:
        """Records the reason only, because the kernel is being killed with all others."""
        self.reason = self.reason or reason

    def jump_to_the_end(self) -> None:
        """Takes the last rung at once."""
        self._kill_kernel()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def kill_newborn_processes(self) -> None:
        self._kill_born_since(self._kernel, self.born_since)

    def _kill_newborn(self) -> None:
        self.kill_newborn_processes()
        self._ask_kernel_to_stop()
        self._later(self._kill_kernel)

    def _kill_kernel(self) -> None:
        self.kill_newborn_processes()  # while its descendants can still be identified
        self._kernel.kill()

    def _ask_kernel_to_stop(self) -> None:
        if self._kernel.own_pipes is not None:
            # A kernel that is another program may need a message too.
            self._kernel.send({"type": "interrupt", "execution": self._execution})
        self._signal_kernel_group(signal.SIGINT)

    def _signal_kernel_group(self, number: signal.Signals) -> None:
        """Signals the whole group, as a terminal does: os.system and similar calls wait for the end of their child, not for a signal."""
        if self._kernel.pid is not None:
            signal_group(self._kernel.pid, number)
        foreground = self._kernel.foreground and self._kernel.foreground()
        if foreground:
            signal_group(foreground, number)

    def _later(self, step: Callable[[], None]) -> None:
        self._timer = self._loop.call_later(self._grace_seconds, step)
