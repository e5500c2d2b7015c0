"""How a fork of the guest becomes a kernel: its descriptors, its limits and its folder."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys
from typing import Any, Callable, NoReturn, Optional

from ..system import linux
from ..system.descriptors import keep_only, write_file
from ..system.limits import Limits, limit_cpus, limit_program, limit_this_process
from . import preload
from .link import Link

PRIVATE_SOCKET_FD = 3


def become_kernel(sock: socket.socket, limits: Limits, workspace: str, serve: Callable[[Link], None]) -> NoReturn:
    """In the child right after the fork: sets up the process and serves, beginning with `up`. Never returns."""

    def live() -> None:
        link = settle(sock)
        linux.set_child_subreaper()
        close_in(limits, workspace)
        serve(link)

    until_the_end(live)


def become_program(
    sock: socket.socket,
    outputs: tuple[int, ...],
    limits: Limits,
    workspace: str,
    *,
    argv: list[str],
    environment: dict[str, str],
    program_fd: Optional[int],
) -> NoReturn:
    """In the child right after the fork: executes another program, which sends `up` itself. Never returns.

    It gets /dev/null, the two output pipes and the private socket as descriptors 0 to 3, a `program_fd` as 4, and no memory of this
    process.
    """

    def live() -> None:
        # Moved away first: the descriptors for 1 to 3 must not overwrite one that is still to be moved.
        program = () if program_fd is None else (program_fd,)
        given = (*outputs, sock.fileno(), *program)
        taken = [fcntl.fcntl(fd, fcntl.F_DUPFD, len(given) + 1) for fd in given]
        for place, fd in enumerate(taken, start=1):
            os.dup2(fd, place)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        os.closerange(len(given) + 1, 65_536)
        os.setsid()
        _restore_signals()
        for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        linux.set_dumpable(True)  # otherwise its own /proc would belong to root until the exec
        _prefer_as_oom_victim()
        _stand_in(limits, workspace)
        limit_program(limits)
        os.execvpe(argv[0], argv, {**os.environ, **environment})

    until_the_end(live)


def settle(sock: socket.socket) -> Link:
    """Sets up everything that does not depend on the configuration."""
    link = Link(_settle_descriptors(sock))
    os.setsid()
    linux.set_dumpable(True)  # the supervisor is not; a kernel must read and write its own /proc
    _restore_signals()
    _prefer_as_oom_victim()
    _fresh_randomness()
    sys.argv = [""]
    return link


def close_in(limits: Limits, workspace: str) -> None:
    """Applies the limits, and changes to the workspace."""
    _stand_in(limits, workspace)
    limit_this_process(limits)


def until_the_end(live: Callable[[], None]) -> NoReturn:
    try:
        live()
    except BaseException as error:  # noqa: BLE001 - report the error, then end
        try:
            os.write(2, f"kernel: {type(error).__name__}: {error}\n".encode())
        finally:
            # SIGKILL and not an exit code, which would look like the program's own.
            os.kill(os.getpid(), signal.SIGKILL)
    os._exit(0)


def take_output(fds: list[int]) -> None:
    """Makes the output pipes that came with an execution's frame descriptors 1 and 2."""
    for target, fd in zip((1, 2), fds):
        os.dup2(fd, target)
        os.close(fd)


def mend_descriptors() -> None:
    """Reopens descriptors 0 to 2 if the user closed them. The next descriptors to arrive must not land there and overwrite each other."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            null = os.open("/dev/null", os.O_RDWR)
            if null != fd:
                os.dup2(null, fd)
                os.close(null)


def _stand_in(limits: Limits, workspace: str) -> None:
    limit_cpus(limits)
    preload.use_processors(limits.cpus)
    try:
        os.chdir(workspace)
    except OSError:
        os.chdir("/")  # the program made the workspace inaccessible, and needs a kernel to undo that


def _settle_descriptors(sock: socket.socket) -> socket.socket:
    """SECURITY: leaves 0 to 2 on /dev/null and the private socket on 3, and closes everything else, close-on-exec or not."""
    # Detached from the object, which would close a descriptor of the user when it is collected.
    keep_only(sock.detach(), PRIVATE_SOCKET_FD)
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    return socket.socket(fileno=PRIVATE_SOCKET_FD)


def _restore_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGCONT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as in Python
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing to interrupt between executions


def _prefer_as_oom_victim() -> None:
    """Out of memory, the Linux kernel must kill this kernel and its children, not the supervisor that restarts it."""
    try:
        write_file("/proc/self/oom_score_adj", b"1000")
    except OSError:
        pass


def _fresh_randomness() -> None:
    """SECURITY: forks of one zygote must not draw the same random numbers. Kernels of different sessions often have the same pid, which is
    all that OpenSSL and tempfile check."""
    random: Any = sys.modules.get("random")
    if random is not None:
        random.seed()
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        # The whole state instead of a seed: numpy's seeding costs a fresh fork hundreds of page faults.
        numpy.random.set_state(("MT19937", numpy.frombuffer(os.urandom(624 * 4), numpy.uint32), 624))
    ssl: Any = sys.modules.get("ssl")
    if ssl is not None:
        ssl.RAND_add(os.urandom(32), 32.0)
    tempfile: Any = sys.modules.get("tempfile")
    if tempfile is not None:
        tempfile._name_sequence = None
