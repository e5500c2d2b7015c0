"""A cold start waits for every module that the zygote imports."""

from __future__ import annotations

import subprocess
import sys
import unittest

_SLOW = {"hashlib", "hmac", "importlib.resources", "pathlib", "shutil", "subprocess", "tempfile", "urllib.parse"}
_SHOW = "import sys; before = set(sys.modules); import hotcell_guest.start.zygote; print(*set(sys.modules) - before)"


class ColdStart(unittest.TestCase):
    @unittest.skipIf(sys.version_info < (3, 11), "importlib.util itself imports some of them")
    def test_the_zygote_imports_no_slow_module_that_a_first_program_may_never_need(self) -> None:
        imported = subprocess.run([sys.executable, "-c", _SHOW], check=True, capture_output=True, text=True).stdout.split()
        self.assertIn("hotcell_guest.supervisor.supervisor", imported)
        self.assertEqual(_SLOW.intersection(imported), set())
