"""Executions of a sandbox, one at a time: from `execute` to `finished`, and what its background processes print afterwards."""

from __future__ import annotations

from typing import Callable, Optional

from ..files.artifacts import Workspace
from ..kernels.keeper import KernelEvents, KernelKeeper, describe_status
from ..kernels.process import KernelProcess
from ..languages.table import PYTHON, kernel_of
from ..system.limits import Limits
from ..system.loop import Loop
from ..wire.channel import Channel
from ..wire.frames import Frame, Head
from ..wire.refusal import Refusal
from ..wire.replies import Fail, Reply
from .all_kernels import Kernels
from .askable_kernels import AskableKernels
from .awaited_kernel import AwaitedKernel
from .checked_outcome import natural
from .display_frames import display_head
from .execute_request import kernel_asked_for, missing_of
from .execution import GRACE_SECONDS, Execution
from .execution_pipes import ExecutionPipes
from .execution_report import Report, checked_report, checked_value
from .finished import finished, finished_without_kernel
from .idle_exercise import IdleExercise
from .idle_memory import IdleMemory
from .kernel_deaths import KernelDeaths, after_last_words, interrupted
from .memory_watch import MemoryWatch
from .questions import Questions


class Executions:
    """Serves `execute`, `interrupt`, `restart`, `exercise` and `commands`. The supervisor owns exactly one.

    What a kernel says here may have been written by user code: it can lie about itself only.
    """

    def __init__(self, loop: Loop, channel: Channel, workspace: Workspace, reply: Reply, fail: Fail) -> None:
        self._loop = loop
        self._channel = channel
        self._workspace = workspace
        self._fail = fail
        self._grace_seconds = GRACE_SECONDS
        self._execution: Optional[Execution] = None
        self._waiting: Optional[tuple[Frame, KernelKeeper]] = None
        self._awaited = AwaitedKernel(channel, reply, fail)
        self._exercise = IdleExercise(reply)
        self._pipes = ExecutionPipes(loop, channel)
        self._memory = MemoryWatch(loop)
        self._deaths = KernelDeaths()
        self.kernels = Kernels(loop, workspace.folder, self._events_of)
        askable = AskableKernels(self.kernels, self._memory, self._is_executing, lambda: self._exercise.under_way)
        self.questions = Questions(loop, askable, reply, fail)
        self._idle_memory = IdleMemory(loop, self.kernels, self._is_idle, self._pipes.tell)
        self.requests: dict[str, Callable[[Frame], Optional[Head]]] = {
            "execute": self._execute,
            "interrupt": self._interrupt,
            "restart": self._restart,
            "exercise": self._begin_exercise,
            "commands": lambda frame: {"missing": missing_of(frame.head["names"])},
            **self.questions.requests,
        }

    def limit(self, limits: Limits, grace_ms: Optional[int]) -> None:
        """What the host's configuration allows. Before the first kernel."""
        if grace_ms is not None:
            self._grace_seconds = self.questions.grace_seconds = grace_ms / 1000
        self._memory.limit_bytes = limits.memory_watchdog_bytes
        self.kernels.limit(limits)

    def open_background(self) -> None:
        self._pipes.open_background()

    def replace_unused_kernel(self, then: Callable[[], None]) -> None:
        """Starts Python's kernel again if it has run nothing. `then` follows in any case: when the new one is up, or at once."""
        if self.questions.under_way:
            self.questions.after_this(lambda: self.replace_unused_kernel(then))
        elif not self._is_executing() and self.kernels.python.replace_unused():
            self._awaited.then(then)
        else:
            then()

    def abandon(self) -> None:
        """A host has taken over that knows nothing of what is under way: ends that, answers nobody, and says `ready` when it is done."""
        self._waiting = None
        self._exercise.abandon()
        self._awaited.hold()
        if self._execution is not None:
            self._channel.close_stream(self._execution.stream)
            self._execution.abandon()
        self.questions.abandon(then=self._end_taking_over)

    def interrupt_running(self, reason: str) -> None:
        """Nobody has been connected for long (solitude.py)."""
        if self._execution is not None:
            self._execution.interrupt(reason)

    def _end_taking_over(self) -> None:
        if self._execution is not None or self.questions.under_way:
            return  # its end calls again
        self._awaited.release(self.kernels.python.is_up)

    # Requests

    def _execute(self, frame: Frame) -> None:
        head = frame.head
        kernel_name = kernel_asked_for(head)
        if self._is_executing():
            raise Refusal("busy", "execute: an execution is running already")
        if self.questions.under_way:
            raise Refusal("busy", "execute: the kernel is answering a question")
        missing = missing_of(head["needs"]) if "needs" in head else []
        if missing:
            unavailable = finished_without_kernel(head["execution"], {"kind": "unavailable", "missing": missing})
            self._channel.send(unavailable, b"", head["stream"])
            return
        keeper = self.kernels.keeper(kernel_name)
        if keeper.is_up:
            self._begin(frame, keeper)
        else:
            self._waiting = (frame, keeper)
            keeper.ensure_started()

    def _interrupt(self, frame: Frame) -> Head:
        name, reason = str(frame.head["execution"]), str(frame.head["reason"])
        waiting = self._waiting
        if waiting is not None and waiting[0].head["execution"] == name:
            self._waiting = None
            self._end_unbegun(waiting[0], reason)
            return {"ended": True}
        execution = self._execution
        if execution is None or execution.name != name:
            return {"ended": True}
        execution.interrupt(reason)
        return {"ended": False}

    def _end_unbegun(self, frame: Frame, reason: str) -> None:
        """Of one that still waits for its kernel. To have taken too long is an outcome, whoever it was that took long."""
        if reason == "timed-out":
            self._channel.send(finished_without_kernel(frame.head["execution"], interrupted(reason)), b"", frame.head["stream"])
        else:
            self._fail(int(frame.head["id"]), "no-kernel", "the execution was withdrawn before a kernel was ready")

    def _restart(self, frame: Frame) -> None:
        self._awaited.restart(int(frame.head["id"]))
        self.questions.give_up("kernel-lost", "the kernel was restarted before it answered; its variables are gone")
        execution = self._execution
        if execution is not None and execution.reason is None:
            execution.reason = "cancelled"
        self.kernels.kill_everything(busy=None if execution is None else execution.kernel)

    def _begin_exercise(self, frame: Frame) -> None:
        kernel = self.kernels.python.kernel
        if kernel is None or not kernel.is_up or self._execution is not None or self.questions.under_way:
            raise Refusal("busy", "exercise: no idle kernel")
        self._exercise.begin(int(frame.head["id"]), kernel)

    def _end_exercise(self) -> None:
        self._exercise.end()
        kernel = self.kernels.python.kernel
        if kernel is not None and kernel.is_up and self._is_asked(PYTHON):
            self.questions.kernel_up(kernel)

    # From the first byte to the last

    def _begin(self, frame: Frame, keeper: KernelKeeper) -> None:
        kernel = keeper.kernel
        assert kernel is not None
        name, stream = str(frame.head["execution"]), int(frame.head["stream"])
        pipes = self._pipes.pipes_for(kernel)
        pipes.direct_to(lambda source, data: self._event(execution, {"type": source}, data), lambda: self._channel.credit(stream))
        execution = self._execution = Execution(self._loop, name, stream, keeper, pipes, self.kernels.is_ours)
        execution.grace_seconds = self._grace_seconds
        keeper.has_begun_work()
        self._channel.open_stream(stream, lambda: self._resume(execution))
        members = ("filename", "tracebackLocals") if keeper is self.kernels.python else ("filename", "language", "recipe")
        asked: Head = {member: frame.head[member] for member in members if member in frame.head}
        kernel.send({"type": "execute", "execution": name, **asked}, frame.body, pipes.write_fds)
        pipes.close_write_ends()
        self._loop.expect_soon()
        self._memory.watch(lambda: self._execution is execution and execution.report is None, execution.use_up_memory)
        self._idle_memory.begin(self._memory.limit_bytes)

    def _on_kernel_frame(self, kernel: KernelProcess, frame: Frame) -> None:
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
            self.questions.answered(kernel, frame)
            return
        execution = self._execution
        mine = execution is not None and execution.kernel is kernel and frame.head.get("execution") == execution.name
        if execution is None or not mine or execution.report is not None:
            # Of an execution that is over, by a forged end or by an interrupt: nobody's output, but nobody may hang on it either.
            if kind == "drain":
                kernel.answer_drain(natural(frame.head["turn"]))
            return
        if kind == "drain":
            turn = natural(frame.head["turn"])  # now, while what is odd about it can end its kernel
            execution.pipes.set_barrier(lambda: kernel.answer_drain(turn))
        elif kind == "display":
            self._event(execution, display_head(frame.head), frame.body)
        elif kind == "clear":
            self._event(execution, {"type": "clear", "wait": bool(frame.head["wait"])}, b"")
        elif kind == "value":
            execution.value = checked_value(frame.head, frame.body)
        elif kind == "finished":
            self._take_end(execution, frame)
        if self._execution is execution and not execution.is_abandoned and self._channel.credit(execution.stream) <= 0:
            kernel.pause(True)

    def _take_end(self, execution: Execution, frame: Frame) -> None:
        """It is over for the kernel; for the host when what is in the pipes has been passed on."""
        if execution.out_of_memory:
            return  # of a kernel that is killed already, after the program that it ran: its own end tells why
        report = checked_report(frame.head)
        if "value" in frame.head:
            execution.value = checked_value(frame.head["value"], frame.body)
        execution.report = report  # only when all of it is what it must be
        report.outcome = self._deaths.told_apart(report.outcome)
        execution.pipes.set_barrier(lambda: self._finish(execution, state="kept"))

    def _resume(self, execution: Execution) -> None:
        execution.pipes.resume()
        if self._execution is execution and self._channel.credit(execution.stream) > 0:
            execution.kernel.pause(False)

    def _event(self, execution: Execution, head: Head, body: bytes) -> None:
        if not execution.is_abandoned:
            self._channel.send({**head, "execution": execution.name}, body, execution.stream)

    def _finish(self, execution: Execution, state: str) -> None:
        if self._execution is not execution:
            return
        assert execution.report is not None
        execution.end_ladder()
        outcome = execution.report.outcome
        if execution.reason is not None:
            execution.kill_newborn_processes()
            outcome = outcome if outcome["kind"] == "out-of-memory" else interrupted(execution.reason)
        changes = self._workspace.changes()
        self._execution = None
        execution.kernel.pause(False)
        if execution.is_abandoned:
            self._end_taking_over()
        else:
            self._channel.send(*finished(execution, outcome, state, changes), execution.stream)
            self._channel.flush()  # somebody waits for it, and for nothing of what is to be done here yet
            self._channel.close_stream(execution.stream)
        self._pipes.to_background(execution.pipes, execution.name)

    def _finish_lost(self, execution: Execution) -> None:
        """When all that the kernel printed is known."""
        assert execution.report is not None
        execution.report.outcome = after_last_words(execution.report.outcome, execution.pipes.last_words)
        self._finish(execution, state="lost")

    # Kernels

    def _events_of(self, name: str) -> KernelEvents:
        return KernelEvents(
            up=lambda kernel: self._on_up(name, kernel),
            frame=self._on_kernel_frame,
            died=lambda kernel, status: self._on_death(name, kernel, status),
            failed=lambda reason: self._on_no_kernel(name, reason),
        )

    def _on_up(self, name: str, kernel: KernelProcess) -> None:
        if name == PYTHON:
            self._awaited.up()
        if self._waiting is not None and self._waiting[1].kernel is kernel:
            (frame, keeper), self._waiting = self._waiting, None
            self._begin(frame, keeper)
        if self._is_asked(name):
            self.questions.kernel_up(kernel)

    def _is_asked(self, name: str) -> bool:
        language = self.questions.language
        return language is not None and kernel_of(language, None) == name

    def _on_death(self, name: str, kernel: KernelProcess, status: int) -> None:
        if name == PYTHON:
            self._end_exercise()
        kernel.kill_helper()
        keeper, execution = self.kernels.keeper(name), self._execution
        if execution is None or execution.kernel is not kernel:
            self.questions.kernel_died(kernel, describe_status(status))
            if keeper.restarted is None:
                keeper.restarted = f"its kernel ended while idle ({describe_status(status)}); variables are gone, files are not"
            return
        if execution.report is None:
            execution.report = Report(self._deaths.outcome_of(execution, status))
        execution.kill_newborn_processes()
        keeper.start_again()
        execution.pipes.set_barrier(lambda: self._finish_lost(execution))

    def _on_no_kernel(self, name: str, reason: str) -> None:
        if self._waiting is not None and self._waiting[1] is self.kernels.keeper(name):
            (frame, _), self._waiting = self._waiting, None
            self._fail(frame.head["id"], "no-kernel", reason)
        if self._is_asked(name):
            self.questions.give_up("no-kernel", reason)
        if name != PYTHON:
            return
        self._end_exercise()
        self._awaited.failed(reason)

    def _is_executing(self) -> bool:
        """One runs, or waits for its kernel."""
        return self._execution is not None or self._waiting is not None

    def _is_idle(self) -> bool:
        return self._execution is None and not self.questions.under_way
