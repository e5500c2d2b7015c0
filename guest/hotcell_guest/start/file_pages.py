"""Pages of mapped files that were touched only during loading: they are accounted to the zygote, and no fork inherits
them.
"""

from __future__ import annotations

import re
from typing import Iterator

from ..system import linux

_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ +(.*)")
_FIELD = re.compile(r"(\w+): +(\d+) kB")


def forget_file_pages() -> None:
    """Unmaps these pages until they are needed again, which is soon for a few of them."""
    try:
        with open("/proc/self/smaps", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return
    for start, size in _unwritten_mappings(text):
        linux.forget_pages(start, size)


def _unwritten_mappings(smaps: str) -> Iterator[tuple[int, int]]:
    """Read-only file mappings without modified pages: a page that was ever written to, in memory or in swap, would be
    lost. None if the kernel does not report it.
    """
    start = end = 0
    unwritten: set[str] = set()
    for line in smaps.split("\n"):
        mapping = _MAPPING.match(line)
        if mapping is not None:
            is_readable_file = mapping[3] in ("r--p", "r-xp") and mapping[4].startswith("/")
            start, end = (int(mapping[1], 16), int(mapping[2], 16)) if is_readable_file else (0, 0)
            unwritten = set()
        field = _FIELD.match(line)
        if field is not None and field[1] in ("Anonymous", "Swap") and field[2] == "0":
            unwritten.add(field[1])
            if end and len(unwritten) == 2:
                yield start, end - start
