"""Completion and inspection against a namespace of their own."""

from __future__ import annotations

import os
import time
import unittest
from typing import Any

from hotcell_guest.answers.completion import complete
from hotcell_guest.answers.inspection import doc_of, file_of, signature_of


class Plant:
    """A plant."""

    size = 1

    def __init__(self, fuel: int, *, slowly: bool = True) -> None:
        self.output = 7

    @property
    def heat(self) -> str:
        raise SystemExit("read")

    def start(self, first: str = "x" * 1_000, **rest: int) -> None:
        """Starts.

        With care.
        """


NAMESPACE: dict[Any, Any] = {
    "plant": Plant(1),
    "Plant": Plant,
    "parts": {"pump one": {"inner": "text"}, "pump two": [1, "word"], 3: 4},
    "os": os,
    7: "no name",
}


def texts(code: str, namespace: dict[Any, Any] = NAMESPACE) -> list[str]:
    return [text for text, _ in complete(code, len(code), namespace)[1]]


class CompletionTest(unittest.TestCase):
    def test_what_is_completed(self) -> None:
        expected = {
            "pla": ["plant"],
            "plant.": ["heat", "output", "size", "start"],
            "plant.o": ["output"],
            "not plant.o": ["output"],
            "x=1;plant.o": ["output"],
            "print('it', plant.o": ["output"],
            "(plant).o": ["output"],
            "f'{plant.o": ["output"],
            "Plant(1).sta": ["start"],
            "Plant(fu": ["fuel="],
            "Plant(1, sl": ["slowly=", "slice"],
            "parts['pump ": ["pump one", "pump two"],
            'parts["pump one"]["inner"].upp': ["upper"],
            'parts["pump two"][1].isd': ["isdecimal", "isdigit"],
            "os.path.isab": ["isabs"],
            "import collections.ab": ["abc"],
            "from os import getpi": ["getpid"],
            "''.isal": ["isalnum", "isalpha"],
            "[].app": ["append"],
            "whil": ["while"],
        }
        for code, wanted in expected.items():
            with self.subTest(code):
                self.assertEqual(texts(code), wanted)

    def test_where_nothing_is_known_nothing_is_said(self) -> None:
        for code in (
            "plant.heat.",
            "# plant.",
            "'plant. ",
            "unknown.x",
            "plant.start().",
            "1.",
            "",
            "...",
            "))).",
            "x = '\\",
            '"""plant.',
            "\x00.",
        ):
            with self.subTest(code):
                complete(code, len(code), {})

    def test_any_text_is_taken_in_little_time(self) -> None:
        begin = time.process_time()
        for piece in ("'\"", "(", "[x", "a.", '"""', "\\", "#\n", "f'{", "from ", "é.", "\n", "x('"):
            code = piece * 20_000
            complete(code, len(code), NAMESPACE)
        self.assertLess(time.process_time() - begin, 5)


class InspectionTest(unittest.TestCase):
    def test_signatures_are_written_without_asking_anybody(self) -> None:
        self.assertEqual(signature_of(Plant), "(fuel: int, *, slowly: bool = True) -> None")
        started = signature_of(NAMESPACE["plant"].start) or ""
        self.assertTrue(started.startswith("(first: str = 'xxx"))
        self.assertLess(len(started), 150)
        self.assertEqual(signature_of(len), "(obj, /)")
        self.assertIsNone(signature_of(7))

    def test_file(self) -> None:
        self.assertEqual(file_of(Plant.start), __file__)
        self.assertEqual(file_of(os), os.__file__)
        self.assertIsNone(file_of(len))

    def test_documentation_is_cleaned_and_bounded(self) -> None:
        self.assertEqual(doc_of(Plant.start), "Starts.\n\nWith care.")

        def long() -> None: ...

        long.__doc__ = "line\n" * 100_000
        self.assertLess(len(doc_of(long) or ""), 5_000)

        def tabs() -> None: ...

        tabs.__doc__ = "a" + "\t" * 4_000  # a tab becomes up to eight spaces
        self.assertLessEqual(len(doc_of(tabs) or ""), 4_100)
