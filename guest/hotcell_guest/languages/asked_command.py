"""A command as the host requests it: the program, its folder and its variables."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Optional

from .programs import missing_commands

_TERM = "xterm-256color"
_SIZES = ("COLUMNS", "LINES")


@dataclass(frozen=True)
class AskedCommand:
    """`words`: the program and its arguments. Without them, `line` is run by a shell."""

    words: Optional[list[str]]
    line: str
    folder: str
    variables: dict[str, str]
    has_terminal: bool

    @staticmethod
    def from_message(raw: dict[str, Any], has_terminal: bool) -> AskedCommand:
        """Raises KeyError, TypeError or ValueError for an invalid command, although the host has checked it."""
        words = raw.get("argv")
        return AskedCommand(
            words=None if words is None else [str(word) for word in words],
            line=str(raw.get("line", "")),
            folder=str(raw.get("cwd", ".")),
            variables={str(name): str(value) for name, value in raw.get("environment", {}).items()},
            has_terminal=has_terminal,
        )

    def argv(self) -> list[str]:
        """Runs the line in bash, or in sh if there is no bash."""
        if self.words is not None:
            return self.words
        path = self.variables.get("PATH", os.environ.get("PATH", os.defpath))
        shell = "sh" if missing_commands(["bash"], path) else "bash"
        return [shell, "-c", self.line]

    def environment(self, folder: str) -> dict[str, str]:
        """The sandbox's environment, with PWD as a shell sets it, then the requested variables. COLUMNS and LINES are left to the
        terminal."""
        found = {**os.environ, "PWD": folder}
        if self.has_terminal:
            found["TERM"] = _TERM
            for name in _SIZES:
                found.pop(name, None)
        return {**found, **self.variables}
