"""The two ways to start a kernel: a fork that runs the guest's own code, and a fork that executes another program."""

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
    """Forks a kernel of the guest's own code; `serve` sends `up` and never returns. This process must have one thread. The kernel is the
    subreaper of its descendants, and reaps its orphans.

    `has_helper`: the user's code runs in a child of the kernel, which the kernel names. `runs_commands`: its descendants never belong to
    another kernel.
    """
    supervisor_end, kernel_end = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        become_kernel(kernel_end, limits, workspace, serve)
    kernel_end.close()
    return Started(pid, supervisor_end, has_helper=has_helper, runs_commands=runs_commands)


def start_program(
    loop: Loop, limits: Limits, workspace: str, argv: list[str], *, environment: dict[str, str], program_fd: Optional[int] = None
) -> Started:
    """Starts a kernel that is another program and follows docs/guest-protocol.md, section 13. `environment` extends this process's.

    `program_fd` becomes its descriptor 4, for an interpreter that reads its program from there. The caller closes `program_fd`.
    """
    supervisor_end, kernel_end = socket.socketpair()
    pipes = OutputPipes(loop)
    pipes.discard()
    pipes.keep_last_words()
    pid = os.fork()
    if pid == 0:
        become_subreaper(
            lambda: become_program(
                kernel_end, pipes.write_fds, limits, workspace, argv=argv, environment=environment, program_fd=program_fd
            )
        )
    kernel_end.close()
    pipes.close_write_ends()
    return Started(None, supervisor_end, pipes, subreaper=pid)
