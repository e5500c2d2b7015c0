"""sys.stdout and sys.stderr of a kernel: plain descriptors, with Python's own writes in one order across the two."""

from __future__ import annotations

import io
import os
import sys
import threading
from typing import Callable, Optional, TextIO

from .late_flush import LateFlush

_BUFFER_BYTES = 65_536


class _Turn:
    """The stream that may write now. Switching to the other waits until earlier output has left the pipe."""

    def __init__(self, drain: Callable[[], None]) -> None:
        self._drain = drain
        self._lock = threading.RLock()
        self._owner: Optional[OrderedStream] = None
        self._pid = os.getpid()

    def take(self, stream: OrderedStream) -> None:
        # A fork of the user has the same objects but must not write to the kernel's socket.
        if self._owner is stream or os.getpid() != self._pid:
            return
        with self._lock:
            if self._owner is not None and self._owner is not stream:
                self._owner.flush()
                self._drain()
            self._owner = stream

    def forget(self) -> None:
        self._owner = None


class OrderedStream(io.TextIOWrapper):
    """A line-buffered text stream over a descriptor that waits for its turn before it writes.

    With `is_late`, the lines of a flood are written together a few milliseconds later.
    """

    def __init__(self, fd: int, name: str, turn: _Turn, is_late: bool = False) -> None:
        raw = io.FileIO(fd, "w", closefd=False)
        # A late stream passes each text on to its buffer, so that `sys.stdout.buffer` keeps the order.
        buffer = io.BufferedWriter(raw, _BUFFER_BYTES)
        super().__init__(buffer, "utf-8", "backslashreplace", line_buffering=not is_late, write_through=is_late)
        self.mode = "w"  # type: ignore[misc]  # a text stream of CPython has it, as an attribute
        self._turn = turn
        self._label = name
        self._late = LateFlush(self.flush) if is_late else None

    @property
    def name(self) -> str:
        return self._label

    def write(self, text: str) -> int:
        self._turn.take(self)
        count = super().write(text)
        if self._late is not None and ("\n" in text or "\r" in text):
            self._late.line_written()
        return count

    def fileno(self) -> int:
        """Another writer of the descriptor, such as a child process, comes after what was printed."""
        if self._late is not None:
            self._late.flush_now()
        return super().fileno()


class Streams:
    """The two streams of one kernel. `begin` restores them for an execution, whatever the last one did to them."""

    def __init__(self, drain: Callable[[], None]) -> None:
        self._turn = _Turn(drain)
        self.stdout = OrderedStream(1, "<stdout>", self._turn, is_late=True)
        self.stderr = OrderedStream(2, "<stderr>", self._turn)

    def begin(self) -> None:
        self._turn.forget()
        if self.stdout.closed:
            self.stdout = OrderedStream(1, "<stdout>", self._turn, is_late=True)
        if self.stderr.closed:
            self.stderr = OrderedStream(2, "<stderr>", self._turn)
        sys.stdout = sys.__stdout__ = self.stdout  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = self.stderr  # type: ignore[misc]

    def flush(self) -> None:
        if sys.stdout is not self.stdout:
            _flush(sys.stdout)
        if sys.stderr is not self.stderr:
            _flush(sys.stderr)
        _flush(self.stdout)
        _flush(self.stderr)


def _flush(stream: TextIO) -> None:
    try:
        stream.flush()
    except Exception:  # noqa: BLE001 - the user may have put anything there, or closed the descriptor
        pass
