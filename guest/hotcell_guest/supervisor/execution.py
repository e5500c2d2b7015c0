"""One execution in the supervisor: its pipes, its end, and the ladder that ends it early."""

from __future__ import annotations

import os
import signal
import time
from typing import Any, Callable, Optional

from ..kernels.keeper import KernelKeeper
from ..kernels.outputs import OutputPipes
from ..kernels.process import KernelProcess
from ..system import processes
from ..system.loop import Loop, Timer
from .execution_report import Report

# The default of `interruptGraceMs`. Two waits of a second each leave room within the five that the host allows for a typed outcome.
GRACE_SECONDS = 1.0


class Execution:
    """From the moment a kernel takes the code until `finished`. The supervisor makes one for each `execute`."""

    def __init__(self, loop: Loop, name: str, stream: int, keeper: KernelKeeper, pipes: OutputPipes, ours: Callable[[int], bool]) -> None:
        assert keeper.kernel is not None
        self.grace_seconds = GRACE_SECONDS
        self.name = name
        self.stream = stream
        self.kernel: KernelProcess = keeper.kernel
        self.restarted, keeper.restarted = keeper.restarted, None
        self.pipes = pipes
        self.reason: Optional[str] = None
        self.out_of_memory = False
        self.report: Optional[Report] = None
        self.value: Optional[tuple[dict[str, Any], bytes]] = None
        self.is_abandoned = False
        self.started = time.monotonic()
        self._born_since = processes.ticks_now()
        self._is_ours = ours
        self._loop = loop
        self._timer: Optional[Timer] = None

    def interrupt(self, reason: str) -> None:
        """Starts the ladder, once: SIGINT, then every newborn process, then the kernel itself."""
        if self.reason is not None:
            return
        self.reason = reason
        self._ask_kernel_to_stop()
        self._later(self._kill_newborn)

    def abandon(self) -> None:
        """Nobody waits for it any more: it is ended, and what it still prints goes nowhere."""
        self.is_abandoned = True
        self.pipes.discard()
        self.pipes.resume()
        self.kernel.pause(False)
        self.interrupt("closing")

    def use_up_memory(self) -> None:
        """The last rung at once, for a kernel that has used up the memory of its sandbox."""
        self.out_of_memory = True
        self.kill_newborn_processes()
        self._kill_kernel()

    def end_ladder(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def kill_newborn_processes(self) -> None:
        """SECURITY: by birth and not by parent, so that `setsid` and double forks do not escape."""
        processes.kill_where(lambda process: process.started >= self._born_since and not self._is_ours(process.pid))

    def _kill_newborn(self) -> None:
        self.kill_newborn_processes()
        self._ask_kernel_to_stop()
        self._later(self._kill_kernel)

    def _kill_kernel(self) -> None:
        if self.kernel.pid is not None:
            try:
                os.kill(self.kernel.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def _ask_kernel_to_stop(self) -> None:
        if self.kernel.own_pipes is not None:
            # A program of its own may want to hear it in words as well.
            self.kernel.send({"type": "interrupt", "execution": self.name})
        self._signal_kernel_group(signal.SIGINT)

    def _signal_kernel_group(self, number: signal.Signals) -> None:
        """The whole group, as a terminal does: os.system and its like wait for their child's end, not for a signal of their own."""
        if self.kernel.pid is not None:
            try:
                os.killpg(self.kernel.pid, number)
            except (ProcessLookupError, PermissionError):
                pass

    def _later(self, step: Callable[[], None]) -> None:
        self._timer = self._loop.call_later(self.grace_seconds, step)
