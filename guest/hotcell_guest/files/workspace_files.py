"""Finds, reads and removes files of the workspace for the host. This happens inside the sandbox, so that a planted link
cannot lead to the host.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Any, Iterator, Optional

_MAX_PATH_BYTES = 4_096
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FileError(Exception):
    """A request that cannot be served; `code` is an error code of the protocol."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def open_for_reading(workspace: str, path: str) -> tuple[int, int]:
    """Opens a regular file and returns its descriptor and size. Never blocks on a FIFO, never opens a device."""
    parts = parts_of(workspace, path)
    if not parts:
        raise FileError("bad-path", f"{path}: this is the workspace itself")
    folder = open_folder(workspace, parts[:-1])
    try:
        status = os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            raise FileError("bad-path", f"{path}: {_kind(status.st_mode)}, not a regular file")
        fd = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        raise as_file_error(error, path) from None
    finally:
        os.close(folder)
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):  # exchanged between stat and open
        os.close(fd)
        raise FileError("bad-path", f"{path}: not a regular file")
    return fd, status.st_size


def list_folder(workspace: str, path: str, recursive: bool, limit: int) -> tuple[list[dict[str, Any]], int]:
    """Entries below a folder, sorted by path, and the number of omitted ones."""
    parts = parts_of(workspace, path)
    folder = open_folder(workspace, parts)
    entries: list[dict[str, Any]] = []
    seen: set[str] = set()
    omitted = 0
    try:
        for entry in _walk(folder, "/".join(parts), recursive, 0):
            # Two names that are not UTF-8 can look the same here, and neither can be requested. The host rejects
            # duplicate paths.
            if entry is not None and entry["path"] not in seen and len(entries) < limit:
                seen.add(entry["path"])
                entries.append(entry)
            else:
                omitted += 1
                if omitted >= limit * 10:
                    break
    finally:
        os.close(folder)
    entries.sort(key=lambda entry: str(entry["path"]))
    return entries, omitted


def remove(workspace: str, path: str, recursive: bool) -> None:
    """Removes a file, link or folder. Of a link, the link itself is removed, never its target."""
    parts = parts_of(workspace, path)
    if not parts:
        raise FileError("bad-path", f"{path}: this is the workspace itself")
    folder = open_folder(workspace, parts[:-1])
    try:
        _remove(folder, parts[-1], recursive, 0)
    except OSError as error:
        raise as_file_error(error, path) from None
    finally:
        os.close(folder)


def parts_of(workspace: str, path: str) -> list[str]:
    """The components of a path below the workspace. SECURITY: `..` is refused, not resolved, so that no traversal is
    possible.
    """
    if "\0" in path or len(_bytes_of(path)) > _MAX_PATH_BYTES:
        raise FileError("bad-path", "a path has no NUL and at most 4,096 bytes")
    if path.startswith("/"):
        if path != workspace and not path.startswith(f"{workspace}/"):
            raise FileError("bad-path", f"{path}: outside the workspace, which is {workspace}")
        path = path[len(workspace) :]
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise FileError("bad-path", f"{path}: leaves the workspace")
    return parts


def is_too_long(path: str) -> bool:
    """Whether a path that was found below the workspace is longer than a request allows."""
    return len(os.fsencode(path)) > _MAX_PATH_BYTES


def _bytes_of(path: str) -> bytes:
    try:
        return os.fsencode(path)
    except UnicodeEncodeError:
        raise FileError("bad-path", "a path has no half characters") from None


def open_folder(workspace: str, parts: list[str], create: bool = False) -> int:
    """Walks down component by component, without following links."""
    try:
        fd = os.open(workspace, _FOLDER_FLAGS)
    except OSError as error:
        raise as_file_error(error, workspace) from None
    for part in parts:
        try:
            if create:
                try:
                    os.mkdir(part, 0o755, dir_fd=fd)
                except FileExistsError:
                    pass
            below = _open_subfolder(fd, part)
        except OSError as error:
            raise as_file_error(error, part) from None
        finally:
            os.close(fd)
        fd = below
    return fd


def _open_subfolder(folder: int, name: str) -> int:
    """SECURITY: gVisor follows a link despite O_NOFOLLOW if O_DIRECTORY is set, so the opened folder is compared with
    the entry of that name.
    """
    expected = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISLNK(expected.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    fd = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
    opened = os.fstat(fd)
    if (opened.st_dev, opened.st_ino) != (expected.st_dev, expected.st_ino):
        os.close(fd)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return fd


def _walk(folder: int, prefix: str, recursive: bool, depth: int) -> Iterator[Optional[dict[str, Any]]]:
    """Yields None for an entry whose path is too long to be requested."""
    with os.scandir(folder) as scan:
        for entry in scan:
            path = f"{prefix}/{entry.name}" if prefix else entry.name
            if is_too_long(path):
                yield None
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            yield {
                "path": os.fsencode(path).decode("utf-8", "replace"),
                "kind": _kind(status.st_mode),
                "sizeBytes": status.st_size,
                "modifiedMs": status.st_mtime_ns // 1_000_000,
            }
            if recursive and depth < 64 and stat.S_ISDIR(status.st_mode):
                try:
                    below = _open_subfolder(folder, entry.name)
                except OSError:
                    continue
                try:
                    yield from _walk(below, path, recursive, depth + 1)
                finally:
                    os.close(below)


def _remove(folder: int, name: str, recursive: bool, depth: int) -> None:
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(name, dir_fd=folder)
        return
    if recursive and depth < 256:
        below = _open_subfolder(folder, name)
        try:
            for child in os.listdir(below):
                _remove(below, child, recursive, depth + 1)
        finally:
            os.close(below)
    os.rmdir(name, dir_fd=folder)


def _kind(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


_CODES = {
    errno.ENOENT: "not-found",
    errno.EEXIST: "exists",
    errno.ENOSPC: "no-space",
    errno.EDQUOT: "no-space",
    errno.EFBIG: "no-space",
    errno.ELOOP: "bad-path",
    errno.ENOTDIR: "bad-path",
    errno.EISDIR: "bad-path",
    errno.ENAMETOOLONG: "bad-path",
    errno.ENXIO: "bad-path",
}


def as_file_error(error: OSError, path: str) -> FileError:
    code = _CODES.get(error.errno or 0, "io")
    return FileError(code, f"{path}: {error.strerror}")
