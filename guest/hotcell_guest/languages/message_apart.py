"""A long message of an exception: its beginning stays in the head of `finished`, and the whole is at the end of the body."""

from __future__ import annotations

from ..system.bounded_text import cut, weight
from ..wire.frames import Head

_IN_HEAD_BYTES = 4_096
_MAX_BYTES = 65_536


def with_message_apart(finished: Head) -> tuple[Head, bytes]:
    """Returns the head and the bytes to append to the body. Most messages are short and stay in the head."""
    outcome = finished["outcome"]
    message = outcome.get("message")
    if not isinstance(message, str) or weight([message]) <= _IN_HEAD_BYTES:
        return finished, b""
    data = message.encode("utf-8", "replace")[:_MAX_BYTES].decode("utf-8", "ignore").encode("utf-8")
    short = {**outcome, "message": cut(message, _IN_HEAD_BYTES)}
    return {**finished, "outcome": short, "message": {"bytes": len(data)}}, data
