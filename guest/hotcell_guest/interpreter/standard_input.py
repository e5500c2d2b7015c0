"""input() in a kernel: it reads `sys.stdin`; if that is the kernel's own empty one, the error says what to do instead."""

from __future__ import annotations

import builtins
import sys
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
