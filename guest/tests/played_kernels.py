"""Executions over kernels that a test plays by hand: they have a socket and no process."""

from __future__ import annotations

import socket
import tempfile
import unittest
from typing import Any, Optional
from unittest import mock

from hotcell_guest.files.artifacts import Workspace
from hotcell_guest.kernels.process import Started
from hotcell_guest.supervisor.executions import Executions
from hotcell_guest.system.limits import Limits
from hotcell_guest.wire.frames import Frame, FrameDecoder, Head, encode

from .test_channel import Guest, settle

# One more than there can be: a signal to it reaches nothing.
NO_PID = 4_194_305


class PlayedKernel:
    """The kernel's end of its private socket."""

    def __init__(self, guest: Guest, sock: socket.socket, pid: int) -> None:
        self.pid = pid
        self._guest = guest
        self._sock = sock
        self._decoder = FrameDecoder()
        sock.setblocking(False)

    def say(self, head: Head, body: bytes = b"") -> None:
        self._sock.sendall(encode(Frame(head, body)))
        settle(self._guest.loop)

    def finish(self, execution: str, **members: Any) -> None:
        outcome = members.pop("outcome", {"kind": "ok"})
        self.say({"type": "finished", "execution": execution, "outcome": outcome, "cpuMs": 1, "peakMemoryBytes": 1, **members})

    def heard(self) -> list[Frame]:
        try:
            return list(self._decoder.feed(self._sock.recv(65_536)))
        except BlockingIOError:
            return []

    def received_fds(self) -> list[int]:
        """The descriptors that came with what it is told next, which the test is to close."""
        data, fds, _, _ = socket.recv_fds(self._sock, 65_536, 8)
        list(self._decoder.feed(data))
        return fds

    def is_closed(self) -> bool:
        """Whether the supervisor has closed its end, after all that it said."""
        try:
            while self._sock.recv(65_536):
                pass
        except BlockingIOError:
            return False
        return True


class PlayedSandbox:
    """A supervisor's executions with a host and kernels that a test plays. Python's kernel is up from the beginning."""

    def __init__(self, test: unittest.TestCase) -> None:
        self._test = test
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.guest = Guest(test)
        self.peer = self.guest.connected()
        self.peer.read()
        self.failures: list[tuple[int, str]] = []
        self.executions = Executions(
            self.guest.loop,
            self.guest.channel,
            Workspace(folder.name),
            reply=lambda *_: None,
            fail=lambda number, code, _message: self.failures.append((number, code)),
        )
        self.executions.limit(Limits(memory_bytes=1, open_files=1, file_bytes=1, cpus=1), 20)
        starts = mock.patch("hotcell_guest.supervisor.all_kernels.starter_of", lambda _name: self.start)
        starts.start()
        test.addCleanup(starts.stop)
        self._kernels = 0
        self._started: Optional[PlayedKernel] = None
        self.executions.kernels.python.begin(self.start)
        self.python = self.started()
        self.python.say({"type": "up", "pid": self.python.pid})

    def start(self, *_surroundings: object) -> Started:
        """A KernelStarter. The kernel is to be taken with `started` and says `up` when the test does."""
        ours, theirs = socket.socketpair()
        self._test.addCleanup(theirs.close)
        self._kernels += 1
        self._started = PlayedKernel(self.guest, theirs, NO_PID + self._kernels)
        return Started(self._started.pid, ours)

    def started(self) -> PlayedKernel:
        assert self._started is not None
        kernel, self._started = self._started, None
        return kernel

    def request(self, kind: str, **members: Any) -> Optional[Head]:
        return self.executions.requests[kind](Frame({"type": kind, "id": 1, **members}, b"1"))

    def begin_bash(self, name: str, stream: int) -> PlayedKernel:
        """An execution of bash, whose kernel comes up for it."""
        self.execute(name, stream, language="bash")
        bash = self.started()
        bash.say({"type": "up", "pid": bash.pid})
        return bash

    def execute(self, name: str, stream: int, **members: Any) -> None:
        self.request("execute", execution=name, stream=stream, filename="<test>", **members)

    def die(self, kernel: PlayedKernel, status: int) -> None:
        self.executions.kernels.reaped(kernel.pid, status)
        settle(self.guest.loop)

    def let_pass(self, seconds: float) -> None:
        """Lets timers fire."""
        loop = self.guest.loop
        loop.call_later(seconds, loop.stop)
        loop._running = True
        loop.run()

    def finished(self) -> list[Head]:
        """What the host has heard of ends since it was last asked."""
        return [frame.head for frame in self.peer.read() if frame.head["type"] == "finished"]
