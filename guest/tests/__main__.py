"""Runs all tests and prints one line of JSON for each: `python3 -m tests` in `guest/`."""

from __future__ import annotations

import json
import os
import sys
import unittest
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))


class _LineResult(unittest.TestResult):
    """One line a test; a failed subtest makes its test fail."""

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self._details: list[str] = []

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._details.append(f"{subtest.id()}\n{self._text(err, test)}")

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        if not hasattr(self, "_details"):
            self._details = []  # a module that cannot be imported is no test that was started
        self._details.append(self._text(err, test))

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        self.addError(test, err)

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        name = test.id().replace("tests.", "", 1)
        print(json.dumps({"name": name, "details": self._details}), flush=True)

    def _text(self, err: Any, test: unittest.TestCase) -> str:
        return self._exc_info_to_string(err, test)  # type: ignore[attr-defined, no-any-return]


if __name__ == "__main__":
    found = unittest.TestLoader().discover(_HERE, top_level_dir=os.path.dirname(_HERE))
    outcome = found.run(_LineResult())
    sys.exit(0 if outcome.wasSuccessful() else 1)
