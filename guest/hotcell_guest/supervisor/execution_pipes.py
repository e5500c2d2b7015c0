"""The output pipes of a sandbox's executions: which ones the next execution gets, and how they are read after its end."""

from __future__ import annotations

from typing import Optional

from ..kernels.outputs import OutputPipes
from ..kernels.process import KernelProcess
from ..system.loop import Loop
from ..system.new_processes import NewProcesses
from ..wire.channel import Channel
from ..wire.frames import Head

BACKGROUND_STREAM = 1
# Two descriptors each. Code can hold any number of the other ends.
_MOST_BACKGROUND = 128


class ExecutionPipes:
    """Output of a background process is told from that of the next execution by the pipe it comes through."""

    def __init__(self, loop: Loop, channel: Channel) -> None:
        self._loop = loop
        self._channel = channel
        self._background: list[OutputPipes] = []
        self._ahead: Optional[OutputPipes] = None
        self._new_processes = NewProcesses()
        self._last_execution = ""

    def open_background(self) -> None:
        self._channel.open_stream(BACKGROUND_STREAM, self._resume_background)

    def pipes_for(self, kernel: KernelProcess) -> OutputPipes:
        """Returns the kernel's own pipes; those of its last execution, if no process was born that could hold them; otherwise new ones to
        be sent."""
        if kernel.own_pipes is not None:
            return kernel.own_pipes
        last_born, pipes = self._new_processes.last(), kernel.pipes
        if pipes is not None and last_born is not None and last_born == kernel.pipes_given_at and pipes.open:
            self._background.remove(pipes)
            return pipes
        pipes, self._ahead = self._ahead or OutputPipes(self._loop), None
        kernel.pipes, kernel.pipes_given_at = pipes, last_born
        return pipes

    def to_background(self, pipes: OutputPipes, execution: str) -> None:
        """Called when an execution has ended: later output belongs to none. The next execution finds its pipes ready."""

        def sink(source: str, data: bytes) -> None:
            self._channel.send({"type": "background", "execution": execution, "source": source}, data, BACKGROUND_STREAM)

        self._last_execution = execution
        self._background = [pipes for pipes in self._background if pipes.open]
        pipes.direct_to(sink, lambda: self._channel.credit(BACKGROUND_STREAM))
        if pipes not in self._background:
            self._background.append(pipes)
        self._close_oldest()
        self._loop.soon(self._make_ahead)

    def tell(self, text: str) -> None:
        """Adds a line of the guest's own to the background output, if there is room."""
        data = text.encode()
        if self._channel.credit(BACKGROUND_STREAM) >= len(data):
            head: Head = {"type": "background", "execution": self._last_execution, "source": "stderr"}
            self._channel.send(head, data, BACKGROUND_STREAM)

    def _close_oldest(self) -> None:
        """SECURITY: otherwise this process would run out of descriptors. Pipes that a kernel has for its life are kept."""
        passing = [pipes for pipes in self._background if not pipes.are_a_kernels]
        for pipes in passing[:-_MOST_BACKGROUND]:
            pipes.close()
            self._background.remove(pipes)

    def _make_ahead(self) -> None:
        if self._ahead is None:
            self._ahead = OutputPipes(self._loop)

    def _resume_background(self) -> None:
        for pipes in self._background:
            pipes.resume()
