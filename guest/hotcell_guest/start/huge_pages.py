"""Huge pages: a fork copies one page table entry for 2 MiB instead of 512, and frees as few when it ends."""

from __future__ import annotations

import mmap
import re
import struct
from typing import BinaryIO, Iterator

from ..system import linux

_HUGE_BYTES = 2 * 1_048_576
_PAGE_BYTES = 4096
_PAGES = _HUGE_BYTES // _PAGE_BYTES
_ENTRIES = struct.Struct(f"={_PAGES}Q")
_PRESENT = 1 << 63
# Anonymous memory, or the heap of C.
_OWN_MEMORY = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ 0 *(?:\[heap\])?$")


def join_pages() -> None:
    """Merges memory that is resident without a hole, so that no additional page is used. Before Linux 6.1, or if pages
    are not 4 KiB, it has no effect.
    """
    if mmap.PAGESIZE != _PAGE_BYTES:
        return  # huge pages have another size there, and so have the entries of pagemap
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps, open("/proc/self/pagemap", "rb", 0) as pages:
            for start in [start for line in maps for start in _pieces(line)]:
                if _is_whole(pages, start):
                    linux.join_pages(start, _HUGE_BYTES)
    except OSError:
        pass


def _pieces(mapping: str) -> Iterator[int]:
    match = _OWN_MEMORY.match(mapping)
    if match is not None:
        start, end = int(match[1], 16), int(match[2], 16)
        yield from range(-(-start // _HUGE_BYTES) * _HUGE_BYTES, end - _HUGE_BYTES + 1, _HUGE_BYTES)


def _is_whole(pages: BinaryIO, start: int) -> bool:
    pages.seek(start // _PAGE_BYTES * 8)
    return all(entry & _PRESENT for entry in _ENTRIES.unpack(pages.read(_ENTRIES.size)))
