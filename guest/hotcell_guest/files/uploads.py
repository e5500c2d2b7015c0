"""Bytes that the host sends on a stream, with credit."""

from __future__ import annotations

from typing import Callable, Protocol

from ..wire.channel import WINDOW_BYTES, Channel
from ..wire.frames import Frame
from ..wire.refusal import Refusal
from ..wire.replies import Fail
from .workspace_files import FileError


class Target(Protocol):
    """The target of the bytes. If it raises, the upload fails; `abandon` is idempotent."""

    def write(self, data: bytes) -> None: ...
    def abandon(self) -> None: ...


class _Upload:
    def __init__(self, request: int, target: Target, finish: Callable[[], None]) -> None:
        self.request = request
        self.target = target
        self.finish = finish
        self.taken = 0


class Uploads:
    """Uploads in progress, by stream. The module that starts an upload answers its request in `finish`; failures are
    answered here.
    """

    def __init__(self, channel: Channel, fail: Fail) -> None:
        self._channel = channel
        self._fail = fail
        self._uploads: dict[int, _Upload] = {}

    def begin(self, stream: int, request: int, target: Target, finish: Callable[[], None]) -> None:
        self._uploads[stream] = _Upload(request, target, finish)

    def chunk(self, frame: Frame) -> None:
        """Handles a chunk of an upload. A chunk for a failed stream is dropped; its error was sent already."""
        upload = self._uploads.get(frame.stream)
        if upload is None:
            return
        try:
            upload.target.write(frame.body)
            if frame.head.get("end"):
                del self._uploads[frame.stream]
                upload.finish()
                return
        except (FileError, Refusal) as error:
            self._uploads.pop(frame.stream, None)
            upload.target.abandon()
            self._fail(upload.request, error.code, str(error))
            return
        upload.taken += frame.size
        if upload.taken >= WINDOW_BYTES // 4:
            self._channel.send({"type": "credit", "stream": frame.stream, "bytes": upload.taken})
            upload.taken = 0

    def withdraw(self, stream: int) -> None:
        """Cancels an upload; nothing of it is kept."""
        upload = self._uploads.pop(stream, None)
        if upload is not None:
            upload.target.abandon()
            self._fail(upload.request, "cancelled", "the upload was withdrawn")

    def abandon(self) -> None:
        """Drops all uploads: their host is gone."""
        for upload in self._uploads.values():
            upload.target.abandon()
        self._uploads.clear()
