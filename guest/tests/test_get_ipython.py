"""Who asks for IPython's shell, where the folder that the program stands in is gone."""

from __future__ import annotations

import os
import sys
import tempfile
import unittest
from types import ModuleType

from hotcell_guest.interpreter.get_ipython import _asks_for_a_program


class RemovedFolderTest(unittest.TestCase):
    def test_a_library_that_looks_for_a_shell_finds_none(self) -> None:
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
        self.assertFalse(_asks_for_a_program(sys._getframe(), ModuleType("main")))
