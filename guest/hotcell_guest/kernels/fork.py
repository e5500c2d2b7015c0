"""The two ways to start a kernel: a fork that runs our own code, and a fork that becomes another program."""

from __future__ import annotations

import os
import socket
from typing import Callable, Optional

from ..system.limits import Limits
from ..system.loop import Loop
from .link import Link
from .outputs import OutputPipes
from .process import Started
from .start import become_kernel, become_program
from .subreaper import become_subreaper


def fork_kernel(
    limits: Limits, workspace: str, serve: Callable[[Link], None], *, has_helper: bool = False, runs_commands: bool = False
) -> Started:
    """A kernel of our own code; `serve` says `up` and never returns. This process must have one thread. It is the subreaper of what it
    starts, and reaps its orphans.

    `has_helper`: the user's code runs in a child of the kernel, not in it; the kernel names that child. `runs_commands`: what
    descends from it is never anybody else's.
    """
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        become_kernel(theirs, limits, workspace, serve)
    theirs.close()
    return Started(pid, ours, has_helper=has_helper, runs_commands=runs_commands)


def start_program(
    loop: Loop, limits: Limits, workspace: str, argv: list[str], environment: dict[str, str], program_fd: Optional[int] = None
) -> Started:
    """A kernel that is a program of its own and keeps to docs/guest-protocol.md, section 13. `environment` comes on top of ours.

    `program_fd` becomes its descriptor 4, for an interpreter that reads what it is to run from there; it is the caller's to close.
    """
    ours, theirs = socket.socketpair()
    pipes = OutputPipes(loop)
    pipes.discard()
    pipes.keep_last_words()
    pid = os.fork()
    if pid == 0:
        become_subreaper(lambda: become_program(theirs, pipes.write_fds, limits, workspace, argv, environment, program_fd))
    theirs.close()
    pipes.close_write_ends()
    return Started(None, ours, pipes, subreaper=pid)
