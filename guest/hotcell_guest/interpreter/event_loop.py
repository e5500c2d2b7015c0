"""The asyncio event loop of a session, as in notebooks: tasks outlive the cell that created them. Imported with
asyncio.

Cells without `await` run outside the loop, so that `asyncio.run()` and libraries that refuse to block a running loop
work there.
"""

from __future__ import annotations

import asyncio
import functools
import os
import threading
import warnings
from asyncio import events, runners, tasks
from typing import Any, Callable, Coroutine, Optional


class SessionLoop:
    """One loop for the life of a kernel, created on first use: it needs three descriptors.

    The loop runs while a cell awaits. Between cells it is stopped, and so are background tasks.
    """

    def __init__(self) -> None:
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._set_by_user: Optional[asyncio.AbstractEventLoop] = None
        self._main = threading.main_thread().ident
        self._pid = os.getpid()
        self._inherited: list[object] = []

    def install(self) -> None:
        """From now on `create_task`, `ensure_future`, `gather` and `get_event_loop` find this loop if none is running."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # policies are deprecated from 3.14 on, but still used
            policy: Any = asyncio.get_event_loop_policy()
        policy.get_event_loop = self._current_or(policy.get_event_loop)
        policy.set_event_loop = self._noting(policy.set_event_loop)
        _replace("create_task", tasks, self._create_task_or)
        _replace("run", runners, self._run_beside)

    def begin(self) -> None:
        """A cell starts: a loop that an earlier cell set as current is unset."""
        self._set_by_user = None

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Runs a cell that awaits. An interrupt cancels only the cell: background tasks continue with the next one."""
        self._set_by_user = None
        loop = self._current()
        task = loop.create_task(coroutine)
        try:
            return loop.run_until_complete(task)
        except KeyboardInterrupt:
            task.cancel()
            loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
            raise

    def run_ready(self) -> None:
        """Called at the end of a cell: ready tasks run up to their next `await`, so that a new task starts in the cell
        that created it.
        """
        loop = self._loop
        # Not every loop exposes its ready queue: uvloop is always run.
        if loop is None or not getattr(loop, "_ready", True) or loop.is_closed() or os.getpid() != self._pid:
            return
        loop.call_soon(loop.stop)
        loop.run_forever()

    def _current(self) -> asyncio.AbstractEventLoop:
        self._notice_fork()
        if self._set_by_user is not None and not self._set_by_user.is_closed():
            return self._set_by_user
        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.new_event_loop()
        return self._loop

    def _notice_fork(self) -> None:
        """A child that the code forked gets its own loop. It shares the epoll descriptor of the kernel's loops: they
        are neither used nor collected there, because closing one would remove the kernel's sockets from that epoll.
        """
        if os.getpid() != self._pid:
            self._inherited += [self._loop, self._set_by_user]
            self._loop = self._set_by_user = None
            self._pid = os.getpid()

    def _is_main_thread(self) -> bool:
        return threading.get_ident() == self._main

    def _current_or(self, original: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: self._current() if self._is_main_thread() else original()

    def _noting(self, original: Callable[[Any], None]) -> Callable[[Any], None]:
        def set_event_loop(loop: Any) -> None:
            original(loop)
            if self._is_main_thread():
                self._notice_fork()
                self._set_by_user = loop

        return set_event_loop

    def _create_task_or(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def create_task(coro: Any, **options: Any) -> Any:
            if events._get_running_loop() is None and self._is_main_thread():
                return self._current().create_task(coro, **options)
            return original(coro, **options)

        return create_task

    def _run_beside(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """`asyncio.run()` creates its own loop, so it works in a cell that awaits, too: the session's loop waits
        meanwhile.
        """

        @functools.wraps(original)
        def run(main: Any, **options: Any) -> Any:
            running: Any = events._get_running_loop()
            if running is None or running is not self._loop or not self._is_main_thread():
                return original(main, **options)
            swap: Callable[[Any, Any], Any] = getattr(tasks, "_swap_current_task", lambda _loop, task: task)  # from 3.12 on
            current = swap(running, None)
            events._set_running_loop(None)
            try:
                return original(main, **options)
            finally:
                events._set_running_loop(running)
                swap(running, current)

        return run


def _replace(name: str, module: Any, wrapped: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    replacement = wrapped(getattr(module, name))
    setattr(module, name, replacement)
    setattr(asyncio, name, replacement)
