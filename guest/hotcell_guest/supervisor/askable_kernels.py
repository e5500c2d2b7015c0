"""The kernels as questions.py may use them: only idle ones, and watched while they answer."""

from __future__ import annotations

from typing import Callable, Optional

from ..kernels.keeper import KernelKeeper
from ..kernels.process import KernelProcess
from ..languages.table import PYTHON, answers_questions, kernel_of
from ..system import processes
from ..wire.refusal import Refusal
from .all_kernels import Kernels
from .memory_watch import MemoryWatch


class AskableKernels:
    """The `Askable` of questions.py. `is_busy`: an execution runs in that kernel or waits for it. `is_exercising`: Python's kernel does."""

    def __init__(
        self, kernels: Kernels, memory: MemoryWatch, is_busy: Callable[[KernelKeeper], bool], is_exercising: Callable[[], bool]
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
        born_since = processes.ticks_now()

        def relieve() -> None:
            # A fork that looks at an object goes first: it costs no variables.
            self._kernels.kill_newborn(kernel, born_since)
            self._memory.watch(is_under_way, lambda: self.lose(kernel, "its kernel used up the memory of the sandbox and was ended"))

        self._memory.watch(is_under_way, relieve)
