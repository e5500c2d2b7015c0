"""The kernel for bash: a process of the guest that passes code to one long-lived bash and reports how it ended.

Bash reads its orders as a script, from a pipe of this process. That pipe, the output of an execution and the report of its end are opened
through this process's /proc/<pid>/fd: the user's processes inherit none of the guest's descriptors, and later output of a background job
comes through the pipe of the execution that started it.

SECURITY: code of another kernel of the session has the same uid and can open these pipes as well, so it can forge the report of an end. A
secret in the report would not change that: the orders that name it go through such a pipe too. Kernels of one session are not protected
from each other (docs/threat-model.md).
"""

from __future__ import annotations

import os
import re
import select
import shlex
import signal
import time
from typing import Optional

from ..kernels.link import Link
from ..kernels.subreaper import reap_adopted
from ..system.environment import change_variables
from ..system.private_folder import PrivateFolder
from ..system.processes import cpu_seconds, peak_memory_bytes
from ..wire.frames import Frame
from .bash_state import BashState

# Timeout for bash to start, or to restore its state. The supervisor's own timeout for `up` is longer.
_START_SECONDS = 15.0


def serve(link: Link) -> None:
    """Runs as a fork of the guest, until the supervisor is gone."""
    _BashKernel(link).serve()


class _BashKernel:
    def __init__(self, link: Link) -> None:
        self._link = link
        self._place = f"/proc/{os.getpid()}/fd"
        self._folder = PrivateFolder()
        self._state = BashState(self._place)
        self._report, self._report_end = os.pipe()
        self._orders_end = self._orders = -1
        self._bash = 0
        self._end = 0
        self._cpu_at_end, self._peak_at_end = 0.0, 0
        self._last_exit_code = 0
        self._idle = False
        self._interrupted = False
        self._woken, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(self._woken, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: self._on_child())
        # A handler instead of SIG_IGN, which child processes would inherit. The SIGINT of the group is meant for them.
        signal.signal(signal.SIGINT, lambda *_: self._on_interrupt())

    def serve(self) -> None:
        self._start_bash()
        self._link.send({"type": "up", "pid": os.getpid()})
        self._name_helper()
        while True:
            self._idle = True
            frame, fds = self._link.receive()
            self._idle = False
            if frame.head["type"] == "execute":
                self._execute(frame, fds)
            elif frame.head["type"] == "environment":
                self._change_variables(frame.head["variables"])

    def _name_helper(self) -> None:
        """Names bash as helper, so that the ladder does not take it for a child of the code."""
        self._link.send({"type": "helper", "pid": self._bash})

    # Bash

    def _start_bash(self) -> None:
        self._bash = 0  # no child counts as an orphan until the pid is known
        self._orders, self._orders_end = os.pipe()
        self._bash = os.posix_spawnp(
            "bash",
            ["bash", "--noprofile", "--norc", f"{self._place}/{self._orders}"],
            os.environ,
            setsigdef=[signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD],
        )
        self._order("shopt -s expand_aliases", "BASH_ARGV0=bash", *self._state.lines_for_new_bash())
        self._order(f"\\builtin echo up >{self._place}/{self._report_end}")
        if self._wait_for_report(_START_SECONDS) is None:
            raise RuntimeError("bash did not come up")
        os.close(self._orders)

    def _order(self, *lines: str) -> None:
        os.write(self._orders_end, "".join(f"{line}\n" for line in lines).encode())

    def _wait_for_report(self, seconds: Optional[float] = None) -> Optional[str]:
        """Returns the next line of the report; None if bash has ended instead, or did not report in time."""
        poll = select.poll()
        poll.register(self._report, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        poll.register(self._link.fileno(), select.POLLHUP)
        limit = None if seconds is None else time.monotonic() + seconds
        while True:
            ready = dict(poll.poll(None if limit is None else max(0.0, limit - time.monotonic()) * 1000))
            if self._report in ready:
                return os.read(self._report, 100).decode("ascii", "replace").strip()
            if self._link.fileno() in ready:
                os.kill(self._bash, signal.SIGKILL)
                os._exit(0)
            if self._woken in ready:
                os.read(self._woken, 4096)
                if self._has_ended():
                    return None
            elif limit is not None and time.monotonic() > limit:
                return None

    def _has_ended(self) -> bool:
        pid, status, usage = os.wait4(self._bash, os.WNOHANG)
        if pid == 0:
            return False
        self._end = status
        self._cpu_at_end, self._peak_at_end = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
        return True

    def _change_variables(self, changes: dict[str, Optional[str]]) -> None:
        """For bash as it is, and for one that takes its place."""
        change_variables(changes)
        self._order(*(_set_as_at_start(name) for name in changes))

    # One execution

    def _execute(self, frame: Frame, fds: list[int]) -> None:
        self._link.execution = str(frame.head["execution"])
        for fd in fds:
            os.set_inheritable(fd, False)
        self._interrupted = False
        self._state.forget()
        cpu_before = cpu_seconds(self._bash)
        variables = {str(name): str(value) for name, value in frame.head.get("environment", {}).items()}
        self._order(*(_set_for_a_while(name, value) for name, value in variables.items()))
        exit_code = self._run(frame.body, str(frame.head["filename"]), fds)
        if exit_code is None:
            cpu, peak = self._cpu_at_end, self._peak_at_end
            exit_code = self._replace_ended_bash()
            # The shell that knew the earlier values has ended.
            self._order(*(_set_as_at_start(name) for name in variables))
        else:
            self._order(*(_set_back(name) for name in variables))
            cpu, peak = cpu_seconds(self._bash), peak_memory_bytes(self._bash)
        for fd in fds:
            os.close(fd)
        self._last_exit_code = exit_code
        outcome = {"kind": "ok"} if exit_code == 0 else {"kind": "exited", "exitCode": exit_code}
        cpu_ms = round(max(0.0, cpu - cpu_before) * 1000, 3)
        self._link.send({"type": "finished", "outcome": outcome, "cpuMs": cpu_ms, "peakMemoryBytes": peak, "keepsOutput": False})

    def _run(self, code: bytes, filename: str, fds: list[int]) -> Optional[int]:
        """Returns the exit code, or None if bash ended with the code."""
        source, memory = self._write_source(code, filename)
        stdout, stderr = (f"{self._place}/{fd}" for fd in fds)
        output = f">{stdout} 2>{stderr} </dev/null"
        report = f"{self._place}/{self._report_end}"
        try:
            self._order(f"{_restored_status(self._last_exit_code)}\\builtin source {shlex.quote(source)} {output}")
            # Orders on lines of their own: an error that ends the code can end its line too.
            self._order(f"\\builtin echo $? >{report}")
            answer = self._wait_for_report()
            if answer is None:
                return None
            if b"trap" in code:
                self._order(f"\\builtin source {self._state.exit_trap_runner} {output}", f"\\builtin echo done >{report}")
                if self._wait_for_report() is None:
                    return None
            if self._interrupted and not self._outlives_interrupt():
                return None
            return int(answer) & 0xFF
        except ValueError:
            return 1  # the code wrote the report itself
        except BrokenPipeError:
            self._wait_for_report(1.0)
            return None
        finally:
            if memory is None:
                self._folder.remove(source)
            else:
                os.close(memory)

    def _replace_ended_bash(self) -> int:
        """Returns the exit code. If bash could not save its state, this kernel ends the same way, and the supervisor reports the state as
        lost."""
        end = self._end
        if not self._state.is_saved():
            if os.WIFSIGNALED(end):
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                os.kill(os.getpid(), os.WTERMSIG(end))
            os._exit(os.WEXITSTATUS(end))
        os.close(self._orders_end)
        self._start_bash()
        self._name_helper()
        return 128 + os.WTERMSIG(end) if os.WIFSIGNALED(end) else os.WEXITSTATUS(end)

    def _outlives_interrupt(self) -> bool:
        """Whether bash survived an interrupt that arrived after the code had ended. It must not kill bash in the next execution."""
        time.sleep(0.002)  # the signals of a group arrive one after the other
        self._order(f"\\builtin echo here >{self._place}/{self._report_end}")
        return self._wait_for_report() is not None

    def _on_interrupt(self) -> None:
        self._interrupted = True

    def _on_child(self) -> None:
        """Between executions, only a background job or the memory limit can have ended bash."""
        if self._idle and self._has_ended():
            self._idle = False
            self._replace_ended_bash()
            self._idle = True
        if self._bash != 0:
            reap_adopted(own=self._bash)

    def _write_source(self, code: bytes, filename: str) -> tuple[str, Optional[int]]:
        """Returns the path to source, which bash's messages show. It works on a full disk too, so that the user can make room."""
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(filename)).strip("-.") or "code"
        try:
            return self._folder.write(name[:100], code), None
        except OSError:
            memory = os.memfd_create("source")
            with os.fdopen(memory, "wb", closefd=False) as file:
                file.write(code)
            return f"{self._place}/{memory}", memory


def _set_for_a_while(name: str, value: str) -> str:
    """An order that exports a variable for one execution, and remembers what it was."""
    old = f"_hotcell_old_{name}"
    return f"[[ -v {name} ]] && {old}=${name}; \\builtin export {name}={shlex.quote(value)}"


def _set_back(name: str) -> str:
    old = f"_hotcell_old_{name}"
    return f"if [[ -v {old} ]]; then {name}=${old}; \\builtin unset -v {old}; else \\builtin unset -v {name}; fi"


def _set_as_at_start(name: str) -> str:
    value = os.environ.get(name)
    return f"\\builtin unset -v {name}" if value is None else f"\\builtin export {name}={shlex.quote(value)}"


def _restored_status(status: int) -> str:
    """Orders that set $? to the status of the last execution, if that does not end bash."""
    if status == 0:
        return ""
    return f"_hotcell() {{ unset -f _hotcell; return {status}; }}; [[ $- == *e* ]] && unset -f _hotcell || _hotcell; "
