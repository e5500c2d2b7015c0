"""A rehearsal makes the real thing faster, and leaves nothing else behind."""

from __future__ import annotations

import builtins
import dis
import gc
import linecache
import os
import signal
import sys
import tempfile
import threading
import time
import unittest
import warnings
from types import FunctionType
from typing import Any, Callable
from unittest import mock

from hotcell_guest.interpreter.shell import Shell
from hotcell_guest.languages.python import Kernel
from hotcell_guest.start.rehearsal import rehearse_kernel, rehearse_often, rehearse_supervisor
from hotcell_guest.supervisor.kernel_run import KernelRun
from hotcell_guest.supervisor.supervisor import Supervisor
from hotcell_guest.wire.channel import Channel

_SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE, signal.SIGCONT)
_REHEARSED: tuple[Any, ...] = (Kernel._execute, Shell.run, Supervisor._request, KernelRun.__init__, KernelRun._end, Channel.send)


def _everything() -> dict[str, object]:
    """What other code of this process could notice."""
    return {
        "descriptors": _descriptors(),
        "signals": {number: signal.getsignal(number) for number in _SIGNALS},
        "streams": (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__),
        "main": sys.modules["__main__"],
        "builtins": dict(vars(builtins)),
        "import hooks": list(sys.meta_path),
        "warnings": vars(warnings).get("_showwarnmsg_impl"),
        "sources": set(linecache.cache),
        "threads": threading.enumerate(),
        "folder": os.getcwd(),
        "environment": dict(os.environ),
    }


def _descriptors() -> dict[str, str]:
    links = {}
    for fd in os.listdir("/proc/self/fd"):
        try:
            links[fd] = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            pass  # the one that was listed through
    return links


class RehearsalTest(unittest.TestCase):
    def setUp(self) -> None:
        self.workspace, fonts = self._folder(), mock.patch.dict(os.environ, MPLCONFIGDIR=self._folder())
        fonts.start()
        self.addCleanup(fonts.stop)
        gc.collect()  # a rehearsal does: what other tests left must not go meanwhile, and its descriptors with it

    def _folder(self) -> str:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name

    def test_it_leaves_the_process_as_it_was(self) -> None:
        rehearsals: tuple[Callable[[], None], ...] = (rehearse_kernel, lambda: rehearse_supervisor(self.workspace))
        for rehearse in rehearsals:
            wake, woken = os.pipe()
            self.addCleanup(os.close, wake)
            self.addCleanup(os.close, woken)
            os.set_blocking(woken, False)
            signal.set_wakeup_fd(woken)
            before = _everything()
            rehearse()
            self.assertEqual(_everything(), before)
            self.assertEqual(signal.set_wakeup_fd(-1), woken)
            self.assertEqual(os.listdir(self.workspace), [])

    def test_it_keeps_a_value_that_is_somebodys(self) -> None:
        names: Any = builtins
        names._ = "somebody's"
        self.addCleanup(delattr, builtins, "_")
        rehearse_kernel()
        self.assertEqual(names._, "somebody's")

    def test_nothing_of_it_lives_on(self) -> None:
        rehearse_kernel()
        rehearse_supervisor(self.workspace)
        alive = [item for item in gc.get_objects() if isinstance(item, (Kernel, Supervisor))]
        self.assertEqual(alive, [])

    def test_it_ends_when_all_is_said_and_not_when_its_time_is_up(self) -> None:
        began = time.monotonic()
        with mock.patch("hotcell_guest.start.rehearsal._MOST_SECONDS", 60.0):
            rehearse_supervisor(self.workspace)
        self.assertLess(time.monotonic() - began, 60.0)

    def test_what_a_preload_may_have_changed_costs_the_rehearsal_alone(self) -> None:
        before = _everything()
        with mock.patch("hotcell_guest.start.rehearsal.encode", side_effect=TypeError("changed by a preload")) as encode:
            rehearse_kernel()
            rehearse_supervisor(self.workspace)
        self.assertEqual(encode.call_count, 2)
        self.assertEqual(_everything(), before)

    def test_where_descriptors_are_used_up_nothing_happens(self) -> None:
        before = _everything()
        for failing in ("os.dup", "os.pipe", "socket.socketpair", "select.epoll"):
            with mock.patch(failing, side_effect=OSError(24, "Too many open files")):
                rehearse_kernel()
                rehearse_supervisor(self.workspace)
            gc.collect()
            self.assertEqual(_everything(), before, failing)

    def test_where_the_last_descriptor_is_used_up_it_is_given_back(self) -> None:
        before = _everything()
        with mock.patch("os.dup", side_effect=[os.dup(1), OSError(24, "Too many open files")]):
            rehearse_kernel()
        self.assertEqual(_everything(), before)

    def test_where_a_library_handles_a_signal_itself_it_goes_on(self) -> None:
        for number in _SIGNALS:
            self.addCleanup(signal.signal, number, signal.getsignal(number))
        with mock.patch("signal.getsignal", return_value=None):
            rehearse_kernel()
        self.assertEqual(signal.getsignal(signal.SIGINT), signal.SIG_DFL)

    @unittest.skipUnless((3, 11) <= sys.version_info < (3, 14), "this Python does not tell what it has made faster")
    def test_what_was_rehearsed_is_what_the_interpreter_has_made_faster(self) -> None:
        for rehearsed in _REHEARSED:
            rehearsed.__code__ = rehearsed.__code__.replace()  # a copy that nothing has run yet, whatever other tests did
        before = [_specialised(rehearsed) for rehearsed in _REHEARSED]
        rehearse_often(self.workspace)
        for rehearsed, count in zip(_REHEARSED, before):
            self.assertGreater(_specialised(rehearsed), count, rehearsed.__qualname__)


def _specialised(function: FunctionType) -> int:
    """Without what 3.11 only prepares for it."""
    ordinary = set(dis.opmap)
    instructions: Any = dis.get_instructions
    names = [instruction.opname for instruction in instructions(function, adaptive=True)]
    return sum(name not in ordinary and not name.endswith(("_ADAPTIVE", "_QUICK")) for name in names)
