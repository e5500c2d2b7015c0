"""Targets of an upload: a file of the workspace, or an unnamed file."""

from __future__ import annotations

import os
import stat

from .workspace_files import FileError, as_file_error, open_folder, parts_of


class WorkspaceFile:
    """A file that is being written. `replace` writes a temporary file and renames it at the end (atomic)."""

    def __init__(self, workspace: str, path: str, mode: str) -> None:
        parts = parts_of(workspace, path)
        if not parts:
            raise FileError("bad-path", f"{path}: this is the workspace itself")
        self._folder = open_folder(workspace, parts[:-1], create=True)
        self._name = parts[-1]
        self._temporary = ""
        try:
            self._fd = self._open(mode)
        except OSError as error:
            os.close(self._folder)
            raise as_file_error(error, path) from None
        except FileError:
            os.close(self._folder)
            raise
        self._path = path

    def _open(self, mode: str) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        if mode == "create":
            return os.open(self._name, flags | os.O_EXCL, 0o644, dir_fd=self._folder)
        if mode == "append":
            fd = os.open(self._name, flags | os.O_APPEND, 0o644, dir_fd=self._folder)
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                os.close(fd)
                raise FileError("bad-path", f"{self._name}: not a regular file")
            return fd
        if mode != "replace":
            raise FileError("bad-request", f"{mode}: not a mode of writing")
        self._refuse_other_kinds()
        self._temporary = f".hotcell-{os.urandom(8).hex()}"
        return os.open(self._temporary, flags | os.O_EXCL, 0o644, dir_fd=self._folder)

    def _refuse_other_kinds(self) -> None:
        try:
            status = os.stat(self._name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return
        if not stat.S_ISREG(status.st_mode):
            raise FileError("bad-path", f"{self._name}: there, and not a regular file")

    def write(self, data: bytes) -> None:
        try:
            _write_all(self._fd, data, self._path)
        except FileError:
            self.abandon()
            raise

    def finish(self) -> int:
        """Makes the file visible and returns its size."""
        try:
            size = os.fstat(self._fd).st_size
            if self._temporary:
                os.rename(self._temporary, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
                self._temporary = ""
        except OSError as error:
            raise as_file_error(error, self._path) from None
        finally:
            self.abandon()
        return size

    def abandon(self) -> None:
        """Aborts; a file that was to be replaced is unchanged. Idempotent."""
        if self._fd < 0:
            return
        os.close(self._fd)
        self._fd = -1
        if self._temporary:
            try:
                os.unlink(self._temporary, dir_fd=self._folder)
            except OSError:
                pass
        os.close(self._folder)


class UnnamedFile:
    """A file without a name: only the holder of its descriptor can read it. It counts towards the disk limit."""

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, f".hotcell-{os.urandom(8).hex()}")
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            os.unlink(path)
        except OSError as error:
            raise as_file_error(error, "the upload") from None

    def write(self, data: bytes) -> None:
        _write_all(self._fd, data, "the upload")

    def take(self) -> int:
        """Returns the descriptor, positioned at the beginning of the file. The caller closes it."""
        fd, self._fd = self._fd, -1
        os.lseek(fd, 0, os.SEEK_SET)
        return fd

    def abandon(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _write_all(fd: int, data: bytes, path: str) -> None:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except OSError as error:
        raise as_file_error(error, path) from None
