"""Calls from a program in the sandbox to the host (section 10). It needs nothing but the standard library and `frames`.

`call("method", argument)` returns the result. `Call` is one with bytes in both directions, such as a connection.
"""

from __future__ import annotations

import json
import os
import socket
from types import TracebackType
from typing import Any, Optional

from .call_socket import VARIABLE
from .frames import Frame, FrameDecoder, Head, encode

_PIECE_BYTES = 65_536


class CallError(Exception):
    """The host, or the supervisor on the way to it, refused or ended the call. `code` is one of the protocol's."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{message} ({code})" if message else code)
        self.code = code
        self.message = message


def call(method: str, argument: Any = None) -> Any:
    """Makes a call and waits for its result. An interrupt ends the wait, and cancels the call."""
    with Call(method, argument) as made:
        made.close_write()
        return made.result(whole=True)


class Call:
    """One call, on a connection of its own: threads do not wait for each other, and closing it cancels it.

    Raises CallError. A forked child gets that as well, instead of its parent's bytes; it can make calls of its own.
    """

    def __init__(self, method: str, argument: Any = None) -> None:
        self._pid = os.getpid()
        self._decoder = FrameDecoder()
        self._result = b""
        self._has_result = False
        self._output = bytearray()
        self._is_output_over = False
        self._reply: Optional[Head] = None
        self._is_write_closed = False
        self._sock = socket.socket(socket.AF_UNIX)
        try:
            self._sock.connect(_address())
            self._send({"type": "call", "method": method})
            self._send_pieces("argument", b"" if argument is None else _json(argument), end=True)
        except BaseException:
            self._sock.close()
            raise

    def result(self, whole: bool = False) -> Any:
        """Waits for the result; with `whole`, until the call is over. Raises the error of a call that fails before."""
        self._require_parent()
        while not (self._reply or (self._has_result and not whole)):
            self._receive()
        self._raise_error()
        return json.loads(self._result) if self._result else None

    def read(self, size: int = _PIECE_BYTES) -> bytes:
        """Waits for output and returns at most `size` bytes of it; none at its end."""
        self._require_parent()
        while not self._output and not self._is_output_over and self._reply is None:
            self._receive()
        if not self._output:
            self._raise_error()
        data = bytes(self._output[:size])
        del self._output[:size]
        return data

    def write(self, data: bytes) -> None:
        """Returns when the bytes are on their way; waits while the host takes none."""
        self._send_pieces("chunk", data, end=False)

    def close_write(self) -> None:
        """Ends the input; output can still be read."""
        if not self._is_write_closed:
            self._is_write_closed = True
            self._send_pieces("chunk", b"", end=True)

    def close(self) -> None:
        """Cancels the call, unless it is over."""
        if self._pid == os.getpid():
            try:
                # A child that was forked meanwhile holds the connection, too; closing alone would not end it.
                self._sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self._sock.close()

    def __enter__(self) -> Call:
        return self

    def __exit__(self, _type: Optional[type[BaseException]], _error: Optional[BaseException], _trace: Optional[TracebackType]) -> None:
        self.close()

    def _send_pieces(self, kind: str, data: bytes, end: bool) -> None:
        for start in range(0, max(1, len(data)), _PIECE_BYTES):
            is_last = start + _PIECE_BYTES >= len(data)
            self._send({"type": kind, "end": end and is_last}, data[start : start + _PIECE_BYTES])

    def _send(self, head: Head, body: bytes = b"") -> None:
        self._require_parent()
        try:
            self._sock.sendall(encode(Frame(head, body)))
        except (BrokenPipeError, ConnectionResetError):
            while self._reply is None:  # the call is over; its reply says why
                self._receive()
            self._raise_error()

    def _receive(self) -> None:
        self._require_parent()
        try:
            data = self._sock.recv(_PIECE_BYTES)
        except ConnectionResetError:
            data = b""
        if not data:
            raise CallError("channel-lost", "the sandbox's supervisor has closed the call")
        for frame in self._decoder.feed(data):
            kind, is_end = frame.head["type"], frame.head.get("end") is True
            if kind == "reply":
                self._reply = frame.head
            elif kind == "result":
                self._result += frame.body
                self._has_result = is_end
            elif kind == "chunk":
                self._output += frame.body
                self._is_output_over = is_end

    def _raise_error(self) -> None:
        error = (self._reply or {}).get("error")
        if error is not None:
            raise CallError(str(error["code"]), str(error["message"]))

    def _require_parent(self) -> None:
        if os.getpid() != self._pid:
            raise CallError("forked", "the call belongs to the process that this one was forked from; make another")


def _json(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can express
        return json.dumps(value).encode()


def _address() -> str:
    address = os.environ.get(VARIABLE, "")
    if not address:
        raise CallError("not-offered", "this host serves no calls from the sandbox")
    return "\0" + address[1:] if address.startswith("@") else address
