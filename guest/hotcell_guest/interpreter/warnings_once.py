"""Warnings of an execution: each place once, with the user's line, even if libraries reset Python's registry of shown
warnings.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

from .our_files import is_our_file

_MAX_REMEMBERED = 1_000
# The file names that Python reports if the stack is not as deep as `stacklevel`, and those of our own start.
_NOBODYS = ("sys", "<sys>", "<string>")

# Python's internal hook for showing warnings; users replace the public one.
_python: Any = warnings


class WarningsOnce:
    """Shows warnings in place of Python's own function once it is installed. `begin` forgets those of the last
    execution.
    """

    def __init__(self) -> None:
        self._shown: set[tuple[str, str, int, str]] = set()
        self._forget_registries = getattr(_python, "_filters_mutated", None) or getattr(_python, "_filters_mutated_lock_held", None)

    def install(self) -> None:
        if hasattr(_python, "_showwarnmsg_impl"):
            _python._showwarnmsg_impl = self._show

    def begin(self) -> None:
        """Each module records which of its lines have warned; they may warn again from now on."""
        if self._shown:
            self._shown.clear()
            if self._forget_registries is not None:
                self._forget_registries()

    def _show(self, message: Any) -> None:
        if is_our_file(message.filename) or message.filename in _NOBODYS:
            message.filename, message.lineno = _users_place() or (message.filename, message.lineno)
        place = (str(message.category.__name__), message.filename, message.lineno, str(message.message)[:1_000])
        if place in self._shown:
            return
        if len(self._shown) < _MAX_REMEMBERED:
            self._shown.add(place)
        stream = sys.stderr if message.file is None else message.file
        try:
            stream.write(_python._formatwarnmsg(message))
        except (AttributeError, OSError):
            pass  # the user closed or replaced it


def _users_place() -> Any:
    """The position of the user's code, for a warning that was attributed to its caller, the guest."""
    frame: Any = sys._getframe()
    while frame is not None:
        if not is_our_file(frame.f_code.co_filename) and frame.f_globals.get("__name__") == "__main__":
            return (frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None
