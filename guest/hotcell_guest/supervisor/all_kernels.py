"""The kernels of a sandbox: one for each family of languages, each kept alive on its own."""

from __future__ import annotations

import functools
from typing import Callable

from ..kernels.keeper import KernelEvents, KernelKeeper
from ..kernels.process import KernelProcess, KernelStarter
from ..languages.table import PYTHON, starter_of
from ..system import processes
from ..system.limits import Limits, proportional_bytes
from ..system.loop import Loop
from .lineage import Lineage


class Kernels:
    """Python's kernel exists from the beginning; the first execution that needs another one starts it.

    `events` makes the callbacks of a kernel. `stage_pids` returns the guest's helper processes, which are never killed.
    """

    def __init__(self, loop: Loop, workspace: str, events: Callable[[str], KernelEvents]) -> None:
        self.stage_pids: Callable[[], set[int]] = set
        self._loop = loop
        self._workspace = workspace
        self._events = events
        self._limits: Limits | None = None
        self.python = KernelKeeper(loop, events(PYTHON))
        self._keepers = {PYTHON: self.python}

    def limit(self, limits: Limits) -> None:
        self._limits = limits

    def keeper(self, name: str) -> KernelKeeper:
        """Returns the keeper of that kernel, which need not be up. Raises KeyError for an unknown name."""
        keeper = self._keepers.get(name)
        return self.add(name, name, self._events(name)) if keeper is None else keeper

    def add(self, name: str, kind: str, events: KernelEvents) -> KernelKeeper:
        """Adds a keeper of that name for a kernel of that kind, which is not started yet."""
        assert self._limits is not None
        start: KernelStarter = functools.partial(starter_of(kind), self._loop, self._limits, self._workspace)
        keeper = self._keepers[name] = KernelKeeper(self._loop, events, on_demand=True)
        keeper.begin(start)
        return keeper

    def add_environment(self, variables: dict[str, str]) -> None:
        """Adds variables to those of Python's kernel; no other kernel has started yet."""
        if self.python.kernel is not None:
            self.python.kernel.send({"type": "environment", "variables": variables})

    def drop(self, keeper: KernelKeeper) -> None:
        """Forgets a keeper whose kernel is gone for good. Idempotent."""
        self._keepers = {name: kept for name, kept in self._keepers.items() if kept is not keeper}

    def keeper_of(self, kernel: KernelProcess) -> KernelKeeper:
        return next(keeper for keeper in self._keepers.values() if keeper.kernel is kernel)

    def kernel_with(self, pid: int) -> KernelProcess | None:
        """Returns the kernel whose process, or whose helper, has that pid."""
        kernels = [keeper.kernel for keeper in self._keepers.values() if keeper.kernel is not None]
        return next((kernel for kernel in kernels if pid in kernel.pids), None)

    def is_ours(self, pid: int) -> bool:
        return self.kernel_with(pid) is not None or pid in self.stage_pids()

    def kill_newborn(self, kernel: KernelProcess, since: int) -> None:
        """SECURITY: kills the descendants of a kernel that were born `since`, even after `setsid` and double forks, but none of the guest's
        own."""
        belongs = self._belongs_to(kernel)

        def is_newborn(process: processes.Process) -> bool:
            return process.started >= since and not self.is_ours(process.pid) and belongs(process)

        # Other processes are not even stopped: a shell with job control would take its child for one that the user stopped.
        processes.kill_where(is_newborn, among=lambda: self._belongs_to(kernel))

    def is_newborn_of(self, kernel: KernelProcess, process: processes.Process, since: int) -> bool:
        """Whether a process, which is no kernel, descends from that kernel and was born `since`."""
        return process.started >= since and self._belongs_to(kernel)(process)

    def cpu_seconds(self, kernel: KernelProcess, since: int) -> float:
        """Returns the CPU time of a kernel, in all its life, and of its descendants that were born `since`."""
        belongs = self._belongs_to(kernel)
        newborn = {process.pid for process in processes.others_in_sandbox() if process.started >= since and belongs(process)}
        return sum(processes.cpu_seconds(pid) for pid in newborn | set(kernel.pids))

    def memory_bytes(self, kernel: KernelProcess) -> int:
        """Returns the memory of a kernel and all its descendants."""
        belongs = self._belongs_to(kernel)
        return sum(proportional_bytes(process.place) for process in processes.others_in_sandbox() if belongs(process))

    def is_only_user(self, kernel: KernelProcess) -> bool:
        """Whether no other kernel has run user code."""
        return not any(keeper.has_worked for keeper in self._keepers.values() if keeper.kernel not in (None, kernel))

    def largest_beside(self, kernel: KernelProcess) -> int:
        """Returns the memory of the largest process that neither is nor descends from a kernel."""
        belongs = self._belongs_to(kernel)
        return max((proportional_bytes(process.place) for process in processes.others_in_sandbox() if not belongs(process)), default=0)

    def _belongs_to(self, kernel: KernelProcess) -> Callable[[processes.Process], bool]:
        """Strays count as Python's, whose kernel has no subreaper, or as those of a kernel that is gone, whose orphans cannot be told
        apart. They never count as a command's: killing them would end the processes of others."""
        kernels = [keeper.kernel for keeper in self._keepers.values() if keeper.kernel is not None]
        lineage = Lineage({pid: living for living in kernels for pid in living.pids})
        has_strays = kernel is self.python.kernel or (kernel not in kernels and not kernel.runs_commands)
        owners = (kernel, None) if has_strays else (kernel,)
        return lambda process: lineage.kernel_above(process) in owners

    def has_begun_work(self, kernel: KernelProcess) -> None:
        """Records that the kernel runs user code from now on."""
        self.keeper_of(kernel).has_begun_work()

    def lose(self, kernel: KernelProcess, why: str) -> None:
        """Ends a kernel; the next execution in its successor reports why."""
        self.keeper_of(kernel).restarted = f"{why}; variables are gone, files are not"
        kernel.kill()

    def is_unused(self, process: processes.Process) -> bool:
        """Whether it is a process of the guest that has run no user code."""
        stages = self.stage_pids()
        kernel = self.kernel_with(process.pid)
        if kernel is None:
            # A kernel that a stage is starting is not known by its pid before it is up.
            return process.pid in stages or process.parent in stages
        return not self.keeper_of(kernel).has_worked

    def reaped(self, pid: int, status: int) -> None:
        for keeper in list(self._keepers.values()):
            keeper.reaped(pid, status)

    def kill_everything(self, busy: set[KernelProcess]) -> None:
        """Ends every process of the sandbox but the guest's own, and starts a new Python kernel. The runs of `busy` are notified of their
        end."""
        for keeper in self._keepers.values():
            if keeper.kernel not in busy:
                keeper.abandon()
        processes.kill_where(lambda process: process.pid not in self.stage_pids())
        self.python.ensure_started()
