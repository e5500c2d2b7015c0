"""input() in a kernel: it reads `sys.stdin`; if that is the kernel's own empty one, the error says what to do instead."""

from __future__ import annotations

import builtins
import sys
from types import ModuleType
from typing import Any

_ADVICE = "input() does not work in a sandbox: there is no user to ask. Put the value into the code, a variable or a file of the workspace."


def install() -> None:
    names: Any = builtins
    real, own = names.input, sys.stdin

    def input(prompt: object = "", /) -> str:  # noqa: A001 - the name that a program sees
        try:
            line: str = real(prompt)
        except EOFError:
            if sys.stdin is own:
                raise EOFError(_ADVICE) from None
            raise
        return line

    names.input = input


def without_terminal(module: ModuleType) -> None:
    """A hook for `getpass`: without a terminal it would warn and print tracebacks of termios before it fails."""
    holder: Any = module
    own = sys.stdin

    def getpass(prompt: str = "Password: ", stream: object = None, **_options: object) -> str:
        if sys.stdin is own:
            raise EOFError(_ADVICE.replace("input()", "getpass()"))
        line: str = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\n")

    holder.getpass = getpass
