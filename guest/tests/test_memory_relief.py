"""The watchdog over memory: who is ended for what the sandbox holds, also where an execution never ends."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import unittest
from typing import Callable, Iterator
from unittest import mock

from .played_kernels import PlayedSandbox

_RELIEF = "hotcell_guest.supervisor.memory_relief"
_LIMIT = 64 * 1_048_576
_CHILD = "import sys; held = b'x' * (int(sys.argv[1]) << 20); print(flush=True); sys.stdin.read()"


class MemoryReliefTest(unittest.TestCase):
    def setUp(self) -> None:
        self.sandbox = PlayedSandbox(self)
        self.sandbox.executions._memory.limit_bytes = _LIMIT

    def child(self, mebibytes: int) -> subprocess.Popen[bytes]:
        """A process of the sandbox that holds memory."""
        child = subprocess.Popen([sys.executable, "-c", _CHILD, str(mebibytes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert child.stdin is not None and child.stdout is not None
        self.addCleanup(child.wait)
        for end in (child.stdin, child.stdout):
            self.addCleanup(end.close)
        self.addCleanup(child.kill)
        child.stdout.readline()
        return child

    def let_pass_until(self, holds: Callable[[], object]) -> None:
        for _ in range(300):
            if holds():
                return
            self.sandbox.let_pass(0.02)
        self.fail("never came true")

    def test_an_execution_whose_end_is_never_seen_does_not_turn_it_off(self) -> None:
        self.sandbox.execute("x-1", 2)  # its kernel has no process, so nothing is reaped when it is killed
        self.let_pass_until(self.child(80).poll)  # ended with its execution
        small = self.child(1)
        self.let_pass_until(self.child(80).poll)
        self.assertEqual(self.ended_for_memory(), [True])
        self.assertIsNone(small.poll())

    @contextlib.contextmanager
    def over_the_limit(self, *, held: int, beside: int) -> Iterator[mock.Mock]:
        """Memory stays over the limit: each execution holds `held`, the largest other process `beside`. Yields what would end processes."""
        executions = self.sandbox.executions
        with (
            mock.patch(f"{_RELIEF}.sandbox_memory_bytes", lambda limit: limit + 1),
            mock.patch.object(executions.kernels, "memory_bytes", return_value=held),
            mock.patch.object(executions.kernels, "largest_beside", return_value=beside),
            mock.patch.object(executions._memory, "_end_largest_processes") as end_processes,
        ):
            yield end_processes

    def ended_for_memory(self) -> list[bool]:
        return [run.out_of_memory for run in self.sandbox.executions.runs.running]

    def test_nobody_else_is_ended_while_a_slow_death_will_free_enough(self) -> None:
        with self.over_the_limit(held=1, beside=0) as end_processes:
            self.sandbox.execute("x-1", 2)
            self.sandbox.let_pass(0.4)
            self.assertEqual(self.ended_for_memory(), [True])
            end_processes.assert_not_called()
            self.let_pass_until(lambda: end_processes.called)  # it never ends

    def test_an_idle_kernel_that_holds_more_is_ended_instead_of_an_execution(self) -> None:
        self.sandbox.execute("x-1", 2)
        self.sandbox.python.finish("x-1")
        with self.over_the_limit(held=10, beside=100) as end_processes:
            self.sandbox.begin_bash("x-bash", 4)
            self.let_pass_until(lambda: end_processes.called)
            self.assertEqual(self.ended_for_memory(), [False])

    def test_an_execution_that_waits_for_its_reader_does_not_turn_it_off(self) -> None:
        self.sandbox.execute("x-1", 2)
        (run,) = self.sandbox.executions.runs.running
        with mock.patch.object(run._pipes, "set_barrier"):  # the host takes no more output
            self.sandbox.python.finish("x-1")
        self.assertEqual((run.is_over, run.is_endable), (False, False))
        self.let_pass_until(self.child(80).poll)
        self.assertFalse(run.out_of_memory)

    def test_a_question_whose_kernel_is_stuck_does_not_turn_it_off(self) -> None:
        self.sandbox.request("variables.list", timeoutMs=60_000)
        for _ in range(3):  # as a fork that the question made, for its kernel, and for itself
            self.let_pass_until(self.child(80).poll)

    def test_of_a_crowd_as_many_are_ended_as_are_too_much(self) -> None:
        self.sandbox.execute("x-1", 2)
        self.sandbox.python.finish("x-1")
        crowd = [self.child(30) for _ in range(4)]
        self.let_pass_until(lambda: sum(child.poll() is None for child in crowd) <= 2)
        self.sandbox.let_pass(0.3)
        self.assertGreaterEqual(sum(child.poll() is None for child in crowd), 1)

    def test_memory_of_a_process_that_dies_is_awaited_also_when_it_seems_to_hold_nothing(self) -> None:
        large, small = (mock.Mock(pid=pid, started=1, state="R", place=str(pid)) for pid in (101, 102))
        living, held, now = [large, small], {"101": 80, "102": 10}, mock.Mock(return_value=0.0)
        with (
            mock.patch(f"{_RELIEF}.processes.others_in_sandbox", lambda: living),
            mock.patch(f"{_RELIEF}.processes.may_be_ended", return_value=True),
            mock.patch(f"{_RELIEF}.proportional_bytes", lambda place: held[place]),
            mock.patch(f"{_RELIEF}.time.monotonic", now),
            mock.patch(f"{_RELIEF}.processes.kill") as kill,
        ):

            def ended_at(seconds: float) -> list[int]:
                now.return_value = seconds
                self.sandbox.executions._memory._end_largest_processes(1)
                return [call.args[0] for call in kill.call_args_list]

            self.assertEqual(ended_at(0.0), [101])
            held["101"] = 0
            self.assertEqual(ended_at(0.5), [101])
            living.remove(large)
            self.assertEqual(ended_at(0.55), [101])
            self.assertEqual(ended_at(0.7), [101, 102])

    def test_executions_that_follow_each_other_fast_do_not_put_it_off(self) -> None:
        with mock.patch(f"{_RELIEF}.sandbox_memory_bytes", return_value=0) as looks:
            for number in range(12):
                self.sandbox.execute(f"x-{number}", 2 * number + 2)
                self.sandbox.python.finish(f"x-{number}")
                self.sandbox.let_pass(0.01)
        self.assertGreater(looks.call_count, 2)

    def test_growth_of_the_supervisor_counts(self) -> None:
        own = mock.patch(f"{_RELIEF}.supervisor_bytes", side_effect=[10, 10 + _LIMIT + 40 * 1_048_576, 10, 10, 10])
        held = mock.patch(f"{_RELIEF}.sandbox_memory_bytes", return_value=-1_000 * 1_048_576)
        with own, held as looks:
            self.sandbox.execute("x-1", 2)
            self.let_pass_until(lambda: looks.called)
        self.assertEqual(looks.call_args_list[0].args, (-8 * 1_048_576,))


class FewestLooksTest(unittest.TestCase):
    def test_without_a_limit_it_never_looks(self) -> None:
        sandbox = PlayedSandbox(self)
        with mock.patch(f"{_RELIEF}.sandbox_memory_bytes", side_effect=AssertionError(os.getpid())):
            sandbox.execute("x-1", 2)
            sandbox.let_pass(0.05)
