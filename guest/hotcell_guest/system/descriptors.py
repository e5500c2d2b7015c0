"""Descriptors of a fork: one is kept, and all others are closed."""

from __future__ import annotations

import os


def keep_only(fd: int, place: int) -> int:
    """Moves `fd` to `place` and closes all descriptors above it. SECURITY: a fork inherits descriptors even if they are
    close-on-exec.
    """
    if fd != place:
        os.dup2(fd, place, inheritable=False)
    os.closerange(place + 1, 65_536)
    return place


def write_file(path: str, data: bytes) -> None:
    """Writes a small file of /proc with three system calls: a text file object would cost a new fork hundreds of page
    faults.
    """
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)
