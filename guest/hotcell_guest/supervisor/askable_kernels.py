"""The kernels as questions.py may use them: only idle ones, and watched while they answer."""

from __future__ import annotations

from typing import Callable, Optional

from ..kernels.process import KernelProcess
from ..languages.table import PYTHON, answers_questions, kernel_of
from ..system import processes
from ..wire.refusal import Refusal
from .all_kernels import Kernels
from .memory_watch import MemoryWatch


class AskableKernels:
    """The `Askable` of questions.py. `is_executing` says whether an execution runs or waits; `is_exercising` speaks of Python's kernel."""

    def __init__(self, kernels: Kernels, memory: MemoryWatch, is_executing: Callable[[], bool], is_exercising: Callable[[], bool]) -> None:
        self._kernels = kernels
        self._memory = memory
        self._is_executing = is_executing
        self._is_exercising = is_exercising
        self.has_begun_work = kernels.has_begun_work
        self.lose = kernels.lose

    def idle_kernel(self, language: str) -> Optional[KernelProcess]:
        name = kernel_of(language, None)
        if name is None or not answers_questions(name):
            raise Refusal("not-offered", f"this guest has no kernel that answers questions about {language}")
        if self._is_executing():
            raise Refusal("busy", "an execution is running")
        keeper = self._kernels.keeper(name)
        keeper.ensure_started()
        return None if self._is_exercising() and name == PYTHON else keeper.kernel

    def watch_answering(self, kernel: KernelProcess, is_under_way: Callable[[], bool]) -> None:
        born_since = processes.ticks_now()

        def relieve() -> None:
            # A fork that looks at an object goes first: it costs no variables.
            processes.kill_where(lambda process: process.started >= born_since and not self._kernels.is_ours(process.pid))
            self._memory.watch(is_under_way, lambda: self.lose(kernel, "its kernel used up the memory of the sandbox and was ended"))

        self._memory.watch(is_under_way, relieve)
