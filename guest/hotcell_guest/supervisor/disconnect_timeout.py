"""How long a persistent sandbox waits for the next server."""

from __future__ import annotations

from typing import Any, Callable, Optional

from ..system.loop import Loop, Timer

# For a guest that no host has configured yet.
_UNCONFIGURED_SECONDS = 60.0


class DisconnectTimeout:
    """Without a connection, running code is interrupted after a while (`interrupt`), and later the guest ends (`give_up`). The host sets
    both times."""

    def __init__(self, loop: Loop, interrupt: Callable[[], None], give_up: Callable[[], None]) -> None:
        self._loop = loop
        self._steps: list[tuple[float, Callable[[], None]]] = [(_UNCONFIGURED_SECONDS, give_up)]
        self._interrupt = interrupt
        self._give_up = give_up
        self._timers: list[Timer] = []

    def configure(self, alone: Optional[dict[str, Any]]) -> None:
        """Sets the host's timeouts, from the next disconnect on."""
        self._steps = []
        if alone is not None:
            limits = ((alone["interruptAfterMs"], self._interrupt), (alone["endAfterMs"], self._give_up))
            self._steps = [(float(milliseconds) / 1000, step) for milliseconds, step in limits]

    def start(self) -> None:
        self.cancel()
        self._timers = [self._loop.call_later(seconds, step) for seconds, step in self._steps]

    def cancel(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers = []
