"""Finds the kernel that a process descends from."""

from __future__ import annotations

import os
from typing import Optional

from ..kernels.process import KernelProcess
from ..system import processes


class Lineage:
    """One snapshot of the ancestry of the sandbox's processes. It caches results, so a new one is made for each use.

    `roots` maps the pids of kernels to them. The orphans of a kernel stay below it if it has a subreaper (kernels/subreaper.py).
    """

    def __init__(self, roots: dict[int, KernelProcess]) -> None:
        self._found: dict[int, Optional[KernelProcess]] = {os.getpid(): None, 1: None, 0: None, **roots}

    def kernel_above(self, process: processes.Process) -> Optional[KernelProcess]:
        """Returns None for a stray: an orphan of Python's kernel, which has no subreaper, or of a kernel that is gone."""
        path = [process.pid]
        parent = process.parent
        while process.pid not in self._found and parent not in self._found:
            path.append(parent)
            try:
                parent = processes.read_process(parent).parent
            except OSError:
                parent = 0  # the process ended meanwhile
        found = self._found[process.pid if process.pid in self._found else parent]
        for pid in path:
            self._found[pid] = found
        return found
