"""A layer that the host sends over the channel, for a sandbox that cannot see the host's folders."""

from __future__ import annotations

import json
import os
from typing import Any, Optional

from .workspace_files import FileError, as_file_error

_HEAD = 4
_MAX_HEAD_BYTES = 65_536
_PARTS = ("bin", "hooks", "node_modules")


class SentLayer:
    """A target of an upload: entries, each a length (4 bytes, big-endian), a head in JSON of that length, and the bytes
    of a file. Entries below the layer's name are written to a hidden folder, which `finish` renames. Others are links
    and small files for all layers (below `bin`, `hooks` and `node_modules`), which follow after that.

    SECURITY: user code has the same uid and can write to these folders, too. A file is only ever created, so that a link
    planted by that code leads to no file that exists.
    """

    def __init__(self, folder: str, name: str, node_modules: str) -> None:
        if not name.isdigit():
            raise FileError("bad-request", f"{name}: not the name of a layer")
        self._folder = folder
        self._name = name
        self._node_modules = node_modules
        self._making = os.path.join(folder, f".making-{name}")
        self._later: list[tuple[dict[str, Any], bytes]] = []
        self._unread = bytearray()
        self._head: Optional[dict[str, Any]] = None
        self._left = 0
        self._content = bytearray()
        self._fd = -1
        self._do(os.mkdir, self._making, 0o755)

    def write(self, data: bytes) -> None:
        self._unread += data
        try:
            while self._take():
                pass
        except (KeyError, TypeError, ValueError) as error:
            raise FileError("bad-request", f"layer.write: {error}") from None

    def finish(self) -> None:
        if self._head is not None or self._unread:
            self.abandon()
            raise FileError("bad-request", "the layer is not complete")
        self._do(os.rename, self._making, os.path.join(self._folder, self._name))
        for head, content in self._later:
            self._put(head, content)

    def abandon(self) -> None:
        """Removes what was written. Idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        import shutil  # rarely needed, so it must not delay every start

        shutil.rmtree(self._making, ignore_errors=True)

    # Entries

    def _take(self) -> bool:
        """Handles the next head, or the next bytes of a file. Returns whether it could."""
        if self._head is None:
            size = int.from_bytes(self._unread[:_HEAD], "big")
            if size > _MAX_HEAD_BYTES:
                raise FileError("bad-request", "the head of an entry is too long")
            if len(self._unread) < _HEAD + size or not self._unread:
                return False
            head = json.loads(self._unread[_HEAD : _HEAD + size])
            del self._unread[: _HEAD + size]
            if not isinstance(head, dict):
                raise FileError("bad-request", "the head of an entry is not an object")
            self._begin(head)
        elif self._unread:
            piece = bytes(self._unread[: self._left])
            del self._unread[: self._left]
            self._left -= len(piece)
            if self._fd >= 0:
                self._do(_write_all, self._fd, piece)
            else:
                self._content += piece
        else:
            return False
        if self._left == 0:
            self._end()
        return True

    def _begin(self, head: dict[str, Any]) -> None:
        self._head = head
        self._left = int(head.get("size") or 0)
        path = self._inside(head)
        if path is None:
            return
        if head["kind"] == "folder":
            self._do(os.mkdir, path, 0o755)
        elif head["kind"] == "link":
            self._do(os.symlink, str(head["target"]), path)
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            self._fd = self._do(os.open, path, flags, 0o755 if head.get("executable") else 0o644)

    def _end(self) -> None:
        assert self._head is not None
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        elif self._inside(self._head) is None:
            self._later.append((self._head, bytes(self._content)))
        self._content.clear()
        self._head = None

    def _inside(self, head: dict[str, Any]) -> Optional[str]:
        """The path of an entry of the layer itself. None for one that is for all layers."""
        first, *rest = str(head["path"]).split("/")
        if not rest or any(part in ("", ".", "..") for part in rest) or first not in (self._name, *_PARTS):
            raise FileError("bad-path", f"{head['path']}: not a path of a layer")
        return os.path.join(self._making, *rest) if first == self._name else None

    def _put(self, head: dict[str, Any], content: bytes) -> None:
        """Replaces a file or link as a whole."""
        first, *rest = str(head["path"]).split("/")
        path = os.path.join(self._node_modules if first == "node_modules" else os.path.join(self._folder, first), *rest)
        self._do(os.makedirs, os.path.dirname(path), 0o755, True)
        draft = os.path.join(os.path.dirname(path), f".making-{self._name}")
        if head["kind"] == "link":
            self._do(os.symlink, str(head["target"]), draft)
        else:
            fd = self._do(os.open, draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
            try:
                self._do(_write_all, fd, content)
            finally:
                os.close(fd)
        self._do(os.rename, draft, path)

    def _do(self, work: Any, *arguments: Any) -> Any:
        try:
            return work(*arguments)
        except OSError as error:
            self.abandon()
            raise as_file_error(error, f"layer {self._name}") from None


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
