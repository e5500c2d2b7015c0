"""Process 1 of a sandbox does its work without a module that runs or looks at the user's code."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

_GUEST = Path(__file__).resolve().parent.parent
_USERS_SIDE = ("objects", "display", "interpreter", "answers")


class Process1(unittest.TestCase):
    def test_a_supervisor_that_has_served_every_kind_of_request_has_loaded_nothing_of_the_users_side(self) -> None:
        with tempfile.TemporaryDirectory() as workspace:
            command = [sys.executable, "-B", "-m", "tests.process_1", workspace]
            done = subprocess.run(command, cwd=_GUEST, check=True, capture_output=True, text=True, timeout=60)
        seen = json.loads(done.stdout)
        self.assertEqual(seen["endings"], ["ok", "raised", "ok", "answered", "answered", "answered", "answered"])
        self.assertIn("hotcell_guest.supervisor.questions", seen["loaded"])
        self.assertEqual([name for name in seen["loaded"] if name.split(".")[1] in _USERS_SIDE], [])
