"""A listener of the network: one port on the loopback of the sandbox."""

from __future__ import annotations

import errno
import socket
from typing import Callable

from ..system.loop import Loop

_BACKLOG = 128
_ADDRESS = "127.0.0.1"
_ACCEPT_AGAIN_SECONDS = 0.1
_ATTEMPTS = 100


class Listener:
    """Open and closed in turn, on the same port: programs may have kept its number. `accepted` gets each connection; `may_accept` says
    whether there is room for one more.

    While it is closed, it hangs up on what connects. It does not stop listening: Linux would let it listen again only after the last of its
    connections has left TIME_WAIT, a minute later.
    """

    def __init__(self, loop: Loop, name: str, accepted: Callable[[Listener, socket.socket], None], may_accept: Callable[[], bool]) -> None:
        self.name = name
        self.kind = ""
        self._is_listening = False
        self._loop = loop
        self._accepted = accepted
        self._may_accept = may_accept
        self._sock = _bound()
        self.port = int(self._sock.getsockname()[1])

    @property
    def is_open(self) -> bool:
        return self.kind != ""

    def open(self, kind: str) -> None:
        """Idempotent. Raises OSError if the port cannot be listened on."""
        if not self._is_listening:
            self._sock.listen(_BACKLOG)
            self._is_listening = True
        self.kind = kind
        self.listen()

    def close(self) -> None:
        """Hangs up on connections from now on, those that wait included, and keeps the port."""
        if not self.is_open:
            return
        self.kind = ""
        self.listen()

    def discard(self) -> None:
        """Gives the port up."""
        self.kind = ""
        self._is_listening = False
        self._loop.on_readable(self._sock.fileno(), None)
        self._sock.close()

    def listen(self) -> None:
        """Accepts while there is room. Called again when there may be."""
        if self._is_listening:
            self._loop.on_readable(self._sock.fileno(), self._accept if not self.is_open or self._may_accept() else None)

    def _accept(self) -> None:
        try:
            connection = self._sock.accept()[0]
        except OSError:
            # The client has gone, or this process has no descriptor left: then others must end first.
            self._loop.on_readable(self._sock.fileno(), None)
            self._loop.call_later(_ACCEPT_AGAIN_SECONDS, self.listen)
            return
        if not self.is_open:
            connection.close()
            return
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._accepted(self, connection)
        self.listen()


def _bound() -> socket.socket:
    """A socket on a free port. It is bound to that port by its number: one that Linux chose would be given up with `shutdown`.

    SECURITY: without SO_REUSEADDR. With it at both ends, a program could bind the port while it is closed, and listen there itself.
    """
    for attempt in range(_ATTEMPTS):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.bind((_ADDRESS, 0))
            port = int(probe.getsockname()[1])
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            sock.bind((_ADDRESS, port))
        except OSError as error:
            sock.close()
            # Another program may be quicker.
            if error.errno != errno.EADDRINUSE or attempt == _ATTEMPTS - 1:
                raise
            continue
        sock.setblocking(False)
        return sock
    raise AssertionError("unreachable")
