"""The supervisor's end of a kernel's socket against a kernel that does not read, or says what it must not."""

from __future__ import annotations

import os
import socket
import unittest

from hotcell_guest.kernels.process import KernelProcess, Started
from hotcell_guest.system.loop import Loop
from hotcell_guest.wire.frames import Frame, FrameDecoder


class SlowKernelTest(unittest.TestCase):
    def setUp(self) -> None:
        self.loop = Loop()
        self.addCleanup(self.loop.close)
        ours, self.theirs = socket.socketpair()
        self.addCleanup(self.theirs.close)
        self.gone = False
        self.kernel = KernelProcess(self.loop, Started(None, ours), lambda _frame: None, self._on_gone)
        self.addCleanup(self.kernel.close)

    def _on_gone(self) -> None:
        self.gone = True

    def test_what_does_not_fit_follows_in_order_with_its_descriptors(self) -> None:
        read_end, write_end = os.pipe()
        self.addCleanup(os.close, read_end)
        self.kernel.send({"type": "first"}, b"x" * 1_000_000)
        self.kernel.send({"type": "second"}, b"y", (write_end,))
        os.close(write_end)  # the queue has its own
        frames, fds = self._read_both()
        self.assertEqual([(frame.head["type"], len(frame.body)) for frame in frames], [("first", 1_000_000), ("second", 1)])
        os.write(fds[0], b"through")
        os.close(fds[0])
        self.assertEqual(os.read(read_end, 100), b"through")

    def test_a_kernel_that_asks_for_drains_and_reads_none_is_ended(self) -> None:
        self.kernel.send({"type": "large"}, b"x" * 1_000_000)
        for turn in range(1_000):
            self.kernel.answer_drain(turn)
        self.assertTrue(self.gone)

    def test_only_a_kernel_that_may_have_a_helper_can_name_one(self) -> None:
        self.kernel.name_helper(os.getpid())
        self.assertIsNone(self.kernel.helper)

    def _read_both(self) -> tuple[list[Frame], list[int]]:
        decoder = FrameDecoder()
        frames: list[Frame] = []
        fds: list[int] = []

        def readable() -> None:
            chunk, taken, _, _ = socket.recv_fds(self.theirs, 65_536, 4)
            fds.extend(taken)
            frames.extend(decoder.feed(chunk))
            if len(frames) == 2:
                self.loop.stop()

        self.loop.on_readable(self.theirs.fileno(), readable)
        self.loop.call_later(5, self.loop.stop)
        self.loop.run()
        self.loop.on_readable(self.theirs.fileno(), None)
        return frames, fds
