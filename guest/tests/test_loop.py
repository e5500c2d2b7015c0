"""The event loop: what is watched, in which order it is told, and what neighbours cannot take from it."""

from __future__ import annotations

import errno
import os
import unittest
from typing import Any, Callable
from unittest import mock

from hotcell_guest.system.loop import _AWAKE_SECONDS, Loop


class TheLoop(unittest.TestCase):
    def setUp(self) -> None:
        self.loop = Loop()
        self.addCleanup(self.loop.close)

    def test_readers_writers_timers_and_ends_are_told(self) -> None:
        self.assertEqual(self._told(), ["write", "read b'x'", "read b''"])

    def test_so_they_are_where_neighbours_have_used_up_what_epoll_can_watch(self) -> None:
        self.loop.on_readable(self._pipe()[0], self.fail)
        with mock.patch.object(self.loop, "_poller", _FullEpoll(self.loop._poller)):
            self.assertEqual(self._told(), ["write", "read b'x'", "read b''"])
            self.assertNotIsInstance(self.loop._poller, _FullEpoll)

    def test_what_can_be_read_first_is_told_first(self) -> None:
        pipes = [self._pipe() for _ in range(4)]
        told: list[int] = []

        def read(number: int, read_end: int) -> None:
            os.read(read_end, 1)
            told.append(number)
            if len(told) == len(pipes):
                self.loop.stop()

        for number, (read_end, _) in enumerate(pipes):
            self.loop.on_readable(read_end, lambda number=number, read_end=read_end: read(number, read_end))  # type: ignore[misc]
        for number in (2, 0, 3, 1):
            os.write(pipes[number][1], b"x")
        self.loop.run()
        self.assertEqual(told, [2, 0, 3, 1])

    def test_who_expects_an_answer_soon_is_awake_when_it_comes_and_asleep_when_it_does_not(self) -> None:
        self.assertEqual(self._waits(is_idle=True, answered_in=1), [0])
        self.assertEqual(self._waits(is_idle=True, answered_in=2), [0, 0])
        self.assertEqual(self._waits(is_idle=True, answered_in=3), [0, 0, None])
        self.assertEqual(self._waits(is_idle=False, answered_in=1), [None])

    def _waits(self, *, is_idle: bool, answered_in: int) -> list[object]:
        """How long each wait was to be, up to the one in which the answer comes."""
        loop = Loop()
        self.addCleanup(loop.close)
        read_end, write_end = self._pipe()
        loop.on_readable(read_end, loop.stop)
        loop.soon(loop.expect_soon)
        poller = _Answered(loop._poller, answered_in, lambda: os.write(write_end, b"x"))
        idle = mock.patch.object(loop._processors, "is_one_for_waiting", return_value=is_idle)
        clock = mock.patch("hotcell_guest.system.loop.time.monotonic", lambda: poller.now)
        with idle, clock, mock.patch.object(loop, "_poller", poller):
            loop.run()
        return poller.waits

    def _told(self) -> list[str]:
        told: list[str] = []
        read_end, write_end = self._pipe()

        def read() -> None:
            data = os.read(read_end, 10)
            told.append(f"read {data!r}")
            if not data:
                self.loop.on_readable(read_end, None)
                self.loop.call_later(0.001, self.loop.stop)

        def write() -> None:
            told.append("write")
            self.loop.on_writable(write_end, None)
            os.write(write_end, b"x")
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, write_end)  # the end of the pipe
            os.close(null)

        self.loop.on_readable(read_end, read)
        self.loop.on_writable(write_end, write)
        self.loop.run()
        return told

    def _pipe(self) -> tuple[int, int]:
        ends = os.pipe()
        for end in ends:
            self.addCleanup(os.close, end)
        return ends


class _Answered:
    """A poller with a clock of its own, in which two waits are longer than anybody stays awake. The answer comes in one of them."""

    def __init__(self, real: Any, answered_in: int, answer: Callable[[], object]) -> None:
        self.now = 1.0
        self.waits: list[object] = []
        self._real = real
        self._answered_in = answered_in
        self._answer = answer

    def poll(self, seconds: object) -> Any:
        self.waits.append(seconds)
        self.now += _AWAKE_SECONDS * 2 / 3
        if len(self.waits) == self._answered_in:
            self._answer()
        return self._real.poll(0)


class _FullEpoll:
    """epoll whose uid may watch nothing more."""

    def __init__(self, epoll: Any) -> None:
        self._epoll = epoll

    def register(self, _fd: int, _events: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        self._epoll.close()
