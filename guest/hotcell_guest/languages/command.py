"""The kernel of a command: starts the program, waits for it, and stays while it has descendants."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from typing import Any, NoReturn, Optional

from ..kernels.link import Link
from ..kernels.subreaper import reap_adopted
from ..system import linux
from ..system.environment import change_variables
from ..system.processes import signal_group
from ..system.terminal import take_terminal
from ..wire.frames import Frame, Head
from .asked_command import AskedCommand
from .endings import outcome_of

_NO_FOLDER = 1
_NOT_EXECUTABLE = 126
_NOT_FOUND = 127


def serve(link: Link) -> None:
    """Runs as a fork of the guest, until a finished command has no descendants left, or the supervisor is gone."""
    _CommandKernel(link).serve()


class _CommandKernel:
    def __init__(self, link: Link) -> None:
        # SECURITY: no code of the user's runs in this process, and it may run the next command:
        # other executions must not write in its memory.
        linux.set_dumpable(False)
        self._link = link
        self._program: Optional[subprocess.Popen[bytes]] = None
        self._workspace = os.getcwd()
        self._interrupted = False
        self._woken, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(self._woken, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        # A handler instead of SIG_IGN, which child processes would inherit.
        signal.signal(signal.SIGINT, lambda *_: self._on_interrupt())

    def serve(self) -> NoReturn:
        self._link.send({"type": "up", "pid": os.getpid()})
        is_free = True
        while is_free:
            frame, fds = self._link.receive()
            if frame.head["type"] == "execute":
                is_free = self._execute(frame, fds)
            elif frame.head["type"] == "environment":
                change_variables(frame.head["variables"])
        self._stay()

    def _execute(self, frame: Frame, fds: list[int]) -> bool:
        """Returns whether the kernel could run another command."""
        self._link.execution = str(frame.head["execution"])
        self._interrupted = False
        for fd in fds:
            os.set_inheritable(fd, False)
        outcome, spent = self._run(frame, fds)
        for fd in fds:
            os.close(fd)
        is_free = not _has_children()
        self._link.send({"type": "finished", "outcome": outcome, **spent, "isFree": is_free, "keepsOutput": False})
        return is_free

    # The program

    def _run(self, frame: Frame, fds: list[int]) -> tuple[Head, Head]:
        """Returns the outcome, and the resources used."""
        has_terminal = "terminal" in frame.head["command"]
        streams = fds[:1] * 3 if has_terminal else [fds[2] if len(fds) > 2 else subprocess.DEVNULL, *fds[:2]]
        command = AskedCommand.from_message(json.loads(frame.body), has_terminal)
        try:
            os.chdir(os.path.join(self._workspace, command.folder))
        except OSError:
            return self._refuse(streams[2], f"cwd: {command.folder} is not an accessible folder", _NO_FOLDER)
        if self._interrupted:
            return {"kind": "interrupted"}, _nothing()
        argv = command.argv()
        try:
            # SECURITY: in a session of its own, so that no signal to its group reaches this process.
            self._program = program = subprocess.Popen(
                argv,
                stdin=streams[0],
                stdout=streams[1],
                stderr=streams[2],
                env=command.environment(os.getcwd()),
                start_new_session=True,
                preexec_fn=take_terminal if has_terminal else None,  # noqa: PLW1509 - this process has one thread
            )
        except (FileNotFoundError, NotADirectoryError):
            return self._refuse(streams[2], f"{argv[0]}: command not found", _NOT_FOUND)
        except OSError as error:
            return self._refuse(streams[2], f"{argv[0]}: {error.strerror}", _NOT_EXECUTABLE)
        while fds:
            os.close(fds.pop())  # only the program may hold the read end of its input
        if self._interrupted:
            self._signal(signal.SIGINT)
        return self._wait(program)

    def _refuse(self, stderr: int, message: str, exit_code: int) -> tuple[Head, Head]:
        """Refuses as a shell does, with a line on stderr and an exit code."""
        try:
            os.write(stderr, f"{message}\n".encode("utf-8", "replace"))
        except OSError:
            pass
        return {"kind": "exited", "exitCode": exit_code}, _nothing()

    def _wait(self, program: subprocess.Popen[bytes]) -> tuple[Head, Head]:
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        poll.register(self._link.fileno(), select.POLLIN)
        while True:
            pid, status, used = os.wait4(program.pid, os.WNOHANG)
            if pid != 0:
                break
            reap_adopted(own=program.pid)
            while self._link.has_more:
                self._obey(self._link.receive()[0])
            ready = dict(poll.poll())
            if self._woken in ready:
                os.read(self._woken, 4096)
            if self._link.fileno() in ready:
                self._obey(self._link.receive()[0])
        program.returncode = os.waitstatus_to_exitcode(status)
        self._program = None
        cpu_ms = round((used.ru_utime + used.ru_stime) * 1000, 3)
        return outcome_of(status), {"cpuMs": cpu_ms, "peakMemoryBytes": used.ru_maxrss * 1024}

    # Signals

    def _obey(self, frame: Frame) -> None:
        if frame.head["type"] == "signal":
            self._signal(signal.Signals[str(frame.head["signal"])])

    def _on_interrupt(self) -> None:
        """Takes the first rung of the ladder."""
        self._interrupted = True
        self._signal(signal.SIGINT)

    def _signal(self, number: signal.Signals) -> None:
        if self._program is not None:
            signal_group(self._program.pid, number)

    # Afterwards

    def _stay(self) -> NoReturn:
        """Waits until the supervisor has taken the end, and the program has no descendants. SECURITY: background processes stay below this
        process, so that no ladder takes them for those of another execution."""
        self._link.wait_for_end()
        while True:
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                os._exit(0)


def _has_children() -> bool:
    reap_adopted()
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _nothing() -> dict[str, Any]:
    return {"cpuMs": 0, "peakMemoryBytes": 0}
