"""Killing what was born in an execution, among processes that must not notice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

from hotcell_guest.system import limits, processes

# Prints a line whenever it goes on after a stop.
_NOTICES = """import signal
signal.signal(signal.SIGCONT, lambda *_: print('went on', flush=True))
print('ready', flush=True)
while True: signal.pause()"""


# Its main thread exits, and another one runs on.
_LEADERLESS = """import ctypes, platform, threading, time
threading.Thread(target=lambda: (held := bytes([1]) * (32 << 20), print('ready', flush=True), time.sleep(600), held)).start()
ctypes.CDLL(None).syscall(60 if platform.machine() == 'x86_64' else 93, 0)"""


class KillWhereTest(unittest.TestCase):
    def start(self, code: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdout is not None
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def went_on(self, process: subprocess.Popen[bytes]) -> bool:
        """Ends it. Whether it was stopped and continued before."""
        assert process.stdout is not None
        while processes.read_process(process.pid).state == "R":
            pass  # it is about to say so
        process.terminate()
        return b"went on" in process.stdout.read()

    def test_the_whole_world_stands_while_it_kills(self) -> None:
        victim, innocent = self.start(_NOTICES), self.start(_NOTICES)
        self.assertEqual(processes.kill_where(lambda process: process.pid == victim.pid), 1)
        self.assertEqual(victim.wait(), -signal.SIGKILL)
        self.assertTrue(self.went_on(innocent))

    def test_only_those_stand_among_whom_it_kills(self) -> None:
        victim, kin, stranger = (self.start(_NOTICES) for _ in range(3))
        family = {victim.pid, kin.pid}
        self.assertEqual(processes.kill_where(lambda process: process.pid == victim.pid, lambda: lambda process: process.pid in family), 1)
        self.assertEqual(victim.wait(), -signal.SIGKILL)
        self.assertEqual((self.went_on(kin), self.went_on(stranger)), (True, False))

    def test_one_that_was_stopped_before_goes_on(self) -> None:
        stopped = self.start(_NOTICES)
        os.kill(stopped.pid, signal.SIGSTOP)
        processes.kill_where(lambda process: False, lambda: lambda process: True)
        self.assertTrue(self.went_on(stopped))

    def test_a_process_without_its_main_thread_lives_and_holds_memory(self) -> None:
        leaderless = self.start(_LEADERLESS)
        while b"State:\tZ" not in Path(f"/proc/{leaderless.pid}/status").read_bytes():
            pass  # its main thread is about to exit
        found = processes.read_process(leaderless.pid)
        self.assertIn(found.state, "RS")  # on a busy machine it still waits for a processor
        self.assertGreaterEqual(limits.proportional_bytes(found.place), 32 << 20)
        os.kill(leaderless.pid, signal.SIGSTOP)
        while processes.read_process(leaderless.pid).state != "T":
            pass
        self.assertEqual(processes.kill_where(lambda process: process.pid == leaderless.pid), 1)
        self.assertEqual(leaderless.wait(), -signal.SIGKILL)

    def test_a_process_whose_threads_are_gone_when_they_are_looked_at_runs(self) -> None:
        leaderless = self.start(_LEADERLESS)
        while b"State:\tZ" not in Path(f"/proc/{leaderless.pid}/status").read_bytes():
            pass  # its main thread is about to exit
        with mock.patch.object(os, "listdir", lambda _place: [str(leaderless.pid), "4194305"]):  # above the maximum pid
            self.assertEqual(processes.read_process(leaderless.pid).state, "R")
