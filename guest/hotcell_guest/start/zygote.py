"""The zygote of the process driver's shared shape: pid 1 of a jail, which forks a sandbox for each session of one
owner.
"""

from __future__ import annotations

import os
import signal
import socket
from typing import NoReturn, Optional

from ..kernels import font_cache, preload
from ..kernels.process import KernelStarter, Started
from ..supervisor.supervisor import Supervisor
from ..system import hardening, linux
from ..system.descriptors import keep_only
from ..system.environment import apply_environment
from ..system.limits import Limits, draw_processors
from ..system.loop import Loop
from ..wire.frames import HEADER, Frame, FrameDecoder, Head, encode
from ..wire.transports import SocketTransport
from . import jail as jail_module
from .fresh_kernel import start_fresh_kernel
from .jail import CONTROL_FOLDER, Jail, JailError
from .python_kernels import WaitingKernel, fork_python_kernel
from .rehearsal import rehearse_often, rehearse_supervisor
from .warm import WarmStage

CONTROL_SOCKET = f"{CONTROL_FOLDER}/control"
# The reason why no sandbox can be created here, reported to each request.
_not_apart: Optional[OSError] = None


def serve(control_fd: int, workspace: str) -> NoReturn:
    """Serves the host's control connection until it ends. Never returns."""
    keep_mounts_apart()
    _Zygote(socket.socket(fileno=control_fd), workspace).run()


def keep_mounts_apart() -> None:
    """SECURITY: bubblewrap leaves its mounts as slaves of the host's (mount propagation). A file system that the host
    mounts later below a read-only folder would appear in it, writable for every later session. So the mounts are made
    private, in a new mount namespace: the jail's may belong to a user namespace above this one.
    """
    global _not_apart
    try:
        linux.unshare(linux.CLONE_NEWNS)
        linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    except OSError as error:
        _not_apart = error
    linux.drop_capability(linux.CAP_SYS_ADMIN)


class _Zygote:
    """It is bare at first; once the warm stage has its preloads, that stage creates the sandboxes."""

    def __init__(self, control: socket.socket, workspace: str) -> None:
        self._control = control
        self._workspace = workspace
        self._decoder = FrameDecoder()
        self._loop = Loop()
        self._warm: Optional[WarmStage] = None

    def run(self) -> NoReturn:
        # As pid 1 it inherits every orphan of the jail; ignoring SIGCHLD reaps them.
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._loop.on_readable(self._control.fileno(), self._readable)
        self._loop.run()
        os._exit(0)

    def _readable(self) -> None:
        chunk = self._control.recv(65_536)
        if not chunk:
            self._loop.stop()
            return
        for frame in self._decoder.feed(chunk):
            if frame.head["type"] == "configure":
                self._configure(frame.head)
            elif frame.head["type"] == "open":
                self._open(frame)

    def _configure(self, head: Head) -> None:
        apply_environment(head["environment"])
        font_cache.offer_font_cache(os.environ.get("MPLCONFIGDIR", "/tmp/matplotlib"))
        preload.freeze()
        preloads = [str(name) for name in head["preloads"]]
        if not preloads:
            self._say({"type": "warm", "missing": [], "dropped": []})
            return
        self._warm = WarmStage(
            self._loop,
            preloads,
            handler=lambda frame, _fds: open_sandbox(frame, self._workspace),
            on_ready=self._say,
            rehearse=lambda: rehearse_often(self._workspace),
            on_lost=lambda: self._say({"type": "cold"}),
        )
        self._warm.start()

    def _open(self, frame: Frame) -> None:
        if self._warm is not None and self._warm.is_ready:
            try:
                self._warm.request(frame.head)
                return
            except OSError:
                pass  # it has just died, and its end was not noticed yet
        open_sandbox(frame, self._workspace)

    def _say(self, head: Head) -> None:
        self._control.sendall(encode(Frame(head)))


def open_sandbox(frame: Frame, workspace: str) -> None:
    """Clones pid 1 of a new sandbox. The parent returns at once; the child never does."""
    token, uid = str(frame.head["token"]), frame.head.get("uid")
    own, gid = os.getuid(), os.getgid()
    # Connected here, because the folder of the socket is covered in a session.
    channel = socket.socket(socket.AF_UNIX)
    try:
        channel.connect(CONTROL_SOCKET)
        if _not_apart is not None:
            raise _not_apart
        pid = _clone_as(own if uid is None else int(uid), own)
    except OSError as error:
        _say_that_it_failed(channel, token, error)
        return
    if pid == 0:
        try:
            _become_sandbox(channel, token, workspace, uid=own if uid is None else int(uid), gid=gid)
        except BaseException as error:  # noqa: BLE001 - last words, where the host's log can see them
            os.write(2, f"session: {type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(70)
    channel.close()


def _clone_as(uid: int, own: int) -> int:
    """SECURITY: a user namespace belongs to the uid that created it, and that uid has every capability in it. A
    session's namespace belongs to its own uid, so that the zygote cannot open `/proc/<pid>/root` of a session, and
    quotas per uid apply to one session.
    """
    if uid == own:
        return linux.clone(jail_module.NAMESPACES)
    os.setresuid(uid, uid, own)
    try:
        pid = linux.clone(jail_module.NAMESPACES)
    except OSError:
        _return_to(own)
        raise
    if pid != 0:
        _return_to(own)
    return pid


def _return_to(own: int) -> None:
    os.setresuid(own, own, own)
    linux.die_with_parent()  # Linux clears it with every change of uid


def _say_that_it_failed(sock: socket.socket, token: str, error: OSError) -> None:
    with sock:
        sock.sendall(encode(Frame({"type": "failed", "token": token, "step": "clone", "errno": error.errno, "message": str(error)})))


def _become_sandbox(channel: socket.socket, token: str, workspace: str, *, uid: int, gid: int) -> NoReturn:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # SECURITY: without this a session would inherit the sockets of the zygote and of its neighbours.
    sock = socket.socket(fileno=keep_only(channel.detach(), 3))
    # The pid outside: the /proc that is still mounted here belongs to the jail.
    sock.sendall(encode(Frame({"type": "attach", "token": token, "pid": int(os.readlink("/proc/self"))})))
    try:
        jail_module.map_identity(uid, gid)
        go = _receive_one(sock).head
        waiting: Optional[WaitingKernel] = None
        supervisor: Optional[Supervisor] = None
        jail_module.prepare()
        if go["type"] == "stand-by":
            jail_module.hide_cgroup()
            linux.no_new_privileges()  # early, while no caller waits; it does not affect the mounts
            waiting = WaitingKernel(workspace, str(go["seccomp"]))
            sock.sendall(encode(Frame({"type": "standing-by"})))
            rehearse_supervisor(workspace)
            supervisor = _make_supervisor(workspace, waiting)
            go = _receive_one(sock).head
        jail_module.enter(Jail.from_message(go["jail"], workspace), placed=lambda: _expect(sock, "placed"))
        draw_processors(go["config"]["limits"])
        if waiting is not None:
            waiting.begin(go["config"])  # first, because the kernel needs the longest time
        os.chdir(workspace)
        supervisor = supervisor or _make_supervisor(workspace, waiting)
        begin = supervisor.configure(go["config"])
    except (JailError, OSError) as error:
        step, number = (error.step, error.errno) if isinstance(error, JailError) else ("configure", error.errno)
        sock.sendall(encode(Frame({"type": "failed", "step": step, "errno": number, "message": str(error)})))
        # Waits until the host closes the socket: if it were closed here, the host could fail to write before it has
        # read the reason.
        while sock.recv(65_536):
            pass
        os._exit(71)
    sock.sendall(encode(Frame({"type": "entered"})))
    begin()  # while the host prepares its hello
    # Its kernels have exactly the preloads that it was forked with.
    supervisor.announce_warm({"type": "warm", "missing": [], "dropped": []})
    supervisor.attach(SocketTransport(sock))
    supervisor.run()


def _make_supervisor(workspace: str, waiting: Optional[WaitingKernel]) -> Supervisor:
    """`waiting` is the first kernel to use, if it is still alive."""

    def configure(config: Head) -> tuple[Limits, KernelStarter]:
        limits = Limits.from_message(config["limits"])
        apply_environment(config["environment"])
        hardening.harden(config.get("seccomp"))

        def start_kernel() -> Started:
            if supervisor.layers.supersede_preloads:
                return start_fresh_kernel(config["limits"], workspace)
            started = None if waiting is None else waiting.take()
            return started if started is not None else fork_python_kernel(limits, workspace)

        return limits, start_kernel

    supervisor = Supervisor(Loop(), workspace, configure)
    return supervisor


def _expect(sock: socket.socket, kind: str) -> None:
    if _receive_one(sock).head["type"] != kind:
        os._exit(72)


def _receive_one(sock: socket.socket) -> Frame:
    """Reads exactly one frame, and no byte more: the following bytes belong to the channel."""
    header = _receive_exactly(sock, HEADER.size)
    _, _, _, head_bytes, body_bytes, _, _, _ = HEADER.unpack(header)
    rest = _receive_exactly(sock, head_bytes + body_bytes)
    return next(FrameDecoder().feed(header + rest))


def _receive_exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = sock.recv(size - len(data))
        if not chunk:
            os._exit(0)
        data += chunk
    return data
