"""The supervisor's view of one kernel: a pid, a private socket, and frames in both directions."""

from __future__ import annotations

import os
import signal
import socket
from typing import Callable, Optional

from .frames import Frame, FrameDecoder, Head, ProtocolViolation, encode
from .kernel import run_kernel, stand_by
from .limits import Limits
from .loop import Loop
from .outputs import OutputPipes

KernelStarter = Callable[[], "tuple[Optional[int], socket.socket]"]


class KernelProcess:
    """A kernel that was started. `on_frame` gets what it says; `on_gone` is called once, when its socket ends or it speaks garbage.

    Whatever arrives here may have been written by user code: it can hold the socket. Only `on_frame`'s own checks make sense of it.
    """

    def __init__(
        self,
        loop: Loop,
        sock: socket.socket,
        pid: Optional[int],
        on_frame: Callable[[Frame], None],
        on_gone: Callable[[], None],
    ) -> None:
        self.pid = pid
        self.is_up = False
        self.pipes: Optional[OutputPipes] = None
        """Where it writes to, as long as nobody else can hold the same."""
        self.pipes_given_at: Optional[bytes] = None
        self._loop = loop
        self._sock = sock
        self._decoder = FrameDecoder()
        self._on_frame = on_frame
        self._on_gone = on_gone
        self._gone = False
        sock.setblocking(True)
        sock.settimeout(None)
        self._listen(True)

    def send(self, head: Head, body: bytes = b"", fds: tuple[int, ...] = ()) -> None:
        """Blocks for at most a socket buffer: a kernel between executions is always reading."""
        data = encode(Frame(head, body))
        try:
            sent = socket.send_fds(self._sock, [data], list(fds)) if fds else 0
            if sent < len(data):
                self._sock.sendall(data[sent:])
        except OSError:
            self._end()

    def answer_drain(self, head: Head) -> None:
        """SECURITY: never blocks. Code that asks for drains without end and reads no answer would otherwise stop the supervisor."""
        data = encode(Frame({"type": "drained", "turn": int(head["turn"])}))
        try:
            sent = self._sock.send(data, socket.MSG_DONTWAIT)
        except OSError:
            sent = 0
        if sent < len(data):
            self._end()

    def pause(self, paused: bool) -> None:
        """Stops reading from it, so that it blocks when it has more to say than the host will take."""
        if not self._gone:
            self._listen(not paused)

    def kill(self) -> None:
        """Its end is seen when it is reaped."""
        if self.pid is not None:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def close(self) -> None:
        if not self._gone:
            self._gone = True
            self._listen(False)
            self._sock.close()

    def _listen(self, listening: bool) -> None:
        self._loop.on_readable(self._sock.fileno(), self._readable if listening else None)

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
        except (ProtocolViolation, KeyError, TypeError, ValueError, OverflowError):
            self._end()

    def _end(self) -> None:
        if not self._gone:
            self.close()
            self._on_gone()


def fork_kernel(limits: Limits, workspace: str) -> tuple[Optional[int], socket.socket]:
    """A KernelStarter: forks this process. It must have one thread."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        run_kernel(theirs, limits, workspace)
    theirs.close()
    return pid, ours


class WaitingKernel:
    """A kernel forked ahead of the sandbox it will be in. It has all barriers to take, and has run nothing."""

    def __init__(self, workspace: str) -> None:
        self._sock, theirs = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            stand_by(theirs, workspace)
        theirs.close()

    def begin(self, config: Head) -> tuple[Optional[int], socket.socket]:
        """Lets it close itself in, as the first thing a KernelStarter gives out."""
        self._sock.sendall(encode(Frame({"type": "begin", "config": config})))
        return self._pid, self._sock
