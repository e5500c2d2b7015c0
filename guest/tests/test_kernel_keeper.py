"""The keeper of a kernel against a starter that fails when a test wants it to."""

from __future__ import annotations

import errno
import socket
import unittest
from unittest import mock

from hotcell_guest.kernels.keeper import KernelEvents, KernelKeeper
from hotcell_guest.kernels.process import KernelProcess, Started
from hotcell_guest.system.loop import Loop
from hotcell_guest.wire.frames import Frame


class RestartTest(unittest.TestCase):
    def setUp(self) -> None:
        self.loop = Loop()
        self.addCleanup(self.loop.close)
        self.starts = 0
        self.keeper = KernelKeeper(self.loop, KernelEvents(_ignore, _ignore_frame, _ignore_end, self.fail))

    def start(self) -> Started:
        """Refused once, as in a sandbox that is full of processes; then a kernel that never says that it is up."""
        self.starts += 1
        if self.starts == 1:
            raise OSError(errno.EAGAIN, "refused")
        if self.starts == 2:
            self.loop.stop()
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            self.addCleanup(end.close)
        return Started(None, ours)

    def test_a_restart_that_meets_a_kernel_on_its_second_start_starts_another(self) -> None:
        self.keeper.begin(self.start)
        self.loop.run()
        second = self.keeper.kernel
        assert second is not None
        self.keeper.abandon()
        self.keeper.ensure_started()
        self.assertEqual(self.starts, 3)
        self.assertIsNotNone(self.keeper.kernel)
        self.assertIsNot(self.keeper.kernel, second)


class StartLimitTest(unittest.TestCase):
    def test_a_kernel_that_never_says_that_it_is_up_is_given_up(self) -> None:
        loop = Loop()
        self.addCleanup(loop.close)
        reasons: list[str] = []

        def failed(reason: str) -> None:
            reasons.append(reason)
            loop.stop()

        def start() -> Started:
            ours, theirs = socket.socketpair()
            self.addCleanup(theirs.close)
            return Started(None, ours)

        keeper = KernelKeeper(loop, KernelEvents(_ignore, _ignore_frame, _ignore_end, failed))
        loop.call_later(10.0, loop.stop)
        with mock.patch("hotcell_guest.kernels.keeper._START_SECONDS", 0.01):
            keeper.begin(start)
        loop.run()
        self.assertEqual(reasons, ["the kernel ended before it was ready"])
        self.assertIsNone(keeper.kernel)


def _ignore(_kernel: KernelProcess) -> None: ...


def _ignore_frame(_kernel: KernelProcess, _frame: Frame) -> None: ...


def _ignore_end(_kernel: KernelProcess, _status: int) -> None: ...
