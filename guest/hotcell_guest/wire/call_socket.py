"""The socket that programs of the sandbox make calls on, and who is at its other end (section 10)."""

from __future__ import annotations

import os
import socket
import struct
from typing import Optional

_BACKLOG = 128
_NAME_CHARS = 107
_CREDENTIALS = struct.Struct("3i")
VARIABLE = "HOTCELL_CALLS"
"""The environment variable with the address: `@` and a name in the abstract namespace."""


def listen_for_calls() -> tuple[socket.socket, str]:
    """Returns the listening socket and its address.

    SECURITY: an abstract socket belongs to the network namespace, which each sandbox has for itself, and no program can remove or replace
    it. The name is random for a guest without namespaces (only in tests). It is as long as names can be: some clients, such as Node 20,
    fill up shorter ones.
    """
    server = socket.socket(socket.AF_UNIX)
    name = f"hotcell-calls-{os.urandom(64).hex()}"[:_NAME_CHARS]
    # Inherited by accepted sockets: Linux then says with the first bytes which process has sent them.
    server.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    server.bind("\0" + name)
    server.listen(_BACKLOG)
    server.setblocking(False)
    return server, f"@{name}"


def receive_with_sender(sock: socket.socket, size: int) -> tuple[bytes, Optional[int]]:
    """Reads bytes, and returns the pid of the process that sent them. SECURITY: the kernel fills it in; the sender cannot lie. There is no
    room for descriptors beside it, so the kernel drops those that a program sends."""
    data, ancillary, _, _ = sock.recvmsg(size, socket.CMSG_LEN(_CREDENTIALS.size))
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            return data, int(_CREDENTIALS.unpack(content[: _CREDENTIALS.size])[0])
    return data, None
