"""Text that must fit into a frame, whatever characters it contains."""

from __future__ import annotations

import json


def weight(lines: list[str]) -> int:
    """The size of the lines in a frame, in bytes: non-ASCII and control characters take more than one byte."""
    return len(json.dumps(lines, ensure_ascii=False).encode("utf-8", "replace"))


def cut(text: str, limit: int) -> str:
    """Truncates text to at most `limit` bytes in a frame."""
    if len(text) > limit:
        text = f"{text[:limit]}…"
    while weight([text]) > limit + 64:
        text = f"{text[: len(text) // 2]}…"
    return text


def bounded_lines(lines: list[str], limit: int) -> list[str]:
    """All lines if they fit; otherwise the first ten, and as many of the last as fit."""
    lines = [cut(line, 2_000) for line in lines]
    if len(lines) <= 1_000 and weight(lines) <= limit:
        return lines
    head = _as_many_as_fit(lines[:10], limit // 2)
    tail = _as_many_as_fit(lines[:9:-1][:900], limit // 2)[::-1]
    return [*head, f"  … {len(lines) - len(head) - len(tail)} lines left out …", *tail]


def _as_many_as_fit(lines: list[str], limit: int) -> list[str]:
    kept, cost = [], 0
    for line in lines:
        cost += weight([line])
        if cost > limit:
            break
        kept.append(line)
    return kept
