"""The file requests of the protocol: streams with credit on top of workspace_files.py."""

from __future__ import annotations

import json
import os
from typing import Callable, NamedTuple, Optional

from ..wire.channel import Channel
from ..wire.frames import Frame, Head
from ..wire.replies import Reply
from . import workspace_files
from .upload_targets import WorkspaceFile
from .uploads import Uploads
from .workspace_files import FileError

_PIECE_BYTES = 65_536
_MAX_LIST_BYTES = 1_000_000


class _Download(NamedTuple):
    """A download. `finish` closes the file and answers the request."""

    request: int
    finish: Callable[[Callable[[], None]], None]


class FileRequests:
    """Serves `file.*`. `changed` is called after the host has written a file, because such files are not artifacts."""

    def __init__(self, channel: Channel, uploads: Uploads, workspace: str, reply: Reply, *, changed: Callable[[], None]) -> None:
        self._channel = channel
        self._uploads = uploads
        self._workspace = workspace
        self._reply = reply
        self._changed = changed
        self._downloads: dict[int, _Download] = {}
        self.requests: dict[str, Callable[[Frame], Optional[Head]]] = {
            "file.read": self._read,
            "file.write": self._write,
            "file.list": self._list,
            "file.remove": self._remove,
            "file.cancel": self._cancel,
        }

    def abandon(self) -> None:
        """Drops all downloads: their host is gone."""
        for download in list(self._downloads.values()):
            download.finish(lambda: None)

    def _write(self, frame: Frame) -> None:
        number = int(frame.head["id"])
        file = WorkspaceFile(self._workspace, str(frame.head["path"]), str(frame.head["mode"]))

        def finish() -> None:
            size = file.finish()
            self._changed()
            self._reply(number, {"sizeBytes": size}, b"")

        self._uploads.begin(int(frame.head["stream"]), number, file, finish)

    def _read(self, frame: Frame) -> None:
        number, stream = int(frame.head["id"]), int(frame.head["stream"])
        position, length = int(frame.head.get("offset") or 0), frame.head.get("length")
        if position < 0 or (length is not None and int(length) < 0):
            raise FileError("bad-request", "file.read: offset and length are not negative")
        fd, size = workspace_files.open_for_reading(self._workspace, str(frame.head["path"]))
        end = size if length is None else min(size, position + int(length))

        def finish(reply: Callable[[], None]) -> None:
            self._downloads.pop(stream, None)
            self._channel.close_stream(stream)
            os.close(fd)
            reply()

        def pump() -> None:
            nonlocal position
            try:
                while position < end:
                    room = self._channel.lossless_credit(stream)
                    if room <= 0:
                        return
                    data = os.pread(fd, min(_PIECE_BYTES, room, end - position), position)
                    if not data:
                        break  # the file shrank while it was read
                    position += len(data)
                    self._channel.send({"type": "chunk"}, data, stream)
            except OSError as error:
                reason = f"file.read: {error.strerror}"
                finish(lambda: self._fail(number, "io", reason))
                return
            finish(lambda: self._reply(number, {"sizeBytes": size}, b""))

        self._downloads[stream] = _Download(number, finish)
        self._channel.open_stream(stream, pump)
        pump()

    def _cancel(self, frame: Frame) -> Head:
        """Cancels a transfer; nothing of it is kept."""
        stream = int(frame.head["stream"])
        download = self._downloads.get(stream)
        if download is not None:
            download.finish(lambda: self._fail(download.request, "cancelled", "file.read: withdrawn"))
        self._uploads.withdraw(stream)
        return {}

    def _fail(self, number: int, code: str, message: str) -> None:
        self._channel.send({"type": "reply", "id": number, "ok": False, "error": {"code": code, "message": message}})

    def _list(self, frame: Frame) -> None:
        limit = max(1, min(int(frame.head.get("limit") or 1_000), 5_000))
        entries, omitted = workspace_files.list_folder(self._workspace, str(frame.head["path"]), bool(frame.head.get("recursive")), limit)
        body = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
        while len(body) > _MAX_LIST_BYTES:
            omitted += len(entries) - len(entries) // 2
            entries = entries[: len(entries) // 2]
            body = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
        self._reply(int(frame.head["id"]), {"omitted": omitted}, body)

    def _remove(self, frame: Frame) -> Head:
        workspace_files.remove(self._workspace, str(frame.head["path"]), bool(frame.head.get("recursive")))
        self._changed()
        return {}
