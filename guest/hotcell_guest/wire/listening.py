"""A socket on which the channel can be connected again: what a sandbox that outlives its server listens on (section 11)."""

from __future__ import annotations

import os
import socket
import struct
from typing import Callable, Optional

from ..system.loop import Loop
from .transports import SocketTransport, Transport

_CREDENTIALS = struct.Struct("3i")


def listen(address: str, peer_uid: Optional[int], loop: Loop, attach: Callable[[Transport], None]) -> None:
    """Passes every connection to `attach`. `address` is a path, or `@name` for a name that no file stands for.

    SECURITY: user code shares the supervisor's uid and can reach its socket. With `peer_uid` only a process of that uid is heard, which
    nothing in the sandbox can become; and a name without a file can be neither removed nor taken over.
    """
    server = socket.socket(socket.AF_UNIX)
    if address.startswith("@"):
        server.bind("\0" + address[1:])
        server.listen(4)
    else:
        # Listening before it has its name: whoever sees the name can connect.
        server.bind(f"{address}.new")
        server.listen(4)
        os.rename(f"{address}.new", address)
    server.setblocking(False)

    def accept() -> None:
        try:
            connection = server.accept()[0]
        except OSError:
            return  # it has gone again
        if peer_uid is None or _uid_of(connection) == peer_uid:
            attach(SocketTransport(connection))
        else:
            connection.close()

    loop.on_readable(server.fileno(), accept)


def _uid_of(connection: socket.socket) -> int:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(credentials)[1])
