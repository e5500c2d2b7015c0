"""Keeps one kernel alive in a sandbox: starts it, restarts it when it dies, and gives up if it cannot start."""

from __future__ import annotations

import os
import signal
from typing import Callable, NamedTuple, Optional

from ..system.loop import Loop
from ..wire.frames import Frame
from .process import KernelProcess, KernelStarter

_MAX_FAILED_STARTS = 3
_START_SECONDS = 20.0


class KernelEvents(NamedTuple):
    """Callbacks of the keeper. `died` is called for a kernel that was up, before the next one is started."""

    up: Callable[[KernelProcess], None]
    frame: Callable[[KernelProcess, Frame], None]
    died: Callable[[KernelProcess, int], None]
    failed: Callable[[str], None]


class KernelKeeper:
    """`kernel` is the current kernel, up or starting; None while none can be started.

    `on_demand`: the first execution that needs the kernel starts it, and so does the first after its end. `restarted` says why the kernel
    was lost while nothing ran, until an execution has reported it. `has_worked`: the kernel has run user code.
    """

    def __init__(self, loop: Loop, events: KernelEvents, *, on_demand: bool = False) -> None:
        self.kernel: Optional[KernelProcess] = None
        self.restarted: Optional[str] = None
        self._loop = loop
        self._events = events
        self._on_demand = on_demand
        self._starter: Optional[KernelStarter] = None
        self._failed_starts = 0
        self.has_worked = False

    @property
    def is_up(self) -> bool:
        return self.kernel is not None and self.kernel.is_up

    def begin(self, starter: KernelStarter) -> None:
        self._starter = starter
        self.start_again()

    def ensure_started(self) -> None:
        """Starts a kernel for a request that arrived after the keeper had given up."""
        if self.kernel is None and self._failed_starts == 0:
            self._start()

    def has_begun_work(self) -> None:
        """Records that the kernel runs user code from now on."""
        self.has_worked = True

    def replace_unused(self) -> bool:
        """Restarts a kernel that has run nothing from a better stage. Returns whether there was one."""
        if self.kernel is None or self.has_worked:
            return False
        self._forget().kill()
        self._start()
        return True

    def abandon(self) -> None:
        """Forgets a kernel that is about to be killed with all others. It is not awaited: a kernel that dies now may have sent `up` a
        moment before."""
        if self.kernel is not None:
            self._forget()
            # Earlier failed starts do not delay the next kernel: the forgotten one will not be retried.
            self._failed_starts = 0

    def start_again(self) -> None:
        """Starts the kernel after its end, unless the next execution does so first."""
        if not self._on_demand:
            self.ensure_started()

    def reaped(self, pid: int, status: int) -> None:
        """Called when a child of the supervisor has ended."""
        kernel = self.kernel
        if kernel is None or not kernel.is_reaped_as(pid):
            return
        self._forget()
        if not kernel.is_up:
            self._fail(f"the kernel ended before it was ready ({describe_status(status)})")
            return
        self._events.died(kernel, status)
        self.start_again()

    def _start_if_none(self) -> None:
        if self.kernel is None:
            self._start()

    def _start(self) -> None:
        assert self._starter is not None
        try:
            started = self._starter()
        except OSError as error:
            self._fail(f"cannot fork: {error.strerror}")
            return
        kernel = KernelProcess(self._loop, started, lambda frame: self._on_frame(kernel, frame), lambda: self._on_gone(kernel))
        self.kernel = kernel
        self.has_worked = False
        self._loop.call_later(_START_SECONDS, lambda: self._give_up_on(kernel))

    def _give_up_on(self, kernel: KernelProcess) -> None:
        """Gives up on a start. A foreign program may never send `up`, and the guest's own may be stopped by leftovers of user code."""
        if self.kernel is kernel and not kernel.is_up:
            self._failed_starts = _MAX_FAILED_STARTS
            if not kernel.pids:
                kernel.close()
            self._on_gone(kernel)

    def _on_frame(self, kernel: KernelProcess, frame: Frame) -> None:
        if frame.head["type"] != "up" or kernel.is_up:
            self._events.frame(kernel, frame)
            return
        kernel.is_up = True
        kernel.pid = kernel.pid or int(frame.head["pid"])
        self._failed_starts = 0
        self._events.up(kernel)

    def _on_gone(self, kernel: KernelProcess) -> None:
        """Called when the kernel's socket ended: a kernel without it is useless. Its end is seen when it is reaped."""
        if kernel.pids:
            kernel.kill()
        elif kernel is self.kernel:
            self.kernel = None
            self._fail("the kernel ended before it was ready")

    def _fail(self, reason: str) -> None:
        self._failed_starts += 1
        if self._failed_starts < _MAX_FAILED_STARTS:
            self._loop.call_later(0.05 * self._failed_starts, self._start_if_none)
            return
        self._failed_starts = 0
        self._events.failed(reason)

    def _forget(self) -> KernelProcess:
        assert self.kernel is not None
        kernel, self.kernel = self.kernel, None
        kernel.close()
        return kernel


def describe_status(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal_name(os.WTERMSIG(status))
    return f"exit code {os.WEXITSTATUS(status)}"


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"
