"""`exercise`, the warm-up for a pool: the idle kernel touches its forked memory (languages/exercise.py) before its first user."""

from __future__ import annotations

from ..kernels.process import KernelProcess
from ..wire.replies import Reply


class IdleExercise:
    """Requests whose kernel has not sent `exercised` yet. `end` is also called when that kernel dies: a warm-up promises nothing."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._numbers: list[int] = []

    @property
    def under_way(self) -> bool:
        return bool(self._numbers)

    def begin(self, number: int, kernel: KernelProcess) -> None:
        self._numbers.append(number)
        kernel.send({"type": "exercise"})

    def end(self) -> None:
        numbers, self._numbers = self._numbers, []
        for number in numbers:
            self._reply(number, {})

    def abandon(self) -> None:
        """Drops the requests, because the host is gone."""
        self._numbers = []
