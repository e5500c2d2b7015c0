"""The source lines around a position, numbered, with the failing line marked."""

from __future__ import annotations

import linecache
import os
from typing import Optional

_MAX_LINE_CHARS = 200
_MARK_LINE_CHARS = 120
_MAX_FILE_BYTES = 4 * 1_048_576


def excerpt(file: str, line: int, columns: Optional[tuple[int, int]], around: int) -> list[str]:
    """Up to `around` lines before and after. Empty if there is no source."""
    source = _lines_of(file)
    if not 1 <= line <= len(source):
        return []
    first, last = max(1, line - around), min(len(source), line + around)
    width = len(str(last))
    shown = []
    for number in range(first, last + 1):
        text = source[number - 1].rstrip("\r\n")
        sign = ">" if number == line else " "
        shown.append(f"  {sign} {number:>{width}} | {text[:_MAX_LINE_CHARS]}".rstrip())
        if number == line and columns is not None:
            shown.extend(_underline(text, columns, width))
    return shown


def _lines_of(file: str) -> list[str]:
    """Code may claim to come from /dev/zero, so only files of a limited size are read."""
    if file not in linecache.cache:
        try:
            if not os.path.isfile(file) or os.path.getsize(file) > _MAX_FILE_BYTES:
                return []
        except (OSError, ValueError):
            return []
    return linecache.getlines(file)


def _underline(text: str, columns: tuple[int, int], width: int) -> list[str]:
    """Carets under the failing part, unless that is the whole line."""
    data = text.encode("utf-8", "replace")
    begin, end = (len(data[:column].decode("utf-8", "replace")) for column in columns)
    whole = text.strip()
    if end <= begin or text[begin:end].strip() == whole or end > _MARK_LINE_CHARS:
        return []
    return [f"    {' ' * width} | {' ' * begin}{'^' * (end - begin)}"]
