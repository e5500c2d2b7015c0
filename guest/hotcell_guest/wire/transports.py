"""The transport of the channel: a socket, or the standard streams of a container."""

from __future__ import annotations

import fcntl
import os
import socket
from typing import Protocol

# F_SETPIPE_SZ, which Python 3.9 has no name for.
_SET_PIPE_SIZE = 1031
_PIPE_BYTES = 262_144


class Transport(Protocol):
    """Two descriptors, for reading and for writing; the same one for a socket."""

    def read_fd(self) -> int: ...
    def write_fd(self) -> int: ...
    def widen(self) -> None:
        """Makes room for much at once, where that costs nothing else."""

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

    def widen(self) -> None:
        """A socket has room for three frames of a connection."""

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

    def widen(self) -> None:
        """A pipe has room for 64 KiB, and each wake-up at either end would move no more."""
        for fd in self._fds:
            try:
                fcntl.fcntl(fd, _SET_PIPE_SIZE, _PIPE_BYTES)
            except OSError:
                pass  # not a pipe, one of gVisor's, or the user's share of pipes is used up

    def close(self) -> None:
        for fd in set(self._fds):
            os.close(fd)
