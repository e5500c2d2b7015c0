"""The callers that wait for Python's kernel: the host for `ready`, requests to restart, and steps that follow when it is up."""

from __future__ import annotations

from typing import Callable

from ..wire.channel import Channel
from ..wire.replies import Fail, Reply


class AwaitedKernel:
    """executions.py reports the state of the kernel. Each request is answered once, or dropped when another host takes over."""

    def __init__(self, channel: Channel, reply: Reply, fail: Fail) -> None:
        self._channel = channel
        self._reply = reply
        self._fail = fail
        self._restarts: list[int] = []
        self._steps: list[Callable[[], None]] = []
        self._said_ready = False
        self._is_held = False

    def restart(self, number: int) -> None:
        """Answers that request when a kernel is up again, or cannot be started."""
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
        """Called when no kernel can be started."""
        for number in self._restarts:
            self._fail(number, "no-kernel", reason)
        self._restarts = []
        self._channel.send({"type": "kernel-failed", "message": reason})

    def hold(self) -> None:
        """Called when another host took over: drops earlier requests, and sends `ready` again, but not before `release`."""
        self._restarts = []
        self._said_ready, self._is_held = False, True

    def release(self, is_up: bool) -> None:
        """Called when the previous host's work has ended: sends `ready` now, or when the kernel is up."""
        self._is_held = False
        if is_up:
            self._say_ready()

    def _say_ready(self) -> None:
        if not self._said_ready and not self._is_held:
            self._said_ready = True
            self._channel.send({"type": "ready"})
