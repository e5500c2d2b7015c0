"""A guest with its own sandbox: a container, a single jail, or (in tests) a bare process."""

from __future__ import annotations

import os
import socket
from typing import NoReturn, Optional

from ..kernels.process import KernelStarter, Started
from ..languages.python import run_kernel
from ..supervisor.supervisor import Supervisor
from ..system import hardening, linux
from ..system.environment import apply_environment
from ..system.limits import Limits, draw_processors
from ..system.loop import Loop
from ..wire.frames import Frame, Head
from ..wire.listening import listen
from ..wire.transports import PipeTransport, SocketTransport, Transport
from .python_kernels import fork_python_kernel
from .warm import WarmStage


def serve(transport: Optional[Transport], workspace: str, listen_on: Optional[str] = None, peer_uid: Optional[int] = None) -> NoReturn:
    """Serves one sandbox on a transport, or on a socket that accepts reconnections. Never returns."""
    if os.getpid() != 1:
        linux.set_child_subreaper()
    loop = Loop()
    guest = _Guest(loop, workspace, can_reconnect=listen_on is not None)
    if transport is not None:
        guest.supervisor.attach(transport)
    if listen_on is not None:
        listen(listen_on, peer_uid, loop, guest.supervisor.attach)
    guest.supervisor.run()


class _Guest:
    """Kernels are forked from this process until the warm stage has its preloads, and from that stage afterwards."""

    def __init__(self, loop: Loop, workspace: str, can_reconnect: bool) -> None:
        self._loop = loop
        self._workspace = workspace
        self._warm: Optional[WarmStage] = None
        self._limits: Optional[Limits] = None
        self._environment: dict[str, str] = {}
        self.supervisor = Supervisor(loop, workspace, self._configure, can_reconnect)
        self.supervisor.protect(self._stage_pids)
        self.supervisor.on_busy(self._hold_warm_stage)
        self.supervisor.on_environment(self._take_environment)

    def _configure(self, config: Head) -> tuple[Limits, KernelStarter]:
        draw_processors(config["limits"])
        limits = self._limits = Limits.from_message(config["limits"])
        self._environment = config.get("environment") or {}
        apply_environment(self._environment)
        hardening.harden(config.get("seccomp"))
        preloads = [str(name) for name in config.get("preloads") or []]
        if preloads:
            # SECURITY: preloads are imported without the session's variables. `OPENSSL_CONF` or `BROWSER` would make them run
            # the caller's code.
            before = config.get("preloadEnvironment") or self._environment
            self._warm = WarmStage(self._loop, preloads, self._serve_in_warm_stage, self._on_warm, environment=before)
            self._warm.start()
        else:
            self.supervisor.announce_warm({"type": "warm", "missing": [], "dropped": []})
        return limits, self._start_kernel

    def _start_kernel(self) -> Started:
        assert self._limits is not None
        if self._warm is None or not self._warm.is_ready or self.supervisor.layers.supersede_preloads:
            return fork_python_kernel(self._limits, self._workspace)
        ours, theirs = socket.socketpair()
        self._warm.request({"type": "kernel"}, (theirs.fileno(),))
        theirs.close()
        return Started(None, ours)

    def _serve_in_warm_stage(self, request: Frame, fds: list[int]) -> None:
        """Runs in the warm stage. For a kernel it forks twice, so that the kernel becomes an orphan and the supervisor, its
        subreaper, reaps it.
        """
        if request.head["type"] == "environment":
            self._environment = request.head["environment"]
            return
        assert self._limits is not None
        if os.fork() != 0:
            return
        if os.fork() != 0:
            os._exit(0)
        apply_environment(self._environment)
        run_kernel(socket.socket(fileno=fds[0]), self._limits, self._workspace)

    def _take_environment(self, environment: dict[str, str]) -> None:
        self._environment = environment
        self._tell_warm_stage()

    def _tell_warm_stage(self) -> None:
        """Tells the stage, which has its copy of the environment from the time when it was forked."""
        if self._warm is not None and self._warm.is_ready:
            try:
                self._warm.request({"type": "environment", "environment": self._environment})
            except OSError:
                pass  # it has just died, and kernels are forked from this process

    def _on_warm(self, head: Head) -> None:
        if self._warm is not None:
            self.supervisor.layers.name_preloaded(self._warm.loaded)
        self._tell_warm_stage()
        self.supervisor.use_better_stage(then=lambda: self.supervisor.announce_warm(head))

    def _hold_warm_stage(self, is_busy: bool) -> None:
        if self._warm is not None:
            self._warm.hold(is_busy)

    def _stage_pids(self) -> set[int]:
        return {self._warm.pid} if self._warm is not None and self._warm.pid is not None else set()


def transport_of(name: str) -> Transport:
    """`stdio`, or the number of a socket descriptor. Either is moved away from 0 to 2, where user code would find it."""
    if name == "stdio":
        read_fd, write_fd = os.dup(0), os.dup(1)
        leave_stdio()
        return PipeTransport(read_fd, write_fd)
    return SocketTransport(socket.socket(fileno=int(name)))


def leave_stdio() -> None:
    """Replaces descriptors 0 and 1 after their streams were moved."""
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
