"""One call of a program in the sandbox: a connection to the supervisor on one side, a stream of the channel on the other."""

from __future__ import annotations

import socket
from collections import deque
from typing import Callable, NamedTuple, Optional

from ..system.loop import Loop
from ..wire.call_socket import receive_with_sender
from ..wire.channel import WINDOW_BYTES, Channel
from ..wire.frames import Frame, FrameDecoder, Head, ProtocolViolation, encode

_READ_BYTES = 65_536
_MOST_METHOD_CHARS = 200
# SECURITY: bounds what a caller makes the supervisor hold. A whole frame of the channel may be sixteen times as large.
_MOST_FRAME_BYTES = 65_536 + 1_024
# Time for a new connection to send its `call`, so that idle ones do not use up the places.
_FIRST_FRAME_SECONDS = 10.0


class CallSurroundings(NamedTuple):
    """Dependencies that all calls share. `execution_of` names the execution of a process; None for a background process. `number`
    registers a call, and returns its id and its stream. `on_end` is called once for each call, when its connection is closed.
    """

    loop: Loop
    channel: Channel
    execution_of: Callable[[int], Optional[str]]
    number: Callable[[Call], tuple[int, int]]
    on_end: Callable[[Call], None]


class Call:
    """Forwards frames in both directions, with backpressure: it reads from the caller while the host gives credit, and gives credit to the
    host as the caller reads.

    SECURITY: any program can be the caller. Each frame is checked and made anew, and the caller says nothing about whose call it is.
    """

    def __init__(self, around: CallSurroundings, sock: socket.socket) -> None:
        self.number: Optional[int] = None
        self.stream = 0
        self.execution: Optional[str] = None
        self._around = around
        self._sock = sock
        self._decoder = FrameDecoder()
        self._arrived: deque[Frame] = deque()
        self._unsent: deque[tuple[memoryview, int]] = deque()
        self._taken = 0
        self._pid: Optional[int] = None
        self._is_argument_whole = False
        self._is_input_over = False
        self._is_over = False
        self._timer = around.loop.call_later(_FIRST_FRAME_SECONDS, self._close)
        around.loop.on_readable(sock.fileno(), self._readable)

    def deliver(self, frame: Frame) -> None:
        """Passes a frame of the host on to the caller."""
        if not self._is_over and frame.head["type"] in ("result", "chunk"):
            self._write({"type": frame.head["type"], "end": frame.head.get("end") is True}, frame.body, frame.size)

    def finish(self, reply: Head) -> None:
        """Passes the host's reply on, and closes the connection when the caller has read everything."""
        if self._is_over:
            return
        self._is_over = True
        self._timer.cancel()
        if self.number is not None:
            self._around.channel.close_stream(self.stream)
        self._arrived.clear()
        self._around.loop.on_readable(self._sock.fileno(), self._watch_for_end)
        self._write(reply, b"", 0)

    def fail(self, code: str, message: str, tell_host: bool = True) -> None:
        """Ends the call with an error. The host, unless it knows, is told that nobody waits for it any more."""
        if self._is_over:
            return
        if tell_host and self.number is not None:
            self._around.channel.send({"type": "call.cancel", "id": self.number})
        self.finish({"type": "reply", "ok": False, "error": {"code": code, "message": message}})

    # From the caller

    def _readable(self) -> None:
        try:
            data, pid = receive_with_sender(self._sock, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data, pid = b"", None
        if not data:
            self._gone()
            return
        self._pid = self._pid or pid
        try:
            self._arrived.extend(self._decoder.feed(data))
        except ProtocolViolation as violation:
            self.fail("bad-request", f"not a frame: {violation}")
            return
        if self._decoder.pending_bytes > _MOST_FRAME_BYTES:
            self.fail("bad-request", "a frame of a call has at most 65,536 bytes of body")
            return
        self._forward()

    def _forward(self) -> None:
        """Takes what has arrived while there is credit, and reads on only when all is taken."""
        channel = self._around.channel
        while self._arrived and not self._is_over and (self.number is None or channel.lossless_credit(self.stream) > 0):
            self._take(self._arrived.popleft())
        if not self._is_over:
            self._around.loop.on_readable(self._sock.fileno(), None if self._arrived else self._readable)

    def _take(self, frame: Frame) -> None:
        kind, is_end = frame.head["type"], frame.head.get("end") is True
        if self.number is None:
            self._begin(frame)
        elif self._is_input_over or kind != ("chunk" if self._is_argument_whole else "argument"):
            self.fail("bad-request", "a call is `argument` frames up to an `end`, then `chunk` frames up to an `end`")
        else:
            self._is_input_over = is_end and self._is_argument_whole
            self._is_argument_whole = self._is_argument_whole or is_end
            self._around.channel.send({"type": kind, "end": is_end}, frame.body, self.stream)

    def _begin(self, frame: Frame) -> None:
        method, channel = frame.head.get("method"), self._around.channel
        if frame.head["type"] != "call" or not isinstance(method, str) or len(method) > _MOST_METHOD_CHARS:
            self.fail("bad-request", "a call begins with `call` and the name of a method")
            return
        if not channel.welcomed:
            self.fail("channel-lost", "no host is connected to the sandbox")
            return
        try:
            self.execution = self._around.execution_of(self._pid) if self._pid else None
        except OSError:
            self._gone()  # the caller has ended
            return
        self._timer.cancel()
        self.number, self.stream = self._around.number(self)
        channel.open_stream(self.stream, self._forward)
        channel.send({"type": "call", "id": self.number, "execution": self.execution, "method": method, "stream": self.stream})

    def _gone(self) -> None:
        """The caller has closed its connection, or has ended: that cancels the call."""
        self.fail("cancelled", "")
        self._close()

    # To the caller

    def _write(self, head: Head, body: bytes, cost: int) -> None:
        self._unsent.append((memoryview(encode(Frame(head, body))), cost))
        if len(self._unsent) == 1:
            self._flush()

    def _flush(self) -> None:
        try:
            while self._unsent:
                data, cost = self._unsent[0]
                sent = self._sock.send(data)
                if sent < len(data):
                    self._unsent[0] = (data[sent:], cost)
                    continue
                self._unsent.popleft()
                self._give_credit(cost)
        except BlockingIOError:
            self._around.loop.on_writable(self._sock.fileno(), self._flush)
            return
        except OSError:
            self._gone()
            return
        if self._is_over:
            self._close()
        else:
            self._around.loop.on_writable(self._sock.fileno(), None)

    def _give_credit(self, cost: int) -> None:
        self._taken += cost
        if self._taken >= WINDOW_BYTES // 4 and not self._is_over:
            self._around.channel.send({"type": "credit", "stream": self.stream, "bytes": self._taken})
            self._taken = 0

    def _watch_for_end(self) -> None:
        """After the reply: what the caller still sends is dropped; a caller that has ended need not read it."""
        try:
            if self._sock.recv(_READ_BYTES):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self._close()

    def _close(self) -> None:
        if self._sock.fileno() < 0:
            return
        self._is_over = True
        self._timer.cancel()
        self._unsent.clear()
        self._around.loop.on_readable(self._sock.fileno(), None)
        self._around.loop.on_writable(self._sock.fileno(), None)
        self._sock.close()
        self._around.on_end(self)
