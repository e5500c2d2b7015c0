"""Executions of kernels that a test plays: which run a request and a frame concern, and how each ends."""

from __future__ import annotations

import signal
import unittest

from hotcell_guest.wire.refusal import Refusal

from .played_kernels import PlayedSandbox


class KernelRunTest(unittest.TestCase):
    def setUp(self) -> None:
        self.sandbox = PlayedSandbox(self)
        self.python = self.sandbox.python

    def test_an_execution_ends_as_its_kernel_says(self) -> None:
        self.sandbox.execute("x-1", 2)
        self.assertEqual([frame.head["execution"] for frame in self.python.heard()], ["x-1"])
        self.python.finish("x-1", outcome={"kind": "exited", "exitCode": 3})
        (end,) = self.sandbox.finished()
        self.assertEqual((end["execution"], end["outcome"], end["state"]), ("x-1", {"kind": "exited", "exitCode": 3}, "kept"))

    def test_the_end_of_another_execution_ends_nothing(self) -> None:
        self.sandbox.execute("x-1", 2)
        self.python.finish("x-0")
        self.assertEqual(self.sandbox.finished(), [])
        self.python.finish("x-1")
        self.assertEqual(len(self.sandbox.finished()), 1)

    def test_a_kernel_that_runs_takes_no_second_execution(self) -> None:
        self.sandbox.execute("x-1", 2)
        with self.assertRaises(Refusal) as refused:
            self.sandbox.execute("x-2", 4)
        self.assertEqual(refused.exception.code, "busy")

    def test_an_interrupt_names_its_execution(self) -> None:
        self.sandbox.execute("x-1", 2)
        self.assertEqual(self.sandbox.request("interrupt", execution="x-0", reason="cancelled"), {"ended": True})
        self.assertEqual(self.sandbox.request("interrupt", execution="x-1", reason="timed-out"), {"ended": False})
        self.python.finish("x-1")
        self.assertEqual([end["outcome"] for end in self.sandbox.finished()], [{"kind": "timed-out"}])

    def test_an_execution_whose_kernel_dies_is_lost(self) -> None:
        self.sandbox.execute("x-1", 2)
        self.sandbox.die(self.python, signal.SIGSEGV)
        (end,) = self.sandbox.finished()
        self.assertEqual((end["outcome"], end["state"]), ({"kind": "kernel-died", "signal": "SIGSEGV"}, "lost"))
        self.sandbox.started()

    def test_the_end_that_a_kernel_tells_after_the_watchdog_has_struck_does_not_count(self) -> None:
        """The watchdog kills a program before the kernel that ran it: the report in between does not say why it ended."""
        self.sandbox.execute("x-1", 2)
        (run,) = self.sandbox.executions.runs.running
        run.use_up_memory()
        self.python.finish("x-1", outcome={"kind": "kernel-died", "signal": "SIGKILL"})
        self.assertEqual(self.sandbox.finished(), [])
        self.sandbox.die(self.python, signal.SIGKILL)
        self.assertEqual([end["outcome"] for end in self.sandbox.finished()], [{"kind": "out-of-memory"}])

    def test_an_abandoned_execution_says_nothing_to_the_next_host(self) -> None:
        self.sandbox.execute("x-1", 2)
        self.sandbox.executions.abandon()
        self.python.finish("x-1")
        self.assertEqual([frame.head["type"] for frame in self.sandbox.peer.read() if frame.head["type"] != "ready"], [])
        self.sandbox.execute("x-2", 4)
        self.python.finish("x-2")
        self.assertEqual([end["execution"] for end in self.sandbox.finished()], ["x-2"])
