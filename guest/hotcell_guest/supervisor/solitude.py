"""How long a sandbox that outlives its server waits for another."""

from __future__ import annotations

from typing import Any, Callable, Optional

from ..system.loop import Loop, Timer

# Of a guest whose host has not said yet how long: that host never came.
_UNCONFIGURED_SECONDS = 60.0


class Solitude:
    """Nobody is connected: after a while what runs is stopped (`tire`), and later the guest ends (`give_up`). When, the host says."""

    def __init__(self, loop: Loop, tire: Callable[[], None], give_up: Callable[[], None]) -> None:
        self._loop = loop
        self._steps: list[tuple[float, Callable[[], None]]] = [(_UNCONFIGURED_SECONDS, give_up)]
        self._tire = tire
        self._give_up = give_up
        self._timers: list[Timer] = []

    def bear(self, alone: Optional[dict[str, Any]]) -> None:
        """The host's limits, from the next time on."""
        self._steps = []
        if alone is not None:
            limits = ((alone["interruptAfterMs"], self._tire), (alone["endAfterMs"], self._give_up))
            self._steps = [(float(milliseconds) / 1000, step) for milliseconds, step in limits]

    def begin(self) -> None:
        self.end()
        self._timers = [self._loop.call_later(seconds, step) for seconds, step in self._steps]

    def end(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers = []
