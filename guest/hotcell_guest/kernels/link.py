"""A kernel's end of its private socket to the supervisor: frames in both directions, blocking, from any thread."""

from __future__ import annotations

import array
import os
import signal
import socket
import threading
from collections import deque
from typing import Callable

from ..wire.frames import Frame, FrameDecoder, Head, encode

# Frames that may have descriptors: the pipes for output.
_WITH_DESCRIPTORS = frozenset({"execute", "question"})


class Link:
    """`execution` is the execution that frames belong to.

    The user's threads print and display too, even after their execution, while the kernel waits for the next: one thread reads at a time,
    and hands over frames for another.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._decoder = FrameDecoder()
        self._decoded: deque[Frame] = deque()
        self._for_kernel: deque[Frame] = deque()
        self._fds: list[int] = []
        self._reading = threading.Lock()
        self._writing = threading.Lock()
        self._main = threading.get_ident()
        self._main_writes = False
        self._interrupted = False
        self._postponed: deque[bytes] = deque()
        self._afterwards: deque[Callable[[], None]] = deque()
        self._turn = 0
        self.execution = ""

    def fileno(self) -> int:
        return self._sock.fileno()

    def send(self, head: Head, body: bytes = b"") -> None:
        data = encode(Frame({**head, "execution": self.execution}, body))
        if self._is_nested():
            self._postponed.append(data)
        elif threading.get_ident() == self._main:
            self._send_whole(data)
        else:
            with self._writing:
                self._sock.sendall(data)

    def postpone(self, work: Callable[[], None]) -> bool:
        """For work that waits for other threads, which may wait for the write that a signal handler interrupted. Returns whether the caller
        is such a handler; the work is then done after that write."""
        if not self._is_nested():
            return False
        self._afterwards.append(work)
        return True

    def is_writing(self) -> bool:
        """For another signal handler, which retries later."""
        return self._main_writes

    def postpone_interrupt(self) -> bool:
        """For the signal handler: a frame must not be cut in half, so an interrupt waits for the rest of the write."""
        if self._main_writes:
            self._interrupted = True
        return self._main_writes

    def receive(self) -> tuple[Frame, list[int]]:
        """Returns the next frame for the kernel, with the descriptors that came for it. Ends this process when the supervisor has ended."""
        with self._reading:
            frame = self._for_kernel.popleft() if self._for_kernel else self._next()
            if frame.head["type"] not in _WITH_DESCRIPTORS:
                return frame, []  # one read may take a frame without descriptors together with the next, which has some
            fds, self._fds = self._fds, []
            return frame, fds

    @property
    def has_more(self) -> bool:
        """Whether frames are buffered that the kernel has not received. A poll of the socket would not tell."""
        return bool(self._for_kernel or self._decoded)

    def wait_for_end(self) -> None:
        """Returns when the supervisor has closed its end. Later frames are ignored."""
        while self._sock.recv(65_536):
            pass

    def drain(self) -> None:
        """Returns when the supervisor has taken all that was written; at once if another thread reads, the kernel is idle, or a signal
        handler interrupted a write."""
        if self._is_nested() or not self._reading.acquire(blocking=False):
            return
        try:
            self._turn += 1
            self.send({"type": "drain", "turn": self._turn})
            while True:
                frame = self._next()
                if frame.head["type"] != "drained":
                    self._for_kernel.append(frame)
                elif frame.head["turn"] == self._turn:
                    return
        finally:
            self._reading.release()

    def _send_whole(self, data: bytes) -> None:
        self._main_writes = True
        try:
            with self._writing:
                self._sock.sendall(data)
                while self._postponed:
                    self._sock.sendall(self._postponed.popleft())
        finally:
            self._main_writes = False
        interrupted, self._interrupted = self._interrupted, False
        while self._afterwards:
            self._afterwards.popleft()()
        if interrupted:
            raise KeyboardInterrupt

    def _is_nested(self) -> bool:
        """Whether a signal handler of the user interrupted a write. Waiting for the lock would be a deadlock."""
        return self._main_writes and threading.get_ident() == self._main

    def _next(self) -> Frame:
        while not self._decoded:
            chunk, ancillary, _, _ = self._sock.recvmsg(65_536, socket.CMSG_SPACE(4 * array.array("i").itemsize))
            if not chunk:
                # SIGKILL and not an exit code, which would look like the program's own.
                os.kill(os.getpid(), signal.SIGKILL)
            for level, kind, data in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    fds = array.array("i")
                    fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
                    self._fds.extend(fds)
            self._decoded.extend(self._decoder.feed(chunk))
        return self._decoded.popleft()
