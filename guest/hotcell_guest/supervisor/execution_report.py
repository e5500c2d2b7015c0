"""A kernel's report of the end of an execution, checked. SECURITY: user code may have written it, and can lie about itself only."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Optional

from ..wire.frames import MAX_HEAD_BYTES, Frame, Head, ProtocolViolation, encode
from ..wire.name_changes import MOST_NAMES, bounded
from .checked_outcome import checked_outcome, natural

MAX_VALUE_BYTES = 65_536
MAX_MESSAGE_BYTES = 65_536
# Leaves room for the members that the supervisor adds.
_MAX_REPORT_BYTES = MAX_HEAD_BYTES - 2_048
_WELL = {"kind": "ok"}


class Report(NamedTuple):
    """`outcome` may be corrected by the supervisor, in a copy."""

    outcome: Head
    cpu_ms: float = 0
    peak_memory_bytes: int = 0
    variables: Optional[Head] = None
    is_free: bool = False
    """For a command: its kernel has no descendants, so it can run another."""


def checked_report(head: Head) -> Report:
    """Checks a kernel's `finished`. Raises KeyError, TypeError, ValueError or OverflowError if it is invalid."""
    outcome = checked_outcome(head["outcome"])
    cpu_ms, peak_memory_bytes = float(head["cpuMs"]), natural(head["peakMemoryBytes"])
    if not math.isfinite(cpu_ms):
        raise ValueError("finished: no time")
    changes = _checked_changes(head.get("variables"))
    # Most reports need no measuring, and serializing them again would be a large part of an execution's cost.
    is_short = outcome == _WELL and changes is None
    if not is_short and _written_bytes({"type": "", "outcome": outcome, "variables": changes}) > _MAX_REPORT_BYTES:
        raise ValueError("finished: too large to be passed on")
    return Report(outcome, max(0.0, cpu_ms), peak_memory_bytes, changes, head.get("isFree") is True)


def _written_bytes(head: Head) -> int:
    """Measures the report as it will be written: a text can become longer than it was read."""
    try:
        return len(encode(Frame(head)))
    except ProtocolViolation:
        raise ValueError("finished: cannot be passed on") from None


def checked_value(head: Head, text: bytes) -> tuple[Head, bytes]:
    """Returns the value as `finished` brings it to the host: its member, and its part of the body."""
    text = text[:MAX_VALUE_BYTES]
    return {"truncated": bool(head["truncated"]), "bytes": len(text)}, text


def checked_message(head: Head, body: bytes) -> tuple[bytes, bytes]:
    """Splits the body of a kernel's `finished`: the text of the value, and the whole message of a long exception."""
    if "message" not in head:
        return body, b""
    count = natural(head["message"]["bytes"])
    if count > min(len(body), MAX_MESSAGE_BYTES):
        raise ValueError("finished: the message is longer than the body, or too long")
    at = len(body) - count
    return body[:at], body[at:]


def _checked_changes(raw: Any) -> Optional[Head]:
    """Accepts a bounded number of names, and nothing else."""
    if raw is None:
        return None
    if not isinstance(raw, dict):
        raise ValueError("finished: variables are not an object")
    found = {
        kind: [name for name in list(raw.get(kind, ()))[:MOST_NAMES] if isinstance(name, str)] for kind in ("added", "rebound", "deleted")
    }
    return bounded(found, min(max(-1, int(raw.get("omitted", 0))), 10**9))
