"""The event loop: what is watched, and what that costs neighbours."""

from __future__ import annotations

import os
import unittest

from hotcell_guest.loop import Loop


class TheLoop(unittest.TestCase):
    def setUp(self) -> None:
        self.loop = Loop()
        self.read_end, self.write_end = os.pipe()
        self.addCleanup(os.close, self.write_end)

    def test_it_takes_nothing_that_the_kernel_counts_for_a_uid(self) -> None:
        self.loop.on_readable(self.read_end, lambda: None)
        self.addCleanup(os.close, self.read_end)
        open_files = [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if _is_open(name)]
        self.assertEqual([name for name in open_files if "eventpoll" in name], [])

    def test_readers_writers_timers_and_ends_are_told(self) -> None:
        told: list[str] = []

        def read() -> None:
            data = os.read(self.read_end, 10)
            told.append(f"read {data!r}")
            if not data:
                self.loop.on_readable(self.read_end, None)
                os.close(self.read_end)
                self.loop.call_later(0.001, self.loop.stop)

        def write() -> None:
            told.append("write")
            self.loop.on_writable(self.write_end, None)
            os.write(self.write_end, b"x")
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.write_end)  # the end of the pipe

        self.loop.on_readable(self.read_end, read)
        self.loop.on_writable(self.write_end, write)
        self.loop.run()
        self.assertEqual(told, ["write", "read b'x'", "read b''"])


def _is_open(name: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{name}")
