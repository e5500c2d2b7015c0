"""Whether a processor is idle, by what /proc/loadavg says."""

from __future__ import annotations

import unittest
from unittest import mock

from hotcell_guest.system.idle_processors import IdleProcessors


class IdleProcessorsTest(unittest.TestCase):
    def _asked(self, *, processors: int, line: bytes) -> bool:
        with mock.patch("os.sched_getaffinity", return_value=set(range(processors))), mock.patch("os.pread", return_value=line):
            asked = IdleProcessors()
            self.addCleanup(asked.close)
            return asked.is_one_for_waiting()

    def test_who_works_and_who_waits_may_keep_one_busy_each(self) -> None:
        self.assertTrue(self._asked(processors=2, line=b"0.45 0.70 0.86 2/113 2\n"))
        self.assertTrue(self._asked(processors=8, line=b"7.45 6.70 6.86 8/1130 2\n"))

    def test_where_others_work_too_nobody_stays_awake(self) -> None:
        self.assertFalse(self._asked(processors=2, line=b"0.00 0.00 0.00 3/113 2\n"))
        self.assertFalse(self._asked(processors=8, line=b"0.00 0.00 0.00 90/113 2\n"))

    def test_the_only_processor_is_for_work(self) -> None:
        self.assertFalse(self._asked(processors=1, line=b"0.00 0.00 0.00 1/113 2\n"))

    def test_where_nothing_tells_nobody_stays_awake(self) -> None:
        for line in (b"0.00 0.00 0.00 0/0 0\n", b"", b"0.00", b"a b c d/e f\n"):
            self.assertFalse(self._asked(processors=2, line=line), line)
        with mock.patch("os.open", side_effect=PermissionError):
            self.assertFalse(self._asked(processors=2, line=b"0.45 0.70 0.86 1/113 2\n"))
