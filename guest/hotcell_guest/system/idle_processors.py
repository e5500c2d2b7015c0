"""Whether a processor is idle, so that a short wait can be a busy-wait."""

from __future__ import annotations

import os
from typing import Optional


class IdleProcessors:
    """Checked after work was handed on: the worker and the waiting process may each keep one processor busy, and no
    other process may need one.
    """

    def __init__(self) -> None:
        self._fd: Optional[int] = None
        self._count = len(os.sched_getaffinity(0))

    def is_one_for_waiting(self) -> bool:
        """False if it is unknown (gVisor shows 0 of 0)."""
        if self._count < 2:
            return False
        try:
            if self._fd is None:
                self._fd = os.open("/proc/loadavg", os.O_RDONLY)
            running = int(os.pread(self._fd, 128, 0).split()[3].partition(b"/")[0])
        except (OSError, IndexError, ValueError):
            return False
        return 0 < running <= self._count

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
