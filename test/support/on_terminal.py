"""Runs a program on a terminal of its own: bytes from our stdin are what is typed, its screen goes to our stdout.

Arguments: columns, rows, then the command. Exits as the program does. The first line of stderr is the program's pid.
"""

import fcntl
import os
import pty
import select
import struct
import sys
import termios


def main() -> int:
    columns, rows = int(sys.argv[1]), int(sys.argv[2])
    pid, terminal = pty.fork()
    if pid == 0:
        # Here and not in the parent: the program may ask for the size before the parent has its turn.
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.execvp(sys.argv[3], sys.argv[3:])
    print(pid, file=sys.stderr, flush=True)
    sources = [0, terminal]
    while terminal in sources:
        ready, _, _ = select.select(sources, [], [])
        if 0 in ready:
            typed = os.read(0, 65536)
            if typed:
                _write_all(terminal, typed)
            else:
                sources.remove(0)
        if terminal in ready:
            try:
                shown = os.read(terminal, 65536)
            except OSError:  # as Linux says that nobody holds the other end any more
                shown = b""
            if not shown:
                break
            _write_all(1, shown)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) & 0xFF


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


sys.exit(main())
