"""Masks the entries of a session's /proc that reveal or affect the host."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..system import linux

_FLAGS = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC


@dataclass(frozen=True)
class Covers:
    """An empty file and an empty folder, on a read-only file system of the session."""

    file: str
    folder: str

    def cover(self, proc: str, kept: list[str], covered: list[str]) -> None:
        """Masks all entries except those of processes and those in `kept`, and also the paths in `covered`.

        SECURITY: an allowlist, so that a new entry of a later kernel is masked, too.
        """
        with os.scandir(proc) as entries:
            # The target of a link has its own entry.
            others = [entry for entry in entries if not entry.name.isdigit() and entry.name not in kept and not entry.is_symlink()]
        for entry in others:
            linux.mount(self.folder if entry.is_dir() else self.file, entry.path, None, linux.MS_BIND)
        for path in (os.path.join(proc, name) for name in covered):
            if os.path.exists(path):
                linux.mount(self.file, path, None, linux.MS_BIND)


def make_covers(folder: str) -> Covers:
    """Covers `folder` itself, too: the session cannot enter the file system mounted there."""
    linux.mount("none", folder, "tmpfs", _FLAGS, data="size=4k,nr_inodes=4,mode=000")
    covers = Covers(file=os.path.join(folder, "file"), folder=os.path.join(folder, "folder"))
    os.close(os.open(covers.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444))
    os.mkdir(covers.folder, 0o555)
    linux.mount(None, folder, None, linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY | _FLAGS)
    return covers
