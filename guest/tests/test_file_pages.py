"""What the warm stage unmaps must come back as it was, and what was written to must stay."""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
import unittest

from hotcell_guest.start.file_pages import forget_file_pages

_SIZE = 64 * mmap.PAGESIZE


class FilePages(unittest.TestCase):
    def setUp(self) -> None:
        self.fd, self.path = tempfile.mkstemp()
        self.addCleanup(os.unlink, self.path)
        self.addCleanup(os.close, self.fd)
        os.write(self.fd, b"f" * _SIZE)

    def test_pages_of_a_file_that_was_only_read_are_unmapped_and_read_again(self) -> None:
        mapped = self.map(mmap.PROT_READ)
        self.assertEqual(mapped[:], b"f" * _SIZE)
        self.assertGreater(self.resident_kilobytes(), 0)
        forget_file_pages()
        self.assertEqual(self.resident_kilobytes(), 0)
        self.assertEqual(mapped[:], b"f" * _SIZE)

    def test_a_page_that_was_written_to_before_it_was_closed_stays(self) -> None:
        """As a library's relocated pages are."""
        mapped = self.map(mmap.PROT_READ | mmap.PROT_WRITE)
        mapped[0] = ord("w")
        address = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
        libc = ctypes.CDLL(None)
        self.assertEqual(libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(_SIZE), mmap.PROT_READ), 0)
        forget_file_pages()
        self.assertEqual(ctypes.string_at(address, 2), b"wf")

    def map(self, protection: int) -> mmap.mmap:
        return mmap.mmap(self.fd, _SIZE, flags=mmap.MAP_PRIVATE, prot=protection)

    def resident_kilobytes(self) -> int:
        with open("/proc/self/smaps", encoding="utf-8", errors="replace") as smaps:
            lines = smaps.read().split("\n")
        at = next(index for index, line in enumerate(lines) if line.endswith(self.path))
        return next(int(line.split()[1]) for line in lines[at:] if line.startswith("Rss:"))
