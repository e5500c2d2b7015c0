"""The warm stage: a fork that imports the preloads while the bare stage already serves, and then forks on request."""

from __future__ import annotations

import os
import signal
import socket
import sys
from typing import Callable, NoReturn, Optional

from ..kernels import preload
from ..languages.exercise import exercise_loaded
from ..supervisor.layers import STANDARD_MODULES
from ..system import linux, processes
from ..system.descriptors import keep_only
from ..system.environment import apply_environment
from ..system.loop import Loop
from ..wire.frames import Frame, FrameDecoder, Head, encode
from .file_pages import forget_file_pages
from .huge_pages import join_pages

Handler = Callable[[Frame, "list[int]"], None]


def _nothing() -> None:
    """Nothing to do."""


class WarmStage:
    """Runs a warm fork of this process. `handler` is called in that fork for each request, and usually forks again;
    `rehearse` is called once before the first, as a warm-up. The fork has `environment`, or that of this process.

    A preload that leaves a thread behind is dropped, and the stage is started again without it. If the fork dies,
    `is_ready` is false again and the bare stage continues alone; `on_lost` reports that earlier requests may never be
    served.
    """

    def __init__(
        self,
        loop: Loop,
        preloads: list[str],
        handler: Handler,
        on_ready: Callable[[Head], None],
        *,
        rehearse: Callable[[], None] = _nothing,
        on_lost: Callable[[], None] = _nothing,
        environment: Optional[dict[str, str]] = None,
    ) -> None:
        self.is_ready = False
        self.loaded: list[str] = []
        """The packages that it has loaded, and modules outside of one; none before it is ready."""
        self.pid: Optional[int] = None
        self._loop = loop
        self._preloads = preloads
        self._dropped: list[str] = []
        self._handler = handler
        self._rehearse = rehearse
        self._on_ready = on_ready
        self._on_lost = on_lost
        self._environment = environment
        self._sock: Optional[socket.socket] = None
        self._decoder = FrameDecoder()

    def start(self) -> None:
        ours, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            ours.close()
            if self._environment is not None:
                apply_environment(self._environment)
            _serve(theirs, self._preloads, self._handler, self._rehearse)
        theirs.close()
        self._sock = ours
        self._decoder = FrameDecoder()
        self._loop.on_readable(ours.fileno(), self._readable)

    def hold(self, is_held: bool) -> None:
        """Pauses the import of the preloads, or resumes it: they are for later kernels, and would compete for the processor with an
        execution that runs now.
        """
        if self.pid is not None and not self.is_ready:
            processes.kill(self.pid, signal.SIGSTOP if is_held else signal.SIGCONT)  # which may have died a moment ago

    def request(self, head: Head, fds: tuple[int, ...] = ()) -> None:
        """Only while `is_ready`. The stage never runs user code, so it is trusted to read requests; but user code
        beside it may have stopped it.
        """
        assert self._sock is not None and self.pid is not None
        processes.kill(self.pid, signal.SIGCONT)
        socket.send_fds(self._sock, [encode(Frame(head))], list(fds))

    def _readable(self) -> None:
        assert self._sock is not None
        try:
            chunk = self._sock.recv(65_536)
        except OSError:
            chunk = b""
        if not chunk:
            was_ready = self.is_ready
            self._end()
            if was_ready:
                self._on_lost()
            else:
                # It died during a preload: callers continue with the bare stage.
                self._on_ready({"type": "warm", "missing": self._preloads, "dropped": self._dropped, "died": True})
            return
        for frame in self._decoder.feed(chunk):
            if frame.head["type"] == "warm":
                self.is_ready = True
                self.loaded = frame.head.pop("loaded")
                self._on_ready({**frame.head, "dropped": self._dropped})
            elif frame.head["type"] == "leaves-thread":
                self._begin_without(str(frame.head["module"]))
                return

    def _begin_without(self, module: str) -> None:
        self._end()
        self._dropped.append(module)
        self._preloads = [name for name in self._preloads if name != module]
        self.start()

    def _end(self) -> None:
        self.is_ready = False
        self.pid = None
        if self._sock is not None:
            self._loop.on_readable(self._sock.fileno(), None)
            self._sock.close()
            self._sock = None


def _serve(sock: socket.socket, preloads: list[str], handler: Handler, rehearse: Callable[[], None]) -> NoReturn:
    try:
        linux.die_with_parent()
        signal.set_wakeup_fd(-1)
        # Its children are reaped by others, or ignored.
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        # When the supervisor ends an execution, it stops and continues all processes, even during a fork. The child
        # inherits the pending SIGSTOP, and the SIGCONT only if the parent does not ignore that; ignoring is the
        # default.
        signal.signal(signal.SIGCONT, lambda _number, _frame: None)
        # The channel and the kernels' sockets belong only to the bare stage.
        sock = socket.socket(fileno=keep_only(sock.detach(), 3))
        try:
            missing = preload.import_all(preloads)
            exercise_loaded()
            if preload.thread_count() != 1:
                raise preload.LeavesThread(preloads[-1])
        except preload.LeavesThread as error:
            sock.sendall(encode(Frame({"type": "leaves-thread", "module": error.module})))
            os._exit(0)
        preload.freeze()  # also before the warm-up: it collects garbage, and need not visit all imported objects
        rehearse()
        preload.freeze()
        forget_file_pages()
        join_pages()
        sock.sendall(encode(Frame({"type": "warm", "missing": missing, "loaded": _top_levels()})))
        _requests(sock, handler)
    except BaseException as error:  # noqa: BLE001 - say it where the host's log can see it
        os.write(2, f"warm stage: {type(error).__name__}: {error}\n".encode())
    os._exit(0)


def _top_levels() -> list[str]:
    return sorted({name.partition(".")[0] for name in sys.modules} - STANDARD_MODULES)


def _requests(sock: socket.socket, handler: Handler) -> None:
    decoder = FrameDecoder()
    while True:
        chunk, fds, _, _ = socket.recv_fds(sock, 65_536, 4)
        if not chunk:
            return
        for frame in decoder.feed(chunk):
            handler(frame, fds)
        for fd in fds:
            os.close(fd)
