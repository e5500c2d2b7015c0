"""Subreapers (PR_SET_CHILD_SUBREAPER): the descendants of a kernel stay below it, even after `setsid` and double forks."""

from __future__ import annotations

import os
import signal
from typing import Callable, NoReturn

from ..system import linux


def reap_adopted(own: int = 0) -> None:
    """In a kernel that is a subreaper itself: reaps ended orphans. The caller waits for its `own` child."""
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None or ended.si_pid == own:
                return
            os.waitpid(ended.si_pid, 0)
        except ChildProcessError:
            return


def become_subreaper(become_kernel: Callable[[], NoReturn]) -> NoReturn:
    """In the child right after the fork: forks a kernel that cannot reap orphans, and becomes their subreaper. Ends as the kernel ends.

    SECURITY: user code can kill this process. Its kernel dies with it.
    """
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    linux.set_child_subreaper()
    kernel = os.fork()
    if kernel == 0:
        linux.die_with_parent()
        become_kernel()
    os.closerange(0, 65_536)  # including the channel
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == kernel:
            _end_as(status)


def _end_as(status: int) -> NoReturn:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))
