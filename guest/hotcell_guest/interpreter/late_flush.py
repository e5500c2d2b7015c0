"""When printed lines leave the process: at once, or in a flood together within a few milliseconds.

A system call for each line is most of the cost of printing, above all in gVisor. The first lines are written as they
come. A program that prints more than a line every few milliseconds for long has them collected; a thread writes them
if the program falls silent. It is started with the first flood, so most programs never have it.
"""

from __future__ import annotations

import _thread
import os
import sys
import time
from typing import Any, Callable

_DELAY_SECONDS = 0.005
# Lines that are written at once, before a flood is one.
_LINES_AT_ONCE = 64
_IDLE_ROUNDS = 20
# Other processes, or the end of this one, see what was printed before. `os._exit` and `os.abort` raise no event.
_FLUSHING_EVENTS = frozenset(
    {"subprocess.Popen", "os.system", "os.posix_spawn", "os.spawn", "os.exec", "os.fork", "os.forkpty", "pty.spawn", "os.kill", "os.killpg"}
)
_FLUSHING_ENDS = ("_exit", "abort")


class LateFlush:
    """Decides for one stream when `flush` is called. `begin` is called before each execution, in the process that prints."""

    def __init__(self, flush: Callable[[], None]) -> None:
        self._flush = flush
        self._lines_left = float(_LINES_AT_ONCE)
        self._flushed_at = 0.0
        self._is_pending = False
        self._thread_lives = False
        self._stops = False
        self._is_installed = False
        self._is_child = False
        self._working = _thread.allocate_lock()
        self._wake = _thread.allocate_lock()
        self._wake.acquire()

    def line_written(self) -> None:
        now = time.monotonic()
        since = now - self._flushed_at
        if since >= _DELAY_SECONDS or self._lines_left >= 1 or self._is_child:
            self._lines_left = min(float(_LINES_AT_ONCE), self._lines_left + since / _DELAY_SECONDS) - 1
            self._flushed_at = now
            self._is_pending = False
            self._flush()
            return
        self._is_pending = True
        if not self._thread_lives:
            self._install()
            self._thread_lives = True
            _thread.start_new_thread(self._flush_in_time, ())

    def flush_now(self) -> None:
        if self._is_pending and not self._is_child:
            self._is_pending = False
            try:
                self._flush()
            except (OSError, ValueError):
                pass  # the program closed its stream; its own write says so

    def _flush_in_time(self) -> None:
        """The thread. It ends after a while without a flood."""
        idle = 0
        while idle < _IDLE_ROUNDS and not self._stops:
            self._wake.acquire(timeout=_DELAY_SECONDS)
            with self._working:
                idle = 0 if self._is_pending else idle + 1
                self.flush_now()
        self._thread_lives = False
        if self._is_pending:
            self.flush_now()

    def _install(self) -> None:
        """Once, with the first flood: makes everything else that prints or ends the process come after what was printed."""
        if self._is_installed:
            return
        self._is_installed = True
        os.register_at_fork(before=self._before_fork, after_in_parent=self._after_fork, after_in_child=self._after_fork_in_child)
        sys.addaudithook(self._on_event)
        module: Any = os
        for name in _FLUSHING_ENDS:
            setattr(module, name, self._flushing(getattr(module, name)))

    def _on_event(self, event: str, _arguments: Any) -> None:
        if self._is_pending and event in _FLUSHING_EVENTS:
            self.flush_now()

    def _flushing(self, end: Callable[..., Any]) -> Callable[..., Any]:
        def flushed_end(*arguments: Any) -> Any:
            self.flush_now()
            return end(*arguments)

        flushed_end.__name__ = flushed_end.__qualname__ = end.__name__
        flushed_end.__doc__ = end.__doc__
        return flushed_end

    def _before_fork(self) -> None:
        """A fork copies one thread: none other may be inside the stream, whose lock the child would wait for forever."""
        self._stops = True
        if self._wake.locked():
            self._wake.release()
        self._working.acquire()
        self.flush_now()

    def _after_fork(self) -> None:
        self._stops = False
        self._wake.acquire(blocking=False)
        self._working.release()

    def _after_fork_in_child(self) -> None:
        self._is_child = True
        self._working.release()
