"""A socket that accepts reconnections to the channel, for a sandbox that outlives its server (section 11)."""

from __future__ import annotations

import os
import socket
import struct
from typing import Callable, Optional

from ..system.loop import Loop
from .transports import SocketTransport, Transport

_CREDENTIALS = struct.Struct("3i")


def listen(address: str, peer_uid: Optional[int], loop: Loop, attach: Callable[[Transport], None]) -> None:
    """Passes every connection to `attach`. `address` is a path, or `@name` for an abstract socket.

    SECURITY: user code has the supervisor's uid and can reach its socket. With `peer_uid` only a process of that uid is
    accepted, which nothing in the sandbox can get; and an abstract socket can be neither removed nor replaced.
    """
    server = socket.socket(socket.AF_UNIX)
    if address.startswith("@"):
        server.bind("\0" + address[1:])
        server.listen(4)
    else:
        # It listens before it gets its name, so that a client that sees the name can connect.
        server.bind(f"{address}.new")
        server.listen(4)
        os.rename(f"{address}.new", address)
    server.setblocking(False)

    def accept() -> None:
        try:
            connection = server.accept()[0]
        except OSError:
            return  # the client has disconnected
        if peer_uid is None or _uid_of(connection) == peer_uid:
            attach(SocketTransport(connection))
        else:
            connection.close()

    loop.on_readable(server.fileno(), accept)


def _uid_of(connection: socket.socket) -> int:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(credentials)[1])
