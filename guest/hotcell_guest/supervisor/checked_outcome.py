"""The outcome that a kernel reports, rebuilt from the members that the host knows, each with a checked type and size.

At the host, an invalid outcome would cost the sandbox. Here it costs the kernel, whose code may have written it (sections 7 and 13).
"""

from __future__ import annotations

import re
from typing import Any, Callable

from ..wire.frames import Head

Check = Callable[[Any], Any]
_SIGNAL = re.compile(r"SIG[A-Z0-9+]{1,16}")


def checked_outcome(raw: Any) -> Head:
    """Raises ValueError if it is invalid. SECURITY: `unavailable` is not accepted, because the supervisor itself finds out what is
    missing."""
    kind = raw.get("kind") if isinstance(raw, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError("finished: not an outcome that a kernel can tell")
    return {"kind": kind, **_KINDS[kind](raw)}


def natural(value: Any) -> int:
    """Raises ValueError for a number that is not a count, or that JSON cannot represent exactly."""
    number = int(value)
    if not 0 <= number < 2**53:
        raise ValueError("a number that counts is not negative, nor beyond what JSON can say")
    return number


def _members(needed: dict[str, Check], optional: dict[str, Check]) -> Check:
    def check(raw: Any) -> Head:
        if not isinstance(raw, dict):
            raise ValueError("finished: not an object")
        checked = {name: judge(raw.get(name)) for name, judge in needed.items()}
        checked.update({name: judge(raw[name]) for name, judge in optional.items() if name in raw})
        return checked

    return check


def _text(most: int) -> Check:
    """Counts as the host does, in UTF-16 code units."""

    def check(raw: Any) -> str:
        if not isinstance(raw, str) or len(raw) + sum(character > "\uffff" for character in raw) > most:
            raise ValueError("finished: not a text, or too long")
        return raw

    return check


def _list(of: Check, most: int) -> Check:
    def check(raw: Any) -> list[Any]:
        if not isinstance(raw, list) or len(raw) > most:
            raise ValueError("finished: not a list, or too long")
        return [of(one) for one in raw]

    return check


def _whole(most: int) -> Check:
    def check(raw: Any) -> int:
        if not isinstance(raw, int) or isinstance(raw, bool) or not 0 <= raw <= most:
            raise ValueError("finished: not a number, or out of range")
        return raw

    return check


def _flag(raw: Any) -> bool:
    if not isinstance(raw, bool):
        raise ValueError("finished: neither true nor false")
    return raw


def _signal(raw: Any) -> str:
    if not isinstance(raw, str) or _SIGNAL.fullmatch(raw) is None:
        raise ValueError("finished: not the name of a signal")
    return raw


_NOTHING = _members({}, {})
_FRAME = _members({"file": _text(1_000), "line": _whole(2**53 - 1), "function": _text(500), "own": _flag}, {})
# The limits are those of src/guest/messages.ts.
_KINDS: dict[str, Check] = {
    "ok": _NOTHING,
    "raised": _members(
        {"name": _text(500), "message": _text(8_192), "traceback": _list(_text(4_096), 2_000)},
        {"hint": _text(2_000), "frames": _list(_FRAME, 50)},
    ),
    "exited": _members({"exitCode": _whole(255)}, {"name": _text(500)}),
    "timed-out": _NOTHING,
    "interrupted": _NOTHING,
    "out-of-memory": _NOTHING,
    "kernel-died": _members({}, {"signal": _signal}),
}
