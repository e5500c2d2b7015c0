"""Ancestry of real processes: orphans stay below the kernel that they descend from."""

from __future__ import annotations

import functools
import os
import signal
import socket
import time
import unittest
from typing import Callable, NoReturn

from hotcell_guest.kernels.process import KernelProcess, Started
from hotcell_guest.kernels.subreaper import become_subreaper, reap_adopted
from hotcell_guest.supervisor.lineage import Lineage
from hotcell_guest.system import linux, processes
from hotcell_guest.system.loop import Loop


class SubreaperTest(unittest.TestCase):
    def fork(self, live: Callable[[], object]) -> int:
        pid = os.fork()
        if pid == 0:
            try:
                live()
            finally:
                os._exit(99)
        return pid

    def exit_code_of(self, kernel: Callable[[], NoReturn]) -> int:
        """Of a subreaper, which is negative for a signal."""
        return os.waitstatus_to_exitcode(os.waitpid(self.fork(lambda: become_subreaper(kernel)), 0)[1])

    def test_it_ends_as_its_kernel_ends(self) -> None:
        self.assertEqual(self.exit_code_of(lambda: os._exit(7)), 7)
        for number in (signal.SIGKILL, signal.SIGUSR1, signal.SIGTERM):
            self.assertEqual(self.exit_code_of(functools.partial(_end_by, number)), -number)

    def test_the_kernel_dies_with_it(self) -> None:
        told, tell = os.pipe()
        subreaper = self.fork(lambda: become_subreaper(lambda: _tell_and_wait(tell)))
        os.close(tell)
        os.read(told, 1)
        os.kill(subreaper, signal.SIGKILL)
        os.waitpid(subreaper, 0)
        self.assertEqual(os.read(told, 1), b"")  # the last write end was the kernel's
        os.close(told)

    def test_its_end_is_seen_although_it_is_stopped_again_and_again(self) -> None:
        told, tell = os.pipe()
        subreaper = self.fork(lambda: become_subreaper(lambda: _tell_pid_and_wait(tell)))
        kernel_pid = int(os.read(told, 20))
        os.close(told)
        os.close(tell)
        for _ in range(2):
            stopper = self.fork(functools.partial(_stop_for_ever, subreaper))
            self.addCleanup(os.waitpid, stopper, 0)
            self.addCleanup(os.kill, stopper, signal.SIGKILL)
        while processes.read_process(subreaper).state != "T":
            time.sleep(0.001)
        loop = Loop()
        self.addCleanup(loop.close)
        ours, theirs = socket.socketpair()
        self.addCleanup(theirs.close)
        kernel = KernelProcess(loop, Started(kernel_pid, ours, subreaper=subreaper), lambda _frame: None, lambda: None)
        self.addCleanup(kernel.close)
        kernel.kill()
        loop.call_later(1, loop.stop)
        loop.run()
        self.assertEqual(processes.read_process(subreaper).state, "Z")
        os.waitpid(subreaper, 0)

    def test_a_daemon_belongs_to_the_kernel_that_it_descends_from(self) -> None:
        told, tell = os.pipe()
        subreaper = self.fork(lambda: become_subreaper(lambda: _daemonize(tell)))
        daemon = int(os.read(told, 20))
        loop = Loop()
        self.addCleanup(loop.close)
        ours, theirs = socket.socketpair()
        self.addCleanup(theirs.close)
        kernel = KernelProcess(loop, Started(None, ours, subreaper=subreaper), lambda _frame: None, lambda: None)
        self.addCleanup(kernel.close)
        found = processes.read_process(daemon)
        self.assertIs(Lineage({subreaper: kernel}).kernel_above(found), kernel)
        self.assertIsNone(Lineage({}).kernel_above(found))
        os.kill(daemon, signal.SIGKILL)
        os.kill(subreaper, signal.SIGKILL)
        os.waitpid(subreaper, 0)
        os.close(told)
        os.close(tell)

    def test_a_kernel_that_is_a_subreaper_reaps_orphans_and_leaves_its_own_child(self) -> None:
        def live() -> None:
            linux.set_child_subreaper()
            own = self.fork(lambda: os._exit(3))
            middle = self.fork(lambda: self.fork(signal.pause) and os._exit(0))
            os.waitpid(middle, 0)
            (orphan,) = [process for process in processes.others_in_sandbox() if process.pid != own]
            os.waitid(os.P_PID, own, os.WEXITED | os.WNOWAIT)
            os.kill(orphan.pid, signal.SIGKILL)
            while processes.read_process(orphan.pid).state != "Z":
                time.sleep(0.001)
            reap_adopted(own=own)
            is_kept = os.waitpid(own, 0)[1] == 3 << 8
            reap_adopted()
            os._exit(0 if is_kept and not list(processes.others_in_sandbox()) else 1)

        self.assertEqual(os.waitpid(self.fork(live), 0)[1], 0)


def _end_by(number: signal.Signals) -> NoReturn:
    os.kill(os.getpid(), number)
    os._exit(98)


def _tell_and_wait(tell: int) -> NoReturn:
    os.write(tell, b"x")
    signal.pause()
    os._exit(98)


def _tell_pid_and_wait(tell: int) -> NoReturn:
    os.write(tell, str(os.getpid()).encode())
    signal.pause()
    os._exit(98)


def _stop_for_ever(pid: int) -> NoReturn:
    while True:
        os.kill(pid, signal.SIGSTOP)


def _daemonize(tell: int) -> NoReturn:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while _is_child_of_middle():
                time.sleep(0.001)
            os.write(tell, str(os.getpid()).encode())
            signal.pause()
        os._exit(0)
    signal.pause()
    os._exit(98)


def _is_child_of_middle() -> bool:
    """Whether the process in the middle, which leads the daemon's session, has not ended yet."""
    return os.getsid(0) == os.getppid()
