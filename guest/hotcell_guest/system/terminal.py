"""Pseudo-terminals: opening one, its size, and how its input is ended."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import termios
from typing import Optional

from .processes import signal_group

MOST_CELLS = 1_000
_KEYS = {signal.SIGINT: termios.VINTR, signal.SIGQUIT: termios.VQUIT, signal.SIGTSTP: termios.VSUSP}


def open_terminal(columns: int, rows: int) -> tuple[int, int]:
    """The master, which never waits, and the slave. SECURITY: neither is inherited by a program that a fork becomes."""
    size = _size(columns, rows)
    master, slave = os.openpty()
    os.set_blocking(master, False)
    fcntl.ioctl(master, termios.TIOCSWINSZ, size)
    return master, slave


def resize_terminal(master: int, columns: int, rows: int) -> None:
    """The foreground job is sent SIGWINCH. Raises ValueError for what is no size."""
    fcntl.ioctl(master, termios.TIOCSWINSZ, _size(columns, rows))


def end_of_input(master: int) -> bytes:
    """The character that a program reads as end of file, at the beginning of a line."""
    character: bytes = termios.tcgetattr(master)[6][termios.VEOF]
    return character


def signal_foreground(master: int, number: signal.Signals) -> bool:
    """Sends a signal to the job in the foreground. Says whether it could."""
    group = foreground_of(master)
    if group is not None:
        signal_group(group, number)
        return True
    # gVisor does not tell which it is, but sends it what a key means.
    flags, characters = termios.tcgetattr(master)[3], termios.tcgetattr(master)[6]
    if number not in _KEYS or not flags & termios.ISIG:
        return False
    try:
        return os.write(master, characters[_KEYS[number]]) == 1
    except OSError:
        return False


def foreground_of(master: int) -> Optional[int]:
    """The process group that it signals when somebody presses Ctrl-C. It belongs to the session whose controlling terminal this is."""
    try:
        group = os.tcgetpgrp(master)
    except OSError:
        return None
    return group if group > 1 else None


def take_terminal() -> None:
    """In a process that leads its session: its standard input becomes its controlling terminal."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _size(columns: int, rows: int) -> bytes:
    for name, cells in (("columns", columns), ("rows", rows)):
        if not isinstance(cells, int) or isinstance(cells, bool) or not 1 <= cells <= MOST_CELLS:
            raise ValueError(f"{name} is not between 1 and {MOST_CELLS}")
    return struct.pack("HHHH", rows, columns, 0, 0)
