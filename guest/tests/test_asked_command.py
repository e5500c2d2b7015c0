"""A command as its kernel starts it: the program, and the variables."""

from __future__ import annotations

import os
import tempfile
import unittest
from unittest import mock

from hotcell_guest.languages.asked_command import AskedCommand
from hotcell_guest.languages.endings import outcome_of


def asked(has_terminal: bool = False, **raw: object) -> AskedCommand:
    return AskedCommand.from_message(raw, has_terminal)


class AskedCommandTest(unittest.TestCase):
    def test_words_are_no_line(self) -> None:
        self.assertEqual(asked(argv=["ls", "a b"]).argv(), ["ls", "a b"])

    def test_a_line_goes_to_bash_or_to_sh_where_there_is_none(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            variables = {"PATH": folder}
            self.assertEqual(asked(line="ls", environment=variables).argv(), ["sh", "-c", "ls"])
            path = os.path.join(folder, "bash")
            with open(path, "w", encoding="ascii"):
                os.chmod(path, 0o755)
            self.assertEqual(asked(line="ls", environment=variables).argv(), ["bash", "-c", "ls"])

    def test_what_is_asked_for_comes_last(self) -> None:
        with mock.patch.dict(os.environ, {"TERM": "dumb", "LINES": "5", "A": "1"}, clear=True):
            self.assertEqual(asked(line="x").environment("/w"), {"TERM": "dumb", "LINES": "5", "A": "1", "PWD": "/w"})
            self.assertEqual(asked(True, line="x").environment("/w"), {"TERM": "xterm-256color", "A": "1", "PWD": "/w"})
            theirs = {"TERM": "vt100", "COLUMNS": "7", "A": "2"}
            self.assertEqual(asked(True, line="x", environment=theirs).environment("/w"), {**theirs, "PWD": "/w"})

    def test_an_end_is_an_outcome(self) -> None:
        self.assertEqual(outcome_of(0), {"kind": "ok"})
        self.assertEqual(outcome_of(3 << 8), {"kind": "exited", "exitCode": 3})
        self.assertEqual(outcome_of(15), {"kind": "kernel-died", "signal": "SIGTERM"})
