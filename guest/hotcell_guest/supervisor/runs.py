"""The executions under way in a sandbox: those that wait for their kernel to start, and those that run."""

from __future__ import annotations

from typing import Callable, Optional

from ..kernels.keeper import KernelKeeper
from ..kernels.process import KernelProcess
from ..wire.frames import Frame
from .checked_outcome import natural
from .kernel_run import KernelRun


class Runs:
    """The registry of executions. A kernel has at most one entry, as waiting or as running."""

    def __init__(self) -> None:
        self._waiting: dict[KernelKeeper, Frame] = {}
        self._running: dict[KernelKeeper, KernelRun] = {}
        self.on_busy: Callable[[bool], None] = lambda _is_busy: None

    def is_busy(self, keeper: KernelKeeper) -> bool:
        """Whether that kernel runs an execution, or one waits for it."""
        return keeper in self._waiting or keeper in self._running

    @property
    def awaited(self) -> list[KernelKeeper]:
        """Returns the kernels that an execution waits for."""
        return list(self._waiting)

    @property
    def running(self) -> list[KernelRun]:
        """Returns a copy, because the end of a run changes the registry."""
        return list(self._running.values())

    def wait(self, request: Frame, keeper: KernelKeeper) -> None:
        """Records an `execute` whose kernel is not up yet."""
        self._waiting[keeper] = request

    def take_waiting(self, keeper: KernelKeeper) -> Optional[Frame]:
        """Removes and returns the `execute` that waits for that kernel."""
        return self._waiting.pop(keeper, None)

    def withdraw(self, name: str) -> Optional[Frame]:
        """Removes and returns the waiting `execute` with that name."""
        keeper = next((keeper for keeper, request in self._waiting.items() if request.head["execution"] == name), None)
        return None if keeper is None else self._waiting.pop(keeper)

    def forget_waiting(self) -> None:
        self._waiting.clear()

    def begin(self, run: KernelRun) -> KernelRun:
        if not self._running:
            self.on_busy(True)
        self._running[run.keeper] = run
        return run

    def end(self, run: KernelRun) -> None:
        del self._running[run.keeper]
        if not self._running:
            self.on_busy(False)

    def named(self, name: str) -> Optional[KernelRun]:
        return next((run for run in self._running.values() if run.name == name), None)

    def knows(self, name: str) -> bool:
        """Whether the execution with that name runs or waits."""
        return self.named(name) is not None or any(request.head["execution"] == name for request in self._waiting.values())

    def of(self, kernel: KernelProcess) -> Optional[KernelRun]:
        """Returns the run of that process, which may have died already, and been replaced by its keeper."""
        return next((run for run in self._running.values() if run.kernel is kernel), None)

    def take(self, kernel: KernelProcess, frame: Frame) -> None:
        """Handles a frame of a kernel about an execution: its running one, or one that is over."""
        run = self.of(kernel)
        if run is not None and run.report is None and frame.head.get("execution") == run.name:
            run.take(frame)
        elif frame.head["type"] == "drain":
            # The execution is over, by a forged end or by an interrupt: its output is dropped, but no thread may hang.
            kernel.answer_drain(natural(frame.head["turn"]))
