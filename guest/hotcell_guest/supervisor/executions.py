"""Requests about executions, and the events of kernels, dispatched to the run that each concerns (kernel_run.py)."""

from __future__ import annotations

from typing import Callable, Optional

from ..files.artifacts import Workspace
from ..kernels.keeper import KernelEvents, KernelKeeper, describe_status
from ..kernels.process import KernelProcess
from ..languages.table import COMMAND, PYTHON
from ..system import processes
from ..system.limits import Limits
from ..system.loop import Loop
from ..wire.channel import Channel
from ..wire.frames import Frame, Head
from ..wire.refusal import Refusal
from ..wire.replies import Fail, Reply
from .all_kernels import Kernels
from .all_questions import AllQuestions
from .askable_kernels import AskableKernels
from .awaited_kernel import AwaitedKernel
from .command_streams import CommandStreams
from .commands import Commands
from .execute_request import kernel_asked_for, missing_of
from .execution_pipes import ExecutionPipes
from .finished import finished_without_kernel
from .idle_exercise import IdleExercise
from .kernel_deaths import KernelDeaths, interrupted
from .kernel_run import KernelRun, Surroundings
from .memory_relief import MemoryRelief
from .questions import Questions
from .runs import Runs


class Executions:
    """Serves `execute`, `interrupt`, `restart`, `exercise`, `commands`, and the requests of commands.py. The supervisor owns exactly one.

    SECURITY: user code may have written any frame of a kernel: it can lie about itself only.
    """

    def __init__(self, loop: Loop, channel: Channel, workspace: Workspace, *, reply: Reply, fail: Fail) -> None:
        self._channel = channel
        self._fail = fail
        self.runs = Runs()
        self.on_run_over: Callable[[str], None] = lambda _name: None
        self.before_kernel: Callable[[], None] = lambda: None
        self.before_run: Callable[[KernelProcess], None] = lambda _kernel: None
        self._awaited = AwaitedKernel(channel, reply, fail)
        self._exercise = IdleExercise(reply)
        self._pipes = ExecutionPipes(loop, channel)
        self.kernels = Kernels(loop, workspace.folder, self._events_of)
        self.commands = Commands(loop, channel, self.kernels, self.runs, begin=self._begin, fail=fail)
        self._memory = MemoryRelief(loop, self.kernels, self._pipes.tell)
        self._around = Surroundings(loop, channel, workspace, self._pipes, KernelDeaths(), self.kernels.kill_newborn, self._on_end)
        askable = AskableKernels(self.kernels, self._memory, self.runs.is_busy, lambda: self._exercise.under_way)
        self.questions = AllQuestions(lambda: Questions(loop, askable, reply, fail))
        self.requests: dict[str, Callable[[Frame], Optional[Head]]] = {
            "execute": self._execute,
            "interrupt": self._interrupt,
            "restart": self._restart,
            "exercise": self._begin_exercise,
            "cpu": self._cpu,
            "commands": lambda frame: {"missing": missing_of(frame.head["names"])},
            **self.questions.requests,
            **self.commands.requests,
        }

    def limit(self, limits: Limits, grace_ms: Optional[int]) -> None:
        """Applies the limits of the host's configuration, before the first kernel."""
        if grace_ms is not None:
            self._around = self._around._replace(grace_seconds=grace_ms / 1000)
            self.questions.grace(grace_ms / 1000)
        self._memory.limit_bytes = limits.memory_watchdog_bytes
        self.kernels.limit(limits)

    def open_background(self) -> None:
        self._pipes.open_background()

    def replace_unused_kernel(self, then: Callable[[], None]) -> None:
        """Restarts Python's kernel if it has run nothing. `then` is called in any case: when the new one is up, or at once."""
        python = self.kernels.python
        if self.questions.of(PYTHON).under_way:
            self.questions.of(PYTHON).after_this(lambda: self.replace_unused_kernel(then))
        elif not self.runs.is_busy(python) and python.replace_unused():
            self._awaited.then(then)
        else:
            then()

    def abandon(self) -> None:
        """Called when a host has taken over that does not know the running work: ends it without answers, then sends `ready`."""
        self.runs.forget_waiting()
        self.commands.tidy()
        self._exercise.abandon()
        self._awaited.hold()
        for run in self.runs.running:
            run.abandon()
        self.questions.abandon(then=self._end_taking_over)

    def interrupt_running(self, reason: str) -> None:
        """Called when no host has been connected for long (disconnect_timeout.py)."""
        for run in self.runs.running:
            run.ladder.begin(reason)

    def execution_of(self, pid: int) -> Optional[str]:
        """Returns the name of the running execution that a process belongs to (section 7, *Ancestry*), None if it belongs to none. Raises
        OSError if the process is gone."""
        kernel = self.kernels.kernel_with(pid)
        if kernel is not None:
            run = self.runs.of(kernel)
            return None if run is None else run.name
        process = processes.read_process(pid)
        owner = next((run for run in self.runs.running if self.kernels.is_newborn_of(run.kernel, process, run.ladder.born_since)), None)
        return None if owner is None else owner.name

    def _end_taking_over(self) -> None:
        if self.runs.running or self.questions.under_way:
            return  # the end of the run calls this again
        self._awaited.release(self.kernels.python.is_up)

    # Requests

    def _execute(self, frame: Frame) -> None:
        head = frame.head
        kernel_name = kernel_asked_for(head)
        if kernel_name != COMMAND and self.runs.is_busy(self.kernels.keeper(kernel_name)):
            raise Refusal("busy", "execute: the kernel runs an execution already")
        if self.questions.of(kernel_name).under_way:
            raise Refusal("busy", "execute: the kernel is answering a question")
        self.before_kernel()
        missing = missing_of(head["needs"]) if "needs" in head else []
        if missing:
            self._channel.send(finished_without_kernel(head["execution"], {"kind": "unavailable", "missing": missing}), b"", head["stream"])
        elif kernel_name == COMMAND:
            self.commands.execute(frame)
        elif (keeper := self.kernels.keeper(kernel_name)).is_up:
            self._begin(frame, keeper)
        else:
            self.runs.wait(frame, keeper)
            keeper.ensure_started()

    def _interrupt(self, frame: Frame) -> Head:
        name, reason = str(frame.head["execution"]), str(frame.head["reason"])
        unbegun = self.runs.withdraw(name)
        if unbegun is not None:
            self.commands.tidy()
            self._end_unbegun(unbegun, reason)
            return {"ended": True}
        run = self.runs.named(name)
        if run is None:
            return {"ended": True}
        run.ladder.begin(reason)
        return {"ended": False}

    def _end_unbegun(self, frame: Frame, reason: str) -> None:
        """Ends an execution that still waits for its kernel. A timeout is an outcome, even if the kernel caused the delay."""
        if reason == "timed-out":
            self._channel.send(finished_without_kernel(frame.head["execution"], interrupted(reason)), b"", frame.head["stream"])
        else:
            self._fail(int(frame.head["id"]), "no-kernel", "the execution was withdrawn before a kernel was ready")

    def _restart(self, frame: Frame) -> None:
        self._awaited.restart(int(frame.head["id"]))
        self.questions.give_up("kernel-lost", "the kernel was restarted before it answered; its variables are gone")
        for run in self.runs.running:
            run.ladder.expect_end("cancelled")
        self.kernels.kill_everything(busy={run.kernel for run in self.runs.running})
        for keeper in self.runs.awaited:
            keeper.ensure_started()

    def _cpu(self, frame: Frame) -> Head:
        run = self.runs.named(str(frame.head["execution"]))
        return {"cpuMs": 0 if run is None else round(1000 * self.kernels.cpu_seconds(run.kernel, run.ladder.born_since), 3)}

    def _begin_exercise(self, frame: Frame) -> None:
        kernel = self.kernels.python.kernel
        if kernel is None or not kernel.is_up or self.runs.is_busy(self.kernels.python) or self.questions.of(PYTHON).under_way:
            raise Refusal("busy", "exercise: no idle kernel")
        self._exercise.begin(int(frame.head["id"]), kernel)

    def _end_exercise(self) -> None:
        self._exercise.end()
        kernel = self.kernels.python.kernel
        if kernel is not None and kernel.is_up:
            self.questions.of(PYTHON).kernel_up(kernel)

    def _begin(self, frame: Frame, keeper: KernelKeeper, streams: Optional[CommandStreams] = None) -> None:
        if keeper.kernel is not None:
            self.before_run(keeper.kernel)
        self._memory.watch(self.runs.begin(KernelRun(self._around, frame, keeper, streams)))

    def _on_end(self, run: KernelRun) -> None:
        self.runs.end(run)
        self.commands.ended(run)
        self.on_run_over(run.name)
        if run.is_abandoned:
            self._end_taking_over()

    # Kernels

    def _on_kernel_frame(self, name: str, kernel: KernelProcess, frame: Frame) -> None:
        kind = frame.head["type"]
        if kind == "exercised":
            self._end_exercise()
            return
        if kind == "helper":
            kernel.name_helper(int(frame.head["pid"]))
            return
        if frame.head.get("keepsOutput") is False:
            kernel.pipes = None
        if kind == "answer":
            self.questions.of(name).answered(kernel, frame)
            return
        self.runs.take(kernel, frame)

    def _events_of(self, name: str) -> KernelEvents:
        return KernelEvents(
            up=lambda kernel: self._on_up(name, kernel),
            frame=lambda kernel, frame: self._on_kernel_frame(name, kernel, frame),
            died=lambda kernel, status: self._on_death(name, kernel, status),
            failed=lambda reason: self._on_no_kernel(name, reason),
        )

    def _on_up(self, name: str, kernel: KernelProcess) -> None:
        if name == PYTHON:
            self._awaited.up()
        keeper = self.kernels.keeper(name)
        request = self.runs.take_waiting(keeper)
        if request is not None:
            self._begin(request, keeper)
        self.questions.of(name).kernel_up(kernel)

    def _on_death(self, name: str, kernel: KernelProcess, status: int) -> None:
        if name == PYTHON:
            self._end_exercise()
        kernel.kill_helper()
        keeper, run = self.kernels.keeper(name), self.runs.of(kernel)
        if run is None:
            self.questions.of(name).kernel_died(kernel, describe_status(status))
            if keeper.restarted is None:
                keeper.restarted = f"its kernel ended while idle ({describe_status(status)}); variables are gone, files are not"
            return
        run.kernel_died(status)
        keeper.start_again()
        run.finish_lost()

    def _on_no_kernel(self, name: str, reason: str) -> None:
        request = self.runs.take_waiting(self.kernels.keeper(name))
        if request is not None:
            self._fail(request.head["id"], "no-kernel", reason)
        self.questions.of(name).give_up("no-kernel", reason)
        if name != PYTHON:
            return
        self._end_exercise()
        self._awaited.failed(reason)
