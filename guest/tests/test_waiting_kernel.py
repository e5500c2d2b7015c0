"""A kernel forked ahead that ends before anybody uses it: the sandbox takes another, and waits for nothing."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import time
import unittest
from typing import Callable
from unittest import mock

from hotcell_guest.kernels.process import Started
from hotcell_guest.start import python_kernels, zygote
from hotcell_guest.start.python_kernels import WaitingKernel
from hotcell_guest.supervisor.supervisor import Supervisor
from hotcell_guest.system.limits import Limits
from hotcell_guest.system.loop import Loop
from hotcell_guest.wire.frames import Frame, encode

_LIMITS = Limits(memory_bytes=1 << 30, open_files=64, file_bytes=1 << 20, cpus=1)
_CONFIG = {"limits": {"memoryBytes": 1 << 30, "openFiles": 64, "fileBytes": 1 << 20, "cpus": 1}, "environment": {}}
_SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE)


class WaitingKernelTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.workspace = folder.name

    def test_one_that_waits_is_given_out_once(self) -> None:
        waiting = self._waiting(lambda: time.sleep(60))
        waiting.begin(_CONFIG)
        started = waiting.take()
        assert started is not None and started.pid is not None
        self.addCleanup(started.sock.close)
        self.assertIsNone(waiting.take())
        os.kill(started.pid, signal.SIGKILL)
        os.waitpid(started.pid, 0)

    def test_in_place_of_one_that_has_ended_another_is_forked(self) -> None:
        waiting = self._waiting(lambda: os._exit(1))
        assert waiting._started is not None and waiting._started.pid is not None
        os.waitpid(waiting._started.pid, 0)
        waiting.begin(_CONFIG)
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        self.addCleanup(theirs.close)
        another = Started(None, ours)
        supervisor = zygote._make_supervisor(self.workspace, waiting)
        self.addCleanup(supervisor._loop.close)
        with mock.patch.multiple(zygote, fork_python_kernel=lambda *_: another, apply_environment=mock.DEFAULT, hardening=mock.DEFAULT):
            _, start = supervisor._prepare(_CONFIG)
            self.assertIs(start(), another)

    def _waiting(self, live: Callable[[], None]) -> WaitingKernel:
        def stand_by(*_arguments: object) -> None:
            live()
            os._exit(0)

        with mock.patch.object(python_kernels, "stand_by", stand_by):
            return WaitingKernel(self.workspace, "")


class EndBeforeWatchingTest(unittest.TestCase):
    def test_a_kernel_that_ended_before_children_were_watched_is_replaced(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for number in _SIGNALS:
            self.addCleanup(signal.signal, number, signal.getsignal(number))
        self.addCleanup(signal.set_wakeup_fd, -1)
        loop = Loop()
        self.addCleanup(loop.close)
        starts: list[int] = []

        def start() -> Started:
            starts.append(len(starts))
            ours, theirs = socket.socketpair()
            self.addCleanup(ours.close)
            if len(starts) == 1:
                theirs.close()
                return Started(dead, ours)
            self.addCleanup(theirs.close)
            theirs.sendall(encode(Frame({"type": "up", "pid": 1 << 22})))
            loop.call_later(0, loop.stop)
            return Started(None, ours)

        dead = os.fork()
        if dead == 0:
            os._exit(1)
        os.waitid(os.P_PID, dead, os.WEXITED | os.WNOWAIT)  # its end has been told, to nobody
        supervisor = Supervisor(loop, folder.name, lambda _config: (_LIMITS, start))
        supervisor.configure({})()
        loop.call_later(2, loop.stop)
        loop.run()
        self.assertEqual(starts, [0, 1])
