"""Connections that have not been accepted yet: each is read until its first frame, and does not affect the current
connection before that.
"""

from __future__ import annotations

import os
from typing import Callable, Iterator, Optional

from ..system.loop import Loop
from .frames import Frame, FrameDecoder, ProtocolViolation
from .transports import Transport

_MOST_WAITING = 4
_READ_BYTES = 65_536


class Arrival:
    """A connection, with the frames that were read beyond the first."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.decoder = FrameDecoder()


class PendingConnections:
    """`decide` gets a connection with its `hello` and the following frames: it accepts it and returns None, or returns
    the reason for a rejection.

    `on_turned_away` is called with the reason when a connection is rejected and closed.
    """

    def __init__(
        self,
        loop: Loop,
        decide: Callable[[Arrival, Frame, Iterator[Frame]], Optional[str]],
        on_turned_away: Callable[[str], None],
    ) -> None:
        self._loop = loop
        self._decide = decide
        self._on_turned_away = on_turned_away
        self._waiting: list[Arrival] = []

    def listen(self, transport: Transport) -> None:
        """Reads from a new connection. If there are too many, the oldest is closed."""
        if len(self._waiting) >= _MOST_WAITING:
            self._close(self._waiting.pop(0))
        arrival = Arrival(transport)
        self._waiting.append(arrival)
        self._loop.on_readable(transport.read_fd(), lambda: self._readable(arrival))

    def _readable(self, arrival: Arrival) -> None:
        try:
            chunk = os.read(arrival.transport.read_fd(), _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        frames = arrival.decoder.feed(chunk)
        try:
            first = next(frames, None)
        except ProtocolViolation as violation:
            self._turn_away(arrival, f"protocol violation: {violation}")
            return
        if not chunk:
            self._turn_away(arrival, "the peer closed the channel")
        elif first is not None and first.head["type"] != "hello":
            self._turn_away(arrival, "protocol violation: type: hello must come first")
        elif first is not None:
            refusal = self._decide(arrival, first, frames)
            if refusal is None:
                self._waiting.remove(arrival)
            else:
                self._turn_away(arrival, refusal)

    def _turn_away(self, arrival: Arrival, reason: str) -> None:
        self._waiting.remove(arrival)
        self._close(arrival)
        self._on_turned_away(reason)

    def _close(self, arrival: Arrival) -> None:
        self._loop.on_readable(arrival.transport.read_fd(), None)
        arrival.transport.close()
