"""Summaries of builtin values, and of objects that are looked at in a fork."""

from __future__ import annotations

import os
import sys
import time
import unittest
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

from hotcell_guest.objects.fork_inspection import NOT_LOOKED_AT, TOOK_TOO_LONG
from hotcell_guest.objects.short_text import short_text
from hotcell_guest.objects.summaries import summaries
from hotcell_guest.system.deadline import Deadline, TookTooLong


class BriefTest(unittest.TestCase):
    def test_small_values_look_as_they_do_in_python(self) -> None:
        values: list[Any] = [
            1,
            -1.5,
            True,
            None,
            "x",
            b"x",
            [1, [2]],
            (1,),
            (),
            {"a": 1},
            {1},
            set(),
            frozenset({1}),
            OrderedDict(a=1),
            2j,
            ...,
        ]
        for value in values:
            with self.subTest(repr(value)[:80]):
                expected = f"OrderedDict({dict(value)!r})" if type(value) is OrderedDict else repr(value)
                self.assertEqual(short_text(value, 200), expected)

    def test_large_values_are_cut_in_little_time(self) -> None:
        loop: list[Any] = []
        loop.append(loop)
        deep: Any = 0
        for _ in range(100_000):
            deep = [deep]
        text = "x" * 10_000_000
        values = [text, text.encode(), 1 << 10_000_000, range(1 << 5_000), loop, deep, [text] * 1_000, {text: text}, deque([text], 3)]
        more = [list(range(10_000_000)), dict.fromkeys(range(100_000)), Counter("abc"), defaultdict(int, {1: 2})]
        begin = time.process_time()
        for value in values + more:
            self.assertLessEqual(len(short_text(value, 200)), 200)
        self.assertLess(time.process_time() - begin, 1)

    def test_unknown_values_are_named_by_their_type(self) -> None:
        class Sly(type):
            def __getattribute__(cls, name: str) -> Any:
                raise SystemExit

        Odd = Sly("Odd", (), {"__repr__": sys.exit, "__module__": "__main__"})
        self.assertEqual(short_text([type.__call__(Odd)], 200), "[<Odd>]")
        self.assertEqual(short_text(Odd, 200), "class Odd")


class GlimpseTest(unittest.TestCase):
    def see(self, body: str, seconds: float = 3.0) -> dict[str, Any]:
        namespace: dict[str, Any] = {}
        exec(f"import os, sys, time\nclass Odd:\n    {body}", namespace)
        with Deadline(seconds) as deadline:
            return summaries([namespace["Odd"]()], deadline)[0]

    def test_what_an_object_says_of_itself_is_taken_in_plain_types(self) -> None:
        seen = self.see("def __repr__(self): return 'odd'\n    def __len__(self): return 3\n    shape = (2, 3)\n    nbytes = 24")
        self.assertEqual(seen, {"type": "Odd", "summary": "odd", "length": 3, "shape": [2, 3], "sizeBytes": 24})
        self.assertEqual(self.see("shape = ('x',)\n    nbytes = -1\n    def __len__(self): raise KeyError").keys(), {"type", "summary"})

    def test_a_text_that_does_not_end_is_given_up(self) -> None:
        self.assertEqual(self.see("def __repr__(self): time.sleep(100)")["summary"], TOOK_TOO_LONG)
        self.assertEqual(self.see("def __repr__(self): return 'odd'\n    def __len__(self): time.sleep(100)")["summary"], "odd")

    def test_what_there_is_no_time_for_is_said(self) -> None:
        class Slow:
            def __repr__(self) -> str:
                time.sleep(100)
                return ""

        begin = time.monotonic()
        with Deadline(1.0) as deadline:
            texts = [summary["summary"] for summary in summaries([Slow() for _ in range(20)], deadline)]
        self.assertLess(time.monotonic() - begin, 4)
        self.assertEqual((texts[0], texts[-1]), (TOOK_TOO_LONG, NOT_LOOKED_AT))

    def test_lies_over_the_pipe_are_left_out(self) -> None:
        for lie in (
            '[0, "text", 5]',
            '[0, "shape", [1e999]]',
            "[[[[",
            "x" * 10,
            '[7, "text", "other"]',
            '{"a": 1}',
            '[0, "done"]',
            "[" * 100_000,
        ):
            seen = self.see(f"def __repr__(self):\n        os.write(3, {lie!r}.encode() + b'\\n')\n        return 'odd'")
            self.assertEqual(seen["summary"], "odd", lie[:40])

    def test_one_that_talks_without_end_is_given_up_like_any_other(self) -> None:
        begin = time.monotonic()
        seen = self.see("def __repr__(self):\n        while True: os.write(3, b'[0, \"length\", 1]\\n' * 100)")
        self.assertEqual(seen["summary"], TOOK_TOO_LONG)
        self.assertLess(time.monotonic() - begin, 4)

    def test_no_descriptor_and_no_child_stays(self) -> None:
        before = len(os.listdir("/proc/self/fd"))
        for body in (
            "def __repr__(self): os._exit(1)",
            "def __repr__(self): os.fork(); return 'odd'",
            "def __repr__(self): time.sleep(100)",
        ):
            self.see(body)
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)


class DeadlineTest(unittest.TestCase):
    def test_it_cuts_a_loop_short_and_leaves_nothing_behind(self) -> None:
        import signal

        fired: list[int] = []
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, lambda number, _frame: fired.append(number)))
        signal.setitimer(signal.ITIMER_REAL, 1)
        with self.assertRaises(TookTooLong), Deadline(0.05):
            while True:
                pass
        self.assertEqual(fired, [])
        late = time.monotonic() + 20
        while not fired and time.monotonic() < late:
            time.sleep(0.01)
        self.assertEqual(len(fired), 1, "the user's own timer goes on")

    def test_a_part_can_be_cut_without_the_whole(self) -> None:
        with Deadline(5) as deadline:
            self.assertIsNone(deadline.at_most(0.05, lambda: time.sleep(10)))
            self.assertEqual(deadline.at_most(0.5, lambda: 7), 7)
