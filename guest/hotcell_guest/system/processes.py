"""The processes of this sandbox, and killing those that an execution created."""

from __future__ import annotations

import os
import signal
import time
from typing import Callable, Iterator, NamedTuple, Optional

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_KILL_ROUNDS = 50
_STILL_SECONDS = 0.1


class Process(NamedTuple):
    """One process. `started` is in clock ticks since boot, as in /proc.

    `thread` is a thread that lives, and `state` is its state. SECURITY: a process whose main thread has exited looks like a zombie without
    memory in /proc/PID, while its other threads run on.
    """

    pid: int
    parent: int
    started: int
    state: str
    thread: int

    @property
    def place(self) -> str:
        """The folder below /proc that describes its memory."""
        return f"/proc/{self.pid}" if self.thread == self.pid else f"/proc/{self.pid}/task/{self.thread}"


Predicate = Callable[[Process], bool]


def read_process(pid: int) -> Process:
    """Raises OSError if the process is gone."""
    fields = _stat_fields(f"/proc/{pid}")
    if len(fields) < 20:
        raise ProcessLookupError(pid)  # it ended after the file was opened
    state, thread = fields[0].decode(), pid
    if state == "Z" and int(fields[17]) > 1:
        state, thread = _living_thread(pid)
    return Process(pid, int(fields[1]), int(fields[19]), state, thread)


def _living_thread(pid: int) -> tuple[str, int]:
    """Returns the state and the id of a thread that lives, of one that has not stopped if there is any.

    SECURITY: a thread that starts the next one and exits is always gone when it is looked at. A process whose threads were all missed runs;
    once it has been stopped, they are found.
    """
    try:
        names = os.listdir(f"/proc/{pid}/task")
    except FileNotFoundError:
        return "R", pid  # gVisor lists no threads of such a process
    found = ("R", pid)
    for name in names:
        try:
            state = _stat_fields(f"/proc/{pid}/task/{name}")[0].decode()
        except (OSError, IndexError):
            continue
        if state not in "ZXTt":
            return state, int(name)
        if state not in "ZX":
            found = (state, int(name))
    return found


def _stat_fields(place: str) -> list[bytes]:
    """The fields of `stat` after the name of the program, which may hold spaces and parentheses."""
    with open(f"{place}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and of its children that it has waited for. 0 if it is gone."""
    try:
        return sum(int(field) for field in _stat_fields(f"/proc/{pid}")[11:15]) / _TICKS_PER_SECOND
    except (OSError, IndexError, ValueError):
        return 0.0


def peak_memory_bytes(pid: int) -> int:
    """Peak resident memory. 0 if it is unknown."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            # Without a peak value (gVisor), the current one.
            found = [int(line.split()[1]) * 1024 for line in file if line.startswith((b"VmHWM:", b"VmRSS:"))]
        return max(found, default=0)
    except (OSError, IndexError, ValueError):
        return 0


def ticks_now() -> int:
    """The current time in the clock of `Process.started`, rounded down."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * _TICKS_PER_SECOND)


def others_in_sandbox() -> Iterator[Process]:
    """Every live process of the sandbox except this one.

    For pid 1 that is all of /proc. A guest without its own pid namespace (only in tests) lists its descendants, which
    stay its descendants because it is their subreaper.
    """
    everyone = list(_all_processes())
    if os.getpid() == 1:
        yield from (process for process in everyone if process.pid != 1)
        return
    children: dict[int, list[Process]] = {}
    for process in everyone:
        children.setdefault(process.parent, []).append(process)
    waiting = [os.getpid()]
    while waiting:
        for child in children.get(waiting.pop(), []):
            waiting.append(child.pid)
            yield child


def kill_where(condemned: Predicate, among: Optional[Callable[[], Predicate]] = None) -> int:
    """Kills every process of the sandbox that `condemned` names, again and again until none is left. Returns how many.

    The world is stopped first, so that a fork bomb cannot outrun the hunt; the innocent go on afterwards. With `among` only those are
    stopped, so that others notice nothing; the whole world where they are born faster. Who was killed once is not waited for: dying takes
    processor time, which this hunt would take from them.
    """
    killed: set[tuple[int, int]] = set()
    deadline = time.monotonic() + _STILL_SECONDS
    stopped: Optional[set[int]] = set() if among is not None else None
    for _ in range(_KILL_ROUNDS):
        if among is not None and stopped is not None and not _stop_among(among, stopped, killed, deadline):
            stopped = None
            deadline = time.monotonic() + _STILL_SECONDS
        if stopped is None:
            _signal_everyone(signal.SIGSTOP)
            _wait_until_still(killed, deadline)
        victims = [process for process in _living(killed) if condemned(process)]
        for victim in victims:
            kill(victim.pid)
            killed.add((victim.pid, victim.started))
        if not victims:
            break
    if stopped is None:
        _signal_everyone(signal.SIGCONT)
    else:
        for pid in stopped:
            kill(pid, signal.SIGCONT)
    return len(killed)


def _living(killed: set[tuple[int, int]]) -> Iterator[Process]:
    return (process for process in others_in_sandbox() if process.state not in "ZX" and (process.pid, process.started) not in killed)


def _stop_among(among: Callable[[], Predicate], stopped: set[int], killed: set[tuple[int, int]], deadline: float) -> bool:
    """Stops some processes and adds them to `stopped`. False where more and more are born, instead of standing in time.

    Each look stops what was born since the last. One that is only slow to stop bears nobody before it does. SECURITY: what flees by forking
    has always ended when it is looked at. A look in which something ends proves nothing, and is repeated.
    """
    known_dead: set[int] = set()
    while True:
        everyone, is_whole = _look()
        everyone = [process for process in everyone if (process.pid, process.started) not in killed]
        dead = {process.pid for process in everyone if process.state in "ZX"}
        is_among = among()  # anew for each look: processes still run, and what was found about a parent may be outdated
        found = [process for process in everyone if process.pid not in dead and is_among(process)]
        newborn = {process.pid for process in found} - stopped
        for pid in newborn:
            kill(pid, signal.SIGSTOP)
        stopped |= newborn
        is_sure = is_whole and not newborn and dead <= known_dead
        known_dead = dead
        if time.monotonic() >= deadline or (is_sure and all(process.state in "Tt" for process in found)):
            return is_sure
        time.sleep(0.0005)


def _look() -> tuple[list[Process], bool]:
    """The processes of the sandbox but this one, and whether none has ended meanwhile. Without a pid namespace others end all the time."""
    if os.getpid() != 1:
        return list(others_in_sandbox()), True
    found: list[Process] = []
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]
    for pid in pids:
        try:
            found.append(read_process(pid))
        except (OSError, IndexError, ValueError):
            continue
    return found, len(found) == len(pids)


def _wait_until_still(killed: set[tuple[int, int]], deadline: float) -> None:
    """Waits until all processes have stopped, with a timeout: a process that waits for a processor may take long.

    A process in the middle of a fork stops when it has a child. The child inherits the pending SIGSTOP, but not a
    SIGCONT that its parent ignores, as most do: if the parent were continued too early, the child would be created
    stopped and stay so.
    """
    while any(process.state not in "Tt" for process in _living(killed)):
        if time.monotonic() >= deadline:
            return
        time.sleep(0.0005)


def signal_group(group: int, number: signal.Signals) -> None:
    """Does nothing if the group is gone."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass


def kill(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Sends a signal; to one that is gone, or of another user, none."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def may_be_ended(pid: int) -> bool:
    """False for a process that is gone, or that belongs to another user."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _signal_everyone(number: signal.Signals) -> None:
    if os.getpid() == 1:
        kill(-1, number)
        return
    for process in others_in_sandbox():
        kill(process.pid, number)


def _all_processes() -> Iterator[Process]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                yield read_process(int(name))
            except (OSError, IndexError, ValueError):
                continue
