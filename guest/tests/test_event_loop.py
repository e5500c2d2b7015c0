"""Cells with asyncio behave as in a notebook, on the Python that runs this test. Each session is a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest
from typing import Any

_SESSION = """
import json, signal, socket, sys
from hotcell_guest.kernels.link import Link
from hotcell_guest.display.screen import Screen
from hotcell_guest.interpreter.shell import Shell

signal.signal(signal.SIGALRM, signal.default_int_handler)
ours, theirs = socket.socketpair()
screen = Screen(Link(theirs), lambda: None)
shell = Shell(screen)
shell.install()
for number, cell in enumerate(json.loads(sys.argv[1])):
    outcome = shell.run(cell, f"<cell {number}>")
    value = screen.take_value()
    said = outcome.get("message", outcome["kind"]) if value is None else value[1].decode()
    print(json.dumps(said), flush=True)
"""
_GUEST = os.path.join(os.path.dirname(__file__), "..")
_F = "import asyncio\nasync def f(x=1): return x"


def _run(*cells: str) -> tuple[list[Any], str]:
    """The text of each cell's value, or how it ended; and what was written to stderr."""
    done = subprocess.run(
        [sys.executable, "-c", _SESSION, json.dumps(cells)], cwd=_GUEST, capture_output=True, text=True, timeout=60, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


class CellsWithAsyncioTest(unittest.TestCase):
    def _expect(self, *pairs: tuple[str, str]) -> None:
        said, stderr = _run(*(cell for cell, _ in pairs))
        self.assertEqual(said, [expected for _, expected in pairs])
        self.assertEqual(stderr, "")

    def test_what_is_made_before_the_last_line_can_be_awaited_on_it(self) -> None:
        self._expect(
            (f"{_F}\nt = asyncio.create_task(f())\nawait t", "1"),
            ("g = asyncio.gather(f(2), f(3))\nawait g", "[2, 3]"),
            ("loop = asyncio.get_event_loop()\nawait loop.run_in_executor(None, f.__name__.upper)", "'F'"),
            ("loop = asyncio.get_running_loop()\nawait loop.run_in_executor(None, f.__name__.upper)", "'F'"),
            ("q = asyncio.Queue()\nq.put_nowait(4)\nawait q.get()", "4"),
        )

    def test_a_session_whose_first_cell_awaits_needs_no_import(self) -> None:
        self._expect(("async def g(): return 3\nawait g()", "3"), ("import asyncio\nt = asyncio.create_task(g())", "ok"), ("await t", "3"))

    def test_tasks_and_futures_outlive_their_cell(self) -> None:
        self._expect(
            (_F, "ok"),
            ("t = asyncio.ensure_future(f(5))", "ok"),
            ("await t", "5"),
            ("t = asyncio.create_task(f(6), name='six')", "ok"),
            ("await t, t.get_name()", "(6, 'six')"),
            ("g = asyncio.gather(f(7), asyncio.sleep(0, 8))", "ok"),
            ("await g", "[7, 8]"),
            ("lock = asyncio.Lock(); event = asyncio.Event()", "ok"),
            ("async with lock: event.set()\nawait event.wait()", "True"),
        )

    def test_a_task_begins_in_the_cell_that_makes_it(self) -> None:
        self._expect((f"{_F}\nt = asyncio.create_task(f())", "ok"), ("t.done()", "True"))

    def test_background_tasks_go_on_while_a_later_cell_awaits(self) -> None:
        tick = "async def tick():\n    while True:\n        seen.append(1)\n        await asyncio.sleep(0)"
        self._expect(
            (f"import asyncio\nseen = []\n{tick}\nt = asyncio.create_task(tick())", "ok"),
            ("while len(seen) < 50: await asyncio.sleep(0)", "ok"),
            ("before = len(seen)\nawait asyncio.sleep(0.01)\nlen(seen) > before", "True"),
        )

    def test_asyncio_run_works_in_every_cell(self) -> None:
        self._expect(
            (f"{_F}\nasyncio.run(f(2))", "2"),
            ("x = asyncio.run(f(3))\nt = asyncio.create_task(f(4))\nx + await t", "7"),
            ("t = asyncio.create_task(asyncio.sleep(0, 9))\nasyncio.run(f())\nasyncio.current_task() is not None, await t", "(True, 9)"),
            ("asyncio.get_event_loop().run_until_complete(f(5))", "5"),
        )

    def test_asyncio_run_in_a_loop_of_asyncio_run_fails_as_everywhere(self) -> None:
        nested = "async def nested():\n    c = f()\n    try: asyncio.run(c)\n    finally: c.close()"
        self._expect((f"{_F}\n{nested}\nasyncio.run(nested())", "asyncio.run() cannot be called from a running event loop"))

    def test_outside_awaiting_cells_no_loop_is_said_to_run(self) -> None:
        self._expect((f"{_F}\nasyncio.get_running_loop()", "no running event loop"), ("asyncio.run(f())", "1"))

    def test_a_loop_of_the_users_own_works_and_does_not_stay(self) -> None:
        own = "own = asyncio.new_event_loop()\nasyncio.set_event_loop(own)\nsame = asyncio.get_event_loop() is own"
        self._expect(
            (f"{_F}\n{own}\nsame, own.run_until_complete(f())", "(True, 1)"),
            ("t = asyncio.ensure_future(f(2))", "ok"),
            ("await t", "2"),
            ("asyncio.get_event_loop().close()", "ok"),
            ("await f(3)", "3"),
        )

    def test_an_interrupt_ends_the_cell_and_spares_background_tasks(self) -> None:
        alarm = "import signal; signal.setitimer(signal.ITIMER_REAL, 0.05)"
        self._expect(
            ("import asyncio\nseen = []\nasync def g():\n    await asyncio.sleep(0.2)\n    seen.append(1)", "ok"),
            (f"t = asyncio.create_task(g())\n{alarm}\nawait asyncio.sleep(60)", "interrupted"),
            ("await t\nseen", "[1]"),
        )

    def test_a_thread_has_no_part_in_it(self) -> None:
        work = "def work():\n    c = f()\n    try: asyncio.create_task(c)\n    except RuntimeError as e: said.append(str(e))\n    c.close()"
        start = "import threading\nx = threading.Thread(target=work); x.start(); x.join(); said"
        self._expect((f"{_F}\nsaid = []\n{work}\n{start}", "['no running event loop']"))

    def test_a_forked_child_has_a_loop_of_its_own(self) -> None:
        work = "import gc\n    ran = asyncio.get_event_loop().run_until_complete(f(2)) + asyncio.run(f(3)); gc.collect()"
        child = f"if (pid := os.fork()) == 0:\n    {work}\n    os._exit(10 * ran + (asyncio.get_event_loop() is here))"
        wait = "os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])"
        self._expect(
            (f"{_F}\nimport os\nawait f()\nhere = asyncio.get_event_loop()", "ok"),
            (f"{child}\n{wait}", "50"),
            ("here = None", "ok"),
            (f"{child}\n{wait}", "50"),
            # The thread's answer wakes the loop by a socket, which the child must have left in the epoll that both have.
            ("import time\ncall = asyncio.get_event_loop().run_in_executor(None, time.sleep, 0.1)\nawait asyncio.wait_for(call, 10)", "ok"),
        )
