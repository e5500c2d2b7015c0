"""A folder for the sources and builds of a sandbox's kernels. It is outside the workspace, so that its files are not
artifacts.
"""

from __future__ import annotations

import os
import shutil


class PrivateFolder:
    """Created on first use, and again if user code has removed it. Created by kernels, whose parent is the supervisor."""

    def __init__(self) -> None:
        self.path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f".hotcell-{os.getppid()}")

    def make(self, name: str = "") -> str:
        """Returns the folder, or an empty folder of that name in it. Raises OSError if the disk is full."""
        os.makedirs(self.path, mode=0o700, exist_ok=True)
        path = os.path.join(self.path, name)
        if name:
            self.remove(path)
            os.mkdir(path, 0o700)
        return path

    def write(self, name: str, data: bytes) -> str:
        """Writes a file of that name and returns its path."""
        path = os.path.join(self.make(), name)
        self.remove(path)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        return path

    def remove(self, path: str) -> None:
        try:
            os.unlink(path)
        except IsADirectoryError:
            shutil.rmtree(path, ignore_errors=True)
        except OSError:
            pass
