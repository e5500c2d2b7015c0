"""The supervisor's view of one kernel: a pid, a private socket, and frames in both directions."""

from __future__ import annotations

import os
import signal
import socket
from typing import Callable, NamedTuple, Optional

from ..system import processes
from ..system.loop import Loop
from ..wire.frames import Frame, FrameDecoder, Head, ProtocolViolation, encode
from .outputs import OutputPipes


class Started(NamedTuple):
    """A kernel that was just started. Its `pid` may be unknown until it sends `up`.

    `pipes`: the pair that it writes to all its life, if it cannot receive descriptors. `has_helper`: it may name one child that counts as
    part of the kernel. `subreaper`: the pid of its parent, if that is neither the supervisor nor the kernel itself. `runs_commands`: its
    descendants never belong to another kernel.
    """

    pid: Optional[int]
    sock: socket.socket
    pipes: Optional[OutputPipes] = None
    has_helper: bool = False
    subreaper: Optional[int] = None
    runs_commands: bool = False


KernelStarter = Callable[[], Started]
_MOST_UNSENT = 64
# Time for a subreaper to end after its kernel.
_SUBREAPER_SECONDS = 0.2


class KernelProcess:
    """A kernel that was started. `on_frame` gets its frames; `on_gone` is called once, when its socket ends or sends garbage.

    SECURITY: user code can hold the socket, so it may have written any frame. `on_frame` checks each of them.
    """

    def __init__(
        self,
        loop: Loop,
        started: Started,
        on_frame: Callable[[Frame], None],
        on_gone: Callable[[], None],
    ) -> None:
        self.pid = started.pid
        self.own_pipes = started.pipes
        self.is_up = False
        self.helper: Optional[int] = None
        self.subreaper = started.subreaper
        self.runs_commands = started.runs_commands
        self._has_helper = started.has_helper
        self.pipes: Optional[OutputPipes] = None
        """The pipes it writes to, as long as no other process can hold them."""
        self.pipes_given_at: Optional[bytes] = None
        self.foreground: Optional[Callable[[], Optional[int]]] = None
        """Returns the process group in the foreground of its command's terminal, while there is one."""
        self.network_version = 0
        """The version of the network's variables that it was last told."""
        self._loop = loop
        self._sock = sock = started.sock
        self._unsent: list[tuple[bytes, tuple[int, ...]]] = []
        self._decoder = FrameDecoder()
        self._on_frame = on_frame
        self._on_gone = on_gone
        self._gone = False
        sock.setblocking(True)
        sock.settimeout(None)
        self._listen(True)

    def send(self, head: Head, body: bytes = b"", fds: tuple[int, ...] = ()) -> None:
        """Never blocks, because user code may keep its kernel from reading. Bytes that do not fit into the socket are sent later."""
        if self._gone:
            return
        data = encode(Frame(head, body))
        if self._unsent:
            self._keep(data, fds)
            return
        try:
            sent = self._push(data, fds)
        except OSError:
            self._end()
            return
        if sent < len(data):
            self._keep(data[sent:], () if sent else fds)
            self._loop.on_writable(self._sock.fileno(), self._writable)

    def name_helper(self, pid: int) -> None:
        """SECURITY: only for a kernel whose socket user code cannot hold. Otherwise code could name a child that is never killed."""
        if self._has_helper:
            self.helper = pid

    def kill_helper(self) -> None:
        """Called when the kernel is gone: code that killed it must not go on in the child that ran the code."""
        if self.helper is not None:
            try:
                os.kill(self.helper, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def answer_drain(self, turn: int) -> None:
        """SECURITY: code that requests drains without end and reads no answer must not fill the supervisor's memory."""
        if not self.is_behind:
            self.send({"type": "drained", "turn": turn})
        else:
            self._end()

    @property
    def is_behind(self) -> bool:
        """Whether it has not read what it was sent, so that only necessary frames are sent."""
        return len(self._unsent) >= _MOST_UNSENT

    def pause(self, paused: bool) -> None:
        """Stops reading from it, so that it blocks when it sends more than the host takes."""
        if not self._gone:
            self._listen(not paused)

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes of the kernel itself: the kernel, its helper, its subreaper."""
        return tuple(pid for pid in (self.pid, self.helper, self.subreaper) if pid is not None)

    def is_reaped_as(self, pid: int) -> bool:
        """Whether the end of that child of the supervisor is the end of this kernel."""
        return pid == (self.pid if self.subreaper is None else self.subreaper)

    def kill(self) -> None:
        """Kills the kernel. Its end is seen when it is reaped."""
        if self.pid is not None:
            processes.kill(self.pid)
        if self.subreaper is None:
            return
        if self.pid is None:
            processes.kill(self.subreaper)
            return
        # The subreaper may be stopped. Once it continues it ends as its kernel did, and so reports the status.
        processes.kill(self.subreaper, signal.SIGCONT)
        try:
            alive = processes.read_process(self.subreaper)
        except OSError:
            return
        self._loop.call_later(_SUBREAPER_SECONDS, lambda: _kill_same(alive))

    def close(self) -> None:
        if not self._gone:
            self._gone = True
            self._listen(False)
            self._loop.on_writable(self._sock.fileno(), None)
            self._sock.close()
            for _, fds in self._unsent:
                for fd in fds:
                    os.close(fd)
            self._unsent = []

    def _listen(self, listening: bool) -> None:
        self._loop.on_readable(self._sock.fileno(), self._readable if listening else None)

    def _push(self, data: bytes, fds: tuple[int, ...]) -> int:
        """Returns how many bytes were sent; the descriptors go with the first of them."""
        try:
            if fds:
                return socket.send_fds(self._sock, [data], list(fds), socket.MSG_DONTWAIT)
            return self._sock.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0

    def _keep(self, data: bytes, fds: tuple[int, ...]) -> None:
        self._unsent.append((data, tuple(os.dup(fd) for fd in fds)))

    def _writable(self) -> None:
        data, fds = self._unsent.pop(0)
        try:
            sent = self._push(data, fds)
        except OSError:
            sent = -1
        if sent == 0:
            self._unsent.insert(0, (data, fds))
            return
        for fd in fds:
            os.close(fd)
        if sent < 0:
            self._end()
        elif sent < len(data):
            self._unsent.insert(0, (data[sent:], ()))
        elif not self._unsent:
            self._loop.on_writable(self._sock.fileno(), None)

    def _readable(self) -> None:
        try:
            chunk = self._sock.recv(65_536, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._end()
            return
        try:
            for frame in self._decoder.feed(chunk):
                if self._gone:
                    return
                self._on_frame(frame)
        except (ProtocolViolation, KeyError, TypeError, ValueError, OverflowError, RecursionError):
            self._end()

    def _end(self) -> None:
        if not self._gone:
            self.close()
            self._on_gone()


def _kill_same(subreaper: processes.Process) -> None:
    """SECURITY: code that stops a subreaper again and again would hide the end of its kernel for ever. Checks that the pid was not
    reused."""
    try:
        now = processes.read_process(subreaper.pid)
    except OSError:
        return
    if (now.started, now.parent) == (subreaper.started, os.getpid()):
        processes.kill(subreaper.pid)
