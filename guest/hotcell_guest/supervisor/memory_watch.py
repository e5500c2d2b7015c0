"""The watchdog over a sandbox's memory, where nothing harder holds its limit."""

from __future__ import annotations

from typing import Callable, Optional

from ..system.limits import sandbox_memory_bytes
from ..system.loop import Loop

_EVERY_SECONDS = 0.02


class MemoryWatch:
    """Looks again and again while something is under way. Without a limit it never looks."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self.limit_bytes: Optional[int] = None

    def watch(self, is_under_way: Callable[[], bool], kill: Callable[[], None]) -> None:
        """Calls `kill` once, if the limit is passed before it is over."""
        limit = self.limit_bytes
        if limit is None:
            return

        def look() -> None:
            if not is_under_way():
                return
            if sandbox_memory_bytes(limit) > limit:
                kill()
                return
            self._loop.call_later(_EVERY_SECONDS, look)

        self._loop.call_later(_EVERY_SECONDS, look)
