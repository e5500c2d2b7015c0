"""Starts Python kernels: forks of this process, on request or ahead of time."""

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
    """A KernelStarter that forks this process, which must have one thread."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        run_kernel(theirs, limits, workspace)
    theirs.close()
    return Started(pid, ours)


class WaitingKernel:
    """A kernel forked ahead of its sandbox. Only our code has run in it."""

    def __init__(self, workspace: str, seccomp: str) -> None:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            stand_by(theirs, workspace, seccomp, rehearse_kernel)
        theirs.close()
        self._started: Optional[Started] = Started(pid, ours)

    def begin(self, config: Head) -> None:
        """Sends the kernel its limits and its workspace. It shares its supervisor's mounts, which must be ready by now."""
        if self._started is None:
            return
        try:
            self._started.sock.sendall(encode(Frame({"type": "begin", "config": config})))
        except OSError:
            # The kernel ended while it waited: if memory is short, Linux kills kernels first. The next request forks
            # another.
            self._started.sock.close()
            self._started = None

    def take(self) -> Optional[Started]:
        """Returns the kernel, once. None if it has ended."""
        started, self._started = self._started, None
        return started
