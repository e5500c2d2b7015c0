"""A timeout for code that runs in this thread: a timer whose signal handler raises. Used for answers; works only in the
main thread.
"""

from __future__ import annotations

import signal
import time
from types import FrameType, TracebackType
from typing import Any, Callable, Optional, TypeVar

Result = TypeVar("Result")

_AGAIN_SECONDS = 0.05


class TookTooLong(BaseException):
    """Not a subclass of Exception, so that code which catches Exception does not continue."""


class Deadline:
    """`with Deadline(2.0) as deadline:` raises TookTooLong inside the block after two seconds, and repeatedly until the
    block is left.

    SIGINT, the supervisor's reminder, does the same. The user's own handlers, timer and mask are restored afterwards.
    Code that changes them meanwhile escapes the timeout; the supervisor then kills the kernel.
    """

    def __init__(self, seconds: float, not_now: Callable[[], bool] = bool) -> None:
        self._seconds = seconds
        self._not_now = not_now
        self._armed = False
        self._end = 0.0
        self._before: list[tuple[signal.Signals, Any]] = []
        self._timer = (0.0, 0.0)
        self._mask: set[Any] = set()

    def __enter__(self) -> Deadline:
        self._end = time.monotonic() + self._seconds
        self._timer = signal.setitimer(signal.ITIMER_REAL, 0)
        self._before = [(number, signal.signal(number, self._on_signal)) for number in (signal.SIGALRM, signal.SIGINT)]
        self._mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM, signal.SIGINT])
        self._armed = True
        signal.setitimer(signal.ITIMER_REAL, self._seconds, _AGAIN_SECONDS)
        return self

    def __exit__(self, _kind: Optional[type[BaseException]], _error: Optional[BaseException], _where: Optional[TracebackType]) -> None:
        self.stop()

    def stop(self) -> None:
        """Idempotent: a signal may have interrupted the first attempt."""
        self._armed = False
        if not self._before:
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._before:
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        self._before = []
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        remaining, interval = self._timer
        if remaining > 0:
            elapsed = self._seconds - self.remaining()
            signal.setitimer(signal.ITIMER_REAL, max(0.001, remaining - elapsed), interval)

    def remaining(self) -> float:
        return self._end - time.monotonic()

    def at_most(self, seconds: float, work: Callable[[], Result]) -> Optional[Result]:
        """Returns the result of `work`, or None if it took longer. The overall timeout still applies, and raises."""
        left = self.remaining()
        if left <= 0:
            raise TookTooLong
        try:
            signal.setitimer(signal.ITIMER_REAL, min(seconds, left), _AGAIN_SECONDS)
            return work()
        except TookTooLong:
            if self.remaining() <= 0:
                raise
            return None
        finally:
            signal.setitimer(signal.ITIMER_REAL, max(0.001, self.remaining()), _AGAIN_SECONDS)

    def suspend(self) -> None:
        """Suspends the timeout, for work that is bounded in itself and must not be interrupted."""
        self._armed = False

    def resume(self) -> None:
        self._armed = True

    def _on_signal(self, _number: int, _frame: Optional[FrameType]) -> None:
        if self._armed and not self._not_now():
            raise TookTooLong
