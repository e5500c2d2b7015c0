"""The kernel for languages without state: writes the source, builds it, runs it. All recipes of a sandbox share it."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
from dataclasses import dataclass
from typing import Optional

from ..kernels.link import Link
from ..kernels.subreaper import reap_adopted
from ..system.bounded_text import bounded_lines
from ..system.environment import change_variables, variables_for_a_while
from ..wire.frames import Frame, Head
from .builds import Builds
from .endings import ended_by, outcome_of
from .recipe import Recipe

_MAX_BUILD_BYTES = 24_576
_MAX_LINE = 1_000
_MAX_REPORT_BYTES = 49_152
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def serve(link: Link) -> None:
    """Runs as a fork of the guest, until the supervisor is gone."""
    _RecipesKernel(link, os.getcwd()).serve()


@dataclass
class _Use:
    """Resources used by the processes of one execution."""

    cpu_seconds: float = 0.0
    peak_bytes: int = 0


class _RecipesKernel:
    def __init__(self, link: Link, workspace: str) -> None:
        self._link = link
        self._workspace = workspace
        self._builds = Builds()
        self._interrupted = False
        self._idle = True

    def serve(self) -> None:
        # A handler instead of SIG_IGN, which child processes would inherit.
        signal.signal(signal.SIGINT, lambda *_: self._on_interrupt())
        signal.signal(signal.SIGCHLD, lambda *_: self._on_child())
        self._link.send({"type": "up", "pid": os.getpid()})
        while True:
            frame, fds = self._link.receive()
            if frame.head["type"] == "execute":
                self._idle = False
                self._execute(frame, fds)
                self._idle = True
                reap_adopted()
            elif frame.head["type"] == "environment":
                change_variables(frame.head["variables"])

    def _on_child(self) -> None:
        """Reaps orphans between executions. During an execution this process waits for the program itself."""
        if self._idle:
            reap_adopted()

    def _on_interrupt(self) -> None:
        self._interrupted = True

    def _execute(self, frame: Frame, fds: list[int]) -> None:
        self._link.execution = str(frame.head["execution"])
        for fd in fds:
            os.set_inheritable(fd, False)
        self._interrupted = False
        use = _Use()
        try:
            recipe = Recipe.from_message(frame.head["recipe"], str(frame.head["filename"]), frame.body)
            with variables_for_a_while(frame.head.get("environment")):
                outcome = self._build(recipe, frame.body, fds[1], use) or self._run(recipe, fds, use)
        except OSError as error:
            # There is no room for the source, or a program cannot be started. The code is not at fault.
            outcome = _raised(type(error).__name__, f"{error.strerror}: {error.filename}", [])
        for fd in fds:
            os.close(fd)
        cpu_ms = round(use.cpu_seconds * 1000, 3)
        self._link.send({"type": "finished", "outcome": outcome, "cpuMs": cpu_ms, "peakMemoryBytes": use.peak_bytes, "keepsOutput": False})

    # Building

    def _build(self, recipe: Recipe, source: bytes, stderr: int, use: _Use) -> Optional[Head]:
        """Returns None if there is a program to run."""
        folder, is_built = self._builds.folder_for(recipe, source)
        if is_built:
            return None
        if recipe.build is None:
            self._builds.mark_built(folder)
            return None
        read_end, write_end = os.pipe()
        argv, environment = recipe.command(recipe.build, folder, of_build=True)
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=write_end, stderr=write_end, cwd=folder, env={**os.environ, **environment}
        )
        os.close(write_end)
        output = _read_until_end(read_end, process)
        status = _wait(process, use)
        if status == 0 and not self._interrupted:
            self._builds.mark_built(folder)
            if output:
                os.write(stderr, output)  # warnings
            return None
        self._builds.discard(folder)
        if self._interrupted:
            return {"kind": "interrupted"}
        if os.WIFSIGNALED(status):
            return ended_by(os.WTERMSIG(status))
        return _compile_error(output.decode("utf-8", "replace"), os.WEXITSTATUS(status))

    # Running

    def _run(self, recipe: Recipe, fds: list[int], use: _Use) -> Head:
        if self._interrupted:
            return {"kind": "interrupted"}
        argv, environment = recipe.command(recipe.run, self._builds.current, of_build=False)
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=fds[0], stderr=fds[1], cwd=self._workspace, env={**os.environ, **environment}
        )
        return outcome_of(_wait(process, use))


def _wait(process: subprocess.Popen[bytes], use: _Use) -> int:
    _, status, spent = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    use.cpu_seconds += spent.ru_utime + spent.ru_stime
    use.peak_bytes = max(use.peak_bytes, spent.ru_maxrss * 1024)
    return status


def _read_until_end(fd: int, process: subprocess.Popen[bytes]) -> bytes:
    """Returns the beginning and the end of a build's output. It does not wait for a daemon that the build left behind."""
    head, tail, dropped = b"", b"", False
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    while poll.poll(100) or not _is_over(process):
        if not poll.poll(0):
            continue
        data = os.read(fd, 65_536)
        if not data:
            break
        room = _MAX_BUILD_BYTES // 2 - len(head)
        head, data = head + data[:room], data[room:]
        dropped = dropped or len(tail) + len(data) > _MAX_BUILD_BYTES // 2
        tail = (tail + data)[-_MAX_BUILD_BYTES // 2 :]
    os.close(fd)
    return head + (b"\n[...]\n" if dropped else b"") + tail


def _is_over(process: subprocess.Popen[bytes]) -> bool:
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _compile_error(output: str, exit_code: int) -> Head:
    # Control characters are removed, because JSON would make each six times as long, and the frame has a limit.
    lines = [_CONTROL.sub("?", line.expandtabs())[:_MAX_LINE] for line in output.splitlines()]
    telling = [line for line in lines if line.strip() and not line.startswith("#")]  # go prints the package name after a #
    first = next(
        (line for line in lines if "error" in line.lower()), telling[0] if telling else f"the build ended with exit code {exit_code}"
    )
    return _raised("CompileError", first.strip(), bounded_lines(lines, _MAX_REPORT_BYTES))


def _raised(name: str, message: str, traceback: list[str]) -> Head:
    return {"kind": "raised", "name": name, "message": message, "traceback": traceback or [f"{name}: {message}"]}
