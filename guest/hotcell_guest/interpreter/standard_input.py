"""input() in a kernel: it reads whatever `sys.stdin` is, and where that is the kernel's own empty one, it says what to do instead."""

from __future__ import annotations

import builtins
import sys
from typing import Any

_ADVICE = "input() has nobody to ask in a sandbox. Put the value into the code, a variable or a file of the workspace."


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
