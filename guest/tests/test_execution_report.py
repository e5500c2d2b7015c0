"""What a kernel says of the end of an execution: made anew from what the host takes, or refused."""

from __future__ import annotations

import unittest
from typing import Any

from hotcell_guest.supervisor.display_frames import display_head
from hotcell_guest.supervisor.execution_report import checked_report
from hotcell_guest.wire.frames import Head

_RAISED = {"kind": "raised", "name": "E", "message": "m", "traceback": ["t"]}
_FRAME = {"file": "a.py", "line": 1, "function": "f", "own": True}


def _finished(**members: Any) -> Head:
    return {"type": "finished", "outcome": {"kind": "ok"}, "cpuMs": 1.5, "peakMemoryBytes": 7, **members}


class ReportTest(unittest.TestCase):
    def test_members_that_the_host_knows_are_passed_on_and_no_others(self) -> None:
        for outcome in (
            {"kind": "ok"},
            {**_RAISED, "hint": "h", "frames": [_FRAME]},
            {"kind": "exited", "exitCode": 255},
            {"kind": "kernel-died", "signal": "SIGRTMIN+3"},
            {"kind": "kernel-died"},
        ):
            with self.subTest(outcome=outcome):
                report = checked_report(_finished(outcome={**outcome, "more": [[[]]]}))
                self.assertEqual((report.outcome, report.cpu_ms, report.peak_memory_bytes), (outcome, 1.5, 7))

    def test_what_the_host_would_not_take_is_refused(self) -> None:
        for members in (
            {"outcome": 7},
            {"outcome": {"kind": ["ok"]}},
            {"outcome": {"kind": "unavailable", "missing": ["rustc"]}},
            {"outcome": {**_RAISED, "name": None}},
            {"outcome": {**_RAISED, "name": "n" * 501}},
            {"outcome": {**_RAISED, "name": "\U0001f40d" * 251}},
            {"outcome": {**_RAISED, "message": ["m"]}},
            {"outcome": {**_RAISED, "message": "m" * 8_193}},
            {"outcome": {**_RAISED, "traceback": "t"}},
            {"outcome": {**_RAISED, "traceback": [""] * 2_001}},
            {"outcome": {**_RAISED, "traceback": [["t"]]}},
            {"outcome": {**_RAISED, "hint": 1}},
            {"outcome": {**_RAISED, "frames": [{**_FRAME, "line": -1}]}},
            {"outcome": {**_RAISED, "frames": [{**_FRAME, "own": 1}]}},
            {"outcome": {**_RAISED, "frames": [_FRAME] * 51}},
            {"outcome": {"kind": "exited"}},
            {"outcome": {"kind": "exited", "exitCode": 256}},
            {"outcome": {"kind": "exited", "exitCode": True}},
            {"outcome": {"kind": "kernel-died", "signal": "SIGKILL\n"}},
            {"outcome": {"kind": "kernel-died", "signal": None}},
            {"cpuMs": float("inf")},
            {"cpuMs": float("nan")},
            {"peakMemoryBytes": 2**53},
            {"peakMemoryBytes": -1},
        ):
            with self.subTest(repr(members)), self.assertRaises((ValueError, TypeError, OverflowError)):
                checked_report(_finished(**members))

    def test_the_id_of_a_display_is_a_text(self) -> None:
        display = {"mediaType": "text/plain", "index": 0, "part": 0, "end": True}
        self.assertEqual(display_head({**display, "id": "d" * 500})["id"], "d" * 100)
        for odd in (7, ["d"], {"d": "e"}):
            with self.subTest(odd=odd), self.assertRaises(ValueError):
                display_head({**display, "id": odd})
