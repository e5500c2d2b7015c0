"""Descriptors of a fork: which one stays, and that no other does."""

from __future__ import annotations

import os


def keep_only(fd: int, place: int) -> int:
    """Moves `fd` to `place` and closes everything from there on. SECURITY: close-on-exec means nothing to a fork."""
    if fd != place:
        os.dup2(fd, place, inheritable=False)
    os.closerange(place + 1, 65_536)
    return place


def write_file(path: str, data: bytes) -> None:
    """A small file of /proc in three system calls: a text file object costs a fresh fork hundreds of page faults."""
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)
