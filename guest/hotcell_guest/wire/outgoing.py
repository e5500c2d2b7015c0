"""Outgoing bytes for a transport that may be slow: written together at the end of a turn, without blocking."""

from __future__ import annotations

import itertools
import os
from collections import deque
from typing import Callable

from ..system.loop import Loop

_WRITE_PARTS = 128


class Outgoing:
    """Writes to one descriptor at a time. `on_failure` is called when writing fails, `on_empty` when everything is written."""

    def __init__(self, loop: Loop, on_failure: Callable[[str], None], on_empty: Callable[[], None]) -> None:
        self._loop = loop
        self._on_failure = on_failure
        self._on_empty = on_empty
        self.waiting_bytes = 0
        self._fd = -1
        self._waiting: deque[memoryview] = deque()
        self._will_flush = False

    def begin(self, fd: int) -> None:
        self._fd = fd

    def end(self) -> None:
        """Call it before the descriptor is closed; unwritten bytes are dropped."""
        self._loop.on_writable(self._fd, None)
        self._waiting.clear()
        self.waiting_bytes = 0
        self._fd = -1

    def append(self, encoded: memoryview) -> None:
        self._waiting.append(encoded)
        self.waiting_bytes += len(encoded)
        if not self._will_flush:
            self._will_flush = True
            self._loop.soon(self.flush)

    def flush(self) -> None:
        """Writes now, instead of at the end of the turn."""
        self._will_flush = False
        if not self._waiting:
            return
        fd = self._fd
        try:
            while self._waiting:
                self._drop_written(os.writev(fd, list(itertools.islice(self._waiting, _WRITE_PARTS))))
        except BlockingIOError:
            self._loop.on_writable(fd, self.flush)
            return
        except OSError as error:
            self._on_failure(f"write: {error.strerror}")
            return
        self._loop.on_writable(fd, None)
        self._on_empty()

    def _drop_written(self, written: int) -> None:
        self.waiting_bytes -= written
        while written:
            first = self._waiting[0]
            if written < len(first):
                self._waiting[0] = first[written:]
                return
            written -= len(first)
            self._waiting.popleft()
