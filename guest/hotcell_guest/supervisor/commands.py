"""Commands: executions that each have a kernel of their own, and run beside all others."""

from __future__ import annotations

import signal
from typing import Callable, Optional

from ..kernels.keeper import KernelEvents, KernelKeeper
from ..kernels.process import KernelProcess
from ..languages.table import COMMAND
from ..system.loop import Loop
from ..wire.channel import WINDOW_BYTES, Channel
from ..wire.frames import Frame, Head
from ..wire.refusal import Refusal
from ..wire.replies import Fail
from .all_kernels import Kernels
from .command_streams import CommandStreams
from .kernel_run import KernelRun
from .runs import Runs

MOST_COMMANDS = 32
_MOST_EARLY_SIGNALS = 32
SIGNALS = frozenset(f"SIG{name}" for name in ("INT", "TERM", "KILL", "HUP", "QUIT", "USR1", "USR2", "STOP", "CONT", "TSTP", "WINCH"))
Begin = Callable[[Frame, KernelKeeper, Optional[CommandStreams]], None]


class Commands:
    """Serves `execute` of a command, `input`, `signal` and `resize`. `begin` passes an execution to a kernel that is up.

    SECURITY: user code may have written any frame of a kernel: it can lie about itself only.
    """

    def __init__(self, loop: Loop, channel: Channel, kernels: Kernels, runs: Runs, *, begin: Begin, fail: Fail) -> None:
        self._loop = loop
        self._channel = channel
        self._kernels = kernels
        self._runs = runs
        self._begin = begin
        self._fail = fail
        self._streams: dict[str, CommandStreams] = {}
        self._early_signals: dict[str, list[str]] = {}
        self._keepers: set[KernelKeeper] = set()
        self._free: Optional[KernelKeeper] = None
        self._count = 0
        self.requests: dict[str, Callable[[Frame], Optional[Head]]] = {"signal": self._signal, "resize": self._resize}

    def execute(self, frame: Frame) -> None:
        """Raises Refusal for an invalid command, and for one too many."""
        self.tidy()
        if len(self._streams) >= MOST_COMMANDS:
            raise Refusal("too-many", f"execute: {MOST_COMMANDS} commands run already")
        name, stream = str(frame.head["execution"]), int(frame.head["stream"])
        self._streams[name] = CommandStreams(self._loop, frame.head.get("command"), _Credit(self._channel, stream).add)
        keeper, self._free = self._free or self._new_keeper(), None
        if keeper.is_up:
            self._begin_in(keeper, frame)
        else:
            self._runs.wait(frame, keeper)
            keeper.ensure_started()

    def input(self, frame: Frame) -> None:
        streams = self._streams.get(str(frame.head.get("execution")))
        if streams is None:
            self._channel.send({"type": "credit", "stream": frame.stream, "bytes": frame.size})  # the command is over
        else:
            streams.take_input(frame)

    def tidy(self) -> None:
        """Forgets commands that were withdrawn, and kernels that are gone."""
        for name in list(self._streams):
            if not self._runs.knows(name):
                self._streams.pop(name).close(has_begun=False)
                self._early_signals.pop(name, None)
        for keeper in list(self._keepers):
            if keeper.kernel is None and keeper is not self._free and not self._runs.is_busy(keeper):
                self._drop(keeper)  # the kernel was killed with all others

    def ended(self, run: KernelRun) -> None:
        """Called after every execution. One kernel without descendants is kept for the next command, because forking this process takes
        longer than a short command. Any other kernel is released, and stays until it has no descendants."""
        streams = self._streams.pop(run.name, None)
        if streams is None:
            return
        streams.close(has_begun=True)
        run.kernel.foreground = None
        is_whole = run.report is not None and run.report.is_free and run.ladder.reason is None
        if is_whole and self._free is None and run.keeper.is_up:
            self._free = run.keeper
        else:
            run.kernel.close()

    # Requests

    def _signal(self, frame: Frame) -> Head:
        name = frame.head["signal"]
        if name not in SIGNALS:
            raise Refusal("bad-request", "signal: not one that a command can be sent")
        execution = str(frame.head["execution"])
        run = self._runs.named(execution)
        if execution not in self._streams:
            return {} if self._runs.knows(execution) else {"ended": True}
        if run is None:
            self._keep_signal(execution, name)
        elif not self._streams[execution].signal(signal.Signals[name]):
            _pass_on(run.kernel, execution, name)
        return {}

    def _keep_signal(self, execution: str, name: str) -> None:
        """Keeps a signal for a command that waits for its kernel."""
        kept = self._early_signals.setdefault(execution, [])
        if len(kept) >= _MOST_EARLY_SIGNALS:
            raise Refusal("busy", "signal: the command has not taken those before")
        kept.append(name)

    def _resize(self, frame: Frame) -> Head:
        streams = self._streams.get(str(frame.head["execution"]))
        if streams is None:
            return {"ended": True}
        streams.resize(frame.head)
        return {}

    # Kernels

    def _new_keeper(self) -> KernelKeeper:
        self._count += 1
        events = KernelEvents(
            up=lambda kernel: self._on_up(keeper, kernel),
            frame=self._runs.take,
            died=lambda kernel, status: self._on_death(keeper, kernel, status),
            failed=lambda reason: self._on_no_kernel(keeper, reason),
        )
        keeper = self._kernels.add(f"{COMMAND} {self._count}", COMMAND, events)
        self._keepers.add(keeper)
        return keeper

    def _drop(self, keeper: KernelKeeper) -> None:
        self._keepers.discard(keeper)
        self._free = None if self._free is keeper else self._free
        self._kernels.drop(keeper)

    def _on_up(self, keeper: KernelKeeper, kernel: KernelProcess) -> None:
        request = self._runs.take_waiting(keeper)
        if request is not None:
            self._begin_in(keeper, request)
        else:
            kernel.close()  # the command was withdrawn meanwhile

    def _begin_in(self, keeper: KernelKeeper, request: Frame) -> None:
        execution = str(request.head["execution"])
        streams, signals = self._streams[execution], self._early_signals.pop(execution, [])
        self._begin(request, keeper, streams)
        if keeper.kernel is None:
            return
        if streams.outputs is not None:
            keeper.kernel.foreground = streams.foreground
        for name in signals:
            _pass_on(keeper.kernel, execution, name)

    def _on_death(self, keeper: KernelKeeper, kernel: KernelProcess, status: int) -> None:
        self._drop(keeper)
        run = self._runs.of(kernel)
        if run is not None and run.report is None:
            run.kernel_died(status)
            run.finish_lost(state="kept")  # a command has no variables to lose

    def _on_no_kernel(self, keeper: KernelKeeper, reason: str) -> None:
        self._drop(keeper)
        request = self._runs.take_waiting(keeper)
        if request is not None:
            self._fail(request.head["id"], "no-kernel", reason)
        self.tidy()


def _pass_on(kernel: KernelProcess, execution: str, name: str) -> None:
    if kernel.is_behind:
        raise Refusal("busy", "signal: the command has not taken those before")
    kernel.send({"type": "signal", "execution": execution, "signal": name})


class _Credit:
    """Returns credit in steps, as every receiver does."""

    def __init__(self, channel: Channel, stream: int) -> None:
        self._channel = channel
        self._stream = stream
        self._taken = 0

    def add(self, size: int) -> None:
        self._taken += size
        if self._taken >= WINDOW_BYTES // 4:
            self._channel.send({"type": "credit", "stream": self._stream, "bytes": self._taken})
            self._taken = 0
