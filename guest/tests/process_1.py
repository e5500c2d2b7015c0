"""A program: a supervisor in an interpreter of its own, between a host that this plays and real kernels. Prints how each request ended and
which modules of ours the supervisor has loaded then. Its kernel for Python imports what it needs after the fork."""

from __future__ import annotations

import json
import os
import socket
import sys

from hotcell_guest.kernels.process import Started
from hotcell_guest.supervisor.supervisor import PROTOCOL, Supervisor
from hotcell_guest.system.limits import Limits
from hotcell_guest.system.loop import Loop
from hotcell_guest.wire.frames import Frame, FrameDecoder, Head, encode
from hotcell_guest.wire.transports import SocketTransport

_LIMITS = Limits(memory_bytes=1 << 30, open_files=256, file_bytes=1 << 20, cpus=1)
_REQUESTS: list[tuple[Head, bytes]] = [
    (
        {"type": "execute", "execution": "1", "language": "python", "filename": "<1>"},
        b"x = [1]; display('shown'); open('a', 'w').close(); x",
    ),
    ({"type": "execute", "execution": "2", "language": "python", "filename": "<2>", "tracebackLocals": True}, b"undefined_name"),
    ({"type": "execute", "execution": "3", "language": "bash", "filename": "<3>"}, b"echo hello"),
    ({"type": "complete", "cursor": 5, "timeoutMs": 5_000}, b"x.app"),
    ({"type": "variables.list", "timeoutMs": 5_000}, b""),
    ({"type": "file.list", "path": "", "recursive": True, "limit": 10}, b""),
    ({"type": "layers"}, b""),
]


class _Host:
    def __init__(self, loop: Loop, sock: socket.socket) -> None:
        self.endings: list[str] = []
        self._loop = loop
        self._sock = sock
        self._decoder = FrameDecoder()

    def readable(self) -> None:
        for frame in self._decoder.feed(self._sock.recv(65_536)):
            kind = frame.head["type"]
            if kind == "finished":
                self.endings.append(frame.head["outcome"]["kind"])
            elif kind == "reply":
                self.endings.append("answered" if frame.head["ok"] else json.dumps(frame.head["error"]))
            if kind in ("ready", "finished", "reply"):
                self._ask_next()

    def _ask_next(self) -> None:
        number = len(self.endings)
        if number == len(_REQUESTS):
            self._loop.stop()
            return
        head, body = _REQUESTS[number]
        self._sock.sendall(encode(Frame({**head, "id": number + 1, "stream": 2 * number + 2}, body, 0, number + 1)))


def _start_kernel(workspace: str) -> Started:
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        from hotcell_guest.languages.python import run_kernel

        run_kernel(theirs, _LIMITS, workspace)
    theirs.close()
    return Started(pid, ours)


def main(workspace: str) -> None:
    loop = Loop()
    ours, theirs = socket.socketpair()
    host = _Host(loop, ours)
    supervisor = Supervisor(loop, workspace, lambda _config: (_LIMITS, lambda: _start_kernel(workspace)))
    supervisor.attach(SocketTransport(theirs))
    ours.sendall(encode(Frame({"type": "hello", "protocols": [PROTOCOL], "epoch": 1, "config": {}})))
    loop.on_readable(ours.fileno(), host.readable)
    loop.call_later(20, loop.stop)
    loop.run()
    loaded = sorted(name for name in sys.modules if name.startswith("hotcell_guest."))
    print(json.dumps({"endings": host.endings, "loaded": loaded}))


if __name__ == "__main__":
    main(sys.argv[1])
