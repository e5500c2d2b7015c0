"""The transport of the channel: a socket, or the standard streams of a container."""

from __future__ import annotations

import os
import socket
from typing import Protocol


class Transport(Protocol):
    """Two descriptors, for reading and for writing; the same one for a socket."""

    def read_fd(self) -> int: ...
    def write_fd(self) -> int: ...
    def close(self) -> None: ...


class SocketTransport:
    """A connected stream socket."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._sock = sock

    def read_fd(self) -> int:
        return self._sock.fileno()

    def write_fd(self) -> int:
        return self._sock.fileno()

    def close(self) -> None:
        self._sock.close()


class PipeTransport:
    """A pair of descriptors: the attached standard streams of a container."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        os.set_blocking(read_fd, False)
        os.set_blocking(write_fd, False)
        self._fds = (read_fd, write_fd)

    def read_fd(self) -> int:
        return self._fds[0]

    def write_fd(self) -> int:
        return self._fds[1]

    def close(self) -> None:
        for fd in set(self._fds):
            os.close(fd)
