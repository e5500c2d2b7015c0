"""Bytes that the host sends on a stream, with credit: into a file of the workspace, or into one without a name."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from typing import Callable, Protocol

from .channel import WINDOW_BYTES, Channel
from .files import FileError, as_file_error
from .frames import Frame
from .refusal import Refusal


class Target(Protocol):
    """Where the bytes go. What it raises ends the upload; `abandon` is safe to repeat."""

    def write(self, data: bytes) -> None: ...
    def abandon(self) -> None: ...


@dataclass
class _Upload:
    request: int
    target: Target
    finish: Callable[[], None]
    taken: int = 0


class Uploads:
    """The uploads under way, by stream. Whoever begins one answers its request in `finish`; failures are answered here."""

    def __init__(self, channel: Channel, fail: Callable[[int, str, str], None]) -> None:
        self._channel = channel
        self._fail = fail
        self._uploads: dict[int, _Upload] = {}

    def begin(self, stream: int, request: int, target: Target, finish: Callable[[], None]) -> None:
        self._uploads[stream] = _Upload(request, target, finish)

    def chunk(self, frame: Frame) -> None:
        """A piece of an upload. One for a stream that has failed is dropped; its error was sent already."""
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
        """Nothing of it is kept."""
        upload = self._uploads.pop(stream, None)
        if upload is not None:
            upload.target.abandon()
            self._fail(upload.request, "cancelled", "the upload was withdrawn")

    def abandon(self) -> None:
        """Nobody waits for any of them any more."""
        for upload in self._uploads.values():
            upload.target.abandon()
        self._uploads.clear()


class UnnamedFile:
    """A file that has no name any more: only who is given its descriptor can read it. It counts against the limit of the disk."""

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, f".hotcell-{secrets.token_hex(8)}")
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            os.unlink(path)
        except OSError as error:
            raise as_file_error(error, "the upload") from None

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError as error:
            raise as_file_error(error, "the upload") from None

    def take(self) -> int:
        """The descriptor, at the beginning of the file. It is the caller's to close."""
        fd, self._fd = self._fd, -1
        os.lseek(fd, 0, os.SEEK_SET)
        return fd

    def abandon(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
