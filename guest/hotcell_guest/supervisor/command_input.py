"""The input of a command: bytes from the host, written as fast as the program reads them."""

from __future__ import annotations

import os
from collections import deque
from typing import Callable, Optional

from ..system.loop import Loop
from ..system.terminal import end_of_input
from ..wire.frames import Frame


class CommandInput:
    """Owns `fd`, the end of a pipe or the master of a terminal; None if the program has no input. Never blocks.

    `credit` is called with the number of consumed bytes. A program that does not read applies backpressure to the host alone: the host
    stops when its window is used up, so at most one window is buffered here.
    """

    def __init__(self, loop: Loop, fd: Optional[int], credit: Callable[[int], None], *, is_terminal: bool) -> None:
        self._loop = loop
        self._fd = fd
        self._credit = credit
        self._is_terminal = is_terminal
        self._waiting: deque[_Piece] = deque()

    def take(self, frame: Frame) -> None:
        """Drops input for a program that no longer reads."""
        if self._fd is None:
            self._credit(frame.size)
            return
        is_end = bool(frame.head.get("end"))
        data = frame.body + (end_of_input(self._fd) if is_end and self._is_terminal else b"")
        self._waiting.append(_Piece(data, frame.size, is_end))
        if len(self._waiting) == 1:
            self._write()

    def close(self) -> None:
        """Drops buffered input. Idempotent."""
        fd, self._fd = self._fd, None
        if fd is None:
            return
        self._loop.on_writable(fd, None)
        os.close(fd)
        dropped, self._waiting = self._waiting, deque()
        for piece in dropped:
            self._credit(piece.size)

    def _write(self) -> None:
        while self._waiting and self._fd is not None:
            piece = self._waiting[0]
            try:
                piece.data = piece.data[os.write(self._fd, piece.data) :]
            except BlockingIOError:
                self._loop.on_writable(self._fd, self._write)
                return
            except OSError:
                self.close()  # the program has closed its input, or has ended
                return
            if piece.data:
                continue
            self._waiting.popleft()
            self._credit(piece.size)
            if piece.is_end and not self._is_terminal:
                self.close()
        if self._fd is not None:
            self._loop.on_writable(self._fd, None)


class _Piece:
    def __init__(self, data: bytes, size: int, is_end: bool) -> None:
        self.data = memoryview(data)
        self.size = size
        self.is_end = is_end
