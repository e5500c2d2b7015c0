"""The warm stage, of which kernels are asked while the supervisor stops and continues the whole sandbox."""

from __future__ import annotations

import os
import signal
import socket
import time
import unittest

from hotcell_guest.start.warm import WarmStage
from hotcell_guest.system.loop import Loop
from hotcell_guest.wire.frames import Frame, Head

_BALLAST_BYTES = 100 * 1_048_576
_ROUNDS = 60


def _fork_and_say_so(_request: Frame, fds: list[int]) -> None:
    if os.fork() == 0:
        os.write(fds[0], b"up")
        os._exit(0)


class StoppedStageTest(unittest.TestCase):
    def setUp(self) -> None:
        self.loop = Loop()
        self.addCleanup(self.loop.close)
        # A fork copies what maps it: as long as that takes with pandas in memory, signals come in the middle of it.
        self.ballast = bytearray(b"x") * _BALLAST_BYTES
        self.stage = WarmStage(self.loop, [], _fork_and_say_so, lambda _head: self.loop.stop())
        self.stage.start()
        assert self.stage.pid is not None
        self.pid = self.stage.pid
        self.addCleanup(self._kill_all)
        os.setpgid(self.pid, self.pid)
        self.loop.run()

    def _kill_all(self) -> None:
        os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def test_what_is_forked_while_all_are_stopped_and_continued_runs_on(self) -> None:
        for turn in range(_ROUNDS):
            ours, theirs = socket.socketpair()
            with ours, theirs:
                self.stage.request({"type": "kernel"}, (theirs.fileno(),))
                time.sleep(0.0002 * (turn % 20))
                os.killpg(self.pid, signal.SIGSTOP)
                os.killpg(self.pid, signal.SIGCONT)
                ours.settimeout(5)
                try:
                    self.assertEqual(ours.recv(2), b"up")
                except socket.timeout:
                    self.fail(f"the fork of turn {turn} was born stopped, and nobody continues it")


class HeldStageTest(unittest.TestCase):
    def test_preloads_wait_while_the_stage_is_held_and_a_ready_stage_never_does(self) -> None:
        loop = Loop()
        self.addCleanup(loop.close)
        stage = WarmStage(loop, ["statistics"], _fork_and_say_so, lambda _head: loop.stop())
        stage.start()
        assert stage.pid is not None
        self.addCleanup(os.waitpid, stage.pid, 0)
        self.addCleanup(os.kill, stage.pid, signal.SIGKILL)
        stage.hold(True)
        os.waitid(os.P_PID, stage.pid, os.WSTOPPED)
        self.assertFalse(stage.is_ready)
        stage.hold(False)
        loop.run()
        self.assertTrue(stage.is_ready)
        stage.hold(True)
        self.assertIsNone(os.waitid(os.P_PID, stage.pid, os.WSTOPPED | os.WNOHANG))

    def test_a_stage_that_has_just_died_can_be_held(self) -> None:
        loop = Loop()
        self.addCleanup(loop.close)
        stage = WarmStage(loop, ["statistics"], _fork_and_say_so, lambda _head: loop.stop())
        stage.start()
        assert stage.pid is not None
        os.kill(stage.pid, signal.SIGKILL)
        os.waitpid(stage.pid, 0)
        stage.hold(True)  # before its socket was read
        loop.run()
        self.assertFalse(stage.is_ready)


class LostStageTest(unittest.TestCase):
    def test_the_end_of_a_stage_that_was_ready_is_told(self) -> None:
        loop = Loop()
        self.addCleanup(loop.close)
        heads: list[Head] = []
        lost: list[bool] = []

        def on_ready(head: Head) -> None:
            heads.append(head)
            assert stage.pid is not None
            os.kill(stage.pid, signal.SIGKILL)

        def on_lost() -> None:
            lost.append(stage.is_ready)
            loop.stop()

        stage = WarmStage(loop, [], _fork_and_say_so, on_ready, on_lost=on_lost)
        stage.start()
        assert stage.pid is not None
        self.addCleanup(os.waitpid, stage.pid, 0)
        loop.call_later(10, loop.stop)
        loop.run()
        self.assertEqual((len(heads), lost), (1, [False]))
