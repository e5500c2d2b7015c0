"""The kernels as questions.py may use them: only idle ones, with their memory watched while they answer."""

from __future__ import annotations

from typing import Callable, Optional

from ..kernels.keeper import KernelKeeper
from ..kernels.process import KernelProcess
from ..languages.table import PYTHON, answers_questions, kernel_of
from ..system import processes
from ..wire.refusal import Refusal
from .all_kernels import Kernels
from .memory_relief import MemoryRelief


class AskableKernels:
    """The `Askable` of questions.py. `is_busy`: an execution runs in that kernel or waits for it. `is_exercising`: Python's kernel warms
    up."""

    def __init__(
        self, kernels: Kernels, memory: MemoryRelief, is_busy: Callable[[KernelKeeper], bool], is_exercising: Callable[[], bool]
    ) -> None:
        self._kernels = kernels
        self._memory = memory
        self._is_busy = is_busy
        self._is_exercising = is_exercising
        self.has_begun_work = kernels.has_begun_work
        self.lose = kernels.lose

    def idle_kernel(self, language: str) -> Optional[KernelProcess]:
        name = kernel_of(language, None)
        if name is None or not answers_questions(name):
            raise Refusal("not-offered", f"this guest has no kernel that answers questions about {language}")
        keeper = self._kernels.keeper(name)
        if self._is_busy(keeper):
            raise Refusal("busy", "the kernel runs an execution")
        keeper.ensure_started()
        return None if self._is_exercising() and name == PYTHON else keeper.kernel

    def watch_answering(self, kernel: KernelProcess, is_under_way: Callable[[], bool]) -> None:
        self._memory.watch(_Answering(self._kernels, kernel, is_under_way))


class _Answering:
    """A question as memory_relief.py sees it."""

    def __init__(self, kernels: Kernels, kernel: KernelProcess, is_under_way: Callable[[], bool]) -> None:
        self.kernel = kernel
        self.is_endable = True
        self._kernels = kernels
        self._is_under_way = is_under_way
        self._born_since = processes.ticks_now()
        self._has_lost_forks = False

    @property
    def is_over(self) -> bool:
        return not self._is_under_way()

    def use_up_memory(self) -> None:
        """Ends a fork that inspects an object first: that loses no variables."""
        if not self._has_lost_forks:
            self._has_lost_forks = True
            self._kernels.kill_newborn(self.kernel, self._born_since)
            return
        self.is_endable = False
        self._kernels.lose(self.kernel, "its kernel used up the memory of the sandbox and was ended")
