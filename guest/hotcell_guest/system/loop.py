"""A small event loop with descriptors, signals (by a wake-up descriptor) and timers. It has one thread, because the
guest forks.
"""

from __future__ import annotations

import errno
import heapq
import itertools
import math
import select
import time
from typing import Callable, Optional, Union

from .idle_processors import IdleProcessors

Callback = Callable[[], None]
# The duration of a busy-wait. A kernel answers small executions within it; waking up takes half as long.
_AWAKE_SECONDS = 0.00015


class Timer:
    """A callback that runs once, unless it is cancelled before."""

    __slots__ = ("callback", "cancelled")

    def __init__(self, callback: Callback) -> None:
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """Readers, writers and timers, run in one thread until `stop`. Descriptors are served in the order in which they
    became readable.

    SECURITY: epoll watches are counted per uid, which neighbours may share. A neighbour that uses them up must not end
    this guest: it falls back to poll, which needs no kernel state and only loses that order.
    """

    def __init__(self) -> None:
        self._poller: Union[select.epoll, _Poll] = select.epoll()
        self._callbacks: dict[int, list[Optional[Callback]]] = {}
        self._timers: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self._soon: list[Callback] = []
        self._processors = IdleProcessors()
        self._awake_until = 0.0
        self._running = True

    def on_readable(self, fd: int, callback: Optional[Callback]) -> None:
        """Calls back while `fd` is readable; None removes the callback."""
        self._watch(fd, 0, callback)

    def on_writable(self, fd: int, callback: Optional[Callback]) -> None:
        """Calls back while `fd` is writable; None removes the callback."""
        self._watch(fd, 1, callback)

    def call_later(self, seconds: float, callback: Callback) -> Timer:
        timer = Timer(callback)
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._order), timer))
        return timer

    def soon(self, callback: Callback) -> None:
        """Calls back once, at the end of this turn, so that work for many events of a turn is done together."""
        self._soon.append(callback)

    def expect_soon(self) -> None:
        """Expects an answer sooner than a sleep and a wake-up would take: if a processor is idle, the next wait starts
        as a busy-wait.
        """
        if self._processors.is_one_for_waiting():
            self._awake_until = time.monotonic() + _AWAKE_SECONDS

    def stop(self) -> None:
        self._running = False

    def close(self) -> None:
        """Closes its descriptors. The loop of a server ends with its process; that of a rehearsal does not."""
        self._poller.close()
        self._processors.close()

    def run(self) -> None:
        self._run_soon()
        while self._running:
            for fd, events in self._wait():
                callbacks = self._callbacks.get(fd)
                if callbacks is None:
                    continue
                reader, writer = callbacks
                # Hang-up and error are reported to both callbacks.
                if events & ~select.EPOLLOUT and reader is not None:
                    reader()
                if events & ~select.EPOLLIN and writer is not None and fd in self._callbacks:
                    writer()
            self._run_due_timers()
            self._run_soon()

    def _wait(self) -> list[tuple[int, int]]:
        while time.monotonic() < self._awake_until:
            found = self._poller.poll(0)
            if found:
                return found
        return self._poller.poll(self._wait_seconds())

    def _run_soon(self) -> None:
        while self._soon:
            waiting, self._soon = self._soon, []
            for callback in waiting:
                callback()

    def _wait_seconds(self) -> Optional[float]:
        while self._timers and self._timers[0][2].cancelled:
            heapq.heappop(self._timers)
        return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None

    def _run_due_timers(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            timer = heapq.heappop(self._timers)[2]
            if not timer.cancelled:
                timer.callback()

    def _watch(self, fd: int, slot: int, callback: Optional[Callback]) -> None:
        known = self._callbacks.get(fd)
        if known is None:
            if callback is None:
                return
            known = self._callbacks[fd] = [None, None]
        before = _events(known)
        known[slot] = callback
        after = _events(known)
        if after == before:
            return
        if not after:
            self._poller.unregister(fd)
            del self._callbacks[fd]
        elif before:
            self._poller.modify(fd, after)
        else:
            self._register(fd, after)

    def _register(self, fd: int, events: int) -> None:
        try:
            self._poller.register(fd, events)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            self._poller.close()
            self._poller = _Poll()
            for watched, callbacks in self._callbacks.items():
                self._poller.register(watched, _events(callbacks))


class _Poll:
    """select.poll with the signatures of select.epoll."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self.register = self._poll.register
        self.modify = self._poll.modify
        self.unregister = self._poll.unregister

    def poll(self, seconds: Optional[float]) -> list[tuple[int, int]]:
        # Rounded up: a timeout that is too short would be repeated.
        return self._poll.poll(None if seconds is None else math.ceil(seconds * 1000))

    def close(self) -> None:
        """There is no descriptor to close."""


def _events(callbacks: list[Optional[Callback]]) -> int:
    reader, writer = callbacks
    return (select.EPOLLIN if reader else 0) | (select.EPOLLOUT if writer else 0)
