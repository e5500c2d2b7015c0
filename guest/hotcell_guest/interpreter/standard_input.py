"""input() in a kernel: it reads `sys.stdin`; if that is the kernel's own empty one, the error says what to do instead.
So does getpass(), which would otherwise complain about the terminal that it does not find."""

from __future__ import annotations

import builtins
import sys
from types import ModuleType
from typing import Any

from ..system.import_hooks import AfterImport

_ADVICE = "%s() does not work in a sandbox: there is no user to ask. Put the value into the code, a variable or a file of the workspace."


def install(hooks: AfterImport) -> None:
    names: Any = builtins
    real, own = names.input, sys.stdin

    def input(prompt: object = "", /) -> str:  # noqa: A001 - the name that a program sees
        try:
            line: str = real(prompt)
        except EOFError:
            if sys.stdin is own:
                raise EOFError(_ADVICE % "input") from None
            raise
        return line

    names.input = input
    hooks.add("getpass", lambda module: _replace_getpass(module, own))


def _replace_getpass(module: ModuleType, own: object) -> None:
    names: Any = module
    real = names.getpass

    def getpass(prompt: str = "Password: ", *arguments: Any, **options: Any) -> str:
        if sys.stdin is own:
            raise EOFError(_ADVICE % "getpass")
        secret: str = real(prompt, *arguments, **options)
        return secret

    names.getpass = getpass
