"""The watchdog kills a program before the kernel that ran it: what that one says in between is not why it ended."""

from __future__ import annotations

import signal
import socket
import tempfile
import unittest
from types import SimpleNamespace
from typing import Any

from hotcell_guest.files.artifacts import Workspace
from hotcell_guest.kernels.outputs import OutputPipes
from hotcell_guest.kernels.process import KernelProcess, Started
from hotcell_guest.supervisor.execution import Execution
from hotcell_guest.supervisor.executions import Executions
from hotcell_guest.wire.frames import Frame

from .test_channel import STREAM, Guest


class OutOfMemoryTest(unittest.TestCase):
    def test_the_end_that_a_kernel_tells_after_the_watchdog_has_struck_does_not_count(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        guest = Guest(self)
        executions = Executions(guest.loop, guest.channel, Workspace(folder.name), lambda *_: None, lambda *_: None)
        ours, theirs = socket.socketpair()
        self.addCleanup(theirs.close)
        kernel = KernelProcess(guest.loop, Started(None, ours), lambda _frame: None, lambda: None)
        self.addCleanup(kernel.close)
        pipes = OutputPipes(guest.loop)
        self.addCleanup(pipes.close)
        keeper: Any = SimpleNamespace(kernel=kernel, restarted=None)
        execution = Execution(guest.loop, "x-1", STREAM, keeper, pipes, lambda _pid: True)
        execution.kill_newborn_processes = lambda: None  # type: ignore[method-assign]
        executions._execution = execution
        execution.use_up_memory()
        outcome = {"kind": "kernel-died", "signal": "SIGKILL"}
        finished = {"type": "finished", "execution": "x-1", "outcome": outcome, "cpuMs": 1, "peakMemoryBytes": 1}
        executions._on_kernel_frame(kernel, Frame(finished))
        self.assertIsNone(execution.report)
        self.assertEqual(executions._deaths.outcome_of(execution, signal.SIGKILL), {"kind": "out-of-memory"})
