"""The supervisor: pid 1 of a sandbox. It owns the channel, answers requests, and reaps dead processes."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Callable, NoReturn, Optional

from .. import GUEST_VERSION
from ..files.artifacts import Workspace
from ..files.requests import FileRequests
from ..files.upload_targets import UnnamedFile
from ..files.uploads import Uploads
from ..files.workspace_files import FileError
from ..kernels import font_cache
from ..kernels.process import KernelStarter
from ..languages.node import node_preload
from ..system import processes
from ..system.environment import change_variables
from ..system.limits import Limits
from ..system.loop import Loop
from ..system.mount_identity import are_expected
from ..wire.call_socket import VARIABLE
from ..wire.channel import Channel
from ..wire.frames import Frame, Head
from ..wire.open_calls import OpenCalls
from ..wire.refusal import Refusal
from ..wire.transports import Transport
from .calls import Calls
from .disconnect_timeout import DisconnectTimeout
from .executions import Executions
from .layers import Layers

if TYPE_CHECKING:
    from ..network.network import Network

PROTOCOL = 1


class Supervisor:
    """One per sandbox. `prepare` is called with the host's configuration, and returns the limits and the starter of kernels.

    `can_reconnect`: a lost channel may come back, so the sandbox lives on; otherwise the sandbox ends with it.
    """

    def __init__(
        self, loop: Loop, workspace: str, prepare: Callable[[Head], tuple[Limits, KernelStarter]], can_reconnect: bool = False
    ) -> None:
        self._loop = loop
        self._workspace = Workspace(workspace)
        self._prepare = prepare
        self._is_configured = False
        self._can_reconnect = can_reconnect
        self._disconnect_timeout = DisconnectTimeout(loop, lambda: self._executions.interrupt_running("closing"), loop.stop)
        self._warm: Optional[Head] = None
        self._on_environment: Callable[[dict[str, str]], None] = lambda _environment: None
        self._channel = Channel(loop, self._on_hello, self._on_frame, self._on_lost)
        self._uploads = Uploads(self._channel, self._fail)
        self._files = FileRequests(self._channel, self._uploads, workspace, self._reply, changed=self._workspace.accept)
        self._executions = Executions(loop, self._channel, self._workspace, reply=self._reply, fail=self._fail)
        self._open_calls = OpenCalls()
        self._calls = Calls(loop, self._channel, self._open_calls, self._executions.execution_of)
        self._executions.on_run_over = self._calls.end_execution
        self.layers = Layers(self._uploads, self._executions.kernels, self._reply, self._executions.replace_unused_kernel)
        self._network: Optional[Network] = None
        self._requests: dict[str, Callable[[Frame], Optional[Head]]] = {
            **self._executions.requests,
            **self._files.requests,
            **self.layers.requests,
            "variables.set": self._set_variable,
            "environment": self._add_environment,
            "calls": self._offer_calls,
            "network": self._set_network,
        }

    def attach(self, transport: Transport) -> None:
        """Takes a new connection; its `hello` decides whether it takes over."""
        self._channel.attach(transport)

    def configure(self, config: Head) -> Callable[[], None]:
        """Applies the host's configuration, with the first hello at the latest. The returned function starts the first kernel."""
        self._is_configured = True
        self._watch_children()
        limits, starter = self._prepare(config)
        self._disconnect_timeout.configure(config.get("alone"))
        self._executions.limit(limits, config.get("interruptGraceMs"))

        def begin() -> None:
            self._executions.kernels.python.begin(starter)
            # While the kernel starts.
            self._workspace.accept()
            font_cache.offer_font_cache(os.environ.get("MPLCONFIGDIR", "/tmp/matplotlib"))

        return begin

    def run(self) -> NoReturn:
        if self._can_reconnect:
            self._disconnect_timeout.start()
        self._executions.open_background()
        self._loop.run()
        processes.kill_where(lambda process: True)
        if self._network is not None:
            self._network.remove_files()
        os._exit(0)

    def announce_warm(self, head: Head) -> None:
        """Tells the host that kernels now start with the preloads. A host that takes over later is told again."""
        self._warm = head
        self._channel.send(head)

    def use_better_stage(self, then: Callable[[], None]) -> None:
        """Starts kernels from a stage with more preloads. A kernel that has run nothing is replaced; `then` is called when it is up."""
        self._executions.replace_unused_kernel(then)

    def protect(self, stage_pids: Callable[[], set[int]]) -> None:
        """Names the guest's helper processes, which are never killed with the user's."""
        self._executions.kernels.stage_pids = stage_pids

    def on_busy(self, told: Callable[[bool], None]) -> None:
        """`told` is called when the first execution begins, and when the last has ended."""
        self._executions.runs.on_busy = told

    def on_environment(self, told: Callable[[dict[str, str]], None]) -> None:
        """`told` is called with the whole environment when the host has added the session's variables."""
        self._on_environment = told

    # The channel

    def _on_frame(self, frame: Frame) -> None:
        kind = frame.head["type"]
        if kind == "hello":
            self._welcomed(frame.head)
        elif kind == "shutdown":
            self._loop.stop()
        elif frame.stream % 2 == 1:
            self._open_calls.take(frame)
        elif kind == "chunk":
            self._uploads.chunk(frame)
        elif kind == "input":
            self._executions.commands.input(frame)
        elif kind == "reply":
            self._open_calls.replied(frame)
        elif kind != "pong":
            self._request(frame)

    def _welcomed(self, hello: Head) -> None:
        self._disconnect_timeout.cancel()
        if not self._is_configured:
            self.configure(hello.get("config") or {})()
        elif hello.get("fresh"):
            self._files.abandon()
            self._uploads.abandon()
            self._executions.abandon()
            self._calls.abandon()
            if self._network is not None:
                self._network.lose_channel(tell_host=False)
            if self._warm is not None:
                self._channel.send(self._warm)
        else:
            self._lose_calls()

    def _on_lost(self, _reason: str) -> None:
        self._lose_calls()
        if self._can_reconnect:
            self._disconnect_timeout.start()
        else:
            self._loop.stop()

    def _lose_calls(self) -> None:
        self._calls.lose_channel()
        if self._network is not None:
            self._network.lose_channel()

    def _on_hello(self, frame: Frame) -> Head:
        protocols, epoch = frame.head.get("protocols"), frame.head.get("epoch")
        if frame.head.get("fresh"):
            if not self._is_configured:
                return _refused("this guest is not configured yet")
            epoch = self._channel.epoch + 1
        if not isinstance(protocols, list) or PROTOCOL not in protocols:
            return _refused(f"this guest speaks protocol {PROTOCOL} only")
        if not isinstance(epoch, int) or epoch <= self._channel.epoch:
            return _refused(f"epoch {epoch} is not higher than {self._channel.epoch}")
        if not self._is_configured and not are_expected((frame.head.get("config") or {}).get("mounts") or []):
            return {**_refused("a mounted folder is not the one that was allowed"), "code": "mount-exchanged"}
        return {
            "type": "welcome",
            "protocol": PROTOCOL,
            "epoch": epoch,
            "guest": {"version": GUEST_VERSION, "python": sys.version.split()[0]},
            "offers": ["files", "questions", "languages", "calls", "network", "layers"],
        }

    # Requests

    def _request(self, frame: Frame) -> None:
        kind, number = frame.head["type"], frame.head.get("id")
        if not isinstance(number, int):
            return
        try:
            serve = self._requests.get(kind)
            if serve is None:
                raise Refusal("not-offered", f"{kind}: this guest does not serve that")
            result: Optional[Head] = serve(frame)
        except (Refusal, FileError) as refusal:
            self._fail(number, refusal.code, str(refusal))
        except (KeyError, TypeError, ValueError) as error:
            self._fail(number, "bad-request", f"{kind}: {error}")
        except OSError as error:
            self._fail(number, "io", f"{kind}: {error.strerror}")
        else:
            if result is not None:
                self._reply(number, result)

    def _reply(self, number: int, result: Head, body: bytes = b"") -> None:
        self._channel.send({"type": "reply", "id": number, "ok": True, "result": result}, body)

    def _fail(self, number: int, code: str, message: str) -> None:
        self._channel.send({"type": "reply", "id": number, "ok": False, "error": {"code": code, "message": message}})

    def _set_variable(self, frame: Frame) -> None:
        """Receives all bytes first, and asks then: a kernel does not wait for a slow host."""
        questions = self._executions.questions.asked_by(frame)
        questions.require_free(frame, "variables.set")
        file = UnnamedFile(os.environ.get("TMPDIR", "/tmp"))

        def finish() -> None:
            questions.ask(frame, "variables.set", (file.take(),))

        self._uploads.begin(int(frame.head["stream"]), int(frame.head["id"]), file, finish)

    def _add_environment(self, frame: Frame) -> Head:
        """Makes a sandbox of a pool that of a session. Kernels of other languages and commands inherit from this process."""
        self._add_variables({str(name): str(value) for name, value in frame.head["variables"].items()})
        font_cache.offer_font_cache(os.environ.get("MPLCONFIGDIR", "/tmp/matplotlib"))
        return {}

    def _offer_calls(self, _frame: Frame) -> Head:
        """Takes calls from now on. Programs find the address in a variable, as they find those of the session."""
        self._add_variables({VARIABLE: self._calls.offer()})
        return {}

    def _set_network(self, frame: Frame) -> Head:
        """Kernels that are started from now on inherit the variables; those that live see them with their next execution."""
        if self._network is None:
            self._network = self._new_network()
        ports, changes = self._network.replace(frame.head, frame.body, os.environ)
        if changes:
            self._on_environment(change_variables(changes))
        return {"ports": ports}

    def _new_network(self) -> Network:
        """Imported here: most sandboxes never have one."""
        from ..network.network import Network

        network = Network(self._loop, self._channel, self._open_calls, node_preload)
        self._executions.before_kernel = network.mend_files
        self._executions.before_run = network.tell
        return network

    def _add_variables(self, variables: dict[str, str]) -> None:
        self._on_environment(change_variables(variables))
        self._executions.kernels.add_environment(variables)

    # Children

    def _watch_children(self) -> None:
        wake, woken = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(woken, False)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._loop.stop())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        self._loop.on_readable(wake, lambda: self._reap(wake))
        self._loop.soon(lambda: self._reap(wake))  # a kernel forked ahead may have ended before the handler was set

    def _reap(self, wake: int) -> None:
        try:
            os.read(wake, 4096)
        except BlockingIOError:
            pass
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._executions.kernels.reaped(pid, status)


def _refused(reason: str) -> Head:
    return {"type": "refused", "reason": reason, "protocols": [PROTOCOL]}
