"""`exercise`, for a pool, which has time: the idle kernel touches what it was forked with (languages/exercise.py) before its first user."""

from __future__ import annotations

from ..kernels.process import KernelProcess
from ..wire.replies import Reply


class IdleExercise:
    """Requests whose kernel has not said `exercised` yet. `end` comes too when that kernel dies: an exercise is no promise."""

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
        """Nobody waits for it any more."""
        self._numbers = []
