"""Tracebacks as their reader gets them: run in a plain namespace, as a kernel runs code."""

from __future__ import annotations

import json
import linecache
import os
import sys
import tempfile
import textwrap
import unittest
from typing import Any
from unittest import mock

from hotcell_guest.interpreter.hints import hint_for
from hotcell_guest.interpreter.outcomes import outcome_of
from hotcell_guest.interpreter.raised import MAX_TRACEBACK_BYTES
from hotcell_guest.languages.message_apart import with_message_apart

NAME = "<execution 1>"


def outcome(source: str, with_names: bool = False) -> dict[str, Any]:
    source = textwrap.dedent(source).lstrip("\n")
    linecache.cache[NAME] = (len(source), None, [f"{line}\n" for line in source.splitlines()], NAME)
    try:
        exec(compile(source, NAME, "exec"), {"__name__": "__main__"})
    except BaseException as error:  # noqa: BLE001
        return outcome_of(error, with_names)
    raise AssertionError("nothing was raised")


def traceback_of(source: str, with_names: bool = False) -> str:
    lines = outcome(source, with_names)["traceback"]
    # Frames of this file stand for a caller that no kernel has.
    at = next((number for number, line in enumerate(lines) if NAME in line), None)
    return "\n".join(lines if at is None else [lines[0], *lines[at:]] if lines[0].startswith("Traceback") else lines)


class Lines(unittest.TestCase):
    def test_the_failing_line_is_marked_among_its_neighbours(self) -> None:
        text = traceback_of("""
            a = 1
            def f(x):
                y = x
                return y / 0
            f(a)
            """)
        self.assertIn('  File "<execution 1>", line 4, in f', text)
        self.assertIn("    2 | def f(x):", text)
        self.assertIn("  > 4 |     return y / 0", text)
        self.assertTrue(text.endswith("ZeroDivisionError: division by zero"))
        if sys.version_info >= (3, 11):
            self.assertIn("      |            ^^^^^", text)

    def test_library_frames_are_one_line(self) -> None:
        text = traceback_of("import json\njson.loads('{')")
        self.assertRegex(text, r"  … \d frames in json, the last in line \d+ of decoder.py, in raw_decode")
        self.assertNotIn('decoder.py",', text)

    def test_recursion_is_said_once(self) -> None:
        text = traceback_of("def f(n):\n    return f(n + 1)\nf(0)")
        self.assertRegex(text, r"… the frame above, 9\d\d times more")
        self.assertLess(len(text.split("\n")), 25)
        mutual = traceback_of("def f(n): return g(n)\ndef g(n): return f(n)\nf(0)")
        self.assertRegex(mutual, r"… the 2 frames above, \d+ times more")

    def test_chains_have_all_their_parts(self) -> None:
        text = traceback_of("""
            try:
                {}["a"]
            except KeyError as error:
                raise ValueError("bad") from error
            """)
        self.assertLess(text.index("KeyError: 'a'"), text.index("direct cause"))
        self.assertTrue(text.endswith("ValueError: bad"))
        context = traceback_of("try:\n    1 / 0\nexcept ZeroDivisionError:\n    nothing")
        self.assertIn("During handling of the above exception", context)
        hidden = traceback_of("try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise ValueError('x') from None")
        self.assertNotIn("ZeroDivisionError:", hidden.replace("except ZeroDivisionError:", ""))

    def test_chains_that_are_long_or_go_round_end(self) -> None:
        many = traceback_of(
            "e = None\nfor i in range(3000):\n    try: raise ValueError(i) from e\n    except ValueError as x: e = x\nraise e"
        )
        self.assertIn("earlier exceptions left out", many)
        self.assertIn("ValueError: 1", traceback_of("a, b = ValueError(1), ValueError(2)\na.__cause__ = b\nb.__cause__ = a\nraise a"))

    def test_syntax_errors_have_their_place(self) -> None:
        source = "x = 1\ny = (2 +\n"
        try:
            compile(source, NAME, "exec")
        except SyntaxError as error:
            lines = outcome_of(error)["traceback"]
        self.assertIn(f'  File "{NAME}", line', "\n".join(lines))
        self.assertTrue(any("^" in line for line in lines))
        self.assertTrue(lines[-1].startswith("SyntaxError: "))

    @unittest.skipIf(sys.version_info < (3, 11), "groups and notes came with Python 3.11")
    def test_groups_and_notes_are_shown(self) -> None:
        text = traceback_of("""
            e = ExceptionGroup("two", [ValueError("a"), ExceptionGroup("deep", [KeyError("b")])])
            e.add_note("a note")
            raise e
            """)
        for part in ("ExceptionGroup: two (2 sub-exceptions)", "a note", "── 1 of 2 ──", "    ValueError: a", "KeyError: 'b'"):
            self.assertIn(part, text)

    def test_names_are_shown_on_request_and_run_nothing(self) -> None:
        source = """
            class Bad:
                def __repr__(self): raise SystemExit(9)
            def f(count, text):
                bad = Bad()
                long = list(range(10**6))
                return count / 0
            f(3, "x" * 1000)
            """
        text = traceback_of(source, with_names=True)
        self.assertIn("    count = 3", text)
        self.assertIn("    bad = <Bad>", text)
        self.assertLess(len(text), 2_000)
        self.assertNotIn("count = 3", traceback_of(source))


class Bounds(unittest.TestCase):
    def test_whatever_is_raised_fits_into_a_frame(self) -> None:
        for source in (
            "raise Exception('m' * 10_000_000)",
            "raise Exception('\\x01' * 1_000_000)",
            "raise Exception('\\n' * 1_000_000)",
            "raise Exception('\\udcff' * 100_000)",
            "raise type('N' * 100_000, (Exception,), {})()",
            "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
            "class E(Exception):\n    def __str__(self): return 5\nraise E",
            "class E(Exception):\n    __module__ = 5\nraise E",
            "class E(Exception):\n    __notes__ = property(lambda s: 1 / 0)\nraise E",
            "import sys\nsys.setrecursionlimit(20_000)\ndef f(): f()\nf()",
            "raise SyntaxError('x', ('f', 'no number', -5, 7))",
            "raise SyntaxError('x', ('f', 10**30, 10**30, 'text'))",
            "x = " + "1 + " * 50_000 + "undefined",
            "def f(a): exec('x' * 1000 + str(a)) if a > 40 else f(a + 1)\nf(0)",
        ):
            with self.subTest(source[:60]):
                found = outcome(source)
                self.assertEqual(found["kind"], "raised")
                head, message = with_message_apart({"outcome": found})
                self.assertLess(len(json.dumps(head, ensure_ascii=False).encode("utf-8", "replace")), 60_000)
                self.assertLessEqual(len(message), 65_536)
                self.assertLess(len("\n".join(found["traceback"])), MAX_TRACEBACK_BYTES)
                self.assertTrue(all(len(line) < 4_096 for line in found["traceback"]))

    def test_frames_say_whose_they_are(self) -> None:
        frames = outcome("import json\njson.loads('{')")["frames"]
        self.assertEqual([frame["own"] for frame in frames[-2:]], [False, False])
        self.assertIn({"file": NAME, "line": 2, "function": "<module>", "own": True}, frames)
        self.assertLessEqual(len(outcome("def f(): f()\nf()")["frames"]), 40)

    def test_an_exception_that_a_library_raises_again_is_shown_once(self) -> None:
        library = "def get():\n    try:\n        raise KeyError('a')\n    except KeyError as error:\n        raise {} from error"
        for again, shown in (("KeyError('a')", 1), ("KeyError('b')", 2), ("ValueError('a')", 2)):
            source = f"exec(compile({library.format(again)!r}, {json.__file__!r}, 'exec'))\nget()"
            text = "\n".join(outcome(source)["traceback"])
            self.assertEqual(text.count("Traceback"), shown, text)


class Hints(unittest.TestCase):
    def hint(self, source: str) -> str:
        return str(outcome(source).get("hint", ""))

    def test_modules(self) -> None:
        self.assertIn("'sklearn' comes with the package 'scikit-learn'", self.hint("import sklearn.linear_model"))
        self.assertIn("The package 'streamlit' is not in this sandbox", self.hint("import streamlit"))
        self.assertIn("there is 'collections'", self.hint("import colections"))
        self.assertEqual("", self.hint("import json.nothing"))

    def test_modules_that_a_machine_gets_by_being_set_up(self) -> None:
        with mock.patch("hotcell_guest.interpreter.importable.top_level", return_value=set()):
            for name in ("reportlab", "PIL"):
                raised = ModuleNotFoundError(f"No module named {name!r}", name=name)
                with mock.patch.dict(sys.modules):
                    sys.modules.pop(name, None)
                    self.assertIn("`hotcell setup process`", hint_for(raised) or "")
        self.assertNotIn("hotcell setup", self.hint("import streamlit"))

    def test_modules_that_no_known_package_has(self) -> None:
        """To install that very name would be wrong for a file of the user, and a stranger may have published it."""
        for allowed, how in ((True, "`%pip install NAME`"), (False, "docs/guides/packages.md")):
            with mock.patch("hotcell_guest.interpreter.hints.may_install", return_value=allowed):
                hint = self.hint("import my_own_helpers")
            self.assertIn("If it is a file of yours, put it into the workspace first.", hint)
            self.assertIn(how, hint)
            self.assertNotIn("install my_own_helpers", hint)

    def test_modules_that_a_standard_package_replaces(self) -> None:
        self.assertIn("Use pypdf instead.", self.hint("import pdfplumber"))
        self.assertIn("docs/guides/packages.md", self.hint("import streamlit"))

    def test_packages_that_report_a_missing_one_themselves(self) -> None:
        source = (
            "try:\n    import streamlit\nexcept ImportError as error:\n    raise ImportError('Use pip to install streamlit.') from error"
        )
        self.assertIn("The package 'streamlit' is not in this sandbox", self.hint(source))
        self.assertEqual("", self.hint("raise ImportError('of its own')"))

    def test_installers(self) -> None:
        failed = "import subprocess, sys\nraise subprocess.CalledProcessError(1, {})"
        self.assertIn("no network", self.hint(failed.format("[sys.executable, '-m', 'pip', 'install', 'x']")))
        self.assertIn("no network", self.hint(failed.format("'npm install left-pad'")))
        self.assertEqual("", self.hint(failed.format("['make', 'install']")))
        self.assertEqual("", self.hint(failed.format("['pip', 'list']")))
        self.assertIn("not in this sandbox", self.hint("import subprocess\nsubprocess.run('nosuchprogram', shell=True, check=True)"))

    def test_network(self) -> None:
        unresolved = "import socket\nraise socket.gaierror(-3, 'Temporary failure in name resolution')"
        wrapped = "import urllib.error, socket\nraise urllib.error.URLError(socket.gaierror(-2, 'Name or service not known'))"
        chained = "import socket\ntry:\n    raise socket.gaierror(-2, '')\nexcept OSError as error:\n    raise {}('a library') from error"
        for source in (unresolved, wrapped, chained.format("ValueError"), chained.format("OSError")):
            self.assertIn("This session has no network", self.hint(source))
            with mock.patch.dict(os.environ, {"HOTCELL_PROXY": "127.0.0.1:40001"}):
                self.assertIn("http://127.0.0.1:40001 (HTTPS_PROXY)", self.hint(source))
        self.assertIn("do not allow that host", self.hint("raise OSError('Tunnel connection failed: 403 Forbidden')"))
        self.assertEqual("", self.hint("raise OSError('Tunnel connection failed: 502 Bad Gateway')"))

    def test_names(self) -> None:
        self.assertEqual("Did you mean 'total'?", self.hint("total = 1\ntotl"))
        self.assertEqual("Did you mean 'print'?", self.hint("prnt(1)"))
        self.assertEqual("Did you forget `import numpy as np`?", self.hint("np.zeros(1)"))
        self.assertEqual("Did you mean 'width'?", self.hint("def f(width): return widht\nf(1)"))
        self.assertEqual("", self.hint("zzzzqqqq"))
        for name in ("_12", "Out[3]", "__"):
            self.assertIn("`_` is the last one", self.hint(name))
        self.assertEqual("A magic begins with %: `%pwd`.", self.hint("pwd"))

    def test_shell_commands_without_an_exclamation_mark(self) -> None:
        self.assertEqual("A shell command begins with !: `!pip install x`.", self.hint("pip install x"))
        self.assertEqual("A shell command begins with !: `!ls -la data`.", self.hint("ls -la data"))
        self.assertEqual("", self.hint("x = = 1"))
        self.assertEqual("", self.hint("cat = = 1"))

        if sys.version_info >= (3, 10):
            self.assertEqual("Did you forget `import math`?", self.hint("math.pi"))

    def test_attributes(self) -> None:
        self.assertEqual("Did you mean 'sqrt'?", self.hint("import math\nmath.sqr(1)"))
        if sys.version_info >= (3, 10):
            self.assertEqual("Did you mean 'append'?", self.hint("[].appendd(1)"))
            self.assertEqual("Did you mean 'colour'?", self.hint("class A: colour = 1\nA().color"))

    def test_files(self) -> None:
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                os.mkdir("data")
                for name in ("data/sales.csv", "notes.txt"):
                    with open(name, "w", encoding="utf-8"):
                        pass
                self.assertIn("'data/sales.csv'", self.hint("open('sales.csv')"))
                self.assertIn("'data/sales.csv'", self.hint("open('/home/me/Sales.csv')"))
                self.assertIn("'notes.txt'", self.hint("open('note.txt')"))
                self.assertIn("mounted", self.hint("open('/home/me/other.parquet')"))
                self.assertIn("no program 'ffmpg'", self.hint("import subprocess\nsubprocess.run(['ffmpg'])"))
            finally:
                os.chdir(before)

    def test_an_exception_that_lies_costs_only_the_hint(self) -> None:
        self.assertEqual("", self.hint("class E(NameError):\n    @property\n    def name(self): raise ValueError\nraise E('x')"))
        self.assertEqual("", self.hint("raise ModuleNotFoundError(name=5)"))
        self.assertEqual("", self.hint("raise KeyError"))
        self.assertEqual("", self.hint("raise FileNotFoundError"))
