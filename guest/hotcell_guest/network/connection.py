"""One connection of a program to a listener: bytes between its socket and the stream of a call, which the supervisor itself makes."""

from __future__ import annotations

import json
import socket
from typing import Callable, NamedTuple, Optional

from ..system.loop import Loop
from ..wire.channel import WIDEST_WINDOW_BYTES, WINDOW_BYTES, Channel
from ..wire.frames import Frame, Head
from ..wire.open_calls import OpenCalls
from .answers import failed, http_answer, opened
from .greeting import Asked, Greeting
from .program_socket import ProgramSocket

_CREDIT_STEP_BYTES = WINDOW_BYTES // 4
# A connection that has taken so much gets a wider window, in which the host sends while we write. The buffers of a socket whose program
# does not read take less.
_WIDEN_AFTER_BYTES = 32 * WINDOW_BYTES
# Time for a client to say what it wants, so that idle ones do not use up the places.
GREETING_SECONDS = 10.0


class NetworkSurroundings(NamedTuple):
    """Dependencies that all connections share. `take_place` says whether one more call may be made, `take_width` whether one more
    window may be wide; `on_end` is called once for each connection, when its socket is closed."""

    loop: Loop
    channel: Channel
    calls: OpenCalls
    take_place: Callable[[], bool]
    take_width: Callable[[], bool]
    on_end: Callable[[Connection], None]


class Connection:
    """Pumps in both directions, with backpressure and half-close: it reads from the program while the host gives credit, and gives credit
    to the host as the program reads. It belongs to no execution: it ends with the program's socket.

    SECURITY: any program of the sandbox can be the client, and say anything. What it holds here is bounded: a greeting, or a window, and
    few are wide.
    """

    def __init__(self, around: NetworkSurroundings, sock: socket.socket, listener: str) -> None:
        self.listener = listener
        self.has_place = False
        self.is_wide = False
        self._around = around
        self._program = ProgramSocket(around.loop, sock, on_taken=self._give_credit, on_gone=self.close, on_closed=self._on_closed)
        self._greeting: Optional[Greeting] = None
        self._speaks = ""
        self._number = 0
        self._stream = 0
        self._early = b""
        self._taken = 0
        self._read = 0
        self._is_open = False
        self._has_answered = False
        self._is_input_over = False
        self._timer = around.loop.call_later(GREETING_SECONDS, self._on_late)

    @property
    def is_asked(self) -> bool:
        """Whether the host knows of it."""
        return self._number != 0

    @property
    def held_bytes(self) -> int:
        return len(self._early) + self._program.unsent_bytes

    def greet(self) -> None:
        """Lets the client of a proxy say what it wants."""
        self._greeting = Greeting()
        self._program.on_readable(self._read_greeting)

    def ask(self, asked: Asked) -> None:
        """Makes the call. The bytes of a client that waits for an answer are read when the host has given it."""
        channel = self._around.channel
        self._timer.cancel()
        self._speaks = asked.speaks
        self._early = asked.rest
        if not channel.welcomed:
            self._end_with("channel-lost", "no host is connected to the sandbox")
            return
        self.has_place = self._around.take_place()
        if not self.has_place:
            self._end_with("too-many", "as many connections are open as the sandbox may have; close some")
            return
        self._number, self._stream = self._around.calls.add(self)
        channel.open_stream(self._stream, self._read_on)
        channel.send({"type": "call", "id": self._number, "execution": None, "method": asked.method, "stream": self._stream})
        channel.send({"type": "argument", "end": True}, json.dumps(asked.argument).encode(), self._stream)
        if opened(self._speaks):
            self._program.on_readable(self._read_early)
        else:
            self._open()

    def deliver(self, frame: Frame) -> None:
        """Takes the result, which says that the connection is open, or bytes for the program."""
        if frame.head["type"] == "chunk":
            self._has_answered = self._has_answered or bool(frame.body)
            self._program.write(frame.body, frame.size)
            if frame.head.get("end") is True:
                self._program.half_close()
        elif frame.head.get("end") is True and not self._is_open:
            self._has_answered = True
            self._program.write(opened(self._speaks), frame.size)
            self._open()
        else:
            self._give_credit(frame.size)

    def finish(self, reply: Head) -> None:
        """The host has ended the call: well, with all that was delivered, or by an error."""
        self._end_call()
        if reply["ok"] is True:
            self._program.finish()
        else:
            self._end_with(str(reply["error"]["code"]), str(reply["error"]["message"]))

    def fail(self, code: str, message: str, tell_host: bool = True) -> None:
        """Ends the connection and its call."""
        self._end_call(tell_host)
        self._end_with(code, message)

    def close(self) -> None:
        """Resets the connection at once, and cancels its call. Idempotent."""
        self._end_call(tell_host=True)
        self._program.reset()

    # The greeting

    def _read_greeting(self) -> None:
        assert self._greeting is not None
        data = self._program.receive()
        if data is None:
            return
        if not data:
            self._program.close()
            return
        step = self._greeting.feed(data)
        if step.answer:
            self._program.write(step.answer)
        if step.is_over:
            self._stop()
        elif step.asked is not None:
            self.ask(step.asked)

    def _on_late(self) -> None:
        if self._greeting is None or not self._greeting.is_http:
            self._program.close()
            return
        self._program.write(http_answer(408, "the request took too long"))
        self._stop()

    def _stop(self) -> None:
        """Ends a connection that made no call, after its answer."""
        self._timer.cancel()
        self._program.on_readable(None)
        self._program.finish()

    # From the program

    def _read_early(self) -> None:
        """While the host connects: a client that goes away cancels that. Bytes that come too early are kept, as far as one read goes."""
        data = self._program.receive()
        if data is None:
            return
        if not data:
            self.close()
            return
        self._early += data
        self._program.on_readable(None)

    def _open(self) -> None:
        self._is_open = True
        early, self._early = self._early, b""
        if early:
            self._around.channel.send({"type": "chunk", "end": False}, early, self._stream)
        self._program.on_readable(self._readable)

    def _readable(self) -> None:
        channel = self._around.channel
        if channel.lossless_credit(self._stream) <= 0:
            self._program.on_readable(None)
            return
        if not channel.has_room:
            self._program.on_readable(None)
            channel.when_room(self._read_on)
            return
        data = self._program.receive()
        if data is None:
            return
        self._is_input_over = not data
        channel.send({"type": "chunk", "end": self._is_input_over}, data, self._stream)
        if self._is_input_over:
            self._program.on_readable(None)

    def _read_on(self) -> None:
        """Called when there may be credit or room again."""
        if self._is_open and not self._is_input_over and self.is_asked:
            self._program.on_readable(self._readable)

    # To the program

    def _give_credit(self, cost: int) -> None:
        self._taken += cost
        self._read += cost
        if not self.is_wide and self._read >= _WIDEN_AFTER_BYTES and self.is_asked and self._around.take_width():
            self.is_wide = True
            self._taken += WIDEST_WINDOW_BYTES - WINDOW_BYTES
        if self._taken >= _CREDIT_STEP_BYTES and self.is_asked:
            self._around.channel.send({"type": "credit", "stream": self._stream, "bytes": self._taken})
            self._taken = 0

    # The end

    def _end_call(self, tell_host: bool = False) -> None:
        """Forgets the call. `tell_host` cancels it there."""
        self._timer.cancel()
        if not self._number:
            return
        if tell_host:
            self._around.channel.send({"type": "call.cancel", "id": self._number})
        self._around.calls.remove(self._number)
        self._around.channel.close_stream(self._stream)
        self._number = 0
        self._program.on_readable(None)

    def _end_with(self, code: str, message: str) -> None:
        """Answers the client with the error, if it can be answered. Otherwise its connection is reset after the bytes that it has got, so
        that a reply that was cut off does not look whole."""
        answer = b"" if self._has_answered else failed(self._speaks, code, message)
        if answer:
            self._program.write(answer)
            self._program.finish()
        else:
            self._program.break_off()

    def _on_closed(self) -> None:
        self._timer.cancel()
        self._around.on_end(self)
