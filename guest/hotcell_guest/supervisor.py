"""The supervisor: pid 1 of a sandbox. It owns the channel, starts kernels, and turns what they do into events."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from typing import Any, Callable, NoReturn, Optional

from . import GUEST_VERSION, processes
from . import limits as limits_module
from .artifacts import Workspace
from .channel import Channel, Transport
from .execution import Execution
from .file_requests import FileRequests
from .files import FileError
from .frames import Frame, Head
from .kernel_process import KernelProcess, KernelStarter
from .limits import Limits
from .loop import Loop
from .memory_kills import memory_kills
from .outputs import OutputPipes

PROTOCOL = 1
BACKGROUND_STREAM = 1
_WATCHDOG_SECONDS = 0.02
_MAX_FAILED_STARTS = 3


class Refusal(Exception):
    """A request that is answered with an error of the protocol's table."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Supervisor:
    """One per sandbox. `starter` forks kernels; `configure` is called with the config of the first hello and returns the starter.

    `can_reconnect`: a lost channel may come back, so the sandbox lives on; otherwise its end is ours.
    """

    def __init__(
        self, loop: Loop, workspace: str, configure: Callable[[Head], tuple[Limits, KernelStarter]], can_reconnect: bool = False
    ) -> None:
        self.loop = loop
        self._workspace = Workspace(workspace)
        self._configure = configure
        self._can_reconnect = can_reconnect
        self._channel = Channel(loop, self._on_hello, self._on_frame, self._on_lost)
        self._files = FileRequests(self._channel, workspace, self._reply, self._workspace.accept)
        self._limits: Optional[Limits] = None
        self._starter: Optional[KernelStarter] = None
        self._kernel: Optional[KernelProcess] = None
        self._execution: Optional[Execution] = None
        self._waiting: Optional[Frame] = None
        self._restarting: list[int] = []
        self._failed_starts = 0
        self._kernel_is_fresh = True
        self.stage_pids: Callable[[], set[int]] = set
        self._said_ready = False
        self._background: list[OutputPipes] = []
        self._memory_kills = memory_kills()
        self._requests: dict[str, Callable[[Frame], Optional[Head]]] = {
            "execute": self._execute,
            "interrupt": self._interrupt,
            "restart": self._restart,
        }

    def attach(self, transport: Transport) -> None:
        """A new connection; its `hello` decides whether it takes over."""
        self._channel.attach(transport)

    def configure(self, config: Head) -> None:
        """Takes the host's configuration and starts the first kernel. By the first hello, unless it was done before."""
        self._watch_children()
        self._limits, self._starter = self._configure(config)
        self._workspace.accept()
        self._start_kernel()

    def run(self) -> NoReturn:
        self._channel.open_stream(BACKGROUND_STREAM, self._resume_background)
        self.loop.run()
        self._exit()

    # The channel

    def _on_frame(self, frame: Frame) -> None:
        kind = frame.head["type"]
        if kind == "hello":
            self._begin_with(frame.head.get("config") or {})
        elif kind == "shutdown":
            self.loop.stop()
        elif kind == "chunk":
            self._files.chunk(frame)
        elif kind in ("pong", "reply"):
            pass
        else:
            self._request(frame)

    def _on_lost(self, _reason: str) -> None:
        if not self._can_reconnect:
            self.loop.stop()

    def _on_hello(self, frame: Frame) -> Head:
        protocols, epoch = frame.head.get("protocols"), frame.head.get("epoch")
        if not isinstance(protocols, list) or PROTOCOL not in protocols:
            return _refused(f"this guest speaks protocol {PROTOCOL} only")
        if not isinstance(epoch, int) or epoch <= self._channel.epoch:
            return _refused(f"epoch {epoch} is not higher than {self._channel.epoch}")
        return {
            "type": "welcome",
            "protocol": PROTOCOL,
            "epoch": epoch,
            "guest": {"version": GUEST_VERSION, "python": sys.version.split()[0]},
            "offers": ["files"],
        }

    def _begin_with(self, config: Head) -> None:
        if self._starter is None:
            self.configure(config)

    def _request(self, frame: Frame) -> None:
        number = frame.head.get("id")
        if not isinstance(number, int):
            return
        try:
            serve = self._requests.get(frame.head["type"]) or self._files.requests.get(frame.head["type"])
            if serve is None:
                raise Refusal("not-offered", f"{frame.head['type']}: this guest does not serve that")
            result = serve(frame)
        except (Refusal, FileError) as refusal:
            self._fail(number, refusal.code, str(refusal))
        except (KeyError, TypeError, ValueError) as error:
            self._fail(number, "bad-request", f"{frame.head['type']}: {error}")
        else:
            if result is not None:
                self._reply(number, result)

    def _reply(self, number: int, result: Head, body: bytes = b"") -> None:
        self._channel.send({"type": "reply", "id": number, "ok": True, "result": result}, body)

    def _fail(self, number: int, code: str, message: str) -> None:
        self._channel.send({"type": "reply", "id": number, "ok": False, "error": {"code": code, "message": message}})

    # Kernels

    def _start_kernel(self) -> None:
        assert self._starter is not None
        try:
            pid, sock = self._starter()
        except OSError as error:
            self._kernel = None
            self._start_failed(f"cannot fork: {error.strerror}")
            return
        self._adopt(pid, sock)

    def _adopt(self, pid: Optional[int], sock: socket.socket) -> None:
        kernel = KernelProcess(
            self.loop,
            sock,
            pid,
            lambda frame: self._on_kernel_frame(kernel, frame),
            lambda: self._on_kernel_gone(kernel),
        )
        self._kernel = kernel
        self._kernel_is_fresh = True

    def replace_fresh_kernel(self) -> None:
        """A better stage is ready: a kernel that has run nothing yet is started again from it."""
        kernel = self._kernel
        if kernel is None or not self._kernel_is_fresh or self._execution is not None or self._waiting is not None:
            return
        self._kernel = None
        kernel.close()
        if kernel.pid is not None:
            _kill(kernel.pid)
        self._start_kernel()

    def announce(self, head: Head) -> None:
        """Tells the host something that belongs to no request."""
        self._channel.send(head)

    def _on_kernel_frame(self, kernel: KernelProcess, frame: Frame) -> None:
        kind = frame.head["type"]
        if kind == "up" and not kernel.is_up:
            self._on_up(kernel, int(frame.head["pid"]))
            return
        execution = self._execution
        mine = execution is not None and execution.kernel is kernel and frame.head.get("execution") == execution.name
        if execution is None or not mine or execution.report is not None:
            # Of an execution that is over, by a forged end or by an interrupt: nobody's output, but nobody may hang on it either.
            if kind == "drain":
                kernel.send({"type": "drained"})
            return
        if kind == "drain":
            execution.pipes.set_barrier(lambda: kernel.send({"type": "drained"}))
        elif kind == "display":
            self._event(execution, _display_head(frame.head), frame.body)
        elif kind == "value":
            self._event(execution, {"type": "value", "truncated": bool(frame.head["truncated"])}, frame.body[:65_536])
        elif kind == "finished":
            execution.report = _checked_report(frame.head)
            execution.pipes.set_barrier(lambda: self._finish(execution, state="kept"))
        if self._execution is execution and self._channel.credit(execution.stream) <= 0:
            kernel.pause(True)

    def _on_up(self, kernel: KernelProcess, pid: int) -> None:
        kernel.is_up = True
        kernel.pid = kernel.pid or pid
        self._failed_starts = 0
        if not self._said_ready:
            self._said_ready = True
            self._channel.send({"type": "ready"})
        for number in self._restarting:
            self._reply(number, {})
        self._restarting = []
        if self._waiting is not None:
            frame, self._waiting = self._waiting, None
            self._begin(frame)

    def _on_kernel_gone(self, kernel: KernelProcess) -> None:
        """Its socket ended: a kernel without one is of no use. Its real end is seen when it is reaped."""
        if kernel.pid is not None:
            _kill(kernel.pid)
        elif kernel is self._kernel:
            self._kernel = None
            self._start_failed("the kernel ended before it was ready")

    def _on_kernel_reaped(self, kernel: KernelProcess, status: int) -> None:
        kernel.close()
        self._kernel = None
        execution = self._execution
        if execution is None or execution.kernel is not kernel:
            if kernel.is_up:
                self._start_kernel()
            else:
                self._start_failed(f"the kernel ended before it was ready ({_describe_status(status)})")
            return
        if execution.report is None:
            execution.report = {"outcome": self._outcome_of_death(execution, status), "cpuMs": 0, "peakMemoryBytes": 0}
        execution.kill_newborn_processes()
        self._start_kernel()
        execution.pipes.set_barrier(lambda: self._finish(execution, state="lost"))

    def _is_ours(self, pid: int) -> bool:
        return (self._kernel is not None and pid == self._kernel.pid) or pid in self.stage_pids()

    def _start_failed(self, reason: str) -> None:
        self._failed_starts += 1
        if self._failed_starts < _MAX_FAILED_STARTS:
            self.loop.call_later(0.05 * self._failed_starts, self._start_kernel)
            return
        self._failed_starts = 0
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._fail(waiting.head["id"], "no-kernel", reason)
        for number in self._restarting:
            self._fail(number, "no-kernel", reason)
        self._restarting = []
        self._channel.send({"type": "kernel-failed", "message": reason})

    def _outcome_of_death(self, execution: Execution, status: int) -> Head:
        if execution.out_of_memory:
            return {"kind": "out-of-memory"}
        if execution.reason is not None:
            return _interrupted(execution.reason)
        if os.WIFEXITED(status):
            return {"kind": "exited", "exitCode": os.WEXITSTATUS(status)}
        number = os.WTERMSIG(status)
        before, self._memory_kills = self._memory_kills, memory_kills()
        if number == signal.SIGKILL and self._memory_kills > before:
            return {"kind": "out-of-memory"}
        return {"kind": "kernel-died", "signal": _signal_name(number)}

    # Executions

    def _execute(self, frame: Frame) -> Optional[Head]:
        head = frame.head
        for name, kind in (("execution", str), ("stream", int), ("filename", str)):
            if not isinstance(head.get(name), kind):
                raise Refusal("bad-request", f"execute: {name} is missing")
        if head.get("language", "python") != "python":
            raise Refusal("not-offered", f"execute: this guest does not run {head['language']}")
        if self._execution is not None or self._waiting is not None:
            raise Refusal("busy", "execute: an execution is running already")
        if self._kernel is None or not self._kernel.is_up:
            self._waiting = frame
            if self._kernel is None and self._failed_starts == 0:
                self._start_kernel()
        else:
            self._begin(frame)
        return None

    def _begin(self, frame: Frame) -> None:
        assert self._kernel is not None
        name, stream = str(frame.head["execution"]), int(frame.head["stream"])
        pipes = OutputPipes(
            self.loop,
            lambda source, data: self._event(execution, {"type": source}, data),
            lambda: self._channel.credit(stream),
        )
        execution = self._execution = Execution(self.loop, name, stream, self._kernel, pipes, self._is_ours)
        self._kernel_is_fresh = False
        self._channel.open_stream(stream, lambda: self._resume(execution))
        request = {"type": "execute", "execution": name, "filename": frame.head["filename"]}
        self._kernel.send(request, frame.body, pipes.write_fds)
        pipes.close_write_ends()
        self._reply(int(frame.head["id"]), {})
        self._watch_memory(execution)

    def _resume(self, execution: Execution) -> None:
        execution.pipes.resume()
        if self._execution is execution and self._channel.credit(execution.stream) > 0:
            execution.kernel.pause(False)

    def _event(self, execution: Execution, head: Head, body: bytes) -> None:
        self._channel.send({**head, "execution": execution.name}, body, execution.stream)

    def _finish(self, execution: Execution, state: str) -> None:
        if self._execution is not execution:
            return
        assert execution.report is not None
        execution.end_ladder()
        outcome = execution.report["outcome"]
        if execution.reason is not None:
            execution.kill_newborn_processes()
            outcome = outcome if outcome["kind"] == "out-of-memory" else _interrupted(execution.reason)
        changes = self._workspace.changes()
        self._execution = None
        execution.kernel.pause(False)
        finished: Head = {
            "type": "finished",
            "outcome": outcome,
            "state": state,
            "durationMs": round((time.monotonic() - execution.started) * 1000, 3),
            "cpuMs": execution.report["cpuMs"],
            "peakMemoryBytes": execution.report["peakMemoryBytes"],
            "artifactsOmitted": changes.omitted,
        }
        body = json.dumps(changes.files, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
        if len(body) > 262_144:
            body, finished["artifactsOmitted"] = b"[]", len(changes.files) + max(0, changes.omitted)
        self._channel.send({**finished, "execution": execution.name}, body, execution.stream)
        self._channel.close_stream(execution.stream)
        self._to_background(execution)

    def _interrupt(self, frame: Frame) -> Head:
        name, reason = str(frame.head["execution"]), str(frame.head["reason"])
        waiting = self._waiting
        if waiting is not None and waiting.head["execution"] == name:
            self._waiting = None
            self._fail(int(waiting.head["id"]), "no-kernel", "the execution was withdrawn before a kernel was ready")
            return {"ended": True}
        execution = self._execution
        if execution is None or execution.name != name:
            return {"ended": True}
        execution.interrupt(reason)
        return {"ended": False}

    def _restart(self, frame: Frame) -> None:
        self._restarting.append(int(frame.head["id"]))
        execution = self._execution
        if execution is not None and execution.reason is None:
            execution.reason = "cancelled"
        if execution is None and self._kernel is not None:
            # Not waited for: a kernel that dies now may have said that it is up a moment before.
            self._kernel.close()
            self._kernel = None
        processes.kill_where(lambda process: process.pid not in self.stage_pids())
        if self._kernel is None and self._failed_starts == 0:
            self._start_kernel()

    # Background output

    def _to_background(self, execution: Execution) -> None:
        def sink(source: str, data: bytes) -> None:
            head = {"type": "background", "execution": execution.name, "source": source}
            self._channel.send(head, data, BACKGROUND_STREAM)

        self._background = [pipes for pipes in self._background if pipes.open]
        execution.pipes.release_to(sink, lambda: self._channel.credit(BACKGROUND_STREAM))
        self._background.append(execution.pipes)

    def _resume_background(self) -> None:
        for pipes in self._background:
            pipes.resume()

    # Memory

    def _watch_memory(self, execution: Execution) -> None:
        limit = self._limits.memory_watchdog_bytes if self._limits is not None else None
        if limit is None:
            return

        def look() -> None:
            if self._execution is not execution or execution.report is not None:
                return
            if limits_module.sandbox_memory_bytes(limit) > limit:
                execution.out_of_memory = True
                execution.kill()
                return
            self.loop.call_later(_WATCHDOG_SECONDS, look)

        self.loop.call_later(_WATCHDOG_SECONDS, look)

    # Children

    def _watch_children(self) -> None:
        wake, woken = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(woken, False)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self.loop.stop())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        self.loop.on_readable(wake, lambda: self._reap(wake))

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
            if self._kernel is not None and pid == self._kernel.pid:
                self._on_kernel_reaped(self._kernel, status)

    def _exit(self) -> NoReturn:
        processes.kill_where(lambda process: True)
        os._exit(0)


def _refused(reason: str) -> Head:
    return {"type": "refused", "reason": reason, "protocols": [PROTOCOL]}


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _interrupted(reason: str) -> Head:
    return {"kind": "timed-out"} if reason == "timed-out" else {"kind": "interrupted"}


def _display_head(head: Head) -> Head:
    return {
        "type": "display",
        "mediaType": str(head["mediaType"])[:200],
        "index": int(head["index"]),
        "end": bool(head["end"]),
    }


def _checked_report(head: Head) -> dict[str, Any]:
    outcome = head["outcome"]
    if not isinstance(outcome, dict) or not isinstance(outcome.get("kind"), str):
        raise ValueError("finished: no outcome")
    return {
        "outcome": outcome,
        "cpuMs": max(0.0, float(head["cpuMs"])),
        "peakMemoryBytes": max(0, int(head["peakMemoryBytes"])),
    }


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def _describe_status(status: int) -> str:
    if os.WIFSIGNALED(status):
        return _signal_name(os.WTERMSIG(status))
    return f"exit code {os.WEXITSTATUS(status)}"
