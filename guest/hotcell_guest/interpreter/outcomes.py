"""The outcome of code, from the exception that ended it. Code that only a failure needs is imported with the first one."""

from __future__ import annotations

import sys
from typing import Any

Outcome = dict[str, Any]


def outcome_of(error: BaseException, with_names: bool = False) -> Outcome:
    """The outcome of any exception. With `with_names` the traceback of a failure shows the names where it failed."""
    if isinstance(error, SystemExit):
        return _exit_outcome(error)
    if isinstance(error, KeyboardInterrupt):
        return {"kind": "interrupted"}
    try:
        from . import raised

        if not isinstance(error, MemoryError):
            return raised.outcome_of(error, with_names)
        sys.stderr.write("".join(f"{line}\n" for line in raised.lines_of(error)))
        return {"kind": "out-of-memory"}
    except Exception as problem:  # noqa: BLE001 - no memory or no descriptors are left, or the code broke what imports need
        return _in_one_line(error, problem)


def _in_one_line(error: BaseException, problem: Exception) -> Outcome:
    if isinstance(error, MemoryError):
        return {"kind": "out-of-memory"}
    name = type(error).__name__[:250]
    try:
        message = str(error)[:1_000]
    except Exception:  # noqa: BLE001 - the user's __str__
        message = "(its text could not be made)"
    said = f"(no traceback: {type(problem).__name__} while it was made)"
    return {"kind": "raised", "name": name, "message": message, "traceback": [*f"{name}: {message}".split("\n")[:50], said]}


def _exit_outcome(error: SystemExit) -> Outcome:
    """A subclass keeps its name: a program that defines one tells its ends apart by it."""
    kind = type(error)
    named = {} if kind is SystemExit else {"name": kind.__name__[:250]}
    code = error.code
    if code is None:
        return {"kind": "exited", "exitCode": 0, **named}
    if isinstance(code, int):
        return {"kind": "exited", "exitCode": code & 0xFF, **named}
    sys.stderr.write(f"{code}\n")
    return {"kind": "exited", "exitCode": 1, **named}
