"""A command as the host asks for it: the program, its folder and its variables."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Optional

from .programs import missing_commands

_TERM = "xterm-256color"
_SIZES = ("COLUMNS", "LINES")


@dataclass(frozen=True)
class AskedCommand:
    """`words`: the program and its arguments. Without them `line` is for a shell."""

    words: Optional[list[str]]
    line: str
    folder: str
    variables: dict[str, str]
    has_terminal: bool

    @staticmethod
    def from_message(raw: dict[str, Any], has_terminal: bool) -> AskedCommand:
        """Raises KeyError, TypeError or ValueError where it is none; the host has checked it before."""
        words = raw.get("argv")
        return AskedCommand(
            words=None if words is None else [str(word) for word in words],
            line=str(raw.get("line", "")),
            folder=str(raw.get("cwd", ".")),
            variables={str(name): str(value) for name, value in raw.get("environment", {}).items()},
            has_terminal=has_terminal,
        )

    def argv(self) -> list[str]:
        """The line goes to bash, or to sh where there is no bash."""
        if self.words is not None:
            return self.words
        path = self.variables.get("PATH", os.environ.get("PATH", os.defpath))
        shell = "sh" if missing_commands(["bash"], path) else "bash"
        return [shell, "-c", self.line]

    def environment(self, folder: str) -> dict[str, str]:
        """The sandbox's, with PWD as a shell sets it, then what was asked for. A terminal knows its size better than any variable."""
        found = {**os.environ, "PWD": folder}
        if self.has_terminal:
            found["TERM"] = _TERM
            for name in _SIZES:
                found.pop(name, None)
        return {**found, **self.variables}
