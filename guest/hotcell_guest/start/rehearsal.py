"""Warm-up: runs the first steps of a sandbox before it has a user.

From 3.11 on, Python specialises code while it runs (adaptive interpreter, PEP 659), and writes the result next to the
code. In a fork, each such write copies a page (copy-on-write) and takes time while a caller waits. If the zygote runs
the code often enough, the specialisation is done and all forks share it. If a fork ahead runs it once, the pages that
it will write to are copied already. If the warm-up fails, because descriptors are used up or a preload has changed
something, the sandbox is only slower.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import linecache
import os
import signal
import socket
import sys
from typing import Iterator

from ..kernels.link import Link
from ..kernels.process import Started
from ..languages.python import Kernel
from ..supervisor.supervisor import PROTOCOL, Supervisor
from ..system.limits import Limits
from ..system.loop import Loop
from ..wire.frames import Frame, FrameDecoder, Head, encode
from ..wire.transports import SocketTransport

_FILENAME = "<rehearsal>"
_CODES = (b"print(2)", b"2")
_OFTEN = 25
_MOST_SECONDS = 1.0
_NOBODYS_PID = 4_194_305  # above the maximum pid
_LIMITS = Limits(memory_bytes=1, open_files=1, file_bytes=1, cpus=1)  # limits of a simulated kernel
_SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE)


def rehearse_often(workspace: str) -> None:
    """Repeats the warm-up until the interpreter has specialised the code."""
    for _ in range(_OFTEN):
        rehearse_kernel()
        rehearse_supervisor(workspace)


def rehearse_kernel() -> None:
    """Runs an execution in a simulated kernel, without a supervisor."""
    with contextlib.suppress(Exception), _without_trace():
        _play_kernel()


def rehearse_supervisor(workspace: str) -> None:
    """Runs a supervisor from its configuration on, with a simulated host and kernel."""
    with contextlib.suppress(Exception), _without_trace():
        _play_supervisor(workspace)


def _play_kernel() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        kernel = Kernel(Link(theirs))
        outputs = [os.pipe()[1], os.pipe()[1]]
        for number, code in enumerate(_CODES):
            head: Head = {"type": "execute", "execution": str(number), "filename": _FILENAME}
            socket.send_fds(ours, [encode(Frame(head, code))], [] if number else outputs)
            kernel.take_turn()
            ours.recv(65_536)


def _play_supervisor(workspace: str) -> None:
    with contextlib.closing(Loop()) as loop, contextlib.ExitStack() as sockets:
        channel, link = socket.socketpair(), socket.socketpair()
        for end in (*channel, *link):
            sockets.enter_context(end)
        _Play(loop, channel, link).run(workspace)


class _Play:
    def __init__(self, loop: Loop, channel: tuple[socket.socket, socket.socket], link: tuple[socket.socket, socket.socket]) -> None:
        self._loop = loop
        self._host, self._hosts_guest = channel
        self._kernel, self._kernels_supervisor = link
        self._from_guest, self._from_supervisor = FrameDecoder(), FrameDecoder()
        self._codes = list(_CODES)
        self._sequence = 0
        self._stdout = -1

    def run(self, workspace: str) -> None:
        started = Started(_NOBODYS_PID, self._kernels_supervisor)
        supervisor = Supervisor(self._loop, workspace, lambda _config: (_LIMITS, lambda: started))
        supervisor.configure({})()
        supervisor.announce_warm({"type": "warm", "missing": [], "dropped": []})
        supervisor.attach(SocketTransport(self._hosts_guest))
        self._host.sendall(encode(Frame({"type": "hello", "protocols": [PROTOCOL], "epoch": 1})))
        self._say_as_kernel({"type": "up", "pid": _NOBODYS_PID})
        self._loop.on_readable(self._host.fileno(), self._play_host)
        self._loop.on_readable(self._kernel.fileno(), self._play_kernel)
        self._loop.call_later(_MOST_SECONDS, self._loop.stop)
        self._loop.run()

    def _play_host(self) -> None:
        for frame in self._from_guest.feed(self._host.recv(65_536)):
            if frame.head["type"] in ("ready", "finished"):
                self._execute_or_end()

    def _execute_or_end(self) -> None:
        if not self._codes:
            self._loop.stop()
            return
        self._sequence += 1
        head: Head = {"type": "execute", "execution": str(self._sequence), "filename": _FILENAME}
        head.update(id=self._sequence, stream=self._sequence + 1)
        self._host.sendall(encode(Frame(head, self._codes.pop(0), 0, self._sequence)))

    def _play_kernel(self) -> None:
        chunk, fds, _, _ = socket.recv_fds(self._kernel, 65_536, 4)
        if fds:
            self._stdout = fds[0]
        for frame in self._from_supervisor.feed(chunk):
            if frame.head["type"] == "execute":
                os.write(self._stdout, b"2\n")
                finished: Head = {"type": "finished", "outcome": {"kind": "ok"}, "cpuMs": 0.1, "peakMemoryBytes": 1, "keepsOutput": True}
                finished.update(execution=frame.head["execution"], value={"truncated": False})
                self._say_as_kernel(finished, b"2")

    def _say_as_kernel(self, head: Head, body: bytes = b"") -> None:
        self._kernel.sendall(encode(Frame(head, body)))


@contextlib.contextmanager
def _without_trace() -> Iterator[None]:
    """Restores the state of this process afterwards: its descriptors, signals and names."""
    had_fds, outputs = _open_fds(), _copied_outputs()
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    wakeup_fd = signal.set_wakeup_fd(-1)
    streams = (sys.stdout, sys.__stdout__, sys.stderr, sys.__stderr__)
    had_value, value = hasattr(builtins, "_"), getattr(builtins, "_", None)
    try:
        yield
    finally:
        sys.stdout, sys.__stdout__, sys.stderr, sys.__stderr__ = streams  # type: ignore[misc]
        linecache.cache.pop(_FILENAME, None)
        if had_value:
            builtins._ = value  # type: ignore[attr-defined]
        elif hasattr(builtins, "_"):
            del builtins._
        signal.set_wakeup_fd(wakeup_fd)
        for number, handler in handlers.items():
            # None is a C handler of a library, which Python cannot restore. A fork would not keep it either.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for place, fd in enumerate(outputs, start=1):
            os.dup2(fd, place)
        for fd in _open_fds() - had_fds:
            os.close(fd)
        gc.collect()  # the leftovers contain reference cycles


def _copied_outputs() -> tuple[int, int]:
    stdout = os.dup(1)
    try:
        return stdout, os.dup(2)
    except OSError:
        os.close(stdout)
        raise


def _open_fds() -> set[int]:
    """Without the descriptor that is used for the listing."""
    with os.scandir("/proc/self/fd") as entries:
        found = {int(entry.name) for entry in entries}
    return {fd for fd in found if _is_open(fd)}


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
