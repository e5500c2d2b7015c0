"""Killing what was born in an execution, among processes that must not notice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import unittest

from hotcell_guest.system import processes

# Prints a line whenever it goes on after a stop.
_NOTICES = """import signal
signal.signal(signal.SIGCONT, lambda *_: print('went on', flush=True))
print('ready', flush=True)
while True: signal.pause()"""


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
