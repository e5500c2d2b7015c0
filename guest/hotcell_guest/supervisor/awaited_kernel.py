"""Who waits for Python's kernel: the host for its `ready`, requests to restart, and whoever wants to go on when it is up."""

from __future__ import annotations

from typing import Callable

from ..wire.channel import Channel
from ..wire.replies import Fail, Reply


class AwaitedKernel:
    """executions.py tells what becomes of the kernel. Each request is answered once, or dropped by a host that takes over."""

    def __init__(self, channel: Channel, reply: Reply, fail: Fail) -> None:
        self._channel = channel
        self._reply = reply
        self._fail = fail
        self._restarts: list[int] = []
        self._steps: list[Callable[[], None]] = []
        self._said_ready = False
        self._is_held = False

    def restart(self, number: int) -> None:
        """Answers that request when a kernel is up again, or none can be."""
        self._restarts.append(number)

    def then(self, step: Callable[[], None]) -> None:
        """Calls `step` when the kernel is up."""
        self._steps.append(step)

    def up(self) -> None:
        self._say_ready()
        for number in self._restarts:
            self._reply(number, {})
        self._restarts = []
        for step in self._steps:
            step()
        self._steps = []

    def failed(self, reason: str) -> None:
        """No kernel can be started."""
        for number in self._restarts:
            self._fail(number, "no-kernel", reason)
        self._restarts = []
        self._channel.send({"type": "kernel-failed", "message": reason})

    def hold(self) -> None:
        """A host took over: nobody waits for what was asked before, and `ready` is said again, but not before `release`."""
        self._restarts = []
        self._said_ready, self._is_held = False, True

    def release(self, is_up: bool) -> None:
        """What was under way is over: says `ready` now, or when the kernel is up."""
        self._is_held = False
        if is_up:
            self._say_ready()

    def _say_ready(self) -> None:
        if not self._said_ready and not self._is_held:
            self._said_ready = True
            self._channel.send({"type": "ready"})
