"""One execution of one kernel: from the moment the kernel takes the code until `finished`."""

from __future__ import annotations

import time
from typing import Any, Callable, NamedTuple, Optional

from ..files.artifacts import Workspace
from ..kernels.keeper import KernelKeeper
from ..kernels.process import KernelProcess
from ..languages.table import PYTHON, kernel_of
from ..system.loop import Loop
from ..wire.channel import Channel
from ..wire.frames import Frame, Head
from .checked_outcome import natural
from .command_streams import CommandStreams
from .display_frames import display_head
from .execution_pipes import ExecutionPipes
from .execution_report import Report, checked_message, checked_report, checked_value
from .finished import finished
from .kernel_deaths import KernelDeaths, after_last_words, interrupted
from .ladder import GRACE_SECONDS, KillNewborn, Ladder


class Surroundings(NamedTuple):
    """Dependencies that all executions of a sandbox share. `kill_newborn` is for the ladder; `on_end` is called after each end."""

    loop: Loop
    channel: Channel
    workspace: Workspace
    pipes: ExecutionPipes
    deaths: KernelDeaths
    kill_newborn: KillNewborn
    on_end: Callable[[KernelRun], None]
    grace_seconds: float = GRACE_SECONDS


class KernelRun:
    """`runs.py` holds the running ones. SECURITY: user code may have written any frame of the kernel: it can lie about itself only."""

    def __init__(self, around: Surroundings, request: Frame, keeper: KernelKeeper, streams: Optional[CommandStreams] = None) -> None:
        assert keeper.kernel is not None
        self.name = str(request.head["execution"])
        self.keeper = keeper
        self.kernel: KernelProcess = keeper.kernel
        self.restarted, keeper.restarted = keeper.restarted, None
        self.report: Optional[Report] = None
        self.value: Optional[tuple[dict[str, Any], bytes]] = None
        self.message = b""
        self.out_of_memory = False
        self.is_over = False
        self.is_abandoned = False
        self.started = time.monotonic()
        self._around = around
        self._stream = int(request.head["stream"])
        self._pipes = (streams and streams.outputs) or around.pipes.pipes_for(self.kernel)
        self._pipes.direct_to(lambda source, data: self._event({"type": source}, data), lambda: around.channel.credit(self._stream))
        self.ladder = Ladder(around.loop, self.name, self.kernel, kill_newborn=around.kill_newborn, grace_seconds=around.grace_seconds)
        around.workspace.begin(self.name)
        keeper.has_begun_work()
        around.channel.open_stream(self._stream, self._resume)
        self._send_code(request, streams)

    def abandon(self) -> None:
        """Ends the run and drops its remaining output, because the host that asked for it is gone."""
        self._around.channel.close_stream(self._stream)
        self.is_abandoned = True
        self._pipes.discard()
        self._pipes.resume()
        self.kernel.pause(False)
        self.ladder.begin("closing")

    @property
    def is_endable(self) -> bool:
        """Whether its kernel still runs it, and it was not ended for its memory."""
        return self.report is None and not self.out_of_memory

    def use_up_memory(self) -> None:
        """Ends a run that has used up the memory of its sandbox, without a grace period."""
        self.out_of_memory = True
        self.ladder.jump_to_the_end()

    def take(self, frame: Frame) -> None:
        """Handles a frame of its kernel about this execution, before the kernel has reported its end."""
        kind = frame.head["type"]
        if kind == "drain":
            turn = natural(frame.head["turn"])  # checked now, while an invalid value can still end its kernel
            self._pipes.set_barrier(lambda: self.kernel.answer_drain(turn))
        elif kind == "display":
            self._event(display_head(frame.head), frame.body)
        elif kind == "clear":
            self._event({"type": "clear", "wait": bool(frame.head["wait"])}, b"")
        elif kind == "value":
            self.value = checked_value(frame.head, frame.body)
        elif kind == "finished":
            self._take_end(frame)
        if not self.is_over and not self.is_abandoned and self._around.channel.credit(self._stream) <= 0:
            self.kernel.pause(True)

    def kernel_died(self, status: int) -> None:
        """Called when the kernel died. The run ends when all output of the kernel is known."""
        if self.report is None:
            outcome = self._around.deaths.outcome_of(status, self.ladder.reason)
            self.report = Report({"kind": "out-of-memory"} if self.out_of_memory else outcome)
        self.ladder.kill_newborn_processes()

    def finish_lost(self, state: str = "lost") -> None:
        """After `kernel_died`: passes on the rest of the pipes, then ends."""
        self._pipes.set_barrier(lambda: self._end_lost(state))

    def _send_code(self, request: Frame, streams: Optional[CommandStreams]) -> None:
        is_python = kernel_of(request.head.get("language", PYTHON), request.head.get("recipe")) == PYTHON
        members = (
            ("filename", "environment", "tracebackLocals") if is_python else ("filename", "environment", "language", "recipe", "command")
        )
        asked: Head = {member: request.head[member] for member in members if member in request.head}
        self.kernel.send(
            {"type": "execute", "execution": self.name, **asked}, request.body, self._pipes.write_fds + (streams.given if streams else ())
        )
        self._pipes.close_write_ends()
        if streams is not None:
            streams.close_given()
        self._around.loop.expect_soon()

    def _take_end(self, frame: Frame) -> None:
        """Handles the kernel's report of the end. For the host the run ends when the pipes are drained."""
        if self.out_of_memory:
            return  # the kernel is killed already, after the program that it ran: its own end says why
        report = checked_report(frame.head)
        value, self.message = checked_message(frame.head, frame.body)
        if "value" in frame.head:
            self.value = checked_value(frame.head["value"], value)
        # Only if all of it is valid.
        self.report = report._replace(outcome=self._around.deaths.told_apart(report.outcome))
        self._pipes.set_barrier(lambda: self._end("kept"))

    def _resume(self) -> None:
        self._pipes.resume()
        if not self.is_over and self._around.channel.credit(self._stream) > 0:
            self.kernel.pause(False)

    def _event(self, head: Head, body: bytes) -> None:
        if not self.is_abandoned:
            self._around.channel.send({**head, "execution": self.name}, body, self._stream)

    def _end_lost(self, state: str) -> None:
        assert self.report is not None
        self.report = self.report._replace(outcome=after_last_words(self.report.outcome, self._pipes.last_words))
        self._end(state)

    def _end(self, state: str) -> None:
        if self.is_over:
            return
        assert self.report is not None
        self.ladder.stop()
        outcome = self.report.outcome
        if self.ladder.reason is not None:
            self.ladder.kill_newborn_processes()
            outcome = outcome if outcome["kind"] == "out-of-memory" else interrupted(self.ladder.reason)
        changes = self._around.workspace.changes(self.name)
        self.is_over = True
        self.kernel.pause(False)
        channel = self._around.channel
        if not self.is_abandoned:
            channel.send(*finished(self, outcome, state, changes), self._stream)
            channel.flush()  # the host waits for this, and not for the cleanup that follows
            channel.close_stream(self._stream)
        self._around.on_end(self)
        self._around.pipes.to_background(self._pipes, self.name)
