"""How kernels for Python are started: a fork of this process, now or ahead of the sandbox it will be in."""

from __future__ import annotations

import os
import socket
from typing import Optional

from ..kernels.process import Started
from ..languages.python import run_kernel, stand_by
from ..system.limits import Limits
from ..wire.frames import Frame, Head, encode
from .rehearsal import rehearse_kernel


def fork_python_kernel(limits: Limits, workspace: str) -> Started:
    """A KernelStarter: forks this process. It must have one thread."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        run_kernel(theirs, limits, workspace)
    theirs.close()
    return Started(pid, ours)


class WaitingKernel:
    """A kernel forked ahead of the sandbox it will be in. It has run nothing but our code."""

    def __init__(self, workspace: str, seccomp: str) -> None:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            stand_by(theirs, workspace, seccomp, rehearse_kernel)
        theirs.close()
        self._started: Optional[Started] = Started(pid, ours)

    def begin(self, config: Head) -> None:
        """Gives it its limits and its place. It has its supervisor's mounts from the beginning, and needs them now."""
        if self._started is None:
            return
        try:
            self._started.sock.sendall(encode(Frame({"type": "begin", "config": config})))
        except OSError:
            # It ended while it waited: a machine short of memory ends kernels first. Whoever takes none forks another.
            self._started.sock.close()
            self._started = None

    def take(self) -> Optional[Started]:
        """Gives it out, once. None where it is gone."""
        started, self._started = self._started, None
        return started
