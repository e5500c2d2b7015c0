"""A Python kernel in a new interpreter, for a supervisor that has preloads in its own memory (process driver, shared
shape). It takes as long as the start of Python, and has none of the modules of the supervisor.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import Any, NoReturn

from ..kernels.process import Started
from ..kernels.start import PRIVATE_SOCKET_FD, until_the_end
from ..languages.python import run_kernel
from ..system.descriptors import keep_only
from ..system.limits import Limits

# The folder with the guest's package.
_GUEST = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_PROGRAM = f"import sys; sys.path.insert(0, {_GUEST!r}); from {__name__} import serve; serve(*sys.argv[1:])"


def start_fresh_kernel(limits: dict[str, Any], workspace: str) -> Started:
    """A KernelStarter. `limits` are those of the host's message."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        until_the_end(lambda: _execute(theirs, [json.dumps(limits), workspace]))
    theirs.close()
    return Started(pid, ours)


def _execute(sock: socket.socket, arguments: list[str]) -> None:
    """SECURITY: the new interpreter inherits the private socket, and no other descriptor of the supervisor."""
    os.set_inheritable(keep_only(sock.detach(), PRIVATE_SOCKET_FD), True)
    os.execv(sys.executable, [sys.executable, "-I", "-X", "utf8", "-c", _PROGRAM, *arguments])


def serve(limits: str, workspace: str) -> NoReturn:
    """Called in the new interpreter."""
    run_kernel(socket.socket(fileno=PRIVATE_SOCKET_FD), Limits.from_message(json.loads(limits)), workspace)
