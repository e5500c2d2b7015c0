"""The Python kernel: the fork that runs the user's code. It holds descriptors 0 to 2 and one private socket to the supervisor."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import sys
import time
from types import FrameType
from typing import Any, Callable, NoReturn, Optional

from ..display.screen import Screen
from ..interpreter.shell import Shell
from ..interpreter.streams import Streams
from ..kernels.link import Link
from ..kernels.preload import THREAD_VARIABLES
from ..kernels.start import close_in, mend_descriptors, settle, take_output, until_the_end
from ..system import linux
from ..system.descriptors import write_file
from ..system.environment import apply_environment, change_variables, variables_for_a_while
from ..system.hardening import harden
from ..system.limits import Limits
from ..wire.frames import Frame, Head
from .exercise import exercise_loaded
from .message_apart import with_message_apart

_MAX_FINISHED_CHARS = 60_000
_LEAST_RECURSION = 300


def run_kernel(sock: socket.socket, limits: Limits, workspace: str) -> NoReturn:
    """Becomes a kernel. Called in the child right after the fork; never returns."""

    def live() -> None:
        kernel = Kernel(settle(sock))
        kernel.install()
        close_in(limits, workspace)
        kernel.serve()

    until_the_end(live)


def stand_by(sock: socket.socket, workspace: str, seccomp: str, rehearse: Callable[[], None]) -> NoReturn:
    """Becomes a waiting kernel, of a sandbox without an owner: called in a child forked ahead, before its supervisor is locked in.

    It shares the supervisor's namespaces, so it will see its mounts. It applies the barriers of a process at once, and its limits when it
    gets its configuration, before it sends `up`. `rehearse` is called first.
    """

    def live() -> None:
        rehearse()
        kernel = Kernel(settle(sock))
        kernel.install()
        harden(seccomp)
        linux.set_dumpable(True)
        config = kernel.wait_for_config()
        apply_environment(config["environment"])
        close_in(Limits.from_message(config["limits"]), workspace)
        kernel.serve()

    until_the_end(live)


class Kernel:
    """Runs the code that arrives over `link`, in a process that it takes over with `install`."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._streams = Streams(link.drain)
        self._screen = Screen(link, self._streams.flush)
        self._shell = Shell(self._screen)
        self._executing = False
        self._pid = os.getpid()
        self._lacks_workspace = False
        self._outputs = _Outputs()

    def install(self) -> None:
        """Takes over the process: names, streams, signals."""
        self._shell.install()
        self._lacks_workspace = True
        self._prepare()

    def wait_for_config(self) -> Head:
        frame, _ = self._link.receive()
        config: Head = frame.head["config"]
        return config

    def serve(self) -> None:
        self._link.send({"type": "up", "pid": self._pid})
        while True:
            self.take_turn()

    def take_turn(self) -> None:
        """Waits for the next frame and handles it."""
        frame, fds = self._link.receive()
        if frame.head["type"] == "execute":
            self._execute(frame, fds)
        elif frame.head["type"] == "exercise":
            exercise_loaded()
            self._link.send({"type": "exercised"})
        elif frame.head["type"] == "environment":
            changes = frame.head["variables"]
            change_variables({name: changes[name] for name in changes if name not in THREAD_VARIABLES})
        elif frame.head["type"] == "layers":
            self._shell.layers.refresh()
        elif frame.head["type"] == "question":
            self._answer(frame, fds)

    def _prepare(self) -> None:
        """Called before `up` and after each execution, when no caller waits: restores what user code may have changed."""
        self._streams.begin()
        self._screen.begin()
        signal.signal(signal.SIGINT, self._on_interrupt)
        if sys.getrecursionlimit() < _LEAST_RECURSION:
            sys.setrecursionlimit(_LEAST_RECURSION)  # otherwise nothing could be parsed, not even the code that raises it
        _reset_peak_memory()

    def _reach_workspace(self) -> None:
        """Lets code import from its folder, as in Python, and from its layers. SECURITY: not before a session asks for something. A kernel
        that is made ahead warms up in a folder that may be a caller's, and a `difflib.py` there would run without a session."""
        if self._lacks_workspace:
            self._lacks_workspace = False
            sys.path.insert(0, "")
            self._shell.layers.refresh()

    def _execute(self, frame: Frame, fds: list[int]) -> None:
        self._reach_workspace()
        self._link.execution = str(frame.head["execution"])
        if fds:
            self._outputs.take(fds)
        cpu_before = _cpu_seconds()
        outcome: dict[str, Any] = {"kind": "interrupted"}
        changes: Optional[dict[str, Any]] = None
        try:
            self._executing = True
            with_names = frame.head.get("tracebackLocals") is True
            with variables_for_a_while(frame.head.get("environment")):
                outcome = self._shell.run(frame.body.decode("utf-8", "replace"), str(frame.head["filename"]), with_names)
            changes = self._shell.bindings.changes()
        except KeyboardInterrupt:
            pass  # the interrupt arrived between two lines of the kernel
        finally:
            self._executing = False
        self._streams.flush()
        if os.getpid() != self._pid:
            # A child that the code forked and did not end: it ends as a script would. Otherwise it would be a second kernel on the same
            # socket, which would answer for this one and take its next execution.
            os._exit(_exit_code(outcome))
        finished = {
            "type": "finished",
            "outcome": outcome,
            "cpuMs": round((_cpu_seconds() - cpu_before) * 1000, 3),
            "peakMemoryBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "keepsOutput": self._outputs.are_kept(),
        }
        if changes is not None:
            finished["variables"] = changes
        value = self._screen.take_value()
        if value is not None:
            finished["value"] = value[0]
        finished, message = with_message_apart(finished)
        self._link.send(_that_fits(finished), (b"" if value is None else value[1]) + message)
        os.sched_yield()  # on the same processor the supervisor would have to wait for this process
        self._prepare()

    def _answer(self, frame: Frame, fds: list[int]) -> None:
        """Answers a question between two executions. User code that runs meanwhile must neither end this kernel nor reach the next
        execution."""
        from ..answers.answer import answer

        self._reach_workspace()
        head, body = answer(self._shell, frame, fds, self._link.is_writing)
        self._streams.flush()
        if os.getpid() != self._pid:
            os._exit(0)  # a child that the code forked, as in `_execute`
        kept = self._outputs.are_kept()
        self._link.send({**head, "type": "answer", "question": frame.head["question"], "keepsOutput": kept}, body)
        self._prepare()

    def _on_interrupt(self, _number: int, _frame: Optional[FrameType]) -> None:
        if self._executing and not self._link.postpone_interrupt():
            raise KeyboardInterrupt


class _Outputs:
    """Descriptors 1 and 2: the supervisor's pipes, as long as the user does not replace them."""

    def __init__(self) -> None:
        self._inodes = (0, 0)

    def take(self, fds: list[int]) -> None:
        take_output(fds)
        self._inodes = (os.fstat(1).st_ino, os.fstat(2).st_ino)

    def are_kept(self) -> bool:
        """Whether the pipes are unchanged. If not, new ones are needed; and they must not land on 0 to 2, which the user may have
        closed."""
        try:
            os.fstat(0)
            return (os.fstat(1).st_ino, os.fstat(2).st_ino) == self._inodes
        except OSError:
            mend_descriptors()
            return False


def _exit_code(outcome: dict[str, Any]) -> int:
    """The exit code of a script that ended with this outcome."""
    return int(outcome["exitCode"]) if outcome["kind"] == "exited" else 0 if outcome["kind"] == "ok" else 1


def _reset_peak_memory() -> None:
    try:
        write_file("/proc/self/clear_refs", b"5")
    except OSError:
        pass  # the peak is then that of the kernel's whole life


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _that_fits(finished: Head) -> Head:
    """Shortens a report that is too large. Names and traceback are bounded each, but not together, nor in bytes: names are dropped
    first."""
    changes = finished.get("variables")
    if changes is None or len(json.dumps(finished)) <= _MAX_FINISHED_CHARS:
        return finished
    named = sum(len(names) for names in changes.values() if isinstance(names, list))
    omitted = named + changes["omitted"] if changes["omitted"] >= 0 else -1
    return {**finished, "variables": {"added": [], "rebound": [], "deleted": [], "omitted": omitted}}
