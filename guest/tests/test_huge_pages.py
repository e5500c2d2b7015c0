"""Memory that is joined into large pages: only where there is no hole, and with what was in it."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import platform
import re
import unittest
from typing import Iterator
from unittest import mock

from hotcell_guest.start.huge_pages import join_pages

_HUGE_BYTES = 2 * 1_048_576
_PR_SET_THP_DISABLE = 41


def _can_join() -> bool:
    version = tuple(int(number) for number in re.findall(r"\d+", platform.release())[:2])
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="ascii") as file:
            is_offered = "[never]" not in file.read()
    except OSError:
        is_offered = False
    return is_offered and version >= (6, 1) and mmap.PAGESIZE == 4096


def _kilobytes(address: int, name: str) -> int:
    """A field of the mapping that the address is in."""
    inside = False
    with open("/proc/self/smaps", encoding="utf-8") as file:
        for line in file:
            mapping = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)
            if mapping is not None:
                inside = int(mapping[1], 16) <= address < int(mapping[2], 16)
            elif inside and line.startswith(f"{name}:"):
                return int(line.split()[1])
    raise AssertionError(f"{name} of {address:x} is nowhere")


@contextlib.contextmanager
def _small_pages() -> Iterator[None]:
    """Where large pages are given to all who write, memory would be joined before anybody asked."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_THP_DISABLE, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(_PR_SET_THP_DISABLE, 0, 0, 0, 0)


@unittest.skipUnless(_can_join(), "this kernel does not join pages when it is asked to")
class JoinPagesTest(unittest.TestCase):
    def setUp(self) -> None:
        # Of nine pieces eight are aligned, wherever they come to lie; memory in large pieces may be short for some of them.
        self.memory = mmap.mmap(-1, 9 * _HUGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.addCleanup(self.memory.close)
        self.memory.madvise(mmap.MADV_DONTDUMP)  # so that it is merged with no mapping beside it
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))

    def _write(self, *, hole: bool) -> None:
        with _small_pages():
            for offset in range(0, len(self.memory), mmap.PAGESIZE):
                if not hole or offset // mmap.PAGESIZE % 100:
                    self.memory[offset] = offset // mmap.PAGESIZE % 251

    def test_memory_without_a_hole_is_joined_and_keeps_what_it_holds(self) -> None:
        self._write(hole=False)
        before = self.memory[:]
        self.assertEqual(_kilobytes(self.address, "AnonHugePages"), 0)
        join_pages()
        self.assertGreater(_kilobytes(self.address, "AnonHugePages"), 0)
        self.assertEqual(self.memory[:], before)

    def test_memory_with_a_hole_stays_as_small_as_it_is(self) -> None:
        self._write(hole=True)
        before = _kilobytes(self.address, "Rss")
        join_pages()
        self.assertEqual(_kilobytes(self.address, "AnonHugePages"), 0)
        self.assertEqual(_kilobytes(self.address, "Rss"), before)

    def test_where_pages_are_larger_nothing_is_joined(self) -> None:
        self._write(hole=False)
        for size in (16_384, 65_536):
            with mock.patch("mmap.PAGESIZE", size):
                join_pages()
        self.assertEqual(_kilobytes(self.address, "AnonHugePages"), 0)
