"""The output pipes of an execution or of a kernel: read while the host gives credit, in an order that the kernel can enforce."""

from __future__ import annotations

import array
import fcntl
import os
import termios
from typing import Callable, Optional

from ..system.loop import Loop

_READ_BYTES = 65_536
# More than a terminal buffers. The exact number is unknown: some bytes are still on their way to the reader.
_TERMINAL_BYTES = 131_072
_LAST_WORDS_BYTES = 16_384
Sink = Callable[[str, bytes], None]


class OutputPipes:
    """Two pipes, `stdout` and `stderr`, whose write ends a kernel gets.

    `direct_to` sets the sink for the output, and the credit for it. A barrier runs its callback when all bytes that were in the pipes at
    that moment have been passed on.
    """

    def __init__(self, loop: Loop, terminal: Optional[tuple[int, int]] = None) -> None:
        """`terminal`: its master and its slave, instead of pipes. All its output is `stdout`."""
        self._loop = loop
        self._sink: Sink = _nowhere
        self._credit: Callable[[], int] = _none
        self._fds: dict[str, int] = {}
        self._write_fds: tuple[int, ...] = ()
        self._barrier: Optional[tuple[dict[str, int], Callable[[], None]]] = None
        self._paused = False
        self._last_words: Optional[bytes] = None
        self._is_terminal = terminal is not None
        ends = {"stdout": terminal} if terminal is not None else {"stdout": os.pipe(), "stderr": os.pipe()}
        for name, (read_fd, write_fd) in ends.items():
            os.set_blocking(read_fd, False)
            self._fds[name] = read_fd
            self._write_fds += (write_fd,)
        self._listen()

    def direct_to(self, sink: Sink, credit: Callable[[], int]) -> None:
        """Sets the sink of later output: an execution, or after its end the background log."""
        self._sink = sink
        self._credit = credit
        if self._paused:
            self._listen()

    def discard(self) -> None:
        """Reads and drops the output before the first execution."""
        self.direct_to(_nowhere, lambda: _READ_BYTES)

    def keep_last_words(self) -> None:
        """Remembers the end of stderr, with the last message of a foreign program before it died. For pipes that last as long as a
        kernel."""
        self._last_words = b""

    @property
    def are_a_kernels(self) -> bool:
        return self._last_words is not None

    @property
    def last_words(self) -> bytes:
        return self._last_words or b""

    @property
    def write_fds(self) -> tuple[int, ...]:
        return self._write_fds

    def close(self) -> None:
        """Closes the read ends. Processes that still write to them get an error."""
        for name in list(self._fds):
            self._close(name)
        self.close_write_ends()

    def close_write_ends(self) -> None:
        for fd in self._write_fds:
            os.close(fd)
        self._write_fds = ()

    def set_barrier(self, then: Callable[[], None]) -> None:
        waiting = {name: count for name, fd in self._fds.items() if (count := _TERMINAL_BYTES if self._is_terminal else _bytes_in(fd))}
        if not waiting:
            self._barrier = None
            then()
            return
        self._barrier = (waiting, then)
        self._work_on_barrier()

    def resume(self) -> None:
        """Called when there is credit again."""
        if self._barrier is not None:
            self._work_on_barrier()
        if self._paused and self._credit() > 0:
            self._listen()

    @property
    def open(self) -> bool:
        """Whether more output may come."""
        return bool(self._fds)

    def _listen(self) -> None:
        self._paused = False
        for name, fd in self._fds.items():
            self._loop.on_readable(fd, lambda name=name: self._readable(name))  # type: ignore[misc]

    def _pause(self) -> None:
        self._paused = True
        for fd in self._fds.values():
            self._loop.on_readable(fd, None)

    def _readable(self, name: str) -> None:
        room = self._credit()
        if room <= 0:
            self._pause()
            return
        self._read(name, min(room, _READ_BYTES))
        if self._barrier is not None:
            self._work_on_barrier()

    def _work_on_barrier(self) -> None:
        assert self._barrier is not None
        waiting, then = self._barrier
        for name in ("stdout", "stderr"):
            while waiting.get(name, 0) > 0 and name in self._fds:
                room = self._credit()
                if room <= 0:
                    self._pause()
                    return
                if self._read(name, min(room, _READ_BYTES, waiting[name])) == 0:
                    waiting[name] = 0
        self._barrier = None
        then()

    def _read(self, name: str, size: int) -> int:
        try:
            data = os.read(self._fds[name], size)
        except BlockingIOError:
            return 0
        except OSError:
            data = b""  # EIO: no process has the terminal any more
        if not data:
            self._close(name)
            return 0
        if self._barrier is not None:
            waiting = self._barrier[0]
            waiting[name] = max(0, waiting.get(name, 0) - len(data))
        if self._last_words is not None and name == "stderr":
            self._last_words = (self._last_words + data)[-_LAST_WORDS_BYTES:]
        self._sink(name, data)
        return len(data)

    def _close(self, name: str) -> None:
        fd = self._fds.pop(name)
        self._loop.on_readable(fd, None)
        os.close(fd)


_COUNT = array.array("i", [0])


def _nowhere(_source: str, _data: bytes) -> None:
    """Sink of pipes whose write ends are not in use yet."""


def _none() -> int:
    return 0


def _bytes_in(fd: int) -> int:
    fcntl.ioctl(fd, termios.FIONREAD, _COUNT)
    return _COUNT[0]
