"""Our end of a program's connection: written at the end of a turn, half-closed, ended or reset after what was written."""

from __future__ import annotations

import itertools
import socket
import struct
from collections import deque
from typing import Callable, Optional, Union

from ..system import linux
from ..system.loop import Callback, Loop

_READ_BYTES = 131_072
_WRITE_PARTS = 64
# Time for a program to close its end after ours was closed.
_LINGER_SECONDS = 2.0
_RESET = struct.pack("ii", 1, 0)


class ProgramSocket:
    """`on_taken` is called with the cost of the pieces that the program's end has taken, `on_gone` when the program has reset its
    connection, and `on_closed` once, when the socket is closed."""

    def __init__(
        self,
        loop: Loop,
        sock: socket.socket,
        *,
        on_taken: Callable[[int], None],
        on_gone: Callback,
        on_closed: Callback,
    ) -> None:
        self._loop = loop
        self._sock = sock
        self._fd = sock.fileno()
        self._on_taken = on_taken
        self._on_gone = on_gone
        self._on_closed = on_closed
        self._unsent: deque[tuple[Union[bytes, memoryview], int]] = deque()
        self._will_flush = False
        self._then: Optional[Callback] = None

    @property
    def is_closed(self) -> bool:
        return self._fd < 0

    @property
    def unsent_bytes(self) -> int:
        return sum(len(data) for data, _ in self._unsent)

    def on_readable(self, callback: Optional[Callback]) -> None:
        if not self.is_closed:
            self._loop.on_readable(self._fd, callback)

    def receive(self) -> Optional[bytes]:
        """Returns no bytes at the end of what the program says, and None if nothing has come or the program has gone."""
        try:
            return self._sock.recv(_READ_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            self._on_gone()
            return None

    def write(self, data: bytes, cost: int = 0) -> None:
        """Writes at the end of the loop's turn, with all that the turn brings. Never blocks."""
        self._unsent.append((data, cost))
        self._flush_soon()

    def half_close(self) -> None:
        """Ends our side after what was written. The program may go on."""
        self._afterwards(self._shut)

    def finish(self) -> None:
        """Ends the connection after what was written."""
        self._afterwards(self._linger)

    def break_off(self) -> None:
        """Resets the connection after what was written."""
        self._afterwards(self.reset)

    def reset(self) -> None:
        """Closes at once, so that the program sees a reset instead of an end. The filter of system calls makes SO_LINGER have no
        effect, and gVisor has no other way."""
        if not self.is_closed:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            try:
                linux.disconnect(self._fd)
            except OSError:
                pass
        self.close()

    def close(self) -> None:
        """Closes at once. Idempotent."""
        if self.is_closed:
            return
        self._unsent.clear()
        self._loop.on_readable(self._fd, None)
        self._loop.on_writable(self._fd, None)
        self._fd = -1
        self._sock.close()
        self._on_closed()

    # Writing

    def _afterwards(self, then: Callback) -> None:
        self._then = then
        self._flush_soon()

    def _flush_soon(self) -> None:
        if not self._will_flush:
            self._will_flush = True
            self._loop.soon(self._flush)

    def _flush(self) -> None:
        self._will_flush = False
        if self.is_closed:
            return
        try:
            while self._unsent:
                parts = list(itertools.islice((data for data, _ in self._unsent), _WRITE_PARTS))
                if not self._drop_written(self._sock.sendmsg(parts), parts):
                    self._loop.on_writable(self._fd, self._flush)
                    return
        except BlockingIOError:
            self._loop.on_writable(self._fd, self._flush)
            return
        except OSError:
            self._on_gone()
            return
        self._loop.on_writable(self._fd, None)
        then, self._then = self._then, None
        if then is not None:
            then()

    def _drop_written(self, written: int, parts: list[Union[bytes, memoryview]]) -> bool:
        """Returns whether all of it was written."""
        cost = taken = 0
        for part in parts:
            if written < len(part):
                self._unsent[0] = (memoryview(part)[written:], self._unsent[0][1])
                break
            written -= len(part)
            cost += self._unsent.popleft()[1]
            taken += 1
        if cost:
            self._on_taken(cost)
        return len(parts) == taken

    # The end

    def _shut(self) -> None:
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError:
            self._on_gone()

    def _linger(self) -> None:
        """A close with unread bytes would reset the connection, and the program might lose the end of what it was sent."""
        self._shut()
        self.on_readable(self._drop)
        self._loop.call_later(_LINGER_SECONDS, self.close)

    def _drop(self) -> None:
        if self.receive() == b"":
            self.close()
