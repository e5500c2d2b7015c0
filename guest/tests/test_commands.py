"""Commands: a kernel each, their streams, signals and limits."""

from __future__ import annotations

import os
import signal
import unittest
from typing import Any

from hotcell_guest.supervisor.commands import MOST_COMMANDS
from hotcell_guest.wire.channel import WINDOW_BYTES
from hotcell_guest.wire.frames import Frame
from hotcell_guest.wire.refusal import Refusal

from .played_kernels import PlayedKernel, PlayedSandbox

_TERMINAL = {"columns": 80, "rows": 24}


class CommandsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.sandbox = PlayedSandbox(self)

    def ask(self, name: str, stream: int, **command: Any) -> None:
        self.sandbox.execute(name, stream, language="command", command={"stdin": False, **command})

    def begin(self, name: str, stream: int, **command: Any) -> PlayedKernel:
        self.ask(name, stream, **command)
        kernel = self.sandbox.started()
        kernel.say({"type": "up", "pid": kernel.pid})
        return kernel

    def input(self, name: str, stream: int, data: bytes, *, end: bool = False) -> None:
        self.sandbox.executions.commands.input(Frame({"type": "input", "execution": name, "end": end}, data, stream, size=len(data) + 80))

    def ends(self) -> list[tuple[str, str, str]]:
        return [(end["execution"], end["outcome"]["kind"], end["state"]) for end in self.sandbox.finished()]

    def credited(self, stream: int) -> int:
        frames = self.sandbox.peer.read()
        return sum(frame.head["bytes"] for frame in frames if frame.head["type"] == "credit" and frame.head["stream"] == stream)

    def test_each_has_a_kernel_beside_the_others(self) -> None:
        self.sandbox.execute("x-python", 2)
        first, second = self.begin("x-1", 4), self.begin("x-2", 6)
        first.finish("x-2")  # it cannot speak for the other
        second.finish("x-2")
        first.finish("x-1", outcome={"kind": "exited", "exitCode": 3})
        self.sandbox.python.finish("x-python")
        self.assertEqual(self.ends(), [("x-2", "ok", "kept"), ("x-1", "exited", "kept"), ("x-python", "ok", "kept")])

    def test_a_signal_that_comes_before_the_kernel_is_up_reaches_it_after_the_command(self) -> None:
        self.ask("x-1", 4)
        kernel = self.sandbox.started()
        asked = Frame({"type": "signal", "id": 9, "execution": "x-1", "signal": "SIGKILL"}, b"", 0)
        self.assertEqual(self.sandbox.executions.commands.requests["signal"](asked), {})
        kernel.say({"type": "up", "pid": kernel.pid})
        heard = [(frame.head["type"], frame.head.get("signal")) for frame in kernel.heard() + kernel.heard()]
        self.assertEqual(heard, [("execute", None), ("signal", "SIGKILL")])
        kernel.finish("x-1")

    def test_a_kernel_that_nothing_descends_from_runs_the_next(self) -> None:
        kernel = self.begin("x-1", 4)
        kernel.finish("x-1", isFree=True)
        kernel.heard()
        self.ask("x-2", 6)
        self.assertEqual([frame.head["type"] for frame in kernel.heard()], ["execute"])
        kernel.finish("x-2")
        self.assertEqual(kernel.is_closed(), True)

    def test_one_that_was_interrupted_does_not(self) -> None:
        kernel = self.begin("x-1", 4)
        self.sandbox.request("interrupt", execution="x-1", reason="timed-out")
        kernel.finish("x-1", isFree=True)
        self.assertEqual(self.ends(), [("x-1", "timed-out", "kept")])
        self.assertEqual(kernel.is_closed(), True)

    def test_the_death_of_its_kernel_ends_it_and_loses_nothing(self) -> None:
        kernel = self.begin("x-1", 4, terminal=_TERMINAL)
        self.sandbox.die(kernel, signal.SIGKILL)
        self.assertEqual(self.ends(), [("x-1", "kernel-died", "kept")])
        self.assertEqual(self.sandbox.request("signal", execution="x-1", signal="SIGTERM"), {"ended": True})

    def test_more_than_the_most_are_refused(self) -> None:
        kernels = [self.begin(f"x-{number}", 4 + 2 * number) for number in range(MOST_COMMANDS)]
        with self.assertRaises(Refusal) as refused:
            self.ask("x-more", 200)
        self.assertEqual(refused.exception.code, "too-many")
        kernels[0].finish("x-0")
        self.begin("x-more", 200)

    def test_what_is_no_command_is_refused(self) -> None:
        commands: tuple[Any, ...] = (
            None,
            [],
            {},
            {"stdin": 1},
            {"stdin": True, "terminal": 5},
            {"stdin": True, "terminal": {"columns": 0, "rows": 1}},
        )
        for command in commands:
            with self.subTest(command), self.assertRaises((Refusal, ValueError, KeyError)):
                self.sandbox.execute("x-1", 4, language="command", command=command)
        with self.assertRaises(Refusal):
            self.sandbox.execute("x-1", 4, language="command")

    def test_input_waits_for_the_program_and_gives_credit_as_it_reads(self) -> None:
        kernel = self.begin("x-1", 4, stdin=True)
        self.sandbox.peer.read()
        fd = kernel.received_fds()[2]
        piece = 65_536
        for _ in range(4):
            self.input("x-1", 4, b"x" * piece)
        self.assertLess(self.credited(4), 2 * piece)
        taken = 0
        while taken < 4 * piece:
            taken += len(os.read(fd, piece))
            self.sandbox.let_pass(0.001)
        self.assertGreaterEqual(self.credited(4), WINDOW_BYTES // 4)
        self.input("x-1", 4, b"", end=True)
        self.assertEqual(os.read(fd, 1), b"")

    def test_input_for_one_that_reads_no_more_is_dropped_and_credited(self) -> None:
        kernel = self.begin("x-1", 4, stdin=True)
        os.close(kernel.received_fds()[2])
        self.sandbox.peer.read()
        for _ in range(4):
            self.input("x-1", 4, b"x" * 65_536)
        self.assertGreaterEqual(self.credited(4), 4 * 65_536 - WINDOW_BYTES // 4)
        kernel.finish("x-1")
        self.sandbox.peer.read()
        self.input("x-1", 4, b"x")
        self.assertGreater(self.credited(4), 0)

    def test_a_terminal_is_read_written_and_resized(self) -> None:
        kernel = self.begin("x-1", 4, terminal=_TERMINAL)
        (slave,) = kernel.received_fds()
        self.assertEqual(os.get_terminal_size(slave), (80, 24))
        self.sandbox.request("resize", execution="x-1", columns=100, rows=40)
        self.assertEqual(os.get_terminal_size(slave), (100, 40))
        with self.assertRaises(ValueError):
            self.sandbox.request("resize", execution="x-1", columns=100, rows=1_001)
        self.input("x-1", 4, b"typed\n")
        self.assertEqual(os.read(slave, 100), b"typed\n")
        self.input("x-1", 4, b"", end=True)
        self.assertEqual(os.read(slave, 100), b"")
        os.write(slave, b"printed\n")
        os.close(slave)
        kernel.finish("x-1")
        printed = b"".join(frame.body for frame in self.sandbox.peer.read() if frame.head["type"] == "stdout")
        self.assertTrue(printed.endswith(b"printed\r\n"), printed)

    def test_resize_needs_a_terminal(self) -> None:
        self.begin("x-1", 4)
        with self.assertRaises(Refusal):
            self.sandbox.request("resize", execution="x-1", columns=100, rows=40)

    def test_a_signal_goes_to_the_kernel_of_its_command(self) -> None:
        first, second = self.begin("x-1", 4), self.begin("x-2", 6)
        for kernel in (first, second):
            kernel.heard()
        self.assertEqual(self.sandbox.request("signal", execution="x-1", signal="SIGUSR1"), {})
        self.assertEqual([frame.head.get("signal") for frame in first.heard()], ["SIGUSR1"])
        self.assertEqual(second.heard(), [])
        with self.assertRaises(Refusal):
            self.sandbox.request("signal", execution="x-1", signal="SIGSEGV")

    def test_descriptors_do_not_stay_behind(self) -> None:
        def count() -> int:
            return len(os.listdir("/proc/self/fd"))

        kernel = self.begin("x-0", 4)
        self.sandbox.die(kernel, 0)
        self.ends()
        before = count()
        for number in range(20):
            self.ask(f"x-{number + 1}", 6, stdin=True, **({"terminal": _TERMINAL} if number % 2 else {}))
            kernel = self.sandbox.started()
            self.sandbox.request("interrupt", execution=f"x-{number + 1}", reason="timed-out")
            self.sandbox.die(kernel, signal.SIGKILL)
        # The other ends are the test's own. On a busy machine the last pipes are closed a moment later.
        for _ in range(300):
            if count() - before <= 20:
                return
            self.sandbox.let_pass(0.02)
        self.fail(f"{count() - before} are left")

    def test_a_reset_ends_it(self) -> None:
        kernel = self.begin("x-1", 4, stdin=True)
        self.sandbox.request("restart")
        self.sandbox.die(kernel, signal.SIGKILL)
        self.assertEqual(self.ends(), [("x-1", "interrupted", "kept")])
